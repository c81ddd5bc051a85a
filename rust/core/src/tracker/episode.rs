//! Recovery episodes: from the first retransmission to the ACK of all that was outstanding then, with a verdict.

use super::outcome::{Cause, Retransmission};
use super::tail::LoneTail;
use super::timeout::{Timeout, Verdict, Vote};
use super::undo::TakenBack;

/// What called for a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Trigger {
    /// The retransmission timer (RFC 6298).
    Timer = 0,
    /// Duplicate ACKs alone (RFC 5681).
    DuplicateAcks = 1,
    /// Three segments' worth of data above it was selectively acknowledged (RFC 6675).
    Sack = 2,
    /// Something that was sent later had been delivered (RFC 8985).
    Rack = 3,
}

/// One loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// From 1, per direction.
    pub number: u32,
    /// First retransmission.
    pub t_ns: i64,
    /// Packet number of it.
    pub record: u64,
    /// Why it was sent again.
    pub cause: Cause,
    /// What showed that.
    pub trigger: Trigger,
    /// Its sequence number.
    pub seq: i64,
    /// Cumulative point when it began.
    pub entry: i64,
    /// The recovery ends when this is acknowledged (RFC 6582: recover).
    pub recover: i64,
    /// When it did, or was taken back.
    pub end_ns: Option<i64>,
    /// Packet number of the ACK that ended it; 0 if none did.
    pub end_record: u64,
    /// Expiries of the timer in it.
    pub timeouts: u32,
    /// How a Linux sender takes it back.
    pub taken_back: TakenBack,
    /// Place of its first retransmission in the list of the direction.
    pub first: u32,
}

impl Episode {
    /// That of an expiry that was recognised afterwards.
    pub(super) fn of_lone_tail(tail: &LoneTail, number: u32) -> Self {
        let timeout = &tail.timeout;
        Episode {
            number,
            t_ns: timeout.t_ns,
            record: timeout.record,
            cause: Cause::Timeout,
            trigger: Trigger::Timer,
            seq: timeout.seq,
            entry: timeout.seq,
            recover: timeout.snd_max,
            end_ns: timeout.answer_after_ns.map(|after_ns| timeout.t_ns + after_ns),
            end_record: timeout.answer_record,
            timeouts: 1,
            taken_back: TakenBack::No,
            first: tail.place,
        }
    }
}

/// What the retransmissions of an episode come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Findings {
    pub segments: u32,
    pub bytes: u64,
    pub spurious: u32,
    pub genuine: u32,
    pub eifel: Vote,
    pub dsack: Vote,
    pub too_early: Vote,
    pub ack_path: Vote,
    pub verdict: Verdict,
}

impl Findings {
    /// Of the retransmissions of one episode, in order. It was needed if one of them was; spurious if the one that
    /// opened it was and nothing shows that another was needed. For a timer, its own verdict counts.
    pub fn of<'a>(
        segments: impl Iterator<Item = &'a Retransmission>,
        min_rtt_ns: Option<i64>,
        timer: Option<&Timeout>,
    ) -> Self {
        let mut found = Findings::default();
        let mut opening = Verdict::Inconclusive;
        for segment in segments {
            let verdict = segment.verdict(min_rtt_ns);
            if found.segments == 0 {
                opening = verdict;
            }
            found.segments += 1;
            found.bytes += u64::from(segment.duplicate);
            found.spurious += u32::from(verdict == Verdict::Spurious);
            found.genuine += u32::from(verdict == Verdict::Genuine);
            found.eifel = found.eifel.or_needed(segment.eifel);
            found.dsack = found.dsack.or_needed(segment.dsack);
            found.too_early = found.too_early.or_needed(segment.too_early(min_rtt_ns));
        }
        found.ack_path = timer.map_or(Vote::Abstains, |timer| timer.ack_path);
        found.verdict = match (timer, found.genuine, opening) {
            (Some(timer), _, _) => timer.verdict(min_rtt_ns),
            (None, 1.., _) => Verdict::Genuine,
            (None, 0, opening) => opening,
        };
        found
    }
}
