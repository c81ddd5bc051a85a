//! Result files of OMNeT++: vectors (`.vec`), scalars and statistics (`.sca`), the index of vectors (`.vci`).
//!
//! Reference: OMNeT++ Simulation Manual, "Result File Formats", versions 2 and 3.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use super::fault::{Fault, Resolution, take_lines};
use super::number::{fit, seconds};
use super::words::{Words, excerpt};
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// Attributes of the run beyond this many are left out.
const MAX_ATTRIBUTES: usize = 200;

/// Values of vectors, in the order of the file.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Vectors {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    /// Index in `OmnetLog::vectors`.
    pub vector: Vec<i32>,
    pub value: Vec<f64>,
}

/// Numbers without a time.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Scalars {
    pub record: Vec<i64>,
    pub module: Vec<String>,
    pub name: Vec<String>,
    pub value: Vec<f64>,
}

/// What an index says of all blocks of a vector.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Blocks {
    /// Line of the first.
    pub record: u64,
    pub count: u64,
    pub min: f64,
    pub max: f64,
    pub sum: f64,
}

/// What a result file says.
#[derive(Debug, Default)]
pub struct OmnetLog {
    /// Module and name of each vector.
    pub vectors: Vec<(String, String)>,
    /// By vector; empty but in an index.
    pub blocks: Vec<Blocks>,
    /// Values of vectors.
    pub values: Vectors,
    /// Scalars, and fields of statistics.
    pub scalars: Scalars,
    /// Whether the file is an index.
    pub is_index: bool,
    /// Name of the run.
    pub run: Option<String>,
    /// Attributes and iteration variables of the run.
    pub attributes: BTreeMap<String, String>,
    /// Cells of histograms, which are not kept.
    pub bins: u64,
    /// Values that are no numbers (`nan`), which are left out.
    pub undefined: u64,
    /// First and last time.
    pub span: Option<(i64, i64)>,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<OmnetLog> for Found {
    fn from(log: OmnetLog) -> Self {
        let (values, scalars) = (log.values, log.scalars);
        let blocks: Vec<_> = log.blocks.iter().map(|b| (b.record, b.count, b.min, b.max, b.sum)).collect();
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table("vectors", columns!(values; t_ns, record, vector, value))
            .table("scalars", columns!(scalars; record, value))
            .fact("vectors", log.vectors)
            .fact("scalars", (scalars.module, scalars.name))
            .fact("blocks", blocks)
            .fact("is_index", log.is_index)
            .fact("run", log.run)
            .fact("attributes", log.attributes)
            .fact("bins", log.bins)
            .fact("undefined", log.undefined)
            .fact("span", log.span)
    }
}

/// Whether a vector's lines have event numbers, and the time of the last one.
struct Declared {
    index: usize,
    events: bool,
    last_ns: i64,
}

#[derive(Default)]
struct State {
    log: OmnetLog,
    by_id: HashMap<u32, Declared>,
    resolution: Resolution,
    /// Module and name of the statistic whose fields follow.
    statistic: Option<(String, String)>,
}

/// Read a result file.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<OmnetLog> {
    let mut state = State::default();
    let (lines, issues) = take_lines(reader, |number, text, issues| state.line(number, text, issues))?;
    let State { mut log, resolution, .. } = state;
    log.lines = lines;
    log.resolution_ns = resolution.ns();
    log.issues = issues;
    Ok(log)
}

impl State {
    fn line(&mut self, number: u64, text: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        if text.first().is_some_and(u8::is_ascii_digit) {
            return if self.log.is_index {
                self.block(number, text)
            } else {
                self.value(number, text, issues)
            };
        }
        let (word, rest) = match token(text) {
            None => return Ok(()),
            Some(found) => found,
        };
        match &word[..] {
            b"vector" => self.vector(rest),
            b"scalar" => {
                self.statistic = None;
                let (module, rest) = token(rest).ok_or(Fault::NotOurs)?;
                let (name, rest) = token(rest).ok_or(Fault::NotOurs)?;
                self.scalar(number, &module, &name, rest)
            }
            b"statistic" => {
                let (module, rest) = token(rest).ok_or(Fault::NotOurs)?;
                let (name, _) = token(rest).ok_or(Fault::NotOurs)?;
                self.statistic = Some((words(&module), words(&name)));
                Ok(())
            }
            b"field" => {
                let (field, rest) = token(rest).ok_or(Fault::NotOurs)?;
                let (module, name) = self.statistic.clone().ok_or(Fault::NotOurs)?;
                self.scalar(number, module.as_bytes(), format!("{name}:{}", words(&field)).as_bytes(), rest)
            }
            b"bin" => {
                self.log.bins += 1;
                Ok(())
            }
            b"file" if number == 1 => {
                self.log.is_index = true;
                Ok(())
            }
            b"run" => {
                self.log.run = token(rest).map(|(name, _)| words(&name));
                Ok(())
            }
            b"attr" | b"itervar" => {
                self.attribute(rest);
                Ok(())
            }
            b"version" | b"param" | b"config" | b"par" => Ok(()),
            _ if text.starts_with(b"#") => Ok(()),
            _ => Err(Fault::NotOurs),
        }
    }

    fn attribute(&mut self, rest: &[u8]) {
        let log = &mut self.log;
        // Behind the first result, attributes are of results.
        if !log.vectors.is_empty() || !log.scalars.value.is_empty() || self.statistic.is_some() {
            return;
        }
        if let Some((name, rest)) = token(rest)
            && log.attributes.len() < MAX_ATTRIBUTES
        {
            let value = token(rest).map(|(value, _)| excerpt(&value)).unwrap_or_default();
            log.attributes.insert(excerpt(&name), value);
        }
    }

    /// `vector 17 module name ETV`.
    fn vector(&mut self, rest: &[u8]) -> Result<(), Fault> {
        let (id, rest) = token(rest).ok_or(Fault::NotOurs)?;
        let id: u32 = fit(&id).ok_or(Fault::BadNumber)?;
        let (module, rest) = token(rest).ok_or(Fault::NotOurs)?;
        let (name, rest) = token(rest).ok_or(Fault::NotOurs)?;
        let columns = token(rest).map_or_else(|| b"TV".to_vec(), |(columns, _)| columns);
        let events = match &columns[..] {
            b"ETV" => true,
            b"TV" => false,
            _ => return Err(Fault::NotOurs),
        };
        let index = self.log.vectors.len();
        if i32::try_from(index).is_err() {
            return Err(Fault::BadNumber);
        }
        self.log.vectors.push((words(&module), words(&name)));
        if self.log.is_index {
            self.log.blocks.push(Blocks { min: f64::INFINITY, max: f64::NEG_INFINITY, ..Blocks::default() });
        }
        self.by_id.insert(id, Declared { index, events, last_ns: i64::MIN });
        Ok(())
    }

    fn saw(&mut self, word: &[u8]) -> Result<i64, Fault> {
        let (t_ns, decimals) = seconds(word).ok_or(Fault::BadNumber)?;
        self.resolution.saw(decimals);
        let (first, last) = self.log.span.unwrap_or((t_ns, t_ns));
        self.log.span = Some((first.min(t_ns), last.max(t_ns)));
        Ok(t_ns)
    }

    /// `17 event time value`, or without the event.
    fn value(&mut self, number: u64, text: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        let mut columns = Words(text);
        let id = columns.next().and_then(fit).ok_or(Fault::BadNumber)?;
        let events = self.by_id.get(&id).ok_or(Fault::NotOurs)?.events;
        if events {
            let _: u64 = columns.next().and_then(fit).ok_or(Fault::BadNumber)?;
        }
        let (Some(time), Some(value), None) = (columns.next(), columns.next(), columns.next()) else {
            return Err(Fault::NotOurs);
        };
        let value = float(value)?;
        let t_ns = self.saw(time)?;
        let Some(declared) = self.by_id.get_mut(&id) else { return Err(Fault::NotOurs) };
        if t_ns < declared.last_ns {
            let back = declared.last_ns - t_ns;
            issues.add("out-of-order-lines", number, || {
                format!("{back} ns older than the line before of its vector")
            });
        }
        declared.last_ns = t_ns;
        if value.is_nan() {
            self.log.undefined += 1;
            return Ok(());
        }
        let values = &mut self.log.values;
        values.t_ns.push(t_ns);
        values.record.push(number as i64);
        values.vector.push(declared.index as i32);
        values.value.push(value);
        Ok(())
    }

    /// `17 offset length [events] first last count min max sum squares`: a block of an index.
    fn block(&mut self, number: u64, text: &[u8]) -> Result<(), Fault> {
        let mut columns = Words(text);
        let id: u32 = columns.next().and_then(fit).ok_or(Fault::BadNumber)?;
        let (index, events) = self.by_id.get(&id).map(|d| (d.index, d.events)).ok_or(Fault::NotOurs)?;
        for _ in 0..if events { 4 } else { 2 } {
            let _: u64 = columns.next().and_then(fit).ok_or(Fault::BadNumber)?;
        }
        let (first, last) = (columns.next().ok_or(Fault::NotOurs)?, columns.next().ok_or(Fault::NotOurs)?);
        let count: u64 = columns.next().and_then(fit).ok_or(Fault::BadNumber)?;
        let mut number_of = || columns.next().ok_or(Fault::NotOurs).and_then(float);
        let (min, max, sum) = (number_of()?, number_of()?, number_of()?);
        let _ = (self.saw(first)?, self.saw(last)?);
        let blocks = &mut self.log.blocks[index];
        if blocks.count == 0 {
            blocks.record = number;
        }
        blocks.count = blocks.count.saturating_add(count);
        blocks.min = blocks.min.min(min);
        blocks.max = blocks.max.max(max);
        blocks.sum += sum;
        Ok(())
    }

    fn scalar(&mut self, number: u64, module: &[u8], name: &[u8], rest: &[u8]) -> Result<(), Fault> {
        let (value, _) = token(rest).ok_or(Fault::NotOurs)?;
        let value = float(&value)?;
        if value.is_nan() {
            self.log.undefined += 1;
            return Ok(());
        }
        let scalars = &mut self.log.scalars;
        scalars.record.push(number as i64);
        scalars.module.push(words(module));
        scalars.name.push(words(name));
        scalars.value.push(value);
        Ok(())
    }
}

/// The first word, perhaps in quotes with escapes, and what follows it.
fn token(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let start = text.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let text = &text[start..];
    if text[0] != b'"' {
        let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
        return Some((text[..end].to_vec(), &text[end..]));
    }
    let mut found = Vec::new();
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'"' => return Some((found, &text[at + 1..])),
            b'\\' if at + 1 < text.len() => {
                at += 1;
                found.push(text[at]);
            }
            byte => found.push(byte),
        }
        at += 1;
    }
    None
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A number; infinite ones are NaN, as nothing can be drawn or summed of them.
fn float(word: &[u8]) -> Result<f64, Fault> {
    let text = std::str::from_utf8(word).map_err(|_| Fault::BadNumber)?;
    let value: f64 = text.parse().map_err(|_| Fault::BadNumber)?;
    Ok(if value.is_finite() { value } else { f64::NAN })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "version 2\nrun General-0\nattr network \"My net\"\nparam **.x 1s\n\n";

    fn one(text: &str) -> OmnetLog {
        scan(format!("{HEAD}{text}").as_bytes()).unwrap()
    }

    fn codes(log: &OmnetLog) -> Vec<&'static str> {
        log.issues.iter().map(|(code, _)| code).collect()
    }

    #[test]
    fn vectors() {
        let log = one("vector 17  Net.host[0]  cwnd:vector  ETV\nattr title \"congestion window\"\n\
                       vector 3 \"a \\\"b\\\" c\" delay TV\n17\t8\t1.5\t4\n3\t0.000000000001\t1e-3\n17\t9\t2\tnan\n");
        assert!(log.issues.is_empty());
        assert_eq!(log.vectors[1], ("a \"b\" c".into(), "delay".into()));
        assert_eq!(log.values.t_ns, [1_500_000_000, 0]);
        assert_eq!((log.values.vector, log.values.value), (vec![0, 1], vec![4.0, 1e-3]));
        assert_eq!((log.values.record, log.undefined), (vec![9, 10], 1));
        assert_eq!((log.run.as_deref(), log.span), (Some("General-0"), Some((0, 2_000_000_000))));
        assert_eq!(log.attributes.into_iter().collect::<Vec<_>>(), [("network".into(), "My net".into())]);
    }

    #[test]
    fn scalars_and_statistics() {
        let log =
            one("scalar Net.host \t\"drops, count\" \t3\nscalar Net.host x nan\nstatistic Net.host delay\n\
                       field count 2\nfield mean 1.5\nbin\t-inf\t0\nbin\t0\t2\n");
        assert!(log.issues.is_empty());
        assert_eq!(log.scalars.name, ["drops, count", "delay:count", "delay:mean"]);
        assert_eq!((log.scalars.value, log.bins, log.undefined), (vec![3.0, 2.0, 1.5], 2, 1));
    }

    #[test]
    fn an_index_sums_its_blocks() {
        let text = format!(
            "file 174 149\n{HEAD}vector 0 Net.host len ETV\nvector 1 Net.host d TV\n\
             0\t8358 397 29 2532 12.5 73.25 15 28 60 668 31856\n0\t8755 397 29 2532 74.5 80.25 5 2 61 10 1\n\
             1\t8358 397 12.5 73.25 15 28 60 668 31856\n"
        );
        let log = scan(text.as_bytes()).unwrap();
        assert!(log.issues.is_empty());
        assert_eq!(
            log.blocks,
            [
                Blocks { record: 9, count: 20, min: 2.0, max: 61.0, sum: 678.0 },
                Blocks { record: 11, count: 15, min: 28.0, max: 60.0, sum: 668.0 }
            ]
        );
        assert_eq!(log.span, Some((12_500_000_000, 80_250_000_000)));
    }

    #[test]
    fn faults() {
        let vector = "vector 1 a b ETV\n";
        for (text, code) in [
            ("what is this\n".to_owned(), "unparsed-line"),
            ("vector x a b ETV\n".to_owned(), "bad-number"),
            ("vector 1 a b XYZ\n".to_owned(), "unparsed-line"),
            ("vector 1 \"a b ETV\n".to_owned(), "unparsed-line"),
            ("field count 1\n".to_owned(), "unparsed-line"),
            ("scalar a b\n".to_owned(), "unparsed-line"),
            ("scalar a b c\n".to_owned(), "bad-number"),
            ("1 2 3 4\n".to_owned(), "unparsed-line"),
            (format!("{vector}1 2 3\n"), "unparsed-line"),
            (format!("{vector}1 2 -3 4\n"), "bad-number"),
            (format!("{vector}1 2 3 4\n1 2 2 4\n"), "out-of-order-lines"),
            (format!("{vector}1 2 3 4"), "truncated-file"),
        ] {
            assert_eq!(codes(&one(&text)), [code], "{text}");
        }
    }
}
