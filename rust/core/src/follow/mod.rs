//! A capture followed while it is written: read on a thread of its own, asked from another how it goes.
//!
//! Memory is in proportion to connections and bounded by [`Limits`]; what is said in the end of a capture within
//! them is what is said of the same bytes in a file.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::capture::{self, CaptureInfo, Gauge, ReadError};
use crate::issue::Issues;
use crate::threads;
use crate::tracker::Tracker;

mod live;
mod snapshot;
#[cfg(test)]
mod tests;

pub use snapshot::{Line, Snapshot, Sums};

use live::Live;

/// What bounds memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Whether every segment is kept: memory then grows with packets, and nothing is given up.
    pub keep_segments: bool,
    /// Connections that are kept; beyond, those that were idle for longest are given up.
    pub connections: usize,
}

/// What a reading comes to.
pub struct Followed {
    /// The capture.
    pub info: CaptureInfo,
    /// All connections that were kept.
    pub tracker: Tracker,
    /// Damage, and what was given up.
    pub issues: Issues,
}

/// A capture that is being followed. Dropped, it gives up at once.
pub struct Follow {
    gauge: Arc<Gauge>,
    live: Arc<Mutex<Live>>,
    ended: Arc<Ended>,
    reading: Option<JoinHandle<Reading>>,
}

type Reading = (Result<CaptureInfo, ReadError>, Issues);

impl Follow {
    /// Begin to read a pipe, `-`, or a file that grows.
    ///
    /// # Errors
    /// There is no thread to read it.
    pub fn begin(path: PathBuf, limits: Limits) -> io::Result<Self> {
        let gauge = Arc::new(Gauge::default());
        let live = Arc::new(Mutex::new(Live::new(limits)));
        let ended = Arc::new(Ended::default());
        let reading = {
            let (gauge, live, end) = (Arc::clone(&gauge), Arc::clone(&live), AtEnd(Arc::clone(&ended)));
            let work = move || {
                let _end = end;
                let mut issues = Issues::default();
                let info = capture::follow(&path, &mut live::Shared(&live), &mut issues, &gauge);
                (info, issues)
            };
            thread::Builder::new().spawn(work).map_err(threads::refused)?
        };
        Ok(Follow { gauge, live, ended, reading: Some(reading) })
    }

    /// Wait for the end, no longer than this; whether it has come.
    pub fn wait(&self, longest: Duration) -> bool {
        let ended = self.ended.is.lock().unwrap_or_else(PoisonError::into_inner);
        let over = self.ended.changed.wait_timeout_while(ended, longest, |ended| !*ended);
        *over.unwrap_or_else(PoisonError::into_inner).0
    }

    /// End with what is there.
    pub fn stop(&self) {
        self.gauge.stop.asked.store(true, Ordering::Relaxed);
    }

    /// How it goes; the `busiest` connections since the snapshot before.
    pub fn snapshot(&self, busiest: usize) -> Snapshot {
        locked(&self.live).snapshot(&self.gauge, busiest)
    }

    /// Wait for the end, and what it came to.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn finish(mut self) -> Result<Followed, ReadError> {
        // Taken here and nowhere else but when all is dropped.
        let (info, mut issues) = self.reading.take().map_or_else(
            || (Err(ReadError::Cancelled), Issues::default()),
            |reading| reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        let info = info?;
        let tracker = locked(&self.live).conclude(&mut issues);
        Ok(Followed { info, tracker, issues })
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if let Some(reading) = self.reading.take() {
            self.gauge.progress.cancel.store(true, Ordering::Relaxed);
            drop(reading.join());
        }
    }
}

/// Whether the reading thread is through.
#[derive(Default)]
struct Ended {
    is: Mutex<bool>,
    changed: Condvar,
}

/// Tells the end, also of a thread that panicked.
struct AtEnd(Arc<Ended>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        *self.0.is.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

/// A panic of the other thread is reported where it is joined.
fn locked(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}
