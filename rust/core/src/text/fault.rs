//! Why a line was skipped, and what every scanner keeps while it runs.

use std::io::{self, Read};

use super::lines::{Lines, MAX_LINE};
use super::number::resolution_ns;
use super::words::excerpt;
use crate::issue::Issues;

/// What a log says besides its rows.
pub(crate) struct Scanned {
    pub lines: u64,
    pub resolution_ns: i64,
    pub issues: Issues,
}

/// Hand every line to `take`, and tell of those that it gives back as faults; the number of lines, and what is wrong.
///
/// # Errors
/// Errors of the system while reading.
pub(crate) fn take_lines(
    reader: impl Read,
    take: impl FnMut(u64, &[u8], &mut Issues) -> Result<(), Fault>,
) -> io::Result<(u64, Issues)> {
    take_lines_of(reader, MAX_LINE, take)
}

/// The same with lines of up to so many bytes.
///
/// # Errors
/// Errors of the system while reading.
pub(crate) fn take_lines_of(
    reader: impl Read,
    longest: usize,
    mut take: impl FnMut(u64, &[u8], &mut Issues) -> Result<(), Fault>,
) -> io::Result<(u64, Issues)> {
    let (mut lines, mut issues) = (Lines::of_length(reader, longest), Issues::default());
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        if let Err(fault) = take(number, line, &mut issues) {
            fault.report(number, line, &mut issues);
        }
    }
    Ok((lines.count(), issues))
}

/// Hand every line that is not empty to `row`, which gives its time and the decimals it was written with, or
/// nothing for a line without one (a header).
///
/// # Errors
/// Errors of the system while reading.
pub(crate) fn each_line(
    reader: impl Read,
    mut row: impl FnMut(u64, &[u8], &mut Issues) -> Result<Option<(i64, u8)>, Fault>,
) -> io::Result<Scanned> {
    let (mut resolution, mut order) = (Resolution::default(), Order::default());
    let (lines, issues) = take_lines(reader, |number, line, issues| {
        if line.is_empty() {
            return Ok(());
        }
        if let Some((t_ns, decimals)) = row(number, line, issues)? {
            resolution.saw(decimals);
            order.check(t_ns, number, issues);
        }
        Ok(())
    })?;
    Ok(Scanned { lines, resolution_ns: resolution.ns(), issues })
}

/// Why a line was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not of the format.
    NotOurs,
    /// It is, but a number in it is malformed or out of range.
    BadNumber,
}

impl Fault {
    /// Count it, with the line for the first of its kind.
    pub fn report(self, number: u64, line: &[u8], issues: &mut Issues) {
        let code = match self {
            Fault::NotOurs => "unparsed-line",
            Fault::BadNumber => "bad-number",
        };
        issues.add(code, number, || excerpt(line));
    }
}

/// The finest step of the clock seen in a log.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resolution(u8);

impl Resolution {
    /// A time was written with so many decimals.
    #[inline]
    pub fn saw(&mut self, decimals: u8) {
        self.0 = self.0.max(decimals);
    }

    /// In nanoseconds.
    pub fn ns(self) -> i64 {
        resolution_ns(self.0)
    }
}

/// Watches the order of times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order(i64);

impl Default for Order {
    fn default() -> Self {
        Order(i64::MIN)
    }
}

impl Order {
    /// Report a time that is older than the one before it.
    #[inline]
    pub fn check(&mut self, t_ns: i64, number: u64, issues: &mut Issues) {
        if t_ns < self.0 {
            let back = self.0 - t_ns;
            issues.add("out-of-order-lines", number, || format!("{back} ns older than the line before"));
        }
        self.0 = t_ns;
    }
}
