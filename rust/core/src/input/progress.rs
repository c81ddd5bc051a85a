use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::kept::Kept;

/// Shared with the thread that watches: how far reading has come, and whether it shall stop.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the file consumed so far: compressed bytes if it is compressed, so that the share of the
    /// file's size is right.
    pub bytes_read: AtomicU64,
    /// Set to end reading; also while it waits for a pipe.
    pub cancel: AtomicBool,
    /// What comes through a pipe, where it is needed again.
    pub kept: Option<Kept>,
}

impl Progress {
    pub(crate) fn consumed(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
