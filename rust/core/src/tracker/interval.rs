//! Sets of bytes as disjoint half-open intervals.

use super::chunked_deque::ChunkedDeque;
use super::fields::{Fields, Walk, walk_over};

/// Disjoint, sorted, non-touching intervals `[left, right)` of sequence numbers.
///
/// The common case is one interval that grows at its right end, which costs nothing but a comparison.
#[derive(Debug, Clone, Default)]
pub struct IntervalSet {
    intervals: ChunkedDeque<(i64, i64)>,
    total: i64,
}

impl IntervalSet {
    /// Remove all, and keep the room for a few.
    pub(super) fn empty(&mut self) {
        self.intervals.empty();
        self.total = 0;
    }

    /// Add `[left, right)`; returns how many of its bytes were in the set already.
    pub fn insert(&mut self, left: i64, right: i64) -> i64 {
        self.insert_with(left, right, |_, _| {})
    }

    /// Add `[left, right)` if it continues the last interval; whether it does.
    #[inline]
    pub fn extend(&mut self, left: i64, right: i64) -> bool {
        match self.intervals.back_mut() {
            Some(last) if left == last.1 => {
                last.1 = right;
                self.total += right - left;
                true
            }
            _ => false,
        }
    }

    /// Like [`IntervalSet::insert`], and calls `added` for each part that was not in the set.
    pub fn insert_with(&mut self, left: i64, right: i64, mut added: impl FnMut(i64, i64)) -> i64 {
        if right <= left {
            return 0;
        }
        if self.extend(left, right) {
            added(left, right);
            return 0;
        }
        match self.intervals.back() {
            // All of it is there: most of what is sent again.
            Some(last) if last.0 <= left && right <= last.1 => return right - left,
            // It goes on: most of what is selectively acknowledged.
            Some(last) if last.0 <= left && left < last.1 => return self.extend_last(left, right, added),
            Some(last) if left < last.1 => {}
            _ => {
                self.intervals.push_back((left, right));
                self.total += right - left;
                added(left, right);
                return 0;
            }
        }
        let present = self.merge(left, right, added);
        self.total += right - left - present;
        present
    }

    /// Insert what begins in the last interval, and ends behind it.
    #[inline(always)]
    fn extend_last(&mut self, left: i64, right: i64, mut added: impl FnMut(i64, i64)) -> i64 {
        let Some(last) = self.intervals.back_mut() else { return 0 };
        let end = std::mem::replace(&mut last.1, right);
        self.total += right - end;
        added(end, right);
        end - left
    }

    /// Insert what begins before the end of the last interval.
    fn merge(&mut self, left: i64, right: i64, mut added: impl FnMut(i64, i64)) -> i64 {
        // The first of the intervals that touch or overlap [left, right) takes in the others.
        let first = self.intervals.find(|&(_, r)| r < left);
        let (l, r) = match self.intervals.get(first) {
            // All of it is there.
            Some(&(l, r)) if l <= left && right <= r => return right - left,
            Some(&(l, r)) if l <= right => (l, r),
            _ => {
                self.intervals.insert(first, (left, right));
                added(left, right);
                return 0;
            }
        };
        if l > left {
            added(left, l.min(right));
        }
        let mut present = (r.min(right) - l.max(left)).max(0);
        let mut cursor = left.max(r);
        let mut merged = (left.min(l), right.max(r));
        let mut next = self.intervals.following(first);
        while let Some(&(l, r)) = self.intervals.get(next)
            && l <= right
        {
            if l > cursor {
                added(cursor, l);
            }
            present += r.min(right) - l;
            cursor = r;
            merged.1 = merged.1.max(r);
            next = self.intervals.remove(next);
        }
        if cursor < right {
            added(cursor, right);
        }
        if let Some(interval) = self.intervals.get_mut(first) {
            *interval = merged;
        }
        present
    }

    /// Forget everything below `left`.
    pub fn remove_below(&mut self, left: i64) {
        while let Some(first) = self.intervals.front_mut() {
            if first.1 > left {
                self.total -= (left - first.0).max(0);
                first.0 = first.0.max(left);
                break;
            }
            self.total -= first.1 - first.0;
            self.intervals.pop_front();
        }
    }

    /// How many bytes of `[left, right)` are in the set.
    pub fn overlap(&self, left: i64, right: i64) -> i64 {
        // What is asked for most often lies below all of them.
        if self.lowest().is_none_or(|lowest| right <= lowest) {
            return 0;
        }
        let mut place = self.intervals.find(|&(_, r)| r <= left);
        let mut bytes = 0;
        while let Some(&(l, r)) = self.intervals.get(place)
            && l < right
        {
            bytes += r.min(right) - l.max(left);
            place = self.intervals.following(place);
        }
        bytes
    }

    /// As [`IntervalSet::overlap`], but no more than `enough`, at the cost of what is counted.
    pub fn overlap_up_to(&self, left: i64, right: i64, enough: i64) -> i64 {
        let mut place = self.intervals.find(|&(_, r)| r <= left);
        let mut bytes = 0;
        while let Some(&(l, r)) = self.intervals.get(place)
            && l < right
            && bytes < enough
        {
            bytes += r.min(right) - l.max(left);
            place = self.intervals.following(place);
        }
        bytes.min(enough)
    }

    /// No bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Bytes in the set.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// Left end of the first interval.
    pub fn lowest(&self) -> Option<i64> {
        self.intervals.front().map(|&(l, _)| l)
    }

    /// Right end of the last interval.
    pub fn highest(&self) -> Option<i64> {
        self.intervals.back().map(|&(_, r)| r)
    }
}

impl Fields for IntervalSet {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let IntervalSet { intervals, total } = self;
        walk_over!(walk: intervals, total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_what_was_there() {
        let mut set = IntervalSet::default();
        assert_eq!(set.insert(0, 10), 0);
        assert_eq!(set.insert(20, 30), 0);
        assert_eq!(set.insert(5, 25), 10);
        assert_eq!(set.total(), 30);
        set.remove_below(7);
        assert_eq!(set.overlap(0, 100), 23);
        for enough in [0, 5, 22, 23, 24] {
            assert_eq!(set.overlap_up_to(0, 100, enough), 23.min(enough));
        }
        assert_eq!(set.insert(30, 40), 0);
        assert_eq!(set.intervals.len(), 1);
    }

    proptest! {
        #[test]
        fn agrees_with_a_bit_per_byte(ranges in prop::collection::vec((0i64..200, 0i64..40), 0..60)) {
            let mut set = IntervalSet::default();
            let mut bits = [false; 256];
            for (left, length) in ranges {
                let right = left + length;
                let present = bits[left as usize..right as usize].iter().filter(|b| **b).count() as i64;
                let mut fresh = 0;
                prop_assert_eq!(set.overlap(left, right), present);
                prop_assert_eq!(set.insert_with(left, right, |l, r| fresh += r - l), present);
                prop_assert_eq!(fresh, length - present);
                bits[left as usize..right as usize].fill(true);
                prop_assert_eq!(set.total(), bits.iter().filter(|b| **b).count() as i64);
                let ends: Vec<_> = set.intervals.iter().copied().collect();
                prop_assert!(ends.windows(2).all(|w| w[0].1 < w[1].0));
            }
            for left in 0..256 {
                set.remove_below(left);
                prop_assert_eq!(set.total(), bits[left as usize..].iter().filter(|b| **b).count() as i64);
            }
        }
    }
}
