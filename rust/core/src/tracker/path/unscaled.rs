//! Windows whose scale no SYN told: a sender that fills them to their right edge shows it, and so does what it sends beyond
//! the edge that a smaller scale would give them (RFC 7323 section 2).

use crate::tracker::fields::{Fields, Walk, walk_over};

/// So many different edges, filled to the byte, are no chance.
const FILLED: u8 = 5;
/// Largest scale (RFC 7323 section 2.3).
const LARGEST: u8 = 14;

/// What is known of the windows of one receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unscaled {
    /// The last ACK, and the window with it as its header has it (0: none was seen, or it is closed).
    ack: i64,
    raw: u16,
    /// The smallest scale by which nothing was sent beyond a window, and the highest right edge by that.
    shift: u8,
    edge: i64,
    /// How many edges were filled, and the last of them.
    filled: u8,
    filled_edge: i64,
    /// The smallest of those windows (0: none was seen).
    least: u16,
    /// Whether the last data ended at the edge of the window by any scale that is left.
    pub at_edge: bool,
}

impl Fields for Unscaled {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Unscaled { ack, raw, shift, edge, filled, filled_edge, least, at_edge } = self;
        walk_over!(walk: ack, raw, shift, edge, filled, filled_edge, least, at_edge);
    }
}

impl Unscaled {
    /// An ACK passes.
    pub fn hear(&mut self, ack: i64, raw: u16) {
        if ack < self.ack {
            return;
        }
        (self.ack, self.raw) = (ack, raw);
        if self.least == 0 || raw < self.least {
            self.least = raw.max(1);
        }
        if raw > 0 {
            self.edge = self.edge.max(self.edge_by(self.shift));
        }
    }

    /// Data up to `end` passes; the scale, once it shows.
    pub fn send(&mut self, end: i64) -> Option<u8> {
        self.at_edge = false;
        if self.raw == 0 || self.shift > LARGEST {
            return None;
        }
        // The receiver rounds down: its edge may move back by less than a unit.
        if end >= self.edge + (1 << self.shift) {
            self.raise(end);
        }
        self.at_edge = end == self.edge || (self.shift..=LARGEST).any(|shift| end == self.edge_by(shift));
        if (end == self.edge || end == self.edge_by(self.shift)) && end > self.filled_edge {
            (self.filled, self.filled_edge) = (self.filled + 1, end);
        }
        (self.filled >= FILLED).then_some(self.shift)
    }

    /// Whether all windows were larger than so much, by whatever scale.
    pub fn larger_than(&self, bytes: i64) -> bool {
        i64::from(self.least) > bytes
    }

    /// Data went beyond the edge: the scale is larger.
    fn raise(&mut self, end: i64) {
        (self.filled, self.filled_edge) = (0, 0);
        while self.shift <= LARGEST && end > self.edge_by(self.shift) {
            self.shift += 1;
        }
        self.edge = self.edge_by(self.shift);
    }

    fn edge_by(&self, shift: u8) -> i64 {
        self.ack.saturating_add(i64::from(self.raw) << shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a sender that fills a window of so many units each round trip, but for the last bytes.
    fn rounds(raw: u16, shift: u8, short: i64, rounds: i64) -> Option<u8> {
        let (mut windows, mut ack, mut found) = (Unscaled::default(), 1, None);
        for round in 0..rounds {
            let raw = raw - (round % 3) as u16;
            windows.hear(ack, raw);
            let end = ack + (i64::from(raw) << shift) - short;
            found = [ack + (end - ack) / 2, end].into_iter().filter_map(|end| windows.send(end)).last();
            ack = end;
        }
        found
    }

    #[test]
    fn a_window_that_is_filled_to_its_edge_shows_its_scale() {
        for shift in [0, 2, 7, 14] {
            assert_eq!(rounds(3120, shift, 0, 8), Some(shift));
        }
    }

    #[test]
    fn a_window_that_has_room_shows_nothing() {
        assert_eq!(rounds(3120, 2, 100, 100), None);
        assert_eq!(rounds(3120, 2, 0, 2), None);
    }

    #[test]
    fn a_large_window_is_one_by_any_scale() {
        let mut windows = Unscaled::default();
        assert!(!windows.larger_than(0));
        windows.hear(1, 60_000);
        assert!(windows.larger_than(14_480) && !windows.larger_than(60_000));
        windows.hear(2001, 0);
        assert!(!windows.larger_than(14_480));
    }

    /// No scale is large enough: these are no windows.
    #[test]
    fn what_is_beyond_the_largest_scale_shows_nothing() {
        let mut windows = Unscaled::default();
        windows.hear(1, 1);
        assert_eq!((windows.send(1_000_000), windows.send(1_016_385), windows.at_edge), (None, None, false));
    }

    #[test]
    fn the_window_of_an_ack_that_was_overtaken_is_none() {
        let mut windows = Unscaled::default();
        windows.hear(20_001, 3000);
        windows.hear(10_001, 60_000);
        windows.send(23_001);
        assert!(windows.at_edge);
    }
}
