//! Comma-separated values of any make: columns of numbers and words, as the caller says which is which.

use std::collections::HashMap;
use std::io::{self, Read};

use super::fault::{Fault, Order, Resolution};
use super::lines::Lines;
use super::number::{integer, scaled};
use super::settings::{Settings, Unread};
use super::stamp;
use super::words::excerpt;
use crate::issue::Issues;
use crate::text::found::{Found, Value, columns};

/// Distinct words of a column; more of them mean that it holds no names.
const MAX_WORDS: usize = 1 << 16;
const MAX_COLUMNS: usize = 1024;
/// Longer ones are no names, and would be kept.
const MAX_WORD: usize = 1024;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Time as a decimal number in units of ten to the minus so many seconds, or a calendar time.
    Time(u8),
    /// A number.
    Number,
    /// A word.
    Word,
    /// Not read.
    Skip,
}

impl Kind {
    /// As callers name it: `time:<decimals of its unit>`, `number`, `word` or `skip`.
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "number" => Kind::Number,
            "word" => Kind::Word,
            "skip" => Kind::Skip,
            _ => Kind::Time(name.strip_prefix("time:")?.parse().ok()?),
        })
    }
}

/// A column that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// NaN where there is no number.
    Numbers(Vec<f64>),
    /// Places in the list of words; the empty word where there is none.
    Words(Vec<i32>, Vec<String>),
}

/// What a table of comma-separated values says.
#[derive(Debug, Default)]
pub struct CsvLog {
    /// Times.
    pub t_ns: Vec<i64>,
    /// Line numbers.
    pub record: Vec<i64>,
    /// The other columns, in their order, without those skipped.
    pub columns: Vec<Values>,
    /// Times that were calendar times without a zone: taken as UTC.
    pub zoneless: u64,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<CsvLog> for Found {
    fn from(log: CsvLog) -> Self {
        let mut table = columns!(log; t_ns, record);
        let mut words = Vec::new();
        for (place, column) in log.columns.into_iter().enumerate() {
            let values = match column {
                Values::Numbers(numbers) => numbers.into(),
                Values::Words(places, list) => {
                    words.push((place, list));
                    places.into()
                }
            };
            table.push((place.to_string().into(), values));
        }
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("csv", table)
            .fact("words", words)
            .fact("zoneless_stamps", log.zoneless)
    }
}

/// Read rows as settings say: `header` (line of the titles, 0 where there is none), `separator` (one character) and
/// `kinds` (of each column, see [`Kind`]).
///
/// # Errors
/// Errors of the system while reading; settings that cannot be used.
pub fn configured(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    settings.only(&["header", "separator", "kinds"])?;
    let header = settings.whole("header", u64::MAX)?.unwrap_or(0);
    let separator = settings.character("separator")?.unwrap_or(b',');
    let kinds = settings.list("kinds", |kind| match kind {
        Value::Text(name) => Kind::named(name),
        _ => None,
    })?;
    Ok(scan(reader, header, separator, &kinds.unwrap_or_default())?.into())
}

/// Read rows behind line `header`, separated by `separator` (a blank: by any number of blanks).
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read, header: u64, separator: u8, kinds: &[Kind]) -> io::Result<CsvLog> {
    let mut log = CsvLog::default();
    let mut columns: Vec<Column> = kinds.iter().map(|kind| Column::new(*kind)).collect();
    let mut lines = Lines::new(reader);
    let (mut issues, mut resolution, mut order) =
        (Issues::default(), Resolution::default(), Order::default());
    let mut fields: Vec<&[u8]> = Vec::new();
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        let content = line.trim_ascii();
        if number <= header || content.is_empty() || content[0] == b'#' {
            continue;
        }
        // the fields live as long as the line: the allocation is taken along
        let mut parts: Vec<&[u8]> = std::mem::take(&mut fields);
        split(content, separator, &mut parts);
        let outcome = row(&mut log, &mut columns, number, &parts);
        match outcome {
            Ok((t_ns, decimals)) => {
                resolution.saw(decimals);
                order.check(t_ns, number, &mut issues);
            }
            Err(fault) => fault.report(number, line, &mut issues),
        }
        fields = recycle(parts);
    }
    log.columns = columns.into_iter().filter_map(Column::values).collect();
    log.lines = lines.count();
    log.resolution_ns = resolution.ns();
    log.issues = issues;
    Ok(log)
}

/// An empty vector that keeps the allocation of another one.
fn recycle<'a>(mut parts: Vec<&[u8]>) -> Vec<&'a [u8]> {
    parts.clear();
    parts.into_iter().map(|_| &b""[..]).collect()
}

fn split<'a>(line: &'a [u8], separator: u8, parts: &mut Vec<&'a [u8]>) {
    let mut rest = line;
    while parts.len() < MAX_COLUMNS {
        if separator == b' ' {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return;
            }
        }
        let (field, after) = next_field(rest, separator);
        parts.push(field);
        match after {
            Some(after) => rest = after,
            None => return,
        }
    }
}

/// The first field, out of its quotes, and what follows its separator.
fn next_field(line: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let trimmed = line.trim_ascii_start();
    if trimmed.first() == Some(&b'"')
        && let Some(close) = memchr::memchr(b'"', &trimmed[1..])
    {
        let after = &trimmed[close + 2..];
        let end = memchr::memchr(separator, after);
        return (&trimmed[1..=close], end.map(|at| &after[at + 1..]));
    }
    match memchr::memchr(separator, line) {
        Some(at) => (line[..at].trim_ascii(), Some(&line[at + 1..])),
        None => (line.trim_ascii(), None),
    }
}

struct Column {
    kind: Kind,
    numbers: Vec<f64>,
    places: Vec<i32>,
    words: Vec<String>,
    index: HashMap<Vec<u8>, i32>,
    last: Option<(Vec<u8>, i32)>,
}

/// What a field says.
enum Field {
    Number(f64),
    Place(i32),
    Nothing,
}

impl Column {
    fn new(kind: Kind) -> Self {
        Column { kind, numbers: vec![], places: vec![], words: vec![], index: HashMap::new(), last: None }
    }

    fn read(&mut self, field: &[u8]) -> Result<Field, Fault> {
        match self.kind {
            Kind::Number => Ok(Field::Number(number(field).ok_or(Fault::BadNumber)?)),
            Kind::Word => Ok(Field::Place(self.place(field)?)),
            Kind::Time(_) | Kind::Skip => Ok(Field::Nothing),
        }
    }

    fn place(&mut self, field: &[u8]) -> Result<i32, Fault> {
        if let Some((word, place)) = &self.last
            && word == field
        {
            return Ok(*place);
        }
        let place = match self.index.get(field) {
            Some(place) => *place,
            None if self.words.len() == MAX_WORDS || field.len() > MAX_WORD => return Err(Fault::NotOurs),
            None => {
                let place = self.words.len() as i32;
                self.words.push(excerpt(field));
                self.index.insert(field.to_vec(), place);
                place
            }
        };
        self.last = Some((field.to_vec(), place));
        Ok(place)
    }

    fn push(&mut self, field: &Field) {
        match field {
            Field::Number(number) => self.numbers.push(*number),
            Field::Place(place) => self.places.push(*place),
            Field::Nothing => {}
        }
    }

    fn values(self) -> Option<Values> {
        match self.kind {
            Kind::Number => Some(Values::Numbers(self.numbers)),
            Kind::Word => Some(Values::Words(self.places, self.words)),
            Kind::Time(_) | Kind::Skip => None,
        }
    }
}

fn row(log: &mut CsvLog, columns: &mut [Column], number: u64, parts: &[&[u8]]) -> Result<(i64, u8), Fault> {
    // Columns that only some rows have may be missing at the end.
    let field = |at: usize| parts.get(at).copied().unwrap_or_default();
    let (place, digits) = columns
        .iter()
        .enumerate()
        .find_map(|(at, column)| if let Kind::Time(digits) = column.kind { Some((at, digits)) } else { None })
        .ok_or(Fault::NotOurs)?;
    let (t_ns, decimals, zoneless) = time(field(place), digits)?;
    let fields: Vec<Field> = columns
        .iter_mut()
        .enumerate()
        .map(|(at, column)| column.read(field(at)))
        .collect::<Result<_, _>>()?;
    for (column, field) in columns.iter_mut().zip(&fields) {
        column.push(field);
    }
    log.t_ns.push(t_ns);
    log.record.push(number as i64);
    log.zoneless += u64::from(zoneless);
    Ok((t_ns, decimals))
}

/// Time, decimals of a second that were written, and whether it is a calendar time without a zone.
fn time(field: &[u8], digits: u8) -> Result<(i64, u8, bool), Fault> {
    let places = 9 - digits.min(9);
    let (negative, text) = match field.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, field),
    };
    if let Some((value, written)) = scaled(text, places) {
        return Ok((if negative { -value } else { value }, written.saturating_add(digits), false));
    }
    if let Some((found, rest)) = stamp::leading(field)
        && rest.trim_ascii().is_empty()
    {
        return Ok((found.t_ns, found.decimals, found.zoneless));
    }
    // 1.795e9
    let value = number(field).filter(|value| !value.is_nan()).ok_or(Fault::NotOurs)?;
    let t_ns = value * 10f64.powi(i32::from(places));
    if t_ns.abs() < 9.2e18 { Ok((t_ns as i64, 9, false)) } else { Err(Fault::BadNumber) }
}

/// A finite number; NaN for nothing, `-`, `NaN`, `NA` and `null`.
fn number(field: &[u8]) -> Option<f64> {
    if field.is_empty() || field == b"-" {
        return Some(f64::NAN);
    }
    if field.starts_with(b"0x") {
        return integer(field).map(|value| value as f64);
    }
    let text = std::str::from_utf8(field).ok()?;
    if ["nan", "na", "null", "none"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(f64::NAN);
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: [Kind; 3] = [Kind::Time(0), Kind::Word, Kind::Number];

    fn read(text: &str, separator: u8, kinds: &[Kind]) -> CsvLog {
        scan(text.as_bytes(), 1, separator, kinds).unwrap()
    }

    #[test]
    fn times_names_values() {
        let text =
            "time,name,value\n1.5,cwnd,10\n# remark\n\n1.6,rate,2.5e3\n 1.7 , \"cwnd\" , \n-0.25,cwnd,0x10\n";
        let log = read(text, b',', &LONG);
        assert_eq!(log.t_ns, [1_500_000_000, 1_600_000_000, 1_700_000_000, -250_000_000]);
        assert_eq!(log.record, [2, 5, 6, 7]);
        let words = vec!["cwnd".to_owned(), "rate".to_owned()];
        assert_eq!(log.columns[0], Values::Words(vec![0, 1, 0, 0], words));
        let Values::Numbers(numbers) = &log.columns[1] else { panic!("not numbers") };
        assert_eq!((numbers[0], numbers[1], numbers[3]), (10.0, 2500.0, 16.0));
        assert!(numbers[2].is_nan());
        assert_eq!(log.issues.iter().next().unwrap().0, "out-of-order-lines");
        assert_eq!(log.resolution_ns, 10_000_000);
    }

    #[test]
    fn words_are_bounded() {
        let long = "x".repeat(MAX_WORD + 1);
        let log = read(&format!("t,n,v\n1,{long},2\n2,{},3\n", &long[1..]), b',', &LONG);
        assert_eq!((log.record.as_slice(), log.issues.iter().next().unwrap().0), (&[3][..], "unparsed-line"));
        let many: String = (0..=MAX_WORDS).map(|at| format!("{at},{at},0\n")).collect();
        let log = read(&format!("t,n,v\n{many}"), b',', &LONG);
        assert_eq!((log.t_ns.len(), log.issues.iter().next().unwrap().1.count), (MAX_WORDS, 1));
    }

    #[test]
    fn units_and_calendars() {
        let of = |digits, text: &str| time(text.as_bytes(), digits).map(|(t_ns, _, _)| t_ns);
        assert_eq!(of(3, "1500.25"), Ok(1_500_250_000));
        assert_eq!(of(9, "1795249751740964000"), Ok(1_795_249_751_740_964_000));
        assert_eq!(of(0, "2026-11-21T08:00:22,860736727+00:00"), of(0, "1795248022.860736727"));
        assert_eq!(of(0, "1e3"), Ok(1_000_000_000_000));
        assert_eq!(of(0, "1e30"), Err(Fault::BadNumber));
        assert_eq!(of(0, "soon"), Err(Fault::NotOurs));
    }

    #[test]
    fn separators_quotes_and_faults() {
        let spaces = read("t n v\n  1   a    2\n3 b 4 \n", b' ', &LONG);
        assert_eq!(spaces.t_ns.len(), 2);
        let quoted = read("t,n,v\n1,\"a,b\",2\n", b',', &LONG);
        assert_eq!(quoted.columns[0], Values::Words(vec![0], vec!["a,b".to_owned()]));
        let faulty = read("t,n,v\n1,a,inf\nnoise\n2,a,3\n", b',', &LONG);
        let codes: Vec<_> = faulty.issues.iter().map(|(code, _)| code).collect();
        assert_eq!(codes, ["bad-number", "unparsed-line"]);
        assert_eq!(faulty.t_ns, [2_000_000_000]);
        let Values::Words(places, _) = &faulty.columns[0] else { panic!("not words") };
        assert_eq!(places.len(), 1);
    }
}
