//! Frames of 240 or 576 bits: header 16, information, FCS 24 (3GPP TS 24.022 section 4).

use crate::fcs::FCS24;

/// Bytes of the two frame sizes.
pub(crate) const SIZES: [usize; 2] = [30, 72];
/// N(S) counts modulo this.
pub(crate) const MODULUS: i32 = 62;

const SUPERVISORY: [&str; 4] = ["RR", "RNR", "REJ", "SREJ"];

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// Information with a supervisory word.
    I { ns: i32, nr: i32, word: &'static str, information: &'a [u8] },
    /// A supervisory word alone.
    S { nr: i32, word: &'static str },
    /// An unnumbered frame; None if its code is not known.
    U { word: Option<&'static str>, information: &'a [u8] },
}

/// A frame whose FCS is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub poll: bool,
    /// A command: its P/F bit is a poll. Otherwise a response: its P/F bit is final.
    pub command: bool,
    pub body: Body<'a>,
}

/// Why a frame cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    /// It has neither 30 nor 72 bytes.
    Size,
    /// Its frame check sequence is wrong.
    Fcs,
}

pub(crate) fn decode(data: &[u8]) -> Result<Frame<'_>, Bad> {
    if !SIZES.contains(&data.len()) {
        return Err(Bad::Size);
    }
    let (body, check) = data.split_at(data.len() - 3);
    if FCS24.checksum(body).to_le_bytes()[..3] != *check {
        return Err(Bad::Fcs);
    }
    let ns = i32::from(body[0] >> 3 | (body[1] & 1) << 5);
    let nr = i32::from(body[1] >> 2);
    let word = SUPERVISORY[usize::from(body[0] >> 1 & 3)];
    let information = &body[2..];
    let body_kind = match ns {
        63 => Body::U { word: unnumbered(body[1] >> 2 & 0x1f), information },
        62 => Body::S { nr, word },
        _ => Body::I { ns, nr, word, information },
    };
    Ok(Frame { poll: body[1] & 2 != 0, command: body[0] & 1 != 0, body: body_kind })
}

fn unnumbered(code: u8) -> Option<&'static str> {
    Some(match code {
        0x00 => "UI",
        0x03 => "DM",
        0x07 => "SABM",
        0x08 => "DISC",
        0x0c => "UA",
        0x0f => "NULL",
        0x11 => "REMAP",
        0x17 => "XID",
        0x1c => "TEST",
        _ => return None,
    })
}

/// User bytes of an information field, and L2R's flow control bit: status octets tell how many characters
/// follow (3GPP TS 27.002, L2RCOP).
pub(crate) fn user_bytes(information: &[u8]) -> (usize, bool) {
    let (mut at, mut user) = (0, 0);
    let held = information.first().is_some_and(|status| status & 0x20 != 0);
    while let Some(status) = information.get(at) {
        at += 1;
        let length = match status & 0x1f {
            31 => break,
            30 => information.len() - at,
            // the length did not fit: the next octet has it
            27 => {
                at += 1;
                information.get(at - 1).map_or(0, |octet| usize::from(octet & 0x7f))
            }
            // break, break acknowledge, reserved: no characters
            24..=29 => 0,
            count => usize::from(count),
        };
        let length = length.min(information.len().saturating_sub(at));
        user += length;
        at += length;
        if status & 0x1f == 30 || length == 0 && status & 0x1f < 24 {
            break;
        }
    }
    (user, held)
}

/// Retransmissions allowed (N2), if an XID's parameters name it.
pub(crate) fn n2_of_xid(information: &[u8]) -> Option<u32> {
    let mut at = 0;
    while let Some(head) = information.get(at) {
        let (kind, length) = (head >> 4, usize::from(head & 15));
        let value = information.get(at + 1..at + 1 + length)?;
        if kind == 0 {
            return None;
        }
        if kind == 5 && length == 1 {
            return Some(u32::from(value[0]));
        }
        at += 1 + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    // The vectors of 3GPP TS 24.022's common test frames, as FORMATS of this project lists them.
    #[test]
    fn known_frames() {
        let xid = bytes("f95f1100213d313d414e6108510600000000000000000000000000c13c6b");
        let frame = decode(&xid).unwrap();
        let Body::U { word, information } = frame.body else { panic!("not U") };
        assert_eq!((word, n2_of_xid(information)), (Some("XID"), Some(6)));
        let sabm = decode(&bytes("f91f0000000000000000000000000000000000000000000000000063b2f3")).map(|f| {
            let Body::U { word, .. } = f.body else { panic!("not U") };
            word
        });
        assert_eq!(sabm, Ok(Some("SABM")));
        let data = bytes("010401661fffffffffffffffffffffffffffffffffffffffffffff388cd3");
        let Body::I { ns, nr, word, information } = decode(&data).unwrap().body else { panic!("not I") };
        assert_eq!((ns, nr, word), (0, 1, "RR"));
        assert_eq!(user_bytes(information), (1, false));
        let mut wrong = data;
        wrong[5] ^= 1;
        assert_eq!(decode(&wrong), Err(Bad::Fcs));
        assert_eq!(decode(&wrong[1..]), Err(Bad::Size));
    }

    #[test]
    fn status_octets() {
        let of = |start: &[u8]| {
            let mut information = vec![0xff; 25];
            information[..start.len()].copy_from_slice(start);
            user_bytes(&information)
        };
        assert_eq!(of(&[0x1e]), (24, false));
        assert_eq!(of(&[0x3f]), (0, true));
        assert_eq!(of(&[2, 65, 66, 0x1f]), (2, false));
        assert_eq!(of(&[2, 65, 66, 0x21, 67, 0x1f]), (3, false));
        assert_eq!(of(&[0x1d, 1, 65, 0x1f]), (1, false));
        assert_eq!(of(&[0x17]), (23, false));
        assert_eq!(user_bytes(&[]), (0, false));
    }
}
