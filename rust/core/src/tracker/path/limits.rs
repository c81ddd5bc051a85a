//! What limited a sender, as shares of the time that a transfer took.

mod opening;
mod spent;

use opening::{answered_by_data, asked_ns, opening_ns, unseen_flight_ns, until_data_ns};
use spent::{Spent, closed_ns};

use super::full_link::OTHERWISE;
use super::point::hops;
use super::report::{full_link, mean_rate};
use super::steady::MOST;
use super::trains::CARRIED;
use super::{Link, Path, full_segment};
use crate::tracker::connection::Connection;
use crate::tracker::sender::Sender;

/// What a link of a measured rate needs for what it carried is known to this part of it.
const MARGIN: f64 = 0.005;

/// What a sender waits for between two data segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Wait {
    /// Its application: nothing is left to send, and all was acknowledged.
    Application,
    /// The same while data is still under way.
    Drain,
    /// The receiver's window.
    Window,
    /// ACKs that make room in the congestion window, or the link.
    Network,
    /// Loss recovery.
    Recovery,
    /// The retransmission timer, in silence.
    Silence,
    /// A timer that sent one segment alone: the application's, or the sender's whose own queue refuses the rest.
    Refused,
    /// Nobody knows: no ACK was seen.
    Unknown,
}

impl Wait {
    pub const COUNT: usize = 8;
}

/// What a limit is called, in the order of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs)]
pub enum Limit {
    Application,
    ReceiverWindow,
    CongestionWindow,
    Bandwidth,
    LossRecovery,
    Handshake,
    Unknown,
}

impl Limit {
    /// How many there are.
    pub const COUNT: usize = 7;
    /// All of them.
    pub const ALL: [Limit; Limit::COUNT] = [
        Limit::Application,
        Limit::ReceiverWindow,
        Limit::CongestionWindow,
        Limit::Bandwidth,
        Limit::LossRecovery,
        Limit::Handshake,
        Limit::Unknown,
    ];
    /// Their names in JSON.
    pub const NAMES: [&str; Limit::COUNT] = [
        "application",
        "receiver_window",
        "congestion_window",
        "bandwidth",
        "loss_recovery",
        "handshake",
        "unknown",
    ];
}

/// Time by [`Limit`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Nanoseconds of each.
    pub ns: [f64; Limit::COUNT],
    /// How long the link was full: the time that it limited, and what of the receiver window's time it was full too.
    /// `None` if too little was sent.
    pub full_ns: Option<f64>,
    /// Data came at a constant rate, and that is the pace of the application or of its sender, not of a link.
    pub paced: bool,
    /// Of the application's time, what Nagle's algorithm held the ends of its requests or responses for.
    pub nagle_ns: f64,
    /// Of the congestion window's time, next to the sender, that in which no ACK released what it sent: its window had room, and
    /// it paced itself.
    pub unprompted_ns: f64,
    /// Bytes a second that the application wrote by its own clock, where its writes show one.
    pub writes_bytes_per_s: Option<f64>,
    /// Of the application's time, what it had written data that had to wait, which TCP made up for.
    pub behind_ns: f64,
    /// Of the congestion window's time, what had passed before the first loss showed: that did not make it small.
    pub before_loss_ns: f64,
    /// Of the congestion window's time, what was after the last data segment: only its ACK was awaited.
    pub after_data_ns: f64,
    /// Time of loss recovery in which the receiver's window had no room either. It is no part of that window's own time.
    pub window_in_recovery_ns: f64,
    /// Of loss recovery, what was before the first data that came by: all that was sent before that was lost.
    pub before_data_ns: f64,
    /// Of loss recovery, what nothing was sent in for so long that only a timer explains it, or a path that stalled.
    pub silent_ns: f64,
    /// Of the receiver window's time, what it had room, and the sender paced itself; only next to the sender this shows.
    pub window_paced_ns: f64,
    /// Between the handshake and the first data of either end, which is no part of the time.
    pub until_data_ns: f64,
}

/// Segments of an initial congestion window.
pub(in crate::tracker) const INITIAL: i64 = 10;

/// The application paused for this part of the time, at least; of pauses of more than the second, a constant rate is the mean
/// if it is no more beyond it than of those.
const PAUSED: f64 = 0.1;
const SOME: f64 = 0.27;

impl Limits {
    /// Of a direction; `None` if it sent no data, or none of it took any time.
    pub fn of(connection: &Connection, direction: usize) -> Option<Limits> {
        Limits::on(connection, direction, full_link(connection, direction))
    }

    /// The same, with the full link of its path.
    pub(super) fn on(connection: &Connection, direction: usize, link: Option<Link>) -> Option<Limits> {
        let sender = connection.senders_at(direction);
        let totals = sender.totals();
        let first_ns = totals.first_data_ns?;
        let end_ns = totals.last_advance_ns.unwrap_or(first_ns).max(totals.last_data_ns.unwrap_or(first_ns));
        let span_ns = end_ns.saturating_sub(sender.after_the_end_ns()).saturating_sub(first_ns).max(0);
        let mut limits = Limits::default();
        let acks = connection.senders_at(1 - direction);
        let waits = connection.exchanges(direction);
        match &sender.path {
            // Of most of its data nothing is known but the ACKs: the capture lost it.
            _ if sender.unseen_bytes() > sender.unique_bytes() => {
                limits.ns[Limit::Unknown as usize] = span_ns as f64;
            }
            Some(path) => {
                let held_ns = waits.map_or(0, |waits| waits.held_behind_full_ns[direction]);
                limits.divide(path, link, (sender, acks), (span_ns, held_ns));
            }
            None => limits.ns[Self::of_few(sender, acks) as usize] = span_ns as f64,
        }
        let opening_ns = opening_ns(connection, first_ns);
        let (opening_ns, unanswered_ns) = answered_by_data(connection, direction, (first_ns, opening_ns));
        limits.ns[Limit::Handshake as usize] = opening_ns as f64;
        let unseen_ns = unseen_flight_ns(connection, direction, opening_ns);
        limits.before_data_ns = unseen_ns.max(unanswered_ns) as f64;
        let counted_ns = opening_ns.saturating_add(unseen_ns.max(unanswered_ns));
        limits.until_data_ns = until_data_ns(connection, direction, counted_ns) as f64;
        limits.ns[Limit::LossRecovery as usize] += limits.before_data_ns;
        if let Some(path) = sender.path.as_deref().filter(|path| path.link.is_none()) {
            limits.leave_to_application(
                path.trains.constant_rate(),
                link,
                mean_rate(sender),
                path.never_queued(),
            );
        }
        let held_ns = waits.map_or(0, |waits| waits.held[direction].1);
        limits.nagle_ns = (held_ns as f64).min(limits.ns[Limit::Application as usize]);
        limits.ns[Limit::Application as usize] += asked_ns(connection, direction, opening_ns) as f64;
        limits.ns[Limit::ReceiverWindow as usize] += closed_ns((sender, acks), end_ns) as f64;
        (limits.total_ns() > 0.0).then_some(limits)
    }

    /// Few segments need no more than an initial window: if all went well, there was no more to send.
    fn of_few(sender: &Sender, acks: &Sender) -> Limit {
        let again: u64 = sender.totals().retransmissions.iter().sum();
        let open = acks.totals().max_window >= sender.snd_max;
        if again == 0 && open && acks.totals().zero_windows == 0 {
            Limit::Application
        } else {
            Limit::Unknown
        }
    }

    /// The time that it took from the first data on; `held_ns` of what the network seems to have taken, Nagle's algorithm held data.
    fn divide(
        &mut self,
        path: &Path,
        link: Option<Link>,
        (sender, acks): (&Sender, &Sender),
        (span_ns, held_ns): (i64, i64),
    ) {
        let kept = path.kept();
        if let Some(kept) = &kept {
            self.writes_bytes_per_s = Some(kept.bytes_per_s);
            self.behind_ns = kept.behind_ns as f64;
        }
        let spent = Spent::of(path, link, (sender, acks), held_ns, kept.as_ref());
        let Spent { network_ns, rest_ns, late_ns, last_ns, lost, .. } = spent;
        let (window_ns, before_loss_ns) =
            if lost { (path.gaps.filled_ns(), path.gaps.before_loss_ns()) } else { (0, i64::MAX) };
        let shared = link.map_or(0.0, Link::full_share);
        let at = |wait: Wait| spent.at(wait) as f64;
        let busy_ns = at(Wait::Network) + at(Wait::Recovery) + at(Wait::Drain);
        let sent = sender.totals().data_bytes.max(1) as f64;
        let mut rates = path.rates();
        // Whoever waits for the application sends at once what it is given, and that queues; what comes at one rate without a
        // queue, and as it left its sender, has that rate from the sender, which paces it (BBR), or from its host.
        let mine = at(Wait::Application) >= busy_ns + at(Wait::Window) + at(Wait::Silence);
        let own = path.link.is_none() && (path.beside_sender() || path.trains.mostly_unwaited());
        self.paced = mine && own && !path.trains.often_queued();
        if self.paced {
            rates.constant = None;
        }
        let alone = path.link.is_none() && path.shared.unwrap_or(0) == 0;
        let constant = rates.constant.map(|rate| path.with_bins(rate));
        let rounds_ns = constant.filter(|_| alone).map_or(0.0, |rate| path.full_rounds_ns(rate));
        let late_ns = late_ns as f64;
        let with_late_ns = busy_ns + late_ns;
        let full = path.trains.full_share_of(with_late_ns, rates) * with_late_ns / busy_ns.max(1.0);
        let full = full.max(rounds_ns / busy_ns.max(1.0)).min(1.0);
        // Round trips that ACKs make long show no link of the data.
        let full = if constant.is_none() && path.halves.mostly_acks() { 0.0 } else { full };
        let by_trains = full > shared;
        let full = full.max(shared);
        // Behind routers, an ACK that passes here may release what comes much later.
        let (paced_ns, unprompted_ns) = match hops(sender) {
            Some(1..) => (0, 0),
            _ => (path.gaps.paced_ns(), path.gaps.unprompted_ns()),
        };
        let spread_ns = if unprompted_ns > 0 { path.gaps.spread_ns() } else { 0 };
        self.window_paced_ns = (paced_ns as f64).min(at(Wait::Window));
        let mut add = |limit: Limit, ns: f64| self.ns[limit as usize] += ns;
        let window_full_ns = (path.trains.window_queued_ns as f64).min(at(Wait::Window));
        // No link is full for longer than it needs for all that was sent; what was lost before this point may have crossed it.
        let rate = constant.or(link.map(|link| link.bytes_per_s as f64));
        let before = sender.arrival_counts().upstream as f64 * full_segment(sender) as f64;
        let crossed = (sent + before) * (1.0 + MARGIN);
        let most_ns = rate.filter(|_| alone).map_or(f64::INFINITY, |rate| crossed * 1e9 / rate.max(1.0));
        let full_ns = (busy_ns * full + window_full_ns).min(most_ns);
        // What is more of that, by far, was the wait for a timer where its own queue had refused what the sender sent.
        let beside_window_ns = (most_ns - window_full_ns).max(0.0);
        let beyond_ns = busy_ns * full - beside_window_ns;
        let refused = beyond_ns > OTHERWISE * busy_ns && sender.never_came(acks);
        let waited_ns = if refused { beyond_ns } else { 0.0 };
        // Else it had room meanwhile.
        let full = if refused { full } else { full.min(beside_window_ns / busy_ns.max(1.0)) };
        add(Limit::Bandwidth, busy_ns * full - waited_ns);
        add(Limit::LossRecovery, waited_ns);
        self.full_ns = (path.trains.all_ns > 0 && !self.paced).then_some(full_ns);
        // A congestion window is ten segments from the first (RFC 6928) until something is lost.
        let initial = INITIAL * full_segment(sender);
        let max_window = acks.totals().max_window;
        // One of which never half was in flight limited nothing either, as far as the sender's view is known here.
        let used = !path.knows_flight() || 2 * path.gaps.most_in_flight() >= max_window.min(initial);
        let smaller = max_window > 0 && max_window <= initial && sender.totals().duplicate_bytes == 0 && used;
        let window_free = match path.gaps.window_known() {
            true if smaller => Limit::ReceiverWindow,
            true => Limit::CongestionWindow,
            false => Limit::Unknown,
        };
        // The link may have been full before the first loss, and not behind it.
        let after_data_ns = rest_ns as f64;
        let before_loss_ns = (before_loss_ns as f64).min(at(Wait::Network) - after_data_ns).max(0.0);
        let (full_before, full_behind) = if by_trains && lost {
            let delivered = path.gaps.delivered_before_loss();
            let before = path.trains.full_share_in(delivered, before_loss_ns, rates);
            split(full, before, before_loss_ns / busy_ns.max(1.0))
        } else {
            (full, full)
        };
        let behind_ns = at(Wait::Network) - before_loss_ns;
        // Until something is lost, a congestion window fills at least so much of a link.
        let base_s = path.halves.base_ns() as f64 / 1e9;
        let least = rate.filter(|_| alone).map_or(0.0, |rate| initial as f64 / (rate * base_s).max(1.0));
        let room_ns = before_loss_ns * (1.0 - full_before);
        let most_filled_ns = (beside_window_ns - busy_ns * full).max(0.0);
        let filled_ns = (room_ns - before_loss_ns * (1.0 - least).max(0.0)).clamp(0.0, most_filled_ns);
        let before_ns = room_ns - filled_ns;
        add(Limit::Bandwidth, filled_ns);
        self.full_ns = self.full_ns.map(|full_ns| (full_ns + filled_ns).min(most_ns).max(full_ns));
        let recovery_ns = at(Wait::Recovery);
        let part = recovery_ns / (behind_ns + recovery_ns + at(Wait::Drain)).max(1.0);
        let rate = rate.or(rates.queued).filter(|_| alone);
        // What was sent again crossed the link again, if it was not lost before it.
        let copies = sent / (sent - sender.totals().duplicate_bytes as f64).max(1.0);
        let in_recovery = rate.map_or(1.0, |rate| needed_in_recovery(path, copies, rate, recovery_ns));
        let (in_recovery, full_behind) = split(full_behind, in_recovery.min(full_behind), part);
        let left_ns = before_ns + behind_ns * (1.0 - full_behind);
        let awaited_ns = late_ns + last_ns as f64;
        let after_ns = after_data_ns * (1.0 - full_behind) + awaited_ns;
        // Where no congestion window was ever filled, what is left but for the last ACK is the pace of the application.
        // Next to the sender its writes show that; elsewhere a window that marks or its own queue made smaller fills no more.
        let made_smaller =
            || path.gaps.refused().is_some() || sender.never_came(acks) || acks.totals().ece > 0;
        let elsewhere = || !path.beside_sender() && !made_smaller();
        let unfilled = !lost && path.never_filled(initial, sent) && (mine || elsewhere());
        // The application's own clock may have taken a part of the time in which a window had room.
        let kept = at(Wait::Network) / (network_ns as f64).max(1.0);
        let of_room_ns = |ns: i64, free_ns: f64| {
            let part = free_ns.max(0.0) / at(Wait::Network).max(1.0);
            ns as f64 * kept.min(1.0) * part.min(1.0 - full)
        };
        let with_room_ns = |free_ns: f64| of_room_ns(unprompted_ns, free_ns);
        let left_until_ns = (left_ns + awaited_ns - after_ns).max(0.0);
        // Who mostly waits for its application sends what no ACK released when that writes it; but within a write it paces itself.
        let spread_ns = of_room_ns(spread_ns, left_ns).min(left_until_ns);
        let written_ns = match (unfilled, window_free) {
            (true, _) => left_until_ns,
            (_, Limit::CongestionWindow) if mine => with_room_ns(left_ns).min(left_until_ns),
            _ => 0.0,
        };
        let written_ns = written_ns.min(left_until_ns - spread_ns);
        let free_ns = left_ns - written_ns;
        add(Limit::Application, written_ns);
        add(window_free, free_ns + awaited_ns);
        if window_free == Limit::CongestionWindow {
            self.after_data_ns = after_ns;
            self.before_loss_ns = (before_ns - written_ns).max(0.0);
            self.unprompted_ns = match () {
                _ if path.never_queued() => free_ns,
                _ if mine => spread_ns.min(free_ns),
                _ => with_room_ns(free_ns),
            };
        }
        add(Limit::LossRecovery, recovery_ns * (1.0 - in_recovery) + at(Wait::Silence));
        self.silent_ns = at(Wait::Silence);
        add(Limit::Application, at(Wait::Drain) * (1.0 - full_behind) + at(Wait::Application));
        add(Limit::ReceiverWindow, at(Wait::Window));
        // While nobody knows what it waited for, a link that needed nearly all of the time for what it carried was full.
        let unknown_ns = at(Wait::Unknown);
        let needed_ns =
            if most_ns.is_finite() && most_ns >= CARRIED * span_ns as f64 { most_ns } else { 0.0 };
        let spare_ns = (span_ns as f64 - needed_ns).max(0.0);
        let by_link_ns = (unknown_ns - spare_ns).clamp(0.0, unknown_ns);
        add(Limit::Unknown, unknown_ns - by_link_ns);
        add(Limit::Bandwidth, by_link_ns);
        // Nor did the application make it wait while its own queue, which refuses what is more, needed the time for what it sent.
        let written_ns = self.ns[Limit::Application as usize];
        let refuses = full > 0.0 && self.writes_bytes_per_s.is_none() && sender.refused_by_numbers(acks) > 0;
        let queued_ns = if refuses { (written_ns - spare_ns).clamp(0.0, written_ns) } else { 0.0 };
        self.ns[Limit::Application as usize] -= queued_ns;
        self.ns[Limit::Bandwidth as usize] += queued_ns;
        self.full_ns = self.full_ns.map(|full_ns| full_ns + by_link_ns + queued_ns);
        self.window_in_recovery_ns = (window_ns as f64).min(recovery_ns + at(Wait::Silence));
        // Times of a file may go backwards.
        let missing = span_ns as f64 - self.ns.iter().sum::<f64>();
        self.ns[Limit::Unknown as usize] += missing.max(0.0);
    }

    /// A link that was full between the pauses of the application would have brought less in all than its rate for the
    /// whole time: a constant rate of which the mean over these pauses lacks less than half of them is the pace of the application.
    /// Data that mostly comes at one rate cannot be a link's if the application paused for more than what is left.
    /// Where no queue ever showed, that is what its sender seemed to pace itself for.
    fn leave_to_application(
        &mut self,
        constant_rate: Option<f64>,
        link: Option<Link>,
        mean_rate: f64,
        never_queued: bool,
    ) {
        let paused = self.ns[Limit::Application as usize] / self.total_ns();
        let rates = [constant_rate, link.map(|link| link.bytes_per_s as f64)];
        let pace = |rate: f64| rate * (1.0 - paused.min(SOME) / 2.0) <= mean_rate;
        let paces = paused >= PAUSED && rates.into_iter().flatten().any(pace);
        if paces || link.is_some() && paused > 1.0 - MOST {
            let spread_ns = if never_queued { std::mem::take(&mut self.unprompted_ns) } else { 0.0 };
            self.ns[Limit::CongestionWindow as usize] -= spread_ns;
            let full_ns = std::mem::take(&mut self.ns[Limit::Bandwidth as usize]);
            self.ns[Limit::Application as usize] += full_ns + spread_ns;
            (self.full_ns, self.paced) = (None, true);
        }
    }

    /// The one with most time; of equal ones, the first.
    pub fn dominating(&self) -> Limit {
        let mut most = 0;
        for (number, &ns) in self.ns.iter().enumerate() {
            if ns > self.ns[most] {
                most = number;
            }
        }
        Limit::ALL[most]
    }

    /// Of all.
    pub fn total_ns(&self) -> f64 {
        self.ns.iter().sum()
    }

    /// Share of the time with data in flight in which the link was full.
    pub fn full_share(&self) -> Option<f64> {
        let away = [Limit::Application, Limit::Handshake, Limit::Unknown];
        let busy_ns = self.total_ns() - away.iter().map(|&limit| self.ns[limit as usize]).sum::<f64>();
        self.full_ns.map(|full_ns| (full_ns / busy_ns.max(1.0)).clamp(0.0, 1.0))
    }

    /// Shares of the whole.
    pub fn shares(&self) -> [f64; Limit::COUNT] {
        let total_ns = self.total_ns();
        self.ns.map(|ns| if total_ns > 0.0 { ns / total_ns } else { 0.0 })
    }
}

/// Part of loss recovery that a link of that rate, bytes a second, needed for what arrived in it.
fn needed_in_recovery(path: &Path, copies: f64, rate: f64, recovery_ns: f64) -> f64 {
    path.gaps.recovered() as f64 * copies * 1e9 / rate.max(1.0) / recovery_ns.max(1.0)
}

/// The share of a part of a time, and that of the rest, which together are the `whole`; the first as near to `first` as that
/// allows.
fn split(whole: f64, first: f64, part: f64) -> (f64, f64) {
    if part <= 0.0 || part >= 1.0 {
        return (whole, whole);
    }
    let [least, most] = [(whole - (1.0 - part)) / part, whole / part].map(|bound| bound.clamp(0.0, 1.0));
    let first = first.max(least).min(most);
    (first, ((whole - first * part) / (1.0 - part)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
