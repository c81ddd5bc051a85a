//! What stands in front of an 802.11 frame in a capture: radiotap, PPI, Prism, AVS, or nothing.
//!
//! Reference: radiotap.org; the CACE PPI specification; `ieee80211_radiotap.h` of Linux; linux-wlan-ng's
//! Prism header; the AVS capture header.

use super::bytes::{be32, le16, le32, le64};

/// LINKTYPE_ numbers of captures of 802.11 frames.
pub const LINK_TYPES: [u16; 5] = [105, 119, 127, 163, 192];

/// How the bits went over the air.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Modulation {
    /// Not said, or a kind whose rate is not computed (HE).
    #[default]
    Unknown,
    /// DSSS, CCK or OFDM at so many bits per second.
    Legacy {
        /// Rate of the physical layer.
        rate_bps: u64,
    },
    /// 802.11n.
    Ht {
        /// 0 to 31: streams and modulation.
        mcs: u8,
        /// Channel width.
        width_mhz: u16,
        /// Guard interval of 400 ns in place of 800.
        short_guard: bool,
        /// No legacy preamble in front.
        greenfield: bool,
    },
    /// 802.11ac.
    Vht {
        /// 0 to 9.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
        /// Channel width.
        width_mhz: u16,
        /// Guard interval of 400 ns in place of 800.
        short_guard: bool,
    },
    /// 802.11ax.
    He {
        /// 0 to 11.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
        /// Subcarriers that carry data, of a channel or of a part of it.
        carriers: u16,
        /// Guard interval.
        guard_ns: u16,
    },
}

/// What the header of a capture says of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Radio {
    /// Time at which the first bit arrived, by the clock of the card.
    pub tsft_us: Option<u64>,
    pub modulation: Modulation,
    pub short_preamble: bool,
    pub channel_mhz: Option<u16>,
    pub signal_dbm: Option<i8>,
    /// Frames of one A-MPDU share this number.
    pub aggregate: Option<u32>,
    /// A frame check sequence stands at the end.
    pub fcs: bool,
    pub bad_fcs: bool,
    /// The 802.11 header is filled up to a multiple of four bytes.
    pub padded: bool,
    /// Written by the sender when it was done with the frame: whether it gave up, and how often it sent again.
    pub sent_status: Option<(bool, u8)>,
    /// A field that is not known ended the reading of the header.
    pub unknown_field: bool,
}

/// The header says more than there is, or less than it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad(pub &'static str);

/// The radio header of a record, and where the 802.11 frame begins.
///
/// # Errors
/// [`Bad`] if the header contradicts itself or the record, or a PPI header says that no 802.11 frame follows.
pub fn decode(link_type: u16, data: &[u8]) -> Result<(Radio, usize), Bad> {
    match link_type {
        105 => Ok((Radio::default(), 0)),
        127 => radiotap(data),
        192 => ppi(data),
        119 if data.len() >= 4 && be32(data, 0) & 0xffff_f000 != 0x8021_1000 => prism(data),
        119 | 163 => avs(data),
        _ => Err(Bad("not a link type of 802.11 frames")),
    }
}

/// Alignment and size of the fields of the default namespace, by bit.
const FIELDS: [(usize, usize); 28] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (2, 4),
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (4, 8),
    (1, 3),
    (4, 8),
    (2, 12),
    (8, 12),
    (2, 12),
    (2, 12),
    (2, 6),
    (1, 1),
    (2, 4),
];
const RADIOTAP_NAMESPACE: u32 = 29;
const VENDOR_NAMESPACE: u32 = 30;
const MORE: u32 = 31;

fn radiotap(data: &[u8]) -> Result<(Radio, usize), Bad> {
    if data.len() < 8 {
        return Err(Bad("record shorter than a radiotap header"));
    }
    let length = usize::from(le16(data, 2));
    if length < 8 || length > data.len() {
        return Err(Bad("radiotap header longer than the record"));
    }
    let header = &data[..length];
    let mut words = Vec::new();
    let mut at = 4;
    loop {
        if at + 4 > length {
            return Err(Bad("radiotap presence bits beyond its header"));
        }
        words.push(le32(header, at));
        at += 4;
        if words[words.len() - 1] >> MORE & 1 == 0 {
            break;
        }
    }
    let mut radio = Radio::default();
    // Which field a word's first bit stands for; none in a vendor's namespace, whose length is known.
    let (mut base, mut vendor) = (Some(0u32), 0usize);
    for word in words {
        let own = base;
        base = own.map(|base| base + 31);
        if own.is_none() {
            at = at.saturating_add(std::mem::take(&mut vendor));
        }
        for bit in 0..MORE {
            if word >> bit & 1 == 0 {
                continue;
            }
            match bit {
                RADIOTAP_NAMESPACE => base = Some(0),
                VENDOR_NAMESPACE => {
                    at = at.next_multiple_of(2);
                    if at + 6 > length {
                        return Err(Bad("radiotap vendor field beyond its header"));
                    }
                    vendor = usize::from(le16(header, at + 4));
                    (base, at) = (None, at + 6);
                }
                _ => {
                    let Some(first) = own else { continue };
                    let Some(&(align, size)) = FIELDS.get((first + bit) as usize) else {
                        radio.unknown_field = true;
                        return Ok((radio, length));
                    };
                    at = at.next_multiple_of(align);
                    let Some(field) = header.get(at..at + size) else {
                        return Err(Bad("radiotap field beyond its header"));
                    };
                    radiotap_field(&mut radio, first + bit, field);
                    at += size;
                }
            }
        }
    }
    Ok((radio, length))
}

fn radiotap_field(radio: &mut Radio, number: u32, field: &[u8]) {
    match number {
        0 => radio.tsft_us = Some(le64(field, 0)),
        1 => {
            let flags = field[0];
            radio.short_preamble = flags & 0x02 != 0;
            radio.fcs = flags & 0x10 != 0;
            radio.padded = flags & 0x20 != 0;
            radio.bad_fcs = flags & 0x40 != 0;
        }
        // With MCS or VHT the rate is not that of the frame.
        2 if field[0] > 0 && radio.modulation == Modulation::Unknown => {
            radio.modulation = Modulation::Legacy { rate_bps: u64::from(field[0]) * 500_000 };
        }
        3 => radio.channel_mhz = radio.channel_mhz.or(Some(le16(field, 0))),
        // Those that follow for single antennas come later.
        5 => radio.signal_dbm = radio.signal_dbm.or(Some(field[0] as i8)),
        // TX flags: the sender's own report; bit 0: failed for too many retries.
        15 => radio.sent_status = Some((le16(field, 0) & 1 != 0, 0)),
        17 => radio.sent_status = radio.sent_status.map(|(failed, _)| (failed, field[0])),
        19 if field[0] & 0x02 != 0 => {
            radio.modulation = Modulation::Ht {
                mcs: field[2],
                width_mhz: if field[0] & 0x01 != 0 && field[1] & 3 == 1 { 40 } else { 20 },
                short_guard: field[0] & 0x04 != 0 && field[1] & 0x04 != 0,
                greenfield: field[0] & 0x08 != 0 && field[1] & 0x08 != 0,
            };
        }
        20 => radio.aggregate = Some(le32(field, 0)),
        21 => {
            radio.modulation = Modulation::Vht {
                mcs: field[4] >> 4,
                streams: field[4] & 0x0f,
                width_mhz: match field[3] {
                    1 | 5 | 6 | 14..=17 => 40,
                    4 | 12 | 13 => 80,
                    11 => 160,
                    _ => 20,
                },
                short_guard: le16(field, 0) & 0x04 != 0 && field[2] & 0x04 != 0,
            };
        }
        // Unit in the low bits: microseconds.
        22 if field[10] & 0x0f == 1 => radio.tsft_us = radio.tsft_us.or(Some(le64(field, 0))),
        23 => radio.modulation = he(field).unwrap_or(Modulation::Unknown),
        _ => {}
    }
}

/// Modulation out of the HE field, as far as it is known whole.
fn he(field: &[u8]) -> Option<Modulation> {
    let known = le16(field, 0);
    // MCS, and bandwidth or resource unit.
    if known & 0x0020 == 0 || known & 0x4000 == 0 {
        return None;
    }
    if le16(field, 4) & 0x1000 != 0 {
        return None; // dual carrier modulation
    }
    let part = le16(field, 8);
    let carriers = match part & 0xf {
        0 | 7 => 234,
        1 | 8 => 468,
        2 | 9 => 980,
        3 | 10 => 1960,
        4 => 24,
        5 => 48,
        6 => 102,
        _ => return None,
    };
    let guard_ns = match part >> 4 & 3 {
        0 => 800,
        1 => 1600,
        2 => 3200,
        _ => return None,
    };
    let mcs = (le16(field, 4) >> 8 & 0xf) as u8;
    Some(Modulation::He { mcs, streams: (le16(field, 10) & 0xf) as u8, carriers, guard_ns })
}

fn ppi(data: &[u8]) -> Result<(Radio, usize), Bad> {
    if data.len() < 8 {
        return Err(Bad("record shorter than a PPI header"));
    }
    let length = usize::from(le16(data, 2));
    if length < 8 || length > data.len() {
        return Err(Bad("PPI header longer than the record"));
    }
    if le32(data, 4) != 105 {
        return Err(Bad("a PPI header without an 802.11 frame behind it"));
    }
    let aligned = data[1] & 1 != 0;
    let mut radio = Radio::default();
    let mut at = 8;
    while at + 4 <= length {
        let (kind, size) = (le16(data, at), usize::from(le16(data, at + 2)));
        at += 4;
        let Some(field) = data[..length].get(at..at + size) else {
            return Err(Bad("PPI field beyond its header"));
        };
        match kind {
            2 if size >= 20 => {
                let flags = le16(field, 8);
                radio.tsft_us = Some(le64(field, 0)).filter(|&t| t != 0);
                radio.tsft_us =
                    radio.tsft_us.map(|t| if flags & 2 != 0 { t.saturating_mul(1000) } else { t });
                radio.fcs = flags & 1 != 0;
                radio.bad_fcs = flags & 4 != 0;
                if le16(field, 10) > 0 && radio.modulation == Modulation::Unknown {
                    radio.modulation = Modulation::Legacy { rate_bps: u64::from(le16(field, 10)) * 500_000 };
                }
                radio.channel_mhz = Some(le16(field, 12)).filter(|&mhz| mhz > 0);
                radio.signal_dbm = Some(field[18] as i8).filter(|&dbm| dbm != 0);
            }
            3 if size >= 8 => radio.aggregate = Some(le32(field, 4)),
            4 if size >= 10 => {
                let flags = le32(field, 0);
                radio.aggregate = Some(le32(field, 4));
                radio.modulation = Modulation::Ht {
                    mcs: field[9],
                    width_mhz: if flags & 2 != 0 { 40 } else { 20 },
                    short_guard: flags & 4 != 0,
                    greenfield: flags & 1 != 0,
                };
            }
            _ => {}
        }
        at += if aligned { size.next_multiple_of(4) } else { size };
    }
    Ok((radio, length))
}

fn prism(data: &[u8]) -> Result<(Radio, usize), Bad> {
    if data.len() < 24 {
        return Err(Bad("record shorter than a Prism header"));
    }
    let stated = le32(data, 4);
    // In the byte order of the host: one of the two is small.
    let swapped = stated.swap_bytes() < stated;
    let word = |at: usize| if swapped { be32(data, at) } else { le32(data, at) };
    let half = |at: usize| {
        let half = le16(data, at);
        if swapped { half.swap_bytes() } else { half }
    };
    let length = word(4) as usize;
    if length < 24 || length > data.len() {
        return Err(Bad("Prism header longer than the record"));
    }
    let mut radio = Radio::default();
    let mut at = 24;
    while at + 12 <= length {
        let (did, absent, value) = (word(at), half(at + 4) != 0, word(at + 8));
        at += 12;
        // linux-wlan-ng counts in bits 12 to 15, madwifi in the upper half.
        let item = if did & 0xffff == 0x0044 { did >> 16 } else { did >> 12 & 0xf };
        if absent {
            continue;
        }
        match item {
            2 => radio.tsft_us = Some(u64::from(value)),
            3 => radio.channel_mhz = frequency_mhz(value),
            6 => radio.signal_dbm = i8::try_from(value as i32).ok().filter(|&dbm| dbm < 0),
            8 if value > 0 && value < 0x100 => {
                radio.modulation = Modulation::Legacy { rate_bps: u64::from(value) * 500_000 };
            }
            _ => {}
        }
    }
    Ok((radio, length))
}

fn avs(data: &[u8]) -> Result<(Radio, usize), Bad> {
    if data.len() < 8 {
        return Err(Bad("record shorter than an AVS header"));
    }
    let length = be32(data, 4) as usize;
    if length < 64 || length > data.len() {
        return Err(Bad("AVS header shorter than its fields, or longer than the record"));
    }
    let mut radio = Radio { tsft_us: Some(u64::from(be32(data, 8)) << 32), ..Radio::default() };
    radio.tsft_us = radio.tsft_us.map(|high| high | u64::from(be32(data, 12)));
    radio.channel_mhz = frequency_mhz(be32(data, 28));
    let rate = be32(data, 32);
    if rate > 0 && rate < 100_000 {
        radio.modulation = Modulation::Legacy { rate_bps: u64::from(rate) * 100_000 };
    }
    // Only decibels over a milliwatt; others are the card's own scale.
    if be32(data, 44) == 2 {
        radio.signal_dbm = i8::try_from(be32(data, 48) as i32).ok();
    }
    radio.short_preamble = be32(data, 56) == 1;
    Ok((radio, length))
}

/// The centre of a channel of 20 MHz by its number.
fn frequency_mhz(channel: u32) -> Option<u16> {
    match channel {
        14 => Some(2484),
        1..=13 => Some(2407 + 5 * channel as u16),
        15..=200 => Some(5000 + 5 * channel as u16),
        _ => None,
    }
}
