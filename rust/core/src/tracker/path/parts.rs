//! What stands beside the time that a sender waited for something, or is a part of it: time before the first loss, a
//! receiver's window that had no room during loss recovery either, and windows that had room while the sender paced itself.

use super::trains::Delivered;
use crate::tracker::fields::{Walk, walk_over};

/// Nanoseconds of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// What the network had taken when loss recovery first held the sender; 0 until then.
    until_loss_ns: i64,
    /// What trains had shown of the link by then.
    delivered: Delivered,
    /// Loss recovery in which no segment fitted into the receiver's window, though more was sent later; the last of it, of
    /// which that is not known yet; and all that had been sent by then.
    filled_ns: i64,
    filling_ns: i64,
    filled_at: i64,
    /// What of the time of the receiver's window it had room; and what was so since it last held the sender.
    paced_ns: i64,
    pacing_ns: i64,
    /// Time of the network in which no ACK released what its sender sent; the same when its application had last left it nothing
    /// to send.
    unprompted_ns: i64,
    unprompted_before_ns: i64,
    /// What of that was within writes: behind full segments, at whose end a shorter one shows where the write ended; and what
    /// may be, while the end is still to come.
    spread_ns: i64,
    spreading_ns: i64,
    /// Payload that arrived in loss recovery.
    recovered: i64,
    /// Loss recovery lasts until its sender hears that this is acknowledged; the highest number while none of the ACKs that
    /// passed ended it.
    recovered_at: i64,
    /// When that passed; whether it is still to come.
    recovered_ns: i64,
    recovers: bool,
}

impl Parts {
    /// Whether there is a time before the first loss, and anything else. Most have none.
    pub fn any(&self) -> [bool; 2] {
        let rest = Parts { until_loss_ns: 0, delivered: Delivered::default(), ..self.clone() };
        [self.until_loss_ns > 0, rest != Parts::default()]
    }

    /// What is kept of that.
    pub fn walk<W: Walk>(&mut self, walk: &mut W, [loss, rest]: [bool; 2]) {
        if W::READS {
            *self = Parts::default();
        }
        let Parts {
            until_loss_ns,
            delivered,
            filled_ns,
            filling_ns,
            filled_at,
            paced_ns,
            pacing_ns,
            unprompted_ns,
            unprompted_before_ns,
            spread_ns,
            spreading_ns,
            recovered,
            recovered_at,
            recovered_ns,
            recovers,
        } = self;
        if loss {
            walk_over!(walk: until_loss_ns, delivered);
        }
        if rest {
            walk_over!(walk: filled_ns, filling_ns, filled_at, paced_ns, pacing_ns, unprompted_ns, unprompted_before_ns, spread_ns, spreading_ns, recovered, recovered_at, recovered_ns, recovers);
        }
    }
}

impl Parts {
    /// Loss recovery holds the sender, and for so long of that the receiver's window had no room. All up to `high` was sent,
    /// and the network took so much until now.
    pub fn recovers(&mut self, window_ns: i64, high: i64, network_ns: i64, delivered: Delivered) {
        if self.until_loss_ns == 0 {
            (self.until_loss_ns, self.delivered) = (network_ns.max(1), delivered);
        }
        if window_ns > 0 && high > self.filled_at {
            self.filled_ns = self.filled_ns.saturating_add(self.filling_ns);
            (self.filling_ns, self.filled_at) = (0, high);
        }
        self.filling_ns = self.filling_ns.saturating_add(window_ns);
    }

    /// The recovery that went on last was none: the receiver's window alone had no room for so long of it.
    pub fn was_none(&mut self, window_ns: i64) {
        let last_ns = window_ns.min(self.filling_ns);
        self.filling_ns -= last_ns;
        self.filled_ns = (self.filled_ns - (window_ns - last_ns)).max(0);
    }

    /// An ACK of all up to a byte passes at a time, and no loss recovery shows behind it.
    #[inline(always)]
    pub fn recovered_by(&mut self, ack: i64, t_ns: i64) {
        if self.recovers && (ack >= self.recovered_at || self.recovered_at == i64::MAX) {
            (self.recovers, self.recovered_at, self.recovered_ns) = (false, ack, t_ns);
        }
    }

    /// Its sender is in loss recovery until this is acknowledged.
    pub fn recovers_until(&mut self, up_to: i64) {
        if up_to > self.recovered_at {
            (self.recovers, self.recovered_at) = (true, up_to);
        }
    }

    /// Whether who knows that all up to `una` is acknowledged is in loss recovery yet.
    pub fn recovering(&self, una: i64) -> bool {
        una < self.recovered_at
    }

    /// When the ACK passed that ended the last; `None` while it goes on.
    pub fn recovered_ns(&self) -> Option<i64> {
        (!self.recovers).then_some(self.recovered_ns)
    }

    /// So much payload arrived while loss recovery went on.
    pub fn recover(&mut self, bytes: i64) {
        self.recovered = self.recovered.saturating_add(bytes);
    }

    /// Payload that arrived in loss recovery.
    pub fn recovered(&self) -> i64 {
        self.recovered
    }

    /// Whether a loss has shown.
    pub fn lost(&self) -> bool {
        self.until_loss_ns > 0
    }

    /// Next to the sender, it sent what no ACK released: it had paced itself for so long.
    pub fn paces(&mut self, ns: i64) {
        self.pacing_ns = self.pacing_ns.saturating_add(ns);
    }

    /// The window holds the sender; so much of what the network took since it held it before is of the window, too.
    pub fn held(&mut self, of_window_ns: i64) {
        let paced_ns = self.pacing_ns.min(of_window_ns);
        self.paced_ns = self.paced_ns.saturating_add(paced_ns);
        self.pacing_ns = 0;
        self.unprompted_ns = (self.unprompted_ns - paced_ns).max(0);
    }

    /// No ACK released what was sent after so much of the network's time, behind a full segment or not.
    pub fn unprompted(&mut self, ns: i64, behind_full: bool) {
        self.unprompted_ns = self.unprompted_ns.saturating_add(ns);
        self.spreading_ns = if behind_full { self.spreading_ns.saturating_add(ns) } else { 0 };
    }

    /// Nothing was left to send. If the application `took` what the network seemed to have taken since that was so before, it
    /// took this, too. What of it was behind full segments.
    pub fn emptied(&mut self, took: bool) -> i64 {
        if took {
            self.unprompted_ns = self.unprompted_ns.min(self.unprompted_before_ns);
        }
        self.unprompted_before_ns = self.unprompted_ns;
        std::mem::take(&mut self.spreading_ns)
    }

    /// Between the segments of a write its sender paced itself for so long, which the application `took` or not.
    pub fn spread(&mut self, ns: i64, took: bool) {
        self.spread_ns = self.spread_ns.saturating_add(ns);
        if took {
            self.unprompted_ns = self.unprompted_ns.saturating_add(ns);
            self.unprompted_before_ns = self.unprompted_ns;
        }
    }

    /// What of that was within writes.
    pub fn spread_ns(&self) -> i64 {
        self.spread_ns.min(self.unprompted_ns)
    }

    /// Time of the network in which its sender's window had room.
    pub fn unprompted_ns(&self) -> i64 {
        self.unprompted_ns
    }

    /// Loss recovery in which the receiver's window had no room, of all that was sent up to `high`: what followed it shows
    /// that more was left to send.
    pub fn filled_ns(&self, high: i64) -> i64 {
        self.filled_ns.saturating_add(if high > self.filled_at { self.filling_ns } else { 0 })
    }

    /// What of this time of the network was before the first loss showed: all of it, if none did.
    pub fn before_loss_ns(&self, network_ns: i64) -> i64 {
        if self.until_loss_ns > 0 { self.until_loss_ns.min(network_ns) } else { network_ns }
    }

    /// What trains had shown of the link when the first loss showed.
    pub fn delivered(&self) -> Delivered {
        self.delivered
    }

    /// What of the time of the receiver's window it had room.
    pub fn paced_ns(&self) -> i64 {
        self.paced_ns
    }
}
