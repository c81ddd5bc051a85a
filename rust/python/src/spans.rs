//! From the first data segment of a connection to the ACK of its last byte.

use multitracer_core::segments::spans::{Segments, span};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns::{Bounds, Ints, ranges, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, i8>);
type Column<'py, T> = Bound<'py, PyArray1<T>>;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(data_spans, m)?)?;
    Ok(())
}

/// Begin and end of each connection, 0 without data; and which have data.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn data_spans<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    data: Bounds<'py>,
    acks: Bounds<'py>,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, bool>)> {
    let segments = Segments {
        t_ns: columns.0.as_slice()?,
        seq: columns.1.as_slice()?,
        ack: columns.2.as_slice()?,
        length: columns.3.as_slice()?,
        checksum: columns.4.as_slice()?,
    };
    let rows = segments.t_ns.len();
    same_length(&[
        rows,
        segments.seq.len(),
        segments.ack.len(),
        segments.length.len(),
        segments.checksum.len(),
    ])?;
    let (data, acks) = (ranges(&data.0, &data.1, rows)?, ranges(&acks.0, &acks.1, rows)?);
    same_length(&[data.len(), acks.len()])?;
    let found: Vec<Option<(i64, i64)>> =
        py.detach(|| data.into_iter().zip(&acks).map(|(data, acks)| span(&segments, data, acks)).collect());
    let column = |value: fn((i64, i64)) -> i64| {
        found.iter().map(|one| one.map_or(0, value)).collect::<Vec<_>>().into_pyarray(py)
    };
    let carrying = found.iter().map(Option::is_some).collect::<Vec<_>>().into_pyarray(py);
    Ok((column(|span| span.0), column(|span| span.1), carrying))
}
