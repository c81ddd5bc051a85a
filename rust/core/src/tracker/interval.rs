//! Sets of bytes as disjoint half-open intervals.

/// Disjoint, sorted, non-touching intervals `[left, right)` of sequence numbers.
///
/// The common case is one interval that grows at its right end, which costs nothing but a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntervalSet {
    intervals: Vec<(i64, i64)>,
}

impl IntervalSet {
    /// Add `[left, right)`; returns how many of its bytes were in the set already.
    pub fn insert(&mut self, left: i64, right: i64) -> i64 {
        self.insert_with(left, right, |_, _| {})
    }

    /// Like [`IntervalSet::insert`], and calls `added` for each part that was not in the set.
    pub fn insert_with(&mut self, left: i64, right: i64, mut added: impl FnMut(i64, i64)) -> i64 {
        if right <= left {
            return 0;
        }
        match self.intervals.last_mut() {
            Some(last) if left == last.1 => {
                added(left, right);
                last.1 = right;
                return 0;
            }
            Some(last) if left > last.1 => {
                added(left, right);
                self.intervals.push((left, right));
                return 0;
            }
            None => {
                added(left, right);
                self.intervals.push((left, right));
                return 0;
            }
            _ => {}
        }
        // The intervals that touch or overlap [left, right) are first..end.
        let first = self.intervals.partition_point(|&(_, r)| r < left);
        let mut end = first;
        let mut present = 0;
        let mut cursor = left;
        let (mut merged_left, mut merged_right) = (left, right);
        while end < self.intervals.len() && self.intervals[end].0 <= right {
            let (l, r) = self.intervals[end];
            if l > cursor {
                added(cursor, l.min(right));
            }
            present += (r.min(right) - l.max(left)).max(0);
            cursor = cursor.max(r);
            merged_left = merged_left.min(l);
            merged_right = merged_right.max(r);
            end += 1;
        }
        if cursor < right {
            added(cursor, right);
        }
        self.intervals.splice(first..end, [(merged_left, merged_right)]);
        present
    }

    /// Forget everything below `left`.
    pub fn remove_below(&mut self, left: i64) {
        let keep = self.intervals.partition_point(|&(_, r)| r <= left);
        self.intervals.drain(..keep);
        if let Some(first) = self.intervals.first_mut() {
            first.0 = first.0.max(left);
        }
    }

    /// How many bytes of `[left, right)` are in the set.
    pub fn overlap(&self, left: i64, right: i64) -> i64 {
        let first = self.intervals.partition_point(|&(_, r)| r <= left);
        self.intervals[first..]
            .iter()
            .take_while(|&&(l, _)| l < right)
            .map(|&(l, r)| r.min(right) - l.max(left))
            .sum()
    }

    /// Bytes in the set.
    pub fn total(&self) -> i64 {
        self.intervals.iter().map(|&(l, r)| r - l).sum()
    }

    /// Left end of the first interval.
    pub fn lowest(&self) -> Option<i64> {
        self.intervals.first().map(|&(l, _)| l)
    }

    /// Right end of the last interval.
    pub fn highest(&self) -> Option<i64> {
        self.intervals.last().map(|&(_, r)| r)
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
                prop_assert!(set.intervals.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
