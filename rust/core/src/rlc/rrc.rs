//! What messages of RRC tell of a bearer, by the first bits of their encoding: choices and what is optional.
//!
//! Reference: 3GPP TS 36.331 and 38.331 sections 6.2.1 and 6.2.2; ITU-T X.691 (unaligned PER).

use super::Radio;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The terminal asks that its connection goes on.
    AsksAgain,
    /// It asks for a new one.
    Asks,
    /// The base station grants either.
    Granted,
    /// The terminal is sent to another cell, or to the same one anew: all of RLC begins again.
    Moved,
    /// The connection is given up in order.
    Released,
}

/// Of a message on the common control channel: a bit for c1, then the choice.
pub(crate) fn common_control(radio: Radio, uplink: bool, message: &[u8]) -> Option<Said> {
    let choice = message.first()? >> 5;
    match (radio, uplink, choice) {
        // UL-CCCH-Message of LTE has two choices, so a bit less.
        (Radio::Lte, true, 0 | 1) | (Radio::Nr, true, 2) => Some(Said::AsksAgain),
        (Radio::Lte, true, 2 | 3) | (Radio::Nr, true, 0) => Some(Said::Asks),
        (Radio::Lte, false, 0 | 3) | (Radio::Nr, false, 1) => Some(Said::Granted),
        _ => None,
    }
}

/// Of a message of LTE on the dedicated control channel, downlink: c1, 4 bits of choice, 2 of transaction, then
/// criticalExtensions.
pub(crate) fn dedicated(message: &[u8]) -> Option<Said> {
    let head = u32::from(*message.first()?) << 8 | u32::from(message.get(1).copied().unwrap_or(0));
    match head >> 11 {
        // rrcConnectionReconfiguration: c1, the first of 8, measConfig or not, mobilityControlInfo.
        4 if message.len() > 1 && head & 0x01e8 == 0x0008 => Some(Said::Moved),
        5 => Some(Said::Released),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common() {
        for (radio, uplink, first, expected) in [
            (Radio::Lte, true, 0x08, Some(Said::AsksAgain)),
            (Radio::Lte, true, 0x5f, Some(Said::Asks)),
            (Radio::Lte, true, 0x80, None),
            (Radio::Lte, false, 0x60, Some(Said::Granted)),
            (Radio::Lte, false, 0x00, Some(Said::Granted)),
            (Radio::Lte, false, 0x20, None),
            (Radio::Nr, true, 0x1d, Some(Said::Asks)),
            (Radio::Nr, true, 0x40, Some(Said::AsksAgain)),
            (Radio::Nr, true, 0x20, None),
            (Radio::Nr, false, 0x20, Some(Said::Granted)),
            (Radio::Nr, false, 0x00, None),
        ] {
            assert_eq!(common_control(radio, uplink, &[first, 0]), expected, "{radio:?} {first:02x}");
        }
        assert_eq!(common_control(Radio::Lte, true, &[]), None);
    }

    #[test]
    fn reconfigurations_that_move_and_others() {
        for (message, expected) in [
            (&[0x22, 0x08][..], Some(Said::Moved)),
            (&[0x20, 0x18], Some(Said::Moved)),
            (&[0x24, 0x10], None),
            (&[0x21, 0x08], None),
            (&[0x22], None),
            (&[0x2a], Some(Said::Released)),
            (&[0x30, 0x08], None),
            (&[0xa2, 0x08], None),
            (&[], None),
        ] {
            assert_eq!(dedicated(message), expected, "{message:02x?}");
        }
    }
}
