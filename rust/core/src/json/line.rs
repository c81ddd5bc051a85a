//! JSON on one line.

use memchr::memchr;

/// Indented JSON without its line breaks and what indents: strings in JSON hold no line break.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() / 3 * 2);
    let mut rest = text;
    while let Some(end) = memchr(b'\n', rest.as_bytes()) {
        out.push_str(&rest[..end]);
        rest = rest[end + 1..].trim_start_matches(' ');
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn only_what_lays_it_out_goes() {
        assert_eq!(
            one_line("{\n  \"a b\": [\n    1,\n    \"  \\n  x\"\n  ]\n}"),
            r#"{"a b": [1,"  \n  x"]}"#
        );
        assert_eq!(one_line(",\n    "), ",");
        assert_eq!(one_line(""), "");
    }
}
