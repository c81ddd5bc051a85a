//! Settings of scanners: what the log itself does not say, by name.
//!
//! [`CONFIGURED`] has a row for each scanner that takes some. One that takes none needs its row in
//! [`super::SCANNERS`] only.

use std::fmt;
use std::io::{self, Read};

use super::found::{Found, Value};
use super::{csv, iperf3, lena, ndt7, ns2, scanner, tcpprobe};

/// Why a log was not read.
#[derive(Debug)]
pub enum Unread {
    /// The system could not read it.
    Io(io::Error),
    /// A setting, or the whole of the content, cannot be used.
    Unusable(String),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::Io(error)
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Io(error) => error.fmt(out),
            Unread::Unusable(why) => out.write_str(why),
        }
    }
}

/// Values by name, as the caller states them.
#[derive(Debug, Default, PartialEq)]
pub struct Settings(Vec<(String, Value)>);

impl Settings {
    /// Of these values.
    pub fn new(values: Vec<(String, Value)>) -> Self {
        Settings(values)
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuse names that the scanner does not know.
    ///
    /// # Errors
    /// [`Unread::Unusable`], with the name.
    pub fn only(&self, known: &[&str]) -> Result<(), Unread> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Unread::Unusable(format!("the scanner has no setting {name:?}"))),
            None => Ok(()),
        }
    }

    /// A whole number from 0 to `most`; None if it is not stated.
    ///
    /// # Errors
    /// [`Unread::Unusable`] for anything else.
    pub fn whole(&self, name: &str, most: u64) -> Result<Option<u64>, Unread> {
        self.read(name, |value| match value {
            Value::Int(number) => u64::try_from(*number).ok().filter(|number| *number <= most),
            Value::Count(number) => Some(*number).filter(|number| *number <= most),
            _ => None,
        })
    }

    /// One ASCII character; None if it is not stated.
    ///
    /// # Errors
    /// [`Unread::Unusable`] for anything else.
    pub fn character(&self, name: &str) -> Result<Option<u8>, Unread> {
        self.read(name, |value| match value {
            Value::Text(text) if text.is_ascii() && text.len() == 1 => Some(text.as_bytes()[0]),
            _ => None,
        })
    }

    /// A list, each entry read by `entry`; None if it is not stated.
    ///
    /// # Errors
    /// [`Unread::Unusable`] if it is no list, or `entry` refuses one.
    pub fn list<T>(&self, name: &str, entry: impl Fn(&Value) -> Option<T>) -> Result<Option<Vec<T>>, Unread> {
        self.read(name, |value| match value {
            Value::List(values) | Value::Tuple(values) => values.iter().map(&entry).collect(),
            _ => None,
        })
    }

    fn read<T>(&self, name: &str, of: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Unread> {
        match self.0.iter().find(|(known, _)| known == name) {
            None | Some((_, Value::None)) => Ok(None),
            Some((_, value)) => match of(value) {
                Some(read) => Ok(Some(read)),
                None => Err(Unread::Unusable(format!("the setting {name:?} cannot be {value:?}"))),
            },
        }
    }
}

/// One row of [`CONFIGURED`].
pub struct Configured {
    /// As in [`super::SCANNERS`].
    pub name: &'static str,
    /// Read a log as the settings say.
    pub scan: fn(&mut dyn Read, &Settings) -> Result<Found, Unread>,
}

/// Scanners that take settings.
pub static CONFIGURED: &[Configured] = &[
    Configured { name: "csv", scan: csv::configured },
    Configured { name: "iperf3_documents", scan: iperf3::documents },
    Configured { name: "lena", scan: lena::configured },
    Configured { name: "ndt7", scan: ndt7::document },
    Configured { name: "ns2", scan: ns2::configured },
    Configured { name: "tcpprobe", scan: tcpprobe::configured },
];

/// Read a log with the scanner of this name, as the settings say.
///
/// # Errors
/// [`Unread`]: of the system, or if there is no such scanner or setting.
pub fn read(name: &str, reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    if let Some(configured) = CONFIGURED.iter().find(|configured| configured.name == name) {
        return (configured.scan)(reader, settings);
    }
    let scanner = scanner(name).ok_or_else(|| Unread::Unusable(format!("no scanner is named {name:?}")))?;
    settings.only(&[])?;
    Ok((scanner.scan)(reader)?)
}

/// A document that is held as a whole may have so many bytes: it takes some ten times as much when it is read.
const DOCUMENT_BYTES: u64 = 128 << 20;

/// The bytes of a document that is read as a whole: at most `most_bytes`, where that is stated.
///
/// # Errors
/// [`Unread`]: of the system; if the document is empty or longer.
pub(super) fn whole_document(reader: &mut dyn Read, settings: &Settings) -> Result<Vec<u8>, Unread> {
    settings.only(&["most_bytes"])?;
    let most = settings.whole("most_bytes", u64::MAX)?.unwrap_or(DOCUMENT_BYTES);
    let mut text = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        let advice = "set MULTITRACER_MAX_JSON_BYTES to read it all the same";
        return Err(Unread::Unusable(format!("JSON of more than {most} bytes; {advice}")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::SCANNERS;

    fn of(name: &str, value: Value) -> Settings {
        Settings::new(vec![(name.to_owned(), value)])
    }

    #[test]
    fn what_has_lines_has_a_row_in_both_tables() {
        let without: Vec<_> =
            CONFIGURED.iter().map(|row| row.name).filter(|name| scanner(name).is_none()).collect();
        assert_eq!(without, ["ndt7"]);
    }

    #[test]
    fn no_settings_are_the_usual_ones() {
        for scanner in SCANNERS {
            let log: String = (0..20).map(|n| (scanner.line)(n) + "\n").collect();
            if matches!(scanner.name, "csv" | "lena") {
                // what their columns hold has to be stated
                continue;
            }
            let usual = (scanner.scan)(&mut log.as_bytes()).unwrap();
            let found = read(scanner.name, &mut log.as_bytes(), &Settings::default()).unwrap();
            assert_eq!(found, usual, "{}", scanner.name);
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        for scanner in SCANNERS {
            let why = read(scanner.name, &mut &b""[..], &of("no such", Value::Int(1))).unwrap_err();
            assert!(why.to_string().contains("no such"), "{}: {why}", scanner.name);
        }
        assert!(read("no such", &mut &b""[..], &Settings::default()).is_err());
    }

    #[test]
    fn values_of_other_types_are_refused() {
        for (name, setting) in [
            ("csv", "header"),
            ("csv", "separator"),
            ("csv", "kinds"),
            ("lena", "columns"),
            ("ns2", "header_bytes"),
            ("tcpprobe", "columns"),
            ("ndt7", "most_bytes"),
            ("iperf3_documents", "most_bytes"),
        ] {
            for value in [Value::Bool(true), Value::Int(-1), Value::Text("two".into())] {
                assert!(read(name, &mut &b"{}"[..], &of(setting, value)).is_err(), "{name} {setting}");
            }
        }
    }

    #[test]
    fn a_document_has_its_limit() {
        let limit = |most| of("most_bytes", Value::Int(most));
        assert_eq!(whole_document(&mut &b"{}"[..], &limit(2)).unwrap(), b"{}");
        let why = whole_document(&mut &b"{}"[..], &limit(1)).unwrap_err().to_string();
        assert!(why.contains("more than 1 bytes"), "{why}");
    }
}
