//! Tracking for as long as a capture is written: what is so far, and giving up what is over.

use super::Tracker;
use super::connection::Connection;
use super::flow::FlowTable;
use crate::issue::Issues;

impl Tracker {
    /// All connections so far, in order of their first segment.
    pub fn connections(&self) -> &[Connection] {
        self.connections.as_slice()
    }

    /// Give up all connections but the `keep` that were heard of last; what there is to say of them goes among the
    /// issues. Those kept are numbered anew from 0, in their order, which a segments table would not notice: only
    /// for a tracker without one.
    ///
    /// Returns the old numbers of those kept, and the others.
    pub fn forget(&mut self, keep: usize, issues: &mut Issues) -> (Vec<u32>, Vec<Connection>) {
        let connections = self.connections.all_ready();
        let mut kept: Vec<u32> = (0..connections.len() as u32).collect();
        if keep < kept.len() {
            let age = |&index: &u32| std::cmp::Reverse(connections[index as usize].last_ns);
            kept.select_nth_unstable_by_key(keep, age);
            kept.truncate(keep);
            kept.sort_unstable();
        }
        let (mut index, mut next) = (0, kept.iter().copied().peekable());
        let is_over = |_: &mut Connection| {
            let over = next.next_if_eq(&index).is_none();
            index += 1;
            over
        };
        let over: Vec<Connection> = connections.extract_if(.., is_over).collect();
        self.flows = FlowTable::default();
        // In their order, so that the newest of a flow is set last.
        for (index, connection) in connections.iter().enumerate() {
            let [a, b] = connection.endpoints;
            self.flows.set(a, b, index as u32);
        }
        let (over, _) = Tracker { connections: over.into(), ..Tracker::default() }.finish(issues);
        (kept, over)
    }

    /// Give up the rows of the retransmissions table, which grow with what is sent again; the counts stay.
    pub fn forget_rows(&mut self) {
        for sender in self.connections.all_ready().iter_mut().flat_map(|connection| &mut connection.senders) {
            sender.retransmissions = Vec::new();
        }
    }
}
