//! When PDUs were on the air.
//!
//! A message is written when it is full, some milliseconds after the last PDU in it, and those of the uplink before
//! their PDUs are on the air. Radio frames are numbered, and a subframe is a millisecond: the least time by which
//! messages of the downlink lag behind their last PDU is the distance of both clocks, as long as the terminal stays
//! with the timing of its cell.

use std::collections::BTreeMap;

/// Subframes after which the numbers begin again.
const PERIOD: i64 = 10_240;
const SUBFRAME_NS: i64 = 1_000_000;
const PERIOD_NS: i64 = PERIOD * SUBFRAME_NS;
/// A message that comes by so much earlier than any before has frame numbers of another cell.
const EARLIER_NS: i64 = 15 * SUBFRAME_NS;
/// So has one that comes by so much later.
const LATER_NS: i64 = 1000 * SUBFRAME_NS;

/// A message: of which subscription, when it was written, its direction, and the subframe of its last PDU, where it tells one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) ue: u32,
    pub(crate) t_ns: i64,
    pub(crate) uplink: bool,
    pub(crate) last: Option<u16>,
}

/// For each message, when the subframe of its last PDU was.
pub(crate) fn times(stamps: &[Stamp]) -> Vec<i64> {
    let mut found: Vec<i64> = stamps.iter().map(|stamp| stamp.t_ns).collect();
    let mut cells = BTreeMap::<u32, Cell>::new();
    for (index, stamp) in stamps.iter().enumerate() {
        let Some(last) = stamp.last else { continue };
        let distance = stamp.t_ns.rem_euclid(PERIOD_NS) - i64::from(last) * SUBFRAME_NS;
        let cell = cells.entry(stamp.ue).or_default();
        if !cell.take(index, stamp.uplink, distance) {
            cell.place(&mut found);
            *cell = Cell::default();
            cell.take(index, stamp.uplink, distance);
        }
    }
    for cell in cells.values() {
        cell.place(&mut found);
    }
    found
}

/// Messages of one timing.
#[derive(Default)]
struct Cell {
    /// Index of a message, and how much later than the first it was written, by frame numbers.
    lags: Vec<(usize, i64)>,
    first: i64,
    least: i64,
    least_down: Option<i64>,
}

impl Cell {
    /// False if the message has frame numbers of another cell.
    fn take(&mut self, index: usize, uplink: bool, distance: i64) -> bool {
        if self.lags.is_empty() {
            self.first = distance;
        }
        let half = PERIOD_NS / 2;
        let lag = (distance - self.first + half).rem_euclid(PERIOD_NS) - half;
        if lag < self.least - EARLIER_NS || lag > self.least + LATER_NS {
            return false;
        }
        self.least = self.least.min(lag);
        if !uplink {
            self.least_down = Some(self.least_down.map_or(lag, |least| least.min(lag)));
        }
        self.lags.push((index, lag));
        true
    }

    fn place(&self, times: &mut [i64]) {
        let least = self.least_down.unwrap_or(self.least);
        for (index, lag) in &self.lags {
            times[*index] -= lag - least;
        }
    }
}

/// How much earlier than the last subframe of a message another one of it was.
pub(crate) fn before_ns(last: Option<u16>, subframe: Option<u16>) -> i64 {
    match (last, subframe) {
        (Some(last), Some(subframe)) => {
            (i64::from(last) - i64::from(subframe)).rem_euclid(PERIOD) * SUBFRAME_NS
        }
        _ => 0,
    }
}
