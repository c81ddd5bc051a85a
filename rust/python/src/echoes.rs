//! Round trips by timestamps.

use multitracer_core::segments::echoes::{Segments, echoes};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::columns::{Bounds, Codes, Column, Ints, flows, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Codes<'py>);

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
    let flows = flows(&data, &acks, rows)?;
    let (mut rows, mut rtts_ns, mut stamped) = (Vec::new(), Vec::new(), Vec::new());
    py.detach(|| {
        let mut before = 0;
        for (data, acks) in flows {
            let found = echoes(&segments, data, &acks);
            rows.extend(found.samples.iter().map(|one| (before + one.0) as i64));
            rtts_ns.extend(found.samples.iter().map(|one| one.1));
            stamped.push(found.stamped);
            before += found.acks;
        }
    });
    Ok((rows.into_pyarray(py), rtts_ns.into_pyarray(py), stamped.into_pyarray(py)))
}
