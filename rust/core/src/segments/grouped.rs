//! Values of many groups in one column, group behind group: each group is judged by its own values.
//!
//! Groups are numbered from 0, and the number of each row's group never falls from row to row.

/// For each row, the highest value of its group up to and with this row.
#[must_use]
pub fn highest(of: &[i64], values: &[i64]) -> Vec<i64> {
    let mut group = None;
    let mut most = i64::MIN;
    of.iter()
        .zip(values)
        .map(|(&of, &value)| {
            most = if group == Some(of) { most.max(value) } else { value };
            group = Some(of);
            most
        })
        .collect()
}

/// The rows whose value is higher than all before in their group.
#[must_use]
pub fn advancing(of: &[i64], values: &[i64]) -> Vec<bool> {
    let mut group = None;
    let mut most = i64::MIN;
    of.iter()
        .zip(values)
        .map(|(&of, &value)| {
            let advances = group != Some(of) || value > most;
            if advances {
                (group, most) = (Some(of), value);
            }
            advances
        })
        .collect()
}

/// Where each wanted value would be inserted among the known values of its own group.
///
/// Known values ascend within each group; wanted ones are quickest where they do. `right` inserts behind equal
/// values instead of before them. A wanted group that has no rows gets the place where they would be.
#[must_use]
pub fn places(known: (&[i64], &[i64]), wanted: (&[i64], &[i64]), right: bool) -> Vec<i64> {
    let (groups, values) = known;
    let before = |value: i64, sought: i64| if right { value <= sought } else { value < sought };
    let mut group = None;
    let (mut begin, mut end) = (0, 0);
    let (mut at, mut last) = (0, i64::MIN);
    wanted
        .0
        .iter()
        .zip(wanted.1)
        .map(|(&of, &sought)| {
            if group != Some(of) {
                // Behind the rows of the group before, if wanted groups ascend, too.
                let from = if group.is_some_and(|group| group < of) { end } else { 0 };
                begin = from + ahead(&groups[from..], |&one| one < of);
                end = begin + ahead(&groups[begin..], |&one| one == of);
                (group, at) = (Some(of), begin);
            } else if sought < last {
                at = begin;
            }
            at += ahead(&values[at..end], |&value| before(value, sought));
            last = sought;
            at as i64
        })
        .collect()
}

/// How many of the first values hold: as `partition_point`, in time of the logarithm of the answer.
fn ahead<T>(values: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while reach <= values.len() && holds(&values[reach - 1]) {
        reach *= 2;
    }
    let low = reach / 2;
    let high = reach.min(values.len());
    low + values[low..high].partition_point(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_group_has_its_own_highest() {
        assert_eq!(highest(&[0, 0, 0, 2, 2], &[5, 3, 7, 1, 0]), [5, 5, 7, 1, 1]);
        assert_eq!(highest(&[], &[]), [0; 0]);
    }

    #[test]
    fn equal_values_do_not_advance() {
        let of = [0, 0, 0, 1, 1];
        assert_eq!(advancing(&of, &[5, 5, 6, i64::MIN, 2]), [true, false, true, true, true]);
    }

    #[test]
    fn a_group_without_rows_has_its_place() {
        let known: (&[i64], &[i64]) = (&[0, 0, 2, 2], &[1, 3, 1, 3]);
        assert_eq!(places(known, (&[1, 0, 3, 2], &[9, 9, 0, 0]), false), [2, 2, 4, 2]);
    }

    proptest! {
        #[test]
        fn places_are_those_among_pairs(
            mut known in prop::collection::vec((0i64..4, -9i64..9), 0..40),
            mut wanted in prop::collection::vec((0i64..5, -10i64..10), 0..40),
            ascending: bool,
            right: bool,
        ) {
            known.sort_unstable();
            if ascending {
                wanted.sort_unstable();
            }
            let expected: Vec<i64> = wanted
                .iter()
                .map(|pair| known.partition_point(|one| if right { one <= pair } else { one < pair }) as i64)
                .collect();
            let (of, values): (Vec<i64>, Vec<i64>) = known.into_iter().unzip();
            let (wanted_of, sought): (Vec<i64>, Vec<i64>) = wanted.into_iter().unzip();
            prop_assert_eq!(places((&of, &values), (&wanted_of, &sought), right), expected);
        }
    }
}
