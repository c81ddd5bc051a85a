//! Segments whose TCP checksum is wrong while others of their sender were right: damaged on their way, so that the
//! receiver discards them (RFC 9293 section 3.1), unless it acknowledges them all the same.
//!
//! What was acknowledged without another copy arrived whole. Then it is the capture that differs from the wire (an
//! offload that fills checksums in, a file that was rewritten), and no wrong checksum of that sender means anything.

use super::connection::Connection;
use super::sender::Sender;
use crate::segment::{Checksum, Segment};

/// Segments that are kept until they are acknowledged, or not.
const KEPT: usize = 8;

/// What is known of the wrong checksums of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Damaged {
    /// Discarded by the receiver as it seems, and not seen again so far.
    kept: Vec<Segment>,
    /// One was acknowledged all the same.
    mistaken: bool,
}

impl Sender {
    /// Whether a segment was damaged on its way. (Where all checksums are wrong, the network card was to fill them in.)
    #[inline(always)]
    pub(super) fn is_damaged(&mut self, segment: &Segment) -> bool {
        match segment.checksum {
            Checksum::Good => self.totals.good_checksums += 1,
            Checksum::Bad => return self.keep_damaged(segment),
            Checksum::Unverified => {}
        }
        false
    }

    #[cold]
    fn keep_damaged(&mut self, segment: &Segment) -> bool {
        self.totals.bad_checksums = self.totals.bad_checksums.saturating_add(1);
        if self.totals.good_checksums == 0 || self.damaged.as_ref().is_some_and(|damaged| damaged.mistaken) {
            return false;
        }
        self.totals.corrupted = self.totals.corrupted.saturating_add(1);
        let kept = &mut self.damaged.get_or_insert_default().kept;
        if segment.length > 0 && kept.len() < KEPT {
            kept.push(*segment);
        }
        true
    }

    /// Whether an ACK may yet show that one arrived whole.
    #[inline(always)]
    pub(super) fn keeps_damaged(&self) -> bool {
        self.damaged.as_ref().is_some_and(|damaged| !damaged.kept.is_empty())
    }

    /// Those that were kept, if this ACK covers one of which no other copy was seen.
    fn acknowledged_damaged(&mut self, ack: u32) -> Vec<Segment> {
        let (ack, una) = (self.locate(ack), self.snd_una);
        let Some(mut damaged) = self.damaged.take() else { return Vec::new() };
        let reach = |segment: &Segment| {
            let seq = self.locate(segment.seq);
            (seq, seq + i64::from(segment.length))
        };
        let unseen = |(seq, end): (i64, i64)| self.sent.overlap(seq, end) == 0;
        damaged.mistaken |=
            damaged.kept.iter().map(reach).any(|(seq, end)| una <= seq && end <= ack && unseen((seq, end)));
        let whole = if damaged.mistaken {
            std::mem::take(&mut damaged.kept)
        } else {
            damaged.kept.retain(|segment| reach(segment).1 > ack);
            Vec::new()
        };
        self.totals.corrupted -= (whole.len() as u32).min(self.totals.corrupted);
        self.damaged = Some(damaged);
        whole
    }
}

impl Connection {
    /// An ACK of this direction is to be tracked: first, what had seemed damaged and is acknowledged by it.
    #[cold]
    pub(super) fn take_back_damaged(&mut self, ack: u32, direction: usize) {
        for mut segment in self.senders[direction].acknowledged_damaged(ack) {
            self.senders[direction].totals.segments -= 1;
            segment.checksum = Checksum::Unverified;
            self.track::<false>(&segment, direction);
        }
    }
}
