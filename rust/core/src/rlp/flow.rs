//! One direction of a call: which frames are new, and where their bytes are in the stream.

use super::frame::MODULUS;

/// So many frames in a row may be missing from a capture before what comes next is taken for older frames.
const FEW: i32 = 8;

/// A frame that has been sent and may be sent again.
#[derive(Debug, Clone, Copy)]
struct Sent {
    offset: i64,
    length: i32,
    attempts: i16,
}

/// What is known of an information frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// First user byte in the stream; runs on across resets.
    pub offset: i64,
    pub length: i32,
    /// 0 for the first transmission.
    pub attempt: i16,
    /// Frames before it that the capture does not have.
    pub missing: i32,
}

/// Counts the frames that one entity sends.
#[derive(Debug)]
pub(crate) struct Direction {
    /// V(S): the next new frame; None until one was seen.
    next: Option<i32>,
    /// The oldest frame not acknowledged.
    acked: i32,
    offset: i64,
    sent: [Option<Sent>; MODULUS as usize],
    /// Most attempts for one frame since the last reset.
    pub most_attempts: i16,
}

impl Direction {
    pub(crate) fn new() -> Self {
        Direction { next: None, acked: 0, offset: 0, sent: [None; MODULUS as usize], most_attempts: 0 }
    }

    /// Whether frames have been sent since the call or the last reset.
    pub(crate) fn used(&self) -> bool {
        self.sent.iter().any(Option::is_some)
    }

    /// The counters are zero again; bytes keep their numbers.
    pub(crate) fn reset(&mut self) {
        *self = Direction { offset: self.offset, next: Some(0), ..Direction::new() };
    }

    /// The peer acknowledges all frames before N(R); how many of them the capture does not have.
    pub(crate) fn acknowledge(&mut self, nr: i32, full: i32) -> i32 {
        let (Some(next), true) = (self.next, (0..MODULUS).contains(&nr)) else { return 0 };
        let outstanding = distance(self.acked, next);
        let missing = (distance(self.acked, nr) - outstanding).max(0);
        if missing > 0 {
            self.offset += i64::from(missing) * i64::from(full);
            self.next = Some(nr);
        }
        self.acked = nr;
        missing
    }

    /// The entity sends frame N(S) with so many user bytes; a full frame has `full`.
    pub(crate) fn send(&mut self, ns: i32, length: i32, full: i32) -> Placed {
        let next = *self.next.get_or_insert_with(|| {
            self.acked = ns;
            ns
        });
        let outstanding = distance(self.acked, next);
        let (back, ahead) = (distance(ns, next), distance(next, ns));
        // The acknowledgment of a frame may get lost on its way: such a frame is sent again as well.
        if back > 0
            && (back <= outstanding || ahead > FEW)
            && let Some(sent) = &mut self.sent[ns as usize]
        {
            sent.attempts = sent.attempts.saturating_add(1);
            self.most_attempts = self.most_attempts.max(sent.attempts);
            return Placed { offset: sent.offset, length: sent.length, attempt: sent.attempts, missing: 0 };
        }
        let missing = ahead;
        // Frames between that the capture missed: full ones, as in a transfer in bulk.
        let offset = self.offset + i64::from(missing) * i64::from(full);
        self.offset = offset + i64::from(length);
        self.sent[ns as usize] = Some(Sent { offset, length, attempts: 0 });
        self.next = Some((ns + 1) % MODULUS);
        Placed { offset, length, attempt: 0, missing }
    }
}

fn distance(from: i32, to: i32) -> i32 {
    (to - from).rem_euclid(MODULUS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_again_missed_and_wrapped() {
        let mut direction = Direction::new();
        let placed = |direction: &mut Direction, ns| {
            let found = direction.send(ns, 24, 24);
            (found.offset, found.attempt, found.missing)
        };
        assert!(!direction.used());
        for ns in 0..61 {
            assert_eq!(placed(&mut direction, ns), (i64::from(ns) * 24, 0, 0));
        }
        assert_eq!(placed(&mut direction, 3), (72, 1, 0));
        assert_eq!(placed(&mut direction, 3), (72, 2, 0));
        assert_eq!(direction.most_attempts, 2);
        assert_eq!(direction.acknowledge(60, 24), 0);
        assert_eq!(placed(&mut direction, 61), (61 * 24, 0, 0));
        assert_eq!(placed(&mut direction, 1), (63 * 24, 0, 1));
        assert_eq!(placed(&mut direction, 60), (60 * 24, 1, 0));
        assert_eq!(placed(&mut direction, 40), (40 * 24, 1, 0));
        assert_eq!(direction.acknowledge(4, 24), 2);
        assert_eq!(placed(&mut direction, 4), (66 * 24, 0, 0));
        direction.reset();
        assert_eq!(placed(&mut direction, 0), (67 * 24, 0, 0));
    }

    #[test]
    fn a_capture_that_begins_late() {
        let mut direction = Direction::new();
        assert_eq!(direction.send(40, 10, 24), Placed { offset: 0, length: 10, attempt: 0, missing: 0 });
        assert_eq!(direction.send(41, 10, 24).offset, 10);
    }
}
