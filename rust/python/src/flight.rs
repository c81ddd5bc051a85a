//! What senders had in the network, in short.

use multitracer_core::segments::flight::{Flight, Said, flights};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns::{Bounds, Codes, Column, Ints, SenderColumns, flows, same_length, sender_segments};

type Flags<'py> = PyReadonlyArray1<'py, u16>;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(flights_in_short, m)?)?;
    Ok(())
}

/// Of each connection that has data and ACKs: its number; whole numbers, see the stub; sums of FlightSize and of the
/// pipe over time.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn flights_in_short<'py>(
    py: Python<'py>,
    columns: SenderColumns<'py>,
    said: (Flags<'py>, Codes<'py>, Codes<'py>, Ints<'py>, Codes<'py>),
    data: Bounds<'py>,
    acks: Bounds<'py>,
) -> PyResult<(Vec<Column<'py, i64>>, [Column<'py, f64>; 2])> {
    let segments = sender_segments(&columns)?;
    let rows = segments.t_ns.len();
    let said = Said {
        flags: said.0.as_slice()?,
        cause: said.1.as_slice()?,
        ack_kind: said.2.as_slice()?,
        sack_high: said.3.as_slice()?,
        sack_count: said.4.as_slice()?,
    };
    same_length(&[
        rows,
        said.flags.len(),
        said.cause.len(),
        said.ack_kind.len(),
        said.sack_high.len(),
        said.sack_count.len(),
    ])?;
    let connections = flows(&data, &acks, rows)?;
    let found = py.detach(|| flights(&segments, &said, &connections));
    let found: Vec<(i64, Flight)> =
        (0..).zip(found).filter_map(|(at, flight)| flight.map(|flight| (at, flight))).collect();
    let whole: [fn(&Flight) -> i64; 18] = [
        |one| one.rows,
        |one| one.span_ns,
        |one| one.flight.most,
        |one| one.pipe.most,
        |one| one.bursts[0].segments,
        |one| one.bursts[0].bytes,
        |one| one.bursts[0].t_ns,
        |one| one.bursts[0].record,
        |one| one.bursts[1].segments,
        |one| one.bursts[1].bytes,
        |one| one.bursts[1].t_ns,
        |one| one.bursts[1].record,
        |one| one.limited_transmit,
        |one| one.echoes,
        |one| one.reductions[0],
        |one| one.reductions[1],
        |one| one.opened[0],
        |one| one.opened[1],
    ];
    let numbers = found.iter().map(|one| one.0).collect::<Vec<_>>().into_pyarray(py);
    let columns =
        whole.map(|value| found.iter().map(|one| value(&one.1)).collect::<Vec<_>>().into_pyarray(py));
    let sums = [|one: &Flight| one.flight.over_time, |one: &Flight| one.pipe.over_time]
        .map(|value| found.iter().map(|one| value(&one.1)).collect::<Vec<_>>().into_pyarray(py));
    Ok((std::iter::once(numbers).chain(columns).collect(), sums))
}
