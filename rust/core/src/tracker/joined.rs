//! Several trackers, each of a part of the connections, and what they come to together.

use super::{ConnectionStore, Tracker};
use crate::segment::Segment;

impl Tracker {
    /// For a summary, one of so many that share the connections.
    pub(super) fn summing_up_a_part(parts: usize) -> Self {
        Tracker {
            connections: ConnectionStore::summing_up(parts),
            begins: Some(Vec::new()),
            ..Tracker::default()
        }
    }

    /// Take a segment, by its position among those of all trackers.
    #[inline(always)]
    pub(super) fn take(&mut self, segment: &Segment, position: u64) {
        self.position = position;
        self.follow(segment);
    }

    /// What one tracker of all connections would be: numbers are by the order of the first segments.
    pub(super) fn joined(mut parts: Vec<Tracker>) -> Tracker {
        if parts.len() == 1
            && let Some(tracker) = parts.pop()
        {
            return tracker;
        }
        let mut order = Vec::new();
        for (part, tracker) in parts.iter_mut().enumerate() {
            let begins = tracker.begins.take().unwrap_or_default();
            order.extend(begins.into_iter().map(|position| (position, part)));
        }
        // Each part is in order: runs are merged.
        order.sort();
        let stores = parts.into_iter().map(|tracker| tracker.connections);
        let connections = ConnectionStore::joined(stores, order.into_iter().map(|(_, part)| part));
        Tracker { connections, ..Tracker::default() }
    }
}
