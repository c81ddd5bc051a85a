//! Connections that queue at the same place: at the same times they wait as long, or they divide what a link takes.

use super::Link;
use super::half::HOST_NS;
use super::point::hops;
use super::report::{carried, mean_rate};
use super::series::{BINS, Bin, Series};
use super::together::{Brought, rates_beside, share_a_full_link};
use crate::segment::Address;
use crate::tracker::connection::Connection;
use crate::tracker::connection_store::ConnectionStore;
use std::collections::{BTreeMap, BTreeSet};

/// Connections compared at most, those that sent most.
const MOST: usize = 512;
/// Bins that two must have in common.
pub(super) const COMMON: usize = 6;
/// What queues of one place correlate by, and their steps from bin to bin.
const TOGETHER: f64 = 0.8;
const IN_STEP: f64 = 0.5;
/// Who has this part of the rate of a link on average, has it alone.
const ALONE: f64 = 0.9;
/// Who brought no more than one byte for so many of the largest at a place (a control connection) is none of those that share it.
const TRIFLE: u64 = 1_000;
/// A series that covers this part of the time with data stands for all of it: it begins with the first few segments, behind which
/// a sender may have waited for its timer.
const COVERED: f64 = 0.8;

struct Flow {
    number: usize,
    direction: usize,
    bytes: u64,
    /// Payload of a segment, as a rule.
    segment_bytes: f64,
    hosts: [Address; 2],
    base_us: f64,
    /// The TTL of its packets, if that says that no router is before this point, and the smallest round trip toward the sender.
    near_ttl: Option<u8>,
    near_ns: i64,
    /// Smallest whole round trip; 0 if a half is unknown.
    base_ns: i64,
    series: Series,
    /// The queue over time, in bins as wide as those, and of each width up to that of the widest of all.
    queues: Vec<Queue>,
    /// Bytes a second that arrived, over all of its time, and how long that is.
    mean_rate: f64,
    data_ns: i128,
    /// Part of what passed here that was not lost behind this point.
    carried: f64,
}

impl Flow {
    fn brought(&self) -> Brought<'_> {
        let whole = self.series.span_ns() as f64 >= COVERED * self.data_ns as f64;
        Brought { series: &self.series, carried: self.carried, whole }
    }

    /// The queue in bins of a width; `None` if so few are left that no two can be compared.
    fn queue(&self, width: u32) -> Option<&Queue> {
        self.queues.get((width - self.series.width) as usize)
    }
}

/// How long the queue was in each bin, microseconds, where ACKs told.
struct Queue {
    first: i64,
    mean_us: Vec<Option<f64>>,
}

impl Queue {
    fn of(series: &Series) -> Self {
        let mean_us = |bin: &Bin| (bin.acks > 0).then(|| bin.queued_ns as f64 / 1000.0 / f64::from(bin.acks));
        Queue { first: series.first, mean_us: series.bins.iter().map(mean_us).collect() }
    }

    /// In bins of each width up to the widest that matters.
    fn in_all_widths(series: &Series, widest: u32) -> Vec<Self> {
        let mut queues = vec![Queue::of(series)];
        if series.width < widest {
            let mut wide = series.clone();
            while wide.width < widest && wide.bins.len() >= COMMON {
                wide.widen();
                queues.push(Queue::of(&wide));
            }
        }
        queues
    }

    /// From a bin on.
    fn from(&self, begin: i64) -> &[Option<f64>] {
        usize::try_from(begin - self.first).ok().and_then(|at| self.mean_us.get(at..)).unwrap_or_default()
    }
}

/// Find and note them.
pub(in crate::tracker) fn find_shared(connections: &mut ConnectionStore) {
    let mut flows = Vec::new();
    connections.each_comparable(|number, connection| flows.extend(flow(number, connection)));
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    flows.truncate(MOST);
    let widest = flows.iter().map(|flow| flow.series.width).max().unwrap_or(0);
    for flow in &mut flows {
        flow.queues = Queue::in_all_widths(&flow.series, widest);
    }
    let mut group: Vec<usize> = (0..flows.len()).collect();
    for a in 0..flows.len() {
        for b in 0..a {
            if root(&group, a) != root(&group, b) && alike(&flows[a], &flows[b]) {
                let (a, b) = (root(&group, a), root(&group, b));
                group[a] = b;
            }
        }
    }
    let mut links = full_links(&flows, &mut group);
    alone_on_a_full_link(&flows, &mut links, &mut group);
    let roots: Vec<usize> = (0..flows.len()).map(|place| root(&group, place)).collect();
    // Those with most bytes are first.
    let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
    for (flow, &mine) in flows.iter().zip(&roots) {
        largest.entry(mine).or_insert(flow.bytes);
    }
    let mut least: BTreeMap<[Address; 2], i64> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.base_ns > 0) {
        let base_ns = least.entry(flow.hosts).or_insert(flow.base_ns);
        *base_ns = flow.base_ns.min(*base_ns);
    }
    let near = least_near(&flows);
    let rates = rates_of_all(&flows);
    for ((place, (flow, mine)), link) in flows.iter().zip(&roots).enumerate().zip(links) {
        let beside = |(other, one): (usize, &Flow)| {
            other != place && one.hosts == flow.hosts && meet(&flow.series, &one.series)
        };
        let beside_rate = if flows.iter().enumerate().any(beside) { rates[place].max(1) } else { 0 };
        let shares = |(other, one): (usize, &Flow)| {
            let counts = one.bytes.saturating_mul(TRIFLE) > largest[mine];
            other != place && roots[other] == *mine && counts && meet(&flow.series, &one.series)
        };
        let others = flows.iter().enumerate().filter(|&one| shares(one)).count();
        connections.note(flow.number, |connection| {
            let least_ns = least.get(&flow.hosts).copied().unwrap_or(0);
            if least_ns > 0 {
                connection.senders[flow.direction].others_measured(least_ns);
            }
            if let Some(path) = &mut connection.senders[flow.direction].path {
                if let Some(&near_ns) = flow.near_ttl.and_then(|ttl| near.get(&(flow.hosts[0], ttl))) {
                    path.halves.near_least(near_ns);
                }
                path.shared = Some(others as u32);
                path.shared_base_ns = if others > 0 { least_ns } else { 0 };
                path.beside_rate = beside_rate;
                path.link = link;
            }
        });
    }
}

/// How soon a host next to this point answers, by its address and TTL: one of its connections may show that alone, while the
/// data of others waits in a queue of the host before it passes here.
fn least_near(flows: &[Flow]) -> BTreeMap<(Address, u8), i64> {
    let mut least = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.near_ns < HOST_NS) {
        if let Some(ttl) = flow.near_ttl {
            let near_ns = least.entry((flow.hosts[0], ttl)).or_insert(flow.near_ns);
            *near_ns = flow.near_ns.min(*near_ns);
        }
    }
    least
}

/// Bytes a second that each and all others between the same hosts brought while it was there.
fn rates_of_all(flows: &[Flow]) -> Vec<u64> {
    let mut by_hosts: BTreeMap<[Address; 2], Vec<usize>> = BTreeMap::new();
    for (place, flow) in flows.iter().enumerate() {
        by_hosts.entry(flow.hosts).or_default().push(place);
    }
    let mut rates = vec![0; flows.len()];
    for places in by_hosts.into_values() {
        let all: Vec<(&Series, f64)> =
            places.iter().map(|&place| (&flows[place].series, flows[place].segment_bytes)).collect();
        for (place, rate) in places.iter().zip(rates_beside(&all)) {
            rates[*place] = rate;
        }
    }
    rates
}

/// Whether two brought data at the same time.
fn meet(a: &Series, b: &Series) -> bool {
    let ends = |series: &Series| {
        let until = series.first.saturating_add(series.bins.len() as i64);
        [i128::from(series.first) << series.width, i128::from(until) << series.width]
    };
    let ([a, a_end], [b, b_end]) = (ends(a), ends(b));
    a < b_end && b < a_end
}

/// Sender and receiver that some have in common; `None`: any.
type Hosts = [Option<Address>; 2];

/// The full links that several fill together: those of one sender, of one receiver, between the same hosts, or all.
fn full_links(flows: &[Flow], group: &mut [usize]) -> Vec<Option<Link>> {
    let mut links: Vec<Option<Link>> = vec![None; flows.len()];
    let sets: [fn(&Flow) -> Hosts; 4] = [
        |flow| flow.hosts.map(Some),
        |flow| [Some(flow.hosts[0]), None],
        |flow| [None, Some(flow.hosts[1])],
        |_| [None; 2],
    ];
    let mut looked_at: BTreeSet<Vec<usize>> = BTreeSet::new();
    for of in sets {
        let mut by_hosts: BTreeMap<Hosts, Vec<usize>> = BTreeMap::new();
        for (place, flow) in flows.iter().enumerate() {
            by_hosts.entry(of(flow)).or_default().push(place);
        }
        for places in by_hosts.into_values() {
            // Where all are between the same hosts, the other sets are the same.
            if !looked_at.insert(places.clone()) {
                continue;
            }
            let all: Vec<Brought<'_>> = places.iter().map(|&place| flows[place].brought()).collect();
            let segment_bytes = usual_segment(places.iter().map(|&place| &flows[place]));
            let found = share_a_full_link(&all, segment_bytes);
            let mut first = None;
            // No link is slower than what one of them brought on average.
            let alone = places.iter().zip(&found).filter(|(_, link)| link.is_some());
            let least = alone.map(|(&place, _)| flows[place].mean_rate as u64).max().unwrap_or(0);
            for (&place, link) in places.iter().zip(found).filter(|(_, link)| link.is_some()) {
                let faster = |link: Link| Link { bytes_per_s: link.bytes_per_s.max(least), ..link };
                links[place] = links[place].or(link.map(faster));
                let (mine, others) = (root(group, place), root(group, *first.get_or_insert(place)));
                group[mine] = others;
            }
        }
    }
    links
}

/// Payload of the segment that a byte of any of these is in, on average: one may send larger records than the others (segmentation offload).
fn usual_segment<'a>(flows: impl Iterator<Item = &'a Flow>) -> f64 {
    let (weighted, bytes) = flows.fold((0.0, 0.0), |(weighted, bytes), flow| {
        let own = flow.bytes as f64;
        (weighted + own * flow.segment_bytes, bytes + own)
    });
    weighted / bytes.max(1.0)
}

/// Who brought on average what a link takes that others between the same hosts fill together had it alone, before or behind them.
fn alone_on_a_full_link(flows: &[Flow], links: &mut [Option<Link>], group: &mut [usize]) {
    for (place, flow) in flows.iter().enumerate() {
        let same = || {
            flows.iter().zip(&*links).position(|(other, link)| link.is_some() && other.hosts == flow.hosts)
        };
        let found = if links[place].is_none() { same() } else { None };
        let Some((other, link)) = found.and_then(|other| Some((other, links[other]?))) else { continue };
        let share = flow.mean_rate / (link.bytes_per_s as f64).max(1.0);
        if share >= ALONE {
            links[place] = Some(Link { full_permille: (share.min(1.0) * 1000.0) as u32, fair: true, ..link });
            let (mine, others) = (root(group, place), root(group, other));
            group[mine] = others;
        }
    }
}

fn root(group: &[usize], mut place: usize) -> usize {
    while group[place] != place {
        place = group[place];
    }
    place
}

fn flow(number: usize, connection: &Connection) -> Option<Flow> {
    let direction = connection.data_direction();
    let sender = connection.senders_at(direction);
    let path = sender.path.as_ref()?;
    if !path.comparable() {
        return None;
    }
    let segment_bytes = path.payload as f64 / f64::from(path.segments.max(1));
    let mut series = path.series.clone();
    if let Some(first_ns) = sender.totals.first_data_ns {
        series.open_at(first_ns + sender.rtt.min().unwrap_or(0), path.before.into());
    }
    let mut hosts = connection.endpoints.map(|(address, _)| address);
    if direction == 1 {
        hosts.reverse();
    }
    Some(Flow {
        number,
        direction,
        bytes: sender.totals.data_bytes,
        segment_bytes,
        hosts,
        near_ttl: hops(sender).filter(|&count| count == 0).map(|_| sender.ttl),
        near_ns: path.halves.near_min_ns().unwrap_or(i64::MAX),
        base_us: path.halves.base_ns() as f64 / 1000.0,
        base_ns: path.halves.least_ns().unwrap_or(0),
        series,
        queues: Vec::new(),
        mean_rate: mean_rate(sender),
        data_ns: sender.data_ns().unwrap_or(0),
        carried: carried(connection, direction),
    })
}

/// Whether two wait in the same queue, as far as they were there at the same time. The ACKs of one may wait behind the data of another
/// that goes the other way: that is no queue of its data.
fn alike(a: &Flow, b: &Flow) -> bool {
    let [sender, receiver] = a.hosts;
    if b.hosts == [receiver, sender] {
        return false;
    }
    let width = a.series.width.max(b.series.width);
    let Some((one, two)) = a.queue(width).zip(b.queue(width)) else { return false };
    let begin = one.first.max(two.first);
    let (one, two) = (one.from(begin), two.from(begin));
    let both = || one.iter().zip(two).take(BINS).filter_map(|(x, y)| x.zip(*y));
    let (count, sum_x, sum_y) =
        both().fold((0, 0.0, 0.0), |(count, sum_x, sum_y), (x, y)| (count + 1, sum_x + x, sum_y + y));
    if count < COMMON {
        return false;
    }
    let (mean_x, mean_y) = (sum_x / count as f64, sum_y / count as f64);
    // Without a queue there is nothing to share.
    if mean_x.max(mean_y) < 300.0 || mean_x.max(mean_y) < 0.1 * a.base_us.max(b.base_us) {
        return false;
    }
    let mut pairs = Vec::with_capacity(count);
    pairs.extend(both());
    // Between the same hosts, the whole round trip is the same at the same time.
    let apart = || {
        let (whole_x, whole_y) = (mean_x + a.base_us, mean_y + b.base_us);
        mean(pairs.iter().map(|p| ((p.0 + a.base_us) - (p.1 + b.base_us)).abs()))
            / whole_x.max(whole_y).max(1.0)
    };
    if a.hosts == b.hosts && apart() <= 0.2 {
        return true;
    }
    let moves = |of: &dyn Fn(&(f64, f64)) -> f64, usual: f64| {
        mean(pairs.iter().map(|p| (of(p) - usual).powi(2))).sqrt() >= 0.1 * usual
    };
    // Two windows that grow at the same time make queues that grow, wherever they are: the steps have to agree too.
    let steps = || -> Vec<(f64, f64)> {
        pairs.windows(2).map(|two| (two[1].0 - two[0].0, two[1].1 - two[0].1)).collect()
    };
    moves(&|p| p.0, mean_x)
        && moves(&|p| p.1, mean_y)
        && correlation(&pairs) >= TOGETHER
        && correlation(&steps()) >= IN_STEP
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Pearson's; 0 if one of them does not move.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (mean_x, mean_y) = (mean(pairs.iter().map(|p| p.0)), mean(pairs.iter().map(|p| p.1)));
    let covariance = mean(pairs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)));
    let variances = mean(pairs.iter().map(|p| (p.0 - mean_x).powi(2)))
        * mean(pairs.iter().map(|p| (p.1 - mean_y).powi(2)));
    covariance / variances.sqrt().max(1e-9)
}
