//! The frames of one sequence counter: which were sent how often, and which were never seen.
//!
//! Reference: IEEE 802.11-2020 sections 10.3.2.14 (sequence control) and 10.25 (block ack).

use std::collections::BTreeMap;

/// Sequence numbers are counted modulo this.
const MODULUS: i64 = 4096;
/// Numbers that a counter goes back at most: what is older belongs to the round before.
const WINDOW: i64 = 2048;
/// A jump forward by more than this is a counter that began anew, or an absence of the monitor.
const JUMP: i64 = 1024;
/// Gaps up to this are remembered frame by frame, for a block ACK that tells of them.
const EACH: i64 = 128;
/// Going back further without the retry bit is a counter that began anew.
const REORDERED: i64 = 64;
/// The same number after so long is another frame.
const SAME_NS: i64 = 10_000_000_000;

/// A frame of a counter that was never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// When its successor was seen.
    pub t_ns: i64,
    /// Record of the successor.
    pub record: u64,
    /// Its sequence number.
    pub sequence: u16,
    /// A block ACK acknowledged it.
    pub acknowledged: bool,
    /// So many in a row.
    pub count: u32,
}

/// One counter of one sender.
#[derive(Debug, Default)]
pub struct SequenceCounter {
    newest: Option<i64>,
    /// By number, counted on without end, and fragment: place in the list of frames, and when last seen.
    known: BTreeMap<(i64, u8), (usize, i64)>,
    /// The same of the time before the counter began anew.
    before: BTreeMap<(u16, u8), (usize, i64)>,
    missing: BTreeMap<i64, Unseen>,
    /// Frames that can no longer be seen.
    pub unseen: Vec<Unseen>,
}

/// Where a frame stands in its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Sent before: its place in the list of frames.
    Again(usize),
    /// Not seen before; give its place to [`SequenceCounter::remember`].
    New(i64),
}

impl SequenceCounter {
    /// Place a frame; `count` says whether gaps before it are frames of this counter that were not seen.
    pub fn place(&mut self, at: (i64, u64), sequence: u16, fragment: u8, retry: bool, count: bool) -> Place {
        let (t_ns, record) = at;
        let Some(newest) = self.newest else {
            let number = i64::from(sequence);
            self.newest = Some(number);
            // What was under way when the link was interrupted may go on under its old number.
            return match self.before.get(&(sequence, fragment)) {
                Some(&(frame, seen_ns)) if retry && t_ns.saturating_sub(seen_ns).abs() < SAME_NS => {
                    self.known.insert((number, fragment), (frame, t_ns));
                    Place::Again(frame)
                }
                _ => Place::New(number),
            };
        };
        let ahead = (i64::from(sequence) - newest).rem_euclid(MODULUS);
        let number = if ahead < WINDOW { newest + ahead } else { newest + ahead - MODULUS };
        let behind = newest - number;
        if let Some(&(frame, seen_ns)) = self.known.get(&(number, fragment))
            && t_ns.saturating_sub(seen_ns).abs() < SAME_NS
        {
            return Place::Again(frame);
        }
        if behind < -JUMP || (behind > REORDERED && !retry) {
            self.restart();
            self.newest = Some(i64::from(sequence));
            return Place::New(i64::from(sequence));
        }
        if number > newest {
            self.newest = Some(number);
            self.forget(number - WINDOW);
            let gap = number - newest - 1;
            let unseen = |number: i64, count| Unseen {
                t_ns,
                record,
                sequence: number.rem_euclid(MODULUS) as u16,
                acknowledged: false,
                count,
            };
            if count && gap > EACH {
                self.unseen.push(unseen(newest + 1, gap as u32));
            } else if count {
                self.missing.extend((newest + 1..number).map(|number| (number, unseen(number, 1))));
            }
        } else {
            // A later attempt of one that was missed before.
            self.missing.remove(&number);
        }
        Place::New(number)
    }

    /// Note where in the list of frames a new frame stands, and when it was seen.
    pub fn remember(&mut self, number: i64, fragment: u8, frame: usize, t_ns: i64) {
        self.known.insert((number, fragment), (frame, t_ns));
    }

    /// Frames that a block ACK's bitmap from `start` on acknowledges.
    pub fn acknowledged(&mut self, start: u16, bitmap: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let Some(newest) = self.newest else { return found };
        let ahead = (i64::from(start) - newest).rem_euclid(MODULUS);
        let first = if ahead < WINDOW { newest + ahead } else { newest + ahead - MODULUS };
        for (at, byte) in (0i64..).zip(bitmap) {
            for bit in 0..8 {
                if byte >> bit & 1 == 0 {
                    continue;
                }
                let number = first + 8 * at + bit;
                match self.known.get(&(number, 0)) {
                    Some(&(frame, _)) => found.push(frame),
                    None => {
                        if let Some(missing) = self.missing.get_mut(&number) {
                            missing.acknowledged = true;
                        }
                    }
                }
            }
        }
        found
    }

    /// Fragments that a basic block ACK acknowledges: 16 bits for each number from `start` on.
    pub fn fragments(&mut self, start: u16, bitmap: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let Some(newest) = self.newest else { return found };
        let ahead = (i64::from(start) - newest).rem_euclid(MODULUS);
        let first = if ahead < WINDOW { newest + ahead } else { newest + ahead - MODULUS };
        for (number, bits) in (first..).zip(bitmap.chunks_exact(2)) {
            let bits = u16::from_le_bytes([bits[0], bits[1]]);
            let known = self.known.range((number, 0)..=(number, 15));
            found.extend(
                known.filter(|&(&(_, fragment), _)| bits >> fragment & 1 != 0).map(|(_, &(frame, _))| frame),
            );
            if bits & 1 != 0
                && let Some(missing) = self.missing.get_mut(&number)
            {
                missing.acknowledged = true;
            }
        }
        found
    }

    /// The counter begins anew: what was missed stays missed.
    pub fn restart(&mut self) {
        self.newest = None;
        let number = |number: i64| number.rem_euclid(MODULUS) as u16;
        let known = std::mem::take(&mut self.known);
        self.before = known.into_iter().map(|((n, fragment), seen)| ((number(n), fragment), seen)).collect();
        for missing in std::mem::take(&mut self.missing).into_values() {
            self.give_up(missing);
        }
    }

    /// Neighbours of one gap become one entry.
    fn give_up(&mut self, missing: Unseen) {
        match self.unseen.last_mut() {
            Some(last) if (last.record, last.acknowledged) == (missing.record, missing.acknowledged) => {
                last.count += missing.count;
            }
            _ => self.unseen.push(missing),
        }
    }

    fn forget(&mut self, before: i64) {
        while self.known.first_key_value().is_some_and(|(&(number, _), _)| number < before) {
            self.known.pop_first();
        }
        while self.missing.first_key_value().is_some_and(|(&number, _)| number < before) {
            if let Some((_, missing)) = self.missing.pop_first() {
                self.give_up(missing);
            }
        }
    }
}
