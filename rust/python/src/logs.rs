//! Text logs of tools around the kernel, of ns-3's LENA, of srsRAN, of iperf3 and NDT7: (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::input::Progress;
use multitracer_core::text::{bcc, iperf3, lena, ndt7, srsran, tcpinfo};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::text::{Scan, facts, flows, listed, scan, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(scan_bcc, m)?)?;
    m.add_function(wrap_pyfunction!(scan_tcpinfo, m)?)?;
    m.add_function(wrap_pyfunction!(scan_lena, m)?)?;
    m.add_function(wrap_pyfunction!(scan_srsran, m)?)?;
    m.add_function(wrap_pyfunction!(scan_iperf3, m)?)?;
    m.add_function(wrap_pyfunction!(read_iperf3, m)?)?;
    m.add_function(wrap_pyfunction!(read_ndt7, m)?)?;
    Ok(())
}

#[pyfunction]
fn scan_bcc(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), bcc::scan)?;
    let events = log.events;
    let tables = PyDict::new(py);
    tables.set_item("kernel_events", table!(py, events, t_ns, record, flow, kind, value, old_value))?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("kinds", log.kinds)?;
    facts.set_item("of_day", log.of_day)?;
    facts.set_item("days", log.days)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_tcpinfo(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), tcpinfo::scan)?;
    let states = PyDict::new(py);
    states.set_item("t_ns", log.t_ns.into_pyarray(py))?;
    states.set_item("record", log.record.into_pyarray(py))?;
    states.set_item("flow", log.flow.into_pyarray(py))?;
    for (name, column) in tcpinfo::COLUMNS.iter().zip(log.columns) {
        states.set_item(*name, column.into_pyarray(py))?;
    }
    let tables = PyDict::new(py);
    tables.set_item("tcp_states", states)?;
    let facts = facts(py, log.lines, 1_000_000)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("uuid", log.uuid)?;
    facts.set_item("congestion_control", log.congestion_control)?;
    facts.set_item("without_info", log.without_info)?;
    facts.set_item("largest", log.largest)?;
    Ok((tables, listed(&log.issues), facts))
}

/// `columns`: of each column of the file what one of its unit is, and from where on values do not fit.
#[pyfunction]
fn scan_lena(py: Python<'_>, path: PathBuf, columns: Vec<(f64, Option<f64>)>) -> PyResult<Scan<'_>> {
    let columns: Vec<_> = columns.into_iter().map(|(unit, limit)| lena::Column { unit, limit }).collect();
    let columns: [lena::Column; lena::COLUMNS] =
        columns.try_into().map_err(|_| PyValueError::new_err("not as many columns as LENA writes"))?;
    let log = scan(py, &path, &Progress::default(), |reader| lena::scan(reader, &columns))?;
    let totals = PyDict::new(py);
    totals.set_item("record", log.record.into_pyarray(py))?;
    for (place, column) in log.columns.into_iter().enumerate() {
        totals.set_item(place.to_string(), column.into_pyarray(py))?;
    }
    let tables = PyDict::new(py);
    tables.set_item("bearer_totals", totals)?;
    Ok((tables, listed(&log.issues), facts(py, log.lines, 1)?))
}

/// Facts: bearers, each with its rows by column.
#[pyfunction]
fn scan_srsran(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), srsran::scan)?;
    let facts = facts(py, log.lines, 1000)?;
    let bearers: Vec<_> = log
        .bearers
        .into_iter()
        .map(|one| {
            let columns = one.columns.map(|column| column.into_pyarray(py)).to_vec();
            (one.ue, one.name, columns, one.unknown.into_pyarray(py), one.bytes, one.highest)
        })
        .collect();
    facts.set_item("bearers", bearers)?;
    Ok((PyDict::new(py), listed(&log.issues), facts))
}

/// Events of iperf3, a line each.
#[pyfunction]
fn scan_iperf3(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), iperf3::scan)?;
    told_by_iperf3(py, log)
}

/// Documents of iperf3, one after the other.
#[pyfunction]
fn read_iperf3<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Scan<'py>> {
    let log = py.detach(|| iperf3::read(text));
    told_by_iperf3(py, log)
}

fn told_by_iperf3(py: Python<'_>, log: iperf3::Iperf3Log) -> PyResult<Scan<'_>> {
    let states = PyDict::new(py);
    states.set_item("t_ns", log.t_ns.into_pyarray(py))?;
    states.set_item("record", log.record.into_pyarray(py))?;
    states.set_item("flow", log.flow.into_pyarray(py))?;
    for (name, column) in iperf3::COLUMNS.iter().zip(log.columns) {
        states.set_item(*name, column.into_pyarray(py))?;
    }
    let tables = PyDict::new(py);
    tables.set_item("tcp_states", states)?;
    let facts = PyDict::new(py);
    facts.set_item("flows", log.sockets)?;
    facts.set_item("start_ns", log.start_ns)?;
    facts.set_item("has_base", log.has_base)?;
    facts.set_item("intervals", log.intervals)?;
    for (name, text) in [("start", log.start), ("end", log.end), ("error", log.error)] {
        facts.set_item(name, PyBytes::new(py, &text))?;
    }
    Ok((tables, listed(&log.issues), facts))
}

/// A result of NDT7. What it says of itself, of its tests and of sockets is JSON.
#[pyfunction]
fn read_ndt7<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Scan<'py>> {
    let log = py.detach(|| ndt7::read(text));
    let states = PyDict::new(py);
    states.set_item("test", log.test.into_pyarray(py))?;
    states.set_item("elapsed_ns", log.elapsed_ns.into_pyarray(py))?;
    states.set_item("socket", log.socket.into_pyarray(py))?;
    for (name, column) in ndt7::columns().zip(log.columns) {
        states.set_item(name, column.into_pyarray(py))?;
    }
    let tables = PyDict::new(py);
    tables.set_item("tcp_states", states)?;
    let facts = PyDict::new(py);
    let pair = |(one, other): (&[u8], &[u8])| (PyBytes::new(py, one), PyBytes::new(py, other));
    facts.set_item("is_whole", log.is_whole)?;
    let about = PyDict::new(py);
    for (key, value) in log.about {
        about.set_item(String::from_utf8_lossy(key), PyBytes::new(py, value))?;
    }
    facts.set_item("about", about)?;
    facts.set_item("tests", log.tests.map(|one| one.map(pair)).to_vec())?;
    facts.set_item("sockets", log.sockets.into_iter().map(pair).collect::<Vec<_>>())?;
    Ok((tables, Vec::new(), facts))
}
