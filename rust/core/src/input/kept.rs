//! A copy of what comes through a pipe, for what is asked of a capture a second time: a pipe is read once.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// The bytes as they came, compressed or not, up to a limit.
#[derive(Debug)]
pub struct Kept {
    most: usize,
    /// `None` once there were more.
    bytes: Mutex<Option<Vec<u8>>>,
}

impl Kept {
    /// Of at most so many bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Kept { most, bytes: Mutex::new(Some(Vec::new())) }
    }

    /// What was kept; `None` if nothing came through a pipe, or too much.
    #[must_use]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        self.bytes.into_inner().unwrap_or_else(PoisonError::into_inner).filter(|bytes| !bytes.is_empty())
    }

    fn add(&self, more: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *bytes {
            Some(bytes) if bytes.len() + more.len() <= self.most => bytes.extend_from_slice(more),
            _ => *bytes = None,
        }
    }
}

/// Hands on what it reads, and keeps it if that was asked for.
pub(super) struct Keeping<'k, R> {
    pub(super) inner: R,
    pub(super) kept: Option<&'k Kept>,
}

impl<R: Read> Read for Keeping<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(kept) = self.kept {
            kept.add(&buffer[..count]);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_kept_or_nothing() {
        for (most, whole) in [(5, Some(b"bytes".to_vec())), (4, None)] {
            let kept = Kept::new(most);
            let mut out = Vec::new();
            let mut reader = Keeping { inner: &b"by"[..], kept: Some(&kept) };
            reader.read_to_end(&mut out).unwrap();
            Keeping { inner: &b"tes"[..], kept: Some(&kept) }.read_to_end(&mut out).unwrap();
            assert_eq!((out.as_slice(), kept.into_bytes()), (&b"bytes"[..], whole));
        }
        assert_eq!(Kept::new(5).into_bytes(), None);
    }
}
