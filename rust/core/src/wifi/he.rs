//! How 802.11ax and 802.11be frames were sent, out of the radiotap fields HE, HE-MU, U-SIG and EHT.
//!
//! Reference: radiotap.org; IEEE 802.11-2020 with 802.11ax-2021, sections 27.3.4 (formats), 27.3.11.10
//! (training), 27.5 (parameters); 802.11be, section 36.3.

use super::bytes::{le16, le32};

/// How the bits of a frame went over the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct He {
    /// 0 to 11; 802.11be has 12, 13 and 15 too.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Subcarriers that carry data, of a channel or of the part of it that is the frame's own.
    pub carriers: u16,
    /// Guard interval.
    pub guard_ns: u16,
    /// Each bit on two subcarriers.
    pub dual: bool,
    /// LDPC, which needs no tail bits; else a convolutional code.
    pub ldpc: bool,
    /// What comes before the data, the guard intervals of its training included.
    pub preamble_ns: u32,
}

/// Legacy preamble: short and long training, L-SIG, and its repetition.
const LEGACY_NS: u32 = 24_000;
const SIGNAL_NS: u32 = 8_000;
const SYMBOL_NS: u32 = 4_000;

/// Training: symbols by streams, each so long with its guard interval.
fn training_ns(space_time_streams: u8, count: Option<u32>, size: u16, guard_ns: u16) -> u32 {
    let count = count.unwrap_or(match space_time_streams {
        0 | 1 => 1,
        2 => 2,
        3 | 4 => 4,
        5 | 6 => 6,
        _ => 8,
    });
    let symbol_ns = match size {
        1 => 3_200,
        2 => 6_400,
        3 => 12_800,
        // Not said: what the guard interval goes with.
        _ if guard_ns == 3_200 => 12_800,
        _ => 6_400,
    };
    count * (symbol_ns + u32::from(guard_ns))
}

/// Training symbols by their code: 1, 2, 4, 6, 8.
fn symbols(code: u32) -> u32 {
    if code == 0 { 1 } else { 2 * code }
}

fn guard(code: u16) -> Option<u16> {
    [800, 1600, 3200].get(usize::from(code)).copied()
}

/// Out of the HE field; `None` unless modulation, streams and bandwidth are known.
pub(super) fn high_efficiency(field: &[u8]) -> Option<He> {
    const MCS: u16 = 0x0020;
    const BANDWIDTH: u16 = 0x4000;
    let (known, more, coding) = (le16(field, 0), le16(field, 2), le16(field, 4));
    let (part, streams) = (le16(field, 8), le16(field, 10));
    if known & MCS == 0 || known & BANDWIDTH == 0 {
        return None;
    }
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
    let guard_ns = guard(part >> 4 & 3)?;
    let space_time = (streams & 0xf) as u8;
    if space_time == 0 {
        return None;
    }
    // Space-time coding sends each stream twice.
    let coded = known & 0x0200 != 0 && coding & 0x8000 != 0;
    let count = (more & 0x0004 != 0).then(|| symbols(u32::from(part >> 8 & 7)));
    let head = match known & 3 {
        // Extended range repeats its signal field; in answer to a trigger, the short training is twice as long.
        1 => 2 * SIGNAL_NS + SYMBOL_NS,
        3 => SIGNAL_NS + 2 * SYMBOL_NS,
        _ => SIGNAL_NS + SYMBOL_NS,
    };
    Some(He {
        mcs: (coding >> 8 & 0xf) as u8,
        streams: if coded { space_time.div_ceil(2) } else { space_time },
        carriers,
        guard_ns,
        dual: known & 0x0040 != 0 && coding & 0x1000 != 0,
        ldpc: known & 0x0080 == 0 || coding & 0x2000 != 0,
        preamble_ns: LEGACY_NS + head + training_ns(space_time, count, part >> 6 & 3, guard_ns),
    })
}

/// Add the second signal field of a frame to several stations, where its symbols are told.
pub(super) fn multi_user(sent: &mut He, field: &[u8]) {
    let (first, second) = (le16(field, 0), le16(field, 2));
    // With its short form the field counts stations in place of symbols.
    let short = first & 0x4000 != 0 && second & 0x0008 != 0;
    if first & 0x8000 != 0 && !short {
        sent.preamble_ns += SYMBOL_NS * (1 + u32::from(second >> 4 & 0xf));
    }
}

/// What U-SIG says of the whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Universal {
    carriers: Option<u16>,
    signal_symbols: Option<u32>,
    /// In answer to a trigger.
    triggered: bool,
}

pub(super) fn universal_signal(field: &[u8]) -> Universal {
    let (common, value, mask) = (le32(field, 0), le32(field, 4), le32(field, 8));
    let uplink = common & 0x0004_0004 == 0x0004_0004;
    let kind = (mask & 0xc0 == 0xc0).then_some(value >> 6 & 3);
    Universal {
        carriers: if common & 2 != 0 { whole_channel(common >> 15 & 7) } else { None },
        signal_symbols: (mask & 0x003e_0000 == 0x003e_0000).then_some(1 + (value >> 17 & 0x1f)),
        triggered: uplink && kind == Some(0),
    }
}

fn whole_channel(code: u32) -> Option<u16> {
    [234, 468, 980, 1960, 3920, 3920].get(code as usize).copied()
}

/// Out of the EHT field: of the user whose data follows, or of the only one.
pub(super) fn extremely_high(field: &[u8], signal: Option<Universal>) -> Option<He> {
    let known = le32(field, 0);
    let data = |number: usize| le32(field, 4 + 4 * number);
    let users = || field[40..].chunks_exact(4).map(|user| le32(user, 0));
    let user = users()
        .find(|user| user & 0x80 != 0)
        .or_else(|| (users().count() == 1).then(|| users().next())?)?;
    // Modulation and streams; guard interval.
    if user & 0x02 == 0 || user & 0x10 == 0 || known & 0x04 == 0 {
        return None;
    }
    let part = (known & 0x0040_0000 != 0).then(|| unit(data(1) & 0x1f)).flatten();
    let carriers = part.or(signal.and_then(|signal| signal.carriers))?;
    let guard_ns = guard((data(0) >> 7 & 3) as u16)?;
    let streams = (user >> 24 & 0xf) as u8 + 1;
    let size = (data(0) >> 9 & 3) as u16;
    let count = (known & 0x10 != 0).then(|| symbols(data(0) >> 11 & 7));
    let head = match signal {
        Some(Universal { triggered: true, .. }) => SIGNAL_NS + 2 * SYMBOL_NS,
        Some(Universal { signal_symbols: Some(symbols), .. }) => SIGNAL_NS + (symbols + 1) * SYMBOL_NS,
        // One station's EHT-SIG takes two symbols at its lowest modulation.
        _ => SIGNAL_NS + 3 * SYMBOL_NS,
    };
    Some(He {
        mcs: (user >> 20 & 0xf) as u8,
        streams,
        carriers,
        guard_ns,
        dual: false,
        ldpc: user & 0x04 == 0 || user & 0x0008_0000 != 0,
        preamble_ns: LEGACY_NS + head + training_ns(streams, count, size, guard_ns),
    })
}

/// Subcarriers of a resource unit, or of several together.
fn unit(code: u32) -> Option<u16> {
    [24, 48, 102, 234, 468, 980, 1960, 3920, 72, 126, 702, 1448, 1682, 2428, 2940, 3408]
        .get(code as usize)
        .copied()
}
