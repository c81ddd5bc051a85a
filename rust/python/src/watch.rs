//! Work that may be long: on a thread of its own, without the interpreter lock, ended by Ctrl-C.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use multitracer_core::input::{Progress, read_ratio};
use multitracer_core::threads;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// How often the watching thread looks for Ctrl-C and reports progress.
const WATCH: Duration = Duration::from_millis(50);

/// What this thread does besides.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside<'a, 'py> {
    /// Called with the bytes read so far, again and again.
    pub(crate) report: Option<&'a Bound<'py, PyAny>>,
    /// What would have to be done after the work: called when that has begun, and again until it has ended or
    /// nothing is left to be done.
    pub(crate) meanwhile: Option<&'a Bound<'py, PyAny>>,
}

/// The outcome of `work`, while this thread answers signals and does what is to be done beside it.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    beside: Beside<'_, '_>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let mut interrupted = None;
    // What is done meanwhile may set variables: NumPy does as it is loaded.
    read_ratio();
    let outcome = std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel();
        // A receiver is not Sync, which letting go of the interpreter asks for; nobody else takes this lock.
        let wait = Mutex::new(wait);
        // Nobody waits any more only if this thread's owner has ended, and then nobody misses the result.
        threads::beside(scope, move || drop(done.send(work())))?;
        let mut meanwhile = beside.meanwhile;
        while let Some(more) = meanwhile {
            meanwhile = match more.call0().and_then(|left| left.is_truthy()) {
                Ok(left) => meanwhile.filter(|_| left),
                Err(error) => {
                    interrupted = Some(error);
                    progress.cancel.store(true, Ordering::Relaxed);
                    None
                }
            };
            match wait.lock().map_or(Err(mpsc::TryRecvError::Disconnected), |w| w.try_recv()) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(mpsc::TryRecvError::Disconnected) => return Ok(None),
                Err(mpsc::TryRecvError::Empty) => {}
            }
        }
        loop {
            match py.detach(|| {
                wait.lock().map_or(Err(mpsc::RecvTimeoutError::Disconnected), |w| w.recv_timeout(WATCH))
            }) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let bytes = progress.bytes_read.load(Ordering::Relaxed);
                    let reported = beside.report.map_or(Ok(()), |report| report.call1((bytes,)).map(drop));
                    if let Err(error) = py.check_signals().and(reported) {
                        interrupted = Some(error);
                        progress.cancel.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    })
    .map_err(|error: io::Error| PyMemoryError::new_err(error.to_string()))?;
    match (interrupted, outcome) {
        (Some(error), _) => Err(error),
        (None, Some(outcome)) => Ok(outcome),
        (None, None) => Err(PyValueError::new_err("reading ended without a result")),
    }
}
