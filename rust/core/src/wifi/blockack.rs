//! What a block ACK tells of, whatever its kind.
//!
//! Reference: IEEE 802.11-2020 section 9.3.1.8 with 802.11ax-2021 (multi-STA) and 802.11be (long bitmaps).

use super::bytes::le16;
use super::header::Mac;

/// Kinds by their number in the BA control field; the bitmap of a basic one has 16 bits a frame.
const BASIC: u16 = 0;
const EXTENDED: u16 = 1;
const COMPRESSED: u16 = 2;
const MULTI_TID: u16 = 3;
const GCR: u16 = 6;
const GLK_GCR: u16 = 10;
const MULTI_STA: u16 = 11;
const MULTI_TIDS: usize = 16;
/// Stands for a station that is not associated; its address follows.
const UNASSOCIATED: u16 = 2045;

/// Whom a part of a block ACK is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The receiver of the frame.
    Receiver,
    /// The station of this association identifier.
    Associated(u16),
    /// By its address.
    Station(Mac),
}

/// What is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged<'a> {
    /// Frames of a counter from `start` on; `fragments`: 16 bits for each of them.
    Bitmap { tid: u8, start: u16, bits: &'a [u8], fragments: bool },
    /// All frames of the transmission that it answers, or the only one; 14 and 15 stand for any counter.
    All { tid: u8 },
    /// Frames to a group.
    Group,
}

/// A kind that is not known, or a body that ends before its parts do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread(pub &'static str);

/// The parts of a block ACK; `body` begins with its BA control.
///
/// # Errors
/// [`Unread`] if its kind is reserved or it is too short.
pub fn parts(body: &[u8]) -> Result<Vec<(Whom, Acknowledged<'_>)>, Unread> {
    const SHORT: Unread = Unread("a block ACK shorter than its bitmap");
    if body.len() < 2 {
        return Err(SHORT);
    }
    let control = le16(body, 0);
    let tid = (control >> 12) as u8;
    let one = |at: usize, size: usize, fragments: bool| {
        let bits = body.get(at + 2..at + 2 + size).ok_or(SHORT)?;
        let tid = if at == 2 { tid } else { (le16(body, at - 2) >> 12) as u8 };
        Ok((Whom::Receiver, Acknowledged::Bitmap { tid, start: le16(body, at) >> 4, bits, fragments }))
    };
    match control >> 1 & 0xf {
        BASIC => Ok(vec![one(2, 128, true)?]),
        EXTENDED => Ok(vec![one(2, 8, false)?]),
        COMPRESSED => {
            let fragment = body.get(2).ok_or(SHORT)? & 0xf;
            let size = bitmap_bytes(fragment).ok_or(Unread("a block ACK of reserved length"))?;
            // Level 3 of HE's fragmentation: four bits a frame.
            if fragment & 1 != 0 {
                return Err(Unread("a block ACK of dynamic fragments"));
            }
            Ok(vec![one(2, size, false)?])
        }
        MULTI_TID => (0..=usize::from(tid).min(MULTI_TIDS - 1)).map(|n| one(4 + 12 * n, 8, false)).collect(),
        GCR | GLK_GCR => Ok(vec![(Whom::Receiver, Acknowledged::Group)]),
        MULTI_STA => stations(&body[2..]).ok_or(SHORT),
        _ => Err(Unread("a block ACK of a reserved kind")),
    }
}

fn bitmap_bytes(fragment: u8) -> Option<usize> {
    match fragment & 0xe {
        0 => Some(8),
        2 => Some(16),
        4 => Some(32),
        6 => Some(4),
        8 => Some(64),
        10 => Some(128),
        _ => None,
    }
}

/// The parts of a multi-STA block ACK: each with whom it is for.
fn stations(mut rest: &[u8]) -> Option<Vec<(Whom, Acknowledged<'_>)>> {
    let mut found = Vec::new();
    while rest.len() >= 2 {
        let info = le16(rest, 0);
        let (aid, all, tid) = (info & 0x07ff, info & 0x0800 != 0, (info >> 12) as u8);
        rest = &rest[2..];
        if aid == UNASSOCIATED {
            let address = rest.get(4..10)?;
            found.push((Whom::Station(address.try_into().ok()?), Acknowledged::All { tid: 15 }));
            rest = &rest[10..];
            continue;
        }
        // Without a bitmap: all of the transmission (14), a management frame (15), a single frame of a counter.
        if all && tid != 13 {
            found.push((Whom::Associated(aid), Acknowledged::All { tid }));
            continue;
        }
        let start = le16(rest.get(..2)?, 0);
        let fragment = (start & 0xf) as u8;
        let bits = rest.get(2..2 + bitmap_bytes(fragment)?)?;
        rest = &rest[2 + bits.len()..];
        if fragment & 1 == 0 {
            found.push((
                Whom::Associated(aid),
                Acknowledged::Bitmap { tid, start: start >> 4, bits, fragments: false },
            ));
        }
    }
    Some(found)
}
