//! What the capture lost itself: data that was acknowledged and never seen, and with it as many of other packets.

use crate::tracker::sender::Sender;

/// A capture that lost data has to lack other packets so much more often, and by so many standard deviations, before any of
/// them was lost on its way.
const AS_OFTEN: f64 = 2.0;
const DEVIATIONS: f64 = 3.0;
/// One of so many segments passed once, at least.
const LEAST_ONCE: u64 = 8;

impl Sender {
    /// Of so many other packets, how many the capture may lack at most, which lost data of this side that was acknowledged;
    /// 0 if it lost none.
    ///
    /// How often shows in segments that passed once: of others a copy is left.
    pub(crate) fn may_miss(&self, of: u64) -> u64 {
        let dropped = self.not_captured();
        if dropped == 0 {
            return 0;
        }
        let once = self.unique_bytes().unsigned_abs().saturating_sub(self.totals.duplicate_bytes)
            / self.usual_bytes();
        let once = once.max(self.totals.data_segments / LEAST_ONCE).max(1);
        let expected = dropped as f64 / (once + dropped) as f64 * of as f64;
        (AS_OFTEN * expected + DEVIATIONS * expected.sqrt()) as u64
    }

    /// Segments that were acknowledged and never seen: the capture lost them, and nobody else.
    pub(super) fn not_captured(&self) -> u64 {
        let bytes = self.unseen_bytes().unsigned_abs();
        if bytes == 0 { 0 } else { bytes.div_ceil(self.usual_bytes()) }
    }

    /// Payload of its packets on average; a long segment of the sender's host is several.
    fn usual_bytes(&self) -> u64 {
        let each = self.totals.data_bytes / self.totals.data_segments.max(1);
        each.min(self.ids.payload(self.timestamps).unsigned_abs()).max(1)
    }
}
