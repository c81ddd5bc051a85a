//! Part of each data segment of a flow that is sent once more later.

/// Part of each segment that is sent once more later, 0 to 1; segments are in order of time.
///
/// All of one whose first byte is. Of those longer than `full`, the payload of a full segment, which the sender's
/// interface divides, the bytes of retransmissions into them: they are retransmitted in parts.
///
/// # Panics
/// Columns of different lengths.
#[must_use]
pub fn part_sent_later(seq: &[i64], length: &[i32], duplicate: &[i32], full: &[i64]) -> Vec<f64> {
    // Those that begin behind all before them ascend; of the others, which are few, some begin where these do.
    let (mut ahead, mut others) = (Vec::with_capacity(seq.len()), Vec::new());
    for (&first, row) in seq.iter().zip(0_u32..) {
        let is_ahead = ahead.last().is_none_or(|&(last, _)| last < first);
        if is_ahead { &mut ahead } else { &mut others }.push((first, row));
    }
    others.sort_by_key(|one: &(i64, u32)| one.0);
    let mut part = vec![0.0; seq.len()];
    for pair in others.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        part[pair[0].1 as usize] = 1.0;
    }
    let mut known = ahead.iter().peekable();
    for &(first, _) in &others {
        while known.next_if(|one| one.0 < first).is_some() {}
        if let Some(&(_, row)) = known.next_if(|one| one.0 == first) {
            part[row as usize] = 1.0;
        }
    }
    let is_divided = |row: &usize| i64::from(length[*row]) > full[*row];
    if !(0..seq.len()).any(|row| is_divided(&row)) {
        return part;
    }
    let mut order = ahead;
    order.append(&mut others);
    order.retain(|&(_, row)| duplicate[row as usize] > 0);
    if order.is_empty() {
        return part;
    }
    order.sort_by_key(|one| one.0);
    let mut bytes_before = vec![0];
    for &(_, row) in &order {
        bytes_before.push(bytes_before[bytes_before.len() - 1] + i64::from(duplicate[row as usize]));
    }
    let before = |byte: i64| bytes_before[order.partition_point(|&(seq, _)| seq < byte)];
    for row in (0..seq.len()).filter(is_divided) {
        let (begin, length) = (seq[row], i64::from(length[row]));
        let again = before(begin + length) - before(begin) - i64::from(duplicate[row]);
        part[row] = (again as f64 / length as f64).clamp(0.0, 1.0);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_the_same_byte_as_a_later_one_is_sent_again() {
        let part =
            part_sent_later(&[1, 101, 1, 101, 1, 201], &[100; 6], &[0, 0, 100, 100, 100, 0], &[100; 6]);
        assert_eq!(part, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn of_one_that_is_divided_the_bytes_that_are_sent_again_count() {
        let part = part_sent_later(&[1, 401, 101, 301], &[400, 400, 100, 100], &[0, 0, 100, 100], &[100; 4]);
        assert_eq!(part, [0.5, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn nothing_is_part_of_nothing() {
        assert_eq!(part_sent_later(&[], &[], &[], &[]), [0.0; 0]);
    }
}
