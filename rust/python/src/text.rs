//! Text logs: every scanner comes back as (tables, issues, facts).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use multitracer_core::input::{self, Progress};
use multitracer_core::issue::Issues;
use multitracer_core::text::flows::FlowTable;
use multitracer_core::text::lines::Lines;
use multitracer_core::text::{csv, ftrace, rlpdump, siftr, ss, tcpprobe};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::link::link_tables;
use crate::watch::watched;

/// Tables by name, issues as (code, count, first record, detail), and facts about the file.
pub(crate) type Scan<'py> = (Bound<'py, PyDict>, Vec<(&'static str, u64, u64, String)>, Bound<'py, PyDict>);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(head, m)?)?;
    m.add_function(wrap_pyfunction!(forget, m)?)?;
    m.add_function(wrap_pyfunction!(scan_rlpdump, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ftrace, m)?)?;
    m.add_function(wrap_pyfunction!(scan_ss, m)?)?;
    m.add_function(wrap_pyfunction!(scan_tcpprobe, m)?)?;
    m.add_function(wrap_pyfunction!(scan_siftr, m)?)?;
    m.add_function(wrap_pyfunction!(scan_csv, m)?)?;
    m.add_class::<TextLines>()?;
    Ok(())
}

/// The lines of a file in batches: for formats whose lines Python reads.
#[pyclass]
struct TextLines {
    // A reader is not Sync; nobody contends for the lock.
    lines: Mutex<Lines<Box<dyn Read + Send>>>,
    issues: Issues,
}

/// Lines with their numbers, from 1.
type Batch<'py> = Vec<(u64, Bound<'py, PyBytes>)>;

#[pymethods]
impl TextLines {
    #[new]
    #[pyo3(signature = (path, longest=None))]
    fn new(path: PathBuf, longest: Option<usize>) -> PyResult<Self> {
        let reader = input::open(&path, None)?.reader;
        let lines = match longest {
            None => Lines::new(reader),
            Some(bytes) => Lines::of_length(reader, bytes),
        };
        Ok(TextLines { lines: Mutex::new(lines), issues: Issues::default() })
    }

    /// Some more lines, of about so many bytes together; none at the end.
    fn batch<'py>(&mut self, py: Python<'py>, bytes: usize) -> PyResult<Batch<'py>> {
        let mut found = Vec::new();
        let mut size = 0;
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        while size < bytes {
            let Some((number, line)) = lines.next_line(&mut self.issues)? else { break };
            size += line.len() + 1;
            found.push((number, PyBytes::new(py, line)));
        }
        Ok(found)
    }

    /// Damage so far.
    fn issues(&self) -> Vec<(&'static str, u64, u64, String)> {
        listed(&self.issues)
    }
}

#[pyfunction]
fn head(py: Python<'_>, path: PathBuf, count: usize) -> PyResult<Bound<'_, PyBytes>> {
    let progress = Progress::default();
    let bytes = watched(py, &progress, None, || input::head(&path, count, Some(&progress)))??;
    Ok(PyBytes::new(py, &bytes))
}

#[pyfunction]
fn forget(path: PathBuf) {
    input::forget(&path);
}

/// Open and scan without the interpreter lock; Ctrl-C ends it.
#[allow(clippy::needless_lifetimes, reason = "elided, it would have to hold for every lifetime")]
pub(crate) fn scan<'p, T: Send>(
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
pub(crate) use table;

#[pyfunction]
fn scan_rlpdump(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), rlpdump::scan)?;
    let tables = link_tables(py, log.frames, log.events)?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("entities", log.entities)?;
    facts.set_item("version", log.version)?;
    facts.set_item("settings", log.settings)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_ftrace(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), ftrace::scan)?;
    let (probes, events, host) = (log.probes, log.events, log.host);
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
    let (devices, reasons, host) = (host.devices, host.reasons, host.events);
    tables.set_item(
        "host_events",
        table!(py, host, t_ns, record, kind, cpu, pid, skb, sk, flow, length, value, extra, name),
    )?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("devices", devices.list())?;
    facts.set_item("drop_reasons", reasons.list())?;
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

#[pyfunction]
#[pyo3(signature = (path, columns=None))]
fn scan_tcpprobe(py: Python<'_>, path: PathBuf, columns: Option<Vec<String>>) -> PyResult<Scan<'_>> {
    let role = |name: &String| {
        tcpprobe::Role::named(name).ok_or_else(|| PyValueError::new_err(format!("unknown column {name:?}")))
    };
    let layout = columns.map(|names| names.iter().map(role).collect::<PyResult<Vec<_>>>()).transpose()?;
    let log = scan(py, &path, &Progress::default(), |reader| tcpprobe::scan(reader, layout.as_deref()))?;
    let rows = log.rows;
    let tables = PyDict::new(py);
    tables.set_item(
        "tcp_states",
        table!(
            py,
            rows,
            t_ns,
            record,
            flow,
            snd_nxt,
            snd_una,
            cwnd,
            ssthresh,
            snd_wnd,
            rcv_wnd,
            srtt,
            rttvar,
            rto,
            retrans_total,
            unacked
        ),
    )?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("columns", log.columns)?;
    Ok((tables, listed(&log.issues), facts))
}

#[pyfunction]
fn scan_siftr(py: Python<'_>, path: PathBuf) -> PyResult<Scan<'_>> {
    let log = scan(py, &path, &Progress::default(), siftr::scan)?;
    let rows = log.rows;
    let tables = PyDict::new(py);
    tables.set_item(
        "tcp_states",
        table!(
            py, rows, t_ns, record, flow, trigger, cwnd, ssthresh, snd_wnd, rcv_wnd, srtt, rto, mss, unacked,
            notsent
        ),
    )?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("flows", flows(py, &log.flows)?)?;
    facts.set_item("enabled", log.enabled)?;
    facts.set_item("disabled", log.disabled)?;
    facts.set_item("hashed", log.hashed)?;
    Ok((tables, listed(&log.issues), facts))
}

/// `kinds`, by column: `time:<decimals of its unit>`, `number`, `word`; anything else is skipped.
#[pyfunction]
fn scan_csv(
    py: Python<'_>,
    path: PathBuf,
    header: u64,
    separator: u8,
    kinds: Vec<String>,
) -> PyResult<Scan<'_>> {
    let kinds: Vec<csv::Kind> = kinds
        .iter()
        .map(|kind| {
            match (kind.as_str(), kind.strip_prefix("time:").and_then(|digits| digits.parse().ok())) {
                (_, Some(digits)) => csv::Kind::Time(digits),
                ("number", _) => csv::Kind::Number,
                ("word", _) => csv::Kind::Word,
                _ => csv::Kind::Skip,
            }
        })
        .collect();
    let log = scan(py, &path, &Progress::default(), |reader| csv::scan(reader, header, separator, &kinds))?;
    let table = PyDict::new(py);
    table.set_item("t_ns", log.t_ns.into_pyarray(py))?;
    table.set_item("record", log.record.into_pyarray(py))?;
    let mut words = Vec::new();
    for (place, column) in log.columns.into_iter().enumerate() {
        match column {
            csv::Values::Numbers(numbers) => table.set_item(place.to_string(), numbers.into_pyarray(py))?,
            csv::Values::Words(places, list) => {
                table.set_item(place.to_string(), places.into_pyarray(py))?;
                words.push((place, list));
            }
        }
    }
    let tables = PyDict::new(py);
    tables.set_item("csv", table)?;
    let facts = facts(py, log.lines, log.resolution_ns)?;
    facts.set_item("words", words)?;
    facts.set_item("zoneless_stamps", log.zoneless)?;
    Ok((tables, listed(&log.issues), facts))
}

pub(crate) fn facts(py: Python<'_>, lines: u64, resolution_ns: i64) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("lines", lines)?;
    facts.set_item("resolution_ns", resolution_ns)?;
    Ok(facts)
}

pub(crate) fn listed(issues: &Issues) -> Vec<(&'static str, u64, u64, String)> {
    issues.iter().map(|(code, seen)| (code, seen.count, seen.first_record, seen.detail.clone())).collect()
}

/// Sockets as (local address, local port, remote address, remote port).
pub(crate) fn flows<'py>(py: Python<'py>, table: &FlowTable) -> PyResult<Bound<'py, PyList>> {
    let ends = table.flows().iter().map(|(local, remote)| {
        (local.0.to_ip().to_string(), local.1, remote.0.to_ip().to_string(), remote.1)
    });
    PyList::new(py, ends.collect::<Vec<_>>())
}
