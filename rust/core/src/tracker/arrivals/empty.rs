//! Segments without payload that were lost before this point: identifications left out where no data is missing.

use super::ids::Step;
use crate::segment::Segment;
use crate::tracker::path::full_segment;
use crate::tracker::sender::Sender;

/// Identifications to be judged together before others than this direction's packets can be told from them.
const ENOUGH: i64 = 8;

/// So many identifications have to be missing for each that was only overtaken, or the next may be overtaken, too.
const REORDERED: i64 = 4;

/// One run of a few numbers left out may be another's. A segment is lost no more often than this in turn, on average.
const RUNS: u64 = 2;
const BURST: u64 = 4;
const AGAIN: u64 = 4;
/// Runs before data that a timer may have sent again, before they are too many for losses that nothing else shows.
const TIMED: u64 = 5;
/// A queue refuses no more of one attempt than a long segment is divided into (64 KB), and few attempts fail in turn: with more
/// numbers in each run, the counter is the host's.
const LONG: u64 = 100;
/// With so much more data than the other direction, few ACKs take numbers.
const ACKED: u64 = 8;

/// Full segments that an ACK stands for, unless a receiver merges what arrives.
const EACH: f64 = 2.0;

/// Where Linux starts (`net.ipv4.ip_default_ttl`).
const LINUX_TTL: u8 = 64;

/// What was left out right before segments without payload, while no data was missing or unacknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LeftOut {
    /// Identifications left out and not seen since.
    packets: i64,
    /// Identifications left out right before segments that acknowledged something, and those of these.
    numbers: i64,
    /// Segments that acknowledged something.
    steps: u64,
    /// Data that these acknowledged.
    acked_bytes: i64,
    /// How many were seen after others that were sent later.
    overtaken: i64,
}

impl LeftOut {
    pub(super) fn packets(&self) -> i64 {
        self.packets
    }

    /// Whether they were lost, with so many more: where the network reorders, what is left out may yet come.
    fn are_lost_with(&self, more: i64) -> bool {
        self.packets + more > REORDERED * self.overtaken
    }
}

impl Sender {
    /// Segments with data that were sent and never came by, lost retransmissions among them: their identifications were
    /// left out; and in how many runs. `None` if these do not count the packets of this direction alone, as those of
    /// Linux do, whose packets start with a TTL of 64: other stacks number all packets of the host, or none.
    pub fn unseen(&self) -> Option<[u64; 2]> {
        let books = self.books.as_ref().filter(|_| self.numbers_alone())?;
        Some(books.unseen())
            .filter(|[unseen, runs]| *unseen <= runs.saturating_mul(LONG))
            .map(|each| each.map(|number| number.saturating_sub(self.not_captured())))
    }

    /// Segments that the sender's own queue refused, at least, by the identifications left out; 0 where they show none.
    ///
    /// What is lost on the way leaves a gap in the sequence numbers as well, or comes again in order, and each is lost a few
    /// times at most. What the host's own queue refuses was never sent for TCP: the same bytes go out later, as if for the
    /// first time (Linux `tcp_transmit_skb`), and only numbers are missing. A run of these is one attempt or more. Where the
    /// direction acknowledges data, ACKs take numbers, too. What a timer may have sent again in order, at the end of a transfer
    /// perhaps, shows no refusal.
    pub(crate) fn refused_by_numbers(&self, peer: &Sender) -> u64 {
        let data = self.totals.data_segments;
        let [unseen, runs] = self.unseen().unwrap_or_default();
        let timed = self.books.as_ref().map(|books| books.unsettled.timed());
        let [timed, timed_runs] = timed.filter(|[_, runs]| *runs < TIMED).unwrap_or_default();
        let (at_once, runs_at_once) = (unseen.saturating_sub(timed), runs.saturating_sub(timed_runs));
        let lost = self.lost_by_gaps();
        let of_data = peer.totals.data_segments.saturating_mul(ACKED) <= data;
        let several = runs_at_once >= RUNS && at_once > lost.saturating_mul(AGAIN) + RUNS;
        let burst = lost == 0 && at_once >= BURST;
        if of_data && (several || burst) { runs.saturating_sub(lost).max(1) } else { 0 }
    }

    /// Segments whose loss does not rest on identifications alone: they filled gaps later, or left some in the sequence numbers.
    pub(super) fn lost_by_gaps(&self) -> u64 {
        self.arrival_counts().upstream.max(u64::try_from(self.ids.holes()).unwrap_or(0))
    }

    /// All that were left out, before data and before segments without payload.
    pub(super) fn identifications_left_out(&self) -> u64 {
        let Some(books) = &self.books else { return 0 };
        books.unseen()[0] + u64::try_from(books.left_out.packets()).unwrap_or(0)
    }

    /// Whether identifications left out are those of packets of this direction.
    pub(in crate::tracker) fn numbers_alone(&self) -> bool {
        self.numbers_each_socket() && self.ids.counts()
    }

    /// Whether any was left out by now, if the identifications turn out to count.
    pub(in crate::tracker) fn left_out(&self) -> bool {
        self.books.as_ref().is_some_and(|books| books.unseen()[0] > 0)
    }

    /// Whether the stack may be one that numbers the packets of each socket. One that numbers those of the host, as
    /// Windows does, leaves out what its other connections sent, and these may acknowledge at the same pace.
    fn numbers_each_socket(&self) -> bool {
        (1..=LINUX_TTL).contains(&self.ttl)
    }

    /// A segment without payload whose identification is not the next; it acknowledged so many bytes. Whether others
    /// were lost right before it.
    #[inline(never)]
    pub(in crate::tracker) fn note_empty(
        &mut self,
        segment: &Segment,
        seq: i64,
        step: Step,
        acked_bytes: i64,
    ) -> bool {
        if self.found(segment, step) {
            let books = self.books.get_or_insert_default();
            books.left_out.packets = (books.left_out.packets - 1).max(0);
            books.left_out.overtaken += 1;
            return false;
        }
        let Step::Ahead(packets) = step else { return false };
        self.had_sent_up_to(seq);
        let quiet = self.is_quiet_by_ids();
        let Some(books) = self.books.as_mut().filter(|_| quiet) else { return false };
        let left_out = &mut books.left_out;
        left_out.packets += packets;
        if acked_bytes > 0 {
            left_out.numbers += packets + 1;
            left_out.steps += 1;
            left_out.acked_bytes = left_out.acked_bytes.saturating_add(acked_bytes);
        }
        left_out.are_lost_with(0)
    }

    /// A segment without payload has the number of the next new byte (RFC 9293 section 3.10.7.4): all below it was sent before, and
    /// what never came of that was lost, with identifications left out.
    fn had_sent_up_to(&mut self, seq: i64) {
        if seq > self.snd_max && self.totals.data_segments > 0 && self.ids.is_plausible() {
            let books = self.books.get_or_insert_default();
            books.sent_up_to = books.sent_up_to.max(seq);
            books.shown_up_to = seq;
        }
    }

    /// Segments that an ACK of this side showed to have been sent, and of which nothing came by.
    pub fn shown_lost(&self) -> u64 {
        let Some(books) = self.books.as_ref().filter(|_| self.numbers_alone()) else { return 0 };
        let bytes = (books.shown_up_to - self.snd_max).max(0);
        bytes.div_euclid(self.ids.payload(self.timestamps).max(1)).unsigned_abs()
    }

    /// Whether ACKs were lost right before a segment whose identification is not the next.
    #[cold]
    pub(in crate::tracker) fn skips_acks(&self, step: Step) -> bool {
        let Step::Ahead(packets) = step else { return false };
        let books = self.books.as_ref().filter(|_| self.is_quiet_by_ids());
        books.is_some_and(|books| books.left_out.are_lost_with(packets))
    }

    /// Nothing of it is to be acknowledged, and its identifications count what it sends.
    fn is_quiet_by_ids(&self) -> bool {
        self.outstanding.is_empty() && self.ids.is_plausible() && self.numbers_each_socket()
    }

    /// Segments without payload, so ACKs, that were lost before this point; `None` if the identifications do not tell.
    ///
    /// Who loses ACKs has the next one acknowledge what they would have: each identification, seen or not, stands for
    /// as many bytes. Where something else takes identifications from the same counter, those left out stand for none.
    pub fn acks_lost(&self, peer: &Sender) -> Option<u64> {
        if !self.numbers_each_socket() || !self.ids.counts() || peer.totals.data_segments == 0 {
            return None;
        }
        let Some(left) = self.books.as_ref().map(|books| books.left_out) else { return Some(0) };
        if left.packets == 0 {
            return Some(0);
        }
        let lost = left.packets.unsigned_abs();
        let dropped = peer.may_miss(self.totals.segments + lost);
        if lost <= dropped {
            return None;
        }
        // Duplicate ACKs and window updates acknowledge nothing, lost or not.
        let idle = peer.totals.duplicate_acks.saturating_add(peer.totals.window_updates);
        let others = self.totals.segments.saturating_sub(idle).saturating_sub(left.steps).max(1);
        let usual_bytes = peer.snd_una.saturating_sub(left.acked_bytes).max(0) as f64 / others as f64;
        // ACKs are lost while they are many, so that each stands for few bytes: for two full segments then (RFC 5681 section 4.2).
        let usual_bytes = usual_bytes.min(EACH * full_segment(peer) as f64);
        let told = left.acked_bytes as f64 >= 0.75 * usual_bytes * left.numbers as f64;
        (left.numbers < ENOUGH || told).then_some(lost - dropped)
    }
}
