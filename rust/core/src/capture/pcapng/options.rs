//! Options of a block: code, length, value, padded to four bytes.

use super::super::record::ByteOrder;

/// An option that every block may have.
pub(super) const COMMENT: u16 = 1;

/// Walks options until their end or the first that is cut.
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Options<'a> {
    pub(super) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Options { bytes, order }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.bytes.split_at_checked(4)?;
        let (code, length) = (self.order.u16(header, 0), usize::from(self.order.u16(header, 2)));
        let value = rest.get(..length)?;
        self.bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        // opt_endofopt
        (code != 0).then_some((code, value))
    }
}

/// Text as the file has it: UTF-8 by the specification, perhaps with a NUL at its end.
pub(super) fn text(value: &[u8], most: usize) -> String {
    let value = value.split(|&b| b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&value[..value.len().min(most)]).into_owned()
}
