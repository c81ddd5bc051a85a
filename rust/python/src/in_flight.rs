//! What senders had in the network.

use multitracer_core::segments::in_flight::{Received, Recoveries, Sent, Step, walk};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::columns::{Codes, Column, Ints, Small, same_length};

type Flags<'py> = PyReadonlyArray1<'py, bool>;
type Data<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Small<'py>, Small<'py>, Flags<'py>, Ints<'py>);
type Acks<'py> = (Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Ints<'py>, Codes<'py>, Flags<'py>);
type Held<'py> = (Ints<'py>, Ints<'py>, Ints<'py>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(in_flight_steps, m)?)?;
    Ok(())
}

/// Row, FlightSize and pipe of every step.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn in_flight_steps<'py>(
    py: Python<'py>,
    count: usize,
    data: Data<'py>,
    acks: Acks<'py>,
    recoveries: Held<'py>,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, i64>)> {
    let (mut rows, mut flights, mut pipes) = (Vec::new(), Vec::new(), Vec::new());
    walked(py, count, &data, &acks, &recoveries, |steps| {
        rows.extend(steps.iter().map(|step| step.row as i64));
        flights.extend(steps.iter().map(|step| step.flight));
        pipes.extend(steps.iter().map(|step| step.pipe));
    })?;
    Ok((rows.into_pyarray(py), flights.into_pyarray(py), pipes.into_pyarray(py)))
}

fn walked(
    py: Python<'_>,
    count: usize,
    data: &Data<'_>,
    acks: &Acks<'_>,
    recoveries: &Held<'_>,
    each: impl FnMut(&[Step]) + Send,
) -> PyResult<()> {
    let sent = Sent {
        of: data.0.as_slice()?,
        t_ns: data.1.as_slice()?,
        record: data.2.as_slice()?,
        seq: data.3.as_slice()?,
        length: data.4.as_slice()?,
        duplicate: data.5.as_slice()?,
        timed_out: data.6.as_slice()?,
        highest: data.7.as_slice()?,
    };
    let received = Received {
        of: acks.0.as_slice()?,
        t_ns: acks.1.as_slice()?,
        record: acks.2.as_slice()?,
        ack: acks.3.as_slice()?,
        sack_high: acks.4.as_slice()?,
        sack_count: acks.5.as_slice()?,
        duplicate: acks.6.as_slice()?,
    };
    let held = Recoveries {
        of: recoveries.0.as_slice()?,
        begin_ns: recoveries.1.as_slice()?,
        end_ns: recoveries.2.as_slice()?,
    };
    same_length(&[
        sent.of.len(),
        sent.t_ns.len(),
        sent.record.len(),
        sent.seq.len(),
        sent.length.len(),
        sent.duplicate.len(),
        sent.timed_out.len(),
        sent.highest.len(),
    ])?;
    same_length(&[
        received.of.len(),
        received.t_ns.len(),
        received.record.len(),
        received.ack.len(),
        received.sack_high.len(),
        received.sack_count.len(),
        received.duplicate.len(),
    ])?;
    same_length(&[held.of.len(), held.begin_ns.len(), held.end_ns.len()])?;
    py.detach(|| walk(count, sent, received, held, each));
    Ok(())
}
