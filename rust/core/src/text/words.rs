//! Words of a line.

/// The words of a line between blanks, as a cursor; what it holds has not been read.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut line = self.0;
        while let Some(first) = line.first()
            && is_blank(*first)
        {
            line = &line[1..];
        }
        let (word, rest) = line.split_at(blank_at(line));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Where the first blank is, or the end: eight bytes at a time, as words are too short for a search that has to be
/// set up.
#[inline]
pub(crate) fn blank_at(line: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut at = 0;
    while let Some(eight) = line[at..].first_chunk::<8>() {
        let eight = u64::from_le_bytes(*eight);
        // The lowest marked byte is below 33 for certain: a borrow only runs upwards.
        let low = eight.wrapping_sub(33 * ONES) & !eight & (128 * ONES);
        if low == 0 {
            at += 8;
            continue;
        }
        at += low.trailing_zeros() as usize / 8;
        if is_blank(line[at]) {
            return at;
        }
        at += 1;
    }
    line[at..].iter().position(|byte| is_blank(*byte)).map_or(line.len(), |more| at + more)
}

#[inline]
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
    fn blanks_are_found_wherever_they_are() {
        for length in 0..40 {
            for filler in [b'x', 0x00, 0x1f, 0x21, 0x7f, 0x80, 0xa0, 0xff] {
                let mut line = vec![filler; length];
                assert_eq!(blank_at(&line), length);
                for at in 0..length {
                    let before = std::mem::replace(&mut line[at], [b' ', b'\t'][at % 2]);
                    assert_eq!(blank_at(&line), at);
                    line[at] = before;
                }
            }
        }
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\x00\xff"), "a\\0\u{fffd}");
        assert_eq!(excerpt(&[b'x'; 101]).len(), 103);
    }
}
