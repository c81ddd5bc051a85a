//! ns-3: ascii traces (what each host saw, tracked, and what was dropped where), and variables of scripts.

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::ns3;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capture::tracked_to_python;
use crate::text::{Scan, facts, listed, scan, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_ns3, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ns3_series, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_ns3(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), ns3::scan)?;
    let drops = log.drops;
    let tables = PyDict::new(py);
    tables.set_item("drops", table!(py, drops, t_ns, record, place, length))?;
    let hosts = PyList::empty(py);
    for seen in log.seen {
        let host = PyDict::new(py);
        host.set_item("node", seen.host)?;
        let addresses: Vec<String> =
            seen.addresses.iter().map(|address| address.to_ip().to_string()).collect();
        host.set_item("addresses", addresses)?;
        tracked_to_python(py, &host, &seen.connections, Some(seen.columns))?;
        hosts.append(host)?;
    }
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("hosts", hosts)?;
    facts.set_item("places", log.places)?;
    facts.set_item("dropped_at", log.dropped_at)?;
    facts.set_item("digits", log.digits)?;
    facts.set_item("span", log.span)?;
    let counts = PyDict::new(py);
    for (name, count) in [
        ("queued", log.counts.queued),
        ("sent", log.counts.sent),
        ("received", log.counts.received),
        ("dropped", log.counts.dropped),
        ("segments", log.counts.segments),
        ("mac_retries", log.counts.mac_retries),
        ("fragments", log.counts.fragments),
    ] {
        counts.set_item(name, count)?;
    }
    facts.set_item("counts", counts)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_ns3_series(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), ns3::series::scan)?;
    let tables = PyDict::new(py);
    tables.set_item("series", table!(py, log, t_ns, record, value))?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("columns", log.columns)?;
    facts.set_item("digits", log.digits)?;
    Ok((tables, listed(&log.issues), facts))
}
