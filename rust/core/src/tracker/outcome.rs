//! What the tracker says of a segment, of an ACK and of a whole direction.

use super::timeout::{Verdict, Vote, too_early};

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Cause {
    #[default]
    None = 0,
    Timeout = 1,
    Fast = 2,
    SlowStart = 3,
    TailLossProbe = 4,
    UnneededProbe = 5,
    Unknown = 6,
    /// A SYN+ACK in answer to a SYN that came again.
    Handshake = 7,
}

/// Number of causes, `None` included.
pub const CAUSES: usize = 8;

/// What an ACK says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum AckKind {
    #[default]
    None = 0,
    Advance = 1,
    Duplicate = 2,
    WindowUpdate = 3,
    Repeat = 4,
    Old = 5,
}

/// Loss recovery state, as the congestion avoidance state of Linux (Disorder and CWR count as Open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No loss known.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A segment with bytes sent before, and the evidence for its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Retransmission {
    pub t_ns: i64,
    pub record: u64,
    pub seq: i64,
    pub length: u32,
    pub duplicate: u32,
    pub cause: Cause,
    pub transmission: u16,
    pub since_sent_ns: i64,
    pub since_ack_ns: i64,
    pub dupacks: u32,
    pub sacked: i64,
    pub rto_ns: i64,
    pub episode: u32,
    /// The other cause that the same packets would have, if what followed did not decide it.
    pub alternative: Cause,
    /// RFC 3522.
    pub eifel: Vote,
    /// RFC 2883.
    pub dsack: Vote,
    /// How long after it the first ACK or SACK block came that covers it.
    pub answer_after_ns: Option<i64>,
    /// Packet number of that; 0 if none came.
    pub answer_record: u64,
    /// The ACKs after an expiry answer every copy since as a needless one.
    pub shown_needless: bool,
    /// TSval of it, if no earlier copy can have had the same.
    pub ts_val: Option<u32>,
    /// What was sent with a later TSval was surely sent after the copy before.
    pub ts_later: Option<u32>,
}

impl Retransmission {
    /// Vote by the time of the answer, against the smallest RTT of the connection.
    pub fn too_early(&self, min_rtt_ns: Option<i64>) -> Vote {
        if matches!(self.cause, Cause::Timeout | Cause::SlowStart) && !self.shown_needless {
            return Vote::Abstains;
        }
        too_early(self.answer_after_ns, min_rtt_ns)
    }

    /// Whether an earlier copy had arrived: proofs that one did come first, then the echoed timestamp.
    pub fn verdict(&self, min_rtt_ns: Option<i64>) -> Verdict {
        Verdict::first_of([self.too_early(min_rtt_ns), self.dsack, self.eifel])
    }
}

/// Segments sent once that arrived behind later ones, as SACK blocks and ACKs show it (RFC 4737, RFC 8985).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reordering {
    /// ACKs that showed it by what they acknowledge (`TCPSACKReorder`).
    pub by_sack: u64,
    /// ACKs that showed it by an old timestamp (`TCPTSReorder`).
    pub by_timestamp: u64,
    /// Farthest from the start of such a segment to the end of what had arrived before it, bytes.
    pub extent: i64,
}

/// What a sent segment did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct SendOutcome {
    pub duplicate: u32,
    pub transmission: u16,
    pub cause: Cause,
    /// By the identifications, ACKs right before it were lost before this point.
    pub acks_lost: bool,
}

/// What an ACK did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct AckOutcome {
    pub kind: AckKind,
    /// The round-trip time that it measures by what was sent once (Karn's rule).
    pub rtt_ns: Option<i64>,
    /// Whether that is by what it acknowledges selectively (Linux `tcp_sacktag_one`), not cumulatively.
    pub by_sack: bool,
}

/// Totals of one direction, those first that most segments change.
///
/// `ece` are its segments that report a mark of a router, `ce` those that carry one, and `cwr` those that say that their sender
/// reduced its congestion window for one (RFC 3168 section 6.1). Where both ends count marks instead (`counts_marks`, RFC 9768),
/// these flags are digits of a number, and are not counted. `rst_ttl` is the TTL of the first RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
#[repr(C)]
pub struct Totals {
    pub segments: u64,
    pub max_flight: i64,
    pub max_window: i64,
    pub data_segments: u64,
    pub data_bytes: u64,
    pub last_data_ns: Option<i64>,
    pub last_advance_ns: Option<i64>,
    pub good_checksums: u64,
    pub probe_segments: u64,
    pub first_data_ns: Option<i64>,
    pub sack_segments: u64,
    pub duplicate_acks: u64,
    pub duplicate_bytes: u64,
    pub retransmissions: [u64; CAUSES],
    pub new_data_probes: u64,
    pub out_of_order: u64,
    pub syn: u32,
    pub fin: u32,
    pub rst: u32,
    pub last_rst_ns: Option<i64>,
    pub corrupted: u32,
    pub bad_checksums: u32,
    pub dsacks: u64,
    pub dsack_segments: u64,
    pub zero_windows: u64,
    pub window_updates: u64,
    pub ece: u32,
    pub ce: u32,
    pub cwr: u32,
    pub counts_marks: bool,
    pub rst_ttl: u8,
}
