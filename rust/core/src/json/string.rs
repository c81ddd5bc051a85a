//! Strings in JSON.

/// `text` in quotes. Everything but printable ASCII is escaped, in UTF-16.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut units = [0u16; 2];
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => {
                for unit in other.encode_utf16(&mut units) {
                    out.push_str("\\u");
                    for shift in [12, 8, 4, 0] {
                        let digit = char::from_digit(u32::from(*unit >> shift) & 0xf, 16);
                        out.push(digit.unwrap_or('0'));
                    }
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::push_string;

    #[test]
    fn is_ascii_whatever_it_says() {
        let mut out = String::new();
        push_string(&mut out, "a\"b\\c\n\u{1}\u{7f}\u{e9}\u{1f600}");
        assert_eq!(out, r#""a\"b\\c\n\u0001\u007f\u00e9\ud83d\ude00""#);
    }
}
