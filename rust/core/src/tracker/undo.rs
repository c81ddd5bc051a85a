//! When Linux takes a loss recovery back, and by which of its counters (`tcp_try_undo_*`, `tcp_process_loss`).
//!
//! The rules are those of RFC 3522 and 4015 (echoed timestamps), RFC 3708 (every retransmission reported as a
//! duplicate) and RFC 5682 (F-RTO). A host that has one of them switched off goes on sending again instead: that
//! shows, and what was foreseen is taken off the count.

use super::outcome::State;

/// How a recovery was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum TakenBack {
    /// Not at all.
    #[default]
    No = 0,
    /// After a timeout (`TCPLossUndo`).
    Loss = 1,
    /// The same by F-RTO (`TCPLossUndo` and `TCPSpuriousRTOs`).
    Frto = 2,
    /// At the end of a fast recovery (`TCPFullUndo`).
    Full = 3,
    /// In the middle of one (`TCPPartialUndo`).
    Partial = 4,
    /// When duplicates had been reported for all (`TCPDSACKUndo`).
    Dsack = 5,
}

/// Number of them, `No` included.
pub const TAKEN_BACK: usize = 6;

/// What an ACK told that matters here.
#[derive(Debug, Clone, Copy)]
pub struct News {
    /// State before the ACK.
    pub state: State,
    /// The cumulative point moved.
    pub advanced: bool,
    /// It has reached the recovery point.
    pub recovered: bool,
    /// Data below the recovery point arrived that was sent once only.
    pub original: bool,
    /// It was a duplicate ACK or brought a SACK block.
    pub duplicate: bool,
    /// New data had been sent since the timeout.
    pub sent_new: bool,
    /// Retransmitted segments still on their way.
    pub retrans_out: u32,
    /// The connection uses SACK.
    pub sack: bool,
}

/// The stack's notes on the recovery that it may take back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Undo {
    /// `undo_marker`: everything was acknowledged up to here when it began.
    marker: Option<i64>,
    /// What it was before something was taken back.
    marker_before: Option<i64>,
    /// `undo_retrans`: retransmissions not reported as duplicates; -1 before the first.
    unreported: i64,
    /// `retrans_stamp`: TSval of the first.
    stamp: Option<u32>,
    /// F-RTO is under way.
    frto: bool,
    /// Whether the host does F-RTO, if it has shown.
    does_frto: Option<bool>,
    /// How often each way was taken.
    pub counts: [u32; TAKEN_BACK],
}

impl Undo {
    /// A recovery begins (`tcp_init_undo`) with so many retransmissions on their way; `fresh` if none was going on.
    pub fn begin(&mut self, snd_una: i64, in_flight: u32, fresh: bool) {
        self.marker = Some(snd_una);
        self.unreported = if in_flight > 0 { i64::from(in_flight) } else { -1 };
        if fresh {
            self.stamp = None;
        }
    }

    /// No retransmission counts as the first any more.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// The timer expired, or the refill began: whether the next ACKs are looked at as F-RTO does.
    pub fn expect_frto(&mut self, yes: bool) {
        self.frto = yes && self.does_frto != Some(false);
    }

    /// Segments are sent again, with this timestamp.
    pub fn sent_again(&mut self, segments: u64, ts_val: Option<u32>) {
        self.unreported = self.unreported.max(0).saturating_add(segments as i64);
        self.stamp = self.stamp.or(ts_val);
    }

    /// So many segments that end at `end` were reported as duplicates.
    pub fn reported(&mut self, end: i64, segments: u64) {
        if self.unreported > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.unreported = (self.unreported - segments as i64).max(0);
        }
    }

    /// What an ACK takes back; `delayed`: whether its echo [is](Self::is_delayed).
    pub fn on_ack(&mut self, news: &News, delayed: bool) -> TakenBack {
        let all_reported = self.all_reported();
        let may = all_reported || delayed;
        let found = match news.state {
            State::Recovery if news.recovered => {
                if may {
                    TakenBack::Full
                } else {
                    TakenBack::No
                }
            }
            State::Recovery if news.advanced && delayed => {
                if news.retrans_out > 0 {
                    TakenBack::No
                } else {
                    TakenBack::Partial
                }
            }
            State::Loss if news.advanced && may => TakenBack::Loss,
            State::Loss if self.frto && news.original => TakenBack::Frto,
            State::Loss => {
                if news.sent_new && news.duplicate {
                    self.frto = false;
                }
                TakenBack::No
            }
            State::Recovery | State::Open if all_reported => TakenBack::Dsack,
            _ => TakenBack::No,
        };
        if found != TakenBack::No {
            self.marker_before = self.marker.take();
            self.counts[found as usize] += 1;
        }
        if found == TakenBack::Frto || (found == TakenBack::Loss && news.sack) {
            self.frto = false;
        }
        found
    }

    /// New data follows what was taken back.
    pub fn confirm(&mut self, taken: TakenBack) {
        if taken == TakenBack::Frto {
            self.does_frto = Some(true);
        }
    }

    /// F-RTO is under way, and it is open whether the host does it.
    pub fn awaits_frto(&self) -> bool {
        self.frto && self.does_frto.is_none()
    }

    /// The host does what only F-RTO does.
    pub fn show_frto(&mut self) {
        self.does_frto = Some(true);
    }

    /// Whether the host has shown that it does F-RTO.
    pub fn shows_frto(&self) -> bool {
        self.does_frto == Some(true)
    }

    /// The host goes on as if nothing had been taken back.
    pub fn revoke(&mut self, taken: TakenBack) {
        let count = &mut self.counts[taken as usize];
        *count = count.saturating_sub(1);
        self.marker = self.marker_before;
        if taken == TakenBack::Frto {
            self.does_frto = Some(false);
        }
    }

    /// Whether every retransmission of the recovery was reported as a duplicate.
    pub fn all_reported(&self) -> bool {
        self.marker.is_some() && self.unreported == 0
    }

    /// Whether there is a recovery that may be taken back.
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// The echo is older than the first retransmission (`tcp_packet_delayed`).
    pub fn is_delayed(&self, ts_ecr: Option<u32>) -> bool {
        self.marker.is_some()
            && matches!((self.stamp, ts_ecr), (Some(sent), Some(echoed)) if (echoed.wrapping_sub(sent) as i32) < 0)
    }
}
