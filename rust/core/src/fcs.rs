//! Frame check sequences of links.

use crc::{Algorithm, CRC_16_IBM_SDLC, Crc};

/// Of HDLC and PPP, the 16 bits of RFC 1662 appendix C.2; of Qualcomm's diagnostic protocol as well.
pub(crate) const FCS16: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_SDLC);

/// Of RLP (3GPP TS 24.022 section 4.3).
pub(crate) const FCS24: Crc<u32> = Crc::<u32>::new(&Algorithm {
    width: 24,
    poly: 0x00bb_a1b5,
    init: 0x00ff_ffff,
    refin: true,
    refout: true,
    xorout: 0x00ff_ffff,
    check: 0x004e_86cb,
    residue: 0x000c_91b6,
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit, as the specifications have it.
    fn slowly(data: &[u8], polynomial: u32, ones: u32) -> u32 {
        let rest = data.iter().fold(ones, |rest, byte| {
            (0..8).fold(rest ^ u32::from(*byte), |rest, _| {
                if rest & 1 == 1 { rest >> 1 ^ polynomial } else { rest >> 1 }
            })
        });
        rest ^ ones
    }

    #[test]
    fn check_values() {
        assert_eq!(FCS16.checksum(b"123456789"), FCS16.algorithm.check);
        assert_eq!(FCS24.checksum(b"123456789"), FCS24.algorithm.check);
    }

    proptest! {
        #[test]
        fn those_of_the_specifications(data in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(u32::from(FCS16.checksum(&data)), slowly(&data, 0x8408, 0xffff));
            prop_assert_eq!(FCS24.checksum(&data), slowly(&data, 0x00ad_85dd, 0x00ff_ffff));
        }
    }
}
