//! How long a frame was on the air, from its rate, its length and its preamble.
//!
//! Reference: IEEE 802.11-2020 sections 15.2 (DSSS), 16.2 (CCK), 17.4.3 (OFDM), 18.3 (ERP), 19.4.3 (HT),
//! 21.4.3 (VHT).

use super::radio::{Modulation, Radio};

/// Time between a frame and its acknowledgement at most: SIFS of 5 GHz and of OFDM in 2.4 GHz with its
/// signal extension.
pub const SIFS_NS: i64 = 16_000;

/// Rate of the physical layer, bits per second.
pub fn rate_bps(modulation: Modulation) -> Option<u64> {
    match modulation {
        Modulation::Legacy { rate_bps } => Some(rate_bps),
        Modulation::Unknown => None,
        _ => {
            let (bits, symbol_ns) = symbol(modulation)?;
            Some(bits * 1_000_000_000 / symbol_ns)
        }
    }
}

/// MCS index, as its standard numbers it.
pub fn mcs(modulation: Modulation) -> Option<u8> {
    match modulation {
        Modulation::Ht { mcs, .. } | Modulation::Vht { mcs, .. } | Modulation::He { mcs, .. } => Some(mcs),
        _ => None,
    }
}

/// Nanoseconds on the air of a frame of `length` bytes with its frame check sequence; `first`: with a
/// preamble of its own, as not the later frames of an A-MPDU have one.
pub fn airtime_ns(radio: &Radio, length: usize, first: bool) -> Option<i64> {
    let bits = 8 * length as u64;
    match radio.modulation {
        // The training fields of HE have lengths that its radiotap field need not tell.
        Modulation::Unknown | Modulation::He { .. } => None,
        Modulation::Legacy { rate_bps: 0 } => None,
        Modulation::Legacy { rate_bps }
            if matches!(rate_bps, 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000) =>
        {
            let preamble = if radio.short_preamble && rate_bps > 1_000_000 { 96_000 } else { 192_000 };
            Some((preamble + bits * 1_000_000_000 / rate_bps) as i64)
        }
        Modulation::Legacy { rate_bps } => {
            // Service and tail bits; 4 us a symbol. Below 3 GHz a signal extension of 6 us follows.
            let symbols = (16 + bits + 6).div_ceil((rate_bps / 250_000).max(1));
            let extension = if radio.channel_mhz.is_some_and(|mhz| mhz < 3000) { 6_000 } else { 0 };
            Some((20_000 + 4_000 * symbols + extension) as i64)
        }
        modulation => {
            let (per_symbol, symbol_ns) = symbol(modulation)?;
            let on_air =
                (16 * u64::from(first) + bits + 6 * u64::from(first)).div_ceil(per_symbol) * symbol_ns;
            Some((on_air + if first { preamble_ns(modulation) } else { 0 }) as i64)
        }
    }
}

/// Data bits of a subcarrier times 6, of one stream, by MCS 0 to 11.
const SIXTHS: [u64; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];

/// Bits of a symbol and its length.
fn symbol(modulation: Modulation) -> Option<(u64, u64)> {
    if let Modulation::He { mcs, streams, carriers, guard_ns } = modulation {
        let bits = SIXTHS.get(usize::from(mcs))? * u64::from(carriers) * u64::from(streams.clamp(1, 8)) / 6;
        return Some((bits, 12_800 + u64::from(guard_ns)));
    }
    let (mcs, streams, width, short) = match modulation {
        Modulation::Ht { mcs, width_mhz, short_guard, .. } if mcs < 32 => {
            (mcs % 8, u64::from(mcs / 8 + 1), width_mhz, short_guard)
        }
        Modulation::Vht { mcs, streams, width_mhz, short_guard }
            if mcs < 10 && (1..=8).contains(&streams) =>
        {
            (mcs, u64::from(streams), width_mhz, short_guard)
        }
        _ => return None,
    };
    let carriers = match width {
        40 => 108,
        80 => 234,
        160 => 468,
        _ => 52,
    };
    Some((SIXTHS[usize::from(mcs)] * carriers / 6 * streams, if short { 3_600 } else { 4_000 }))
}

fn preamble_ns(modulation: Modulation) -> u64 {
    // A long training field per stream; three streams use four.
    let fields = |streams: u64| if streams == 3 { 4 } else { streams };
    match modulation {
        Modulation::Ht { mcs, greenfield, .. } => {
            let training = 4_000 * fields(u64::from(mcs / 8 + 1));
            if greenfield { 20_000 + training } else { 32_000 + training }
        }
        Modulation::Vht { streams, .. } => 36_000 + 4_000 * fields(u64::from(streams)),
        _ => 20_000,
    }
}
