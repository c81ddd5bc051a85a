//! Multipath TCP options of the segments, beside the segments table: few captures have any.

use super::columns::Row;
use super::interval::IntervalSet;
use crate::segment::{Mptcp, Segment};

/// A segment with a Multipath TCP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MultipathRow {
    /// Time stamp of the record, in ns.
    pub t_ns: i64,
    /// Number of the record.
    pub record: u64,
    /// Number of the connection (the subflow).
    pub conn: u32,
    /// Direction in it.
    pub direction: u8,
    /// First byte, relative as in the segments table.
    pub seq: i64,
    /// Bytes of payload.
    pub length: u32,
    /// What the options say.
    pub option: Mptcp,
}

impl MultipathRow {
    pub(super) fn of(segment: &Segment, conn: u32, row: &Row) -> Self {
        MultipathRow {
            t_ns: segment.t_ns,
            record: segment.record,
            conn,
            direction: row.direction,
            seq: row.seq,
            length: segment.length,
            option: segment.options.mptcp,
        }
    }
}

/// Of each stretch of bytes, how many of them an earlier one had already.
///
/// Stretches that do not fit into 64 bits, or are empty, have none.
pub fn covered_before(first: &[i64], length: &[i64]) -> Vec<i64> {
    let mut seen = IntervalSet::default();
    let stretches = first.iter().zip(length);
    stretches.map(|(&from, &bytes)| from.checked_add(bytes).map_or(0, |to| seen.insert(from, to))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn as_counted_byte_by_byte(stretches in proptest::collection::vec((0i64..60, -3i64..20), 0..40)) {
            let (first, length): (Vec<_>, Vec<_>) = stretches.iter().copied().unzip();
            let mut seen = HashSet::new();
            let counted: Vec<i64> = stretches.iter().map(|&(from, bytes)| {
                (from..from + bytes).filter(|byte| !seen.insert(*byte)).count() as i64
            }).collect();
            prop_assert_eq!(covered_before(&first, &length), counted);
        }
    }

    #[test]
    fn beyond_64_bits_is_nothing() {
        assert_eq!(covered_before(&[i64::MAX - 1, 5], &[10, 1]), [0, 0]);
    }
}
