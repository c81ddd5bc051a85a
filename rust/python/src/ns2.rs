//! ns-2: (tables, issues, facts), and the two ends of all connections as captures have them.

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::ns2::{self, KINDS, Level, View, variables};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capture::tracked_to_python;
use crate::text::{Scan, facts, flows, listed, scan, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_ns2, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ns2_variables, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_ns2(py: Python<'_>, path: PathBuf, header_bytes: u32, keep: bool) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), |reader| ns2::scan(reader, keep, header_bytes))?;
    let (frames, events, energy) = (log.frames, log.events, log.energy);
    let tables = PyDict::new(py);
    tables.set_item("frames", table!(py, frames, t_ns, record, entity, action, ns, length, attempt))?;
    let reasons = events.reasons;
    let found = PyDict::new(py);
    found.set_item("t_ns", events.t_ns.into_pyarray(py))?;
    found.set_item("record", events.record.into_pyarray(py))?;
    found.set_item("entity", events.entity.into_pyarray(py))?;
    found.set_item("action", events.action.into_pyarray(py))?;
    found.set_item("kind", events.kind.into_pyarray(py))?;
    found.set_item("length", events.length.into_pyarray(py))?;
    found.set_item("reason", events.reason.into_pyarray(py))?;
    tables.set_item("events", found)?;
    tables.set_item("energy", table!(py, energy, t_ns, record, entity, joules))?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    let ends = PyList::empty(py);
    for View { connections, columns } in log.views {
        let end = PyDict::new(py);
        tracked_to_python(py, &end, &connections, keep.then_some(columns))?;
        ends.append(end)?;
    }
    facts.set_item("ends", ends)?;
    facts.set_item("below_agents", log.level == Level::Below)?;
    facts.set_item("segment_bytes", log.segment_bytes)?;
    facts.set_item("without_syn", log.without_syn)?;
    facts.set_item("unplaced", log.unplaced)?;
    facts.set_item("entities", log.entities)?;
    facts.set_item("reasons", reasons)?;
    facts.set_item("kinds", KINDS)?;
    facts.set_item("formats", log.formats)?;
    facts.set_item("packets", log.packets)?;
    facts.set_item("remarks", log.remarks)?;
    facts.set_item("span", log.span)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_ns2_variables(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let found = scan(py, &path, &Progress::default(), variables::scan)?;
    let rows = found.rows;
    let tables = PyDict::new(py);
    tables.set_item("variables", table!(py, rows, t_ns, record, flow, name, value))?;
    let facts = facts(py, found.lines, found.resolution_ns)?;
    facts.set_item("flows", flows(py, &found.flows)?)?;
    facts.set_item("names", found.names)?;
    Ok((tables, listed(&found.issues), facts))
}
