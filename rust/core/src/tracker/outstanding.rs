//! What was sent and is not acknowledged yet: the scoreboard (RFC 2018, 6675).

use std::collections::VecDeque;

/// Entries kept per direction. Where no ACK is seen (one direction captured) the oldest are given up.
const CAPACITY: usize = 1 << 18;

/// A run of sequence numbers that were last sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// First sequence number.
    pub seq: i64,
    /// One past the last.
    pub end: i64,
    /// When it was first sent.
    pub first_ns: i64,
    /// When it was last sent.
    pub last_ns: i64,
    /// How often it was sent.
    pub transmissions: u16,
    /// Selectively acknowledged.
    pub sacked: bool,
}

/// Sent runs in sequence order, disjoint.
#[derive(Debug, Clone, Default)]
pub struct Outstanding {
    queue: VecDeque<Sent>,
}

impl Outstanding {
    /// Number of runs.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Nothing outstanding.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The run that holds a sequence number.
    pub fn at(&self, seq: i64) -> Option<&Sent> {
        let index = self.queue.partition_point(|s| s.end <= seq);
        self.queue.get(index).filter(|s| s.seq <= seq)
    }

    /// Runs in order.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.queue.iter()
    }

    /// `[seq, end)` was sent, for the first time or again.
    pub fn send(&mut self, seq: i64, end: i64, t_ns: i64) {
        let fresh = Sent { seq, end, first_ns: t_ns, last_ns: t_ns, transmissions: 1, sacked: false };
        match self.queue.back() {
            Some(last) if seq < last.end => self.send_again(seq, end, t_ns),
            _ => self.queue.push_back(fresh),
        }
        while self.queue.len() > CAPACITY {
            self.queue.pop_front();
        }
    }

    fn send_again(&mut self, seq: i64, end: i64, t_ns: i64) {
        self.split(seq);
        self.split(end);
        let mut index = self.queue.partition_point(|s| s.end <= seq);
        let mut cursor = seq;
        while cursor < end {
            let next = self.queue.get(index).copied();
            match next {
                Some(run) if run.seq == cursor => {
                    let run = &mut self.queue[index];
                    run.last_ns = t_ns;
                    run.transmissions = run.transmissions.saturating_add(1);
                    cursor = run.end;
                }
                other => {
                    // A hole: the capture had not seen these bytes before.
                    let stop = other.map_or(end, |run| run.seq.min(end));
                    let fresh = Sent {
                        seq: cursor,
                        end: stop,
                        first_ns: t_ns,
                        last_ns: t_ns,
                        transmissions: 1,
                        sacked: false,
                    };
                    self.queue.insert(index, fresh);
                    cursor = stop;
                }
            }
            index += 1;
        }
    }

    /// Make `at` a boundary between runs.
    fn split(&mut self, at: i64) {
        let index = self.queue.partition_point(|s| s.end <= at);
        if let Some(run) = self.queue.get_mut(index)
            && run.seq < at
        {
            let mut right = *run;
            run.end = at;
            right.seq = at;
            self.queue.insert(index + 1, right);
        }
    }

    /// Everything below `ack` has arrived; `acked` sees each run (or part of a run) that was outstanding.
    pub fn acknowledge(&mut self, ack: i64, mut acked: impl FnMut(&Sent)) {
        while let Some(run) = self.queue.front_mut() {
            if run.end <= ack {
                acked(run);
                self.queue.pop_front();
            } else {
                if run.seq < ack {
                    acked(&Sent { end: ack, ..*run });
                    run.seq = ack;
                }
                break;
            }
        }
    }

    /// `[left, right)` was selectively acknowledged; `fresh` sees each run that was not before.
    pub fn sack(&mut self, left: i64, right: i64, mut fresh: impl FnMut(&Sent)) {
        let mut index = self.queue.partition_point(|s| s.end <= left);
        while let Some(run) = self.queue.get_mut(index) {
            if run.seq >= right {
                break;
            }
            if run.seq >= left && run.end <= right && !run.sacked {
                run.sacked = true;
                fresh(run);
            }
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(o: &Outstanding) -> Vec<(i64, i64, u16)> {
        o.iter().map(|s| (s.seq, s.end, s.transmissions)).collect()
    }

    #[test]
    fn retransmissions_split_runs() {
        let mut o = Outstanding::default();
        o.send(0, 3000, 1);
        o.send(3000, 4000, 2);
        o.send(500, 3500, 9);
        assert_eq!(runs(&o), [(0, 500, 1), (500, 3000, 2), (3000, 3500, 2), (3500, 4000, 1)]);
        let mut seen = 0;
        o.acknowledge(600, |s| seen += s.end - s.seq);
        assert_eq!(seen, 600);
        assert_eq!(o.iter().next().map(|s| s.seq), Some(600));
    }

    #[test]
    fn holes_are_filled_as_first_transmissions() {
        let mut o = Outstanding::default();
        o.send(0, 100, 1);
        o.send(300, 400, 2);
        o.send(50, 350, 3);
        assert_eq!(runs(&o), [(0, 50, 1), (50, 100, 2), (100, 300, 1), (300, 350, 2), (350, 400, 1)]);
    }

    #[test]
    fn sack_marks_whole_runs_once() {
        let mut o = Outstanding::default();
        o.send(0, 100, 1);
        o.send(100, 200, 1);
        let mut count = 0;
        o.sack(100, 200, |_| count += 1);
        o.sack(50, 200, |_| count += 1);
        assert_eq!(count, 1);
    }
}
