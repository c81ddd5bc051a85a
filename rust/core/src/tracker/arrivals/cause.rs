//! Why a segment was sent again, as far as it shows at a distance: what called for it passed here a round trip before.

use super::asked::{Heard, Request};
use super::behind::SAMPLES;
use super::books::Books;
use super::judge::{DUPACK_THRESHOLD, TIMER_NS};
use super::response::AT_ONCE;
use super::verdict::ArrivalVerdict;
use crate::segment::Segment;
use crate::tracker::outcome::Cause;
use crate::tracker::sender::Sender;

/// From this round trip of the path before this point on, what the sender knew is no longer what was seen here.
const DISTANT_NS: i64 = 5_000_000;
/// Arrivals since a timer expired, at most, after which slow start shows.
const TURNED: u32 = 16;
/// Arrivals that are looked back at for what was sent again since a timer expired.
const BACK: usize = 1024;
/// Longer than any round trip.
const NEVER_NS: i64 = i64::MAX / 2;

/// What called for retransmissions when it passed here: duplicate ACKs, or SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub t_ns: i64,
    /// What was acknowledged, and what had been sent.
    pub una: i64,
    pub high: i64,
}

/// What was to be seen around a retransmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    t_ns: i64,
    seq: i64,
    end: i64,
    /// How long the sender had neither sent nor heard, at most.
    pub quiet_ns: i64,
    /// Duplicate ACKs or SACK blocks call for it, or did when the sender saw them.
    pub called: bool,
    /// It fills the first gap, and what shows that passed so shortly before it that its sender cannot have heard of it.
    unheard: bool,
    /// Smallest round trip; a probe goes out after two of the usual (RFC 8985 section 7.2).
    round_trip_ns: i64,
    /// What ACKs asked for, without SACK.
    asking: Asking,
    /// It goes on where all that was seen ended, and its first copy never came by.
    in_order: bool,
    /// One segment at most: a probe is no more.
    single: bool,
    /// What the sender can have heard when it sent this.
    heard: Heard,
    /// By its timestamp or its identification, something came before it that was sent later.
    overtaken: bool,
}

impl Surroundings {
    pub(super) fn of(sender: &Sender, segment: &Segment, seq: i64, peer: &Sender) -> Self {
        let near = sender.path.as_ref().and_then(|path| path.near_ns());
        let (least_ns, now_ns) = near.unwrap_or((NEVER_NS, NEVER_NS));
        let before_ns = peer.rtt.min().unwrap_or(0).min(least_ns);
        let since_ns = |last: Option<i64>| last.map_or(0, |last_ns| segment.t_ns.saturating_sub(last_ns));
        // Where no ACK was ever captured, nobody knows what the sender had received.
        let heard_ns = since_ns(sender.last_in_ns).saturating_sub(before_ns);
        let acked = sender.last_in_ns.is_some();
        let quiet_ns = match sender.silence_by_clock(segment) {
            // It echoes what the data before echoed: nothing had come to its sender in between (RFC 7323 section 4.3).
            Some(sent_ns) if sent_ns > heard_ns && sender.echoes_the_same(segment) && acked => sent_ns,
            // What it sent may have waited on its way since.
            Some(sent_ns) => {
                let waited_ns = sender.late_by_clock(segment).unwrap_or(0);
                let unheard_ns = sender.unheard_by_clock(segment, peer).unwrap_or(0);
                (heard_ns - waited_ns).max(unheard_ns).min(sent_ns)
            }
            None => heard_ns.min(since_ns(sender.last_out_ns).saturating_sub(before_ns)),
        };
        let now = sender.dupacks >= DUPACK_THRESHOLD as u32
            || sender.sacked.highest().is_some_and(|high| high > seq);
        let until_ns = segment.t_ns.saturating_sub(before_ns / 10 * 9);
        let asking = if sender.sack_permitted {
            Asking::default()
        } else {
            sender.asking(segment, seq, (before_ns, now_ns), peer)
        };
        let stamps = segment.options.timestamps;
        let in_time = sender.was_called_for(seq, until_ns);
        let unheard = seq == sender.snd_una && before_ns >= DISTANT_NS && !in_time && {
            let gap = sender.books.as_ref().and_then(|books| books.gap_at(seq));
            gap.is_some_and(|gap| since_ns(Some(gap.t_ns)) < before_ns / 2)
        };
        Surroundings {
            t_ns: segment.t_ns,
            seq,
            end: seq + i64::from(segment.length),
            heard: Heard { until_ns, ts_ecr: stamps.map(|(_, ecr)| ecr) },
            overtaken: sender.is_behind_newest(segment),
            quiet_ns,
            called: now || asking.made || in_time,
            unheard,
            asking,
            in_order: false,
            single: sender.wire_segments(segment.length) == 1,
            round_trip_ns: before_ns.saturating_add(sender.rtt.min().unwrap_or(0)),
        }
    }
}

/// Without SACK: what ACKs asked for, which fast recovery sends alone (RFC 6582), and when.
#[derive(Debug, Clone, Copy, Default)]
struct Asking {
    /// Enough duplicate ACKs asked for it, which the sender had heard.
    made: bool,
    /// It is the first that is not acknowledged, and a timer has passed since it was sent again; or nothing else was sent again
    /// since.
    overdue: bool,
    /// Fast recovery does not send this: it goes back to what was sent before a timeout.
    goes_back: bool,
    /// How long ago it was asked for, if it is the first that is not acknowledged.
    answer_ns: Option<i64>,
    /// The sender had been asked for it for longer than a timer before it sent this.
    ignored: bool,
    /// The same, unless a queue held it: without timestamps that does not show.
    doubtful: bool,
}

/// An ACK passed with which the sender takes its response to a timeout back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Undone {
    t_ns: i64,
    ts_val: Option<u32>,
}

impl Books {
    /// What a timer began is over, if the sender had heard that it was spurious before it sent this.
    fn leave_loss(&mut self, at: &Surroundings) {
        let heard = |undone: Undone| {
            let (ts_val, stamped) = (undone.ts_val.unwrap_or(0), undone.ts_val.is_some());
            at.heard.includes(undone.t_ns, ts_val, stamped)
        };
        if self.undone.is_some_and(heard) {
            self.undone = None;
            self.recovery = self.recovery.filter(|(_, timer)| !timer);
        }
    }

    /// Whether a copy that the sender made since a timer expired is lost again: those above it were sent a round trip
    /// ago. Linux leaves the state Loss for Recovery then (`tcp_fastretrans_alert`, FLAG_LOST_RETRANS).
    fn is_lost_again(&self, at: &Surroundings) -> bool {
        // Another copy may have overtaken it.
        if at.seq >= self.again_up_to || at.overtaken {
            return false;
        }
        let again = self.arrivals.backwards().take(BACK).map(|(_, row)| row);
        let passed = again.take_while(|row| row.cause != Cause::Timeout);
        let first =
            passed.filter(|row| row.verdict == ArrivalVerdict::Retransmission && row.seq > at.seq).last();
        first.is_some_and(|row| at.t_ns.saturating_sub(row.t_ns) >= at.round_trip_ns / 10 * 9)
    }
}

impl Surroundings {
    /// The same of data whose first copy was missed although nothing above it came by.
    pub(super) fn in_order(self, in_order: bool) -> Self {
        Surroundings { in_order, ..self }
    }
}

impl Sender {
    /// Whether a segment was sent before another that came already.
    fn is_behind_newest(&self, segment: &Segment) -> bool {
        let newest = self.books.as_ref().and_then(|books| books.ts_newest);
        let older = |(val, _): (u32, u32)| newest.is_some_and(|last| (val.wrapping_sub(last) as i32) < 0);
        let last_id = self.ids.next - self.ids.packets(segment);
        segment.options.timestamps.is_some_and(older)
            || self.ids.counts() && (segment.ip_id.wrapping_sub(last_id as u16) as i16) < 0
    }

    /// How long the sender had been silent by its own clock (RFC 7323), which no queue on the path delays; `None`
    /// without timestamps, and while the pace of the clock is not known.
    fn silence_by_clock(&self, segment: &Segment) -> Option<i64> {
        let (ts_val, _) = segment.options.timestamps?;
        let newest = self.books.as_ref().and_then(|books| books.ts_newest)?;
        let silent = i64::from(ts_val.wrapping_sub(newest) as i32);
        // By the clock, up to a tick is missing.
        (silent + 1).checked_mul(self.tick_ns()?)
    }

    /// How long ago the ACK had reached the sender that this echoes, when it sent this: ACKs may have passed here since, and what
    /// it sent may have waited on its way. By the clocks of both ends; `None` while they are not known.
    fn unheard_by_clock(&self, segment: &Segment, peer: &Sender) -> Option<i64> {
        let late_ns = self.late_by_clock(segment)?;
        let (near_ns, _) = self.path.as_ref()?.near_ns()?;
        Some(segment.t_ns - late_ns - self.echoed_ns(segment, peer)? - near_ns)
    }

    /// When the ACK passed here that a segment echoes, by the clock of the receiver.
    fn echoed_ns(&self, segment: &Segment, peer: &Sender) -> Option<i64> {
        let (_, ts_ecr) = segment.options.timestamps?;
        let (last, last_ns) = peer.ts_last?;
        let since = i64::from(last.wrapping_sub(ts_ecr) as i32);
        Some(last_ns - since.checked_mul(peer.tick_ns()?)?)
    }

    /// How long the sender had been asked for what it sends, since the request passed here: until the ACK that it echoes, and
    /// since it heard that.
    fn waited_by_echo(&self, segment: &Segment, since_ns: i64, peer: &Sender) -> Option<i64> {
        let unheard_ns = self.unheard_by_clock(segment, peer)?;
        Some((self.echoed_ns(segment, peer)? - since_ns).max(0) + unheard_ns.max(0))
    }

    /// How long a segment waited before this point by its sender's clock; `None` while that is not known.
    fn late_by_clock(&self, segment: &Segment) -> Option<i64> {
        let (ts_val, _) = segment.options.timestamps?;
        self.path.as_ref()?.late_by_clock(segment.t_ns, ts_val, self.ts_first)
    }

    /// How long after something had passed here the sender sent this, by its own clock since the segment before: a round trip
    /// to it and back is in it. `None` without timestamps, and while the pace of the clock is not known.
    fn waited_by_clock(&self, segment: &Segment, since_ns: i64) -> Option<i64> {
        let (ts_val, _) = segment.options.timestamps?;
        let (last, last_ns) = self.ts_last?;
        let after = i64::from(ts_val.wrapping_sub(last) as i32);
        let after_ns = after.checked_mul(self.tick_ns()?)?;
        Some(last_ns.saturating_sub(since_ns).saturating_add(after_ns))
    }

    /// Whether something called for it until then, although it may have come since.
    pub(super) fn was_called_for(&self, seq: i64, until_ns: i64) -> bool {
        let Some(books) = &self.books else { return false };
        let needed = if self.sack_permitted { 1 } else { DUPACK_THRESHOLD };
        books.calls.iter().any(|call| (call.una..call.high).contains(&seq) && call.t_ns <= until_ns)
            || books
                .gap_at(seq)
                .and_then(|gap| books.nth_since(gap.t_ns, needed))
                .is_some_and(|called_ns| called_ns <= until_ns)
    }

    /// Whether only a timer can repeat the first segment that is not acknowledged (RFC 6582): without SACK no ACK tells
    /// that what was sent again is lost again.
    fn is_overdue(&self, t_ns: i64, seq: i64, before_ns: i64) -> bool {
        let advanced_ns = self.totals.last_advance_ns.unwrap_or(i64::MIN / 2).saturating_add(before_ns);
        if self.sack_permitted || seq != self.snd_una || t_ns.saturating_sub(advanced_ns) < TIMER_NS {
            return false;
        }
        let twice = self.outstanding.at(seq).filter(|run| run.transmissions > 1).map(|run| run.last_ns);
        let again_ns = twice.or_else(|| self.books.as_ref()?.sent_again_at(seq));
        again_ns.is_some_and(|last_ns| t_ns.saturating_sub(last_ns) >= TIMER_NS)
    }

    /// Without SACK, nothing but a timer repeats what was sent again last, however soon it passes behind that.
    fn is_sent_twice_in_turn(&self, seq: i64) -> bool {
        let last = self.books.as_ref().and_then(|books| books.arrivals.backwards().next());
        !self.sack_permitted
            && last.is_some_and(|(_, row)| row.verdict == ArrivalVerdict::Retransmission && row.seq == seq)
    }

    /// What ACKs had asked for where there is no SACK; the round trip to the sender and back took `least_ns` at its best, and
    /// takes `now_ns`.
    #[inline(never)]
    fn asking(&self, segment: &Segment, seq: i64, (least_ns, now_ns): (i64, i64), peer: &Sender) -> Asking {
        let head = seq == self.snd_una;
        let overdue = self.is_overdue(segment.t_ns, seq, least_ns) || self.is_sent_twice_in_turn(seq);
        let Some(books) = &self.books else {
            return Asking { overdue, goes_back: seq > self.snd_una, ..Asking::default() };
        };
        let ts_ecr = segment.options.timestamps.map(|(_, ecr)| ecr);
        let sure = ts_ecr.is_some() || peer.rtt.count >= SAMPLES;
        let soon_ns = match books.quickest_ns {
            _ if sure => least_ns / 2,
            quickest_ns => least_ns.min(quickest_ns.unwrap_or(least_ns)) / AT_ONCE,
        };
        let heard = Heard { until_ns: segment.t_ns.saturating_sub(soon_ns), ts_ecr };
        let (asked_ns, made, never) = match books.request(seq, &heard) {
            Request::Made { t_ns, called } => (Some(t_ns).filter(|_| head), called, false),
            Request::Never => (None, false, true),
            Request::Unknown => (None, false, false),
        };
        let answer_ns = asked_ns.map(|asked_ns| segment.t_ns.saturating_sub(asked_ns));
        let late = answer_ns.is_some_and(|answer_ns| answer_ns - least_ns >= TIMER_NS);
        let waited_ns = asked_ns.filter(|_| late).and_then(|asked_ns| {
            let by_echo_ns = self.waited_by_echo(segment, asked_ns, peer);
            let by_clock_ns = self.waited_by_clock(segment, asked_ns)? - now_ns;
            Some(by_clock_ns.min(by_echo_ns.unwrap_or(i64::MAX)))
        });
        Asking {
            made,
            overdue,
            goes_back: seq > self.snd_una || never,
            answer_ns,
            ignored: waited_ns.is_some_and(|waited_ns| waited_ns >= TIMER_NS),
            doubtful: late && ts_ecr.is_none(),
        }
    }

    /// Whether a segment echoes the same as the data before.
    fn echoes_the_same(&self, segment: &Segment) -> bool {
        let echo = self.path.as_ref().and_then(|path| path.last_echo());
        echo.is_some() && echo == segment.options.timestamps.map(|(_, ecr)| ecr)
    }

    /// Duplicate ACKs or SACK pass that call for retransmissions.
    pub(in crate::tracker) fn note_call(&mut self, t_ns: i64) {
        let (una, high) = (self.snd_una, self.snd_max);
        if self.dupacks < DUPACK_THRESHOLD as u32 && !self.sack_permitted {
            return;
        }
        if let Some(books) = &mut self.books {
            books.call(Call { t_ns, una, high });
        }
    }

    /// Whether the sender's own state, as it shows here, is not what it was when it sent what passes.
    pub(in crate::tracker) fn is_distant(&self, seq: i64, peer: &Sender) -> bool {
        let far_ns = if self.sack_permitted { DISTANT_NS } else { DISTANT_NS / 5 };
        seq < self.snd_una || peer.rtt.min().is_some_and(|before_ns| before_ns >= far_ns)
    }

    /// The sender takes its response to a timeout back when it hears this: not if the timer expired in fast recovery, when Linux
    /// does no F-RTO (`tcp_enter_loss`), and what was sent again first was that recovery's.
    #[cold]
    pub(in crate::tracker) fn loss_undone(&mut self, segment: &Segment) {
        if let Some(books) = self.books.as_mut().filter(|books| !books.expired_in_recovery) {
            let ts_val = segment.options.timestamps.map(|(val, _)| val);
            books.undone = Some(Undone { t_ns: segment.t_ns, ts_val });
        }
    }

    /// The cause, and what it makes of the recovery under way.
    pub(super) fn cause_of_arrival(&mut self, at: &Surroundings) -> Cause {
        let (snd_una, snd_max) = (self.snd_una, self.snd_max);
        let sack = self.sack_permitted;
        let slack = self.ids.payload(true) / 4;
        let Some(books) = &mut self.books else { return Cause::Unknown };
        books.leave_loss(at);
        // What was lost above all that was seen was sent before the recovery of what was seen began.
        let missed = |up_to: i64| at.in_order && at.seq == up_to;
        let recovery =
            books.recovery.filter(|(up_to, _)| snd_una < *up_to || at.seq < *up_to || missed(*up_to));
        // A probe repeats the last segment that was sent, whether it was seen or not.
        let sent_up_to = if at.in_order { snd_max.max(books.sent_up_to - slack) } else { snd_max };
        // A FIN takes a number, too.
        let last = at.single && at.end + 1 >= sent_up_to;
        let timer = at.quiet_ns >= TIMER_NS;
        // The arrival of what was sent again later shows a loss, too (RFC 8985 section 6.2).
        let again = || {
            let rows = books.arrivals.backwards().take(BACK).map(|(_, row)| row);
            rows.take_while(|row| at.t_ns.saturating_sub(row.t_ns) < at.round_trip_ns)
                .any(|row| row.verdict == ArrivalVerdict::Retransmission)
        };
        let cause = match recovery {
            // The probe comes before the timeout (Linux), which repeats it where nothing else is in flight.
            _ if timer
                && sack
                && !at.called
                && recovery.is_none()
                && last
                && (at.seq > snd_una || at.end > books.again_up_to) =>
            {
                Cause::TailLossProbe
            }
            _ if timer || at.asking.overdue => Cause::Timeout,
            Some((_, true)) if sack && books.is_lost_again(at) => Cause::Fast,
            Some((_, true)) if at.asking.ignored && at.asking.made => Cause::Timeout,
            // Slow start has passed it: it was sent again already.
            Some((_, true)) if at.asking.doubtful && at.seq < books.again_up_to && !at.overtaken => {
                Cause::Timeout
            }
            Some((_, true)) => Cause::SlowStart,
            _ if at.asking.ignored => Cause::Timeout,
            Some((_, false)) if at.asking.goes_back => Cause::SlowStart,
            Some((_, false)) => Cause::Fast,
            // What passed here together with it had waited on its way with it.
            None if at.called && sack && at.unheard && !last && !again() => Cause::Timeout,
            None if at.called => Cause::Fast,
            None if sack && last && at.quiet_ns >= at.round_trip_ns => Cause::TailLossProbe,
            None => Cause::Unknown,
        };
        let up_to = snd_max.max(at.end);
        books.recovery = match cause {
            // What is sent after the timer expired is no part of it.
            Cause::SlowStart if !sack => Some(match recovery {
                Some((before, true)) => (before.max(at.end), true),
                _ => (up_to, true),
            }),
            Cause::SlowStart | Cause::Timeout => Some((up_to, true)),
            Cause::Fast if recovery.is_none_or(|(_, timer)| timer) => Some((up_to, false)),
            _ if at.in_order => recovery.map(|(before, timer)| (before.max(up_to), timer)),
            _ => recovery,
        };
        if cause == Cause::Timeout {
            books.expired_in_recovery = recovery.is_some_and(|(_, timer)| !timer);
        }
        let passed = if cause == Cause::Timeout { i64::MIN } else { books.again_up_to };
        books.again_up_to = passed.max(at.end);
        match cause {
            Cause::Fast => {
                books.quickest_ns = books.quickest_ns.into_iter().chain(at.asking.answer_ns).min();
                if at.asking.doubtful {
                    books.doubted = Some(books.arrivals.next());
                }
            }
            Cause::SlowStart if recovery.is_some_and(|(_, timer)| !timer) => self.turn_to_slow_start(),
            _ => books.doubted = None,
        }
        cause
    }

    /// Slow start shows in what was taken for fast recovery: the timer had expired. If one segment came long after it had
    /// been asked for, it was that one, and what came since belongs to slow start.
    #[cold]
    fn turn_to_slow_start(&mut self) {
        let Some(first) = self.books.as_mut().and_then(|books| books.doubted.take()) else { return };
        let last = self.books.as_ref().map_or(first, |books| books.arrivals.next());
        if last - first > TURNED {
            return;
        }
        for place in first..last {
            self.correct_cause(place, if place == first { Cause::Timeout } else { Cause::SlowStart });
        }
    }

    /// How long the sender had neither sent nor heard before this, at most, and its smallest round trip.
    pub(super) fn pause_before(&self, segment: &Segment, seq: i64, peer: &Sender) -> (i64, i64) {
        let at = Surroundings::of(self, segment, seq, peer);
        (at.quiet_ns, at.round_trip_ns)
    }

    /// Whether a copy passes sooner after the one before, of which an ACK has passed, than its sender can have heard that ACK:
    /// the data was late, not lost, nor was its ACK.
    #[cold]
    pub(in crate::tracker) fn came_too_late(&self, segment: &Segment, seq: i64, peer: &Sender) -> bool {
        let near_ns = self.path.as_ref().and_then(|path| path.near_ns()).map(|(least_ns, _)| least_ns);
        let before_ns = peer.rtt.min().into_iter().chain(near_ns).min();
        let copied_ns = self.books.as_ref().and_then(|books| books.copied_ns);
        seq + i64::from(segment.length) <= self.snd_una
            && copied_ns.zip(before_ns).is_some_and(|(copied_ns, before_ns)| {
                segment.t_ns.saturating_sub(copied_ns) < before_ns / 10 * 9
            })
    }
}
