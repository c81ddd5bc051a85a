//! JSON of iperf3: intervals of TCP streams, as a document or as a stream of events, a line each.
//!
//! Reference: iperf3 `src/iperf_api.c`.

mod test;

use std::io::{self, Read};

use super::fault::{Fault, take_lines_of};
use super::json::Walk;
use super::settings::{Settings, Unread, whole_document};
use crate::issue::Issues;
use crate::text::found::{Found, Value, columns};
use test::Test;
pub use test::{COLUMNS, Ends};

/// A line of a stream may hold as many streams as there are.
const LONGEST_EVENT: usize = 16 << 20;
/// Streams of a test, or of an interval, beyond this many are not read.
const MAX_STREAMS: usize = 4096;

/// What iperf3 says.
#[derive(Debug, Default)]
pub struct Iperf3Log {
    /// Times at the ends of intervals.
    pub t_ns: Vec<i64>,
    /// Number of the part, or line.
    pub record: Vec<i64>,
    /// Index in `sockets`.
    pub flow: Vec<i32>,
    /// Values by column, -1 where absent.
    pub columns: [Vec<i64>; COLUMNS.len()],
    /// Distinct sockets.
    pub sockets: Vec<Ends>,
    /// When the first interval of each socket began; the largest number if it has none.
    pub starts: Vec<i64>,
    /// Intervals that are the whole test once more: not taken.
    pub whole_tests: u64,
    /// When the first interval began.
    pub start_ns: i64,
    /// The last test's start is in whole seconds of the wall clock.
    pub has_base: bool,
    /// Intervals, whatever they hold.
    pub intervals: u64,
    /// Text of the last test's start and end, and of the last error.
    pub start: Vec<u8>,
    /// See `start`.
    pub end: Vec<u8>,
    /// See `start`.
    pub error: Vec<u8>,
    /// Damage.
    pub issues: Issues,
}

impl From<Iperf3Log> for Found {
    fn from(log: Iperf3Log) -> Self {
        let mut states = columns!(log; t_ns, record, flow);
        states.extend(COLUMNS.iter().zip(log.columns).map(|(name, column)| ((*name).into(), column.into())));
        Found::bare(log.issues)
            .table("tcp_states", states)
            .fact("flows", log.sockets)
            .fact("starts", log.starts)
            .fact("whole_tests", log.whole_tests)
            .fact("start_ns", log.start_ns)
            .fact("has_base", log.has_base)
            .fact("intervals", log.intervals)
            .fact("start", Value::Bytes(log.start))
            .fact("end", Value::Bytes(log.end))
            .fact("error", Value::Bytes(log.error))
    }
}

/// Read a stream of events.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<Iperf3Log> {
    let mut test = Test::default();
    let (_, mut issues) = take_lines_of(reader, LONGEST_EVENT, |number, line, issues| {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        event(&mut test, number, line, issues).unwrap_or(Err(Fault::NotOurs))
    })?;
    Ok(test.finish(&mut issues))
}

/// One line; None if it is no JSON.
fn event(test: &mut Test, number: u64, line: &[u8], issues: &mut Issues) -> Option<Result<(), Fault>> {
    let mut walk = Walk::new(line);
    let (mut name, mut data, mut is_read) = (&b""[..], &b"null"[..], false);
    test.forget();
    walk.object(|walk, key| {
        match key {
            b"event" => name = walk.any()?,
            b"data" if name == b"\"interval\"" => {
                test.streams_of(walk)?;
                is_read = true;
            }
            b"data" => {
                data = walk.any()?;
                is_read = false;
            }
            _ => {
                walk.any()?;
            }
        }
        Some(())
    })?;
    walk.end()?;
    Some(match name {
        b"\"interval\"" => {
            if !is_read {
                test.streams_of(&mut Walk::new(data))?;
            }
            test.interval(number, issues);
            Ok(())
        }
        b"\"start\"" => {
            test.start(data);
            Ok(())
        }
        b"\"end\"" => {
            test.end(data);
            Ok(())
        }
        b"\"error\"" => {
            test.error(data);
            Ok(())
        }
        b"\"server_output_text\"" | b"\"server_output_json\"" => Ok(()),
        _ => Err(Fault::NotOurs),
    })
}

/// Read documents of at most `most_bytes` in all, see [`read`].
///
/// # Errors
/// Errors of the system while reading; more bytes than are held.
pub fn documents(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    Ok(read(&whole_document(reader, settings)?).into())
}

/// Read documents, one after the other; of one that is cut, what is before the cut.
pub fn read(text: &[u8]) -> Iperf3Log {
    let (mut test, mut issues) = (Test::default(), Issues::default());
    let (mut at, mut number) = (0, 0);
    while let Some(more) = memchr::memchr(b'{', &text[at..]) {
        let from = at + more;
        match document(&mut test, &text[from..], &mut number, &mut issues) {
            Some(length) => at = from + length,
            None => {
                let line = 1 + memchr::memchr_iter(b'\n', &text[..from]).count() as u64;
                issues.add("truncated-file", line, || {
                    "the JSON ends early or is damaged; what is before was read".into()
                });
                break;
            }
        }
    }
    test.finish(&mut issues)
}

/// Read one document, whatever the order of its parts; its length, or None if it is cut.
fn document(test: &mut Test, text: &[u8], number: &mut u64, issues: &mut Issues) -> Option<usize> {
    let mut walk = Walk::new(text);
    let (mut start, mut intervals, mut end, mut error) = (None, None, None, None);
    let whole = walk.object(|walk, key| {
        let from = walk.at();
        let value = walk.any();
        match key {
            b"start" => start = value,
            // As far as they go.
            b"intervals" => intervals = value.or(Some(&text[from..])),
            b"end" => end = value,
            b"error" => error = value,
            _ => {}
        }
        value.map(|_| ())
    });
    if let Some(start) = start {
        *number += 1;
        test.start(start);
    }
    if let Some(intervals) = intervals {
        Walk::new(intervals).array(|walk| {
            test.forget();
            test.streams_of(walk)?;
            *number += 1;
            test.interval(*number, issues);
            Some(())
        });
    }
    if let Some(end) = end {
        *number += 1;
        test.end(end);
    }
    if let Some(error) = error {
        *number += 1;
        test.error(error);
    }
    whole.map(|()| walk.at())
}

#[cfg(test)]
mod tests;
