//! The radiotap header: which fields there are, and what they say.
//!
//! Reference: radiotap.org; `ieee80211_radiotap.h` of Linux.

use super::bytes::{le16, le32, le64};
use super::he;
use super::radio::{Bad, Modulation, NoFrame, Radio};

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
/// Behind the fields follow others, each with its type and length.
const TYPED: u32 = 28;
const RADIOTAP_NAMESPACE: u32 = 29;
const VENDOR_NAMESPACE: u32 = 30;
const MORE: u32 = 31;

pub(super) fn radiotap(data: &[u8]) -> Result<(Radio, usize), Bad> {
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
    let typed = words[0] >> TYPED & 1 != 0;
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
                TYPED if own == Some(0) => {}
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
    if typed {
        typed_fields(&mut radio, header, at)?;
    }
    Ok((radio, length))
}

/// Fields with a type and a length, each filled up to a multiple of four bytes.
fn typed_fields(radio: &mut Radio, header: &[u8], at: usize) -> Result<(), Bad> {
    const U_SIG: u16 = 33;
    const EHT: u16 = 34;
    let mut rest = header.get(at.next_multiple_of(4)..).unwrap_or_default();
    let mut signal = None;
    while rest.len() >= 4 {
        let (kind, size) = (le16(rest, 0), usize::from(le16(rest, 2)));
        let Some(field) = rest.get(4..4 + size) else {
            return Err(Bad("radiotap field beyond its header"));
        };
        match kind {
            U_SIG if size >= 12 => signal = Some(he::universal_signal(field)),
            EHT if size >= 40 => {
                radio.modulation =
                    he::extremely_high(field, signal).map_or(Modulation::Unknown, Modulation::He);
            }
            _ => {}
        }
        rest = rest.get((4 + size).next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
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
        23 => radio.modulation = he::high_efficiency(field).map_or(Modulation::Unknown, Modulation::He),
        24 => {
            if let Modulation::He(sent) = &mut radio.modulation {
                he::multi_user(sent, field);
            }
        }
        26 => {
            radio.no_frame = match field[0] {
                0 => Some(NoFrame::Sounding),
                1 => Some(NoFrame::NotCaptured),
                _ => None,
            }
        }
        // L-SIG with its length known, at 6 Mb/s: what follows is no legacy frame.
        27 if le16(field, 0) & 2 != 0 && matches!(radio.modulation, Modulation::Legacy { .. }) => {}
        27 if le16(field, 0) & 2 != 0 => {
            let length = i64::from(le16(field, 2) >> 4);
            radio.signalled_ns = Some(20_000 + 4_000 * ((length + 3 + 2) / 3));
        }
        _ => {}
    }
}
