//! The bytes of a file, decompressed by content, through one bounded buffer.

use std::io::{self, Read};
use std::path::Path;
use std::thread::{self, Scope};

use super::ahead::{Ahead, BLOCK, ROOM};
use super::{Progress, ReadError};
use crate::input::{self, Opened, Stop};

/// Files that are smaller are read before a thread for it has begun.
const WORTH_A_THREAD: u64 = 1 << 20;
/// Where there are no more processors than this, the decoder reads: another thread has nowhere to run while they all work.
const BUSY: usize = 2;
/// Bytes that the decoder reads at a time: few enough to be in its cache still when it comes to them.
const PIECE: usize = 64 * 1024;

/// How the bytes came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// At the end of the file.
    Clean,
    /// Inside a compressed stream.
    Truncated,
    /// At a place where the compressed stream is damaged, with the decoder's words.
    Damaged(String),
    /// Where the compressed stream was given up: it grows beyond the limit.
    OverLimit(String),
}

/// A window that moves over the bytes of a source; memory holds the window, never the file.
pub(crate) struct Source<'p> {
    supply: Supply<'p>,
    progress: Option<&'p Progress>,
    compressed: Option<&'static str>,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    end: Option<End>,
}

/// Where the bytes come from.
enum Supply<'p> {
    Reader(Box<dyn Read + Send + 'p>),
    Ahead(Ahead),
}

impl<'p> Source<'p> {
    /// Open a file, of which the next blocks are read on another thread if it is large enough and there is a processor for
    /// that, or something to decompress.
    pub(crate) fn open_ahead<'scope>(
        scope: &'scope Scope<'scope, '_>,
        path: &Path,
        progress: Option<&'p Progress>,
    ) -> Result<Self, ReadError>
    where
        'p: 'scope,
    {
        let opened = input::open(path, progress).map_err(early)?;
        // A pipe may be silent for as long as it likes: nobody shall wait for a thread that reads it.
        let spare = || thread::available_parallelism().is_ok_and(|count| count.get() > BUSY);
        let worth_it = opened.size.is_some_and(|size| size >= WORTH_A_THREAD)
            && (opened.compression.is_some() || spare());
        let mut source = Self::of(opened, progress);
        if worth_it && let Supply::Reader(reader) = source.supply {
            source.supply = Supply::Ahead(Ahead::begin(scope, reader)?);
        }
        Ok(source)
    }

    /// Open a file.
    pub(crate) fn open(path: &Path, progress: Option<&'p Progress>) -> Result<Self, ReadError> {
        Ok(Self::of(input::open(path, progress).map_err(early)?, progress))
    }

    /// Open a file that is still being written, or a pipe.
    pub(crate) fn coming(path: &Path, progress: &'p Progress, stop: &'p Stop) -> Result<Self, ReadError> {
        Ok(Self::of(input::open_coming(path, progress, stop).map_err(early)?, Some(progress)))
    }

    /// From any bytes, decompressed by content.
    pub(crate) fn new(
        reader: impl Read + Send + 'p,
        progress: Option<&'p Progress>,
    ) -> Result<Self, ReadError> {
        Ok(Self::of(input::from_reader(reader, progress).map_err(early)?, progress))
    }

    fn of(opened: Opened<'p>, progress: Option<&'p Progress>) -> Self {
        let compressed = opened.compression.map(input::Compression::name);
        let (supply, buffer) = (Supply::Reader(opened.reader), vec![0; ROOM + BLOCK]);
        Source { supply, progress, compressed, buffer, start: 0, filled: 0, end: None }
    }

    /// Name of the compression, if any.
    pub(crate) fn compressed(&self) -> Option<&'static str> {
        self.compressed
    }

    /// The bytes in the window.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Move the window's start.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.filled);
    }

    /// Have at least `count` bytes in the window; false if the source ends before (see [`Source::end`]).
    #[inline]
    pub(crate) fn ensure(&mut self, count: usize) -> Result<bool, ReadError> {
        if self.filled - self.start >= count { Ok(true) } else { self.fill(count) }
    }

    /// Pass over bytes that nobody wants, however many; false if the source ends before.
    pub(crate) fn skip(&mut self, mut count: u64) -> Result<bool, ReadError> {
        loop {
            let here = (self.filled - self.start).min(usize::try_from(count).unwrap_or(usize::MAX));
            self.start += here;
            count -= here as u64;
            if count == 0 {
                return Ok(true);
            }
            if !self.ensure(1)? {
                return Ok(false);
            }
        }
    }

    /// How the source ended; only known once [`Source::ensure`] said no.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, count: usize) -> Result<bool, ReadError> {
        while self.filled - self.start < count && self.end.is_none() {
            if self.progress.is_some_and(Progress::cancelled) {
                return Err(ReadError::Cancelled);
            }
            match &mut self.supply {
                Supply::Ahead(ahead) => match ahead.next() {
                    None => self.end = Some(End::Clean),
                    Some(Ok((block, length))) => self.go_on_with(block, length),
                    Some(Err(error)) => self.end = Some(self.classify(error)?),
                },
                Supply::Reader(_) => self.read_on(count)?,
            }
        }
        Ok(self.filled - self.start >= count)
    }

    /// What is left moves to before a block that was read ahead; or the block behind it, if that is more than there
    /// is room.
    fn go_on_with(&mut self, mut block: Vec<u8>, length: usize) {
        let left = self.filled - self.start;
        if left <= ROOM {
            block[ROOM - left..ROOM].copy_from_slice(&self.buffer[self.start..self.filled]);
            std::mem::swap(&mut self.buffer, &mut block);
            (self.start, self.filled) = (ROOM - left, ROOM + length);
        } else {
            self.make_room(left + length);
            self.buffer[left..left + length].copy_from_slice(&block[ROOM..ROOM + length]);
            self.filled += length;
        }
        if let Supply::Ahead(ahead) = &self.supply {
            ahead.reuse(block);
        }
    }

    /// Move what is left to the start of a buffer of at least so many bytes.
    fn make_room(&mut self, count: usize) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            (self.start, self.filled) = (0, self.filled - self.start);
        }
        if self.buffer.len() < count {
            self.buffer.resize(count.next_power_of_two(), 0);
        }
    }

    fn read_on(&mut self, count: usize) -> Result<(), ReadError> {
        self.make_room(count);
        let Supply::Reader(reader) = &mut self.supply else { return Ok(()) };
        let end = self.buffer.len().min(self.filled + PIECE);
        match reader.read(&mut self.buffer[self.filled..end]) {
            Ok(0) => self.end = Some(End::Clean),
            Ok(n) => self.filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => self.end = Some(self.classify(e)?),
        }
        Ok(())
    }

    /// A decoder's complaint ends the data; an error of the file itself ends the reading.
    fn classify(&self, error: io::Error) -> Result<End, ReadError> {
        if input::is_cancelled(&error) {
            return Err(ReadError::Cancelled);
        }
        if self.compressed.is_none() || error.raw_os_error().is_some() {
            return Err(error.into());
        }
        match error.kind() {
            _ if input::is_over_limit(&error) => Ok(End::OverLimit(error.to_string())),
            io::ErrorKind::UnexpectedEof => Ok(End::Truncated),
            // zstd and lz4 say "other" for damage.
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                Ok(End::Damaged(error.to_string()))
            }
            _ => Err(error.into()),
        }
    }
}

/// An error before the first byte.
fn early(error: io::Error) -> ReadError {
    if input::is_cancelled(&error) { ReadError::Cancelled } else { error.into() }
}
