//! Columns that Python hands over.

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
