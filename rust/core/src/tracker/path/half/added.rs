//! What queues added to round trips, and who waited in them.

use crate::tracker::fields::{Fields, Walk, walk_over};

/// Of round trips of which both clocks tell, over the least, nanoseconds, summed.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tracker::path) struct Added {
    pub all_ns: u64,
    /// What ACKs waited between the receiver and this point.
    pub acks_ns: u64,
    /// What either ACKs waited behind that, or the sender itself.
    pub other_ns: u64,
}

impl Added {
    /// One more: `far_ns` of it between this point and the receiver, of which its ACK waited no more than so long; before this
    /// point, what data waited, and what else.
    #[inline(always)]
    pub fn add(&mut self, far_ns: i64, ack_ns: i64, (data_ns, other_ns): (i64, i64)) {
        let all_ns = far_ns.saturating_add(data_ns).saturating_add(other_ns);
        self.all_ns = self.all_ns.wrapping_add(all_ns as u64);
        self.acks_ns = self.acks_ns.wrapping_add(ack_ns.min(far_ns) as u64);
        self.other_ns = self.other_ns.wrapping_add(other_ns as u64);
    }

    /// The part that ACKs waited between the receiver and this point; `None` where no timestamps tell.
    pub fn acks_share(&self) -> Option<f64> {
        (self.all_ns > 0).then(|| (self.acks_ns as f64 / self.all_ns as f64).min(1.0))
    }

    /// The part that data waited; `None` where no timestamps tell.
    pub fn data_share(&self) -> Option<f64> {
        let others_ns = self.acks_ns as f64 + self.other_ns as f64;
        (self.all_ns > 0).then(|| (1.0 - others_ns / self.all_ns as f64).max(0.0))
    }

    /// Whether of what came after `before` ACKs waited the most: so many of them, each for longer than half of `each_ns`.
    pub fn by_acks_since(&self, before: &Added, acks: u32, each_ns: i64) -> bool {
        let all_ns = self.all_ns.saturating_sub(before.all_ns);
        let acks_ns = self.acks_ns.saturating_sub(before.acks_ns);
        acks_ns > all_ns / 2 && acks_ns / u64::from(acks.max(1)) > each_ns as u64 / 2
    }
}

impl Fields for Added {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Added { all_ns, acks_ns, other_ns } = self;
        walk_over!(walk: all_ns, acks_ns, other_ns);
    }
}
