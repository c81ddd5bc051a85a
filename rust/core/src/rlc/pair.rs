//! Two captures of one bearer: of its two ends, or of its two directions, numbered as one.
//!
//! PDUs that both have tell how far apart their clocks are, and who captured what: a PDU of the uplink is earlier at
//! the terminal, one of the downlink at the base station, whatever the clocks say.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use super::bearers::Key;
use super::capture::{Reading, RlcCapture, Wanted};
use super::framing::Mode;
use super::pdus::PduRow;
use super::track::{Kind, Row, Tracked, View, track};
use super::{sdus, um};
use crate::capture::ReadError;
use crate::linktable::{EventRow, FrameRow};

/// PDUs that two captures must share to be of one bearer.
const SHARED: usize = 8;
/// Captures that saw PDUs of both directions in less than this were taken at one place.
const APART_NS: i64 = 20_000;

/// Both captures, with one numbering of PDUs and bytes; times and records are each one's own.
#[derive(Debug)]
pub struct Pair {
    /// In the order given.
    pub captures: [RlcCapture; 2],
    /// PDUs that both have.
    pub shared: u64,
}

/// What two captures of a bearer say about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Relation {
    /// Times of the second less times of the first, of the same moment.
    offset_ns: i64,
    views: [View; 2],
    shared: usize,
}

/// Read two captures together; `None` if they are not of one bearer.
///
/// # Errors
/// See [`ReadError`], with the place of the file.
pub fn read(files: [&[PathBuf]; 2], wanted: [&Wanted; 2]) -> Result<Option<Pair>, (usize, ReadError)> {
    let mut both = Vec::with_capacity(2);
    for (at, files) in files.iter().enumerate() {
        both.push(Reading::of(files).map_err(|error| (at, error))?);
    }
    let mut best: Option<([Key; 2], Relation)> = None;
    for one in both[0].keys(wanted[0]) {
        for other in both[1].keys(wanted[1]) {
            if (one.radio, one.channel, one.mode, one.sn_bits)
                != (other.radio, other.channel, other.mode, other.sn_bits)
            {
                continue;
            }
            let rows = [both[0].rows(one), both[1].rows(other)];
            let known = [0, 1].map(|at| both[at].view(wanted[at], &rows[at]));
            let found = relation([&rows[0], &rows[1]], known)
                .or_else(|| (one.ue == other.ue).then(|| directions([&rows[0], &rows[1]])).flatten());
            if let Some(found) = found
                && best.is_none_or(|(_, known)| found.shared > known.shared)
            {
                best = Some(([one, other], found));
            }
        }
    }
    let Some((keys, found)) = best else { return Ok(None) };
    let rows = [both[0].rows(keys[0]), both[1].rows(keys[1])];
    let merged = merged([&rows[0], &rows[1]], found.offset_ns);
    let view = |interface: u16| found.views[usize::from(interface)];
    let sn_bits = u32::from(keys[0].sn_bits);
    let tracked = match keys[0].mode {
        Mode::Acknowledged => track(sn_bits, &merged, view),
        _ => um::track(sn_bits, &merged, view),
    };
    let parts = apart(&tracked, found.offset_ns);
    let mut captures = Vec::with_capacity(2);
    for (at, (reading, tracked)) in both.into_iter().zip(parts).enumerate() {
        let mut capture = reading.capture(keys[at], tracked, found.views[at], &rows[at]);
        capture.sdus = sdus::packets(files[at], keys[at], &capture.tracked.frames, |_| found.views[at])
            .map_err(|error| (at, error))?;
        captures.push(capture);
    }
    let captures = <[RlcCapture; 2]>::try_from(captures).ok();
    Ok(captures.map(|captures| Pair { captures, shared: found.shared as u64 }))
}

type Mark = (bool, u32, u32, u32, u64);

/// Data PDUs that occur once, and when.
fn once(rows: &[Row]) -> HashMap<Mark, Option<i64>> {
    let mut found = HashMap::new();
    for row in rows.iter().filter(|row| row.kind == Kind::Data) {
        match found.entry((row.uplink, row.sn, row.start, row.length, row.hash)) {
            Entry::Vacant(place) => _ = place.insert(Some(row.t_ns)),
            Entry::Occupied(mut place) => *place.get_mut() = None,
        }
    }
    found
}

/// What the PDUs that both captures have say; `known`: views that are known.
fn relation(rows: [&[Row]; 2], known: [View; 2]) -> Option<Relation> {
    let (first, second) = (once(rows[0]), once(rows[1]));
    let mut later = [Vec::new(), Vec::new()];
    for (mark, t_ns) in &first {
        if let (Some(a), Some(Some(b))) = (t_ns, second.get(mark)) {
            later[usize::from(!mark.0)].push(b - a);
        }
    }
    let shared = later[0].len() + later[1].len();
    if shared < SHARED {
        return None;
    }
    later.iter_mut().for_each(|times| times.sort_unstable());
    let middle = |times: &[i64]| times.get(times.len() / 2).copied();
    let (up, down) = (middle(&later[0]), middle(&later[1]));
    let views = match (known, up, down) {
        ([View::Ue, View::Bs] | [View::Bs, View::Ue], ..) => known,
        (_, Some(up), Some(down)) if up - down > APART_NS => [View::Ue, View::Bs],
        (_, Some(up), Some(down)) if down - up > APART_NS => [View::Bs, View::Ue],
        ([View::Ue, _] | [_, View::Bs], ..) => [View::Ue, View::Bs],
        ([View::Bs, _] | [_, View::Ue], ..) => [View::Bs, View::Ue],
        _ => return None,
    };
    // The way with the first end sending makes times later at the second, the other one earlier.
    let (there, back) = if views[0] == View::Ue { (&later[0], &later[1]) } else { (&later[1], &later[0]) };
    let offset_ns = match (there.first(), back.last()) {
        (Some(low), Some(high)) => low.midpoint(*high),
        (Some(low), None) => *low,
        (None, Some(high)) => *high,
        (None, None) => return None,
    };
    Some(Relation { offset_ns, views, shared })
}

/// Captures of one direction each, stamped by one clock.
fn directions(rows: [&[Row]; 2]) -> Option<Relation> {
    let span = |rows: &[Row]| -> Option<(bool, i64, i64)> {
        let mut data = rows.iter().filter(|row| matches!(row.kind, Kind::Data | Kind::Status | Kind::Nack));
        let first = data.next()?;
        let mut found = (first.uplink, first.t_ns, first.t_ns);
        for row in data {
            if row.uplink != found.0 {
                return None;
            }
            found = (found.0, found.1.min(row.t_ns), found.2.max(row.t_ns));
        }
        Some(found)
    };
    let (one, other) = (span(rows[0])?, span(rows[1])?);
    (one.0 != other.0 && one.1 <= other.2 && other.1 <= one.2).then_some(Relation {
        offset_ns: 0,
        views: [View::Air; 2],
        shared: 0,
    })
}

/// Rows of both in order of time, on the first one's clock; the last bit of a record says whose it is.
fn merged(rows: [&[Row]; 2], offset_ns: i64) -> Vec<Row> {
    let mut all = Vec::with_capacity(rows[0].len() + rows[1].len());
    for (at, rows) in rows.into_iter().enumerate() {
        let mut last = i64::MIN;
        for row in rows {
            // What both saw of the terminal's state is reported once.
            if at == 1 && !matches!(row.kind, Kind::Data | Kind::Status | Kind::Nack) {
                continue;
            }
            let t_ns = if at == 0 { row.t_ns } else { row.t_ns.saturating_sub(offset_ns) };
            // A capture's own order stays, whatever its clock does.
            last = last.max(t_ns);
            all.push((last, Row { t_ns, record: row.record << 1 | at as i64, interface: at as u16, ..*row }));
        }
    }
    all.sort_by_key(|(t_ns, _)| *t_ns);
    all.into_iter().map(|(_, row)| row).collect()
}

/// What is of each capture, with its own times and records.
fn apart(all: &Tracked, offset_ns: i64) -> [Tracked; 2] {
    let mut parts = [Tracked::default(), Tracked::default()];
    let own = |t_ns: i64, record: i64| {
        let at = (record & 1) as usize;
        (at, (if at == 0 { t_ns } else { t_ns + offset_ns }, record >> 1))
    };
    let frames = &all.frames;
    for row in 0..frames.t_ns.len() {
        let (at, place) = own(frames.t_ns[row], frames.record[row]);
        parts[at].frames.push(FrameRow {
            ns: frames.ns[row],
            offset: frames.offset[row],
            length: frames.length[row],
            attempt: frames.attempt[row],
            duplicate: frames.duplicate[row],
            nr: frames.nr[row],
            poll: frames.poll[row],
            ..FrameRow::new(place, frames.entity[row], frames.action[row])
        });
    }
    let events = &all.events;
    for row in 0..events.t_ns.len() {
        let (at, place) = own(events.t_ns[row], events.record[row]);
        parts[at].events.push(EventRow {
            nr: events.nr[row],
            cause: events.cause[row],
            ..EventRow::new(place, events.entity[row], events.action[row], events.kind[row])
        });
    }
    let pdus = &all.pdus;
    for row in 0..pdus.t_ns.len() {
        let (at, place) = own(pdus.t_ns[row], pdus.record[row]);
        parts[at].pdus.push(PduRow {
            number: pdus.number[row],
            epoch: pdus.epoch[row],
            start: pdus.start[row],
            length: pdus.length[row] as u32,
            last: pdus.last[row] != 0,
            poll: pdus.poll[row] != 0,
            part: pdus.part[row] != 0,
            attempt: pdus.attempt[row],
            duplicate: pdus.duplicate[row] != 0,
            offset: pdus.offset[row],
            ..PduRow::new(place, pdus.entity[row] as usize, pdus.action[row], pdus.kind[row])
        });
    }
    for (code, seen) in all.issues.iter() {
        // Times of two clocks need not be in order.
        if code != "out-of-order-lines" {
            let at = (seen.first_record & 1) as usize;
            parts[at].issues.add_many(code, seen.count, seen.first_record >> 1, || seen.detail.clone());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(t_ns: i64, uplink: bool, sn: u32) -> Row {
        Row {
            t_ns,
            record: i64::from(sn) + 1,
            interface: 0,
            uplink,
            kind: Kind::Data,
            sn,
            start: 0,
            length: 40,
            last: true,
            poll: false,
            part: false,
            hash: u64::from(sn) << 1 | u64::from(uplink),
        }
    }

    /// What the terminal and the base station saw of ten PDUs each way, 50 us on their way, clocks 1 ms apart.
    fn ends() -> [Vec<Row>; 2] {
        let (mut ue, mut bs) = (Vec::new(), Vec::new());
        for sn in 0..10 {
            let at = i64::from(sn) * 100_000;
            ue.push(row(at, true, sn));
            bs.push(row(at + 50_000 + 1_000_000, true, sn));
            bs.push(row(at + 60_000 + 1_000_000, false, sn));
            ue.push(row(at + 110_000, false, sn));
        }
        [ue, bs]
    }

    #[test]
    fn who_captured_what() {
        let [ue, bs] = ends();
        let air = [View::Air; 2];
        let found = relation([&ue, &bs], air).unwrap();
        assert_eq!((found.offset_ns, found.views, found.shared), (1_000_000, [View::Ue, View::Bs], 20));
        let turned = relation([&bs, &ue], air).unwrap();
        assert_eq!((turned.offset_ns, turned.views), (-1_000_000, [View::Bs, View::Ue]));
        // The same capture twice, and captures of something else.
        assert_eq!(relation([&ue, &ue], air), None);
        assert_eq!(relation([&ue, &bs[..10]], air).map(|found| found.shared), Some(10));
        assert_eq!(relation([&ue, &bs[..6]], air), None);
    }

    #[test]
    fn one_numbering_for_both() {
        let [ue, bs] = ends();
        // The base station lost the second PDU of the uplink.
        let bs: Vec<Row> = bs.into_iter().filter(|row| !(row.uplink && row.sn == 1)).collect();
        let all = track(10, &merged([&ue, &bs], 1_000_000), |at| if at == 0 { View::Ue } else { View::Bs });
        let [mine, other] = apart(&all, 1_000_000);
        assert_eq!((mine.frames.t_ns.len(), other.frames.t_ns.len()), (20, 19));
        assert_eq!(mine.frames.action[..4], [0, 1, 0, 1]);
        let received: Vec<_> = (0..19).filter(|&at| other.frames.action[at] == 1).collect();
        assert_eq!(
            received.iter().map(|&at| other.frames.offset[at]).take(3).collect::<Vec<_>>(),
            [0, 80, 120]
        );
        assert_eq!(other.frames.t_ns[0], 1_050_000);
        assert!(mine.issues.is_empty() && other.issues.is_empty());
    }

    #[test]
    fn a_capture_of_each_direction() {
        let [all, _] = ends();
        let one: Vec<Row> = all.iter().filter(|row| row.uplink).copied().collect();
        let other: Vec<Row> = all.iter().filter(|row| !row.uplink).copied().collect();
        assert_eq!(directions([&one, &other]).unwrap().views, [View::Air; 2]);
        assert_eq!(directions([&one, &one]), None);
        assert_eq!(directions([&all, &other]), None);
        let late: Vec<Row> = other.iter().map(|row| Row { t_ns: row.t_ns + 10_000_000, ..*row }).collect();
        assert_eq!(directions([&one, &late]), None);
    }
}
