//! Messages of RRC in LTE (code 0xB0C0), and what they tell of bearers.
//!
//! Version, release and its version, bearer, cell (2 bytes), frequency (2, later 4), frame and subframe (2), kind of
//! channel, more of system information, length of the message (1, later 2), the message. Kinds are numbered by version.

use super::Bad;
use crate::rlc::Radio;
use crate::rlc::rrc::{Said, common_control, dedicated};

pub(crate) const OTA: u16 = 0xb0c0;

/// Where the kind, the length (bytes of it) and the message are, and the kinds of downlink common, downlink
/// dedicated and uplink common control.
struct Layout {
    kind: usize,
    length: usize,
    long: bool,
    message: usize,
    kinds: [u8; 3],
}

const fn layout(kind: usize, length: usize, long: bool, message: usize, kinds: [u8; 3]) -> Layout {
    Layout { kind, length, long, message, kinds }
}

fn layout_of(version: u8) -> Option<Layout> {
    Some(match version {
        2 => layout(10, 11, false, 13, [5, 6, 7]),
        4 => layout(10, 11, true, 13, [5, 6, 7]),
        7 => layout(10, 15, false, 17, [5, 6, 7]),
        8 => layout(12, 17, true, 19, [5, 6, 7]),
        9 => layout(12, 17, true, 19, [12, 13, 14]),
        15 | 16 | 20 | 24 => layout(12, 17, true, 19, [6, 7, 8]),
        19 => layout(12, 17, true, 19, [8, 9, 10]),
        26 => layout(14, 19, true, 21, [8, 9, 10]),
        _ => return None,
    })
}

/// What a message tells of all bearers, if anything.
pub(crate) fn said(body: &[u8]) -> Result<Option<Said>, Bad> {
    let cut = || Bad::Malformed("a message shorter than it says");
    let version = *body.first().ok_or_else(cut)?;
    let Some(layout) = layout_of(version) else {
        return Err(Bad::Unknown(format!("message 0x{OTA:04X} of version {version}")));
    };
    let (head, message) = body.split_at_checked(layout.message).ok_or_else(cut)?;
    let low = usize::from(head[layout.length]);
    let length = if layout.long { low | usize::from(head[layout.length + 1]) << 8 } else { low };
    let message = message.get(..length).ok_or_else(cut)?;
    let kind = head[layout.kind];
    Ok(match layout.kinds.iter().position(|one| *one == kind) {
        Some(0) => common_control(Radio::Lte, false, message),
        Some(1) => dedicated(message),
        Some(2) => common_control(Radio::Lte, true, message),
        _ => None,
    })
}
