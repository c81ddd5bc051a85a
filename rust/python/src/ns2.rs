//! ns-2: (tables, issues, facts), and the two ends of all connections as captures have them.

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::ns2::{self, View};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capture::tracked_to_python;
use crate::text::{Scan, scan, to_python};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_ns2, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_ns2(py: Python<'_>, path: PathBuf, header_bytes: u32, keep: bool) -> PyResult<Scan<'_>> {
    let mut log = scan(py, &path, &Progress::default(), |reader| ns2::scan(reader, keep, header_bytes))?;
    let ends = PyList::empty(py);
    for View { connections, columns } in std::mem::take(&mut log.views) {
        let end = PyDict::new(py);
        tracked_to_python(py, &end, &connections, keep.then_some(columns))?;
        ends.append(end)?;
    }
    let (tables, issues, facts) = to_python(py, log.into())?;
    facts.set_item("ends", ends)?;
    Ok((tables, issues, facts))
}
