//! Loss recoveries of senders.

use multitracer_core::segments::loss_recovery::{self, Reached};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::columns::{Ints, same_length};

type Columns<'py> = (Ints<'py>, Ints<'py>, Ints<'py>);
type Column<'py> = Bound<'py, PyArray1<i64>>;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(loss_recoveries, m)?)?;
    Ok(())
}

/// Sender, begin and end of each.
#[pyfunction]
fn loss_recoveries<'py>(
    py: Python<'py>,
    again: Columns<'py>,
    acks: Columns<'py>,
) -> PyResult<(Column<'py>, Column<'py>, Column<'py>)> {
    let found = loss_recovery::recoveries(reached(&again)?, reached(&acks)?);
    let column = |value: fn(&loss_recovery::Recovery) -> i64| {
        found.iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    };
    Ok((column(|one| one.of), column(|one| one.begin_ns), column(|one| one.end_ns)))
}

fn reached<'a>(columns: &'a Columns<'_>) -> PyResult<Reached<'a>> {
    let found =
        Reached { of: columns.0.as_slice()?, t_ns: columns.1.as_slice()?, highest: columns.2.as_slice()? };
    same_length(&[found.of.len(), found.t_ns.len(), found.highest.len()])?;
    Ok(found)
}
