//! What is wrapped around a PDU in a capture: which layer it is of, and what the writer knew about it.
//!
//! Captures of link type 147 begin with the context of an LTE MAC PDU, 157 of an NR MAC PDU; 149 is a UDP header and a name;
//! 252 names the dissector; programs also send name and context over real UDP. Behind the fixed part come
//! tags, each followed by a value of known length, and the tag of the payload.
//!
//! Reference: Wireshark's framing for MAC, RLC and PDCP over UDP (packet-mac-lte.h, packet-rlc-lte.h,
//! packet-mac-nr.h, packet-rlc-nr.h, packet-pdcp-lte.h, packet-pdcp-nr.h).

use super::Radio;

/// Context of a MAC PDU of LTE, nothing before it.
pub(crate) const MAC_LTE: u16 = 147;
/// The same of NR.
pub(crate) const MAC_NR: u16 = 157;
/// A UDP header, then what would be its payload.
pub(crate) const UDP: u16 = 149;
/// Name of a dissector, then what it takes.
pub(crate) const EXPORTED: u16 = 252;

const PAYLOAD: u8 = 1;
const C_RNTI: u8 = 3;
const UDP_HEADER: usize = 8;

/// Mode of an RLC entity, as the framing numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nothing is added.
    Transparent,
    /// Numbered, never sent again.
    Unacknowledged,
    /// Numbered, reported on, sent again.
    Acknowledged,
}

/// What the payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Subheaders and what they announce; only those of one terminal (C-RNTI) are told apart further.
    Mac {
        own: bool,
    },
    Rlc {
        mode: Mode,
        sn_bits: u8,
        channel: Channel,
        long_li: bool,
    },
    Pdcp {
        user: bool,
    },
}

/// A bearer, as RLC knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Channel {
    /// Common control: what a terminal says before it has bearers of its own.
    Ccch,
    Srb(u8),
    Drb(u8),
    Other,
}

/// A PDU and its context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pdu<'a> {
    pub(crate) radio: Radio,
    pub(crate) layer: Layer,
    pub(crate) uplink: bool,
    /// C-RNTI; 0 where the framing has none.
    pub(crate) rnti: u16,
    /// Number that the writer gave the terminal; 0 where it has none.
    pub(crate) ueid: u16,
    /// HARQ: 0 for a new transmission.
    pub(crate) retx: u8,
    /// Whether the checksum was right, where the writer says so.
    pub(crate) crc: Option<bool>,
    pub(crate) payload: &'a [u8],
}

/// The framing names a PDU and is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged(pub(crate) &'static str);

type Found<'a> = Option<Result<Pdu<'a>, Damaged>>;

/// The PDU in one record of a capture; `None` if the record is of something else.
pub(crate) fn in_record(link_type: u16, data: &[u8]) -> Found<'_> {
    match link_type {
        MAC_LTE => Some(mac(Radio::Lte, data)),
        MAC_NR => Some(mac(Radio::Nr, data)),
        UDP => in_datagram(data.get(UDP_HEADER..)?),
        EXPORTED => exported(data),
        _ => None,
    }
}

/// The PDU in a UDP payload.
pub(crate) fn in_datagram(payload: &[u8]) -> Found<'_> {
    let with = |name: &[u8]| payload.strip_prefix(name);
    if let Some(rest) = with(b"mac-lte") {
        Some(mac(Radio::Lte, rest))
    } else if let Some(rest) = with(b"mac-nr") {
        Some(mac(Radio::Nr, rest))
    } else if let Some(rest) = with(b"rlc-lte") {
        Some(rlc_lte(rest))
    } else if let Some(rest) = with(b"rlc-nr") {
        Some(rlc_nr(rest))
    } else if let Some(rest) = with(b"pdcp-lte") {
        Some(pdcp_lte(rest))
    } else {
        with(b"pdcp-nr").map(pdcp_nr)
    }
}

/// Tags of two bytes and lengths of two bytes, ended by tag 0.
fn exported(data: &[u8]) -> Found<'_> {
    let (mut at, mut name) = (0, &[][..]);
    loop {
        let (tag, length) = (be16(data, at)?, usize::from(be16(data, at + 2)?));
        let value = data.get(at + 4..at + 4 + length)?;
        at += 4 + length;
        match tag {
            0 => break,
            // Dissector name; padded with zeros.
            12 => name = value.split(|byte| *byte == 0).next().unwrap_or_default(),
            _ => {}
        }
    }
    let body = data.get(at..)?;
    match name {
        b"mac-lte-framed" => Some(mac(Radio::Lte, body)),
        b"mac-nr-framed" => Some(mac(Radio::Nr, body)),
        b"udp" => in_datagram(body.get(UDP_HEADER..)?),
        _ => None,
    }
}

fn be16(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

/// Fixed part, then tags of which each has a value of so many bytes (-1: one byte says how many).
fn context<'a>(
    data: &'a [u8],
    fixed: usize,
    sizes: &[i8],
    mut each: impl FnMut(u8, &[u8]),
) -> Result<&'a [u8], Damaged> {
    const CUT: Damaged = Damaged("the context ends before the payload");
    let mut at = fixed;
    loop {
        let tag = *data.get(at).ok_or(CUT)?;
        at += 1;
        if tag == PAYLOAD {
            return Ok(&data[at..]);
        }
        let size = match sizes.get(usize::from(tag)) {
            Some(-1) => 1 + usize::from(*data.get(at).ok_or(CUT)?),
            Some(size) => *size as usize,
            None => return Err(Damaged("a tag of unknown meaning, so of unknown length")),
        };
        each(tag, data.get(at..at + size).ok_or(CUT)?);
        at += size;
    }
}

fn mac(radio: Radio, data: &[u8]) -> Result<Pdu<'_>, Damaged> {
    // By tag. The list of scheduling requests (0x11) is about no PDU.
    const LTE: [i8; 17] = [0, 0, 2, 2, 2, 1, 1, 1, 0, 2, 1, -1, 0, 0, 1, 1, 1];
    const NR: [i8; 8] = [0, 0, 2, 2, 2, 1, 1, 4];
    let &[_, direction, kind, ..] = data else {
        return Err(Damaged("shorter than the context of a MAC PDU"));
    };
    let mut pdu = Pdu {
        radio,
        layer: Layer::Mac { own: kind == C_RNTI || kind == 5 },
        uplink: direction == 0,
        rnti: 0,
        ueid: 0,
        retx: 0,
        crc: None,
        payload: &[],
    };
    let sizes: &[i8] = if radio == Radio::Lte { &LTE } else { &NR };
    pdu.payload = context(data, 3, sizes, |tag, value| match (tag, radio) {
        (2, _) => pdu.rnti = u16::from_be_bytes([value[0], value[1]]),
        (3, _) => pdu.ueid = u16::from_be_bytes([value[0], value[1]]),
        (6, Radio::Lte) => pdu.retx = value[0],
        (7, Radio::Lte) => pdu.crc = Some(value[0] == 1),
        _ => {}
    })?;
    Ok(pdu)
}

fn mode(number: u8) -> Result<Mode, Damaged> {
    match number {
        1 => Ok(Mode::Transparent),
        2 => Ok(Mode::Unacknowledged),
        4 => Ok(Mode::Acknowledged),
        _ => Err(Damaged("an RLC mode that there is not")),
    }
}

fn rlc_lte(data: &[u8]) -> Result<Pdu<'_>, Damaged> {
    const SIZES: [i8; 10] = [0, 0, 1, 1, 1, 2, 2, 2, 0, 1];
    let mode = mode(*data.first().ok_or(Damaged("no RLC mode"))?)?;
    let (mut sn_bits, mut uplink, mut ueid, mut kind, mut id, mut long_li) = (10, true, 0, 0, 0, false);
    let payload = context(data, 1, &SIZES, |tag, value| match tag {
        2 => sn_bits = value[0],
        3 => uplink = value[0] == 0,
        5 => ueid = u16::from_be_bytes([value[0], value[1]]),
        6 => kind = value[1],
        7 => id = value[1],
        8 => long_li = true,
        _ => {}
    })?;
    let layer = Layer::Rlc { mode, sn_bits, channel: channel(kind, id), long_li };
    Ok(Pdu { radio: Radio::Lte, layer, uplink, rnti: 0, ueid, retx: 0, crc: None, payload })
}

fn rlc_nr(data: &[u8]) -> Result<Pdu<'_>, Damaged> {
    const SIZES: [i8; 6] = [0, 0, 1, 2, 1, 1];
    let &[number, sn_bits, ..] = data else { return Err(Damaged("no RLC mode")) };
    let (mut uplink, mut ueid, mut kind, mut id) = (true, 0, 0, 0);
    let payload = context(data, 2, &SIZES, |tag, value| match tag {
        2 => uplink = value[0] == 0,
        3 => ueid = u16::from_be_bytes([value[0], value[1]]),
        4 => kind = value[0],
        5 => id = value[0],
        _ => {}
    })?;
    let layer = Layer::Rlc { mode: mode(number)?, sn_bits, channel: channel(kind, id), long_li: false };
    Ok(Pdu { radio: Radio::Nr, layer, uplink, rnti: 0, ueid, retx: 0, crc: None, payload })
}

/// Channel types are numbered alike in both.
fn channel(kind: u8, id: u8) -> Channel {
    match kind {
        1 => Channel::Ccch,
        4 => Channel::Srb(id),
        5 => Channel::Drb(id),
        _ => Channel::Other,
    }
}

fn pdcp_lte(data: &[u8]) -> Result<Pdu<'_>, Damaged> {
    const SIZES: [i8; 15] = [0, 0, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 2, 2];
    let &[_, plane, ..] = data else { return Err(Damaged("no PDCP plane")) };
    let (mut uplink, mut ueid) = (true, 0);
    let payload = context(data, 3, &SIZES, |tag, value| match tag {
        3 => uplink = value[0] == 0,
        14 => ueid = u16::from_be_bytes([value[0], value[1]]),
        _ => {}
    })?;
    let layer = Layer::Pdcp { user: plane == 2 };
    Ok(Pdu { radio: Radio::Lte, layer, uplink, rnti: 0, ueid, retx: 0, crc: None, payload })
}

fn pdcp_nr(data: &[u8]) -> Result<Pdu<'_>, Damaged> {
    const SIZES: [i8; 18] = [0, 0, 1, 1, 1, 1, 2, 0, 1, 0, 0, 1, 0, 0, 2, 0, 1, 0];
    let plane = *data.first().ok_or(Damaged("no PDCP plane"))?;
    let (mut uplink, mut ueid) = (true, 0);
    let payload = context(data, 1, &SIZES, |tag, value| match tag {
        3 => uplink = value[0] == 0,
        6 => ueid = u16::from_be_bytes([value[0], value[1]]),
        _ => {}
    })?;
    let layer = Layer::Pdcp { user: plane == 2 };
    Ok(Pdu { radio: Radio::Nr, layer, uplink, rnti: 0, ueid, retx: 0, crc: None, payload })
}
