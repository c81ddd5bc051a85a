//! A direction of which only its receiver tells. The radio delivers PDUs out of order, as each block of HARQ gets
//! through: a gap is not yet a loss, and where the bytes behind it are in the stream is known when it is filled. What
//! it asked for before it came was sent again, as was what came twice; of the rest nobody can tell.

use std::collections::{HashMap, HashSet};

use super::pdus::{DATA, NACK};
use super::track::Tracked;
use crate::linktable::RCV;

/// PDUs that one NACK of NR names at most.
const NACK_RANGE: i64 = 255;

/// Put what an entity received into the order of its numbers, and count the numbers that never came.
pub(super) fn place(found: &mut Tracked, entity: i16) {
    let pdus = &mut found.pdus;
    let rows: Vec<usize> =
        (0..pdus.t_ns.len()).filter(|row| pdus.kind[*row] == DATA && pdus.entity[*row] == entity).collect();
    let mine = |row: &&usize| pdus.action[**row] == RCV && pdus.number[**row] >= 0;
    let mut lengths = HashMap::<i64, i64>::new();
    let mut last = -1;
    for row in rows.iter().filter(mine) {
        let end = i64::from(pdus.start[*row]) + i64::from(pdus.length[*row]);
        let length = lengths.entry(pdus.number[*row]).or_default();
        *length = end.max(*length);
        last = last.max(pdus.number[*row]);
    }
    let first = lengths.keys().min().copied().unwrap_or(0);
    let (mut offset, mut usual, mut missing) = (0, 0, Vec::new());
    let mut offsets = HashMap::with_capacity(lengths.len());
    for number in first..=last {
        offsets.insert(number, offset);
        match lengths.get(&number) {
            Some(length) => usual = *length,
            None => missing.push(number),
        }
        offset += usual;
    }
    for row in rows.iter().filter(mine) {
        pdus.offset[*row] = offsets[&pdus.number[*row]] + i64::from(pdus.start[*row]);
    }
    if let Some(gap) = missing.first() {
        let behind = rows.iter().filter(mine).find(|row| pdus.number[**row] > *gap);
        let record = behind.map_or(0, |row| pdus.record[*row] as u64);
        let detail = || "a PDU before this one never came".to_owned();
        found.issues.add_many("missing-frames", missing.len() as u64, record, detail);
    }
    let mut asked = HashSet::new();
    for row in (0..pdus.t_ns.len()).filter(|row| pdus.entity[*row] == entity) {
        let number = pdus.number[row];
        match pdus.kind[row] {
            NACK if number >= 0 => {
                asked.extend((0..i64::from(pdus.length[row]).min(NACK_RANGE)).map(|more| number + more));
            }
            DATA if pdus.action[row] == RCV => {
                pdus.attempt[row] = i16::from(pdus.duplicate[row] != 0 || asked.contains(&number));
            }
            _ => {}
        }
    }
    // Frames are the data PDUs of both entities, in the same order.
    let places = (0..pdus.t_ns.len()).filter(|row| pdus.kind[*row] == DATA);
    for (frame, row) in places.enumerate() {
        found.frames.offset[frame] = pdus.offset[row];
        found.frames.attempt[frame] = pdus.attempt[row];
    }
}
