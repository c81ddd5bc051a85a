//! Who had the air, and for how long: frames of all that were heard, summed up over short times.

use std::collections::HashMap;

/// Length of a row.
pub const STEP_NS: i64 = 100_000_000;

/// Whose a frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Who {
    /// Of a link: data, answers, management.
    Link(u32),
    /// To everybody: beacons, probes, groups.
    Everybody,
    /// Of stations or networks without data in the capture, or whose owner no field names.
    Others,
    /// Arrived damaged.
    Damaged,
}

#[derive(Debug, Clone, Copy, Default)]
struct Share {
    first: (u64, i64),
    airtime_ns: i64,
    frames: u32,
    unknown: u32,
}

/// Columns of `link_air`: a row for each step in which a frame was heard.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AirRows {
    /// Of the first frame of the step.
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub own_ns: Vec<i64>,
    pub others_ns: Vec<i64>,
    pub everybody_ns: Vec<i64>,
    pub damaged_ns: Vec<i64>,
    pub frames: Vec<i32>,
    pub own_frames: Vec<i32>,
    pub unknown_frames: Vec<i32>,
}

/// Sums by step and owner; no more of them than records.
#[derive(Debug, Default)]
pub struct Air {
    /// Time of the first frame, from which steps are counted.
    origin_ns: Option<i64>,
    shares: HashMap<(i64, Who), Share>,
}

impl Air {
    /// Count a frame that was heard at a time, and its record.
    pub fn add(&mut self, (t_ns, record): (i64, u64), who: Who, airtime_ns: Option<i64>) {
        let origin_ns = *self.origin_ns.get_or_insert(t_ns);
        let step = t_ns.saturating_sub(origin_ns).div_euclid(STEP_NS);
        let share = self.shares.entry((step, who)).or_default();
        if share.frames == 0 {
            share.first = (record, t_ns);
        }
        share.frames = share.frames.saturating_add(1);
        match airtime_ns {
            Some(airtime_ns) => share.airtime_ns = share.airtime_ns.saturating_add(airtime_ns),
            None => share.unknown = share.unknown.saturating_add(1),
        }
    }

    /// The rows, with one link as the own.
    pub fn rows(&self, own: u32) -> AirRows {
        let mut steps: HashMap<i64, [Share; 4]> = HashMap::new();
        for (&(step, who), share) in &self.shares {
            let place = match who {
                Who::Link(link) if link == own => 0,
                Who::Link(_) | Who::Others => 1,
                Who::Everybody => 2,
                Who::Damaged => 3,
            };
            let sum = &mut steps.entry(step).or_default()[place];
            sum.first = if sum.frames == 0 { share.first } else { sum.first.min(share.first) };
            sum.airtime_ns = sum.airtime_ns.saturating_add(share.airtime_ns);
            sum.frames = sum.frames.saturating_add(share.frames);
            sum.unknown = sum.unknown.saturating_add(share.unknown);
        }
        let mut order: Vec<i64> = steps.keys().copied().collect();
        order.sort_unstable();
        let mut rows = AirRows::default();
        for step in order {
            let shares = &steps[&step];
            let sum = |of: fn(&Share) -> u32| {
                let sum = shares.iter().map(of).fold(0, u32::saturating_add);
                i32::try_from(sum).unwrap_or(i32::MAX)
            };
            let received = shares.iter().filter(|share| share.frames > 0);
            let (record, t_ns) = received.map(|share| share.first).min().unwrap_or_default();
            rows.t_ns.push(t_ns);
            rows.record.push(record as i64);
            rows.own_ns.push(shares[0].airtime_ns);
            rows.others_ns.push(shares[1].airtime_ns);
            rows.everybody_ns.push(shares[2].airtime_ns);
            rows.damaged_ns.push(shares[3].airtime_ns);
            rows.frames.push(sum(|share| share.frames));
            rows.own_frames.push(i32::try_from(shares[0].frames).unwrap_or(i32::MAX));
            rows.unknown_frames.push(sum(|share| share.unknown));
        }
        rows
    }
}
