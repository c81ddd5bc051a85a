//! DCCP in captures: (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::dccp;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::error_to_python;
use crate::text::{Scan, facts, listed, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("DCCP_TYPES", dccp::TYPES.to_vec())?;
    m.add_function(wrap_pyfunction!(sniff_dccp, m)?)?;
    m.add_function(wrap_pyfunction!(read_dccp, m)?)?;
    Ok(())
}

#[pyfunction]
fn sniff_dccp(head: &[u8]) -> bool {
    dccp::sniff(head)
}

#[pyfunction]
fn read_dccp(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let found = py.detach(|| dccp::read(&path)).map_err(error_to_python)?;
    let rows = found.packets;
    let tables = PyDict::new(py);
    let columns = table!(
        py,
        rows,
        t_ns,
        record,
        flow,
        dir,
        kind,
        seq,
        ack,
        length,
        ccval,
        reset_code,
        ndp,
        received,
        marked,
        missing,
        timestamp,
        echo,
        elapsed_ns,
        loss_interval,
        receive_rate_bps,
    );
    tables.set_item("dccp_packets", columns)?;
    let facts = facts(py, found.counts.records, found.counts.resolution_ns)?;
    let ends: Vec<_> = found
        .flows
        .iter()
        .map(|(from, to)| (from.0.to_ip().to_string(), from.1, to.0.to_ip().to_string(), to.1))
        .collect();
    facts.set_item("flows", ends)?;
    facts.set_item("ccids", found.ccids)?;
    Ok((tables, listed(&found.issues), facts))
}
