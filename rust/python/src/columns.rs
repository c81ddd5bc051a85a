//! Columns that Python hands over.

use std::ops::Range;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A column of whole numbers.
pub(crate) type Ints<'py> = PyReadonlyArray1<'py, i64>;

/// An error where columns of one table have different lengths.
pub(crate) fn same_length(lengths: &[usize]) -> PyResult<()> {
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(PyValueError::new_err("columns of different lengths"))
}

/// Ranges of the rows of a table, by the first row of each and the one behind its last.
pub(crate) fn ranges(begin: &Ints<'_>, end: &Ints<'_>, rows: usize) -> PyResult<Vec<Range<usize>>> {
    let (begin, end) = (begin.as_slice()?, end.as_slice()?);
    same_length(&[begin.len(), end.len()])?;
    let pairs = begin.iter().zip(end);
    let ranges = pairs.map(|(&begin, &end)| match (usize::try_from(begin), usize::try_from(end)) {
        (Ok(begin), Ok(end)) if begin <= end && end <= rows => Ok(begin..end),
        _ => Err(PyValueError::new_err("rows that a table does not have")),
    });
    ranges.collect()
}
