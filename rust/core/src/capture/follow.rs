//! A capture that is still being written, read as it comes.

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::decode::Decoder;
use super::record::{Reader, Record};
use super::source::Source;
use super::{CaptureInfo, Progress, ReadError, Sink, Work, with_reader};
use crate::input::Stop;
use crate::issue::Issues;

/// How far reading a capture that is being written has come; for another thread to look at.
#[derive(Debug)]
pub struct Gauge {
    /// Complete records so far.
    pub records: AtomicU64,
    /// Earliest time stamp so far, nanoseconds since the epoch; `i64::MAX` before the first.
    pub first_ns: AtomicI64,
    /// Latest time stamp so far; `i64::MIN` before the first.
    pub last_ns: AtomicI64,
    /// Bytes read so far, and whether to give up at once.
    pub progress: Progress,
    /// Whether to end with what is there.
    pub stop: Stop,
}

impl Default for Gauge {
    fn default() -> Self {
        Gauge {
            records: AtomicU64::new(0),
            first_ns: AtomicI64::new(i64::MAX),
            last_ns: AtomicI64::new(i64::MIN),
            progress: Progress::default(),
            stop: Stop::default(),
        }
    }
}

/// As [`read_with`](super::read_with), of a pipe or a file that grows: the end of the file is waited at until
/// `gauge` says to stop. What is said of the same bytes is the same.
///
/// # Errors
/// See [`ReadError`].
pub fn follow<S: Sink + ?Sized>(
    path: &Path,
    sink: &mut S,
    issues: &mut Issues,
    gauge: &Gauge,
) -> Result<CaptureInfo, ReadError> {
    let source = Source::coming(path, &gauge.progress, &gauge.stop)?;
    let info = with_reader(source, Follow { sink, issues, gauge })?;
    if gauge.stop.shrunk.load(Ordering::Relaxed) {
        issues.add("file-replaced", info.records, || "shorter than what was read of it".into());
    }
    Ok(info)
}

struct Follow<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    issues: &'a mut Issues,
    gauge: &'a Gauge,
}

impl<S: Sink + ?Sized> Work for Follow<'_, S> {
    type Output = CaptureInfo;

    fn run(self, mut reader: impl Reader) -> Result<Self::Output, ReadError> {
        let Follow { sink, issues, gauge } = self;
        let mut decoder = Decoder::new(sink);
        let (mut first_ns, mut last_ns) = (i64::MAX, i64::MIN);
        reader.each(&mut |record: &Record<'_>| {
            decoder.record(record);
            first_ns = first_ns.min(record.t_ns);
            last_ns = last_ns.max(record.t_ns);
            // This thread alone writes them.
            gauge.records.store(record.number, Ordering::Relaxed);
            gauge.first_ns.store(first_ns, Ordering::Relaxed);
            gauge.last_ns.store(last_ns, Ordering::Relaxed);
        })?;
        Ok(super::concluded(&decoder.finish(), &mut reader, issues))
    }
}
