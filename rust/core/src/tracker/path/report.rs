//! What a connection is asked for of its path.

use super::half::RoundTrip;
use super::limits::Limits;
use super::point::Observation;
use super::trains::PLATEAU;
use crate::tracker::connection::Connection;

/// The slowest link of the path, as the direction that carries the bulk of the data shows it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bottleneck {
    /// Bits of IP packets a second; `None` if no rate stands out.
    pub rate_bps: Option<f64>,
    /// Share of the time with data under way in which it was full; `None` without enough ACKs.
    pub full_share: Option<f64>,
    /// Median and 95th percentile of the round trip over its smallest, nanoseconds.
    pub standing_queue_ns: Option<(f64, f64)>,
    /// Smallest round trip, nanoseconds.
    pub base_ns: Option<i64>,
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
pub struct Told {
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

impl Told {
    /// Of a direction.
    pub fn of(connection: &Connection, direction: usize) -> Self {
        Told {
            round_trip: round_trip(connection, direction),
            limits: Limits::of(connection, direction),
            bottleneck: bottleneck(connection, direction),
            observation: Observation::of(connection, direction),
        }
    }
}

fn round_trip(connection: &Connection, direction: usize) -> Option<RoundTrip> {
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    let path = data.path.as_ref();
    if path.is_none() && data.rtt.count == 0 && acks.rtt.count == 0 {
        return None;
    }
    let none = super::Halves::default();
    let halves = path.map_or(&none, |path| &path.halves);
    // The first round trip met no packet of this connection; of others that share its queue it may have met any.
    let others = path.and_then(|path| path.shared).unwrap_or(0);
    let alone = connection.handshake() && others == 0;
    let mut told = RoundTrip::of(halves, acks.rtt.min(), acks.rtt.count, alone);
    if told.toward_receiver.min_ns.is_none() || told.toward_receiver.samples == 0 {
        let far = RoundTrip::of_least(data.rtt.min(), data.rtt.count);
        told.toward_receiver = far;
        told.base_ns = far.min_ns.zip(told.toward_sender.min_ns).map(|(far, near)| far + near);
    }
    Some(told)
}

fn bottleneck(connection: &Connection, direction: usize) -> Option<Bottleneck> {
    let path = connection.senders_at(direction).path.as_ref()?;
    let trains = &path.trains;
    let (all_ns, full_ns) = (trains.all_ns, trains.full_ns());
    let packets = path.ip_bytes as f64 / (path.payload as f64).max(1.0);
    let plateau = trains.plateau().filter(|(_, share)| *share >= PLATEAU);
    let by_queue = all_ns > 0 && 2 * trains.queued_ns > all_ns;
    let rate = match plateau {
        _ if path.link.is_some() => path.link.map(|link| link.bytes_per_s as f64),
        Some((rate, _)) => Some(rate),
        None if by_queue => Some(trains.queued_rate()),
        None => None,
    };
    let together = path.link.map_or(0.0, |link| f64::from(link.full_permille) / 1000.0);
    let round_trip = round_trip(connection, direction)?;
    let shared_base_ns = (path.shared_base_ns > 0).then_some(path.shared_base_ns);
    let base_ns = round_trip.base_ns.map(|base_ns| base_ns.min(shared_base_ns.unwrap_or(base_ns)));
    let over = |ns: f64| (ns - base_ns.unwrap_or(0) as f64).max(0.0);
    Some(Bottleneck {
        rate_bps: rate.map(|rate| rate * 8.0 * packets),
        full_share: (all_ns > 0).then(|| (full_ns as f64 / all_ns as f64).clamp(0.0, 1.0).max(together)),
        standing_queue_ns: round_trip.median_ns.zip(round_trip.p95_ns).map(|(m, p)| (over(m), over(p))),
        base_ns,
        shared_with: path.shared,
        by_queue,
        by_rate: plateau.is_some(),
        by_sum: path.link.is_some(),
    })
}
