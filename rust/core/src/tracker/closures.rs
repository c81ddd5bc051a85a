//! How often a receiver closed its window, and for how long (RFC 9293 section 3.8.6).

use super::fields::{Fields, MaybeTime, Time, Walk, walk_over};

/// Times in which a window was closed: each from the first zero window to the next that is none, to the RST, or to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Closures {
    /// How many there were.
    pub count: u32,
    longest_ns: i64,
    total_ns: i64,
    /// It is closed since then, and was when it was advertised last.
    since_ns: Option<i64>,
    last_ns: i64,
}

impl Closures {
    /// A zero window is advertised.
    pub(super) fn close(&mut self, t_ns: i64) {
        if self.since_ns.is_none() {
            self.count = self.count.saturating_add(1);
            self.since_ns = Some(t_ns);
        }
        self.last_ns = t_ns;
    }

    /// Another one is.
    #[inline]
    pub(super) fn open(&mut self, t_ns: i64) {
        if let Some(since_ns) = self.since_ns.take() {
            self.end(t_ns.saturating_sub(since_ns));
        }
    }

    /// The connection is reset: the window was closed until then.
    pub(super) fn reset(&mut self, t_ns: i64) {
        if self.since_ns.is_some() {
            self.last_ns = self.last_ns.max(t_ns);
        }
    }

    /// Until when it is closed, as far as was seen; `None` if it is open.
    pub fn closed_until_ns(&self) -> Option<i64> {
        self.since_ns.map(|_| self.last_ns)
    }

    fn end(&mut self, length_ns: i64) {
        self.longest_ns = self.longest_ns.max(length_ns);
        self.total_ns = self.total_ns.saturating_add(length_ns);
    }

    /// The longest of them, and all together; one that goes on lasts until the last ACK.
    pub fn lengths_ns(&self) -> [i64; 2] {
        let mut all = *self;
        all.open(self.last_ns);
        [all.longest_ns, all.total_ns]
    }
}

impl Fields for Closures {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Closures { count, longest_ns, total_ns, since_ns, last_ns } = self;
        walk_over!(walk: count, longest_ns, total_ns, &mut MaybeTime(since_ns), &mut Time(last_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lasts_until_a_window_that_is_none() {
        let mut closures = Closures::default();
        closures.open(1);
        for t_ns in [10, 15, 17] {
            closures.close(t_ns);
        }
        assert_eq!((closures.count, closures.lengths_ns()), (1, [7, 7]));
        closures.open(20);
        closures.open(25);
        closures.close(40);
        assert_eq!((closures.count, closures.lengths_ns()), (2, [10, 10]));
        closures.close(44);
        assert_eq!((closures.count, closures.lengths_ns()), (2, [10, 14]));
        closures.reset(60);
        assert_eq!((closures.lengths_ns(), closures.closed_until_ns()), ([20, 30], Some(60)));
        closures.open(70);
        closures.reset(90);
        assert_eq!((closures.lengths_ns(), closures.closed_until_ns()), ([30, 40], None));
    }
}
