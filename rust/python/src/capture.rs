//! Captures: one call reads, decodes and tracks; what comes back are plain dictionaries and NumPy columns.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use multitracer_core::capture::{self, CaptureInfo, Progress, ReadError};
use multitracer_core::input::Kept;
use multitracer_core::issue::Issues;
use multitracer_core::tracker::{
    Columns, Connection, ConnectionStore, MultipathRow, QuotedError, Tracking, covered_before, track_beside,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::episodes::episodes_to_python;
use crate::summaries::{Summaries, connection_to_python};
use crate::tables::{
    arrivals_to_python, icmp_errors_to_python, multipath_to_python, retransmissions_to_python,
    segments_to_python, timeouts_to_python,
};
use crate::watch::{Beside, watched};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_capture, m)?)?;
    m.add_function(wrap_pyfunction!(capture_format, m)?)?;
    m.add_function(wrap_pyfunction!(packet, m)?)?;
    m.add_function(wrap_pyfunction!(ip_packets, m)?)?;
    m.add_class::<RawPackets>()?;
    m.add_function(wrap_pyfunction!(continuation, m)?)?;
    m.add_function(wrap_pyfunction!(bytes_covered_before, m)?)?;
    Ok(())
}

pub(crate) fn error_to_python(error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) if error.kind() == ErrorKind::OutOfMemory => {
            PyMemoryError::new_err(error.to_string())
        }
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

/// Record, length on the wire, bytes.
type IpPacket<'py> = (u64, u32, Bound<'py, PyBytes>);

/// What one pass over a capture gives.
pub(crate) struct Captured {
    pub(crate) info: CaptureInfo,
    pub(crate) connections: ConnectionStore,
    pub(crate) columns: Option<Columns>,
    pub(crate) icmp_errors: Vec<QuotedError>,
    pub(crate) multipath: Vec<MultipathRow>,
    pub(crate) issues: Issues,
}

/// Or which of the files cannot be read, and why. Nothing where there are more connections than were asked for.
type Outcome = Result<Option<Captured>, (usize, ReadError)>;

/// What to read of a capture.
struct Wanted {
    keep_segments: bool,
    /// Records that are left out, ascending.
    skip: Vec<u64>,
    /// Connections at most.
    most: Option<usize>,
}

fn read_and_track(paths: &[PathBuf], wanted: &Wanted, progress: &Progress) -> Outcome {
    let Wanted { keep_segments, skip, most } = wanted;
    let mut issues = Issues::default();
    let tracking = match *keep_segments {
        true => Tracking::Table,
        false if capture::is_much(paths) => Tracking::divided(),
        false => Tracking::Summary,
    };
    let mut exceeded = false;
    let (info, mut tracker) = track_beside(tracking, |relay| {
        if let Some(most) = *most {
            let mut sink = capture::Without { sink: relay, records: skip };
            let mut few = capture::Few::new(&mut sink, most, progress);
            let info = capture::read_parts(paths, &mut few, &mut issues, Some(progress));
            exceeded = few.exceeded();
            return info;
        }
        if skip.is_empty() {
            return capture::read_parts(paths, relay, &mut issues, Some(progress));
        }
        let mut sink = capture::Without { sink: relay, records: skip };
        capture::read_parts(paths, &mut sink, &mut issues, Some(progress))
    })
    .map_err(|error| (0, error.into()))?;
    if exceeded {
        return Ok(None);
    }
    let info = info?;
    let (icmp_errors, multipath) = (tracker.take_icmp_errors(), tracker.take_multipath());
    let (connections, columns) = tracker.conclude(&mut issues);
    if most.is_some_and(|most| connections.len() > most) {
        return Ok(None);
    }
    Ok(Some(Captured { info, connections, columns, icmp_errors, multipath, issues }))
}

/// Of each stretch of bytes, how many an earlier one had; see the stub.
#[pyfunction]
fn bytes_covered_before<'py>(
    py: Python<'py>,
    first: PyReadonlyArray1<'py, i64>,
    length: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (first, length) = (first.as_slice()?, length.as_slice()?);
    Ok(covered_before(first, length).into_pyarray(py))
}

/// Read a capture; see the stub for the shape of the result.
#[pyfunction]
#[pyo3(signature = (paths, keep_segments, report=None, skip=Vec::new(), most=None, meanwhile=None))]
fn read_capture<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    keep_segments: bool,
    report: Option<Bound<'py, PyAny>>,
    mut skip: Vec<u64>,
    most: Option<usize>,
    meanwhile: Option<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let kept = (keep_segments && paths.len() == 1).then(|| Kept::new(capture::MOST_BYTES));
    let progress = Progress { kept, ..Progress::default() };
    skip.sort_unstable();
    let wanted = Wanted { keep_segments, skip, most };
    let work = || read_and_track(&paths, &wanted, &progress);
    let beside = Beside { report: report.as_ref(), meanwhile: meanwhile.as_ref() };
    let outcome = watched(py, &progress, beside, work)?;
    let Some(captured) = outcome.map_err(|(_, error)| error_to_python(error))? else {
        return Ok(None);
    };
    let result = captured_to_python(py, captured)?;
    let piped = progress.kept.and_then(Kept::into_bytes);
    result.set_item("piped", piped.map(|bytes| PyBytes::new(py, &bytes)))?;
    Ok(Some(result))
}

/// See the stub of `read_capture`.
pub(crate) fn captured_to_python(py: Python<'_>, captured: Captured) -> PyResult<Bound<'_, PyDict>> {
    let Captured { info, connections, columns, icmp_errors, multipath, issues } = captured;
    let result = PyDict::new(py);
    result.set_item("info", info_to_python(py, &info)?)?;
    let found = PyList::empty(py);
    for (code, seen) in issues.iter() {
        found.append((code, seen.count, seen.first_record, &seen.detail))?;
    }
    result.set_item("issues", found)?;
    if columns.is_some() {
        result.set_item("icmp_errors", icmp_errors_to_python(py, &icmp_errors)?)?;
        if !multipath.is_empty() {
            result.set_item("mptcp", multipath_to_python(py, &multipath)?)?;
        }
    }
    if columns.is_some() {
        tracked_to_python(py, &result, connections.as_slice(), columns)?;
    } else {
        result.set_item("connections", Summaries::new(connections))?;
    }
    Ok(result)
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
        result.set_item("arrivals", arrivals_to_python(py, connections)?)?;
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

/// All records of a capture, or some, in batches.
#[pyclass]
struct RawPackets {
    // A reader is not Sync; nobody contends for the lock.
    packets: Mutex<capture::RawPackets>,
    /// Numbers of the records, ascending; all if there is no list.
    wanted: Option<Vec<u64>>,
    /// The last of them was given.
    done: bool,
}

/// Record, then as of [`packet`].
type Numbered<'py> = (u64, i64, u32, Bound<'py, PyBytes>, u16);

#[pymethods]
impl RawPackets {
    #[new]
    #[pyo3(signature = (paths, wanted=None))]
    fn new(paths: Vec<PathBuf>, wanted: Option<Vec<u64>>) -> Self {
        let wanted = wanted.map(|mut numbers| {
            numbers.sort_unstable();
            numbers
        });
        RawPackets { packets: Mutex::new(capture::RawPackets::new(paths)), wanted, done: false }
    }

    /// Some more records, of about so many bytes together; none at the end or at the first damage.
    fn batch<'py>(&mut self, py: Python<'py>, bytes: usize) -> PyResult<Vec<Numbered<'py>>> {
        let mut found = Vec::new();
        let mut size = 0;
        let packets = self.packets.get_mut().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.wanted.as_deref();
        let last = wanted.and_then(<[u64]>::last).copied();
        while size < bytes && !self.done {
            let next = py.detach(|| {
                packets.next(|number| wanted.is_none_or(|all| all.binary_search(&number).is_ok()))
            });
            let Some((number, raw)) = next.map_err(error_to_python)? else { break };
            size += raw.data.len() + 100;
            found.push((number, raw.t_ns, raw.orig_len, PyBytes::new(py, &raw.data), raw.link_type));
            self.done = last == Some(number);
        }
        py.check_signals()?;
        Ok(found)
    }
}

/// The IP packets as (record, length on the wire, bytes); None if there are too many.
#[pyfunction]
#[pyo3(signature = (paths, content=None))]
fn ip_packets<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    content: Option<PyBackedBytes>,
) -> PyResult<Option<Vec<IpPacket<'py>>>> {
    let found = py.detach(|| match &content {
        Some(content) => capture::ip_packets_in(content),
        None => capture::ip_packets(&paths),
    });
    let Some(found) = found.map_err(error_to_python)? else { return Ok(None) };
    Ok(Some(found.iter().map(|(record, length, data)| (record, length, PyBytes::new(py, data))).collect()))
}

/// The order in which captures continue each other; None if they do not.
#[pyfunction]
fn continuation(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Option<Vec<usize>>> {
    let progress = Progress::default();
    watched(py, &progress, Beside::default(), || capture::continuation(&paths, Some(&progress)))?
        .map_err(error_to_python)
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
