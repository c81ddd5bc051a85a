//! What a connection is asked for of its path.

use super::half::HOST_NS;
use super::limits::Limits;
use super::point::{Observation, Point};
use super::round_trip::RoundTrip;
use super::{Link, Path, full_segment};
use crate::tracker::connection::Connection;
use crate::tracker::sender::Sender;

/// The slowest link of the path, as the direction that carries the bulk of the data shows it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bottleneck {
    /// Bits of IP packets a second; `None` if no rate stands out.
    pub rate_bps: Option<f64>,
    /// The least and the most of a link that has more rates than one, bits of IP packets a second; it has no `rate_bps` then.
    pub rates_bps: Option<[f64; 2]>,
    /// Whether it is that within a few percent; `false` without one.
    pub rate_exact: bool,
    /// Share of the time with data under way in which it was full; `None` without enough ACKs.
    pub full_share: Option<f64>,
    /// Median and 95th percentile of the round trip over the smallest of a full segment, nanoseconds.
    pub standing_queue_ns: Option<(f64, f64)>,
    /// The part of the queues between this point and the receiver that ACKs stood in, in their direction; `None` where no
    /// timestamps of these tell.
    pub acks_share: Option<f64>,
    /// The part that data stood in, before this point or behind it; the rest ACKs waited, or the sender itself.
    pub data_share: Option<f64>,
    /// Smallest round trip, nanoseconds.
    pub base_ns: Option<i64>,
    /// Smallest round trip of a full segment, nanoseconds: what queues add is over it.
    pub full_base_ns: Option<f64>,
    /// Other connections that queue at the same place; `None` if they were not compared.
    pub shared_with: Option<u32>,
    /// Whether a queue stood for most of that time.
    pub by_queue: bool,
    /// Whether most of the data came at one rate.
    pub by_rate: bool,
    /// Whether several connections together always came to that rate.
    pub by_sum: bool,
}

/// All of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathReport {
    /// Both halves of the round trip; `None` if neither was measured.
    pub round_trip: Option<RoundTrip>,
    /// What limited the sender.
    pub limits: Option<Limits>,
    /// The slowest link.
    pub bottleneck: Option<Bottleneck>,
    /// Where the capture was taken.
    pub observation: Observation,
}

/// Smallest half round trips of a direction: toward the receiver, toward the sender.
pub(super) fn halves_of(connection: &Connection, direction: usize) -> [Option<i64>; 2] {
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    let [far, near] = match &data.path {
        Some(path) => [path.halves.far_min_ns(), path.halves.near_min_ns()],
        None => [None, None],
    };
    let least = |a: Option<i64>, b: Option<i64>| [a, b].into_iter().flatten().min();
    [least(far, data.rtt.min()), least(near, acks.rtt.min())]
}

/// The round trip of the handshake: both SYNs were seen once, and answered.
pub(super) fn handshake_ns(data: &Sender, acks: &Sender) -> Option<i64> {
    answered_ns(data).zip(answered_ns(acks)).map(|(data_ns, acks_ns)| data_ns.saturating_add(acks_ns))
}

/// How long its SYN, seen once, waited for an answer.
pub(super) fn answered_ns(sender: &Sender) -> Option<i64> {
    let once = sender.isn.is_some() && sender.totals.syn == 1 && sender.rtt.count > 0;
    once.then_some(sender.rtt.first_ns)
}

impl PathReport {
    /// Of a direction.
    pub fn of(connection: &Connection, direction: usize) -> Self {
        let path = connection.senders_at(direction).path.as_deref();
        let observation = Observation::of(connection, direction);
        let mut round_trip = round_trip(connection, direction, &observation);
        let link = full_link(connection, direction);
        let limits = Limits::on(connection, direction, link);
        // Away from who writes by its own clock, each echo waited for the next write.
        if limits.as_ref().is_some_and(|limits| limits.writes_bytes_per_s.is_some())
            && path.is_some_and(|path| !path.halves.beside_sender())
            && let Some(found) = round_trip.as_mut()
        {
            (found.median_ns, found.p95_ns) = (None, None);
        }
        let bottleneck = path.zip(round_trip).map(|(path, rtt)| {
            let sender = connection.senders_at(direction);
            bottleneck(path, link, &rtt, limits.as_ref(), (sender, carried_rate(connection, direction)))
        });
        if let Some((path, found)) = path.zip(round_trip.as_mut()) {
            found.without_own_queue = observation.point == Some(Point::Sender)
                && path.halves.beside_sender()
                && path.halves.echoes == 0
                && (connection.senders_at(direction).never_came(connection.senders_at(1 - direction))
                    || (path.link_behind().is_some() && !queues_behind(found))
                    || bottleneck.is_some_and(|link| path.queues_before(&link, found)));
        }
        PathReport { round_trip, limits, bottleneck, observation }
    }
}

/// An IPv4 SYN with the options that hosts send.
const SYN_BYTES: f64 = 60.0;

/// Share of the time for which a link has to be full, and packets that are in flight behind it at the least while it is.
const HALF_FULL: f64 = 0.5;
const IN_FLIGHT: f64 = 2.0;

/// The whole RTT is this many times its smallest, as a rule, where a queue stands behind this point.
const QUEUES: f64 = 2.0;

/// Whether packets wait behind this point, as a rule: the queue of the full link is there, and not before.
fn queues_behind(rtt: &RoundTrip) -> bool {
    rtt.median_ns
        .zip(rtt.base_ns)
        .is_some_and(|(ns, base_ns)| ns >= QUEUES * (base_ns as f64).max(HOST_NS as f64))
}

impl Path {
    /// The smallest round trip of a `full` segment where that of any packet is `base_ns`: of a SYN, as a rule. What a link needs
    /// longer to transmit a larger packet is no wait in its queue, and delays are those of packets of one size (RFC 2330
    /// section 13). It is no more than data took at its soonest; where `base_ns` is but an upper bound (`at_most`), what waited
    /// is a lower one, and more than that may be no wait.
    fn full_base_ns(&self, (base_ns, at_most): (i64, bool), rate_bps: Option<f64>, full: i64) -> f64 {
        let headers = (self.ip_bytes as f64 - self.payload as f64) / f64::from(self.segments.max(1));
        let bytes = self.segment().min(full as f64) + headers;
        let longer_ns = rate_bps.map_or(0.0, |rate_bps| (bytes - SYN_BYTES).max(0.0) * 8e9 / rate_bps);
        let least = self.halves.whole.least().filter(|_| !at_most);
        let data_ns = least.map_or(f64::INFINITY, |ns| ns as f64);
        (base_ns as f64 + longer_ns).min(data_ns).max(base_ns as f64)
    }

    /// Whether a link was full of which less is in flight here than its queue holds: that is before this point.
    fn queues_before(&self, link: &Bottleneck, rtt: &RoundTrip) -> bool {
        let packet_bits = 8.0 * self.ip_bytes as f64 / f64::from(self.segments.max(1));
        let full = link.full_share.is_some_and(|share| share >= HALF_FULL);
        let in_flight =
            rtt.median_ns.zip(link.rate_bps).map(|(ns, rate_bps)| ns / 1e9 * rate_bps / packet_bits);
        full && in_flight.is_some_and(|packets| packets < IN_FLIGHT)
    }
}

impl Sender {
    /// Whether segments of it never came by: lost before this point, or refused by its own queue, as numbers left out show.
    pub(super) fn never_came(&self, acks: &Sender) -> bool {
        self.arrival_counts().upstream > 0 || self.refused_by_numbers(acks) > 0 || self.backs_off(acks)
    }
}

/// The full link of a direction that shows.
pub(super) fn full_link(connection: &Connection, direction: usize) -> Option<Link> {
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    data.path.as_deref()?.full_link(data.refused_by_numbers(acks) > 0)
}

fn round_trip(connection: &Connection, direction: usize, observation: &Observation) -> Option<RoundTrip> {
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    let path = data.path.as_ref();
    if path.is_none() && data.rtt.count == 0 && acks.rtt.count == 0 {
        return None;
    }
    let none = super::Halves::default();
    let halves = path.map_or(&none, |path| &path.halves);
    // The first round trip met no packet of this connection; of others that share its queue it may have met any.
    let others = path.and_then(|path| path.shared).unwrap_or(0);
    let unqueued = connection.handshake() && others == 0;
    let beside = observation.point == Some(Point::Sender);
    let mut found = RoundTrip::of(halves, &acks.rtt, unqueued, beside);
    found.timed_share = path.and_then(|path| {
        let arrived = path.trains.arrived() as f64;
        (arrived > 0.0).then(|| (path.timed as f64 / arrived).min(1.0))
    });
    if found.toward_receiver.min_ns.is_none() || found.toward_receiver.samples == 0 {
        let far = RoundTrip::of_least(data.rtt.min(), data.rtt.count);
        found = found.with_few(far, handshake_ns(data, acks));
    }
    Some(found)
}

/// Part of what passed here that was not lost behind this point. What arrived twice was carried twice; so was all that
/// passed next to the receiver.
pub(super) fn carried(connection: &Connection, direction: usize) -> f64 {
    let sender = connection.senders_at(direction);
    let lost = sender.arrival_counts().downstream as f64 * full_segment(sender) as f64;
    if lost == 0.0 || Observation::of(connection, direction).point == Some(Point::Receiver) {
        return 1.0;
    }
    (1.0 - lost / (sender.totals().data_bytes as f64).max(1.0)).clamp(0.0, 1.0)
}

/// Bytes a second that arrived, over all of the time with data: no link on the way is slower. The first segment had crossed it
/// when that time begins.
pub(super) fn mean_rate(data: &Sender) -> f64 {
    let behind_first = (data.acked_bytes() - full_segment(data)).max(0) as f64;
    data.data_ns().map_or(0.0, |span_ns| behind_first * 1e9 / span_ns as f64)
}

/// The same, with all that arrived more than once.
fn carried_rate(connection: &Connection, direction: usize) -> f64 {
    let sender = connection.senders_at(direction);
    let behind_first = sender.totals().data_bytes as f64 - full_segment(sender) as f64;
    let bytes = behind_first.max(0.0) * carried(connection, direction);
    let twice = sender.data_ns().map_or(0.0, |span_ns| bytes * 1e9 / span_ns as f64);
    twice.max(mean_rate(sender))
}

/// Bytes a second that a link can have carried that was full for so long, if it carried nothing else: what was sent in all, in
/// that time. A rate that is the mean of some bins is put right by it.
fn most_rate(path: &Path, limits: &Limits, sender: &Sender) -> Option<f64> {
    let full_ns = limits.full_ns.filter(|_| path.shared.unwrap_or(0) == 0 && path.link.is_none())?;
    let full = limits.full_share().is_some_and(|share| share >= MOSTLY_FULL);
    full.then(|| sender.totals().data_bytes as f64 * 1e9 / full_ns)
}

/// Share of the time with data in flight from which on a full link carried nearly all.
const MOSTLY_FULL: f64 = 0.95;
/// What was delivered while a queue stood is the rate of the link, without another sign, if it was full for so much of the
/// time: a few moments of queueing are as well those of a host.
const SHOWN: f64 = 0.35;

fn bottleneck(
    path: &Path,
    link: Option<Link>,
    rtt: &RoundTrip,
    limits: Option<&Limits>,
    (sender, least_rate): (&Sender, f64),
) -> Bottleneck {
    let trains = &path.trains;
    let packets = path.packets(full_segment(sender));
    let constant = path.constant_rate();
    let by_queue = trains.mostly_queued();
    let link_bps = link.map(|link| link.bytes_per_s as f64);
    let paced = limits.is_some_and(|limits| limits.paced);
    let full_share = limits.and_then(Limits::full_share).unwrap_or(0.0);
    let changing = path.changing_rates().filter(|_| link.is_none());
    let rate = match constant {
        _ if paced || changing.is_some() => None,
        _ if path.link.is_some() => link_bps,
        Some(rate) => Some(rate),
        None if link_bps.is_some() => link_bps,
        None if by_queue && full_share >= SHOWN && !path.beside() && !path.halves.mostly_acks() => {
            Some(path.queued_rate().unwrap_or_else(|| trains.queued_rate()))
        }
        None => None,
    };
    let rate = rate.filter(|&rate| path.link.is_some() || path.may_be_the_links(rate));
    let most = limits
        .filter(|_| constant.is_none())
        .and_then(|limits| most_rate(path, limits, sender))
        .unwrap_or(f64::INFINITY);
    let shared_base_ns = (path.shared_base_ns > 0).then_some(path.shared_base_ns);
    let base_ns = rtt.base_ns.map(|base_ns| base_ns.min(shared_base_ns.unwrap_or(base_ns)));
    let rate_bps = rate.map(|rate| rate.min(most).max(least_rate) * 8.0 * packets);
    let full_base_ns =
        base_ns.map(|base_ns| path.full_base_ns((base_ns, rtt.base_at_most), rate_bps, full_segment(sender)));
    let over = |ns: f64| (ns - full_base_ns.unwrap_or(0.0)).max(0.0);
    let by_rate = !paced && rate.is_some() && (constant.is_some() || (link.is_some() && path.link.is_none()));
    let by_trains = constant.filter(|_| path.link.is_none());
    Bottleneck {
        rate_bps,
        rates_bps: changing.map(|rates| rates.map(|rate| rate * 8.0 * packets)),
        // What passed while a queue stood is less than a link carries, by what it was idle for.
        rate_exact: rate.is_some()
            && (by_rate || path.link.is_some() || !by_queue)
            && by_trains.is_none_or(|rate| trains.show_exactly(rate)),
        // What several bring together tells of all of the time, also of that in which this one waits for its timer.
        full_share: path.link.map(Link::full_share).or_else(|| limits.and_then(Limits::full_share)),
        standing_queue_ns: rtt.median_ns.zip(rtt.p95_ns).map(|(m, p)| (over(m), over(p))),
        acks_share: path.halves.added.acks_share(),
        data_share: path.halves.added.data_share(),
        base_ns,
        full_base_ns,
        shared_with: path.shared,
        by_queue,
        by_rate,
        by_sum: path.link.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that stands behind this point makes most RTTs longer; one before it none.
    #[test]
    fn where_a_queue_stands_shows_in_the_rtt() {
        let rtt = |median_ms: f64, base_ms: i64| RoundTrip {
            median_ns: Some(median_ms * 1e6),
            base_ns: Some(base_ms * 1_000_000),
            ..RoundTrip::default()
        };
        assert!(queues_behind(&rtt(45.0, 0)) && queues_behind(&rtt(60.0, 20)));
        assert!(!queues_behind(&rtt(0.3, 0)) && !queues_behind(&rtt(24.0, 20)));
        assert!(!queues_behind(&RoundTrip::default()));
    }
}
