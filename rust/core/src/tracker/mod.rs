//! Segments to connections: byte-exact accounting, ACK and SACK state, retransmissions with their causes,
//! timeouts with their votes, round-trip times. One pass, memory in proportion to connections unless the
//! segments table is asked for.

mod acknowledging;
mod arrivals;
mod chunked_deque;
mod closures;
mod columns;
mod compact;
mod connection;
mod connection_store;
mod damaged;
mod episode;
mod exchanges;
mod fields;
mod flow;
mod foreseen;
mod history;
mod interval;
mod joined;
mod live;
mod multipath;
mod newreno;
mod outcome;
mod outstanding;
mod path;
mod queue;
mod quoted;
mod recovery;
mod relay;
mod repeating;
mod rows;
mod rtt;
mod selective;
mod sender;
mod sending;
mod sequence;
mod sparse;
mod tail;
mod timeout;
mod timers;
mod undo;
mod verdicts;

pub use arrivals::{Arrival, ArrivalCounts, ArrivalVerdict, Evidence};
pub use closures::Closures;
pub use columns::{Columns, Row};
pub use connection::Connection;
pub use connection_store::{ConnectionStore, Overview};
pub use episode::{Episode, Findings, Trigger};
pub use exchanges::{Exchanges, Waits};
pub use flow::Endpoint;
pub use history::Cap;
pub use interval::IntervalSet;
pub use multipath::{MultipathRow, covered_before};
pub use outcome::{AckKind, CAUSES, Cause, Reordering, Retransmission, State, Totals};
pub use path::{
    Bottleneck, Evidence as PointEvidence, Grade, Half, Limit, Limits, Observation, PathReport, Point,
    RoundTrip,
};
pub use quoted::QuotedError;
pub use relay::{Relay, Tracking, track_beside};
pub use rtt::{RTO_INITIAL_US, RTO_MAX_US, RTO_MIN_US, RtoEstimator, RttStatistics};
pub(crate) use sender::NAMED;
pub use sender::Sender;
pub use sparse::{Held, Sparse};
pub use timeout::{Timeout, Verdict, Vote};
pub use undo::{TAKEN_BACK, TakenBack};

use crate::capture::{IcmpError, Sink};
use crate::issue::Issues;
use crate::segment::Segment;
use flow::FlowTable;
use std::collections::HashMap;

/// Tracks all connections of one capture.
#[derive(Default)]
pub struct Tracker {
    flows: FlowTable,
    connections: ConnectionStore,
    columns: Option<Columns>,
    icmp_errors: Vec<QuotedError>,
    multipath: Vec<MultipathRow>,
    /// Of one of several trackers: the position among all segments of the one that it takes, and of those that its
    /// connections began with.
    position: u64,
    begins: Option<Vec<u64>>,
}

impl Tracker {
    /// With or without the segments table.
    pub fn new(keep_segments: bool) -> Self {
        Tracker { columns: keep_segments.then(Columns::default), ..Tracker::default() }
    }

    /// Without the segments table, and with connections packed that nothing is heard of.
    pub fn compacting() -> Self {
        Tracker { connections: ConnectionStore::compacting(), ..Tracker::default() }
    }

    /// The same for a summary: of what is sent again, or arrives out of order, only the counts are kept.
    pub fn summing_up() -> Self {
        Tracker { connections: ConnectionStore::summing_up(1), ..Tracker::default() }
    }

    /// All connections in order of their first segment, and the segments table if it was asked for.
    pub fn finish(self, issues: &mut Issues) -> (Vec<Connection>, Option<Columns>) {
        let (connections, columns) = self.conclude(issues);
        (connections.into_vec(), columns)
    }

    /// As [`Tracker::finish`], with packed what is packed.
    pub fn conclude(mut self, issues: &mut Issues) -> (ConnectionStore, Option<Columns>) {
        self.correct();
        arrivals::find_host_counters(&mut self.connections);
        path::find_shared(&mut self.connections);
        self.connections.each_remarkable(|connection| connection.report(issues));
        (self.connections, self.columns)
    }

    /// Causes that only what followed decided, in the table.
    fn correct(&mut self) {
        let Some(columns) = &mut self.columns else { return };
        let senders = self.connections.as_slice().iter().flat_map(|c| &c.senders);
        let found: HashMap<u64, Cause> = senders.flat_map(Sender::corrections).copied().collect();
        if found.is_empty() {
            return;
        }
        for (record, cause) in columns.record.iter().zip(&mut columns.cause) {
            // Only what was sent again has a cause; a record may hold several segments.
            if let (1.., Some(right)) = (*cause, found.get(&(*record as u64))) {
                *cause = *right as i8;
            }
        }
    }

    /// Where a segment's connection is held ready, and its direction in it.
    #[inline]
    fn connection(&mut self, segment: &Segment) -> (usize, usize) {
        let place = self.flows.guess(segment) as usize;
        if let Some(connection) = self.connections.at(place)
            && let Some(direction) = connection.direction_of(segment)
            && !connection.is_reused_by(segment)
        {
            return (place, direction);
        }
        self.look_up(segment)
    }

    #[inline(never)]
    fn look_up(&mut self, segment: &Segment) -> (usize, usize) {
        let (source, destination) = (segment.source, segment.destination);
        let connections = &mut self.connections;
        let known = self.flows.get(source, destination).map(|number| connections.place_of(number));
        let place = match known.filter(|&place| !connections.at_mut(place).is_reused_by(segment)) {
            Some(place) => place,
            None => {
                let (number, place) = connections.push(segment);
                self.flows.set(source, destination, number);
                if let Some(begins) = &mut self.begins {
                    begins.push(self.position);
                }
                place
            }
        };
        if connections.moved() {
            self.flows.forget();
        }
        self.flows.expect(source, destination, place);
        (place, connections.at_mut(place).direction(segment))
    }
}

impl Tracker {
    /// Take one segment; for loops over many, which then need no call for each.
    #[inline(always)]
    fn follow(&mut self, segment: &Segment) {
        let (place, direction) = self.connection(segment);
        let connection = self.connections.at_mut(place);
        match &mut self.columns {
            None => _ = connection.track::<false>(segment, direction),
            Some(columns) => {
                // With a table nothing is packed: the place is the number.
                let row = connection.track::<true>(segment, direction);
                if segment.options.mptcp.subtypes != 0 {
                    self.multipath.push(MultipathRow::of(segment, place as u32, &row));
                }
                columns.push(segment, place as u32, &row)
            }
        }
    }
}

impl Sink for Tracker {
    fn segment(&mut self, segment: &Segment) {
        self.segments(std::slice::from_ref(segment));
    }

    #[inline(never)]
    fn segments(&mut self, segments: &[Segment]) {
        for segment in segments {
            self.follow(segment);
        }
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.quote(error);
    }
}

#[cfg(test)]
mod tests;
