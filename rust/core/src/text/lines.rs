//! Lines of bounded length out of any reader, without an allocation per line.

use std::io::{self, Read};

use memchr::memchr;

use super::words::excerpt;
use crate::input::{is_damage, is_over_limit};
use crate::issue::Issues;

/// A line beyond this many bytes is skipped: no log of ours has one.
pub const MAX_LINE: usize = 1 << 16;

const BUFFER: usize = 1 << 18;

/// Streams the lines of a log, counted from 1.
///
/// A last line without a line end is not handed out: a number in it may be cut short and still look right.
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    /// No line end in `start..searched`.
    searched: usize,
    end: usize,
    number: u64,
    skipping: bool,
    finished: bool,
    longest: usize,
}

impl<R: Read> Lines<R> {
    /// Lines of `reader`, which needs no buffer of its own.
    pub fn new(reader: R) -> Self {
        Self::of_length(reader, MAX_LINE)
    }

    /// The same with another limit for a line: formats that put a whole document into one.
    pub fn of_length(reader: R, longest: usize) -> Self {
        Lines {
            reader,
            buffer: vec![0; BUFFER],
            start: 0,
            searched: 0,
            end: 0,
            number: 0,
            skipping: false,
            finished: false,
            longest,
        }
    }

    /// How many lines have been read.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// The next line's number and bytes, without its line end; None at the end.
    ///
    /// # Errors
    /// Errors of the system. A damaged gzip stream is an issue and the end.
    pub fn next_line(&mut self, issues: &mut Issues) -> io::Result<Option<(u64, &[u8])>> {
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let from = self.start;
                let mut to = self.searched + at;
                self.start = to + 1;
                self.searched = self.start;
                self.number += 1;
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                if to - from > self.longest {
                    self.too_long(self.number, issues);
                    continue;
                }
                if to > from && self.buffer[to - 1] == b'\r' {
                    to -= 1;
                }
                return Ok(Some((self.number, &self.buffer[from..to])));
            }
            self.searched = self.end;
            if self.finished {
                return Ok(None);
            }
            self.make_room(issues);
            self.fill(issues)?;
        }
    }

    fn make_room(&mut self, issues: &mut Issues) {
        if !self.skipping && self.end - self.start > self.longest {
            self.too_long(self.number + 1, issues);
            self.skipping = true;
        }
        if self.skipping {
            self.end = self.start;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        self.searched = self.end;
    }

    fn fill(&mut self, issues: &mut Issues) -> io::Result<()> {
        match self.reader.read(&mut self.buffer[self.end..]) {
            Ok(0) => {
                self.finished = true;
                let rest = &self.buffer[self.start..self.end];
                // Blanks too: they may be the indentation of a line that is gone.
                if !rest.is_empty() {
                    self.number += 1;
                    let detail = || format!("the last line has no end, so it was skipped: {}", excerpt(rest));
                    issues.add("truncated-file", self.number, detail);
                }
            }
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_over_limit(&error) => {
                self.finished = true;
                issues.add("decompression-limit", self.number + 1, || error.to_string());
            }
            Err(error) if is_damage(&error) => {
                self.finished = true;
                issues.add("truncated-file", self.number + 1, || format!("compressed stream: {error}"));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn too_long(&self, number: u64, issues: &mut Issues) {
        issues.add("line-too-long", number, || format!("a line of more than {} bytes", self.longest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, then perhaps an error.
    struct Trickle<'a>(&'a [u8], Option<io::Error>);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match (self.0, self.1.take()) {
                ([first, rest @ ..], error) => {
                    out[0] = *first;
                    (self.0, self.1) = (rest, error);
                    Ok(1)
                }
                (_, Some(error)) => Err(error),
                _ => Ok(0),
            }
        }
    }

    type Collected = (Vec<(u64, Vec<u8>)>, Issues);

    fn collect(reader: impl Read) -> io::Result<Collected> {
        let (mut lines, mut issues, mut found) = (Lines::new(reader), Issues::default(), Vec::new());
        while let Some((number, line)) = lines.next_line(&mut issues)? {
            found.push((number, line.to_vec()));
        }
        Ok((found, issues))
    }

    #[test]
    fn any_chunking_gives_the_same_lines() {
        let text = b"one\r\n\ntwo\nthree\n";
        let expected = vec![(1, b"one".to_vec()), (2, vec![]), (3, b"two".to_vec()), (4, b"three".to_vec())];
        let (whole, issues) = collect(&text[..]).unwrap();
        assert!(issues.is_empty());
        assert_eq!(whole, expected);
        assert_eq!(collect(Trickle(text, None)).unwrap().0, expected);
    }

    #[test]
    fn long_lines_are_skipped_and_counted() {
        for length in [MAX_LINE + 1, BUFFER - 1, BUFFER, 3 * BUFFER + 17] {
            let text = [b"a\n".as_slice(), &vec![b'x'; length], b"\nb\n"].concat();
            let (lines, issues) = collect(&text[..]).unwrap();
            assert_eq!(lines, vec![(1, b"a".to_vec()), (3, b"b".to_vec())]);
            let (code, found) = issues.iter().next().unwrap();
            assert_eq!((code, found.count, found.first_record), ("line-too-long", 1, 2));
        }
        let text = [vec![b'x'; MAX_LINE], b"\n".to_vec()].concat();
        assert_eq!(collect(&text[..]).unwrap().0.len(), 1);
    }

    #[test]
    fn a_file_of_one_line_takes_no_more_memory_than_a_line() {
        for (byte, longest) in [(0u8, MAX_LINE), (b'x', MAX_LINE), (b' ', 1 << 20), (b'\r', 4 << 20)] {
            let (length, mut issues) = (32 << 20, Issues::default());
            let mut lines = Lines::of_length(io::repeat(byte).take(length), longest);
            assert_eq!(lines.next_line(&mut issues).unwrap(), None);
            assert!(lines.buffer.len() <= BUFFER.max(4 * longest), "{}", lines.buffer.len());
            assert_eq!((issues.iter().next().unwrap().0, lines.count()), ("line-too-long", 0));
        }
    }

    #[test]
    fn an_open_last_line_is_an_issue() {
        let (lines, issues) = collect(&b"a\nb=12"[..]).unwrap();
        assert_eq!(lines, vec![(1, b"a".to_vec())]);
        let (code, found) = issues.iter().next().unwrap();
        assert_eq!((code, found.first_record), ("truncated-file", 2));
        assert!(found.detail.ends_with("b=12"));
        assert!(!collect(&b"a\n  "[..]).unwrap().1.is_empty());
    }

    #[test]
    fn damage_ends_and_failure_raises() {
        let damage = io::Error::new(io::ErrorKind::UnexpectedEof, "cut");
        let (lines, issues) = collect(Trickle(b"a\nb", Some(damage))).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(issues.iter().next().unwrap().0, "truncated-file");
        let failure = io::Error::from_raw_os_error(5);
        assert!(collect(Trickle(b"a\nb", Some(failure))).is_err());
    }
}
