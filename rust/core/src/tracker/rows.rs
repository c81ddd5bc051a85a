//! The rows that say of each repetition, or arrival out of order, what it was: all of them where there will be a table. In
//! a summary only their counts appear: of rows, those are kept that later packets may still decide something by.

use super::arrivals::Arrival;
use super::outcome::Retransmission;

/// Rows of repetitions that a summary keeps: those of a handshake, which come first.
pub(super) const HANDSHAKE: usize = 8;

/// Arrivals that a summary keeps at least: more than segments are remembered that may be one of them.
const LATEST: usize = 64;

/// Repetitions of one direction, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct Repetitions {
    kept: Vec<Retransmission>,
    count: u32,
}

impl Repetitions {
    /// How many there were.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether the row of the next is kept: in a summary, that of the first ones.
    #[inline]
    pub fn takes_rows(&self, sums_up: bool) -> bool {
        !sums_up || self.kept.len() < HANDSHAKE
    }

    /// The next one, with its row if that is kept.
    #[inline]
    pub fn push(&mut self, row: Option<Retransmission>) {
        self.kept.extend(row);
        self.count = self.count.saturating_add(1);
    }

    /// The row of one, if it is kept.
    #[inline]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Retransmission> {
        self.kept.get_mut(number)
    }

    /// The row of a packet among the latest, if it is kept.
    pub fn latest_mut(&mut self, record: u64) -> Option<&mut Retransmission> {
        self.kept.iter_mut().rev().take(LATEST).find(|row| row.record == record)
    }

    /// The rows that are kept: all, or the first.
    pub fn kept(&self) -> &[Retransmission] {
        &self.kept
    }

    /// Packet numbers of the first, as many as a summary keeps.
    pub fn first_records(&self) -> impl Iterator<Item = u64> {
        self.kept.iter().take(HANDSHAKE).map(|row| row.record)
    }
}

/// Arrivals of one direction, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals {
    kept: Vec<Arrival>,
    /// Number of the first that is kept, and one past that of the last that brought bytes that had not been seen.
    first: u32,
    fresh: u32,
}

impl Arrivals {
    /// The next one, and its number; in a summary only the latest are kept.
    pub fn push(&mut self, sums_up: bool, row: Arrival) -> u32 {
        if sums_up && self.kept.len() >= 2 * LATEST {
            self.kept.drain(..LATEST);
            self.first += LATEST as u32;
        }
        self.kept.push(row);
        if row.fresh {
            self.fresh = self.next();
        }
        self.next() - 1
    }

    /// The number of the next one.
    pub fn next(&self) -> u32 {
        self.first + self.kept.len() as u32
    }

    /// The row of one.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Arrival> {
        self.kept.get(number.checked_sub(self.first)? as usize)
    }

    /// The same, to change.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Arrival> {
        self.kept.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// The last one, to change.
    pub fn last_mut(&mut self) -> Option<&mut Arrival> {
        self.kept.last_mut()
    }

    /// From the last one back, with their numbers.
    pub fn backwards(&self) -> impl Iterator<Item = (u32, &Arrival)> {
        self.kept.iter().enumerate().rev().map(|(at, row)| (self.first + at as u32, row))
    }

    /// Among the last so many, the last that brought a byte that had not been seen, with its number. Where all that comes
    /// again had been seen, as next to its sender, there is nothing to look through.
    pub fn filler_of(&self, seq: i64, latest: usize) -> Option<(u32, &Arrival)> {
        let (from, to) =
            (self.kept.len().saturating_sub(latest), self.fresh.saturating_sub(self.first) as usize);
        let fresh = self.kept.get(from..to)?;
        let at = from + fresh.iter().rposition(|row| row.fresh && row.seq <= seq && seq < row.end())?;
        Some((self.first + at as u32, &self.kept[at]))
    }

    /// The rows that are kept: all, or the latest.
    pub fn kept(&self) -> &[Arrival] {
        &self.kept
    }
}
