//! Requests and responses of a connection that takes them one at a time, and which end let the other wait.

use super::fields::{Fields, Time, Walk, walk_over};

/// From so many requests or responses of which Nagle's algorithm held the end on, it is said.
const LEAST: u32 = 3;
/// Part of the requests and responses whose first segment acknowledges all that the other end had sent.
const IN_TURN: f64 = 0.8;

/// Runs of segments with data that was not sent before, of one end and of the other in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exchanges {
    /// How many runs there were, and how many of them began with an ACK of all of the one before.
    runs: u32,
    in_turn: u32,
    /// The direction of the first.
    first: u8,
    /// From the last segment of a run to the first of the next, summed: until responses, until further requests.
    waits_ns: [i64; 2],
    /// The direction of the last segment with new data, when it passed, and one past its last byte.
    last: u8,
    last_ns: i64,
    end: i64,
    /// Runs of each direction whose last segment Nagle's algorithm had held, and for how long, summed; and for how long it
    /// held the last segment so far.
    held: [u32; 2],
    held_ns: [i64; 2],
    holding_ns: i64,
    /// What of that followed a full segment, behind which no pause shows that nothing was left to send; and whether the last does.
    behind_full_ns: [i64; 2],
    behind_full: bool,
    /// How long the first response took; not where that is unknown.
    first_wait_ns: Option<i64>,
    /// What the newest run had waited.
    newest_wait_ns: i64,
    /// One past the last segment of this run that was not full: Linux holds the next only until that is acknowledged (Minshall).
    short_end: Option<i64>,
    /// When the ACK of that passed.
    short_acked_ns: Option<i64>,
}

/// What requests and responses came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Responses.
    pub count: u32,
    /// Requests.
    pub requests: u32,
    /// The direction of the requests.
    pub client: usize,
    /// From the last segment of a response to the first of the next request, summed.
    pub request_ns: i64,
    /// From the last segment of a request to the first of its response, summed.
    pub response_ns: i64,
    /// Of each direction, how many of its requests or responses Nagle's algorithm held the end of, and for how long,
    /// summed; none where that is seldom so.
    pub held: [(u32, i64); 2],
    /// What of that time followed a full segment: it looks like time that the network took.
    pub held_behind_full_ns: [i64; 2],
}

impl Exchanges {
    /// One end had sent its first run when the other one answers, at `t_ns`: of `direction`, up to `end`, at last at `last_ns`.
    /// `one` is whether that is a request that was sent at once, and once.
    pub(super) fn begin(direction: usize, (last_ns, t_ns): (i64, i64), end: i64, one: bool) -> Self {
        let last = direction as u8;
        let first_wait_ns = one.then(|| t_ns.saturating_sub(last_ns).max(0));
        Exchanges { runs: 1, first: last, last, last_ns, end, first_wait_ns, ..Exchanges::default() }
    }

    /// How long the first data of a direction took that answers a request.
    pub(super) fn first_wait_ns(&self, direction: usize) -> Option<i64> {
        self.first_wait_ns.filter(|_| usize::from(self.first) != direction)
    }

    /// An ACK of all up to a byte of `direction` passes.
    #[inline]
    pub(super) fn acknowledged(&mut self, direction: usize, ack: i64, t_ns: i64) {
        if self.short_acked_ns.is_none()
            && self.short_end.is_some_and(|end| ack >= end)
            && usize::from(self.last) == direction
        {
            self.short_acked_ns = Some(t_ns);
        }
    }

    /// A segment of `direction` with new data up to `end` passes, which acknowledges up to `ack`. `held` is whether it was not
    /// full, and sent after such a wait when the ACK came of all up to some byte, which passed then if that is known here: Nagle's
    /// algorithm (RFC 9293 section 3.7.4).
    pub(super) fn send(
        &mut self,
        direction: usize,
        t_ns: i64,
        (ack, end): (i64, i64),
        (full, held): (bool, impl Fn(i64, i64, Option<i64>) -> bool),
    ) {
        let wait_ns = t_ns.saturating_sub(self.last_ns).max(0);
        if usize::from(self.last) == direction {
            let waits = !full && held(wait_ns, self.short_end.unwrap_or(self.end), self.short_acked_ns);
            self.holding_ns = if waits { wait_ns } else { 0 };
            self.behind_full = self.short_end != Some(self.end);
        } else {
            if self.holding_ns > 0 {
                let last = usize::from(self.last);
                self.held[last] = self.held[last].saturating_add(1);
                self.held_ns[last] = self.held_ns[last].saturating_add(self.holding_ns);
                if self.behind_full {
                    self.behind_full_ns[last] = self.behind_full_ns[last].saturating_add(self.holding_ns);
                }
            }
            (self.holding_ns, self.short_end, self.short_acked_ns) = (0, None, None);
            let of_request = self.runs.is_multiple_of(2);
            let waits_ns = &mut self.waits_ns[usize::from(of_request)];
            *waits_ns = waits_ns.saturating_add(wait_ns);
            self.newest_wait_ns = wait_ns;
            self.in_turn += u32::from(ack >= self.end);
            self.runs = self.runs.saturating_add(1);
        }
        (self.last, self.last_ns, self.end) = (direction as u8, t_ns, end);
        if !full {
            (self.short_end, self.short_acked_ns) = (Some(end), None);
        }
    }

    /// Until the last data of a direction. None without responses by then, or if the ends do not wait for each other. `opener` is
    /// the direction of the SYN, if one was seen: where the other end sends first, that is a greeting, and no request.
    pub fn waits(&self, opener: Option<usize>, data: usize) -> Option<Waits> {
        let beyond = usize::from(self.last) != data;
        let runs = self.runs.saturating_sub(u32::from(beyond));
        let follow = runs.saturating_sub(1);
        if f64::from(self.in_turn) < IN_TURN * f64::from(follow) {
            return None;
        }
        let greeted = opener.is_some_and(|opener| opener != usize::from(self.first));
        let mut waits_ns = self.waits_ns;
        if beyond {
            waits_ns[usize::from(runs.is_multiple_of(2))] -= self.newest_wait_ns;
        }
        let [until_second_ns, until_first_ns] = waits_ns;
        let (firsts, seconds) = (runs.div_ceil(2), follow.div_ceil(2));
        let (requests, count) = if greeted { (seconds, firsts.saturating_sub(1)) } else { (firsts, seconds) };
        if count == 0 {
            return None;
        }
        let (response_ns, request_ns) =
            if greeted { (until_first_ns, until_second_ns) } else { (until_second_ns, until_first_ns) };
        // Half of them: every other run is of that end.
        let often = |direction: usize| self.held[direction] >= LEAST && self.held[direction] >= runs / 4;
        let held = [0, 1].map(|direction| match often(direction) {
            true => (self.held[direction], self.held_ns[direction]),
            false => (0, 0),
        });
        let held_behind_full_ns =
            [0, 1].map(|direction| if often(direction) { self.behind_full_ns[direction] } else { 0 });
        Some(Waits {
            count,
            requests,
            client: usize::from(self.first) ^ usize::from(greeted),
            request_ns,
            response_ns,
            held,
            held_behind_full_ns,
        })
    }
}

impl Fields for Exchanges {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Exchanges {
            runs,
            in_turn,
            first,
            waits_ns,
            last,
            last_ns,
            end,
            held,
            held_ns,
            holding_ns,
            behind_full_ns,
            behind_full,
            first_wait_ns,
            newest_wait_ns,
            short_end,
            short_acked_ns,
        } = self;
        walk_over!(walk: runs, in_turn, first, waits_ns, last, &mut Time(last_ns), end, held, held_ns, holding_ns, short_end);
        walk_over!(walk: behind_full_ns, behind_full, first_wait_ns, newest_wait_ns, short_acked_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Held = fn(i64, i64, Option<i64>) -> bool;
    const FULL: (bool, Held) = (true, |_, _, _| true);

    /// Requests of so many segments, 5 apart, of which the last is held or not.
    fn requests(each: usize, held: impl Fn(usize) -> bool) -> [(u32, i64); 2] {
        let mut exchanges = Exchanges::begin(1, (0, 0), 0, true);
        let mut t_ns = 0;
        for number in 0..8 {
            for segment in 0..each {
                t_ns += 5;
                let last = segment + 1 == each;
                exchanges.send(0, t_ns, (exchanges.end, t_ns), (!last, |_, _, _| held(number)));
            }
            t_ns += 100;
            exchanges.send(1, t_ns, (exchanges.end, t_ns), (false, |_, _, _| true));
        }
        exchanges.waits(None, 1).expect("in turn").held
    }

    #[test]
    fn what_ends_requests_and_waited_was_held() {
        assert_eq!(requests(3, |_| true), [(8, 40), (0, 0)]);
        assert_eq!(requests(3, |number| number % 2 == 0), [(4, 20), (0, 0)]);
        assert_eq!(requests(3, |number| number % 4 == 0), [(0, 0), (0, 0)], "seldom");
        assert_eq!(requests(1, |_| true), [(0, 0), (0, 0)], "who begins waited for the other end");
    }

    #[test]
    fn waits_of_both_ends_are_summed_by_turns() {
        let mut exchanges = Exchanges::begin(0, (100, 110), 10, true);
        for (number, direction) in [1, 0, 1, 0].into_iter().enumerate() {
            let t_ns = 110 + 100 * number as i64;
            exchanges.send(direction, t_ns, (exchanges.end, 20 + number as i64), FULL);
            exchanges.send(direction, t_ns + 5, (exchanges.end, 30 + number as i64), FULL);
        }
        let until = |direction: usize| exchanges.waits(None, direction);
        assert_eq!(until(0).map(|waits| (waits.requests, waits.count)), Some((3, 2)));
        // The last request is beyond the last response.
        let counts = until(1).map(|waits| (waits.requests, waits.count, waits.request_ns, waits.response_ns));
        assert_eq!(counts, Some((2, 2, 95, 105)));
        exchanges.send(1, 500, (exchanges.end, 90), FULL);
        // 10 after the first request, then 95 after each of four segments.
        let response_ns = 10 + 95 + 85;
        let waits = Waits {
            count: 3,
            requests: 3,
            client: 0,
            request_ns: 190,
            response_ns,
            held: [(0, 0); 2],
            held_behind_full_ns: [0; 2],
        };
        assert_eq!(exchanges.waits(None, 1), Some(waits));
        assert_eq!(exchanges.waits(Some(0), 1), Some(waits));
        // Nothing was left to send while the last response was awaited.
        let sent = Waits { count: 2, response_ns: 105, ..waits };
        assert_eq!(exchanges.waits(Some(0), 0), Some(sent));
        // Who was called begins: what it sends first is a greeting, and each run of the other a request.
        let greeted = Waits { count: 2, client: 1, request_ns: response_ns, response_ns: 190, ..waits };
        assert_eq!(exchanges.waits(Some(1), 1), Some(greeted));
    }

    /// What the end that was called sends first is a greeting, and what follows it a request without a response.
    #[test]
    fn one_request_and_its_response_are_enough() {
        let mut exchanges = Exchanges::begin(0, (100, 170), 10, true);
        exchanges.send(1, 170, (10, 500), FULL);
        let waits = exchanges.waits(Some(0), 1).expect("in turn");
        assert_eq!((waits.requests, waits.count, waits.request_ns, waits.response_ns), (1, 1, 0, 70));
        assert_eq!(exchanges.waits(Some(0), 0), None, "it came behind all of the request");
        assert_eq!(exchanges.waits(Some(1), 1), None);
        assert_eq!(exchanges.first_wait_ns(1), Some(70));
        assert_eq!(exchanges.first_wait_ns(0), None, "it sent the request");
        assert_eq!(Exchanges::begin(0, (100, 170), 10, false).first_wait_ns(1), None);
    }

    #[test]
    fn who_does_not_wait_for_the_other_is_not_described() {
        let mut exchanges = Exchanges::begin(1, (0, 0), 10, true);
        for number in 0..9 {
            let ack = exchanges.end - i64::from(number % 3 == 0);
            exchanges.send(number % 2, number as i64, (ack, 20 + number as i64), FULL);
        }
        assert_eq!(exchanges.waits(None, 0), None);
    }
}
