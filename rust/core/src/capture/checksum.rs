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

/// Words of 64 bits up to which a segment is summed one by one: a header and hardly more, as of nearly every ACK.
const SHORT: usize = 12;
/// TCP's number in the pseudo header, in the machine's byte order.
const PROTOCOL: u64 = u32::from_ne_bytes([0, 0, 0, 6]) as u64;

/// Verify the checksum of a TCP segment with its whole payload.
#[inline(never)]
pub(crate) fn verify(source: &Address, destination: &Address, segment: &[u8]) -> Verdict {
    // The ffff of a mapped IPv4 address is zero in ones' complement: one sum serves both families.
    let ([a, b], [c, d]) = (source.halves(), destination.halves());
    let addresses = [a, b, c, d].into_iter().fold(PROTOCOL, add);
    let pseudo = add(addresses, u64::from((segment.len() as u32).to_be()));
    let (words, rest) = segment.as_chunks::<8>();
    let whole =
        |words: &[[u8; 8]]| words.iter().fold(pseudo, |sum, &word| add(sum, u64::from_ne_bytes(word)));
    let all = match *rest {
        _ if words.len() > SHORT => return verify_long((addresses, pseudo), segment),
        [] => whole(words),
        [a, b, c, d] => add(whole(words), word_of([a, b, c, d])),
        _ => return verify_long((addresses, pseudo), segment),
    };
    verdict(all, (addresses, pseudo), segment)
}

#[inline(never)]
fn verify_long((addresses, pseudo): (u64, u64), segment: &[u8]) -> Verdict {
    verdict(add(pseudo, sum(segment)), (addresses, pseudo), segment)
}

/// What a sum over all says, that over the addresses, and that over the pseudo header.
#[inline(always)]
fn verdict(all: u64, (addresses, pseudo): (u64, u64), segment: &[u8]) -> Verdict {
    // What folds to ffff is a multiple of it, and no sum is 0.
    if all.is_multiple_of(0xffff) {
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

/// A sum of words of 64 bits. What is carried out of the top comes in at the bottom: 2^64 - 1 is a multiple of ffff.
#[inline(always)]
fn add(sum: u64, word: u64) -> u64 {
    let (sum, carried) = sum.overflowing_add(word);
    sum + u64::from(carried)
}

#[inline(always)]
fn word_of(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_ne_bytes(bytes))
}

/// Unfolded sum in the machine's byte order (RFC 1071 section 2B): 32-bit words vectorise.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let last = match *rest {
        [] => [0; 4],
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c, ..] => [a, b, c, 0],
    };
    words.iter().map(|&word| word_of(word)).sum::<u64>() + word_of(last)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sum by RFC 1071 section 1, of 16-bit words one after the other.
    fn by_definition(addresses: &[u8], length: usize, segment: &[u8]) -> u16 {
        let header = [addresses, &(length as u32).to_be_bytes(), &[0, 0, 0, 6]].concat();
        let words = header.chunks(2).chain(segment.chunks(2));
        let sum: u64 =
            words.map(|two| u64::from(two[0]) << 8 | two.get(1).map_or(0, |&low| u64::from(low))).sum();
        fold(sum)
    }

    proptest! {
        /// Of any length, short and long: what completes the sum is good, and one bit less is not.
        #[test]
        fn is_that_of_the_definition(
            ends in prop::array::uniform2(any::<[u8; 4]>()),
            mut segment in prop::collection::vec(any::<u8>(), 20..240),
            flipped in 0usize..160,
        ) {
            let [source, destination] = ends.map(Address::v4);
            (segment[16], segment[17]) = (0, 0);
            let sum = !by_definition(&ends.concat(), segment.len(), &segment);
            segment[16..18].copy_from_slice(&sum.to_be_bytes());
            prop_assert_eq!(verify(&source, &destination, &segment), Verdict::Good);
            segment[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert_ne!(verify(&source, &destination, &segment), Verdict::Good);
            // What the pseudo header comes to, with the length or without, is for the network card to complete.
            for length in [segment.len(), 0] {
                let pseudo = by_definition(&ends.concat(), length, &[]);
                segment[16..18].copy_from_slice(&pseudo.to_be_bytes());
                if verify(&source, &destination, &segment) != Verdict::Good {
                    prop_assert_eq!(verify(&source, &destination, &segment), Verdict::Offloaded);
                }
            }
        }
    }
}
