//! The bottleneck of a transfer.

use multitracer_core::segments::bottleneck::{self, Passed};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns::{Ints, same_length};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(bottleneck_rates, m)?)?;
    m.add_function(wrap_pyfunction!(bottleneck_served, m)?)?;
    m.add_function(wrap_pyfunction!(bottleneck_busy, m)?)?;
    Ok(())
}

#[pyfunction]
fn bottleneck_rates<'py>(
    py: Python<'py>,
    in_ns: Ints<'py>,
    out_ns: Ints<'py>,
    size: Ints<'py>,
    smallest_ns: i64,
    still_ns: i64,
) -> PyResult<(f64, f64)> {
    let (in_ns, out_ns, size) = (in_ns.as_slice()?, out_ns.as_slice()?, size.as_slice()?);
    same_length(&[in_ns.len(), out_ns.len(), size.len()])?;
    let rows = in_ns.iter().zip(out_ns).zip(size);
    let packets = rows.map(|((&in_ns, &out_ns), &size)| Passed { in_ns, out_ns, size }).collect();
    Ok(py.detach(|| bottleneck::rates(packets, smallest_ns, still_ns)))
}

#[pyfunction]
fn bottleneck_served<'py>(
    py: Python<'py>,
    in_ns: Ints<'py>,
    size: PyReadonlyArray1<'py, f64>,
    rate: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (in_ns, size) = (in_ns.as_slice()?, size.as_slice()?);
    same_length(&[in_ns.len(), size.len()])?;
    Ok(bottleneck::served(in_ns, size, rate).into_pyarray(py))
}

#[pyfunction]
fn bottleneck_busy<'py>(
    py: Python<'py>,
    in_ns: Ints<'py>,
    out_ns: Ints<'py>,
    rest_ns: i64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (in_ns, out_ns) = (in_ns.as_slice()?, out_ns.as_slice()?);
    same_length(&[in_ns.len(), out_ns.len()])?;
    Ok(bottleneck::busy(in_ns, out_ns, rest_ns).into_pyarray(py))
}
