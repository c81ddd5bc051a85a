//! How long frames were on the air, from their rate, their length and their preamble.
//!
//! Reference: IEEE 802.11-2020 sections 15.2 (DSSS), 16.2 (CCK), 17.4.3 (OFDM), 18.3 (ERP), 19.4.3 (HT),
//! 21.4.3 (VHT), 9.7.1 (A-MPDU); 802.11ax-2021 section 27.4.3 (HE).

use super::he::He;
use super::radio::{Modulation, Radio};

/// Time between a frame and its acknowledgement at most: SIFS of 5 GHz and of OFDM in 2.4 GHz with its
/// signal extension.
pub const SIFS_NS: i64 = 16_000;

/// Bytes of a transmission at most (HE: 6 500 631); a header that says more is damaged.
const LONGEST: u64 = 1 << 23;

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
        Modulation::Ht { mcs, .. } | Modulation::Vht { mcs, .. } | Modulation::He(He { mcs, .. }) => {
            Some(mcs)
        }
        _ => None,
    }
}

/// Nanoseconds on the air of a transmission of `length` bytes with their frame check sequences: one frame, or
/// the frames of an A-MPDU with what is between them.
///
/// The packet extension of HE, up to 16 us, is told by no field: only L-SIG knows it.
pub fn airtime_ns(radio: &Radio, length: u64) -> Option<i64> {
    if length > LONGEST {
        return None;
    }
    let bits = 8 * length;
    match radio.modulation {
        Modulation::Unknown | Modulation::Legacy { rate_bps: 0 } => None,
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
            let tail = if matches!(modulation, Modulation::He(He { ldpc: true, .. })) { 0 } else { 6 };
            let on_air = (16 + bits + tail).div_ceil(per_symbol.max(1)) * symbol_ns;
            Some((on_air + preamble_ns(modulation)) as i64)
        }
    }
}

/// Data bits of a subcarrier times 12, of one stream, by MCS 0 to 13; the last two are of 802.11be.
const TWELFTHS: [u64; 14] = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100, 108, 120];

/// Bits of a symbol and its length.
fn symbol(modulation: Modulation) -> Option<(u64, u64)> {
    if let Modulation::He(He { mcs, streams, carriers, guard_ns, dual, .. }) = modulation {
        // MCS 15: the lowest modulation, each bit on two subcarriers.
        let twelfths = if mcs == 15 { 3 } else { *TWELFTHS.get(usize::from(mcs))? };
        let bits = twelfths * u64::from(carriers) * u64::from(streams.clamp(1, 16)) / 12;
        return Some((if dual { bits / 2 } else { bits }, 12_800 + u64::from(guard_ns)));
    }
    let (mcs, streams, width, short) = match modulation {
        Modulation::Ht { mcs, width_mhz, short_guard, .. } if mcs < 32 => {
            (mcs % 8, u64::from(mcs / 8 + 1), width_mhz, short_guard)
        }
        Modulation::Vht { mcs, streams, width_mhz, short_guard }
            if mcs < 12 && (1..=8).contains(&streams) =>
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
    Some((TWELFTHS[usize::from(mcs)] * carriers * streams / 12, if short { 3_600 } else { 4_000 }))
}

fn preamble_ns(modulation: Modulation) -> u64 {
    // A long training field per stream, and one more where their number is odd.
    let fields = |streams: u64| if streams > 1 { streams.next_multiple_of(2) } else { 1 };
    match modulation {
        Modulation::Ht { mcs, greenfield, .. } => {
            let training = 4_000 * fields(u64::from(mcs / 8 + 1));
            if greenfield { 20_000 + training } else { 32_000 + training }
        }
        Modulation::Vht { streams, .. } => 36_000 + 4_000 * fields(u64::from(streams)),
        Modulation::He(sent) => u64::from(sent.preamble_ns),
        _ => 20_000,
    }
}

/// The transmission that the frames of an A-MPDU make together: each gets the time that it adds.
#[derive(Debug, Default)]
pub struct Transmission {
    aggregate: Option<u32>,
    length: u64,
    spent_ns: i64,
}

/// A delimiter before each frame, and padding behind it.
const DELIMITER: u64 = 4;

impl Transmission {
    /// Add a frame of `length` bytes with its frame check sequence: its airtime, and whether a transmission
    /// begins with it.
    pub fn frame(&mut self, radio: &Radio, length: usize) -> (Option<i64>, bool) {
        let begins = radio.aggregate.is_none() || radio.aggregate != self.aggregate;
        if begins {
            *self = Transmission { aggregate: radio.aggregate, ..Transmission::default() };
        }
        // All frames of VHT and later go in aggregates, if only of one.
        let wrapped = radio.aggregate.is_some()
            || matches!(radio.modulation, Modulation::Vht { .. } | Modulation::He(_));
        // A frame alone lasts as long as L-SIG says; of several, others may not have been heard.
        if radio.aggregate.is_none() && radio.signalled_ns.is_some() {
            return (radio.signalled_ns, true);
        }
        let own = length as u64;
        let whole = self.length + own + if wrapped { DELIMITER } else { 0 };
        let Some(all_ns) = airtime_ns(radio, whole) else { return (None, begins) };
        let added = all_ns - self.spent_ns;
        self.length = if wrapped { whole.next_multiple_of(4) } else { whole };
        self.spent_ns = all_ns;
        (Some(added.max(0)), begins)
    }
}
