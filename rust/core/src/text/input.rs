//! Opening a log: as captures are opened, without a watcher.

use std::io::{self, Read};
use std::path::Path;

use crate::input;
pub use crate::input::is_damage;

/// The decompressed bytes of a file, a FIFO or standard input (`-`).
///
/// # Errors
/// As [`input::open`].
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    Ok(input::open(path, None)?.reader)
}

/// The first `count` decompressed bytes of a file; fewer if it is shorter or its compression is damaged.
///
/// # Errors
/// As [`input::head`].
pub fn head(path: &Path, count: usize) -> io::Result<Vec<u8>> {
    input::head(path, count, None)
}
