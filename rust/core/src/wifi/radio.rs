//! What stands in front of an 802.11 frame in a capture: radiotap, PPI, Prism, AVS, or nothing.

use super::bytes::be32;
use super::cards::{avs, ppi, prism};
use super::he::He;
use super::radiotap::radiotap;

/// LINKTYPE_ numbers of captures of 802.11 frames.
pub const LINK_TYPES: [u16; 5] = [105, 119, 127, 163, 192];

/// How the bits went over the air.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Modulation {
    /// Not said, or not whole.
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
    /// 802.11ax, 802.11be.
    He(He),
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
    /// What the legacy preamble in front says of how long the whole lasts.
    pub signalled_ns: Option<i64>,
    /// No frame follows: it was sent for its preamble alone, or could not be received.
    pub no_frame: Option<NoFrame>,
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

/// Why there is a header and no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFrame {
    /// Sent for its preamble: beamforming sounds the channel so.
    Sounding,
    /// Sent to others, who alone could receive it: its preamble was heard.
    NotCaptured,
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
