//! The median of whole numbers.

/// The median of some values, without its fraction; they are put in another order. There is one value at least.
pub(crate) fn median(values: &mut [i64]) -> i64 {
    let (half, even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, &mut upper, _) = values.select_nth_unstable(half);
    let lower = below.iter().max().copied().filter(|_| even).unwrap_or(upper);
    i64::midpoint(lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_no_fraction() {
        assert_eq!(median(&mut [5, 1, 9]), 5);
        assert_eq!(median(&mut [5, 1, 9, 6]), 5);
        assert_eq!(median(&mut [7]), 7);
    }
}
