//! The bytes of a file, decompressed by content, through one bounded buffer.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::{Progress, ReadError};

/// Large enough that the system call is lost in the noise, small enough to stay in the cache.
const BUFFER: usize = 256 * 1024;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How the bytes came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// At the end of the file.
    Clean,
    /// Inside a compressed stream.
    Truncated,
    /// At a place where the compressed stream is damaged, with the decoder's words.
    Damaged(String),
}

/// A window that moves over the bytes of a source; memory holds the window, never the file.
pub(crate) struct Source<'p> {
    reader: Box<dyn Read + 'p>,
    progress: Option<&'p Progress>,
    compressed: Option<&'static str>,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    end: Option<End>,
}

impl<'p> Source<'p> {
    /// Open a file.
    pub(crate) fn open(path: &Path, progress: Option<&'p Progress>) -> Result<Self, ReadError> {
        Self::new(File::open(path)?, progress)
    }

    /// Look at the first bytes and put the decompressor in place that they ask for.
    pub(crate) fn new(reader: impl Read + 'p, progress: Option<&'p Progress>) -> Result<Self, ReadError> {
        let mut raw = Counted { inner: reader, progress };
        let mut head = Vec::with_capacity(GZIP_MAGIC.len());
        raw.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
        let gzip = head == GZIP_MAGIC;
        let whole = Cursor::new(head).chain(raw);
        let (reader, compressed): (Box<dyn Read + 'p>, _) = if gzip {
            // Members may be concatenated (pigz, rotated captures): the multi-member decoder goes on.
            (Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole))), Some("gzip"))
        } else {
            (Box::new(whole), None)
        };
        let buffer = vec![0; BUFFER];
        Ok(Source { reader, progress, compressed, buffer, start: 0, filled: 0, end: None })
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

    /// How the source ended; only known once [`Source::ensure`] said no.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, count: usize) -> Result<bool, ReadError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count.next_power_of_two(), 0);
        }
        while self.filled < count && self.end.is_none() {
            if self.progress.is_some_and(Progress::cancelled) {
                return Err(ReadError::Cancelled);
            }
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.end = Some(End::Clean),
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => self.end = Some(self.classify(e)?),
            }
        }
        Ok(self.filled >= count)
    }

    /// A decoder's complaint ends the data; an error of the file itself ends the reading.
    fn classify(&self, error: io::Error) -> Result<End, ReadError> {
        if self.compressed.is_none() || error.raw_os_error().is_some() {
            return Err(error.into());
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(End::Truncated),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Ok(End::Damaged(error.to_string())),
            _ => Err(error.into()),
        }
    }
}

/// Counts what is taken from the file itself, before decompression.
struct Counted<'p, R> {
    inner: R,
    progress: Option<&'p Progress>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(progress) = self.progress {
            progress.consumed(count);
        }
        Ok(count)
    }
}

/// The first `count` bytes of a file's content, given the first bytes of the file.
pub(crate) fn decompressed_head(head: &[u8], count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count);
    if head.starts_with(&GZIP_MAGIC) {
        // The head is cut anywhere, so an error behind the bytes that came out means nothing.
        let _ = MultiGzDecoder::new(head).take(count as u64).read_to_end(&mut out);
    } else {
        out.extend_from_slice(&head[..head.len().min(count)]);
    }
    out
}
