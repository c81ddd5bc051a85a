//! Totals of LTE radio bearers by interval, as ns-3's LENA writes them: numbers only, in columns.
//!
//! Reference: ns-3 `src/lte/helper/radio-bearer-stats-calculator.cc`.

use std::io::{self, Read};

use super::fault::Fault;
use super::lines::Lines;
use super::settings::{Settings, Unread};
use super::words::Words;
use crate::issue::Issues;
use crate::text::found::{Found, Value, columns};

/// Columns of a line.
pub const COLUMNS: usize = 18;
/// Columns from here on are absent, or "nan", where nothing was received.
const MEASURED: usize = 10;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// What one of the file's unit is in the column's unit.
    pub unit: f64,
    /// Values from here on do not fit; None: a column of decimal numbers, kept as they are.
    pub limit: Option<f64>,
}

/// What such a file says.
#[derive(Debug, Default)]
pub struct LenaLog {
    /// Lines.
    pub record: Vec<i64>,
    /// Values by column, in the column's unit; -1 (NaN in a column of decimal numbers) where absent.
    pub columns: [Vec<f64>; COLUMNS],
    /// Lines in the file.
    pub lines: u64,
    /// Damage.
    pub issues: Issues,
}

impl From<LenaLog> for Found {
    fn from(log: LenaLog) -> Self {
        let mut totals = columns!(log; record);
        let values = log.columns.into_iter().enumerate();
        totals.extend(values.map(|(place, column)| (place.to_string().into(), column.into())));
        Found::new(log.lines, 1, log.issues).table("bearer_totals", totals)
    }
}

/// Read a file as the setting `columns` says: of each column (what one of the file's unit is in the column's, from where
/// on values do not fit or None), see [`Column`]; without it as written.
///
/// # Errors
/// Errors of the system while reading; settings that cannot be used.
pub fn configured(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    settings.only(&["columns"])?;
    let columns = settings.list("columns", |column| match column {
        Value::Tuple(pair) => match pair.as_slice() {
            [Value::Float(unit), Value::Float(limit)] => Some(Column { unit: *unit, limit: Some(*limit) }),
            [Value::Float(unit), Value::None] => Some(Column { unit: *unit, limit: None }),
            _ => None,
        },
        _ => None,
    })?;
    let as_written = || vec![Column { unit: 1.0, limit: None }; COLUMNS];
    let columns: [Column; COLUMNS] = columns
        .unwrap_or_else(as_written)
        .try_into()
        .map_err(|_| Unread::Unusable(format!("the setting \"columns\" wants {COLUMNS} columns")))?;
    Ok(scan(reader, &columns)?.into())
}

/// Read a file.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read, columns: &[Column; COLUMNS]) -> io::Result<LenaLog> {
    let mut lines = Lines::new(reader);
    let mut log = LenaLog::default();
    while let Some((number, line)) = lines.next_line(&mut log.issues)? {
        if line.trim_ascii().is_empty() || line[0] == b'%' {
            continue;
        }
        match row(line, columns) {
            Ok(values) => {
                log.record.push(number as i64);
                for (column, value) in log.columns.iter_mut().zip(values) {
                    column.push(value);
                }
            }
            Err(fault) => fault.report(number, line, &mut log.issues),
        }
    }
    log.lines = lines.count();
    Ok(log)
}

fn row(line: &[u8], columns: &[Column; COLUMNS]) -> Result<[f64; COLUMNS], Fault> {
    let count = Words(line).take(COLUMNS + 1).count();
    if !(MEASURED..=COLUMNS).contains(&count) {
        return Err(Fault::NotOurs);
    }
    let mut words = Words(line);
    let mut values = [f64::NAN; COLUMNS];
    for (place, (column, out)) in columns.iter().zip(&mut values).enumerate() {
        let value = words.next().and_then(number);
        *out = match (value, column.limit) {
            (None, _) if place < MEASURED => return Err(Fault::BadNumber),
            (None, None) => f64::NAN,
            (None, Some(_)) => -1.0,
            (Some(value), None) => value,
            (Some(value), Some(limit)) if value * column.unit < limit => {
                (value * column.unit).round_ties_even()
            }
            _ => return Err(Fault::BadNumber),
        };
    }
    // An interval does not end before it begins.
    if values[1] < values[0] { Err(Fault::BadNumber) } else { Ok(values) }
}

/// A number that is neither negative nor infinite.
fn number(word: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Column = Column { unit: 1e9, limit: Some(9_223_372_036_854_775_808.0) };
    const COUNT: Column = Column { unit: 1.0, limit: Some(2_147_483_648.0) };
    const SIZE: Column = Column { unit: 1.0, limit: None };

    fn columns() -> [Column; COLUMNS] {
        let mut columns = [COUNT; COLUMNS];
        (columns[0], columns[1], columns[14]) = (TIME, TIME, SIZE);
        columns
    }

    #[test]
    fn intervals() {
        let text = "% start\tend\n0\t0.25\t1\t1\t2\t3\t114\t246114\t113\t243918\t3\t0\t3\t3\t2158.57\t280\t81\t2196\t\n\
                    0.25 0.5 1 1 1 3 5 6 0 0 nan nan nan nan nan nan nan nan\n0.5 1 1 1 1 3 5 6 7 8\n";
        let log = scan(text.as_bytes(), &columns()).unwrap();
        assert!(log.issues.is_empty());
        assert_eq!(log.record, [2, 3, 4]);
        assert_eq!(log.columns[1], [250_000_000.0, 500_000_000.0, 1e9]);
        assert_eq!((log.columns[7][0], log.columns[10][0]), (246_114.0, 3.0));
        assert_eq!((log.columns[10][1], log.columns[10][2], log.columns[14][0]), (-1.0, -1.0, 2158.57));
        assert!(log.columns[14][1].is_nan());
    }

    #[test]
    fn faults() {
        for (line, code) in [
            ("0 1 1 1 1 3 5 6 7", "unparsed-line"),
            ("0 1 1 1 1 3 5 6 7 8 9 9 9 9 9 9 9 9 9", "unparsed-line"),
            ("0 1 1 1 1 3 5 6 7 x", "bad-number"),
            ("0 1 1 1 1 3 5 6 7 -8", "bad-number"),
            ("0 1e30 1 1 1 3 5 6 7 8", "bad-number"),
            ("0 1 2147483648 1 1 3 5 6 7 8", "bad-number"),
            ("2 1 1 1 1 3 5 6 7 8", "bad-number"),
            ("0 inf 1 1 1 3 5 6 7 8", "bad-number"),
        ] {
            let log = scan(format!("{line}\n").as_bytes(), &columns()).unwrap();
            let codes: Vec<_> = log.issues.iter().map(|(code, _)| code).collect();
            assert_eq!((codes.as_slice(), log.record.len()), (&[code][..], 0), "{line}");
        }
    }
}
