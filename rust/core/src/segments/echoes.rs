//! Round trips by timestamps: from the first segment that carried a stamp to the ACK that echoes it (RTTM, RFC 7323
//! section 4).

use std::ops::Range;

use super::flows::ValidAcks;

/// Longer than a day is an error of a clock.
const LATEST_NS: i64 = 86_400_000_000_000;

/// Columns of all segments, flow behind flow, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// When each was captured.
    pub t_ns: &'a [i64],
    /// What it acknowledges.
    pub ack: &'a [i64],
    /// Its stamp; -1 without.
    pub ts_val: &'a [i64],
    /// The stamp that it echoes; -1 without.
    pub ts_ecr: &'a [i64],
    /// What is known of its checksum.
    pub checksum: &'a [i8],
}

/// Round trips of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Echoes {
    /// How many valid ACKs it has.
    pub acks: usize,
    /// Whether both ends used the option.
    pub stamped: bool,
    /// Which of the valid ACKs has a sample, from 0, and its round trip.
    pub samples: Vec<(usize, i64)>,
}

/// Of ACKs that advance, by the rows of the data and of what came from the other end.
///
/// # Panics
/// Rows that there are not.
#[must_use]
pub fn echoes(segments: &Segments<'_>, data: Range<usize>, acks: &Range<usize>) -> Echoes {
    let sent = first_of_each(data.map(|row| (segments.ts_val[row], segments.t_ns[row])));
    let mut found = Echoes::default();
    let (mut echoed, mut highest) = (false, i64::MIN);
    for row in ValidAcks::of(segments.ack, segments.checksum, acks).rows().map(|row| acks.start + row) {
        let stamp = segments.ts_ecr[row];
        echoed |= stamp >= 0;
        if segments.ack[row] > highest {
            highest = segments.ack[row];
            if let Ok(at) = sent.binary_search_by_key(&stamp, |one| one.0) {
                let rtt_ns = segments.t_ns[row] - sent[at].1;
                if (1..=LATEST_NS).contains(&rtt_ns) {
                    found.samples.push((found.acks, rtt_ns));
                }
            }
        }
        found.acks += 1;
    }
    found.stamped = echoed && !sent.is_empty();
    found
}

/// Stamps, ascending, and when each was first sent.
fn first_of_each(stamped: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    let mut ascending = true;
    for (stamp, t_ns) in stamped.filter(|one| one.0 >= 0) {
        match found.last() {
            Some(last) if last.0 == stamp => continue,
            Some(last) => ascending &= last.0 < stamp,
            None => {}
        }
        found.push((stamp, t_ns));
    }
    if !ascending {
        found.sort_by_key(|one| one.0);
        found.dedup_by_key(|one| one.0);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_from_the_first_segment_with_the_stamp() {
        let segments = Segments {
            t_ns: &[1, 2, 3, 4, 10, 11, 12, 13, 14],
            ack: &[0, 0, 0, 0, 5, 5, 6, 7, 8],
            ts_val: &[7, 7, 9, 8, 1, 1, 1, 1, 1],
            ts_ecr: &[0, 0, 0, 0, 7, 9, 9, 6, -1],
            checksum: &[0; 9],
        };
        let expected = Echoes { acks: 5, stamped: true, samples: vec![(0, 9), (2, 9)] };
        assert_eq!(echoes(&segments, 0..4, &(4..9)), expected);
        assert_eq!(echoes(&segments, 0..0, &(4..9)), Echoes { acks: 5, ..Echoes::default() });
        assert_eq!(echoes(&segments, 0..4, &(8..9)), Echoes { acks: 1, ..Echoes::default() });
    }

    #[test]
    fn the_first_of_equal_stamps_counts_whatever_their_order() {
        assert_eq!(first_of_each([(5, 1), (3, 2), (5, 3), (-1, 4)].into_iter()), [(3, 2), (5, 1)]);
    }
}
