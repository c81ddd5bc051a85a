//! Opening what a user names: a file, a pipe or standard input, decompressed by content.
//!
//! One opener for captures and text logs. What is read streams: memory holds buffers, never the file.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

mod coming;
mod compression;
mod kept;
mod limit;
mod pipe;
mod progress;
#[cfg(test)]
mod tests;

pub use coming::{Stop, open_coming};
pub use compression::{Compression, decompressed_head};
pub use kept::Kept;
pub use limit::{ExpansionLimit, FREE_BYTES, MAX_RATIO, RATIO_VARIABLE, read_ratio};
pub use progress::Progress;

use kept::Keeping;
use limit::{Counted, Limited};

/// The path that stands for standard input.
pub const STDIN: &str = "-";

/// The content of a file, to be read once.
pub struct Opened<'p> {
    /// Decompressed bytes.
    pub reader: Box<dyn Read + Send + 'p>,
    /// What they were compressed with.
    pub compression: Option<Compression>,
    /// Bytes of the file, as they are in it; `None` of what is no file.
    pub size: Option<u64>,
}

/// Open a file, a FIFO or standard input (`-`).
///
/// Of a pipe, what [`head`] looked at comes again, and [`Progress::kept`] takes a copy.
///
/// # Errors
/// Whatever the system says; `InvalidInput` for devices, sockets and terminals; `IsADirectory`.
pub fn open<'p>(path: &Path, progress: Option<&'p Progress>) -> io::Result<Opened<'p>> {
    let kept = progress.and_then(|progress| progress.kept.as_ref());
    if let Some((head, pipe)) = pipe::take(path) {
        return from_reader(Keeping { inner: Cursor::new(head).chain(pipe), kept }, progress);
    }
    match place(path)? {
        Place::File => {
            let file = File::open(path)?;
            let size = Some(file.metadata()?.len());
            Ok(Opened { size, ..from_reader(file, progress)? })
        }
        Place::Pipe => from_reader(Keeping { inner: pipe::open(path)?, kept }, progress),
    }
}

/// As [`open`], from any bytes.
///
/// # Errors
/// As of the reader, when it does not even give the first bytes.
pub fn from_reader<'p>(
    reader: impl Read + Send + 'p,
    progress: Option<&'p Progress>,
) -> io::Result<Opened<'p>> {
    let mut raw = Counted::new(reader, progress);
    let mut head = Vec::with_capacity(Compression::MAGIC_BYTES);
    (&mut raw).take(Compression::MAGIC_BYTES as u64).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let count = raw.count();
    let whole = Cursor::new(head).chain(raw);
    let reader = match compression {
        None => Box::new(whole) as Box<dyn Read + Send + 'p>,
        Some(compression) => Box::new(Limited::new(compression.decoder(whole)?, count)),
    };
    Ok(Opened { reader, compression, size: None })
}

/// The first `count` decompressed bytes; fewer if there are no more, the compression is damaged, or a pipe
/// has not given them yet.
///
/// What is taken from a pipe for this is kept for the [`open`] that follows.
///
/// # Errors
/// As [`open`], and errors of the system while reading.
pub fn head(path: &Path, count: usize, progress: Option<&Progress>) -> io::Result<Vec<u8>> {
    if pipe::waits(path) || place(path)? == Place::Pipe {
        return head_of_pipe(path, count, progress);
    }
    let mut bytes = Vec::new();
    match open(path, progress)?.reader.take(count as u64).read_to_end(&mut bytes) {
        Err(error) if !is_damage(&error) => Err(error),
        // read_to_end keeps what it read before the error.
        _ => Ok(bytes),
    }
}

/// Compressed blocks can be long (of zstd 128 KiB, of bzip2 900 KB, of lz4 4 MiB), and give nothing until they are whole.
const LONGEST_HEAD: usize = 8 << 20;

fn head_of_pipe(path: &Path, count: usize, progress: Option<&Progress>) -> io::Result<Vec<u8>> {
    let mut looked = count.max(Compression::MAGIC_BYTES);
    loop {
        let raw = pipe::look(path, looked, progress)?;
        let head = decompressed_head(&raw, count);
        let may_grow = raw.len() >= looked && looked < LONGEST_HEAD && Compression::of(&raw).is_some();
        if head.len() >= count || !may_grow {
            return Ok(head);
        }
        looked = (looked * 4).min(LONGEST_HEAD);
    }
}

/// Close a pipe that [`head`] looked at and that nobody is going to read.
pub fn forget(path: &Path) {
    drop(pipe::take(path));
}

/// Whether a path names something that can be read once only: standard input or a FIFO.
pub fn is_pipe(path: &Path) -> bool {
    matches!(place(path), Ok(Place::Pipe))
}

/// Whether an error means damaged content (a cut or corrupt compressed stream), not a failing system.
pub fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && !limit::is_cancelled(error)
}

/// Whether reading ended because [`Progress::cancel`] was set.
pub fn is_cancelled(error: &io::Error) -> bool {
    limit::is_cancelled(error)
}

/// Whether a compressed stream was given up because it grows beyond the limit.
pub fn is_over_limit(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<ExpansionLimit>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Pipe,
}

/// Asked before opening: opening a FIFO would wait for its writer, and a device may never end.
fn place(path: &Path) -> io::Result<Place> {
    if path == Path::new(STDIN) {
        return Ok(Place::Pipe);
    }
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else if kind.is_fifo() {
        Ok(Place::Pipe)
    } else if kind.is_file() {
        Ok(Place::File)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a pipe"))
    }
}
