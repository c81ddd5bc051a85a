//! The table of recovery episodes.

use multitracer_core::tracker::{Connection, Episode, Findings, Sender};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::tables::{column, gather};

/// Columns of the schema `episodes`.
pub(crate) fn episodes_to_python<'py>(
    py: Python<'py>,
    connections: &[Connection],
) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::episodes, |episode: &Episode| episode.t_ns);
    let found: Vec<Findings> = rows
        .iter()
        .map(|&(conn, dir, episode)| {
            let connection = &connections[conn as usize];
            connection.senders_at(dir as usize).findings(episode, connection.min_rtt_ns(dir as usize))
        })
        .collect();
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "episode", &rows, |r| r.2.number as i32)?;
    column(py, &d, "cause", &rows, |r| r.2.cause as i8)?;
    column(py, &d, "trigger", &rows, |r| r.2.trigger as i8)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "entry", &rows, |r| r.2.entry)?;
    column(py, &d, "recover", &rows, |r| r.2.recover)?;
    column(py, &d, "duration_ns", &rows, |r| r.2.end_ns.map_or(-1, |end_ns| end_ns - r.2.t_ns))?;
    column(py, &d, "end_record", &rows, |r| r.2.end_record as i64)?;
    column(py, &d, "timeouts", &rows, |r| r.2.timeouts as i32)?;
    column(py, &d, "segments", &found, |f| f.segments as i32)?;
    column(py, &d, "duplicate", &found, |f| f.bytes as i64)?;
    column(py, &d, "spurious", &found, |f| f.spurious as i32)?;
    column(py, &d, "genuine", &found, |f| f.genuine as i32)?;
    column(py, &d, "eifel", &found, |f| f.eifel as i8)?;
    column(py, &d, "dsack", &found, |f| f.dsack as i8)?;
    column(py, &d, "too_early", &found, |f| f.too_early as i8)?;
    column(py, &d, "ack_path", &found, |f| f.ack_path as i8)?;
    column(py, &d, "verdict", &found, |f| f.verdict as i8)?;
    column(py, &d, "undone", &rows, |r| r.2.taken_back as i8)?;
    Ok(d)
}
