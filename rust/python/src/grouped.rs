//! Values of many groups in one column.

use multitracer_core::segments::grouped;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::columns::{Ints, same_length};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(highest_in_group, m)?)?;
    m.add_function(wrap_pyfunction!(advancing_in_group, m)?)?;
    m.add_function(wrap_pyfunction!(places_in_group, m)?)?;
    Ok(())
}

#[pyfunction]
fn highest_in_group<'py>(
    py: Python<'py>,
    of: Ints<'py>,
    values: Ints<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (of, values) = (of.as_slice()?, values.as_slice()?);
    same_length(&[of.len(), values.len()])?;
    Ok(grouped::highest(of, values).into_pyarray(py))
}

#[pyfunction]
fn advancing_in_group<'py>(
    py: Python<'py>,
    of: Ints<'py>,
    values: Ints<'py>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (of, values) = (of.as_slice()?, values.as_slice()?);
    same_length(&[of.len(), values.len()])?;
    Ok(grouped::advancing(of, values).into_pyarray(py))
}

#[pyfunction]
fn places_in_group<'py>(
    py: Python<'py>,
    known: (Ints<'py>, Ints<'py>),
    wanted: (Ints<'py>, Ints<'py>),
    right: bool,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let known = (known.0.as_slice()?, known.1.as_slice()?);
    let wanted = (wanted.0.as_slice()?, wanted.1.as_slice()?);
    same_length(&[known.0.len(), known.1.len()])?;
    same_length(&[wanted.0.len(), wanted.1.len()])?;
    Ok(grouped::places(known, wanted, right).into_pyarray(py))
}
