//! The generic header and the acknowledgement subheader.
//!
//! Reference: RFC 4340 section 5.1 to 5.8.

/// Packet types; the position is the number on the wire and the code in the column.
pub const TYPES: [&str; 10] =
    ["request", "response", "data", "ack", "dataack", "closereq", "close", "reset", "sync", "syncack"];

const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const DATA: u8 = 2;
const ACK: u8 = 3;
const DATAACK: u8 = 4;
const RESET: u8 = 7;
/// Sequence numbers of 24 and 48 bits.
const SHORT: usize = 12;
const LONG: usize = 16;

/// A number as written: how many bits of it are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The bits.
    pub value: u64,
    /// Whether all 48 are there, or the low 24.
    pub whole: bool,
}

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Packet type, a place in [`TYPES`].
    pub kind: u8,
    /// CCVal, which CCID 3 uses as a window counter.
    pub ccval: u8,
    /// Sequence number.
    pub seq: Number,
    /// Acknowledgement number, if this type has one.
    pub ack: Option<Number>,
    /// Why a connection was reset (RFC 4340 section 5.6).
    pub reset_code: Option<u8>,
    /// Options captured.
    pub options: &'a [u8],
    /// Whether the snap length cut the options.
    pub options_cut: bool,
    /// Bytes of application data on the wire.
    pub length: u32,
}

/// What is wrong with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// The snap length cut the fixed part of the header.
    Cut,
    /// It contradicts itself.
    Malformed(&'static str),
}

/// Decode the packet of which `data` was captured and `wire` bytes were sent.
///
/// # Errors
/// [`Bad`], by what is wrong.
pub fn decode(data: &[u8], wire: u32) -> Result<Header<'_>, Bad> {
    let wire_bytes = wire as usize;
    if wire_bytes < SHORT {
        return Err(Bad::Malformed("packet shorter than a DCCP header"));
    }
    let fixed = data.get(..SHORT).ok_or(Bad::Cut)?;
    let kind = fixed[8] >> 1 & 0xf;
    let whole = fixed[8] & 1 != 0;
    if usize::from(kind) >= TYPES.len() {
        return Err(Bad::Malformed("reserved DCCP packet type"));
    }
    if !whole && !matches!(kind, DATA | ACK | DATAACK) {
        return Err(Bad::Malformed("short sequence numbers in a DCCP packet that must have long ones"));
    }
    let seq = if whole {
        let bytes = data.get(10..LONG).ok_or(Bad::Cut)?;
        Number { value: big_endian(bytes), whole }
    } else {
        Number { value: big_endian(&fixed[9..12]), whole }
    };
    let mut at = if whole { LONG } else { SHORT };
    let mut ack = None;
    if kind != REQUEST && kind != DATA {
        let width = if whole { 8 } else { 4 };
        let field = data.get(at..at + width).ok_or(Bad::Cut)?;
        ack = Some(Number { value: big_endian(&field[if whole { 2 } else { 1 }..]), whole });
        at += width;
    }
    let mut reset_code = None;
    if matches!(kind, REQUEST | RESPONSE | RESET) {
        let field = data.get(at..at + 4).ok_or(Bad::Cut)?;
        reset_code = (kind == RESET).then_some(field[0]);
        at += 4;
    }
    let end = usize::from(fixed[4]) * 4;
    if end < at || end > wire_bytes {
        return Err(Bad::Malformed("DCCP data offset inside the header or beyond the packet"));
    }
    Ok(Header {
        ports: (u16::from_be_bytes([fixed[0], fixed[1]]), u16::from_be_bytes([fixed[2], fixed[3]])),
        kind,
        ccval: fixed[5] >> 4,
        seq,
        ack,
        reset_code,
        options: data.get(at..end.min(data.len())).unwrap_or_default(),
        options_cut: end > data.len(),
        length: (wire_bytes - end) as u32,
    })
}

pub(super) fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
