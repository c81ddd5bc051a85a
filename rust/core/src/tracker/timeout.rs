//! Expiries of the retransmission timer and the votes on whether they were spurious (Paper section 5.4).

/// What one kind of evidence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Vote {
    /// No evidence of this kind.
    #[default]
    Abstains = 0,
    /// The timer need not have fired: the segment had been received.
    Spurious = 1,
    /// The segment was lost.
    Genuine = 2,
}

/// All votes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Verdict {
    /// Not enough evidence.
    #[default]
    Inconclusive = 0,
    /// The ACK was on its way when the timer fired.
    Spurious = 1,
    /// The segment (or every earlier copy) was lost.
    Genuine = 2,
}

impl Vote {
    /// Both votes as one: what was needed once was needed.
    pub fn or_needed(self, other: Vote) -> Vote {
        if self == Vote::Genuine || other == Vote::Abstains { self } else { other }
    }
}

impl Verdict {
    /// What the first vote says that does not abstain.
    pub fn first_of<const N: usize>(votes: [Vote; N]) -> Self {
        match votes.into_iter().find(|vote| *vote != Vote::Abstains) {
            Some(Vote::Spurious) => Verdict::Spurious,
            Some(Vote::Genuine) => Verdict::Genuine,
            _ => Verdict::Inconclusive,
        }
    }
}

/// Share of the smallest RTT below which an ACK cannot be an answer to what was just sent, in percent.
const TOO_EARLY_PERCENT: i64 = 90;

/// What the answers of hosts differ by: a connection's first packets may have found them asleep.
const HOSTS_VARY_NS: i64 = 100_000;

/// What no answer is sooner than: a part of the smallest RTT, and less than that by more than what hosts differ by.
pub fn soonest_ns(part_ns: i64, min_rtt_ns: i64) -> i64 {
    part_ns.min(min_rtt_ns - HOSTS_VARY_NS)
}

/// Vote by the time from a retransmission to its answer: an earlier copy was answered if no RTT is that short.
pub fn too_early(after_ns: Option<i64>, min_rtt_ns: Option<i64>) -> Vote {
    match (after_ns, min_rtt_ns) {
        (Some(after), Some(min)) if after < soonest_ns(min / 100 * TOO_EARLY_PERCENT, min) => Vote::Spurious,
        _ => Vote::Abstains,
    }
}

/// Vote by the timestamp that the answer to a repetition echoes (RFC 3522): an older one is that of a copy before.
/// Unless it is younger than those: it is that of a segment behind, so the receiver had sent an ACK of this one that
/// did not come, and goes on echoing what it has (RFC 7323 section 4.3). `distinct` if no copy before had the same.
pub fn eifel(sent: Option<u32>, later: Option<u32>, echoed: Option<u32>, distinct: bool) -> Vote {
    let (Some(sent), Some(echoed)) = (sent, echoed) else { return Vote::Abstains };
    let older = |than: u32| (echoed.wrapping_sub(than) as i32) < 0;
    if !older(sent) {
        return if distinct { Vote::Genuine } else { Vote::Abstains };
    }
    if later.is_none_or(older) { Vote::Spurious } else { Vote::Abstains }
}

/// What a sender sends next after an expiry.
#[derive(Debug, Clone, Copy)]
pub struct Next {
    /// When it passes.
    pub t_ns: i64,
    /// Its first sequence number.
    pub seq: i64,
    /// TSecr.
    pub echoed: Option<u32>,
    /// What it takes from this point to the sender and back: at its best, and now.
    pub near_ns: Option<(i64, i64)>,
}

/// What that shows the sender to have heard of the ACKs of a segment that it had sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// None yet.
    Nothing,
    /// It does not show, or is decided.
    Unknown,
    /// One that had passed this point before the copy did: it was late.
    Before,
    /// The answer to the copy: those before were lost.
    Reply,
}

/// What a host takes to answer, at most, as a rule.
const HOST_NS: i64 = 1_000_000;
/// A sender that had waited for so many times as long as an ACK takes heard one by chance if it was a late one.
const CHANCE: i64 = 4;

/// One expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// Time and record of the segment that was sent again.
    pub t_ns: i64,
    /// Packet number of it.
    pub record: u64,
    /// Its first sequence number.
    pub seq: i64,
    /// Its payload.
    pub length: u32,
    /// Whether it is a SYN: its earlier copy may have arrived and the SYN+ACK been lost, and the other end repeats its
    /// SYN+ACK by a timer of its own. So neither an early answer nor an old echo says that it was not needed.
    pub syn: bool,
    /// Expiries in a row before this one.
    pub backoff: u16,
    /// The sender had sent nothing for so long.
    pub silence_ns: i64,
    /// The timeout estimated, backoff taken out; -1 before the first sample.
    pub rto_ns: i64,
    /// TSval of the segment sent again.
    pub ts_val: Option<u32>,
    /// TSval of the transmission before it.
    pub ts_val_before: Option<u32>,
    /// What was sent with a later TSval was surely sent after the copy before.
    pub ts_later: Option<u32>,
    /// What the segment echoed of the receiver, if an ACK of it had passed this point before.
    pub echo: Option<u32>,
    /// What the sender sends next may yet show what became of that ACK.
    pub waits: bool,
    /// The first ACK that may answer this copy, if one of a copy before had passed: when it passed, and its TSval.
    pub reply: Option<(i64, Option<u32>)>,
    /// TSval of the ACK that reported it as arrived twice (RFC 2883).
    pub reported_ts: Option<u32>,
    /// An ACK of it had passed this point before it did again: that one was late, or lost behind this point.
    pub acked: bool,
    /// The copy before had passed this point, and its ACK had, so shortly before that the sender cannot have heard of it; or it
    /// heard it before any answer to this copy.
    pub late: bool,
    /// Everything that had been sent until then.
    pub snd_max: i64,
    /// The first ACK that advanced over it: how long after.
    pub answer_after_ns: Option<i64>,
    /// Packet number of that ACK; 0 if none.
    pub answer_record: u64,
    /// RFC 3522.
    pub eifel: Vote,
    /// RFC 2883, 3708.
    pub dsack: Vote,
    /// RFC 5682.
    pub frto: Vote,
    /// Genuine: the answer itself reports the duplicate, so the ACKs of the copies before were lost (RFC 3522
    /// section 3.2, step 6), or identifications were left out before it, or the sender heard of nothing before it.
    pub ack_path: Vote,
    /// The timer had run for so long.
    pub waited_ns: i64,
    /// The stack's largest timeout, if it is known by now to be set low; -1 else.
    pub rto_max_ns: i64,
    /// Other segments that have been sent again since: then later ACKs say nothing by F-RTO.
    pub followed: u32,
    /// ACKs that brought nothing new, from the answer until new data is acknowledged: a receiver answers each needless
    /// copy with one (RFC 5681 section 4.2).
    pub doubled: u32,
    /// Whether the ACK after the answer has come.
    pub settled: bool,
}

impl Timeout {
    /// Vote by the time of the answer, against the smallest RTT of the connection. A queue that stood in front of all of
    /// its RTTs may have drained in the silence: so each copy must have been answered as a
    /// needless one, too, and the answer must not echo this one. Away from the sender the copy before may itself have come
    /// sooner before this one than its ACK takes to the sender.
    pub fn too_early(&self, min_rtt_ns: Option<i64>) -> Vote {
        if self.late {
            return Vote::Spurious;
        }
        if self.syn || self.eifel == Vote::Genuine || !self.shown_needless() {
            return Vote::Abstains;
        }
        too_early(self.answer_after_ns, min_rtt_ns)
    }

    /// Whether as many ACKs came that brought nothing new as segments were sent again.
    pub fn shown_needless(&self) -> bool {
        self.doubled > self.followed
    }

    /// The votes together. An ACK before any answer was possible proves that an earlier copy was acknowledged; an
    /// answer that reports the duplicate itself, that no ACK of an earlier copy came through; another duplicate
    /// SACK, that two copies arrived. Then comes the echoed timestamp, then F-RTO's inference.
    pub fn verdict(&self, min_rtt_ns: Option<i64>) -> Verdict {
        Verdict::first_of([self.too_early(min_rtt_ns), self.ack_path, self.dsack, self.eifel, self.frto])
    }

    /// An ACK of the segment passes, of a copy before of which one had passed too. Sooner than any answer to this copy, it is
    /// another of those.
    pub fn replied(&mut self, t_ns: i64, ts_val: Option<u32>, min_rtt_ns: Option<i64>) {
        let answers = || too_early(Some(t_ns - self.t_ns), min_rtt_ns) == Vote::Abstains;
        if self.waits && self.reply.is_none() && answers() {
            self.reply = Some((t_ns, ts_val));
        }
    }

    /// The sender sends something more: what that shows of the ACKs that had passed before this copy. Until it has heard
    /// any, it can only send the same again (RFC 6298 section 5.4; RFC 5681 section 3.1: one segment is in flight).
    /// `lost` says that those were lost which it would have heard by a later expiry.
    pub fn hears(&mut self, next: &Next, lost: bool) -> Heard {
        if !self.waits || self.echo.is_some() && self.echo == next.echoed {
            return if self.waits { Heard::Nothing } else { Heard::Unknown };
        }
        if self.echo.is_none() && next.seq == self.seq {
            return Heard::Nothing;
        }
        self.waits = false;
        let heard = if self.late { Heard::Unknown } else { self.heard(next) };
        match heard {
            Heard::Reply => self.ack_path = Vote::Genuine,
            Heard::Nothing | Heard::Unknown if lost && !self.late => self.ack_path = Vote::Genuine,
            Heard::Before => self.late = true,
            _ => {}
        }
        heard
    }

    /// Which ACK it was that let the sender go on.
    ///
    /// By the echo: that of the answer, or of the report of the duplicate, or an older one (RFC 7323 section 4.3: of what it has
    /// heard last). Without timestamps by the time: the answer takes as long to the sender, and what that sends in turn to this
    /// point, as others do. That an ACK before was late, and came just then, would be chance, as the sender had waited for long.
    fn heard(&self, next: &Next) -> Heard {
        let Some(echoed) = next.echoed else {
            let (Some((passed_ns, _)), Some((least_ns, now_ns))) = (self.reply, next.near_ns) else {
                return Heard::Unknown;
            };
            let longest_ns = 2 * now_ns + HOST_NS;
            let usual = (least_ns / 4..=longest_ns).contains(&(next.t_ns - passed_ns));
            let chance = CHANCE * longest_ns > self.silence_ns;
            return if usual && !chance { Heard::Reply } else { Heard::Unknown };
        };
        let answer = self.reported_ts.or(self.reply.and_then(|(_, ts_val)| ts_val));
        match answer {
            Some(answer) if (echoed.wrapping_sub(answer) as i32) >= 0 => Heard::Reply,
            // New data takes an ACK of what was sent again.
            _ if next.seq >= self.snd_max && self.reported_ts.is_none() => Heard::Before,
            _ => Heard::Unknown,
        }
    }

    /// The first ACK that advances over the segment sent again.
    ///
    /// A receiver that had everything up to beyond the segment does not take the timestamp of another copy
    /// (RFC 7323 section 4.3), so it echoes an old one whether its first ACKs were late or lost. If the answer
    /// reports the copy as a duplicate, they were lost; then the echo says nothing.
    pub fn answer(&mut self, t_ns: i64, record: u64, ts_ecr: Option<u32>, reports_it: bool) {
        self.answer_after_ns = Some(t_ns - self.t_ns);
        self.answer_record = record;
        if self.acked {
            // It answers whatever came last: only what the sender hears next shows whether the ACK before was late.
            return;
        }
        if reports_it {
            self.ack_path = Vote::Genuine;
            return;
        }
        let vote = eifel(self.ts_val, self.ts_later, ts_ecr, self.ts_val_before != self.ts_val);
        self.eifel = if self.syn && vote == Vote::Spurious { Vote::Abstains } else { vote };
    }
}
