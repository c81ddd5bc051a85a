//! JSON of one line, walked without building anything: where its values are, as bytes.
//!
//! Strings come as they are written; none that is asked for here has an escape in it.

use memchr::memchr2;

/// Arrays and objects within each other; deeper, a line is none of a log.
const MAX_DEPTH: u32 = 64;

/// Key and value of each member of an object, in their order; None if the text is no object.
pub(crate) fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut walk = Walk { text, at: 0 };
    let mut found = Vec::new();
    walk.each(b'{', b'}', |walk| {
        let key = walk.string()?;
        walk.blanks();
        walk.take(b':')?;
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

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
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

    fn end(&mut self) -> Option<()> {
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
                walk.string()?;
                walk.blanks();
                walk.take(b':')?;
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
    if matches!(text, b"null" | b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity") {
        return true;
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.first().is_some_and(u8::is_ascii_digit)
        && std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
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
