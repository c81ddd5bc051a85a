//! The header of an 802.11 frame: type, addresses by To DS and From DS, sequence, QoS.
//!
//! Reference: IEEE 802.11-2020 sections 9.2 and 9.3.

use super::bytes::le16;

/// A MAC address.
pub type Mac = [u8; 6];

/// Bits of the frame control field.
pub mod control {
    /// To the distribution system.
    pub const TO_DS: u16 = 0x0100;
    /// From it.
    pub const FROM_DS: u16 = 0x0200;
    /// Another fragment follows.
    pub const MORE: u16 = 0x0400;
    /// Sent before.
    pub const RETRY: u16 = 0x0800;
    /// The station will doze.
    pub const POWER: u16 = 0x1000;
    /// The body is encrypted.
    pub const PROTECTED: u16 = 0x4000;
    /// An HT control field follows.
    pub const ORDER: u16 = 0x8000;
}

/// Names of types and subtypes, `type << 4 | subtype`, as far as they have one.
pub const NAMES: [(u8, &str); 40] = [
    (0x00, "association request"),
    (0x01, "association response"),
    (0x02, "reassociation request"),
    (0x03, "reassociation response"),
    (0x04, "probe request"),
    (0x05, "probe response"),
    (0x06, "timing advertisement"),
    (0x08, "beacon"),
    (0x09, "atim"),
    (0x0a, "disassociation"),
    (0x0b, "authentication"),
    (0x0c, "deauthentication"),
    (0x0d, "action"),
    (0x0e, "action without ack"),
    (0x12, "trigger"),
    (0x14, "beamforming report poll"),
    (0x15, "ndp announcement"),
    (0x17, "control wrapper"),
    (0x18, "block ack request"),
    (0x19, "block ack"),
    (0x1a, "ps-poll"),
    (0x1b, "rts"),
    (0x1c, "cts"),
    (0x1d, "ack"),
    (0x1e, "cf-end"),
    (0x1f, "cf-end and cf-ack"),
    (0x20, "data"),
    (0x21, "data and cf-ack"),
    (0x22, "data and cf-poll"),
    (0x23, "data, cf-ack and cf-poll"),
    (0x24, "null"),
    (0x25, "cf-ack"),
    (0x26, "cf-poll"),
    (0x27, "cf-ack and cf-poll"),
    (0x28, "qos data"),
    (0x29, "qos data and cf-ack"),
    (0x2a, "qos data and cf-poll"),
    (0x2b, "qos data, cf-ack and cf-poll"),
    (0x2c, "qos null"),
    (0x2e, "qos cf-poll"),
];

/// The header of a frame; fields that its type does not have are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Header {
    /// `type << 4 | subtype`.
    pub kind: u8,
    pub control: u16,
    pub duration: u16,
    /// Receiver of this transmission.
    pub ra: Mac,
    /// Transmitter; ACK and CTS have none.
    pub ta: Option<Mac>,
    pub bssid: Option<Mac>,
    pub sequence: Option<u16>,
    pub fragment: u8,
    pub tid: Option<u8>,
    /// QoS control says that no acknowledgement is wanted.
    pub no_ack: bool,
    /// The body is an A-MSDU.
    pub aggregated: bool,
    /// A mesh control field begins the body.
    pub mesh: bool,
    /// Bytes of the header.
    pub length: usize,
}

/// Why a header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// It was sent so.
    Frame,
    /// The snap length cut it.
    Capture,
}

impl Header {
    /// Whether a bit of the frame control field is set.
    pub fn has(&self, bit: u16) -> bool {
        self.control & bit != 0
    }

    /// Whether it is a data frame, with or without data.
    pub fn is_data_type(&self) -> bool {
        self.kind >> 4 == 2
    }

    /// Whether it has data in it.
    pub fn carries_data(&self) -> bool {
        self.is_data_type() && self.kind & 4 == 0
    }

    /// Whether it goes to one station.
    pub fn unicast(&self) -> bool {
        self.ra[0] & 1 == 0
    }
}

fn mac(data: &[u8], at: usize) -> Mac {
    let mut found = [0; 6];
    found.copy_from_slice(&data[at..at + 6]);
    found
}

/// Read the header at the begin of `data`, a frame of `wire` bytes.
///
/// # Errors
/// [`Short`] if fewer bytes are there than the type needs.
pub fn decode(data: &[u8], wire: usize) -> Result<Header, Short> {
    let need = |count: usize| {
        if data.len() >= count && wire >= count {
            Ok(())
        } else if wire < count {
            Err(Short::Frame)
        } else {
            Err(Short::Capture)
        }
    };
    need(10)?;
    let control = le16(data, 0);
    let kind = (control >> 2 & 3) as u8 * 16 + (control >> 4 & 0xf) as u8;
    let mut header = Header {
        kind,
        control,
        duration: le16(data, 2),
        ra: mac(data, 4),
        ta: None,
        bssid: None,
        sequence: None,
        fragment: 0,
        tid: None,
        no_ack: false,
        aggregated: false,
        mesh: false,
        length: 10,
    };
    match kind >> 4 {
        0 => {
            need(24)?;
            header.ta = Some(mac(data, 10));
            header.bssid = Some(mac(data, 16));
            number(&mut header, data);
            header.length = if header.has(control::ORDER) { 28 } else { 24 };
            need(header.length)?;
        }
        1 => {
            // Block ACK and its request, PS-Poll, RTS, CF-End; a trigger and an NDP announcement too.
            if matches!(kind & 0xf, 2 | 4 | 5 | 8..=11 | 14 | 15) {
                need(16)?;
                header.ta = Some(mac(data, 10));
                header.length = 16;
            }
        }
        2 => {
            need(24)?;
            header.ta = Some(mac(data, 10));
            let (to, from) = (header.has(control::TO_DS), header.has(control::FROM_DS));
            header.bssid = match (to, from) {
                (false, false) => Some(mac(data, 16)),
                (true, false) => Some(header.ra),
                (false, true) => header.ta,
                (true, true) => None,
            };
            number(&mut header, data);
            header.length = if to && from { 30 } else { 24 };
            if kind & 8 != 0 {
                need(header.length + 2)?;
                let qos = le16(data, header.length);
                header.tid = Some((qos & 0xf) as u8);
                header.no_ack = qos >> 5 & 3 == 1;
                header.aggregated = qos & 0x80 != 0 && kind & 4 == 0;
                header.mesh = to && from && qos & 0x100 != 0;
                header.length += if header.has(control::ORDER) { 6 } else { 2 };
            }
            need(header.length)?;
        }
        _ => {}
    }
    Ok(header)
}

fn number(header: &mut Header, data: &[u8]) {
    let field = le16(data, 22);
    header.sequence = Some(field >> 4);
    header.fragment = (field & 0xf) as u8;
}
