//! What one point anywhere on the path shows of a direction: both halves of its round trip, what its sender waits
//! for, and the bottleneck. In fixed memory, and only for directions that send more than a few segments.

mod caught_up;
mod clock;
mod divided;
mod echoes;
mod full_link;
mod gaps;
mod half;
mod histogram;
mod known;
mod limits;
mod line;
mod paces;
mod parts;
mod point;
mod refused;
mod report;
mod round_trip;
mod schedule;
mod series;
mod shared;
mod spacing;
mod steady;
mod together;
mod trains;
mod unscaled;
mod writes;

pub(super) use limits::INITIAL;
pub use limits::{Limit, Limits};
pub use point::{Evidence, Grade, Observation, Point};
pub use report::{Bottleneck, PathReport};
pub use round_trip::{Half, RoundTrip};
pub(super) use shared::find_shared;

use super::fields::{Fields, Walk, walk_over};
use super::sender::Sender;
use crate::segment::{Segment, flags};
use caught_up::caught_up;
use full_link::Link;
use gaps::{Circumstances, Gaps, SILENCE_NS};
use half::Halves;
use schedule::Kept;
use series::Series;
use trains::Trains;

/// Data segments from which on a direction is looked at. Fewer fit into any initial window (RFC 5681, 6928): what
/// takes time then is the path and the application.
const FEW: u64 = 4;
/// Data segments from which on distributions are kept.
const SOME: u32 = 16;
/// Segments that one ACK's round trip stands for, at the most.
const MOST: i64 = 256;
/// Who is given data by the clock of its application waits for that for this part of the time, or there is room on the link.
const WRITTEN: f64 = 0.1;
/// Duplicate ACKs that tell of a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;

/// A direction with data, seen from one point. In this order, and so all parts of it: what each segment changes comes before
/// what few do, so that it lies in few lines of the cache.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Path {
    /// Data segments since this began.
    segments: u32,
    /// Bytes of their IP packets, and of their payload; what of that had passed at the last ACK.
    ip_bytes: u64,
    payload: u64,
    noted: u64,
    /// Bytes that arrived by ACKs that measured a round trip.
    timed: u64,
    series: Series,
    gaps: Gaps,
    halves: Halves,
    trains: Trains,
    /// Bytes that had arrived when this began: the first ACK behind that finds them, too.
    before: u32,
    /// Other connections found to queue at the same place, once all were compared, and the smallest round trip of
    /// those between the same hosts: some may have begun in a queue that stood (0: unknown).
    shared: Option<u32>,
    shared_base_ns: i64,
    /// Where others brought data between the same hosts at the same time: bytes a second that all of them brought while this
    /// one was there, for half of that time at least. What it brings may be its share of a link. 0: there were none.
    beside_rate: u64,
    /// The full link that it shares with them, if what they bring together shows it.
    link: Option<Link>,
}

impl Fields for Path {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Path {
            gaps,
            halves,
            trains,
            series,
            segments,
            ip_bytes,
            payload,
            noted,
            timed,
            before,
            shared,
            shared_base_ns,
            beside_rate,
            link,
        } = self;
        walk_over!(walk: gaps, halves, trains, series, segments, ip_bytes, payload, timed, before);
        // Most of it had passed.
        let mut since = payload.wrapping_sub(*noted);
        since.walk(walk);
        *noted = payload.wrapping_sub(since);
        // None of these is known before all connections are compared.
        let mut compared = shared.is_some() || *shared_base_ns != 0 || *beside_rate != 0 || link.is_some();
        compared.walk(walk);
        if compared {
            walk_over!(walk: shared, shared_base_ns, beside_rate, link);
        } else if W::READS {
            (*shared, *shared_base_ns, *beside_rate, *link) = (None, 0, 0, None);
        }
    }
}

#[cfg(test)]
impl Path {
    /// One with nothing left empty.
    pub(super) fn full() -> Self {
        let mut path = Path::default();
        path.gaps.fill();
        path.halves.fill();
        path.trains.fill();
        (0..64).for_each(|at| path.series.add(at << 20, 1, 1, 1));
        path.link = Some(Link::default());
        path
    }
}

/// A segment that moved both directions as far as it does: `own` is its sender's, `peer` the one it acknowledges.
/// `rtt_ns` is what its ACK measured.
#[inline(always)]
pub(super) fn observe(
    own: &mut Sender,
    peer: &mut Sender,
    segment: &Segment,
    (seq, ack, window): (i64, i64, i64),
    rtt_ns: Option<i64>,
) {
    if ack >= 0 && peer.path.is_some() {
        let edge = if window >= 0 { ack + window } else { -1 };
        if own.window_shift.is_none() {
            hear_unscaled(peer, segment, ack);
        }
        acknowledge(peer, segment, (ack, edge, rtt_ns.unwrap_or(-1)), own.ts_first);
        // A reset may be another's.
        if !segment.has(flags::RST) {
            own.ttl = segment.ttl;
        }
    }
    if let Some(answered_ns) = rtt_ns
        && let Some(path) = &mut own.path
    {
        path.halves.near_least(answered_ns);
    }
    if segment.length > 1 {
        if own.path.is_some() {
            send(own, segment, seq);
            if peer.window_shift.is_none() || own.ids.agreed_mss() == 0 {
                learn(own, peer, segment, seq);
            }
        } else if own.totals.data_segments >= FEW {
            begin(own, peer, segment, seq);
        }
    }
}

impl Path {
    /// Whether the application wrote by its own clock, and what follows. Where no pause shows its writes, what arrived in all may;
    /// not of a receiver that takes data by a clock of its own.
    fn kept(&self) -> Option<Kept> {
        // A full link keeps to its rate as exactly as a clock, too; and it hardly ever waits for a write.
        if self.trains.mostly_queued() && self.gaps.written_share() < WRITTEN {
            return None;
        }
        self.gaps.kept().or_else(|| {
            let shared_or_bound = self.link.is_some() || self.trains.window_bound();
            if shared_or_bound { None } else { caught_up(&self.series, self.segment(), &self.gaps.spent_ns) }
        })
    }

    /// Payload of its segments, on average.
    fn segment(&self) -> f64 {
        self.payload as f64 / f64::from(self.segments.max(1))
    }

    /// Bytes of IP packets on the wire for each byte of payload. A segment longer than a full one becomes several packets,
    /// each with headers of its own.
    fn packets(&self, full: i64) -> f64 {
        let payload = (self.payload as f64).max(1.0);
        let headers = (self.ip_bytes as f64 - payload) / f64::from(self.segments.max(1));
        let on_wire = if full > 0 { payload / full as f64 } else { 0.0 };
        1.0 + headers * on_wire.max(f64::from(self.segments)) / payload
    }

    /// Whether what was in flight at the sender is known here. Away from it, only echoed timestamps tell.
    fn knows_flight(&self) -> bool {
        self.beside_sender() || self.halves.echoes > 0
    }

    /// Whether less than the `initial` congestion window was in flight all the time, though so much was `sent` that any that
    /// had been full would have grown beyond that.
    fn never_filled(&self, initial: i64, sent: f64) -> bool {
        let most = self.gaps.most_in_flight();
        let open = self.gaps.window_known() || self.gaps.unscaled.larger_than(most);
        self.knows_flight() && most < initial && open && sent >= GROWN * most as f64
    }

    /// Whether others brought data between the same hosts at the same time.
    fn beside(&self) -> bool {
        self.beside_rate > 0
    }

    /// Whether the capture is next to the sender.
    pub(super) fn beside_sender(&self) -> bool {
        self.halves.beside_sender()
    }

    /// Smallest whole round trip, as far as both halves are known.
    pub(super) fn base_ns(&self) -> i64 {
        self.halves.base_ns()
    }

    /// Smallest round trip toward the sender, and what it takes now, with what waits in a queue before this point, as far as
    /// echoes tell.
    pub(super) fn near_ns(&self) -> Option<(i64, i64)> {
        self.halves.near_min_ns().map(|least_ns| (least_ns, self.halves.near_now_ns().max(least_ns)))
    }

    /// How much later than at its best data of a TSval passes at a time, by its sender's clock, whose first TSval is given.
    pub(super) fn late_by_clock(&self, t_ns: i64, val: u32, first: Option<(u32, i64)>) -> Option<i64> {
        self.halves.clock.ticks.late_by(t_ns, val, first)
    }

    /// Whether what passes at a time had waited for so long, until an ACK that passed at `acked_ns` reached its sender. `before` is
    /// whether more may have passed since that, on the way already: then a pause has to show that what passes was behind it.
    fn waited_for(&self, t_ns: i64, (acked_ns, before): (i64, bool), wait_ns: i64) -> bool {
        let Some((least_ns, now_ns)) = self.near_ns() else { return false };
        let after_ns = t_ns.saturating_sub(acked_ns);
        let reaction_ns = half::HOST_NS.min(wait_ns / 8);
        // Of an application that waits, few round trips toward the sender are measured: the last may lack what this one met.
        let jitter_ns = reaction_ns.max((wait_ns / 8).min(least_ns / 4));
        let paused = after_ns < wait_ns || (before && wait_ns >= (least_ns / PAUSE).max(half::HOST_NS));
        (least_ns - reaction_ns..=now_ns + jitter_ns).contains(&after_ns) && paused
    }

    /// TSecr of the last data segment.
    pub(super) fn last_echo(&self) -> Option<u32> {
        self.gaps.last_echo()
    }

    /// Whether it went on for long enough to be compared with others.
    pub(super) fn comparable(&self) -> bool {
        self.series.bins.len() >= shared::COMMON
    }
}

impl Sender {
    /// Whether what is sent at a time had waited for so long, until the ACK came of all up to a byte, which passed at
    /// `acked_ns`; where that is not known, the last ACK.
    pub(super) fn waited_for_ack(
        &self,
        t_ns: i64,
        (up_to, acked_ns): (i64, Option<i64>),
        wait_ns: i64,
    ) -> bool {
        let path = self.path.as_deref().filter(|_| self.snd_una >= up_to);
        let Some((path, last_ns)) = path.zip(self.totals.last_advance_ns) else { return false };
        path.waited_for(t_ns, (acked_ns.unwrap_or(last_ns), acked_ns.is_some()), wait_ns)
    }

    /// Segments that its own queue refused, at least; `None` where nothing shows it.
    pub(crate) fn refused(&self) -> Option<u64> {
        self.path.as_ref()?.gaps.refused()
    }
}

/// What waited for an ACK that passed before others shows by a pause of this part of the round trip to its sender, at least.
const PAUSE: i64 = 4;

/// A congestion window of two segments is one of ten when so many times ten have been acknowledged.
const GROWN: f64 = 3.0;

/// Look at a direction from now on.
#[cold]
fn begin(own: &mut Sender, peer: &Sender, segment: &Segment, seq: i64) {
    let mut path = Box::<Path>::default();
    let end = seq.wrapping_add(i64::from(segment.length)).max(own.snd_max);
    path.halves.begin(own.rtt.min(), peer.rtt.min(), report::handshake_ns(own, peer));
    path.halves.unqueued.answer_ns = report::answered_ns(peer).unwrap_or(-1);
    path.gaps.begin(segment, end, own, &path.halves, peer.totals.max_window);
    path.trains.sack = own.sack_permitted;
    // What came before this was looked at crosses the link like the rest: the first ACK finds so much more.
    path.noted = 0u64.wrapping_sub(own.totals.data_bytes);
    path.before = (own.acked_bytes() + own.sacked.total()).clamp(0, i64::from(u32::MAX)) as u32;
    own.ttl = segment.ttl;
    own.path = Some(path);
}

/// The SYN told neither, or passed unseen: a window of which the scale is unknown.
#[cold]
#[inline(never)]
fn hear_unscaled(data: &mut Sender, segment: &Segment, ack: i64) {
    if let Some(path) = data.path.as_mut().filter(|_| !segment.has(flags::RST | flags::SYN)) {
        path.gaps.unscaled.hear(ack, segment.window);
    }
}

/// What data shows that no SYN told: the payload of a full segment, and the scale of its receiver's window.
#[cold]
#[inline(never)]
fn learn(own: &mut Sender, peer: &mut Sender, segment: &Segment, seq: i64) {
    let Some(path) = &mut own.path else { return };
    if own.ids.agreed_mss() == 0 {
        path.gaps.divided.see(segment.length);
    }
    if peer.window_shift.is_none() {
        peer.window_shift = path.gaps.unscaled.send(seq.wrapping_add(i64::from(segment.length)));
        if peer.window_shift.is_some() {
            path.gaps.window_shows();
        }
    }
}

#[inline(always)]
fn send(own: &mut Sender, segment: &Segment, seq: i64) {
    let recovering = own.state != super::State::Open;
    let Some(path) = &mut own.path else { return };
    path.segments = path.segments.saturating_add(1);
    path.ip_bytes += u64::from(segment.ip_length);
    path.payload += u64::from(segment.length);
    let waited = !path.gaps.follows(segment, recovering, path.halves.quick_ns) && pause(own, segment, seq);
    let Some(path) = &mut own.path else { return };
    let idle = path.gaps.drained(own.snd_una);
    path.gaps.keep(segment, seq);
    path.halves.echoed(segment, (waited, idle), path.segments >= SOME, own.ts_first);
}

/// A segment that does not follow the one before closely; whether the application made it wait.
#[inline(never)]
fn pause(own: &mut Sender, segment: &Segment, seq: i64) -> bool {
    let recovering = own.state != super::State::Open;
    let unit = full_segment(own);
    let missing = is_missing(own, segment.t_ns);
    let Some(path) = &mut own.path else { return false };
    let now = Circumstances {
        una: own.snd_una,
        unit,
        recovering,
        missing,
        timed: own.timeouts.last().is_some_and(|one| one.record == segment.record),
        books: own.books.as_deref(),
        sent: path.segments,
        ids: &own.ids,
        before: own.totals.data_segments.saturating_sub(1),
        divided: unit > 0 && i64::from(own.largest_segment) > unit,
    };
    let waited = path.gaps.judge(segment, seq, &now, (&path.halves, &path.trains));
    if waited {
        path.trains.cut();
    }
    waited
}

/// Whether, after a pause as long as a timer, a part of what was sent and is not acknowledged never came by.
#[inline(always)]
fn is_missing(own: &Sender, t_ns: i64) -> bool {
    #[cold]
    #[inline(never)]
    fn some_missing(own: &Sender) -> bool {
        let high = own.path.as_ref().map_or(own.snd_una, |path| path.gaps.high());
        own.sent.overlap(own.snd_una, high) < high - own.snd_una
    }
    own.path.as_ref().is_some_and(|path| t_ns - path.gaps.last_ns >= SILENCE_NS) && some_missing(own)
}

/// How many segments of the largest size some bytes are, up to `MOST`.
#[cold]
#[inline(never)]
fn many_segments(bytes: i64, largest: i64) -> u16 {
    (bytes / largest.max(1)).clamp(1, MOST) as u16
}

/// `edge` and `rtt_ns` are -1 where they are unknown; `first` is the first TSval of who acknowledges, and when it passed.
#[inline(always)]
fn acknowledge(
    data: &mut Sender,
    segment: &Segment,
    (ack, edge, rtt_ns): (i64, i64, i64),
    first: Option<(u32, i64)>,
) {
    let known = data.snd_una + data.sacked.total();
    let missing = data.sacked.highest().map_or(0, |high| high - known);
    // Nothing more came behind one segment: its ACK waited for a second one, or for its timer (RFC 5681 section 4.2).
    let lone = data.snd_una >= data.snd_max;
    let unit = full_segment(data);
    let recovering = data.state != super::State::Open;
    let Some(path) = &mut data.path else { return };
    path.gaps.hear(segment, ack, edge, path.halves.near_ns());
    if data.dupacks >= DUPLICATES {
        let away = !path.halves.beside_sender();
        path.gaps.suspect(segment.t_ns, ack, data.snd_max, away, data.books.as_deref());
    }
    if let Some((val, _)) = segment.options.timestamps {
        path.halves.acks.see(segment.t_ns, val, first);
    }
    let counts = path.segments >= SOME;
    let arrived = path.trains.arrived_by(known, data.dupacks, unit, data.snd_max);
    if rtt_ns >= 0 {
        let (fresh, largest) = (arrived - path.trains.arrived(), i64::from(data.largest_segment));
        let single = fresh <= largest;
        // Each stands for all data that it acknowledges: where ACKs become rarer, as much waits for one. With a SACK block
        // it measured the segment whose ACK had waited for what came out of order (RFC 5681 section 4.2), not all of them.
        let several = !single && segment.options.sack_count == 0;
        let many = several && fresh > 3 * largest;
        let segments = if many { many_segments(fresh, largest) } else { 1 + u16::from(several) };
        // Whose window was never full waits for its application before it echoes an ACK.
        let whole = data.totals.duplicate_bytes == 0
            && data.books.as_deref().is_none_or(|books| books.counts().upstream == 0);
        let waits = whole && path.never_filled(limits::INITIAL * unit, path.payload as f64);
        let acked = (single, lone && single, segments);
        path.halves.measured_far(segment.t_ns, rtt_ns, acked, (counts, waits));
    }
    path.halves.probe(segment, rtt_ns);
    let window = if edge >= 0 { edge - ack } else { -1 };
    let held = path.gaps.held_ns();
    let fresh = path.trains.acknowledge(segment.t_ns, (arrived, missing, window), unit, &path.halves, held);
    if rtt_ns >= 0 {
        path.timed += fresh as u64;
    }
    path.gaps.arrived(segment.t_ns, fresh, ack, recovering);
    let passed = path.payload.wrapping_sub(path.noted);
    path.noted = path.payload;
    // The queue is known once its smallest round trip is.
    match (fresh > 0, counts) {
        (true, true) => path.series.add(segment.t_ns, fresh, path.halves.queued_ns(), passed),
        (true, false) => path.series.begin(segment.t_ns, fresh, passed),
        _ => path.series.pass(segment.t_ns, passed),
    }
}

/// Payload of a full segment: what was agreed, else what most of those seen are multiples of, or the largest; 0 if nothing is known.
#[inline(always)]
pub(super) fn full_segment(sender: &Sender) -> i64 {
    let agreed = sender.segment_size();
    i64::from(if agreed > 0 { agreed } else { full_unknown(sender) })
}

#[cold]
#[inline(never)]
fn full_unknown(sender: &Sender) -> u32 {
    let largest = sender.largest_segment;
    sender.path.as_deref().map_or(largest, |path| path.gaps.divided.full(largest))
}
