//! Round trips by timestamps.

use multitracer_core::segments::echoes::{Segments, echoes};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns::{Bounds, Ints, ranges, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, PyReadonlyArray1<'py, i8>);
type Column<'py, T> = Bound<'py, PyArray1<T>>;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(timestamp_echoes, m)?)?;
    Ok(())
}

/// Rows among the valid ACKs of all connections, and their round trips; and which connections use timestamps.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn timestamp_echoes<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    data: Bounds<'py>,
    acks: Bounds<'py>,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, bool>)> {
    let segments = Segments {
        t_ns: columns.0.as_slice()?,
        ack: columns.1.as_slice()?,
        ts_val: columns.2.as_slice()?,
        ts_ecr: columns.3.as_slice()?,
        checksum: columns.4.as_slice()?,
    };
    let rows = segments.t_ns.len();
    same_length(&[
        rows,
        segments.ack.len(),
        segments.ts_val.len(),
        segments.ts_ecr.len(),
        segments.checksum.len(),
    ])?;
    let (data, acks) = (ranges(&data.0, &data.1, rows)?, ranges(&acks.0, &acks.1, rows)?);
    same_length(&[data.len(), acks.len()])?;
    let (mut rows, mut rtts_ns, mut stamped) = (Vec::new(), Vec::new(), Vec::new());
    py.detach(|| {
        let mut before = 0;
        for (data, acks) in data.into_iter().zip(&acks) {
            let found = echoes(&segments, data, acks);
            rows.extend(found.samples.iter().map(|one| (before + one.0) as i64));
            rtts_ns.extend(found.samples.iter().map(|one| one.1));
            stamped.push(found.stamped);
            before += found.acks;
        }
    });
    Ok((rows.into_pyarray(py), rtts_ns.into_pyarray(py), stamped.into_pyarray(py)))
}
