//! OMNeT++: result files.

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::omnetpp;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::text::{Scan, facts, listed, scan, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_omnetpp, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_omnetpp(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), omnetpp::scan)?;
    let (values, scalars) = (log.values, log.scalars);
    let tables = PyDict::new(py);
    tables.set_item("vectors", table!(py, values, t_ns, record, vector, value))?;
    tables.set_item("scalars", table!(py, scalars, record, value))?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("vectors", log.vectors)?;
    facts.set_item("scalars", (scalars.module, scalars.name))?;
    let blocks: Vec<_> = log.blocks.iter().map(|b| (b.record, b.count, b.min, b.max, b.sum)).collect();
    facts.set_item("blocks", blocks)?;
    facts.set_item("is_index", log.is_index)?;
    facts.set_item("run", log.run)?;
    facts.set_item("attributes", log.attributes)?;
    facts.set_item("bins", log.bins)?;
    facts.set_item("undefined", log.undefined)?;
    facts.set_item("span", log.span)?;
    Ok((tables, listed(&log.issues), facts))
}
