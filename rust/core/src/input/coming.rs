//! Content that is still being written: a pipe, or a file that grows. Reading waits for more until it is told
//! to stop, then takes what is there and ends.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Opened, Place, Progress, from_reader, pipe, place};

/// How often a file is asked whether it has grown.
const PAUSE: Duration = Duration::from_millis(100);
/// Told to stop, a pipe is drained no longer than this: its writer may never pause.
const DRAIN: Duration = Duration::from_secs(1);

/// What tells a reading to stop, and what it says of the file.
#[derive(Debug, Default)]
pub struct Stop {
    /// Set to end reading once what is there was taken.
    pub asked: AtomicBool,
    /// The file became shorter than what was read of it: somebody writes another into its place.
    pub shrunk: AtomicBool,
}

/// As [`open`](super::open); the end of a file is waited at until `stop` says so.
///
/// # Errors
/// As [`open`](super::open).
pub fn open_coming<'p>(path: &Path, progress: &'p Progress, stop: &'p Stop) -> io::Result<Opened<'p>> {
    let (head, reader) = match pipe::take(path) {
        Some((head, pipe)) => (head, Reader::Pipe(pipe)),
        None => (
            Vec::new(),
            match place(path)? {
                Place::File => Reader::File(File::open(path)?),
                Place::Pipe => Reader::Pipe(pipe::open(path)?),
            },
        ),
    };
    let coming = Coming { reader, stop, stopped: None };
    from_reader(Cursor::new(head).chain(coming), Some(progress))
}

enum Reader {
    File(File),
    Pipe(pipe::Pipe),
}

struct Coming<'p> {
    reader: Reader,
    stop: &'p Stop,
    /// When the wish to stop was first seen.
    stopped: Option<Instant>,
}

impl Read for Coming<'_> {
    /// `Interrupted` after a wait in vain, so that the caller can look whether it is cancelled.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped.is_none() && self.stop.asked.load(Ordering::Relaxed) {
            self.stopped = Some(Instant::now());
        }
        match &mut self.reader {
            Reader::Pipe(_) if self.stopped.is_some_and(|since| since.elapsed() > DRAIN) => Ok(0),
            Reader::Pipe(pipe) => match (pipe.read(buffer), self.stopped) {
                (Err(e), Some(_)) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
                (outcome, _) => outcome,
            },
            Reader::File(file) => match (file.read(buffer)?, self.stopped) {
                (0, None) if file.metadata()?.len() < file.stream_position()? => {
                    self.stop.shrunk.store(true, Ordering::Relaxed);
                    Ok(0)
                }
                (0, None) => {
                    std::thread::sleep(PAUSE);
                    Err(io::ErrorKind::Interrupted.into())
                }
                (count, _) => Ok(count),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("multitracer-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_file_is_read_as_it_grows() {
        let path = scratch("grows");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"the begin").unwrap();
        let (progress, stop) = (Progress::default(), Stop::default());
        let mut reader = open_coming(&path, &progress, &stop).unwrap().reader;
        let mut bytes = [0; 9];
        reader.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"the begin");
        file.write_all(b"ning").unwrap();
        reader.read_exact(&mut bytes[..4]).unwrap();
        assert_eq!(&bytes[..4], b"ning");
        file.write_all(b"end").unwrap();
        stop.asked.store(true, Ordering::Relaxed);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"end");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_shrinks_ends() {
        let path = scratch("shrinks");
        std::fs::write(&path, b"beginning").unwrap();
        let (progress, stop) = (Progress::default(), Stop::default());
        let mut reader = open_coming(&path, &progress, &stop).unwrap().reader;
        let mut bytes = [0; 9];
        reader.read_exact(&mut bytes).unwrap();
        File::create(&path).unwrap();
        assert_eq!(reader.read(&mut bytes).unwrap(), 0);
        assert!(stop.shrunk.load(Ordering::Relaxed));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_silent_pipe_ends_when_told_to() {
        let (silent, _writer) = std::io::pipe().unwrap();
        let stop = Stop::default();
        stop.asked.store(true, Ordering::Relaxed);
        let reader = Reader::Pipe(pipe::Pipe::from(File::from(std::os::fd::OwnedFd::from(silent))));
        assert_eq!(Coming { reader, stop: &stop, stopped: None }.read(&mut [0; 8]).unwrap(), 0);
    }
}
