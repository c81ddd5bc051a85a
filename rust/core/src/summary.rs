//! What a connection came to, in the terms of the contract (docs/json.md): told once for text, sums and dictionaries.

use crate::tracker::{
    CAUSES, Cause, Connection, Grade, NAMED, Observation, Point, Sender, Timeout, Verdict, Vote,
};

/// What the SYNs of a connection say of window scaling (RFC 7323 section 2.2): `agreed`, `not_offered` by the SYN, `refused` by the
/// SYN+ACK; `None` where one of them, or its options, was not captured.
pub fn window_scaling(connection: &Connection) -> Option<&'static str> {
    if !connection.handshake() {
        return None;
    }
    let [(opening, offered), (answering, answered)] = [0, 1].map(|direction| {
        let sender = connection.senders_at(direction);
        let (mss, scale, _, _) = sender.options();
        let whole = !sender.options_cut() && (mss.is_some() || scale.is_some());
        (whole, scale.is_some())
    });
    match (offered, answered) {
        (true, true) => Some("agreed"),
        (false, _) if opening => Some("not_offered"),
        (true, false) if answering => Some("refused"),
        _ => None,
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// By a FIN of both ends; of a reset beside them both were acknowledged.
    Fin,
    /// By a reset of either.
    Reset,
    /// Not, as far as was seen.
    Open,
    /// It never began: of one end came SYNs alone, of the other nothing.
    Unanswered,
    /// It never began: a SYN was answered by resets alone.
    Refused,
}

impl Closed {
    /// Their words, in order.
    pub const NAMES: [&str; 5] = ["fin", "reset", "open", "unanswered", "refused"];

    /// Of a connection.
    pub fn of(connection: &Connection) -> Self {
        let senders = [0, 1].map(|direction| connection.senders_at(direction));
        let [one, other] = senders.map(Sender::totals);
        if connection.is_unanswered() {
            Closed::Unanswered
        } else if connection.is_refused() {
            Closed::Refused
        } else if senders.iter().all(|sender| sender.fin_acked()) {
            // A reset after that answers what came late, once the end is gone (RFC 9293 section 3.10.7.1).
            Closed::Fin
        } else if one.rst > 0 || other.rst > 0 {
            Closed::Reset
        } else if one.fin > 0 && other.fin > 0 {
            Closed::Fin
        } else {
            Closed::Open
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Segments sent again, by cause, in one number: probes that nobody needed carry no byte that a receiver waits for, and
/// are counted apart.
pub fn retransmissions(counts: &[u64; CAUSES]) -> u64 {
    let probes = counts[Cause::UnneededProbe as usize];
    counts.iter().skip(1).sum::<u64>() - probes
}

/// Data segments of one direction that were lost upstream and downstream of the capture.
///
/// Upstream they are those that were retransmitted, and by the identifications left out also retransmissions that were lost
/// in their turn. At the sender a run of these is at least one attempt that its own queue refused before TCP had counted it
/// as sent: of a segment that was to be divided it takes several numbers, and more when it is tried again. Nothing is
/// lost downstream of a capture at the receiver but what its host discards, and waits for though it has acknowledged what came
/// later: else what arrived there twice was retransmitted needlessly, or because its ACK was late or lost.
pub fn losses(connection: &Connection, direction: usize) -> [u64; 2] {
    let sender = connection.senders_at(direction);
    let counts = sender.arrival_counts();
    let mut upstream = counts.upstream + sender.shown_lost();
    let dropped = sender.may_miss(retransmissions(&sender.retransmission_counts()));
    if upstream <= dropped {
        upstream = 0;
    }
    let [unseen, runs] = sender.unseen().unwrap_or_default();
    if counts.downstream == 0 && unseen <= upstream {
        return [upstream, 0];
    }
    let seen = Observation::of(connection, direction);
    let known = |point: Point| seen.point == Some(point) && seen.grade >= Grade::Likely;
    // Retransmissions that the capture lost took numbers, too.
    let proven = if unseen <= dropped {
        0
    } else if known(Point::Sender) {
        runs
    } else if unseen <= LOST_AGAIN * upstream {
        unseen
    } else {
        0
    };
    [proven.max(upstream), if known(Point::Receiver) { counts.passed_over } else { counts.downstream }]
}

/// Retransmissions of one direction that never passed, lost in their turn before this point; 0 where nothing shows any.
///
/// Of each segment that arrived, all copies but one are retransmissions. Away from the sender these are as many as copies lost
/// before this point, where identifications count those, and second copies that passed.
pub fn never_passed(connection: &Connection, direction: usize) -> u64 {
    let sender = connection.senders_at(direction);
    let arrivals = sender.arrival_counts();
    let [lost, _] = losses(connection, direction);
    if lost <= arrivals.upstream || !sender.is_whole() || refused(connection, direction) > 0 {
        return 0;
    }
    let seen = Observation::of(connection, direction);
    let away = seen.point.is_some_and(|point| point != Point::Sender) && seen.grade >= Grade::Likely;
    let passed = retransmissions(&sender.retransmission_counts());
    if away { (lost + arrivals.doubled).saturating_sub(passed) } else { 0 }
}

/// Data segments of one direction that its sender's own queue refused, at least: where a timer sent each of those seen
/// alone, and the identifications between them were left out, or far more identifications were left out than data was
/// lost. 0 where nothing shows it.
pub fn refused(connection: &Connection, direction: usize) -> u64 {
    let (data, acks) = (connection.senders_at(direction), connection.senders_at(1 - direction));
    data.refused().unwrap_or(0).max(data.refused_by_numbers(acks))
}

/// Data segments of one direction that came in order and may have been sent before ([`Sender::unsettled`]).
pub fn possible(connection: &Connection, direction: usize) -> u64 {
    connection.senders_at(direction).unsettled()
}

/// Segments of one direction that were sent again although an earlier copy had reached the receiver.
///
/// At the receiver's own capture these are all of which two copies came by, but what its host had discarded. Elsewhere those
/// whose original came by behind its retransmission, where at most one in [`FEW_LOST`] was lost behind this point; and the receiver says so: by SACK, by
/// DSACK (RFC 2883; not where the network duplicates packets, RFC 3708 section 3), by an ACK sooner than the second copy
/// can have been answered, or with a timestamp older than that of the second copy (RFC 3522).
pub fn needless(connection: &Connection, direction: usize) -> u64 {
    let sender = connection.senders_at(direction);
    let (counts, reported) = (sender.arrival_counts(), sender.needless());
    let mut found = counts.needless.max(reported);
    // Whose original came late was not lost before this point, and hardly behind it where nearly nothing was.
    if FEW_LOST * counts.downstream <= counts.doubled {
        found = found.max(counts.doubled - counts.downstream);
    }
    if counts.doubled > found {
        let seen = Observation::of(connection, direction);
        if seen.point == Some(Point::Receiver) && seen.grade >= Grade::Likely {
            found = counts.doubled - counts.passed_over;
        }
    }
    // Of what a spurious timeout sent again an earlier copy had arrived, and so it had where all of its ACKs were lost.
    let [spurious, ..] = connection.timeout_verdicts(direction);
    found.max(spurious + unacked(connection, direction)).min(retransmissions(&sender.retransmission_counts()))
}

/// Of so many segments that passed twice, one was lost behind this point at most: then what the network reordered was not.
const FEW_LOST: u64 = 20;

/// Away from the sender, more identifications left out than so many for each segment known to be lost are not those of
/// retransmissions lost in their turn: an ACK may have had them.
const LOST_AGAIN: u64 = 2;

/// Segments of the other direction without payload, so ACKs, that were lost upstream of the capture, by the IP
/// identifications left out; `None` if these do not tell.
pub fn acks_lost(connection: &Connection, direction: usize) -> Option<u64> {
    connection.senders_at(1 - direction).acks_lost(connection.senders_at(direction))
}

/// Round trips of a sender, as far as ACKs show them, and its timer in the end (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    /// Samples (Karn's algorithm, or time stamps).
    pub samples: u64,
    /// The shortest.
    pub min_ns: i64,
    /// Their mean.
    pub mean_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Smoothed, at the end.
    pub srtt_ns: i64,
    /// The timeout at the end.
    pub rto_ns: i64,
}

impl RoundTrips {
    /// None without a sample.
    pub fn of(sender: &Sender) -> Option<Self> {
        let (rtt, rto) = (sender.rtt(), sender.rto());
        (rtt.count > 0).then(|| RoundTrips {
            samples: rtt.count,
            min_ns: rtt.min_ns,
            mean_ns: rtt.sum_ns / rtt.count as i64,
            max_ns: rtt.max_ns,
            srtt_ns: rto.srtt_us() * 1000,
            rto_ns: rto.rto_us() * 1000,
        })
    }
}

/// Who reset a connection that a reset ended: the `sender` of the data of one direction, its `receiver`, or `both`.
pub fn reset_by(connection: &Connection, direction: usize) -> Option<&'static str> {
    if Closed::of(connection) != Closed::Reset {
        return None;
    }
    let reset = |direction| connection.senders_at(direction).totals().rst > 0;
    Some(match (reset(direction), reset(1 - direction)) {
        (true, true) => "both",
        (true, false) => "sender",
        _ => "receiver",
    })
}

/// The TTL (hop limit) of the other packets of the end that reset a connection, and that of its RST; `None` where either is
/// unknown, or both ends reset it.
pub fn reset_ttl(connection: &Connection, direction: usize) -> Option<[u8; 2]> {
    let end = match reset_by(connection, direction)? {
        "sender" => direction,
        "receiver" => 1 - direction,
        _ => return None,
    };
    let sender = connection.senders_at(end);
    let found = [sender.ttl(), sender.totals().rst_ttl];
    found.iter().all(|&ttl| ttl > 0).then_some(found)
}

/// How often the timer of a SYN or of a SYN+ACK expired; where a SYN+ACK was lost, those of both ends expire. Each SYN that was
/// retransmitted may have been answered by a SYN+ACK that no timer sent.
pub fn syn_timeouts(connection: &Connection) -> u64 {
    let expired =
        |direction| connection.senders_at(direction).timeouts().iter().filter(|one| one.seq == 0).count();
    let answers = (connection.senders_at(0).totals().syn as usize).saturating_sub(1);
    expired(0).max(expired(1).saturating_sub(answers)) as u64
}

/// How often the timer of data expired that had arrived, as every ACK of it was lost.
pub fn unacked_timeouts(connection: &Connection) -> u64 {
    unacked(connection, 0) + unacked(connection, 1)
}

/// The same of one direction.
fn unacked(connection: &Connection, direction: usize) -> u64 {
    let min_rtt_ns = connection.min_rtt_ns(direction);
    let lost = |one: &&Timeout| one.ack_path == Vote::Genuine && one.verdict(min_rtt_ns) == Verdict::Genuine;
    connection.senders_at(direction).timeouts().iter().filter(lost).count() as u64
}

/// What was sent so long before the end of a capture, and was not acknowledged, is not just under way.
const QUIET_NS: i64 = 1_000_000_000;
/// A reset answers what a timer sent at the same time, as far as clocks tell.
const SAME_NS: i64 = 1_000;
/// What shows that a transfer broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Timeouts of data that was never acknowledged, and when the first and the last of them were.
    pub timeouts: u64,
    /// Of the first and the last.
    pub span_ns: Option<(i64, i64)>,
    /// Their packets, of many the first.
    pub records: Vec<u64>,
    /// The other end reset the connection after the last of them.
    pub reset: bool,
    /// How long the first byte that was never acknowledged had been waiting at the end, without a timeout.
    pub waited_ns: Option<i64>,
}

impl Unfinished {
    /// None where nothing shows it.
    pub fn of(connection: &Connection, direction: usize) -> Option<Self> {
        let data = connection.senders_at(direction);
        let (acked, unique) = (data.acked_bytes(), data.unique_bytes());
        if acked >= unique {
            return None;
        }
        let never = |one: &&Timeout| acked < one.seq && one.seq <= unique;
        let mine: Vec<&Timeout> = data.timeouts().iter().filter(never).collect();
        let (Some(first), Some(last)) = (mine.first(), mine.last()) else {
            let waited_ns = unanswered_ns(connection, data)?;
            let waited_ns = Some(waited_ns);
            return Some(Unfinished {
                timeouts: 0,
                span_ns: None,
                records: Vec::new(),
                reset: false,
                waited_ns,
            });
        };
        let resets = connection.senders_at(1 - direction).totals().last_rst_ns;
        Some(Unfinished {
            timeouts: mine.len() as u64,
            span_ns: Some((first.t_ns, last.t_ns)),
            records: mine.iter().take(NAMED).map(|one| one.record).collect(),
            reset: resets.is_some_and(|reset_ns| reset_ns > last.t_ns - SAME_NS),
            waited_ns: None,
        })
    }
}

/// None unless that is a second and twice the longest RTT: what was sent last may be answered behind the end of the
/// capture. None too where no ACK was captured, or a FIN of both ends shows that all had arrived.
fn unanswered_ns(connection: &Connection, data: &Sender) -> Option<i64> {
    if data.acked_bytes() == 0 || Closed::of(connection) == Closed::Fin {
        return None;
    }
    let longest_ns = RoundTrips::of(data)?.max_ns;
    let waited_ns = connection.last_ns.saturating_sub(data.unacked_since_ns()?);
    (waited_ns >= QUIET_NS.max(2 * longest_ns)).then_some(waited_ns)
}
