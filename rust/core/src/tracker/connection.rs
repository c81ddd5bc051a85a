//! One connection: two directions, and what belongs to both.

use super::columns::Row;
use super::exchanges::{Exchanges, Waits};
use super::flow::Endpoint;
use super::outcome::{AckOutcome, SendOutcome};
use super::path;
use super::sender::Sender;
use super::sending::CONTROL;
use super::sequence::Unwrapper;
use super::timeout::Verdict;
use crate::segment::{Segment, flags};

/// Flags that mean more than "go on"; most segments have only ACK of them.
const REMARKABLE: u16 = CONTROL | flags::ACK | flags::ECE | flags::CWR;

/// A TCP connection as one observation point saw it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Both ends; direction 0 goes from the first to the second, which is from the side that sent the SYN.
    pub endpoints: [Endpoint; 2],
    /// Time of the first segment.
    pub first_ns: i64,
    /// Time of the last segment.
    pub last_ns: i64,
    /// The two directions.
    pub senders: [Sender; 2],
    /// Requests and responses, if both ends sent data.
    pub(super) exchanges: Option<Box<Exchanges>>,
}

impl Connection {
    /// A connection that begins with `segment`.
    pub fn new(segment: &Segment) -> Self {
        // A SYN+ACK comes from the side that was called.
        let answered = segment.has(flags::SYN) && segment.has(flags::ACK);
        let (first, second) = if answered {
            (segment.destination, segment.source)
        } else {
            (segment.source, segment.destination)
        };
        Connection {
            endpoints: [first, second],
            first_ns: segment.t_ns,
            last_ns: segment.t_ns,
            senders: [Sender::default(), Sender::default()],
            exchanges: None,
        }
    }

    /// 0 or 1 for a segment between these ends; `None` for others.
    #[inline(always)]
    pub(super) fn direction_of(&self, segment: &Segment) -> Option<usize> {
        let [first, second] = &self.endpoints;
        if segment.source == *first && segment.destination == *second {
            Some(0)
        } else if segment.source == *second && segment.destination == *first {
            Some(1)
        } else {
            None
        }
    }

    /// 0 or 1.
    #[inline]
    pub fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.endpoints[0])
    }

    /// Whether a SYN means that the ports are used again, for a new connection.
    #[inline]
    pub fn is_reused_by(&self, segment: &Segment) -> bool {
        if !segment.has(flags::SYN) || segment.has(flags::ACK) {
            return false;
        }
        let sender = &self.senders[self.direction(segment)];
        match sender.isn {
            Some(isn) => isn != segment.seq,
            None => sender.space.is_some(),
        }
    }

    /// The sender of a direction.
    pub fn senders_at(&self, direction: usize) -> &Sender {
        &self.senders[direction]
    }

    /// The direction that carries the bulk of the data; where none was seen, that of which most was acknowledged; 0 if both carry
    /// the same.
    pub fn data_direction(&self) -> usize {
        let bytes = |sender: &Sender| (sender.totals.data_bytes, sender.unseen_bytes());
        let [first, second] = self.senders.each_ref().map(bytes);
        if first.0 == 0 && second.0 == 0 {
            usize::from(second.1 > first.1)
        } else {
            usize::from(second.0 > first.0)
        }
    }

    /// Both SYNs were seen.
    pub fn handshake(&self) -> bool {
        self.senders.iter().all(|s| s.isn.is_some())
    }

    /// A SYN was seen, no segment of the other end, and no ACK of one that was missed.
    pub fn is_unanswered(&self) -> bool {
        let [one, other] = &self.senders;
        [(one, other), (other, one)]
            .iter()
            .any(|(own, peer)| own.isn.is_some() && peer.totals.segments == 0 && peer.space.is_none())
    }

    /// A SYN was seen, and of the other end nothing but resets (RFC 9293, section 3.5.2).
    pub fn is_refused(&self) -> bool {
        let [one, other] = &self.senders;
        [(one, other), (other, one)].iter().any(|(own, peer)| {
            let resets = u64::from(peer.totals.rst);
            own.isn.is_some()
                && own.totals.data_segments == 0
                && peer.isn.is_none()
                && resets > 0
                && peer.totals.segments == resets
        })
    }

    /// It was open, and not both SYNs are in the capture: that began later, or saw one direction.
    pub fn misses_handshake(&self) -> bool {
        !self.handshake() && !self.is_unanswered() && !self.is_refused()
    }

    /// Smallest RTT that either side measured: 90 % of it cannot be undercut.
    pub fn min_rtt_ns(&self, direction: usize) -> Option<i64> {
        self.senders[direction].rtt.min()
    }

    /// What its requests and responses came to until the last data of a direction, if it takes them one at a time.
    pub fn exchanges(&self, direction: usize) -> Option<Waits> {
        let opened = self.senders.iter().any(|sender| sender.isn.is_some());
        self.exchanges.as_ref()?.waits(opened.then_some(0), direction)
    }

    /// How long the first data of a direction took that answers a request of the other end.
    pub(super) fn first_response_ns(&self, direction: usize) -> Option<i64> {
        self.exchanges.as_ref()?.first_wait_ns(direction)
    }

    /// Timeouts of a direction: spurious, genuine, inconclusive.
    pub fn timeout_verdicts(&self, direction: usize) -> [u64; 3] {
        let (mut counts, min_rtt_ns) = ([0; 3], self.min_rtt_ns(direction));
        for timeout in self.senders[direction].timeouts() {
            let place = match timeout.verdict(min_rtt_ns) {
                Verdict::Spurious => 0,
                Verdict::Genuine => 1,
                Verdict::Inconclusive => 2,
            };
            counts[place] += 1;
        }
        counts
    }

    /// Track a segment of a direction; the row that describes it, if the table is to have it.
    #[inline(always)]
    pub fn track<const TABLE: bool>(&mut self, segment: &Segment, direction: usize) -> Row {
        if segment.flags & REMARKABLE == flags::ACK {
            self.track_as::<TABLE, true>(segment, direction)
        } else {
            self.track_remarkable::<TABLE>(segment, direction)
        }
    }

    #[inline(never)]
    fn track_remarkable<const TABLE: bool>(&mut self, segment: &Segment, direction: usize) -> Row {
        self.track_as::<TABLE, false>(segment, direction)
    }

    /// `PLAIN` if of the flags that are [`REMARKABLE`] the segment has ACK alone, as nearly all have: then none is asked
    /// for again.
    #[inline(always)]
    fn track_as<const TABLE: bool, const PLAIN: bool>(&mut self, segment: &Segment, direction: usize) -> Row {
        let has = |flag| if PLAIN { flag == flags::ACK } else { segment.has(flag) };
        if segment.t_ns > self.last_ns {
            self.last_ns = segment.t_ns;
        } else {
            self.first_ns = self.first_ns.min(segment.t_ns);
        }
        if has(flags::ACK) && self.senders[1 - direction].keeps_damaged() {
            self.take_back_damaged(segment.ack, 1 - direction);
        }
        let [first, second] = &mut self.senders;
        let (own, peer) = if direction == 0 { (first, second) } else { (second, first) };
        let syn = has(flags::SYN);
        own.totals.segments += 1;
        let corrupted = own.is_damaged(segment);
        if syn && !corrupted {
            learn_options(own, peer, segment);
        }
        if has(flags::ACK) && !corrupted && peer.snd_una == 0 {
            accept_isn(peer, segment);
        }
        // A SYN+ACK of another ISN than that which counts is in its place.
        let number = if syn { own.isn.unwrap_or(segment.seq) } else { segment.seq };
        let seq = own.unwrap(number, syn);
        let ack = if has(flags::ACK) { peer.unwrap(segment.ack, false) } else { -1 };
        let (mut sent, mut acked) = (SendOutcome::default(), AckOutcome::default());
        let raw = i64::from(segment.window);
        let window =
            if syn { raw } else { own.window_shift.map_or_else(|| unscaled(segment), |shift| raw << shift) };
        if !corrupted {
            if !PLAIN || segment.ecn == 3 {
                count_flags(own, peer, segment);
            }
            own.totals.max_window = own.totals.max_window.max(window);
            // The window of a reset says nothing.
            if window == 0 {
                if !has(flags::RST) && !syn {
                    close_window(own, segment, ack);
                }
            } else if let Some(closures) = &mut own.closures
                && ack > 0
                && !has(flags::RST)
            {
                closures.open(segment.t_ns);
            }
            if !PLAIN && has(flags::RST) {
                for closures in [&mut own.closures, &mut peer.closures].into_iter().flatten() {
                    closures.reset(segment.t_ns);
                }
            }
            let una = peer.snd_una;
            if has(flags::ACK) && !has(flags::RST) {
                acked = peer.on_ack::<PLAIN>(segment, ack);
                if let Some(exchanges) = &mut self.exchanges {
                    exchanges.acknowledged(1 - direction, ack, segment.t_ns);
                }
            } else {
                peer.arrived(segment);
            }
            let answers = segment.length > 0 && peer.totals.data_segments > 0 && seq >= own.snd_max;
            sent = own.on_send::<PLAIN>(segment, seq, peer.snd_una - una, peer);
            if answers {
                let end = seq + i64::from(segment.length);
                exchange(&mut self.exchanges, (own, peer), segment, (direction, ack), end);
            }
            if sent.acks_lost {
                peer.answered_after_lost_acks(segment);
            }
            if acked.rtt_ns.is_some() && peer.rtt.count == 1 {
                own.ts_first = own.ts_last;
            }
            path::observe(own, peer, segment, (seq, ack, window), acked.rtt_ns);
        }
        Row {
            direction: direction as u8,
            seq,
            ack,
            window,
            duplicate: sent.duplicate,
            transmission: sent.transmission,
            cause: sent.cause as u8,
            ack_kind: acked.kind as u8,
            flight: own.flight(),
            rtt_ns: acked.rtt_ns.filter(|_| !acked.by_sack).unwrap_or(-1),
            sack_high: if TABLE { sack_high(peer, segment, ack) } else { -1 },
        }
    }
}

/// A window whose scale is unknown: 0 is 0 by any, but of a reset it says nothing.
#[cold]
fn unscaled(segment: &Segment) -> i64 {
    if segment.window == 0 && !segment.has(flags::RST) { 0 } else { -1 }
}

#[cold]
fn close_window(own: &mut Sender, segment: &Segment, ack: i64) {
    own.totals.zero_windows += 1;
    if ack > 0 {
        own.closures.get_or_insert_default().close(segment.t_ns);
    }
}

/// New data up to `end` passes, and the other end has sent data, too.
#[inline(never)]
fn exchange(
    exchanges: &mut Option<Box<Exchanges>>,
    (own, peer): (&Sender, &Sender),
    segment: &Segment,
    (direction, ack): (usize, i64),
    end: i64,
) {
    let begin = || {
        let times_ns = (peer.totals.last_data_ns.unwrap_or(0), segment.t_ns);
        // A request has an initial window at most (RFC 6928).
        let one =
            peer.data_retransmissions() == 0 && peer.snd_max <= path::INITIAL * path::full_segment(peer);
        Box::new(Exchanges::begin(1 - direction, times_ns, peer.snd_max, one))
    };
    let full = i64::from(segment.length) >= path::full_segment(own);
    let held = |wait_ns: i64, up_to: i64, acked_ns: Option<i64>| {
        own.waited_for_ack(segment.t_ns, (up_to, acked_ns), wait_ns)
    };
    exchanges.get_or_insert_with(begin).send(direction, segment.t_ns, (ack, end), (full, held));
}

#[cold]
fn learn_options(own: &mut Sender, peer: &mut Sender, segment: &Segment) {
    own.options_cut = !segment.options.complete && (own.isn.is_none() || own.options_cut);
    if own.isn.is_none() {
        if own.space.is_none() {
            own.space = Some(Unwrapper::new(segment.seq));
        }
        own.isn = Some(segment.seq);
    } else if segment.has(flags::ACK) && own.isn != Some(segment.seq) && own.has_sent_only_syn() {
        let before = own.isn;
        let known = own.history.get_or_insert_default();
        let again = std::mem::replace(&mut known.isn_before, before) == Some(segment.seq);
        own.begin_at(segment.seq, i64::from(again));
    }
    own.mss = segment.options.mss.or(own.mss);
    own.ttl = segment.ttl;
    own.window_scale = segment.options.window_scale.or(own.window_scale);
    own.sack_permitted |= segment.options.sack_permitted;
    if let Some(mss) = own.mss.into_iter().chain(peer.mss).min() {
        own.ids.learn_mss(mss);
        peer.ids.learn_mss(mss);
    }
    own.window_shift = window_shift(own, peer);
    peer.window_shift = window_shift(peer, own);
}

/// Of two SYN+ACKs with different ISNs, that counts whose number is acknowledged.
#[inline]
fn accept_isn(peer: &mut Sender, segment: &Segment) {
    let Some(before) = peer.history.as_mut().and_then(|history| history.isn_before.take()) else { return };
    if segment.ack == before.wrapping_add(1) && peer.has_sent_only_syn() {
        peer.begin_at(before, 1);
    }
}

#[inline(never)]
fn count_flags(own: &mut Sender, peer: &mut Sender, segment: &Segment) {
    if segment.has(flags::RST) {
        if own.totals.rst == 0 {
            own.totals.rst_ttl = segment.ttl;
        }
        own.totals.rst += 1;
        own.totals.last_rst_ns = own.totals.last_rst_ns.max(Some(segment.t_ns));
    }
    own.totals.ce = own.totals.ce.saturating_add(u32::from(segment.ecn == 3));
    if segment.has(flags::SYN) {
        agree_on_marks(own, peer, segment);
    } else if !own.totals.counts_marks {
        own.totals.ece = own.totals.ece.saturating_add(u32::from(segment.has(flags::ECE)));
        own.totals.cwr = own.totals.cwr.saturating_add(u32::from(segment.has(flags::CWR)));
    }
}

/// Who asks for exact counts of marks sets three flags in its SYN; an end that has them, too, answers with the mark of that SYN. Others
/// answer with none, with ECE, with the bit of a nonce beside it, or with what they were sent (RFC 9768 section 3.1.2, table 2).
#[cold]
fn agree_on_marks(own: &mut Sender, peer: &mut Sender, segment: &Segment) {
    const EXACT: u16 = flags::AE | flags::CWR | flags::ECE;
    let asked = segment.flags & EXACT;
    if !segment.has(flags::ACK) {
        own.totals.counts_marks = asked == EXACT;
    } else if peer.totals.counts_marks {
        const MARKS: [u16; 4] = [flags::CWR, flags::CWR | flags::ECE, flags::AE, flags::AE | flags::CWR];
        let exact = MARKS.contains(&asked);
        (own.totals.counts_marks, peer.totals.counts_marks) = (exact, exact);
    }
}

/// By how many bits the windows that `own` advertises are shifted; `None` while that is unknown (RFC 7323
/// section 2.2). Only SYNs change it.
fn window_shift(own: &Sender, peer: &Sender) -> Option<u8> {
    own.isn?;
    match (own.window_scale, peer.window_scale) {
        (Some(own), Some(_)) => Some(own.min(14)),
        // The other SYN may have it.
        (Some(_), None) if peer.isn.is_none() || peer.options_cut => None,
        (None, _) if own.options_cut => None,
        _ => Some(0),
    }
}

fn sack_high(peer: &Sender, segment: &Segment, ack: i64) -> i64 {
    let Some(space) = peer.space else { return -1 };
    segment.options.sack_blocks().iter().map(|&(_, right)| space.unwrap(right, ack)).max().unwrap_or(-1)
}
