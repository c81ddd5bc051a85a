//! Headers of capture before radiotap: PPI, Prism, AVS.
//!
//! Reference: the CACE PPI specification; linux-wlan-ng's Prism header; the AVS capture header.

use super::bytes::{be32, le16, le32, le64};
use super::radio::{Bad, Modulation, Radio};

pub(super) fn ppi(data: &[u8]) -> Result<(Radio, usize), Bad> {
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

pub(super) fn prism(data: &[u8]) -> Result<(Radio, usize), Bad> {
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

pub(super) fn avs(data: &[u8]) -> Result<(Radio, usize), Bad> {
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
