//! The full link on a path, as one point shows it, and its rate.
//!
//! A link that is full delivers at its own rate, whatever the window, and a queue stands before it. Where the queue does
//! not show, as without timestamps (RFC 7323), the rate has to be one that neither a congestion window, nor the
//! receiver's window, nor the application can have given.

use super::trains::{self, LinkRates};
use super::{Path, steady};
use crate::tracker::fields::{Fields, Walk, walk_over};

/// What no ACK releases for this part of the time, its sender paces.
const UNPROMPTED: f64 = 0.1;
/// Segments that no window is limited to for long.
const THIN: f64 = 3.0;
/// What other reasons to wait than the network may take of the time.
pub(super) const OTHERWISE: f64 = 0.1;
/// A pause in which all had arrived may be a stalled path's, if it took no more than that.
const HELD: f64 = 0.25;
/// Packets of a queue before a link that has become slower, at least.
const QUEUE: f64 = 3.0;
/// So many times the rate of a link is that of a host.
const HOST: f64 = 2.0;
/// What arrives at less than this part of the rate at which a host hands segments over met a slower link.
const PACED: f64 = 0.8;
/// Round trips in which any window has grown beyond use, and for each segment that it began with: it has doubled twice.
const OUTGROWN: (f64, f64) = (40.0, 6.0);
/// RTTs that hardly ever are longer than this many times the smallest met no queue: BBR sends a quarter more than a link carries for an RTT
/// in eight.
const FLAT: (f64, u32) = (1.125, 32);
/// The same of what echoes took, in which the sender's own waits are.
const ECHOES_FLAT: f64 = 1.25;
/// What several bring together for half of the time, beyond the rate of one, shows that this is no link's, but its share of one.
const BEYOND: f64 = 0.25;

/// A link that several connections fill together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Link {
    /// Payload of all of them.
    pub bytes_per_s: u64,
    /// How much of the time that this one was there it was full.
    pub full_permille: u32,
    /// This one got half of its fair share or more: what kept it from more were the others.
    pub fair: bool,
}

impl Link {
    /// Share of the time that a connection was there in which it was full.
    pub fn full_share(self) -> f64 {
        f64::from(self.full_permille) / 1000.0
    }

    /// With this part of the rate.
    pub fn of(self, part: f64) -> Self {
        Link { bytes_per_s: (self.bytes_per_s as f64 * part) as u64, ..self }
    }
}

impl Fields for Link {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Link { bytes_per_s, full_permille, fair } = self;
        walk_over!(walk: bytes_per_s, full_permille, fair);
    }
}

impl Path {
    /// The full link that shows in what was brought: by several together, or by this one alone at a rate that never
    /// changes. Such a rate may also be that of a sender without a queue to fill. So a queue has to show; where it would
    /// not be seen, without timestamps, data has to come evenly at that rate, and not in windows with pauses.
    /// Where its own queue refuses segments (`refused`), the sender has one to fill, of a few packets perhaps.
    pub(super) fn full_link(&self, refused: bool) -> Option<Link> {
        if !refused && self.never_queued() {
            return None;
        }
        self.link
            .or_else(|| {
                let link = steady::steady_rate(&self.series, self.segment())?;
                let rate = (link.bytes_per_s as f64).max(1.0);
                let segment_ns = self.packet_ns(rate);
                let queued = self.halves.median_queued_ns().is_some_and(|queued_ns| queued_ns >= segment_ns);
                // A full window of the receiver comes at one rate, too: one in each round trip, which jitter makes longer.
                let queued = queued && (self.trains.mostly_queued() || !self.trains.window_bound());
                let even = || self.is_usual(rate);
                let unseen = || self.queue_unseen() && (even() || self.thin(rate) || self.outlasts(rate));
                let refused = refused && !self.trains.window_bound();
                (queued || refused || unseen()).then_some(link)
            })
            .or_else(|| self.link_behind())
            .or_else(|| self.kept_link())
            .or_else(|| self.refusing_link(refused))
    }

    /// The same of a link that is empty at times, behind a queue of its sender's own that refuses segments.
    fn refusing_link(&self, refused: bool) -> Option<Link> {
        if !refused || self.beside() || self.trains.window_bound() || !self.of_network() {
            return None;
        }
        steady::refusing_rate(&self.series, self.segment()).filter(|link| {
            let rate = link.bytes_per_s as f64;
            self.is_usual(rate) || self.thin(rate)
        })
    }

    /// The same of a part of the time, of one alone, where no round trip shows a queue, and neither application nor window
    /// took much. Data has to come evenly at that rate.
    fn kept_link(&self) -> Option<Link> {
        if !self.queue_unseen() || self.beside() || self.gaps.held_share() >= HELD {
            return None;
        }
        // Next to the sender the ACKs of a full link come in trains of its rate; a window that jitter spreads gives no trains.
        if self.beside_sender() && self.trains.constant_rate().is_none() {
            return None;
        }
        let base_ns = self.halves.base_ns() as f64;
        let link = steady::kept_rate(&self.series, self.segment(), base_ns, |rate| self.in_flight(rate))?;
        let rate = link.bytes_per_s as f64;
        if self.of_network() {
            return self.is_usual(rate).then_some(link);
        }
        // Else the path may have stalled: no window of three segments stays that small.
        let few = self.in_flight(rate).is_some_and(|segments| segments < THIN);
        (few && !self.trains.mostly_queued()).then_some(link)
    }

    /// The link that the time behind long segments shows. Where what arrives has a much slower rate, its sender paces them (BBR).
    pub(super) fn link_behind(&self) -> Option<Link> {
        let slower =
            |link: &Link| self.trains.usual_rate().is_some_and(|rate| rate < PACED * link.bytes_per_s as f64);
        self.gaps.link_behind().filter(|link| !slower(link))
    }

    /// Whether no round trip would show a queue, without timestamps, and no window of the receiver explains a rate.
    fn queue_unseen(&self) -> bool {
        !self.gaps.stamped() && !self.trains.window_bound()
    }

    /// Whether most even trains came at that rate; not if there are too few.
    fn is_usual(&self, rate: f64) -> bool {
        self.trains.usual_rate().is_some_and(|usual| (usual / rate - 1.0).abs() <= trains::ALIKE)
    }

    /// Whether the network took nearly all of the time: no application, no window of the receiver, no silence of a timer.
    fn of_network(&self) -> bool {
        self.gaps.otherwise_share() < OTHERWISE
    }

    /// Whether less is in flight here, at that rate, than any window holds for long: the initial one has ten segments
    /// (RFC 6928), and it grows with each round trip. The rest waits in a queue that no round trip shows, if the
    /// network took nearly all of the time.
    fn thin(&self, rate: f64) -> bool {
        self.in_flight(rate).is_some_and(|segments| segments < THIN) && self.of_network()
    }

    /// Whether that rate was kept, with nothing lost, for so many round trips that any congestion window would have outgrown
    /// it: it gains about half a segment in each at the least (RFC 9438 section 4.3), and nothing else took much of the time.
    fn outlasts(&self, rate: f64) -> bool {
        let rounds = self.series.span_ns() as f64 / self.halves.base_ns().max(1) as f64;
        self.in_flight(rate).is_some_and(|window| rounds >= OUTGROWN.0.max(OUTGROWN.1 * window))
            && !self.gaps.lost()
            && self.of_network()
    }

    /// Whether no link was full, as RTTs show away from the sender: they hardly ever rose above the smallest, nothing was lost, and any
    /// congestion window would have filled a link and its queue meanwhile. Then the sender paced itself.
    pub(super) fn never_queued(&self) -> bool {
        let (base_ns, whole) = (self.halves.base_ns(), &self.halves.whole);
        let flat = || {
            let within =
                |most_ns: Option<f64>, part: f64| most_ns.is_some_and(|ns| ns <= part * base_ns as f64);
            whole.samples() >= FLAT.1
                && within(whole.quantile(0.95), FLAT.0)
                && within(self.halves.near.quantile(0.95), ECHOES_FLAT)
        };
        let known =
            self.alone() && self.halves.echoes > 0 && !self.beside_sender() && self.gaps.refused().is_none();
        let rate = self.payload as f64 * 1e9 / self.series.span_ns().max(1) as f64;
        known && base_ns > 0 && !self.trains.window_bound() && self.outlasts(rate) && flat()
    }

    /// Segments that are in flight here at a rate, without a queue; `None` before anything measured that.
    fn in_flight(&self, rate: f64) -> Option<f64> {
        let base_ns = self.halves.base_ns() as f64;
        let segment = self.segment();
        (base_ns > 0.0 && segment > 0.0).then(|| rate * base_ns / 1e9 / segment)
    }

    /// The rate that trains share, if it is a link's. Where no queue shows that, it may be that of a congestion window, which
    /// grows, or of a sender that paces itself, until it sends faster.
    /// Where the time behind long segments shows a link, their packets come at the rate of a host.
    fn train_rate(&self) -> Option<f64> {
        let of_host =
            |rate: f64| self.link_behind().is_some_and(|link| rate > HOST * link.bytes_per_s as f64);
        let paced = |rate: f64| self.sender_paces(rate) || self.never_queued();
        let rate = self.trains.constant_rate().filter(|rate| !of_host(*rate) && !paced(*rate))?;
        let base_ns = self.halves.base_ns();
        let kept = || steady::is_kept(&self.series, rate, self.segment(), base_ns, !self.gaps.lost());
        (self.trains.mostly_queued() || self.beside() || kept()).then_some(rate)
    }

    /// Whether the rate that trains share is that of a sender that paces itself (BBR): they came as they had left it by its clock, next to
    /// it no ACK released what it sent, for a part of the time, and the rate was another while a queue stood, if one did.
    fn sender_paces(&self, rate: f64) -> bool {
        let unprompted = self.gaps.unprompted_ns() as f64 >= UNPROMPTED * self.trains.all_ns as f64;
        let same = (self.trains.queued_rate() / rate - 1.0).abs() <= trains::ALIKE;
        !self.trains.often_queued()
            && !same
            && self.trains.mostly_unwaited()
            && (unprompted || !self.beside_sender())
    }

    /// Rates of a link alone that has more than one, slower first.
    pub(super) fn changing_rates(&self) -> Option<[f64; 2]> {
        self.trains.changing_rates().filter(|[slower, _]| self.alone() && self.queues_at(*slower))
    }

    /// Whether no other connection was seen to use its link.
    fn alone(&self) -> bool {
        self.link.is_none() && self.shared.unwrap_or(0) == 0 && !self.beside()
    }

    /// How long a link of that rate, bytes a second, transmits one of its packets.
    fn packet_ns(&self, rate: f64) -> f64 {
        self.ip_bytes as f64 / f64::from(self.segments.max(1)) * 1e9 / rate
    }

    /// Whether RTTs became as long as a queue of a few packets before a link of that rate makes them: single segments that loss recovery
    /// sends come as slowly.
    fn queues_at(&self, rate: f64) -> bool {
        let longest_ns = self.halves.longest_ns().unwrap_or(0) as f64;
        longest_ns - self.halves.base_ns() as f64 >= QUEUE * self.packet_ns(rate.max(1.0))
    }

    /// Of the link, as far as it shows.
    pub(super) fn rates(&self) -> LinkRates {
        if self.changing_rates().is_some() {
            return LinkRates::default();
        }
        LinkRates { constant: self.train_rate(), queued: self.queued_rate() }
    }

    /// The rate of a link that shows in trains, bytes a second. The mean of the trains near it contains some in which the link
    /// was idle for a moment: where bins show the same link a little faster, that counts.
    pub(super) fn constant_rate(&self) -> Option<f64> {
        self.train_rate().map(|rate| self.with_bins(rate))
    }

    /// The same of the rate of trains.
    pub(super) fn with_bins(&self, rate: f64) -> f64 {
        let alike = rate..=rate * (1.0 + trains::ALIKE);
        self.series.fast_rate().filter(|fast| alike.contains(fast)).unwrap_or(rate)
    }

    /// Bytes a second of a link with a queue, at no constant rate: lost ACKs, jitter and pauses make the mean too small, so
    /// that of the faster bins counts.
    pub(super) fn queued_rate(&self) -> Option<f64> {
        self.series.fast_rate().map(|rate| rate.max(self.trains.queued_rate()))
    }

    /// How long a link of that rate, bytes a second, was full for whole round trips, if the receiver's window took little.
    pub(super) fn full_rounds_ns(&self, rate: f64) -> f64 {
        if self.trains.window_bound() { 0.0 } else { self.series.full_ns(rate, self.halves.base_ns()) }
    }

    /// Whether a rate that its data came at may be that of a link between the hosts: what others brought at the same time
    /// crossed it, too.
    pub(super) fn may_be_the_links(&self, rate: f64) -> bool {
        self.beside_rate as f64 <= rate * (1.0 + BEYOND)
    }
}
