//! From the first data segment of a connection to the ACK of its last byte.

use std::ops::Range;

use super::flows::ValidAcks;

/// Columns of all segments, flow behind flow, each in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// When each was captured.
    pub t_ns: &'a [i64],
    /// Its first byte.
    pub seq: &'a [i64],
    /// What it acknowledges.
    pub ack: &'a [i64],
    /// Its payload.
    pub length: &'a [i32],
    /// What is known of its checksum.
    pub checksum: &'a [i8],
}

/// First data segment and the ACK of the last byte, by the rows of the data and of what came from the other end.
///
/// Where the last byte was not acknowledged, the first ACK of all that was. Without an ACK it ends with the last data
/// segment; nothing without data.
///
/// # Panics
/// Rows that there are not.
#[must_use]
pub fn span(segments: &Segments<'_>, data: Range<usize>, acks: &Range<usize>) -> Option<(i64, i64)> {
    let mut rows = data.filter(|&row| segments.length[row] > 0);
    let first = rows.next()?;
    let begin = segments.t_ns[first];
    let end_of = |row: usize| segments.seq[row] + i64::from(segments.length[row]);
    let (latest, last) = rows.fold((first, end_of(first)), |(_, last), row| (row, last.max(end_of(row))));
    let valid = ValidAcks::of(segments.ack, segments.checksum, acks).rows();
    let mut reached = None;
    for row in valid.map(|row| acks.start + row).filter(|&row| segments.t_ns[row] >= begin) {
        let ack = segments.ack[row].min(last);
        if reached.is_none_or(|(before, _)| before < ack) {
            reached = Some((ack, segments.t_ns[row]));
        }
    }
    Some((begin, reached.map_or(segments.t_ns[latest], |(_, t_ns)| t_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(data: &[(i64, i64, i32)], acks: &[(i64, i64)]) -> Option<(i64, i64)> {
        let rows = data.len() + acks.len();
        let t_ns: Vec<i64> = data.iter().map(|one| one.0).chain(acks.iter().map(|one| one.0)).collect();
        let seq: Vec<i64> = data.iter().map(|one| one.1).chain(acks.iter().map(|_| 1)).collect();
        let ack: Vec<i64> = data.iter().map(|_| 1).chain(acks.iter().map(|one| one.1)).collect();
        let length: Vec<i32> = data.iter().map(|one| one.2).chain(acks.iter().map(|_| 0)).collect();
        let checksum = vec![0; rows];
        let segments = Segments { t_ns: &t_ns, seq: &seq, ack: &ack, length: &length, checksum: &checksum };
        span(&segments, 0..data.len(), &(data.len()..rows))
    }

    #[test]
    fn a_span_ends_with_the_ack_of_the_last_byte() {
        let data = [(0, 0, 0), (5, 1, 100), (6, 101, 100), (9, 1, 100)];
        assert_eq!(found(&data, &[(2, 1), (8, 101), (12, 201), (15, 201)]), Some((5, 12)));
        assert_eq!(found(&data, &[(8, 101), (12, 101)]), Some((5, 8)));
        assert_eq!(found(&data, &[(8, 900), (12, 901)]), Some((5, 8)));
        assert_eq!(found(&data, &[(2, 1)]), Some((5, 9)));
        assert_eq!(found(&data[..1], &[(2, 1)]), None);
    }
}
