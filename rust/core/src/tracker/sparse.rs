//! Columns most of whose rows say "none".

use std::ops::Index;

/// Entries for which a column is never held whole.
const FEW: usize = 1024;

/// A column of which only the rows are held that differ from `ABSENT`, as long as that takes less room; then all.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse<T, const ABSENT: i8> {
    absent: T,
    rows: usize,
    /// Rows that `values` are of, unless they are of all.
    at: Vec<u32>,
    values: Vec<T>,
    whole: bool,
}

/// What is held of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held<T> {
    /// The value of each row.
    All(Vec<T>),
    /// Rows, and their values; all others have this one.
    Few(T, Vec<u32>, Vec<T>),
}

impl<T: From<i8>, const ABSENT: i8> Default for Sparse<T, ABSENT> {
    fn default() -> Self {
        Sparse { absent: ABSENT.into(), rows: 0, at: Vec::new(), values: Vec::new(), whole: false }
    }
}

impl<T: Copy + PartialEq, const ABSENT: i8> Sparse<T, ABSENT> {
    /// Append.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.whole {
            self.values.push(value);
        } else if value != self.absent {
            self.push_entry(value);
        }
        self.rows += 1;
    }

    fn push_entry(&mut self, value: T) {
        let room = self.at.len() * (size_of::<u32>() + size_of::<T>());
        match u32::try_from(self.rows) {
            Ok(row) if self.at.len() < FEW || room < self.rows * size_of::<T>() / 2 => {
                self.at.push(row);
                self.values.push(value);
            }
            _ => {
                let mut all = vec![self.absent; self.rows];
                for (row, value) in std::mem::take(&mut self.at).into_iter().zip(&self.values) {
                    all[row as usize] = *value;
                }
                all.push(value);
                (self.values, self.whole) = (all, true);
            }
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// What is held.
    pub fn into_held(self) -> Held<T> {
        if self.whole { Held::All(self.values) } else { Held::Few(self.absent, self.at, self.values) }
    }
}

impl<T, const ABSENT: i8> Index<usize> for Sparse<T, ABSENT> {
    type Output = T;

    fn index(&self, row: usize) -> &T {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if self.whole {
            return &self.values[row];
        }
        match self.at.binary_search_by(|&at| (at as usize).cmp(&row)) {
            Ok(place) => &self.values[place],
            Err(_) => &self.absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However many rows differ, and wherever: the column has what was appended, and takes no more room than all.
        #[test]
        fn is_a_column(stretches in prop::collection::vec((0usize..3000, 0i64..3), 0..8), each in 1usize..5) {
            let (mut sparse, mut plain) = (Sparse::<i64, -1>::default(), Vec::new());
            for (rows, kind) in stretches {
                for row in 0..rows {
                    let value = if kind > 0 && row % each == 0 { row as i64 * kind } else { -1 };
                    sparse.push(value);
                    plain.push(value);
                }
            }
            prop_assert_eq!(sparse.len(), plain.len());
            for row in (0..plain.len()).step_by(7) {
                prop_assert_eq!(sparse[row], plain[row]);
            }
            let all = match sparse.into_held() {
                Held::All(values) => values,
                Held::Few(absent, at, values) => {
                    prop_assert!(at.len() <= FEW || at.len() * 12 <= plain.len() * 8);
                    let mut all = vec![absent; plain.len()];
                    at.iter().zip(&values).for_each(|(&row, &value)| all[row as usize] = value);
                    all
                }
            };
            prop_assert_eq!(all, plain);
        }
    }
}
