//! Flows of a capture: one direction of a connection each, as a range of the rows of all segments.
//!
//! Columns of all segments are in the order of the flows, and those of each flow in the order of time, so that none
//! is copied to look at some flows.

use std::ops::Range;

use crate::segment::Checksum;

/// Which segments of a flow acknowledge something: those with an ACK that were not damaged on the way.
///
/// Between hosts that leave checksums to hardware (or to nobody, over virtual links) most are wrong: then none is
/// damaged.
#[derive(Clone, Copy, Debug)]
pub struct ValidAcks<'a> {
    ack: &'a [i64],
    checksum: &'a [i8],
    damaged: bool,
}

impl<'a> ValidAcks<'a> {
    /// Of a flow, by two columns of all segments.
    ///
    /// # Panics
    /// Rows that there are not.
    #[must_use]
    pub fn of(ack: &'a [i64], checksum: &'a [i8], flow: &Range<usize>) -> Self {
        let (ack, checksum) = (&ack[flow.clone()], &checksum[flow.clone()]);
        let wrong = checksum.iter().filter(|&&one| one == Checksum::Bad as i8).count();
        Self { ack, checksum, damaged: 2 * wrong <= checksum.len() }
    }

    /// Whether a row of the flow, from 0, is one of them.
    ///
    /// # Panics
    /// A row that the flow does not have.
    #[must_use]
    pub fn has(&self, row: usize) -> bool {
        self.ack[row] > 0 && !(self.damaged && self.checksum[row] == Checksum::Bad as i8)
    }

    /// Their rows in the flow, from 0.
    pub fn rows(self) -> impl Iterator<Item = usize> + use<'a> {
        (0..self.ack.len()).filter(move |&row| self.has(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: i8 = Checksum::Bad as i8;

    #[test]
    fn a_damaged_segment_acknowledges_nothing() {
        let valid = ValidAcks::of(&[9, 0, 5, 6, 7], &[0, 0, BAD, 0, 0], &(1..5));
        assert_eq!(valid.rows().collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn where_most_checksums_are_wrong_none_is_damaged() {
        let valid = ValidAcks::of(&[5, 6, 7], &[BAD, BAD, 0], &(0..3));
        assert_eq!(valid.rows().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
