//! What a data segment below the highest byte seen is, and what says so.

use crate::tracker::Cause;

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum ArrivalVerdict {
    /// In order: nothing to tell.
    #[default]
    InOrder = 0,
    /// The sender sent it again.
    Retransmission = 1,
    /// Sent once before what is above it, and overtaken.
    Reordered = 2,
    /// A packet that the network delivered twice, or the capture holds twice.
    NetworkDuplicate = 3,
    /// What was seen does not decide.
    Undecided = 4,
}

impl ArrivalVerdict {
    /// Number of them.
    pub const COUNT: usize = 5;
}

/// What a verdict rests on, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Evidence {
    /// Nothing that decides.
    #[default]
    None = 0,
    /// The IP identification, which counts the packets of this direction.
    IpId = 1,
    /// TSval (RFC 7323), against that of the first segment seen above, or of the other copy.
    Timestamp = 2,
    /// Both.
    IpIdAndTimestamp = 3,
    /// Duplicate ACKs or SACK blocks passed at least a round trip before.
    DuplicateAcks = 4,
    /// A timer's silence before it.
    Silence = 5,
    /// It came sooner than anything could have been sent in answer.
    TooSoon = 6,
    /// Identifications are missing where no sequence number is: earlier transmissions never came by.
    MissingIds = 7,
    /// What was copied came again later.
    Followed = 8,
    /// It goes on where the retransmission before it ended.
    InTurn = 9,
    /// Its header is not that of the other copy.
    Header = 10,
}

impl Evidence {
    /// Whether it is only how soon it came, and what could have called for it.
    pub(super) fn is_pace(self) -> bool {
        matches!(self, Evidence::DuplicateAcks | Evidence::Silence | Evidence::TooSoon)
    }
}

/// One such segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Arrival {
    pub t_ns: i64,
    pub record: u64,
    pub seq: i64,
    pub length: u32,
    /// On the wire.
    pub segments: u32,
    pub verdict: ArrivalVerdict,
    pub evidence: Evidence,
    /// Of a retransmission.
    pub cause: Cause,
    /// It carried on where all that was seen ended.
    pub in_order: bool,
    /// It brought bytes that had not been seen: of a retransmission, an earlier copy of them was lost before this point.
    pub fresh: bool,
    /// The same, and others that had.
    pub partial: bool,
}

impl Arrival {
    /// Whether none of its bytes had been seen.
    pub(super) fn is_new(&self) -> bool {
        self.fresh && !self.partial
    }

    /// Segments that it adds to those sent again unseen, and to those lost before this point.
    #[inline(always)]
    pub(super) fn counted(&self) -> [u64; 2] {
        let of = |counts: bool| {
            let again = counts && self.verdict == ArrivalVerdict::Retransmission;
            if again { u64::from(self.segments) } else { 0 }
        };
        [of(self.is_new()), of(self.fresh)]
    }

    /// One past its last sequence number.
    pub(in crate::tracker) fn end(&self) -> i64 {
        self.seq + i64::from(self.length)
    }
}
