//! The Internet checksum over whole TCP segments.
//!
//! Reference: RFC 1071; RFC 9293 section 3.1 and RFC 8200 section 8.1 for the pseudo headers.

use crate::segment::{Address, Checksum};

/// What the checksum field of a completely captured segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Bad,
    /// Zero, or the sum of the pseudo header alone: what a host leaves for its network card to complete.
    Offloaded,
}

impl Verdict {
    /// An offloaded checksum says nothing about damage.
    pub(crate) fn to_checksum(self) -> Checksum {
        match self {
            Verdict::Good => Checksum::Good,
            Verdict::Bad => Checksum::Bad,
            Verdict::Offloaded => Checksum::Unverified,
        }
    }
}

/// Verify the checksum of a TCP segment with its whole payload.
#[inline]
pub(crate) fn verify(source: &Address, destination: &Address, segment: &[u8]) -> Verdict {
    // The ffff of a mapped IPv4 address is zero in ones' complement: one sum serves both families.
    let protocol = u64::from(u32::from_ne_bytes([0, 0, 0, 6]));
    let addresses = halves(source) + halves(destination) + protocol;
    let pseudo = addresses + u64::from((segment.len() as u32).to_be());
    // What folds to ffff is a multiple of it, and no sum is 0.
    if (pseudo + sum(segment)).is_multiple_of(0xffff) {
        return Verdict::Good;
    }
    let field = u16::from_ne_bytes([segment[16], segment[17]]);
    // Linux fills in the pseudo header with the length, Windows (large send offload) without.
    if field == 0 || field == fold(pseudo) || field == fold(addresses) {
        Verdict::Offloaded
    } else {
        Verdict::Bad
    }
}

/// Unfolded sum in the machine's byte order (RFC 1071 section 2B): 32-bit words vectorise.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let last = match *rest {
        [] => [0; 4],
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c, ..] => [a, b, c, 0],
    };
    words.iter().map(|&w| u64::from(u32::from_ne_bytes(w))).sum::<u64>() + u64::from(u32::from_ne_bytes(last))
}

#[inline(always)]
fn halves(address: &Address) -> u64 {
    address.halves().into_iter().map(|half| (half & 0xffff_ffff) + (half >> 32)).sum()
}

#[inline(always)]
fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    // Twice: the first may carry into bit 16, and once more with what was carried into bit 32.
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}
