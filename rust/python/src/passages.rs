//! Data segments through the bottleneck.

use multitracer_core::segments::passages::{Connection, Passages, Passing, Segments};
use multitracer_core::segments::sent_later;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::columns::{Bounds, Codes, Column, Ints, Small, flows, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Small<'py>, Small<'py>, Small<'py>, Codes<'py>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(bottleneck_passages, m)?)?;
    m.add_function(wrap_pyfunction!(part_sent_later, m)?)?;
    Ok(())
}

/// When packets were handed over, and came out; their size, and the part that is sent again.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn bottleneck_passages<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    data: Bounds<'py>,
    acks: Bounds<'py>,
    full: Ints<'py>,
    few: usize,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, i64>, Column<'py, f64>)> {
    let segments = Segments {
        t_ns: columns.0.as_slice()?,
        seq: columns.1.as_slice()?,
        ack: columns.2.as_slice()?,
        length: columns.3.as_slice()?,
        duplicate: columns.4.as_slice()?,
        ip_length: columns.5.as_slice()?,
        checksum: columns.6.as_slice()?,
    };
    let rows = segments.t_ns.len();
    same_length(&[
        rows,
        segments.seq.len(),
        segments.ack.len(),
        segments.length.len(),
        segments.duplicate.len(),
        segments.ip_length.len(),
        segments.checksum.len(),
    ])?;
    let flows = flows(&data, &acks, rows)?;
    let full = full.as_slice()?;
    same_length(&[flows.len(), full.len()])?;
    // A full segment has a byte.
    let connections: Vec<Connection> = flows
        .into_iter()
        .zip(full)
        .map(|((data, acks), &full)| Connection { data, acks, full: full.max(1) })
        .collect();
    let passing = Passing::of(segments, connections, few);
    let whole = || PyArray1::zeros(py, passing.packets(), false);
    let (in_ns, out_ns, size, again) =
        (whole(), whole(), whole(), PyArray1::zeros(py, passing.packets(), false));
    {
        let (mut in_ns, mut out_ns, mut size) = (in_ns.readwrite(), out_ns.readwrite(), size.readwrite());
        let mut again = again.readwrite();
        let found = Passages {
            in_ns: in_ns.as_slice_mut()?,
            out_ns: out_ns.as_slice_mut()?,
            size: size.as_slice_mut()?,
            again: again.as_slice_mut()?,
        };
        py.detach(|| passing.write(found));
    }
    Ok((in_ns, out_ns, size, again))
}

/// Part of each segment that is sent once more later, in the same flow.
#[pyfunction]
fn part_sent_later<'py>(
    py: Python<'py>,
    of: Ints<'py>,
    seq: Ints<'py>,
    length: Small<'py>,
    duplicate: Small<'py>,
    full: Ints<'py>,
) -> PyResult<Column<'py, f64>> {
    let (of, seq, full) = (of.as_slice()?, seq.as_slice()?, full.as_slice()?);
    let (length, duplicate) = (length.as_slice()?, duplicate.as_slice()?);
    same_length(&[of.len(), seq.len(), length.len(), duplicate.len(), full.len()])?;
    let mut parts = Vec::with_capacity(of.len());
    for flow in of.chunk_by(|one, next| one == next) {
        let rows = parts.len()..parts.len() + flow.len();
        let found = sent_later::part_sent_later(
            &seq[rows.clone()],
            &length[rows.clone()],
            &duplicate[rows.clone()],
            &full[rows],
        );
        parts.extend(found);
    }
    Ok(parts.into_pyarray(py))
}
