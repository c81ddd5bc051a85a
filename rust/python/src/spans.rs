//! From the first data segment of a connection to the ACK of its last byte.

use multitracer_core::segments::spans::{Segments, span};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::columns::{Bounds, Codes, Column, Ints, Small, flows, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Small<'py>, Codes<'py>);

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
    let flows = flows(&data, &acks, rows)?;
    let found: Vec<Option<(i64, i64)>> =
        py.detach(|| flows.into_iter().map(|(data, acks)| span(&segments, data, &acks)).collect());
    let column = |value: fn((i64, i64)) -> i64| {
        found.iter().map(|one| one.map_or(0, value)).collect::<Vec<_>>().into_pyarray(py)
    };
    let carrying = found.iter().map(Option::is_some).collect::<Vec<_>>().into_pyarray(py);
    Ok((column(|span| span.0), column(|span| span.1), carrying))
}
