//! Tracking for as long as a capture is written: what is so far, and giving up what is over.

use super::Tracker;
use super::connection::Connection;
use super::connection_store::ConnectionStore;
use super::flow::FlowTable;
use crate::issue::Issues;

impl Tracker {
    /// All connections so far, in order of their first segment.
    pub fn connections(&self) -> &ConnectionStore {
        &self.connections
    }

    /// Whether what was known of connections that are packed may have changed since that was asked last.
    pub fn woken(&mut self) -> bool {
        self.connections.woken()
    }

    /// Give up all connections but the `keep` that were heard of last, after a look at each; what there is to say of
    /// them goes among the issues. Those kept are numbered anew from 0, in their order, which a segments table would
    /// not notice: only for a tracker that packs.
    ///
    /// Returns the old numbers of those kept.
    pub fn forget(
        &mut self,
        keep: usize,
        issues: &mut Issues,
        mut over: impl FnMut(&Connection),
    ) -> Vec<u32> {
        let kept = self.connections.forget(keep, |connection| {
            connection.report(issues);
            over(connection);
        });
        self.flows = FlowTable::default();
        // In their order, so that the newest of a flow is set last.
        for number in 0..self.connections.len() {
            let (_, [a, b]) = self.connections.head(number);
            self.flows.set(a, b, number as u32);
        }
        kept
    }
}

impl Connection {
    /// What there is to say of its capture goes among the issues.
    pub(super) fn report(&self, issues: &mut Issues) {
        let name = || {
            let [a, b] = self.endpoints;
            format!("{}:{} - {}:{}", a.0.to_ip(), a.1, b.0.to_ip(), b.1)
        };
        if self.misses_handshake() {
            issues.add("missing-handshake", 0, name);
        }
        let unseen = self.unseen_bytes();
        if unseen > 0 {
            issues.add("capture-loss", 0, || format!("{}: {unseen} bytes acknowledged, never seen", name()));
        }
    }
}
