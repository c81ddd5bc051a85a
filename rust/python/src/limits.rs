//! What held senders back.

use multitracer_core::segments::limits::{Connection, Held, Phase, limits, longest};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::columns::{Bounds, Column, Ints, SenderColumns, flows, same_length, sender_segments};

/// Connection, begin, end, limit, bytes outstanding, room, record.
type Phases<'py> = (
    Column<'py, i64>,
    Column<'py, i64>,
    Column<'py, i64>,
    Column<'py, i8>,
    Column<'py, i64>,
    Column<'py, i64>,
    Column<'py, i64>,
);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(limit_phases, m)?)?;
    m.add_function(wrap_pyfunction!(limits_longest, m)?)?;
    Ok(())
}

/// All phases of all connections.
#[pyfunction]
fn limit_phases<'py>(
    py: Python<'py>,
    columns: SenderColumns<'py>,
    data: Bounds<'py>,
    acks: Bounds<'py>,
    until_ns: Ints<'py>,
) -> PyResult<Phases<'py>> {
    let mut found = Vec::new();
    let mut at = 0;
    each(py, &columns, &data, &acks, &until_ns, |held| {
        found.extend(held.iter().flat_map(|held| held.phases).map(|&phase| (at, phase)));
        at += 1;
    })?;
    Ok(to_columns(py, &found))
}

/// Of each connection: the number of its phases, the sum of their lengths, whether a window is known; and so many of
/// its longest phases.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn limits_longest<'py>(
    py: Python<'py>,
    columns: SenderColumns<'py>,
    data: Bounds<'py>,
    acks: Bounds<'py>,
    until_ns: Ints<'py>,
    most: usize,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, bool>, Phases<'py>)> {
    let (mut counts, mut lengths, mut known, mut found) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    each(py, &columns, &data, &acks, &until_ns, |held| {
        let phases = held.map_or(&[][..], |held| held.phases);
        found.extend(longest(phases, most).into_iter().map(|phase| (counts.len() as i64, phase)));
        counts.push(phases.len() as i64);
        lengths.push(phases.iter().map(Phase::length_ns).sum());
        known.push(held.is_some_and(|held| held.window_known));
    })?;
    let phases = to_columns(py, &found);
    Ok((counts.into_pyarray(py), lengths.into_pyarray(py), known.into_pyarray(py), phases))
}

fn each(
    py: Python<'_>,
    columns: &SenderColumns<'_>,
    data: &Bounds<'_>,
    acks: &Bounds<'_>,
    until_ns: &Ints<'_>,
    each: impl FnMut(Option<Held<'_>>) + Send,
) -> PyResult<()> {
    let segments = sender_segments(columns)?;
    let flows = flows(data, acks, segments.t_ns.len())?;
    let until_ns = until_ns.as_slice()?;
    same_length(&[flows.len(), until_ns.len()])?;
    let connections: Vec<Connection> = flows
        .into_iter()
        .zip(until_ns)
        .map(|((data, acks), &until_ns)| Connection { data, acks, until_ns })
        .collect();
    py.detach(|| limits(&segments, &connections, each));
    Ok(())
}

fn to_columns<'py>(py: Python<'py>, phases: &[(i64, Phase)]) -> Phases<'py> {
    let column =
        |value: fn(&(i64, Phase)) -> i64| phases.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    (
        column(|one| one.0),
        column(|one| one.1.t_ns),
        column(|one| one.1.end_ns),
        phases.iter().map(|one| one.1.limit as i8).collect::<Vec<_>>().into_pyarray(py),
        column(|one| one.1.outstanding),
        column(|one| one.1.room),
        column(|one| one.1.record),
    )
}
