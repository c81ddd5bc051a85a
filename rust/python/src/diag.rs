//! Logs of a phone's modem: PDUs of all its bearers, as (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::rlc::diag;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::text::{Scan, facts, listed, scan, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sniff_diag, m)?)?;
    m.add_function(wrap_pyfunction!(read_diag, m)?)?;
    Ok(())
}

#[pyfunction]
fn sniff_diag(head: &[u8]) -> bool {
    diag::sniff(head)
}

#[pyfunction]
fn read_diag(py: Python<'_>, path: PathBuf, xml: bool) -> PyResult<Scan<'_>> {
    let reader = if xml { diag::read_xml } else { diag::read };
    let log = scan(py, &path, &Progress::default(), reader)?;
    let rows = log.columns;
    let tables = PyDict::new(py);
    tables.set_item("pdus", table!(py, rows, ue, bearer, t_ns, record, kind, flags, sn, start, length))?;
    let facts = facts(py, log.records, 1000)?;
    facts.set_item("messages", log.messages)?;
    facts.set_item("sn_bits", log.sn_bits)?;
    Ok((tables, listed(&log.issues), facts))
}
