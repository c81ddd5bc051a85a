//! Pipes: read once, recognised by a head that is kept for the reading that follows.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::limit::cancelled;
use super::{Progress, STDIN};

/// How long a read waits before it lets its caller look whether it shall go on.
const WAIT_NS: i64 = 100_000_000;
/// With some bytes in hand, recognition does not wait longer than this for more.
const PATIENCE: Duration = Duration::from_millis(300);

/// Pipes that were looked at, with the bytes that this took, until they are read.
static LOOKED_AT: LazyLock<Mutex<HashMap<PathBuf, Begun>>> = LazyLock::new(Mutex::default);

/// What was read of a pipe, and the rest of it.
type Begun = (Vec<u8>, Pipe);

/// The reading end of a pipe. A read that waited in vain for a while ends as `Interrupted`.
pub(super) struct Pipe(File);

#[cfg(test)]
impl From<File> for Pipe {
    fn from(file: File) -> Self {
        Pipe(file)
    }
}

pub(super) fn open(path: &Path) -> io::Result<Pipe> {
    if path == Path::new(STDIN) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            let words = "standard input is a terminal: pipe a trace into it (tcpdump -w - | ...)";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        return Ok(Pipe(File::from(stdin.as_fd().try_clone_to_owned()?)));
    }
    // Without this flag, opening waits for the writer, and cannot be cancelled.
    let flags = OFlags::NONBLOCK.bits() as i32;
    Ok(Pipe(OpenOptions::new().read(true).custom_flags(flags).open(path)?))
}

/// The kept head and the rest of a pipe that was looked at.
pub(super) fn take(path: &Path) -> Option<(Vec<u8>, Pipe)> {
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
}

/// Whether a pipe was looked at and not read yet.
pub(super) fn waits(path: &Path) -> bool {
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).contains_key(path)
}

/// The first `count` bytes of a pipe, or fewer if they are slow to come.
pub(super) fn look(path: &Path, count: usize, progress: Option<&Progress>) -> io::Result<Vec<u8>> {
    let (mut head, mut pipe) = match take(path) {
        Some(known) => known,
        None => (Vec::new(), open(path)?),
    };
    let mut chunk = vec![0; count];
    let mut last = Instant::now();
    while head.len() < count {
        if progress.is_some_and(Progress::cancelled) {
            return Err(cancelled());
        }
        match pipe.read(&mut chunk[head.len()..]) {
            Ok(0) => break,
            Ok(more) => {
                let from = head.len();
                head.extend_from_slice(&chunk[from..from + more]);
                last = Instant::now();
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                if !head.is_empty() && last.elapsed() > PATIENCE {
                    break;
                }
            }
            Err(e) => return Err(e),
        }
    }
    let looked_at = (head.clone(), pipe);
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), looked_at);
    Ok(head)
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec { tv_sec: 0, tv_nsec: WAIT_NS };
        // A FIFO that nobody has opened for writing yet is silent; one whose writers have left hangs up.
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&wait))? == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match self.0.read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Interrupted.into()),
            outcome => outcome,
        }
    }
}
