//! ns-3: ascii traces (what each host saw, tracked, and what was dropped where).

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::ns3;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capture::tracked_to_python;
use crate::text::{Scan, scan, to_python};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_ns3, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_ns3(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let mut log = scan(py, &path, &Progress::default(), ns3::scan)?;
    let hosts = PyList::empty(py);
    for seen in std::mem::take(&mut log.seen) {
        let host = PyDict::new(py);
        host.set_item("node", seen.host)?;
        let addresses: Vec<String> =
            seen.addresses.iter().map(|address| address.to_ip().to_string()).collect();
        host.set_item("addresses", addresses)?;
        tracked_to_python(py, &host, &seen.connections, Some(seen.columns))?;
        hosts.append(host)?;
    }
    let (tables, issues, facts) = to_python(py, log.into())?;
    facts.set_item("hosts", hosts)?;
    Ok((tables, issues, facts))
}
