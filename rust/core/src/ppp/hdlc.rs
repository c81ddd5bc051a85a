//! Frames out of an asynchronous line (RFC 1662).

use crate::fcs::FCS16;

const FLAG: u8 = 0x7e;
const ESCAPE: u8 = 0x7d;
/// Longer than any MRU: what is beyond is not kept.
const MAX_FRAME: usize = 1 << 16;
/// Address, control, protocol and FCS at their shortest.
const MIN_FRAME: usize = 4;

/// A frame between two flags.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framed<'a> {
    /// With a right FCS; address, control and FCS taken off.
    Good { protocol: u16, body: &'a [u8] },
    /// With a wrong FCS, or too long.
    Damaged,
}

/// Collects the octets of one direction.
#[derive(Debug, Default)]
pub(crate) struct Deframer {
    frame: Vec<u8>,
    escaped: bool,
    too_long: bool,
    ended: bool,
    /// Octets of the line so far.
    pub position: u64,
    /// Where the present frame began.
    pub start: u64,
}

impl Deframer {
    /// Take an octet; whether it ended a frame, which [`Deframer::frame`] then tells.
    #[inline]
    pub(crate) fn push(&mut self, octet: u8) -> bool {
        if std::mem::take(&mut self.ended) {
            self.frame.clear();
            self.too_long = false;
        }
        if self.frame.is_empty() && !self.escaped {
            self.start = self.position;
        }
        self.position += 1;
        match octet {
            FLAG => {
                // An escape before a flag aborts the frame.
                let aborted = std::mem::take(&mut self.escaped);
                if aborted {
                    self.frame.clear();
                }
                self.ended = !self.frame.is_empty() || self.too_long;
                return self.ended;
            }
            ESCAPE => self.escaped = true,
            _ if self.frame.len() == MAX_FRAME => self.too_long = true,
            _ => {
                let octet = if std::mem::take(&mut self.escaped) { octet ^ 0x20 } else { octet };
                self.frame.push(octet);
            }
        }
        false
    }

    /// The frame that has just ended.
    pub(crate) fn frame(&self) -> Framed<'_> {
        let frame = &self.frame[..];
        let Some((body, check)) = frame.split_last_chunk() else { return Framed::Damaged };
        if self.too_long || frame.len() < MIN_FRAME || FCS16.checksum(body).to_le_bytes() != *check {
            return Framed::Damaged;
        }
        let body = body.strip_prefix(&[0xff, 0x03]).unwrap_or(body);
        match body {
            [low, rest @ ..] if low & 1 == 1 => Framed::Good { protocol: u16::from(*low), body: rest },
            [high, low, rest @ ..] => {
                Framed::Good { protocol: u16::from_be_bytes([*high, *low]), body: rest }
            }
            _ => Framed::Damaged,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A frame on the line, with its flags.
    pub(crate) fn line(protocol: u16, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![0xff, 0x03];
        frame.extend(protocol.to_be_bytes());
        frame.extend(body);
        frame.extend(FCS16.checksum(&frame).to_le_bytes());
        let mut line = vec![FLAG];
        for octet in frame {
            if octet < 0x20 || octet == FLAG || octet == ESCAPE {
                line.extend([ESCAPE, octet ^ 0x20]);
            } else {
                line.push(octet);
            }
        }
        line.push(FLAG);
        line
    }

    #[test]
    fn frames_whole_and_damaged() {
        let mut deframer = Deframer::default();
        let mut octets = line(0x0021, b"abc~}");
        let cut = octets.len();
        octets.extend(line(0xc021, &[1, 2, 3]));
        octets[cut + 4] ^= 0x40;
        let mut found = Vec::new();
        for octet in octets {
            if deframer.push(octet) {
                found.push(match deframer.frame() {
                    Framed::Good { protocol, body } => Some((protocol, body.to_vec())),
                    Framed::Damaged => None,
                });
            }
        }
        assert_eq!(found, [Some((0x0021, b"abc~}".to_vec())), None]);
    }
}
