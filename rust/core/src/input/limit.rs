//! What bounds reading: a limit on what a compressed file may grow to, and cancelling.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Progress;

/// So many bytes may come out of any compressed file, whatever its size.
pub const FREE_BYTES: u64 = 256 << 20;

/// Beyond [`FREE_BYTES`], a compressed file may grow to so many times its size. Header-only captures of bulk
/// transfers shrink to a tenth, the most monotonous logs to a hundredth; bombs to a thousandth and less.
pub const MAX_RATIO: u64 = 250;

/// Environment variable with another ratio, for a user who knows the file.
pub const RATIO_VARIABLE: &str = "MULTITRACER_MAX_RATIO";

/// What that variable says.
static RATIO: AtomicU64 = AtomicU64::new(MAX_RATIO);

/// Look at the environment, once for all that is opened from then on.
///
/// Reading a variable while another thread sets one is not safe (POSIX `getenv`), and Python sets some while captures are being read:
/// the thread that holds its lock calls this, and no other thread reads any.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub fn read_ratio() {
    let stated = std::env::var(RATIO_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    RATIO.store(stated.unwrap_or(MAX_RATIO), Ordering::Relaxed);
}

/// Why a compressed stream was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpansionLimit {
    ratio: u64,
    compressed: u64,
}

impl fmt::Display for ExpansionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpansionLimit { ratio, compressed } = self;
        write!(f, "{compressed} compressed bytes grow to more than {ratio} times as many ({RATIO_VARIABLE})")
    }
}

impl std::error::Error for ExpansionLimit {}

#[derive(Debug)]
struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reading was cancelled")
    }
}

impl std::error::Error for Cancelled {}

pub(super) fn is_cancelled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Cancelled>())
}

/// Error with which a cancelled read ends.
pub(super) fn cancelled() -> io::Error {
    io::Error::other(Cancelled)
}

/// Counts what is taken from the file itself, before decompression, and waits for pipes.
pub(super) struct Counted<'p, R> {
    inner: R,
    progress: Option<&'p Progress>,
    count: Arc<AtomicU64>,
}

impl<'p, R: Read> Counted<'p, R> {
    pub(super) fn new(inner: R, progress: Option<&'p Progress>) -> Self {
        Counted { inner, progress, count: Arc::default() }
    }

    pub(super) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Here and not in the decoders: not all of them can go on after an interruption.
        let count = loop {
            if self.progress.is_some_and(Progress::cancelled) {
                return Err(cancelled());
            }
            match self.inner.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        if let Some(progress) = self.progress {
            progress.consumed(count);
        }
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Ends a decompression that grows beyond the limit.
pub(super) struct Limited<R> {
    inner: R,
    compressed: Arc<AtomicU64>,
    produced: u64,
    ratio: u64,
}

impl<R: Read> Limited<R> {
    pub(super) fn new(inner: R, compressed: Arc<AtomicU64>) -> Self {
        Self::with_ratio(inner, compressed, RATIO.load(Ordering::Relaxed))
    }

    pub(super) fn with_ratio(inner: R, compressed: Arc<AtomicU64>, ratio: u64) -> Self {
        Limited { inner, compressed, produced: 0, ratio }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.produced > FREE_BYTES {
            let compressed = self.compressed.load(Ordering::Relaxed);
            if self.produced > compressed.saturating_mul(self.ratio) {
                return Err(io::Error::other(ExpansionLimit { ratio: self.ratio, compressed }));
            }
        }
        let count = self.inner.read(buffer)?;
        self.produced += count as u64;
        Ok(count)
    }
}
