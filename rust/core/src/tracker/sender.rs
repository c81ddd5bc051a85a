//! One direction of a connection, from its sender's point of view: its state and what it is asked for.

use super::arrivals::{Arrival, ArrivalCounts, Books, Ids};
use super::closures::Closures;
use super::damaged::Damaged;
use super::episode::{Episode, Findings};
use super::history::{Cap, History};
use super::interval::IntervalSet;
use super::newreno::NewReno;
use super::outcome::{CAUSES, Cause, Reordering, Retransmission, State, Totals};
use super::outstanding::Outstanding;
use super::path::Path;
use super::rows::Repetitions;
use super::rtt::{RtoEstimator, RttStatistics};
use super::sequence::Unwrapper;
use super::timeout::Timeout;
use super::undo::TAKEN_BACK;

/// Records that are named at most.
pub(crate) const NAMED: usize = 12;

/// Ticks of a sender's clock from which on its pace is known.
const TICKS: i64 = 100;

/// One direction.
///
/// In the order of how often they are asked for: of many connections that take turns, each packet waits for every line
/// of the cache that it touches here. What begins with `outstanding` is asked for by data and its ACKs, what begins with
/// `isn` seldom.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct Sender {
    pub(super) space: Option<Unwrapper>,
    pub(super) snd_una: i64,
    pub(super) snd_max: i64,
    /// Bits by which this side's windows are shifted, where that is known.
    pub(super) window_shift: Option<u8>,
    pub(super) state: State,
    pub(super) timestamps: bool,
    /// TTL of its packets here; 0 if unknown.
    pub(super) ttl: u8,
    pub(super) sack_permitted: bool,
    /// Whether the last segment that came in told anything new about what was delivered.
    pub(super) last_in_news: bool,
    pub(super) last_in_syn: bool,
    pub(super) path: Option<Box<Path>>,
    /// What of this direction was missing, late or there twice.
    pub(super) books: Option<Box<Books>>,
    pub(super) history: Option<Box<History>>,
    /// How often its own window was closed, if ever.
    pub(super) closures: Option<Box<Closures>>,
    /// What the IP identifications of this direction count.
    pub(super) ids: Ids,
    pub(super) last_out_ns: Option<i64>,
    /// Last TSval sent, when, and the first of that connection, to convert echoed ones to times.
    pub(super) ts_last: Option<(u32, i64)>,
    pub(super) ts_first: Option<(u32, i64)>,
    pub(super) last_in_ns: Option<i64>,
    pub(super) timer_start_ns: i64,
    /// Duplicate ACKs of a connection without SACK, if there were any.
    pub(super) newreno: Option<Box<NewReno>>,
    pub(super) last_window_raw: Option<u16>,
    /// A tail loss probe is out and not answered.
    pub(super) probe_out: bool,
    /// No table of retransmissions or arrivals will be asked for.
    pub(super) sums_up: bool,
    /// Bytes of TCP options in the largest segment.
    pub(super) largest_options: Option<u8>,
    pub(super) totals: Totals,
    pub(super) outstanding: Outstanding,
    pub(super) sent: IntervalSet,
    pub(super) sacked: IntervalSet,
    pub(super) rto: RtoEstimator,
    pub(super) rtt: RttStatistics,
    /// When the most recently sent of the delivered segments was sent (RACK.xmit_ts, RFC 8985).
    pub(super) rack_ns: i64,
    pub(super) dupacks: u32,
    pub(super) largest_segment: u32,
    /// What its SYN announced: the most that it receives in a segment (RFC 9293 section 3.7.1).
    pub(super) mss: Option<u16>,
    pub(super) expiries: u16,
    pub(super) fin_seq: Option<i64>,
    /// The byte of a window probe that is not acknowledged.
    pub(super) probe_byte: Option<i64>,
    pub(super) recover: i64,
    pub(super) ts_head_before: Option<u32>,
    pub(super) isn: Option<u32>,
    pub(super) window_scale: Option<u8>,
    /// The capture cut the options of its SYN, so that those that are missing are unknown.
    pub(super) options_cut: bool,
    /// Identifications were left out before its first data.
    pub(super) first_left_out: bool,
    pub(super) episode: u32,
    /// What had been sent with a probe (`tlp_high_seq`).
    pub(super) probe_high: i64,
    pub(super) timeouts: Vec<Timeout>,
    pub(super) retransmissions: Repetitions,
    /// Segments whose checksum is wrong, if there were any.
    pub(super) damaged: Option<Box<Damaged>>,
}

impl Sender {
    /// Relative sequence number of a raw one; the first number seen founds the space.
    #[inline]
    pub fn unwrap(&mut self, raw: u32, first_byte: bool) -> i64 {
        match self.space {
            Some(space) => space.unwrap(raw, self.snd_max),
            None => {
                let base = if first_byte { raw } else { raw.wrapping_sub(1) };
                self.space = Some(Unwrapper::new(base));
                let relative = i64::from(!first_byte);
                self.snd_una = relative;
                self.snd_max = relative;
                relative
            }
        }
    }

    /// A tick of the clock that its TSval is read from; `None` while too few have passed to show it.
    pub(super) fn tick_ns(&self) -> Option<i64> {
        let ((first, first_ns), (last, last_ns)) = (self.ts_first?, self.ts_last?);
        let ticks = i64::from(last.wrapping_sub(first) as i32);
        (ticks >= TICKS && last_ns > first_ns).then(|| last_ns.saturating_sub(first_ns) / ticks)
    }

    /// Whether nothing was sent but SYNs, of which none is acknowledged.
    pub(super) fn has_sent_only_syn(&self) -> bool {
        self.snd_una == 0 && self.snd_max <= 1 && self.totals.data_segments == 0 && self.totals.fin == 0
    }

    /// Of a host that forgot the SYN+ACK before (SYN cookies, RFC 4987), of another in its place, or of one that was refused
    /// and tries again: the sequence numbers begin anew at this ISN, with so much sent.
    #[cold]
    pub(super) fn begin_at(&mut self, isn: u32, sent: i64) {
        (self.space, self.isn) = (Some(Unwrapper::new(isn)), Some(isn));
        self.snd_max = sent;
        self.outstanding.empty();
    }

    /// Relative sequence number of a raw one; -1 if this direction was never seen.
    pub fn locate(&self, raw: u32) -> i64 {
        self.space.map_or(-1, |space| space.unwrap(raw, self.snd_max))
    }

    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub fn flight(&self) -> i64 {
        self.snd_max - self.snd_una
    }

    /// Payload bytes sent at least once.
    pub fn unique_bytes(&self) -> i64 {
        self.sent.total()
    }

    /// Bytes acknowledged that this capture never saw: what it lost itself. A single one may be a FIN.
    pub fn unseen_bytes(&self) -> i64 {
        let fin = self.fin_acked();
        let acked = self.snd_una - i64::from(fin);
        // Where none of it was seen, from its first byte on, or from the first ACK.
        let first = self.sent.lowest().unwrap_or(1);
        let unseen = (acked - first).max(0) - self.sent.overlap(first, acked);
        if unseen > 1 { unseen } else { 0 }
    }

    /// Whether all data that was acknowledged was seen, and all that was sent was acknowledged.
    pub fn is_whole(&self) -> bool {
        self.unseen_bytes() == 0 && self.snd_una >= self.snd_max
    }

    /// Whether its FIN was acknowledged.
    pub fn fin_acked(&self) -> bool {
        self.fin_seq.is_some_and(|fin| self.snd_una > fin)
    }

    /// Payload bytes acknowledged cumulatively, of those seen.
    pub fn acked_bytes(&self) -> i64 {
        self.sent.overlap(i64::MIN / 2, self.snd_una)
    }

    /// Payload of a full segment: the MSS agreed less the options that data comes with (RFC 6691 section 2); 0 if unknown.
    #[inline(always)]
    pub fn segment_size(&self) -> u32 {
        let offered = if self.timestamps { 12 } else { 0 };
        let options = self.largest_options.unwrap_or(offered);
        self.ids.agreed_mss().saturating_sub(u32::from(options))
    }
}

/// Segments on the wire of a captured one, which may be a super-segment: the kernel counts those.
#[inline(always)]
pub(super) fn wire_segments(length: u32, segment_size: u32) -> u64 {
    if segment_size == 0 || length <= segment_size { 1 } else { u64::from(length.div_ceil(segment_size)) }
}

/// What a finished connection is asked for.
impl Sender {
    /// Counts.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// RTT samples after Karn.
    pub fn rtt(&self) -> &RttStatistics {
        &self.rtt
    }

    /// The estimator at the end.
    pub fn rto(&self) -> &RtoEstimator {
        &self.rto
    }

    /// Every segment that carried bytes sent before; of a tracker that sums up, the first few.
    pub fn retransmissions(&self) -> &[Retransmission] {
        self.retransmissions.kept()
    }

    /// Data segments that are retransmissions, reordered or there twice, as this point saw them; of a tracker that sums
    /// up, the last few.
    pub fn arrivals(&self) -> &[Arrival] {
        self.books.as_ref().map_or(&[], |books| books.arrivals())
    }

    /// What those come to.
    pub fn arrival_counts(&self) -> ArrivalCounts {
        let least_ns = self.rtt.min().unwrap_or(i64::MAX);
        self.books.as_ref().map_or(ArrivalCounts::default(), |books| books.counts().measured(least_ns))
    }

    /// Segments sent again by cause, on the wire; those of which no earlier copy was seen among them.
    pub fn retransmission_counts(&self) -> [u64; CAUSES] {
        let mut counts = self.totals.retransmissions;
        if let Some(books) = &self.books {
            counts.iter_mut().zip(books.counts().inferred).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    /// Retransmissions of data: of all, without those of its SYN.
    pub(in crate::tracker) fn data_retransmissions(&self) -> u64 {
        let counts = self.retransmission_counts();
        counts.iter().skip(1).sum::<u64>() - counts[Cause::Handshake as usize]
    }

    /// Packets that show that it lost something: of the first timeouts, or of the first retransmissions.
    pub fn loss_records(&self) -> Vec<u64> {
        let timeouts: Vec<u64> = self.timeouts.iter().take(NAMED).map(|one| one.record).collect();
        if timeouts.is_empty() { self.retransmissions.first_records().collect() } else { timeouts }
    }

    /// How often its own window was closed.
    pub fn closures(&self) -> Closures {
        self.closures.as_deref().copied().unwrap_or_default()
    }

    /// When any of the data that is not acknowledged was first sent. Of the first of it, away from the sender only a later copy may
    /// have come by.
    pub fn unacked_since_ns(&self) -> Option<i64> {
        self.outstanding.iter().filter(|run| run.end > self.snd_una).map(|run| run.first_ns).min()
    }

    /// Every expiry of the retransmission timer.
    pub fn timeouts(&self) -> &[Timeout] {
        &self.timeouts
    }

    /// Whether anything was lost or reordered, as far as it shows here.
    pub fn has_history(&self) -> bool {
        self.history.is_some()
    }

    /// Every recovery episode.
    pub fn episodes(&self) -> &[Episode] {
        self.history.as_ref().map_or(&[], |history| &history.episodes)
    }

    /// What the retransmissions of an episode come to; `min_rtt_ns` is the smallest RTT of the connection.
    pub fn findings(&self, episode: &Episode, min_rtt_ns: Option<i64>) -> Findings {
        let rows = self.retransmissions().get(episode.first as usize..).unwrap_or_default();
        let at = self.timeouts.partition_point(|timeout| timeout.record < episode.record);
        let timer = self.timeouts.get(at).filter(|timeout| timeout.record == episode.record);
        Findings::of(rows.iter().take_while(|row| row.episode == episode.number), min_rtt_ns, timer)
    }

    /// Reordering that ACKs showed.
    pub fn reordering(&self) -> Reordering {
        self.history.as_ref().map_or(Reordering::default(), |history| history.reordering)
    }

    /// How often a Linux sender takes a recovery back, by way.
    pub fn taken_back(&self) -> [u32; TAKEN_BACK] {
        self.history.as_ref().map_or([0; TAKEN_BACK], |history| history.undo.counts)
    }

    /// Segments sent again although they had arrived: the receiver reports so many duplicates (RFC 2883). 0 where the
    /// network duplicates packets: the reports say nothing of what was sent again then (RFC 3708 section 3).
    pub fn needless(&self) -> u64 {
        if self.history.as_ref().is_none_or(|history| history.duplicating) {
            return 0;
        }
        let sent_again: u64 = self.totals.retransmissions.iter().skip(1).sum();
        self.totals.dsack_segments.min(sent_again)
    }

    /// From the first data segment to the last ACK that brought anything new, nanoseconds; `None` without either.
    pub fn data_ns(&self) -> Option<i128> {
        let (first_ns, last_ns) = (self.totals.first_data_ns?, self.totals.last_advance_ns?);
        (last_ns > first_ns).then(|| i128::from(last_ns) - i128::from(first_ns))
    }

    /// How long after the last ACK the last data came by, nanoseconds, if that was acknowledged already: its sender had not
    /// received the ACK, but the transfer was complete. 0 otherwise.
    pub fn after_the_end_ns(&self) -> i64 {
        let acked_ns = self.totals.last_advance_ns.filter(|_| self.snd_una >= self.snd_max);
        acked_ns
            .zip(self.totals.last_data_ns)
            .map_or(0, |(acked_ns, data_ns)| data_ns.saturating_sub(acked_ns).max(0))
    }

    /// Retransmissions that were lost in their turn, as Linux counts them (`TCPLostRetransmit`).
    pub fn lost_again(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.lost_again)
    }

    /// Segments that were sent again as parts of longer ones, less one for each of these.
    pub fn merged(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.merged)
    }

    /// The stack's largest timeout, nanoseconds, and what shows that it is set low; `None` if nothing does.
    pub fn rto_cap(&self) -> Option<(i64, Cap)> {
        let cap = self.history.as_ref()?.cap;
        self.rto.capped_us().map(|cap_us| (cap_us * 1000, cap))
    }

    /// Causes that what followed put right, by record.
    pub fn corrections(&self) -> &[(u64, Cause)] {
        self.history.as_ref().map_or(&[], |history| &history.corrections)
    }

    /// Raw ISN, if the SYN was seen.
    pub fn isn(&self) -> Option<u32> {
        self.isn
    }

    /// Raw sequence number that is relative 0, if any was seen.
    pub fn base(&self) -> Option<u32> {
        self.space.map(|space| space.base)
    }

    /// TTL (hop limit) of its packets here, but for resets; 0 if unknown.
    pub fn ttl(&self) -> u8 {
        self.ttl
    }

    /// Options of the SYN: MSS, window scale, SACK permitted; and whether timestamps were used.
    pub fn options(&self) -> (Option<u16>, Option<u8>, bool, bool) {
        (self.mss, self.window_scale, self.sack_permitted, self.timestamps)
    }

    /// The smaller MSS of both SYNs, or that of the one that was captured: neither end sends more in a segment.
    pub fn agreed_mss(&self) -> Option<u32> {
        Some(self.ids.agreed_mss()).filter(|&mss| mss > 0)
    }

    /// Whether the capture cut those of the SYN, so that none that is missing is known to be absent.
    pub fn options_cut(&self) -> bool {
        self.options_cut
    }

    /// Largest payload in one captured segment.
    pub fn largest_segment(&self) -> u32 {
        self.largest_segment
    }

    /// Highest number acknowledged, and one past the highest sent.
    pub fn edges(&self) -> (i64, i64) {
        (self.snd_una, self.snd_max)
    }
}
