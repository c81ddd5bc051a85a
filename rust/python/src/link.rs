//! Captures of link frames: as text logs, (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::linktable::{CAUSES, Events, Frames, KINDS};
use multitracer_core::ppp::record;
use multitracer_core::rlp::gsmtap;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::error_to_python;
use crate::text::{Scan, facts, listed, scan, table_of};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("LINK_KINDS", KINDS.to_vec())?;
    m.add("RESET_CAUSES", CAUSES.to_vec())?;
    m.add_function(wrap_pyfunction!(sniff_gsmtap, m)?)?;
    m.add_function(wrap_pyfunction!(read_gsmtap, m)?)?;
    m.add_function(wrap_pyfunction!(sniff_pppd, m)?)?;
    m.add_function(wrap_pyfunction!(scan_pppd, m)?)?;
    Ok(())
}

/// `link_frames` and `link_events`, as every reader of a link gives them.
pub(crate) fn link_tables(py: Python<'_>, frames: Frames, events: Events) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("link_frames", table_of(py, frames.into_columns())?)?;
    tables.set_item("link_events", table_of(py, events.into_columns())?)?;
    Ok(tables)
}

#[pyfunction]
fn sniff_pppd(head: &[u8]) -> bool {
    record::sniff(head)
}

#[pyfunction]
fn scan_pppd(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let found = scan(py, &path, &Progress::default(), record::read)?;
    let tables = link_tables(py, found.frames, found.events)?;
    let facts = facts(py, 0, 100_000_000)?;
    facts.set_item("protocols", found.protocols)?;
    facts.set_item("octets", found.octets)?;
    facts.set_item("wrong_headers", found.wrong_headers)?;
    facts.set_item("started", found.started)?;
    Ok((tables, listed(&found.issues), facts))
}

#[pyfunction]
fn sniff_gsmtap(head: &[u8]) -> bool {
    gsmtap::sniff(head)
}

#[pyfunction]
#[pyo3(signature = (path, uplink_is_mobile, n2=None))]
fn read_gsmtap(py: Python<'_>, path: PathBuf, uplink_is_mobile: bool, n2: Option<u32>) -> PyResult<Scan<'_>> {
    let found = py.detach(|| gsmtap::read(&path, uplink_is_mobile, n2)).map_err(error_to_python)?;
    let tables = link_tables(py, found.frames, found.events)?;
    let facts = facts(py, found.counts.records, found.counts.resolution_ns)?;
    facts.set_item("rlp_frames", found.rlp_frames)?;
    facts.set_item("held_off", found.held_off)?;
    facts.set_item("other_types", found.other_types)?;
    facts.set_item("tcp", found.counts.tcp)?;
    Ok((tables, listed(&found.issues), facts))
}
