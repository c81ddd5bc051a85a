//! Frames of Qualcomm's diagnostic protocol: ended by 0x7E, escaped by 0x7D, with a CRC-16/X.25 at the end.

use std::io::{self, BufRead};

use memchr::memchr;

use crate::fcs::FCS16;
use crate::input::{is_damage, is_over_limit};
use crate::issue::Issues;

const FLAG: u8 = 0x7e;
const ESCAPE: u8 = 0x7d;
/// Longer than any log packet, whose length has 16 bits, with every byte escaped: what is beyond is not kept.
const MAX_RAW: usize = 1 << 18;
const CHECKSUM: usize = 2;
/// Frames that tell whether a file is such a log: it may begin with answers to commands.
const SNIFFED: usize = 4096;

/// Whether a file begins like such a log: among the first frames, two or more with a right checksum and a command
/// that logs begin with.
pub fn sniff(head: &[u8]) -> bool {
    let mut good = 0;
    let mut rest = head;
    let mut frame = Vec::new();
    for _ in 0..SNIFFED {
        let Some(end) = memchr(FLAG, rest) else { break };
        frame.clear();
        frame.extend_from_slice(&rest[..end.min(MAX_RAW)]);
        good += usize::from(content(&mut frame).is_some_and(super::message::is_log));
        rest = &rest[end + 1..];
    }
    good > 1
}

/// Streams frames, counted from 1; empty ones do not count.
pub(crate) struct Frames<R> {
    reader: R,
    frame: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(reader: R) -> Self {
        Frames { reader, frame: Vec::new(), number: 0 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.number
    }

    /// The next undamaged frame, without its checksum.
    pub(crate) fn next_frame(&mut self, issues: &mut Issues) -> io::Result<Option<(u64, &[u8])>> {
        loop {
            self.frame.clear();
            let mut size = 0;
            let ended = loop {
                let buffer = match self.reader.fill_buf() {
                    Ok(buffer) => buffer,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) if is_over_limit(&error) => {
                        issues.add("decompression-limit", self.number + 1, || error.to_string());
                        return Ok(None);
                    }
                    Err(error) if is_damage(&error) => {
                        issues
                            .add("truncated-file", self.number + 1, || format!("compressed stream: {error}"));
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                };
                if buffer.is_empty() {
                    break false;
                }
                let at = memchr(FLAG, buffer);
                let part = &buffer[..at.unwrap_or(buffer.len())];
                let room = MAX_RAW - self.frame.len();
                self.frame.extend_from_slice(&part[..part.len().min(room)]);
                size += part.len();
                let used = part.len() + usize::from(at.is_some());
                self.reader.consume(used);
                if at.is_some() {
                    break true;
                }
            };
            if size == 0 && ended {
                continue;
            }
            if size == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !ended {
                issues.add("truncated-file", self.number, || {
                    format!("the last frame has no end, {size} bytes")
                });
                return Ok(None);
            }
            if size > MAX_RAW {
                issues.add("bad-frame", self.number, || format!("a frame of {size} bytes"));
                continue;
            }
            match content(&mut self.frame).map(<[u8]>::len) {
                Some(length) => {
                    let end = self.frame.len() - CHECKSUM;
                    return Ok(Some((self.number, &self.frame[end - length..end])));
                }
                None => {
                    issues.add("bad-frame", self.number, || format!("{size} bytes with a wrong checksum"))
                }
            }
        }
    }
}

/// Undo the escapes; what is in the frame if its checksum is right.
fn content(frame: &mut Vec<u8>) -> Option<&[u8]> {
    if memchr(ESCAPE, frame).is_some() {
        let (mut to, mut escaped) = (0, false);
        for at in 0..frame.len() {
            let byte = frame[at];
            if byte == ESCAPE && !escaped {
                escaped = true;
                continue;
            }
            frame[to] = if std::mem::take(&mut escaped) { byte ^ 0x20 } else { byte };
            to += 1;
        }
        frame.truncate(to);
    }
    let (content, check) = frame.split_last_chunk::<CHECKSUM>()?;
    (!content.is_empty() && FCS16.checksum(content).to_le_bytes() == *check).then_some(content)
}
