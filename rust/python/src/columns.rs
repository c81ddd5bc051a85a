//! Columns that Python hands over.

use std::ops::Range;

use multitracer_core::segments::sender::Segments;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A column of whole numbers.
pub(crate) type Ints<'py> = PyReadonlyArray1<'py, i64>;

/// A column of sizes and counts.
pub(crate) type Small<'py> = PyReadonlyArray1<'py, i32>;

/// A column of codes of a schema.
pub(crate) type Codes<'py> = PyReadonlyArray1<'py, i8>;

/// A column that Python gets.
pub(crate) type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// First rows of flows, and those behind their last.
pub(crate) type Bounds<'py> = (Ints<'py>, Ints<'py>);

/// What is known of senders by: t_ns, record, seq, ack, length, duplicate, window, checksum.
pub(crate) type SenderColumns<'py> =
    (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Small<'py>, Small<'py>, Small<'py>, Codes<'py>);

/// The same, of equal lengths.
pub(crate) fn sender_segments<'a>(columns: &'a SenderColumns<'_>) -> PyResult<Segments<'a>> {
    let segments = Segments {
        t_ns: columns.0.as_slice()?,
        record: columns.1.as_slice()?,
        seq: columns.2.as_slice()?,
        ack: columns.3.as_slice()?,
        length: columns.4.as_slice()?,
        duplicate: columns.5.as_slice()?,
        window: columns.6.as_slice()?,
        checksum: columns.7.as_slice()?,
    };
    same_length(&[
        segments.t_ns.len(),
        segments.record.len(),
        segments.seq.len(),
        segments.ack.len(),
        segments.length.len(),
        segments.duplicate.len(),
        segments.window.len(),
        segments.checksum.len(),
    ])?;
    Ok(segments)
}

/// An error where columns of one table have different lengths.
pub(crate) fn same_length(lengths: &[usize]) -> PyResult<()> {
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(PyValueError::new_err("columns of different lengths"))
}

/// The rows of the data of each connection, and those of the ACKs for it, of a table of so many rows.
pub(crate) fn flows(
    data: &Bounds<'_>,
    acks: &Bounds<'_>,
    rows: usize,
) -> PyResult<Vec<(Range<usize>, Range<usize>)>> {
    let (data, acks) = (ranges(data, rows)?, ranges(acks, rows)?);
    same_length(&[data.len(), acks.len()])?;
    Ok(data.into_iter().zip(acks).collect())
}

/// Ranges of the rows of a table, by the first row of each and the one behind its last.
fn ranges((begin, end): &Bounds<'_>, rows: usize) -> PyResult<Vec<Range<usize>>> {
    let (begin, end) = (begin.as_slice()?, end.as_slice()?);
    same_length(&[begin.len(), end.len()])?;
    let pairs = begin.iter().zip(end);
    let ranges = pairs.map(|(&begin, &end)| match (usize::try_from(begin), usize::try_from(end)) {
        (Ok(begin), Ok(end)) if begin <= end && end <= rows => Ok(begin..end),
        _ => Err(PyValueError::new_err("rows that a table does not have")),
    });
    ranges.collect()
}
