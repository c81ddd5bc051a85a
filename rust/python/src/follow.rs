//! Captures that are followed while they are written: numbers for the running summary, and the end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use multitracer_core::follow::{Follow, Limits, Line, Snapshot, Sums};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capture::{Captured, captured_to_python, error_to_python};
use crate::summaries::{retransmission_counts, timeout_counts};
use crate::tables::end_to_string;

/// How often a wait looks for Ctrl-C.
const WATCH: Duration = Duration::from_millis(50);
/// The longest wait.
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Following>()
}

/// A capture that is being followed; see the stub.
#[pyclass(name = "Follow")]
struct Following(Option<Follow>);

impl Following {
    fn running(&self) -> PyResult<&Follow> {
        self.0.as_ref().ok_or_else(|| PyValueError::new_err("nothing is being followed any more"))
    }
}

#[pymethods]
impl Following {
    #[new]
    fn new(path: PathBuf, keep_segments: bool, connections: usize) -> PyResult<Self> {
        let limits = Limits { keep_segments, connections: connections.max(1) };
        let follow = Follow::begin(path, limits).map_err(|error| error_to_python(error.into()))?;
        Ok(Following(Some(follow)))
    }

    /// Wait for the end, so many seconds at most; whether it has come. Signals are answered meanwhile.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let follow = self.running()?;
        let end = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or(DAY).min(DAY);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if py.detach(|| follow.wait(left.min(WATCH))) {
                return Ok(true);
            }
            py.check_signals()?;
            if left <= WATCH {
                return Ok(false);
            }
        }
    }

    /// End with what is there.
    fn stop(&self) -> PyResult<()> {
        self.running().map(Follow::stop)
    }

    /// How it goes.
    fn snapshot<'py>(&self, py: Python<'py>, busiest: usize) -> PyResult<Bound<'py, PyDict>> {
        let follow = self.running()?;
        let snapshot = py.detach(|| follow.snapshot(busiest));
        snapshot_to_python(py, &snapshot)
    }

    /// What it came to, as `read_capture` says it.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.running()?;
        let follow = self.0.take();
        let captured = py.detach(|| follow.map(Follow::finish).transpose());
        let Some(followed) = captured.map_err(error_to_python)? else {
            return Err(PyValueError::new_err("nothing is being followed any more"));
        };
        let (info, mut tracker, mut issues) = (followed.info, followed.tracker, followed.issues);
        let (icmp_errors, multipath) = (tracker.take_icmp_errors(), tracker.take_multipath());
        let (connections, columns) = py.detach(|| tracker.conclude(&mut issues));
        captured_to_python(py, Captured { info, connections, columns, icmp_errors, multipath, issues })
    }

    /// Give up at once.
    fn close(&mut self, py: Python<'_>) {
        let follow = self.0.take();
        py.detach(|| drop(follow));
    }
}

fn snapshot_to_python<'py>(py: Python<'py>, snapshot: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item(intern!(py, "records"), snapshot.records)?;
    d.set_item(intern!(py, "tcp_segments"), snapshot.tcp_segments)?;
    d.set_item(intern!(py, "bytes_read"), snapshot.bytes_read)?;
    d.set_item(intern!(py, "first_ns"), snapshot.span_ns.map(|(first, _)| first))?;
    d.set_item(intern!(py, "last_ns"), snapshot.span_ns.map(|(_, last)| last))?;
    d.set_item(intern!(py, "sums"), sums_to_python(py, &snapshot.sums)?)?;
    d.set_item(intern!(py, "forgotten"), snapshot.forgotten)?;
    d.set_item(intern!(py, "active"), snapshot.active)?;
    d.set_item(intern!(py, "new_bytes"), snapshot.new_bytes)?;
    let busiest = PyList::empty(py);
    for line in &snapshot.busiest {
        busiest.append(line_to_python(py, line)?)?;
    }
    d.set_item(intern!(py, "busiest"), busiest)?;
    Ok(d)
}

fn sums_to_python<'py>(py: Python<'py>, sums: &Sums) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item(intern!(py, "connections"), sums.connections)?;
    d.set_item(intern!(py, "data_bytes"), sums.data_bytes)?;
    d.set_item(intern!(py, "duplicate_bytes"), sums.duplicate_bytes)?;
    let causes =
        retransmission_counts(py, &sums.retransmissions, [sums.inferred, sums.unseen], sums.undecided)?;
    d.set_item(intern!(py, "retransmissions"), causes)?;
    d.set_item(intern!(py, "timeouts"), timeout_counts(py, &sums.timeouts)?)?;
    Ok(d)
}

fn line_to_python<'py>(py: Python<'py>, line: &Line) -> PyResult<Bound<'py, PyDict>> {
    let d = sums_to_python(py, &line.sums)?;
    d.set_item(intern!(py, "endpoints"), line.endpoints.map(end_to_string))?;
    d.set_item(intern!(py, "new_bytes"), line.new_bytes)?;
    d.set_item(intern!(py, "srtt_ns"), line.srtt_us.map(|srtt_us| srtt_us * 1000))?;
    d.set_item(intern!(py, "flight_bytes"), line.flight_bytes)?;
    d.set_item(intern!(py, "last_ns"), line.last_ns)?;
    Ok(d)
}
