//! Requests and responses of a connection that takes them one at a time, and which end let the other wait.

use super::fields::{Fields, Time, Walk, walk_over};

/// From so many responses on a connection is described by them.
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
}

impl Exchanges {
    /// One end had sent its first run when the other one answers: of `direction`, up to `end`, at last at `last_ns`.
    pub(super) fn begin(direction: usize, last_ns: i64, end: i64) -> Self {
        let last = direction as u8;
        Exchanges { runs: 1, first: last, last, last_ns, end, ..Exchanges::default() }
    }

    /// A segment of `direction` with new data up to `end` passes, which acknowledges up to `ack`.
    pub(super) fn send(&mut self, direction: usize, t_ns: i64, ack: i64, end: i64) {
        if usize::from(self.last) != direction {
            let of_request = self.runs.is_multiple_of(2);
            let wait_ns = &mut self.waits_ns[usize::from(of_request)];
            *wait_ns = wait_ns.saturating_add(t_ns.saturating_sub(self.last_ns).max(0));
            self.in_turn += u32::from(ack >= self.end);
            self.runs = self.runs.saturating_add(1);
        }
        (self.last, self.last_ns, self.end) = (direction as u8, t_ns, end);
    }

    /// None for fewer than three responses, or if the ends do not wait for each other.
    pub fn waits(&self) -> Option<Waits> {
        let follow = self.runs.saturating_sub(1);
        if self.runs < 2 * LEAST || f64::from(self.in_turn) < IN_TURN * f64::from(follow) {
            return None;
        }
        let [response_ns, request_ns] = self.waits_ns;
        Some(Waits {
            count: follow.div_ceil(2),
            requests: self.runs.div_ceil(2),
            client: usize::from(self.first),
            request_ns,
            response_ns,
        })
    }
}

impl Fields for Exchanges {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Exchanges { runs, in_turn, first, waits_ns, last, last_ns, end } = self;
        walk_over!(walk: runs, in_turn, first, waits_ns, last, &mut Time(last_ns), end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_both_ends_are_summed_by_turns() {
        let mut exchanges = Exchanges::begin(0, 100, 10);
        for (number, direction) in [1, 0, 1, 0].into_iter().enumerate() {
            let t_ns = 110 + 100 * number as i64;
            exchanges.send(direction, t_ns, exchanges.end, 20 + number as i64);
            exchanges.send(direction, t_ns + 5, exchanges.end, 30 + number as i64);
        }
        assert_eq!(exchanges.waits(), None);
        exchanges.send(1, 500, exchanges.end, 90);
        // 10 after the first request, then 95 after each of four segments.
        let waits = Waits { count: 3, requests: 3, client: 0, request_ns: 190, response_ns: 10 + 95 + 85 };
        assert_eq!(exchanges.waits(), Some(waits));
    }

    #[test]
    fn who_does_not_wait_for_the_other_is_not_described() {
        let mut exchanges = Exchanges::begin(1, 0, 10);
        for number in 0..9 {
            exchanges.send(
                number % 2,
                number as i64,
                exchanges.end - i64::from(number % 3 == 0),
                20 + number as i64,
            );
        }
        assert_eq!(exchanges.waits(), None);
    }
}
