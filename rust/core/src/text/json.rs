//! JSON, walked without building anything: where its values are, as bytes.
//!
//! Strings come as they are written; none that is asked for here has an escape in it.

use memchr::memchr2;

use super::number::decimal;

/// Arrays and objects within each other; deeper, a line is none of a log.
const MAX_DEPTH: u32 = 64;

/// Key and value of each member of an object, in their order; None if the text is no object.
pub(crate) fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut walk = Walk { text, at: 0 };
    let mut found = Vec::new();
    walk.each(b'{', b'}', |walk| {
        let key = walk.key()?;
        found.push((key, walk.value(1)?));
        Some(())
    })?;
    walk.end()?;
    Some(found)
}

/// The items of an array; None if the text is no array.
pub(crate) fn items(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut walk = Walk { text, at: 0 };
    let mut found = Vec::new();
    walk.each(b'[', b']', |walk| {
        found.push(walk.value(1)?);
        Some(())
    })?;
    walk.end()?;
    Some(found)
}

/// What stands between the quotes, if the value is a string.
pub(crate) fn string(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Numbers beyond this are damage.
const LARGEST: u64 = 1 << 62;

/// A number of sane size; None for anything else.
pub(crate) fn real(value: &[u8]) -> Option<f64> {
    if let Some(whole) = decimal(value) {
        return (whole <= LARGEST).then_some(whole as f64);
    }
    if !matches!(value.first()?, b'0'..=b'9' | b'-') {
        return None;
    }
    let found: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (found.abs() <= LARGEST as f64).then_some(found)
}

/// A number times `scale`, rounded, as columns hold it: -1 if it is negative, too large or none.
pub(crate) fn whole(value: &[u8], scale: u32) -> i64 {
    let found = match decimal(value) {
        Some(whole) => whole.checked_mul(u64::from(scale)),
        None => real(value)
            .map(|found| (found * f64::from(scale)).round_ties_even())
            .filter(|found| (0.0..=LARGEST as f64).contains(found))
            .map(|found| found as u64),
    };
    found.filter(|found| *found <= LARGEST).map_or(-1, |found| found as i64)
}

/// Goes through a text once; each function reads what it is asked for, and gives None where that is not there.
pub(crate) struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Walk { text, at: 0 }
    }

    /// How many bytes have been read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Read an object; `member` gets each key and reads its value. Anything else than an object is passed over.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.blanks();
        if self.next()? != b'{' {
            return self.value(1).map(|_| ());
        }
        self.each(b'{', b'}', |walk| {
            let key = walk.key()?;
            member(walk, key)
        })
    }

    /// Read an array, whose items `item` reads. Anything else than an array is passed over.
    pub fn array(&mut self, item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.blanks();
        if self.next()? != b'[' {
            return self.value(1).map(|_| ());
        }
        self.each(b'[', b']', item)
    }

    /// The bytes of a value, whatever it is.
    pub fn any(&mut self) -> Option<&'a [u8]> {
        self.value(1)
    }

    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Nothing follows.
    pub fn end(&mut self) -> Option<()> {
        self.blanks();
        (self.at == self.text.len()).then_some(())
    }

    /// What is between brackets, divided by commas.
    fn each(&mut self, open: u8, close: u8, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.blanks();
        self.take(open)?;
        self.blanks();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            self.blanks();
            one(self)?;
            self.blanks();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    /// The bytes of a value, without blanks around it.
    fn value(&mut self, depth: u32) -> Option<&'a [u8]> {
        self.blanks();
        let from = self.at;
        match self.next()? {
            b'"' => {
                self.string()?;
            }
            _ if depth > MAX_DEPTH => return None,
            b'{' => self.each(b'{', b'}', |walk| {
                walk.key()?;
                walk.value(depth + 1).map(|_| ())
            })?,
            b'[' => self.each(b'[', b']', |walk| walk.value(depth + 1).map(|_| ()))?,
            _ => {
                while matches!(
                    self.next(),
                    Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.')
                ) {
                    self.at += 1;
                }
                if !is_plain(&self.text[from..self.at]) {
                    return None;
                }
            }
        }
        Some(&self.text[from..self.at])
    }

    /// The key of a member, with the colon after it.
    fn key(&mut self) -> Option<&'a [u8]> {
        let key = self.string()?;
        self.blanks();
        self.take(b':')?;
        Some(key)
    }

    /// What stands between the quotes of a string.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let from = self.at;
        loop {
            self.at += memchr2(b'"', b'\\', &self.text[self.at..])?;
            if self.next()? == b'"' {
                self.at += 1;
                return Some(&self.text[from..self.at - 1]);
            }
            self.at += 2;
            self.text.get(self.at)?;
        }
    }
}

/// A number, or one of the words (`NaN` and `Infinity` as Python writes them).
fn is_plain(text: &[u8]) -> bool {
    if let Some(b'1'..=b'9') = text.first()
        && text.iter().all(u8::is_ascii_digit)
    {
        return true;
    }
    if matches!(text, b"null" | b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity") {
        return true;
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let digits = match digits.split_first() {
        Some((b'0', rest)) => rest,
        Some((b'1'..=b'9', rest)) => past_digits(rest),
        _ => return false,
    };
    let digits = match digits {
        [b'.', b'0'..=b'9', rest @ ..] => past_digits(rest),
        _ => digits,
    };
    match digits {
        [] => true,
        [b'e' | b'E', b'+' | b'-', b'0'..=b'9', rest @ ..] | [b'e' | b'E', b'0'..=b'9', rest @ ..] => {
            past_digits(rest).is_empty()
        }
        _ => false,
    }
}

fn past_digits(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_their_places() {
        let text = br#" {"a" : [1, -2.5e3,null , "x\"]"], "b":{"c":[[]],"d":{}},"":"" } "#;
        let found = members(text).unwrap();
        assert_eq!(found[0], (&b"a"[..], &br#"[1, -2.5e3,null , "x\"]"]"#[..]));
        assert_eq!(found[1], (&b"b"[..], &br#"{"c":[[]],"d":{}}"#[..]));
        assert_eq!(found[2], (&b""[..], &b"\"\""[..]));
        let listed = items(found[0].1).unwrap();
        assert_eq!(listed, [&b"1"[..], b"-2.5e3", b"null", br#""x\"]""#]);
        assert_eq!(string(listed[3]), Some(&br#"x\"]"#[..]));
        assert_eq!(string(listed[0]), None);
        assert_eq!(members(b"{}").unwrap(), []);
        assert_eq!(items(b"[ ]").unwrap(), [&b""[..]; 0]);
    }

    #[test]
    fn walked_once() {
        let text = br#" {"a": {"b": [1, {"c": 2}, "x"]}, "d": [ ], "e": 5} rest"#;
        let (mut walk, mut found) = (Walk::new(text), Vec::new());
        walk.object(|walk, key| match key {
            b"a" => walk.object(|walk, _| {
                walk.array(|walk| {
                    walk.object(|walk, key| {
                        found.push((key, walk.any()?));
                        Some(())
                    })
                })
            }),
            _ => walk.array(|_| None),
        })
        .unwrap();
        assert_eq!(found, [(&b"c"[..], &b"2"[..])]);
        assert_eq!(&text[walk.at()..], b" rest");
        assert_eq!(walk.end(), None);
        assert_eq!(
            Walk::new(b"{\"a\": [1, ").object(|walk, _| walk.array(|walk| walk.any().map(|_| ()))),
            None
        );
    }

    #[test]
    fn numbers() {
        for (text, value, as_whole) in [
            ("0", Some(0.0), 0),
            ("12", Some(12.0), 12_000),
            ("1.0015", Some(1.0015), 1002),
            ("-0.5", Some(-0.5), -1),
            ("2.5e3", Some(2500.0), 2_500_000),
            ("4611686018427387904", Some(4_611_686_018_427_387_904.0), -1),
            ("4611686018427387905", None, -1),
            ("1e99", None, -1),
            ("NaN", None, -1),
            ("true", None, -1),
            ("\"1\"", None, -1),
        ] {
            assert_eq!((real(text.as_bytes()), whole(text.as_bytes(), 1000)), (value, as_whole), "{text}");
        }
        for text in ["0", "-0.5", "120", "-1", "1.5", "1e5", "1E+5", "-1.25e-7", "null", "NaN"] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
        for text in
            ["", "-", "1.", ".5", "1e", "1e+", "1.e5", "1x", "--1", "+1", "nan", "1.5.5", "01", "-00.5"]
        {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_none() {
        let deep = ["{\"a\":", &"[".repeat(100), &"]".repeat(100), "}"].concat();
        for text in [
            "",
            "1",
            "[1]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 2}",
            "{\"a\":1}x",
            "{a:1}",
            "{\"a\":\"x}",
            "{\"a\":\"x\\",
            "{\"a\":\"x\\\"",
            "{\"a\":tru}",
            "{\"a\":1e}",
            "{\"a\":--1}",
            "{\"a\":[1,]}",
            deep.as_str(),
        ] {
            assert_eq!(members(text.as_bytes()), None, "{text}");
        }
        assert_eq!(items(b"[1,,2]"), None);
        assert_eq!(items(b"{}"), None);
    }
}
