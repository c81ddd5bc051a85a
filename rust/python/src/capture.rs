//! Captures: one call reads, decodes and tracks; what comes back are plain dictionaries and NumPy columns.

use std::path::PathBuf;

use multitracer_core::capture::{self, CaptureInfo, Progress, ReadError};
use multitracer_core::issue::Issues;
use multitracer_core::tracker::{
    CAUSES, Columns, Connection, QuotedError, Retransmission, Sender, TakenBack, Timeout, Verdict,
    track_beside,
};
use numpy::{Element, IntoPyArray};
use pyo3::exceptions::{PyIndexError, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice};

use crate::episodes::episodes_to_python;
use crate::watch::watched;

/// Words for the causes, in the order of `Cause`; those of retransmissions are keys of the public contract.
pub(crate) const CAUSE_NAMES: [&str; CAUSES] =
    ["", "timeout", "fast", "slow_start", "tail_loss_probe", "unneeded_probe", "unknown", "handshake"];

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_capture, m)?)?;
    m.add_function(wrap_pyfunction!(capture_format, m)?)?;
    m.add_function(wrap_pyfunction!(packet, m)?)?;
    m.add_function(wrap_pyfunction!(continuation, m)?)?;
    m.add_class::<Summaries>()?;
    Ok(())
}

pub(crate) fn error_to_python(error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => PyOSError::new_err((error.raw_os_error(), error.to_string())),
        ReadError::Cancelled => PyKeyboardInterrupt::new_err(()),
        other => PyValueError::new_err(other.to_string()),
    }
}

#[pyfunction]
fn capture_format(head: &[u8]) -> Option<&'static str> {
    capture::format(head)
}

/// Time, original length, bytes, link type.
type Packet<'py> = (i64, u32, Bound<'py, PyBytes>, u16);

/// What one pass over a capture gives.
pub(crate) struct Captured {
    pub(crate) info: CaptureInfo,
    pub(crate) connections: Vec<Connection>,
    pub(crate) columns: Option<Columns>,
    pub(crate) icmp_errors: Vec<QuotedError>,
    pub(crate) issues: Issues,
}

/// Or which of the files cannot be read, and why.
type Outcome = Result<Captured, (usize, ReadError)>;

fn read_and_track(paths: &[PathBuf], keep_segments: bool, skip: &[u64], progress: &Progress) -> Outcome {
    let mut issues = Issues::default();
    let (info, mut tracker) = track_beside(keep_segments, |relay| {
        if skip.is_empty() {
            return capture::read_parts(paths, relay, &mut issues, Some(progress));
        }
        let mut sink = capture::Without { sink: relay, records: skip };
        capture::read_parts(paths, &mut sink, &mut issues, Some(progress))
    });
    let info = info?;
    let icmp_errors = tracker.take_icmp_errors();
    let (connections, columns) = tracker.finish(&mut issues);
    Ok(Captured { info, connections, columns, icmp_errors, issues })
}

/// Read a capture; see the stub for the shape of the result.
#[pyfunction]
#[pyo3(signature = (paths, keep_segments, report=None, skip=Vec::new()))]
fn read_capture<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    keep_segments: bool,
    report: Option<Bound<'py, PyAny>>,
    mut skip: Vec<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let progress = Progress::default();
    skip.sort_unstable();
    let work = || read_and_track(&paths, keep_segments, &skip, &progress);
    let outcome = watched(py, &progress, report.as_ref(), work)?;
    captured_to_python(py, outcome.map_err(|(_, error)| error_to_python(error))?)
}

/// See the stub of `read_capture`.
pub(crate) fn captured_to_python(py: Python<'_>, captured: Captured) -> PyResult<Bound<'_, PyDict>> {
    let Captured { info, connections, columns, icmp_errors, issues } = captured;
    let result = PyDict::new(py);
    result.set_item("info", info_to_python(py, &info)?)?;
    let found = PyList::empty(py);
    for (code, seen) in issues.iter() {
        found.append((code, seen.count, seen.first_record, &seen.detail))?;
    }
    result.set_item("issues", found)?;
    if columns.is_some() {
        result.set_item("icmp_errors", icmp_errors_to_python(py, &icmp_errors)?)?;
    }
    if columns.is_some() {
        tracked_to_python(py, &result, &connections, columns)?;
    } else {
        result.set_item("connections", Summaries { connections })?;
    }
    Ok(result)
}

/// Summaries of connections, each made into a dictionary when it is asked for: a dictionary takes some ten times
/// the memory of what it is made from, and a capture may hold hundreds of thousands of connections.
#[pyclass(frozen)]
struct Summaries {
    connections: Vec<Connection>,
}

#[pymethods]
impl Summaries {
    fn __len__(&self) -> usize {
        self.connections.len()
    }

    /// One dictionary, or a list of those that a slice names.
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.connections.len() as isize;
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(count)?;
            let found = PyList::empty(py);
            for step in 0..range.slicelength as isize {
                let at = (range.start + step * range.step) as usize;
                found.append(connection_to_python(py, &self.connections[at])?)?;
            }
            return Ok(found.into_any());
        }
        let index: isize = index.extract()?;
        let at = if index < 0 { index + count } else { index };
        match usize::try_from(at).ok().and_then(|at| self.connections.get(at)) {
            Some(connection) => Ok(connection_to_python(py, connection)?.into_any()),
            None => Err(PyIndexError::new_err(format!("connection {index} of {count}"))),
        }
    }

    /// Copies and pickles are plain lists.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let all = self.__getitem__(py, PySlice::full(py).as_any())?;
        Ok((py.get_type::<PyList>().into_any(), (all,)))
    }
}

/// What the tracker says, into `result`: summaries, and the tables where segments were kept.
pub(crate) fn tracked_to_python(
    py: Python<'_>,
    result: &Bound<'_, PyDict>,
    connections: &[Connection],
    columns: Option<Columns>,
) -> PyResult<()> {
    if let Some(columns) = columns {
        result.set_item("segments", segments_to_python(py, columns)?)?;
        result.set_item("retransmissions", retransmissions_to_python(py, connections)?)?;
        result.set_item("timeouts", timeouts_to_python(py, connections)?)?;
        result.set_item("episodes", episodes_to_python(py, connections)?)?;
    }
    let summaries = PyList::empty(py);
    for connection in connections {
        summaries.append(connection_to_python(py, connection)?)?;
    }
    result.set_item("connections", summaries)
}

/// One record: time, original length, bytes, link type; None if there are fewer.
#[pyfunction]
fn packet<'py>(py: Python<'py>, paths: Vec<PathBuf>, record: u64) -> PyResult<Option<Packet<'py>>> {
    let found = py.detach(|| capture::packet_of_parts(&paths, record)).map_err(error_to_python)?;
    Ok(found.map(|raw| (raw.t_ns, raw.orig_len, PyBytes::new(py, &raw.data), raw.link_type)))
}

/// The order in which captures continue each other; None if they do not.
#[pyfunction]
fn continuation(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Option<Vec<usize>>> {
    let progress = Progress::default();
    watched(py, &progress, None, || capture::continuation(&paths, Some(&progress)))?.map_err(error_to_python)
}

fn info_to_python<'py>(py: Python<'py>, info: &CaptureInfo) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("format", info.format)?;
    d.set_item("link_type", info.link_type)?;
    d.set_item("link_type_name", info.link_type_name)?;
    d.set_item("snaplen", info.snaplen)?;
    d.set_item("records", info.records)?;
    d.set_item("tcp_segments", info.tcp_segments)?;
    d.set_item("first_ns", info.first_ns)?;
    d.set_item("last_ns", info.last_ns)?;
    d.set_item("resolution_ns", info.resolution_ns)?;
    d.set_item("bytes", info.bytes)?;
    d.set_item("captured_bytes", info.captured_bytes)?;
    d.set_item("packets_by_kind", &info.kinds)?;
    d.set_item("offloaded_checksums", info.offloaded_checksums)?;
    d.set_item("compressed", info.compressed)?;
    d.set_item("swapped", info.swapped)?;
    d.set_item("tunnels", &info.tunnels)?;
    d.set_item("blocks", &info.blocks)?;
    d.set_item("application", &info.application)?;
    d.set_item("comments", info.comments.iter().map(|c| (c.record, c.text.as_str())).collect::<Vec<_>>())?;
    d.set_item("comment_count", info.comment_count)?;
    d.set_item("interface_count", info.interface_count)?;
    let interfaces = PyList::empty(py);
    for interface in &info.interfaces {
        let i = PyDict::new(py);
        i.set_item("name", &interface.name)?;
        i.set_item("description", &interface.description)?;
        i.set_item("link_type", interface.link_type_name)?;
        i.set_item("snaplen", interface.snaplen)?;
        i.set_item("resolution_ns", interface.resolution_ns)?;
        i.set_item("packets", interface.packets)?;
        interfaces.append(i)?;
    }
    d.set_item("interfaces", interfaces)?;
    Ok(d)
}

macro_rules! set_columns {
    ($dict:expr, $py:expr, $table:expr, $($name:ident),+ $(,)?) => {
        $( $dict.set_item(stringify!($name), $table.$name.into_pyarray($py))?; )+
    };
}

fn segments_to_python<'py>(py: Python<'py>, columns: Columns) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    set_columns!(
        d,
        py,
        columns,
        t_ns,
        record,
        conn,
        dir,
        seq,
        ack,
        length,
        flags,
        window,
        duplicate,
        transmission,
        cause,
        ack_kind,
        flight,
        rtt_ns,
        ts_val,
        ts_ecr,
        sack_high,
        sack_count,
        checksum,
        ip_length,
        ip_id,
        seq_raw,
        ack_raw,
    );
    Ok(d)
}

/// The rows that a list in every sender holds, with connection and direction, in order of time.
pub(crate) fn gather<'a, T>(
    connections: &'a [Connection],
    rows: impl Fn(&'a Sender) -> &'a [T],
    time: impl Fn(&T) -> i64,
) -> Vec<(i32, i8, &'a T)> {
    let mut found: Vec<(i32, i8, &T)> = Vec::new();
    for (index, connection) in connections.iter().enumerate() {
        for direction in 0..2 {
            let rows = rows(connection.senders_at(direction));
            found.extend(rows.iter().map(|row| (index as i32, direction as i8, row)));
        }
    }
    found.sort_by_key(|(_, _, row)| time(row));
    found
}

/// A column out of gathered rows.
pub(crate) fn column<'py, T, E: Element>(
    py: Python<'py>,
    d: &Bound<'py, PyDict>,
    name: &str,
    rows: &[T],
    value: impl Fn(&T) -> E,
) -> PyResult<()> {
    d.set_item(name, rows.iter().map(value).collect::<Vec<E>>().into_pyarray(py))
}

fn retransmissions_to_python<'py>(
    py: Python<'py>,
    connections: &[Connection],
) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::retransmissions, |r: &Retransmission| r.t_ns);
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "length", &rows, |r| r.2.length as i32)?;
    column(py, &d, "duplicate", &rows, |r| r.2.duplicate as i32)?;
    column(py, &d, "cause", &rows, |r| r.2.cause as i8)?;
    column(py, &d, "transmission", &rows, |r| r.2.transmission.min(i16::MAX as u16) as i16)?;
    column(py, &d, "since_sent_ns", &rows, |r| r.2.since_sent_ns)?;
    column(py, &d, "since_ack_ns", &rows, |r| r.2.since_ack_ns)?;
    column(py, &d, "dupacks", &rows, |r| r.2.dupacks as i32)?;
    column(py, &d, "sacked", &rows, |r| r.2.sacked)?;
    column(py, &d, "rto_ns", &rows, |r| r.2.rto_ns)?;
    column(py, &d, "episode", &rows, |r| r.2.episode as i32)?;
    column(py, &d, "alternative", &rows, |r| r.2.alternative as i8)?;
    column(py, &d, "eifel", &rows, |r| r.2.eifel as i8)?;
    column(py, &d, "dsack", &rows, |r| r.2.dsack as i8)?;
    let min_rtt = |r: &(i32, i8, &Retransmission)| connections[r.0 as usize].min_rtt_ns(r.1 as usize);
    column(py, &d, "too_early", &rows, |r| r.2.too_early(min_rtt(r)) as i8)?;
    column(py, &d, "verdict", &rows, |r| r.2.verdict(min_rtt(r)) as i8)?;
    column(py, &d, "answer_ns", &rows, |r| r.2.answer_after_ns.unwrap_or(-1))?;
    column(py, &d, "answer_record", &rows, |r| r.2.answer_record as i64)?;
    Ok(d)
}

fn timeouts_to_python<'py>(py: Python<'py>, connections: &[Connection]) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::timeouts, |t: &Timeout| t.t_ns);
    let min_rtt = |r: &(i32, i8, &Timeout)| connections[r.0 as usize].min_rtt_ns(r.1 as usize);
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "length", &rows, |r| r.2.length as i32)?;
    column(py, &d, "backoff", &rows, |r| r.2.backoff.min(i16::MAX as u16) as i16)?;
    column(py, &d, "silence_ns", &rows, |r| r.2.silence_ns)?;
    column(py, &d, "rto_ns", &rows, |r| r.2.rto_ns)?;
    column(py, &d, "waited_ns", &rows, |r| r.2.waited_ns)?;
    column(py, &d, "rto_max_ns", &rows, |r| r.2.rto_max_ns)?;
    column(py, &d, "eifel", &rows, |r| r.2.eifel as i8)?;
    column(py, &d, "dsack", &rows, |r| r.2.dsack as i8)?;
    column(py, &d, "frto", &rows, |r| r.2.frto as i8)?;
    column(py, &d, "ack_path", &rows, |r| r.2.ack_path as i8)?;
    column(py, &d, "too_early", &rows, |r| r.2.too_early(min_rtt(r)) as i8)?;
    column(py, &d, "verdict", &rows, |r| r.2.verdict(min_rtt(r)) as i8)?;
    column(py, &d, "answer_record", &rows, |r| r.2.answer_record as i64)?;
    Ok(d)
}

fn icmp_errors_to_python<'py>(py: Python<'py>, rows: &[QuotedError]) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    column(py, &d, "t_ns", rows, |r| r.error.t_ns)?;
    column(py, &d, "record", rows, |r| r.error.record as i64)?;
    column(py, &d, "conn", rows, |r| r.connection.map_or(-1, |(index, _)| index as i32))?;
    column(py, &d, "dir", rows, |r| r.connection.map_or(0, |(_, direction)| direction as i8))?;
    column(py, &d, "version", rows, |r| if r.error.v6 { 6i8 } else { 4 })?;
    column(py, &d, "type", rows, |r| i16::from(r.error.icmp_type))?;
    column(py, &d, "code", rows, |r| i16::from(r.error.code))?;
    column(py, &d, "mtu", rows, |r| i64::from(r.error.mtu))?;
    column(py, &d, "seq", rows, |r| r.seq)?;
    column(py, &d, "seq_raw", rows, |r| r.error.seq)?;
    let ends = |pick: fn(&QuotedError) -> multitracer_core::tracker::Endpoint| {
        rows.iter().map(|row| end_to_string(pick(row))).collect::<Vec<_>>()
    };
    d.set_item("source_end", ends(|r| r.error.source))?;
    d.set_item("destination_end", ends(|r| r.error.destination))?;
    d.set_item("reporter", rows.iter().map(|r| r.error.reporter.to_ip().to_string()).collect::<Vec<_>>())?;
    Ok(d)
}

/// As URLs have it: brackets around IPv6.
pub(crate) fn end_to_string((address, port): multitracer_core::tracker::Endpoint) -> String {
    std::net::SocketAddr::new(address.to_ip(), port).to_string()
}

fn connection_to_python<'py>(py: Python<'py>, connection: &Connection) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    let ends = connection.endpoints.map(|(address, port)| (address.to_ip().to_string(), port));
    d.set_item(intern!(py, "endpoints"), (ends[0].clone(), ends[1].clone()))?;
    d.set_item(intern!(py, "first_ns"), connection.first_ns)?;
    d.set_item(intern!(py, "last_ns"), connection.last_ns)?;
    d.set_item(intern!(py, "handshake"), connection.handshake())?;
    let senders = [connection.senders_at(0), connection.senders_at(1)];
    d.set_item(intern!(py, "isn"), senders.map(Sender::isn))?;
    d.set_item(intern!(py, "base"), senders.map(Sender::base))?;
    for (direction, name) in ["forward", "reverse"].into_iter().enumerate() {
        d.set_item(name, direction_to_python(py, connection, direction)?)?;
    }
    Ok(d)
}

fn direction_to_python<'py>(
    py: Python<'py>,
    connection: &Connection,
    direction: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let sender = connection.senders_at(direction);
    let totals = sender.totals();
    let d = PyDict::new(py);
    d.set_item(intern!(py, "segments"), totals.segments)?;
    d.set_item(intern!(py, "data_segments"), totals.data_segments)?;
    d.set_item(intern!(py, "data_bytes"), totals.data_bytes)?;
    d.set_item(intern!(py, "unique_bytes"), sender.unique_bytes())?;
    d.set_item(intern!(py, "duplicate_bytes"), totals.duplicate_bytes)?;
    d.set_item(intern!(py, "acked_bytes"), sender.acked_bytes())?;
    d.set_item(intern!(py, "unseen_acked_bytes"), sender.unseen_bytes())?;
    let causes = PyDict::new(py);
    for (name, count) in CAUSE_NAMES.iter().zip(totals.retransmissions).skip(1) {
        causes.set_item(name, count)?;
    }
    d.set_item(intern!(py, "retransmissions"), causes)?;
    d.set_item(intern!(py, "timeouts"), verdicts_to_python(py, connection, direction)?)?;
    d.set_item(intern!(py, "recovery"), recovery_to_python(py, sender)?)?;
    d.set_item(intern!(py, "probe_segments"), totals.probe_segments)?;
    d.set_item(intern!(py, "new_data_probes"), totals.new_data_probes)?;
    d.set_item(intern!(py, "out_of_order"), totals.out_of_order)?;
    d.set_item(intern!(py, "corrupted"), totals.corrupted)?;
    d.set_item(intern!(py, "syn"), totals.syn)?;
    d.set_item(intern!(py, "fin"), totals.fin)?;
    d.set_item(intern!(py, "rst"), totals.rst)?;
    d.set_item(intern!(py, "duplicate_acks"), totals.duplicate_acks)?;
    d.set_item(intern!(py, "sack_segments"), totals.sack_segments)?;
    d.set_item(intern!(py, "dsacks"), totals.dsacks)?;
    d.set_item(intern!(py, "zero_windows"), totals.zero_windows)?;
    d.set_item(intern!(py, "window_updates"), totals.window_updates)?;
    d.set_item(intern!(py, "ece"), totals.ece)?;
    d.set_item(intern!(py, "ce"), totals.ce)?;
    d.set_item(intern!(py, "max_flight_bytes"), totals.max_flight)?;
    d.set_item(intern!(py, "max_window_bytes"), totals.max_window)?;
    d.set_item(intern!(py, "first_data_ns"), totals.first_data_ns)?;
    d.set_item(intern!(py, "last_data_ns"), totals.last_data_ns)?;
    d.set_item(intern!(py, "last_advance_ns"), totals.last_advance_ns)?;
    let rtt = sender.rtt();
    if rtt.count > 0 {
        let mean_ns = rtt.sum_ns / rtt.count as i64;
        let r = PyDict::new(py);
        r.set_item(intern!(py, "samples"), rtt.count)?;
        r.set_item(intern!(py, "min_ns"), rtt.min_ns)?;
        r.set_item(intern!(py, "mean_ns"), mean_ns)?;
        r.set_item(intern!(py, "max_ns"), rtt.max_ns)?;
        r.set_item(intern!(py, "srtt_ns"), sender.rto().srtt_us() * 1000)?;
        r.set_item(intern!(py, "rto_ns"), sender.rto().rto_us() * 1000)?;
        d.set_item(intern!(py, "rtt"), r)?;
    } else {
        d.set_item(intern!(py, "rtt"), py.None())?;
    }
    let (mss, window_scale, sack_permitted, timestamps) = sender.options();
    d.set_item(intern!(py, "mss"), mss)?;
    d.set_item(intern!(py, "window_scale"), window_scale)?;
    d.set_item(intern!(py, "sack_permitted"), sack_permitted)?;
    d.set_item(intern!(py, "timestamps"), timestamps)?;
    d.set_item(intern!(py, "largest_segment"), sender.largest_segment())?;
    Ok(d)
}

/// What loss recovery and reordering came to; None where there was nothing of either.
fn recovery_to_python<'py>(py: Python<'py>, sender: &Sender) -> PyResult<Option<Bound<'py, PyDict>>> {
    if !sender.has_history() {
        return Ok(None);
    }
    let d = PyDict::new(py);
    d.set_item(intern!(py, "episodes"), sender.episodes().len())?;
    d.set_item(intern!(py, "lost_again"), sender.lost_again())?;
    let counts = sender.taken_back();
    let taken = |way: TakenBack| counts[way as usize];
    let undone = PyDict::new(py);
    // F-RTO is one way to take a timeout back: the kernel counts it among them.
    undone.set_item(intern!(py, "loss"), taken(TakenBack::Loss) + taken(TakenBack::Frto))?;
    undone.set_item(intern!(py, "frto"), taken(TakenBack::Frto))?;
    undone.set_item(intern!(py, "full"), taken(TakenBack::Full))?;
    undone.set_item(intern!(py, "partial"), taken(TakenBack::Partial))?;
    undone.set_item(intern!(py, "dsack"), taken(TakenBack::Dsack))?;
    d.set_item(intern!(py, "undone"), undone)?;
    let reordering = sender.reordering();
    d.set_item(intern!(py, "reordered_by_sack"), reordering.by_sack)?;
    d.set_item(intern!(py, "reordered_by_timestamp"), reordering.by_timestamp)?;
    d.set_item(intern!(py, "reordering_bytes"), reordering.extent)?;
    let rto_max = match sender.rto_cap() {
        None => None,
        Some((max_ns, cap)) => {
            let c = PyDict::new(py);
            c.set_item(intern!(py, "max_ns"), max_ns)?;
            c.set_item(intern!(py, "waits"), cap.waits)?;
            c.set_item(intern!(py, "shortest_ns"), cap.shortest_ns)?;
            c.set_item(intern!(py, "longest_ns"), cap.longest_ns)?;
            c.set_item(intern!(py, "estimated_ns"), cap.estimated_ns)?;
            c.set_item(intern!(py, "record"), cap.record)?;
            Some(c)
        }
    };
    d.set_item(intern!(py, "rto_max"), rto_max)?;
    Ok(Some(d))
}

fn verdicts_to_python<'py>(
    py: Python<'py>,
    connection: &Connection,
    direction: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let timeouts = connection.senders_at(direction).timeouts();
    let min_rtt_ns = connection.min_rtt_ns(direction);
    let count = |verdict: Verdict| timeouts.iter().filter(|t| t.verdict(min_rtt_ns) == verdict).count();
    let d = PyDict::new(py);
    d.set_item(intern!(py, "total"), timeouts.len())?;
    d.set_item(intern!(py, "spurious"), count(Verdict::Spurious))?;
    d.set_item(intern!(py, "genuine"), count(Verdict::Genuine))?;
    d.set_item(intern!(py, "inconclusive"), count(Verdict::Inconclusive))?;
    Ok(d)
}
