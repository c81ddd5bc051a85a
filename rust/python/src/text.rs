//! Text logs: every scanner comes back as (tables, issues, facts).

use std::io::Read;
use std::path::{Path, PathBuf};

use multitracer_core::input::{self, Progress};
use multitracer_core::issue::Issues;
use multitracer_core::text::flows::FlowTable;
use multitracer_core::text::{ftrace, rlpdump, ss};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::watch::watched;

/// Tables by name, issues as (code, count, first record, detail), and facts about the file.
type Scan<'py> = (Bound<'py, PyDict>, Vec<(&'static str, u64, u64, String)>, Bound<'py, PyDict>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(head, m)?)?;
    m.add_function(wrap_pyfunction!(scan_rlpdump, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ftrace, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ss, m)?)?;
    Ok(())
}

#[pyfunction]
fn head(py: Python<'_>, path: PathBuf, count: usize) -> PyResult<Bound<'_, PyBytes>> {
    let progress = Progress::default();
    let bytes = watched(py, &progress, None, || input::head(&path, count, Some(&progress)))??;
    Ok(PyBytes::new(py, &bytes))
}

/// Open and scan without the interpreter lock; Ctrl-C ends it.
fn scan<'p, T: Send>(
    py: Python<'_>,
    path: &Path,
    progress: &'p Progress,
    scanner: impl FnOnce(Box<dyn Read + Send + 'p>) -> std::io::Result<T> + Send,
) -> PyResult<T> {
    Ok(watched(py, progress, None, || scanner(input::open(path, Some(progress))?.reader))??)
}

macro_rules! table {
    ($py:expr, $rows:expr, $($name:ident),+ $(,)?) => {{
        let table = PyDict::new($py);
        $( table.set_item(stringify!($name), $rows.$name.into_pyarray($py))?; )+
        table
    }};
}

#[pyfunction]
fn scan_rlpdump(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), rlpdump::scan)?;
    let (frames, events) = (log.frames, log.events);
    let tables = PyDict::new(py);
    tables.set_item(
        "link_frames",
        table!(py, frames, t_ns, record, entity, action, ns, offset, length, attempt, duplicate, nr, poll),
    )?;
    tables.set_item(
        "link_events",
        table!(py, events, t_ns, record, entity, action, kind, nr, cause, flush_tx, flush_rx, length),
    )?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("entities", log.entities)?;
    facts.set_item("version", log.version)?;
    facts.set_item("settings", log.settings)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_ftrace(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), ftrace::scan)?;
    let (probes, events) = (log.probes, log.events);
    let tables = PyDict::new(py);
    tables.set_item(
        "tcp_states",
        table!(
            py,
            probes,
            t_ns,
            record,
            flow,
            snd_nxt,
            snd_una,
            data_length,
            cwnd,
            ssthresh,
            snd_wnd,
            rcv_wnd,
            srtt_ns
        ),
    )?;
    tables.set_item("kernel_events", table!(py, events, t_ns, record, flow, kind, value, old_value))?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("tracepoints", log.tracepoints)?;
    facts.set_item("ignored", log.ignored)?;
    facts.set_item("header_lengths", log.header_lengths)?;
    facts.set_item("ticks", log.ticks)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_ss(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), ss::scan)?;
    let samples = log.samples;
    let tables = PyDict::new(py);
    tables.set_item(
        "tcp_states",
        table!(
            py,
            samples,
            t_ns,
            record,
            flow,
            cwnd,
            ssthresh,
            snd_wnd,
            rcv_wnd,
            srtt_ns,
            rttvar_ns,
            rto_ns,
            mss,
            bytes_sent,
            bytes_acked,
            bytes_retrans,
            unacked,
            retrans_total,
            notsent,
            min_rtt_ns,
            backoff,
            busy_ns,
            rwnd_limited_ns,
            sndbuf_limited_ns,
            app_limited,
            timer_ns,
        ),
    )?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("stamps", log.stamps)?;
    facts.set_item("zoneless_stamps", log.zoneless_stamps)?;
    facts.set_item("without_info", log.without_info)?;
    facts.set_item("other_sockets", log.other_sockets)?;
    Ok((tables, listed(&log.issues), facts))
}

fn facts(py: Python<'_>, lines: u64, resolution_ns: i64) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("lines", lines)?;
    facts.set_item("resolution_ns", resolution_ns)?;
    Ok(facts)
}

fn listed(issues: &Issues) -> Vec<(&'static str, u64, u64, String)> {
    issues.iter().map(|(code, seen)| (code, seen.count, seen.first_record, seen.detail.clone())).collect()
}

/// Sockets as (local address, local port, remote address, remote port).
fn flows<'py>(py: Python<'py>, table: &FlowTable) -> PyResult<Bound<'py, PyList>> {
    let ends = table.flows().iter().map(|(local, remote)| {
        (local.0.to_ip().to_string(), local.1, remote.0.to_ip().to_string(), remote.1)
    });
    PyList::new(py, ends.collect::<Vec<_>>())
}
