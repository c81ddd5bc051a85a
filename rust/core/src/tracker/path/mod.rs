//! What one point anywhere on the path shows of a direction: both halves of its round trip, what its sender waits
//! for, and the bottleneck. In fixed memory, and only for directions that send more than a few segments.

mod gaps;
mod half;
mod histogram;
mod limits;
mod line;
mod point;
mod report;
mod series;
mod shared;
mod trains;

pub use half::{Half, RoundTrip};
pub use limits::{Limit, Limits};
pub use point::{Evidence, Grade, Observation, Point};
pub use report::{Bottleneck, Told};
pub(super) use shared::find_shared;

use super::fields::{Fields, Walk, walk_over};
use super::sender::Sender;
use crate::segment::Segment;
use gaps::Gaps;
use half::Halves;
use series::Series;
use trains::Trains;

/// Data segments from which on a direction is looked at. Fewer fit into any initial window (RFC 5681, 6928): what
/// takes time then is the path and the application.
const FEW: u64 = 4;
/// Data segments from which on distributions are kept.
const SOME: u32 = 16;

/// A direction with data, seen from one point.
#[derive(Debug, Clone, Default)]
pub struct Path {
    gaps: Gaps,
    halves: Halves,
    trains: Trains,
    series: Series,
    /// Data segments since this began.
    segments: u32,
    /// Bytes of their IP packets, and of their payload.
    ip_bytes: u64,
    payload: u64,
    /// Other connections found to queue at the same place, once all were compared.
    shared: Option<u32>,
}

impl Fields for Path {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Path { gaps, halves, trains, series, segments, ip_bytes, payload, shared } = self;
        walk_over!(walk: gaps, halves, trains, series, segments, ip_bytes, payload, shared);
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
        (0..64).for_each(|at| path.series.add(at << 20, 1, 1));
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
        acknowledge(peer, own, segment, (ack, window), rtt_ns);
    }
    if segment.length > 1 {
        if own.path.is_some() {
            send(own, peer, segment, seq);
        } else if own.totals.data_segments >= FEW {
            begin(own, segment, seq);
        }
    }
}

impl Path {
    /// Whether it went on for long enough to be compared with others.
    pub(super) fn comparable(&self) -> bool {
        self.series.bins.len() >= shared::COMMON
    }
}

/// Look at a direction from now on.
#[cold]
fn begin(own: &mut Sender, segment: &Segment, seq: i64) {
    let mut path = Box::<Path>::default();
    let end = seq.wrapping_add(i64::from(segment.length)).max(own.snd_max);
    path.gaps.begin(segment, end, own);
    path.halves.begin(own);
    own.ttl = segment.ttl;
    own.path = Some(path);
}

#[inline]
fn send(own: &mut Sender, peer: &mut Sender, segment: &Segment, seq: i64) {
    let unit = own.unit();
    let (recovering, una) = (own.state != super::State::Open, own.snd_una);
    let Some(path) = &mut own.path else { return };
    path.segments = path.segments.saturating_add(1);
    path.ip_bytes += u64::from(segment.ip_length);
    path.payload += u64::from(segment.length);
    path.halves.near_least(peer.rtt.min());
    let waited = path.gaps.send(segment, seq, una, unit, &path.halves, recovering);
    if waited {
        path.trains.cut();
    }
    path.halves.echoed(segment, waited, path.segments >= SOME);
}

#[inline]
fn acknowledge(
    data: &mut Sender,
    acks: &mut Sender,
    segment: &Segment,
    (ack, window): (i64, i64),
    rtt_ns: Option<i64>,
) {
    let unit = data.unit();
    let arrived = data.snd_una + data.sacked.total();
    let (suspects, high) = (data.dupacks >= 3, data.snd_max);
    let Some(path) = &mut data.path else { return };
    let edge = if window >= 0 { ack + window } else { -1 };
    path.gaps.hear(segment, ack, edge, path.halves.near_ns(), suspects.then_some(high));
    if let Some(rtt_ns) = rtt_ns {
        path.halves.acknowledged(rtt_ns, path.segments >= SOME);
    }
    path.halves.probe(segment);
    let fresh = path.trains.acknowledge(segment.t_ns, arrived, unit, &path.halves, path.gaps.window_ns());
    if path.segments >= SOME && fresh > 0 {
        path.series.add(segment.t_ns, fresh, path.halves.queued_ns());
    }
    acks.ttl = segment.ttl;
}

impl Sender {
    /// Payload of a full segment: what was agreed, else the largest seen; 0 if nothing is known.
    #[inline]
    pub(super) fn unit(&self) -> i64 {
        let (agreed, largest) = (i64::from(self.segment_size()), i64::from(self.largest_segment));
        if agreed > 0 { agreed } else { largest }
    }
}
