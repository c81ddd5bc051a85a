//! Segments that were decoded and not yet held against those before: several at a time, so that memory is waited for
//! once for all of them.

use super::copies::{Copies, Key};
use crate::segment::Segment;

/// So many at a time: as many as stay close at hand.
const TOGETHER: usize = 32;

/// The points that saw the segments that are still to be checked, in their order.
#[derive(Default)]
pub(super) struct Unchecked {
    points: [u32; TOGETHER],
    count: usize,
}

impl Unchecked {
    /// One more, which `point` saw; whether it is time to check.
    #[inline(always)]
    pub(super) fn add(&mut self, point: u32) -> bool {
        self.points[self.count % TOGETHER] = point;
        self.count += 1;
        self.count == TOGETHER
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Check them all: those that are no copies move up, and how many these are; `copy` is told the record of each other.
    #[inline(never)]
    pub(super) fn check(
        &mut self,
        segments: &mut [Segment],
        copies: &mut Copies,
        mut copy: impl FnMut(u64),
    ) -> usize {
        let mut keys = [Key::default(); TOGETHER];
        let keys = &mut keys[..segments.len().min(TOGETHER)];
        for ((key, segment), point) in keys.iter_mut().zip(&*segments).zip(&self.points) {
            *key = Key::of(segment, *point);
        }
        self.count = 0;
        copies.fetch(keys);
        // Most captures hold none: nothing moves then.
        let first = segments.iter().zip(keys.iter()).position(|(segment, key)| copies.is_copy(segment, key));
        let Some(first) = first else { return keys.len() };
        copy(segments[first].record);
        let mut kept = first;
        for (at, key) in keys.iter().enumerate().skip(first + 1) {
            if copies.is_another_copy(&segments[at], key) {
                copy(segments[at].record);
                continue;
            }
            segments[kept] = segments[at];
            kept += 1;
        }
        kept
    }
}
