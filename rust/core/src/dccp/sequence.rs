//! Sequence numbers of 24 bits, put back to 48.
//!
//! Reference: RFC 4340 section 7.6.

use super::header::Number;

const HALF: i64 = 1 << 23;
const SPAN: i64 = 1 << 24;

/// The numbers of one direction, as far as they were seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    last: Option<i64>,
}

impl Numbers {
    /// The whole number: nearest to the last one seen. Without one (the capture began later) the low bits alone.
    pub(super) fn whole(&self, number: Number) -> i64 {
        let value = number.value as i64;
        match self.last {
            Some(last) if !number.whole => {
                let ahead = (value - last).rem_euclid(SPAN);
                (last + if ahead >= HALF { ahead - SPAN } else { ahead }).max(0)
            }
            _ => value,
        }
    }

    /// As [`Numbers::whole`], of a packet of this direction.
    pub(super) fn saw(&mut self, number: Number) -> i64 {
        let whole = self.whole(number);
        self.last = Some(self.last.map_or(whole, |last| if number.whole { whole } else { last.max(whole) }));
        whole
    }
}
