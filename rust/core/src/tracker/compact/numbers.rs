//! Whole numbers as bytes: in eights, a bit for each zero, the others no longer than they need to be.

use crate::tracker::fields::Walk;

/// Room for the longest that is packed: no number takes more than nine bytes.
pub(super) const ROOM: usize = 1 << 18;
/// What is behind the last number, so that eight bytes can be read where fewer are meant.
pub(super) const BEHIND: usize = 7;

/// Numbers in eights: which of them are not 0, then those, each with its length in its lowest bits.
pub(super) struct Writer<'a> {
    out: &'a mut [u8; ROOM],
    at: usize,
    base_ns: i64,
    /// Which of these eight are not 0, and where that is to stand.
    mask: u8,
    mask_at: usize,
    /// The bit of the next number; 0: eight are written.
    bit: u8,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut [u8; ROOM]) -> Self {
        Writer { out, at: 0, base_ns: 0, mask: 0, mask_at: 0, bit: 0 }
    }

    /// All that was written.
    pub(super) fn finish(self) -> &'a [u8] {
        self.out[self.mask_at] = self.mask;
        let end = self.at.max(1);
        self.out[end..end + BEHIND].fill(0);
        &self.out[..end + BEHIND]
    }

    #[inline(always)]
    fn next_eight(&mut self) {
        self.out[self.mask_at] = self.mask;
        (self.mask, self.mask_at, self.bit) = (0, self.at, 1);
        self.at += 1;
    }

    /// So many ones as bytes follow, a zero turned round, then the number; nine bytes for what is too large for that.
    #[inline(always)]
    fn put(&mut self, number: u64) {
        let bits = 64 - number.leading_zeros() as usize;
        let (word, size) = if bits <= 56 {
            // Bits divided by seven, rounded up.
            let size = (bits * 9 + 64) >> 6;
            ((number << 1 | 1) << (size - 1), size)
        } else {
            self.out[self.at] = 0;
            self.at += 1;
            (number, 8)
        };
        self.out[self.at..self.at + 8].copy_from_slice(&word.to_le_bytes());
        self.at += size;
    }
}

impl Walk for Writer<'_> {
    const READS: bool = false;

    #[inline(always)]
    fn number(&mut self, value: &mut i64) {
        if self.bit == 0 {
            self.next_eight();
        }
        if *value != 0 {
            self.mask |= self.bit;
            self.put((*value << 1 ^ *value >> 63) as u64);
        }
        self.bit <<= 1;
    }

    #[inline(always)]
    fn time(&mut self, value: &mut i64) {
        let mut since_ns = value.wrapping_sub(self.base_ns);
        self.number(&mut since_ns);
    }

    fn origin(&mut self, value: &mut i64) {
        self.base_ns = *value;
        self.number(value);
    }
}

/// Reads what a [`Writer`] wrote.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    base_ns: i64,
    /// Which of the next are not 0, below a one; 1: eight are read.
    mask: u16,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, base_ns: 0, mask: 1 }
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let word = self.word();
        let size = word.trailing_zeros() as usize + 1;
        if size > 8 {
            self.at += 1;
            let number = self.word();
            self.at += 8;
            return number;
        }
        self.at += size;
        word << (64 - 8 * size) >> (64 - 7 * size)
    }

    #[inline(always)]
    fn word(&self) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[self.at..self.at + 8]);
        u64::from_le_bytes(word)
    }
}

impl Walk for Reader<'_> {
    const READS: bool = true;

    #[inline(always)]
    fn number(&mut self, value: &mut i64) {
        if self.mask == 1 {
            self.mask = 0x100 | u16::from(self.bytes[self.at]);
            self.at += 1;
        }
        *value = 0;
        if self.mask & 1 != 0 {
            let bits = self.take();
            *value = (bits >> 1) as i64 ^ -((bits & 1) as i64);
        }
        self.mask >>= 1;
    }

    #[inline(always)]
    fn time(&mut self, value: &mut i64) {
        self.number(value);
        *value = value.wrapping_add(self.base_ns);
    }

    fn origin(&mut self, value: &mut i64) {
        self.number(value);
        self.base_ns = *value;
    }
}
