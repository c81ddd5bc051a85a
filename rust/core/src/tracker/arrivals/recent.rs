//! The last data segments of a direction.

/// Data segments that are remembered.
pub(super) const RECENT: usize = 64;

/// A data segment that came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub seq: i64,
    pub end: i64,
    pub t_ns: i64,
    pub id: Option<i64>,
    /// The identification as it is in the header, whether these count or not, and the ACK.
    pub header: Option<(u16, u32)>,
    pub ts_val: Option<u32>,
    /// Its place among the arrivals, if it is one of them.
    pub arrival: Option<u32>,
}

/// The same in less room, as one is written for each segment and few are read again.
#[derive(Debug, Clone, Copy)]
struct Held {
    seq: i64,
    t_ns: i64,
    id: i64,
    length: u32,
    ack: u32,
    ts_val: u32,
    arrival: u32,
    ip_id: u16,
    /// Which of `id`, `header`, `ts_val` and `arrival` there are.
    has: u8,
}

const ID: u8 = 1;
const HEADER: u8 = 2;
const TS_VAL: u8 = 4;
const ARRIVAL: u8 = 8;

impl Held {
    #[inline(always)]
    fn of(seen: &Seen) -> Self {
        let Seen { seq, end, t_ns, id, header, ts_val, arrival } = *seen;
        let flag = |there: bool, flag: u8| if there { flag } else { 0 };
        let (ip_id, ack) = header.unwrap_or_default();
        Held {
            seq,
            t_ns,
            id: id.unwrap_or_default(),
            // No segment is longer, nor what lies between two edges that are held.
            length: (end - seq) as u32,
            ack,
            ts_val: ts_val.unwrap_or_default(),
            arrival: arrival.unwrap_or_default(),
            ip_id,
            has: flag(id.is_some(), ID)
                | flag(header.is_some(), HEADER)
                | flag(ts_val.is_some(), TS_VAL)
                | flag(arrival.is_some(), ARRIVAL),
        }
    }

    fn seen(&self) -> Seen {
        let has = |flag: u8| self.has & flag != 0;
        Seen {
            seq: self.seq,
            end: self.end(),
            t_ns: self.t_ns,
            id: has(ID).then_some(self.id),
            header: has(HEADER).then_some((self.ip_id, self.ack)),
            ts_val: has(TS_VAL).then_some(self.ts_val),
            arrival: has(ARRIVAL).then_some(self.arrival),
        }
    }

    #[inline(always)]
    fn end(&self) -> i64 {
        self.seq + i64::from(self.length)
    }
}

/// In the order in which they came; once there are [`RECENT`], each takes the place of the oldest.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    held: Vec<Held>,
    /// Their spans, each in the same place.
    spans: Vec<Span>,
    /// Place of the oldest.
    first: usize,
}

/// Where a segment begins, without what is above 32 bits, and how long it is. A search reads no more of those that do not hold
/// what it is for.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

impl Span {
    #[inline(always)]
    fn of(held: &Held) -> Self {
        Span { start: held.seq as u32, length: held.length }
    }

    /// Whether it holds a byte; one whose numbers are 2^32 apart from that seems to.
    #[inline(always)]
    fn may_hold(self, seq: i64) -> bool {
        (seq as u32).wrapping_sub(self.start) < self.length
    }
}

/// So many spans are compared at once.
const AT_ONCE: usize = 8;

impl Recent {
    /// Another one came.
    #[inline(always)]
    pub fn push(&mut self, seen: &Seen) {
        let held = Held::of(seen);
        if self.held.len() < RECENT {
            self.spans.push(Span::of(&held));
            self.held.push(held);
        } else if let Some((oldest, span)) = self.held.get_mut(self.first).zip(self.spans.get_mut(self.first))
        {
            (*oldest, *span) = (held, Span::of(&held));
            self.first = (self.first + 1) % RECENT;
        }
    }

    /// The one that came at this place in their order.
    fn get(&self, at: usize) -> Option<&Held> {
        if at >= self.held.len() {
            return None;
        }
        let place = self.first + at;
        self.held.get(if place < self.held.len() { place } else { place - self.held.len() })
    }

    /// Those that came from this place on.
    fn from(&self, at: usize) -> impl Iterator<Item = &Held> {
        let (newer, older) = self.held.split_at(self.first);
        let in_order = older.get(at..).unwrap_or_default();
        let behind = newer.get(at.saturating_sub(older.len())..).unwrap_or_default();
        in_order.iter().chain(behind)
    }

    /// How many came before a time, if they came in order.
    fn before(&self, t_ns: i64) -> usize {
        let (newer, older) = self.held.split_at(self.first);
        let is_before = |held: &Held| held.t_ns < t_ns;
        if newer.first().is_some_and(is_before) {
            older.len() + newer.partition_point(is_before)
        } else {
            older.partition_point(is_before)
        }
    }

    /// The last copy of a byte.
    #[inline(always)]
    pub fn copy_of(&self, seq: i64) -> Option<Seen> {
        let ((newer, older), (newer_spans, older_spans)) =
            (self.held.split_at(self.first), self.spans.split_at(self.first));
        let last = last_with(newer, newer_spans, seq);
        last.or_else(|| last_with(older, older_spans, seq)).map(Held::seen)
    }

    /// Whether any above a byte is so.
    pub fn any_above(&self, seq: i64, is: impl Fn(&Seen) -> bool) -> bool {
        self.held.iter().any(|held| held.seq > seq && is(&held.seen()))
    }

    /// The first.
    pub fn oldest(&self) -> Option<Seen> {
        self.get(0).map(Held::seen)
    }

    /// When the first came.
    pub fn oldest_ns(&self) -> Option<i64> {
        self.get(0).map(|held| held.t_ns)
    }

    /// When the last came.
    pub fn last_ns(&self) -> Option<i64> {
        self.get(self.held.len().wrapping_sub(1)).map(|held| held.t_ns)
    }

    /// Whether nothing came since.
    pub fn is_last(&self, seen: &Seen) -> bool {
        self.get(self.held.len().wrapping_sub(1)).is_some_and(|held| held.seen() == *seen)
    }

    /// When the n-th came from a time on.
    pub fn nth_since(&self, t_ns: i64, n: usize) -> Option<i64> {
        self.get(self.before(t_ns) + n - 1).map(|held| held.t_ns)
    }

    /// The longest time between two of those that came from a time on.
    pub fn longest_pause_since(&self, t_ns: i64) -> i64 {
        let from = self.before(t_ns);
        let times = |from: usize| self.from(from).map(|held| held.t_ns);
        times(from).zip(times(from + 1)).map(|(before, after)| after - before).max().unwrap_or(0)
    }
}

/// The last of some that holds a byte. Several spans at once, without a branch for each.
#[inline(always)]
fn last_with<'a>(held: &'a [Held], spans: &[Span], seq: i64) -> Option<&'a Held> {
    let holds = |(held, span): &(&Held, &Span)| span.may_hold(seq) && held.seq <= seq && seq < held.end();
    let (first, others) = spans.as_rchunks::<AT_ONCE>();
    let (first_held, others_held) = held.as_rchunks::<AT_ONCE>();
    for (held, spans) in others_held.iter().zip(others).rev() {
        let any = spans.iter().fold(false, |any, span| any | span.may_hold(seq));
        if any && let Some(found) = held.iter().zip(spans).rev().find(holds) {
            return Some(found.0);
        }
    }
    first_held.iter().zip(first).rev().find(holds).map(|(held, _)| held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A span is compared by 32 bits: one that seems to hold a byte hides none before it that does.
    #[test]
    fn numbers_far_apart_are_told_apart() {
        let mut recent = Recent::default();
        for (at, seq) in [1 << 32, 0].into_iter().chain((1..20).map(|at| 100 * at)).enumerate() {
            let t_ns = at as i64;
            let (id, header, ts_val, arrival) = (None, None, None, None);
            recent.push(&Seen { seq, end: seq + 10, t_ns, id, header, ts_val, arrival });
        }
        let when = |seq: i64| recent.copy_of(seq).map(|seen| seen.t_ns);
        assert_eq!((when(5), when(5 + (1 << 32)), when(5 + (2 << 32))), (Some(1), Some(0), None));
    }

    proptest! {
        /// However many came: what is known of the last is what a plain list of them says.
        #[test]
        fn the_last_are_known(steps in prop::collection::vec((0i64..40, 1i64..9, 0i64..9), 0..200), asked in 0i64..45) {
            let (mut recent, mut plain, mut t_ns) = (Recent::default(), Vec::new(), 0);
            for (seq, length, later) in steps {
                t_ns += later;
                let (id, ts_val) = ((seq % 2 > 0).then_some(seq), (length % 2 > 0).then_some(7));
                let header = (later % 2 > 0).then_some((seq as u16, length as u32));
                let arrival = (later % 3 > 0).then_some(length as u32);
                let seen = Seen { seq, end: seq + length, t_ns, id, header, ts_val, arrival };
                recent.push(&seen);
                plain.push(seen);
            }
            let plain = &plain[plain.len().saturating_sub(RECENT)..];
            let copy = plain.iter().rev().find(|seen| seen.seq <= asked && asked < seen.end);
            prop_assert_eq!(recent.copy_of(asked), copy.copied());
            prop_assert_eq!(recent.oldest(), plain.first().copied());
            prop_assert_eq!(recent.oldest_ns(), plain.first().map(|seen| seen.t_ns));
            prop_assert_eq!(recent.last_ns(), plain.last().map(|seen| seen.t_ns));
            prop_assert_eq!(plain.last().is_some_and(|last| recent.is_last(last)), !plain.is_empty());
            let above = |seen: &Seen| seen.id.is_some();
            prop_assert_eq!(recent.any_above(asked, above), plain.iter().any(|seen| seen.seq > asked && above(seen)));
            let since_ns = 4 * asked;
            let since: Vec<i64> = plain.iter().map(|seen| seen.t_ns).filter(|at_ns| *at_ns >= since_ns).collect();
            for n in 1..4 {
                prop_assert_eq!(recent.nth_since(since_ns, n), since.get(n - 1).copied());
            }
            let longest_ns = since.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            prop_assert_eq!(recent.longest_pause_since(since_ns), longest_ns);
        }
    }
}
