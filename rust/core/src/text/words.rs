//! Words of a line.

/// The words of a line between blanks, as a cursor; what it holds has not been read.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0;
        let start = line.iter().position(|byte| !is_blank(*byte))?;
        let line = &line[start..];
        let end = line.iter().position(|byte| is_blank(*byte)).unwrap_or(line.len());
        self.0 = &line[end..];
        Some(&line[..end])
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The two sides of the first `separator`.
#[inline]
pub(crate) fn split_once(word: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = word.iter().position(|byte| *byte == separator)?;
    Some((&word[..at], &word[at + 1..]))
}

/// Some bytes of a line for a message.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const LIMIT: usize = 100;
    let text: String = String::from_utf8_lossy(&line[..line.len().min(LIMIT)]).escape_debug().collect();
    if line.len() > LIMIT { text + "..." } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_rest() {
        let mut words = Words(b"\t a  bc\td ");
        assert_eq!(words.next(), Some(&b"a"[..]));
        assert_eq!(words.0, b"  bc\td ");
        assert_eq!(words.map(<[u8]>::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(Words(b" \t").next(), None);
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\x00\xff"), "a\\0\u{fffd}");
        assert_eq!(excerpt(&[b'x'; 101]).len(), 103);
    }
}
