//! Unacknowledged and transparent mode: headers, and what is missing between the numbers.
//!
//! Nobody reports what arrived and nothing is sent again: a number that never comes was lost on the air, or the
//! capture lacks it. PDUs may come out of order (HARQ); one counts as missing when half the numbers have passed,
//! or the log ends.
//!
//! Reference: 3GPP TS 36.322 sections 5.1.2, 6.2.1.3; TS 38.322 sections 5.2.2, 6.2.2.3.

use std::collections::BTreeMap;

use super::Radio;
use super::pdu::{Bits, Data, Lengths, SHORT};
use super::pdus::{self, PduRow};
use super::track::{Kind, Row, Tracked, View, sends};
use crate::linktable::{EVT, EventRow, FrameRow, RCV, SND, kind_code};

/// Decode a PDU in unacknowledged mode; the number is `None` where it has none (NR, whole SDUs).
///
/// # Errors
/// What contradicts itself.
pub(crate) fn decode(radio: Radio, pdu: &[u8], sn_bits: u8) -> Result<(Option<u32>, Data<'_>), &'static str> {
    if radio == Radio::Lte { lte(pdu, sn_bits) } else { nr(pdu, sn_bits) }
}

fn lte(pdu: &[u8], sn_bits: u8) -> Result<(Option<u32>, Data<'_>), &'static str> {
    let mut bits = Bits::new(pdu);
    let sn_bits = match sn_bits {
        5 => 5,
        10 | 0 => 10,
        _ => return Err("a sequence number that has neither 5 nor 10 bits"),
    };
    if sn_bits == 10 {
        bits.skip(3);
    }
    let (begins, ends) = (!bits.flag()?, !bits.flag()?);
    let more = bits.flag()?;
    let sn = bits.take(sn_bits)?;
    let (lengths, data) = Lengths::read(&mut bits, more, 11)?;
    let data = Data { sn, poll: false, start: 0, last: true, part: false, begins, ends, lengths, data };
    Ok((Some(sn), data))
}

fn nr(pdu: &[u8], sn_bits: u8) -> Result<(Option<u32>, Data<'_>), &'static str> {
    let mut bits = Bits::new(pdu);
    let segment = bits.take(2)?;
    let mut sn = None;
    if segment == 0 {
        bits.skip(6);
    } else {
        sn = Some(match sn_bits {
            6 => bits.take(6)?,
            12 => {
                bits.skip(2);
                bits.take(12)?
            }
            _ => return Err("a sequence number that has neither 6 nor 12 bits"),
        });
    }
    let start = if segment >= 2 { bits.take(16)? } else { 0 };
    let last = segment == 0 || segment == 2;
    let data = Data {
        sn: sn.unwrap_or(0),
        poll: false,
        start,
        last,
        part: segment != 0,
        begins: segment <= 1,
        ends: last,
        lengths: Lengths::default(),
        data: bits.rest()?,
    };
    if data.data.is_empty() { Err(SHORT) } else { Ok((sn, data)) }
}

/// Bits of a first byte that are 0 in a PDU of that length of numbers; not 0: it is another PDU.
pub(crate) fn reserved_bits(radio: Radio, pdu: &[u8], sn_bits: u8) -> u8 {
    let first = pdu.first().copied().unwrap_or(0);
    first
        & match (radio, sn_bits) {
            (Radio::Lte, 10) => 0xe0,
            (Radio::Nr, _) if first & 0xc0 == 0 => 0x3f,
            (Radio::Nr, 12) => 0x30,
            _ => 0,
        }
}

/// Number and bits that the header of PDCP in an SDU of NR has, if numbers have 12 and if they have 18 bits.
///
/// Reference: 3GPP TS 38.323 sections 6.2.2.2 and 6.2.2.3.
pub(crate) fn pdcp_numbers(sdu: &[u8]) -> [Option<(u32, u32)>; 2] {
    let &[first, second, third, ..] = sdu else { return [None; 2] };
    let [a, b, c] = [first, second, third].map(u32::from);
    [
        (first & 0xf0 == 0x80).then_some(((a & 0x0f) << 8 | b, 12)),
        (first & 0xfc == 0x80).then_some(((a & 0x03) << 16 | b << 8 | c, 18)),
    ]
}

/// What was seen of one direction.
#[derive(Default)]
struct RlcDirection {
    next: Option<u32>,
    number: i64,
    offset: i64,
    /// By number: when it was noticed, the record, and its SN.
    missing: BTreeMap<i64, (i64, i64, u32)>,
    /// Numbers: where the SDU or PDU begins, how far it goes, what the other end has received of it.
    known: BTreeMap<i64, (i64, u32, u32)>,
}

/// Follow a bearer without acknowledgements. Rows are in the order of the log; `sn` above all numbers: none.
pub(crate) fn track(sn_bits: u32, rows: &[Row], view: impl Fn(u16) -> View) -> Tracked {
    let mut seen_sent = [false; 2];
    for row in rows.iter().filter(|row| row.kind == Kind::Data) {
        seen_sent[usize::from(!row.uplink)] |= sends(view(row.interface), row.uplink);
    }
    let modulus = 1_u32 << sn_bits.clamp(1, 18);
    let mut found = Tracked::default();
    let mut directions = [RlcDirection::default(), RlcDirection::default()];
    for row in rows.iter().filter(|row| row.kind == Kind::Data) {
        let side = usize::from(!row.uplink);
        let sent = sends(view(row.interface), row.uplink);
        let (entity, action) = if sent { (side, SND) } else { (1 - side, RCV) };
        let direction = &mut directions[side];
        let (number, offset) = if action == RCV && seen_sent[side] {
            direction.received(row, modulus)
        } else {
            direction.sent(row, modulus)
        };
        let length = row.length.min(i32::MAX as u32);
        let at = (row.t_ns, row.record);
        let ns = if row.sn < modulus { row.sn as i32 } else { -1 };
        found.frames.push(FrameRow {
            ns,
            offset,
            length: length as i32,
            ..FrameRow::new(at, entity as i16, action)
        });
        found.pdus.push(PduRow {
            number,
            start: row.start as i32,
            length,
            last: row.last,
            part: row.part,
            offset,
            ..PduRow::new(at, entity, action, pdus::DATA)
        });
    }
    for (side, direction) in directions.iter().enumerate() {
        for &(t_ns, record, sn) in direction.missing.values() {
            let row = EventRow::new((t_ns, record), side as i16, EVT, kind_code(b"unseen"));
            found.events.push(EventRow { nr: sn as i32, ..row });
        }
    }
    found
}

impl RlcDirection {
    fn sent(&mut self, row: &Row, modulus: u32) -> (i64, i64) {
        let Some(next) = self.next.filter(|_| row.sn < modulus) else {
            if row.sn < modulus {
                self.next = Some(row.sn);
                return self.sent(row, modulus);
            }
            return self.place(row);
        };
        let ahead = row.sn.wrapping_sub(next) & (modulus - 1);
        if ahead < modulus / 2 {
            for missed in 0..ahead {
                let sn = (next + missed) & (modulus - 1);
                self.missing.insert(self.number, (row.t_ns, row.record, sn));
                self.number += 1;
            }
            self.next = Some((row.sn + 1) & (modulus - 1));
            return self.place(row);
        }
        // A further segment, or one that was overtaken: its bytes come where they come.
        let number = self.number - i64::from(modulus - ahead);
        if self.missing.remove(&number).is_some() {
            let offset = self.offset;
            self.offset += i64::from(row.length);
            self.remember(number, offset, row);
            return (number, offset);
        }
        let Some((begin, reach, _)) = self.known.get_mut(&number) else { return (-1, -1) };
        let offset = *begin + i64::from(row.start);
        *reach = (*reach).max(row.start.saturating_add(row.length));
        self.offset = self.offset.max(*begin + i64::from(*reach));
        (number, offset)
    }

    fn place(&mut self, row: &Row) -> (i64, i64) {
        let (number, offset) = (self.number, self.offset);
        self.number += 1;
        self.offset += i64::from(row.length);
        self.remember(number, offset, row);
        (number, offset)
    }

    fn remember(&mut self, number: i64, offset: i64, row: &Row) {
        let begin = offset - i64::from(row.start);
        self.known.insert(number, (begin, row.start.saturating_add(row.length), row.sn));
        while self.known.len() > MOST_KNOWN {
            self.known.pop_first();
        }
    }

    /// The newest with that number; one without numbers is not distinguished.
    fn received(&mut self, row: &Row, modulus: u32) -> (i64, i64) {
        let Some(next) = self.next.filter(|_| row.sn < modulus) else { return (-1, -1) };
        let behind = next.wrapping_sub(row.sn) & (modulus - 1);
        let number = self.number - i64::from(if behind == 0 { modulus } else { behind });
        match self.known.get(&number) {
            Some(&(begin, _, sn)) if sn == row.sn => (number, begin + i64::from(row.start)),
            _ => (-1, -1),
        }
    }
}

const MOST_KNOWN: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linktable::KINDS;

    fn row(t_ns: i64, sn: u32, interface: u16) -> Row {
        Row {
            t_ns,
            record: t_ns,
            interface,
            uplink: true,
            kind: Kind::Data,
            sn,
            start: 0,
            length: 10,
            last: true,
            poll: false,
            part: false,
            hash: 0,
        }
    }

    #[test]
    fn headers() {
        // LTE, 10 bits: FI 01, one length of 2 bytes; 5 bits.
        let (sn, found) = decode(Radio::Lte, &[0x0e, 0x07, 0x00, 0x20, 1, 2, 3], 10).unwrap();
        assert_eq!((sn, found.begins, found.ends, found.lengths.get(0)), (Some(519), true, false, 2));
        assert_eq!(found.data, [1, 2, 3]);
        let (sn, found) = decode(Radio::Lte, &[0x9f, 1], 5).unwrap();
        assert_eq!((sn, found.begins, found.ends, found.data.len()), (Some(31), false, true, 1));
        // NR: a whole SDU has no number; a last segment at byte 256.
        assert_eq!(decode(Radio::Nr, &[0, 7, 8], 12).unwrap().0, None);
        let (sn, found) = decode(Radio::Nr, &[0x81, 0x02, 0x01, 0x00, 5], 12).unwrap();
        assert_eq!((sn, found.start, found.last, found.part), (Some(258), 256, true, true));
        assert_eq!(decode(Radio::Nr, &[0x45, 1], 6).unwrap().0, Some(5));
        for (radio, pdu, bits) in [
            (Radio::Lte, &[0x0e_u8, 0x07, 0x00][..], 10),
            (Radio::Lte, &[0x00], 7),
            (Radio::Nr, &[0x45, 1], 18),
            (Radio::Nr, &[0], 12),
        ] {
            assert!(decode(radio, pdu, bits).is_err());
        }
    }

    #[test]
    fn what_is_missing_and_what_is_late() {
        let rows = [30, 31, 2, 1, 4].iter().enumerate().map(|(at, sn)| row(at as i64, *sn, 0));
        let found = track(5, &rows.collect::<Vec<_>>(), |_| View::Air);
        assert_eq!(found.pdus.number, [0, 1, 4, 3, 6]);
        assert_eq!(found.frames.offset, [0, 10, 20, 30, 40]);
        assert_eq!((found.events.nr, found.events.t_ns), (vec![0, 3], vec![2, 4]));
        assert!(found.events.kind.iter().all(|kind| KINDS[*kind as usize] == "unseen"));
    }

    #[test]
    fn both_ends_and_segments() {
        let view = |interface| if interface == 0 { View::Ue } else { View::Bs };
        let part = |t_ns, start, last| Row { start, last, part: true, ..row(t_ns, 5, 0) };
        let rows =
            [row(1, 4, 0), part(2, 0, false), part(3, 10, true), row(4, 4, 1), row(5, 6, 0), row(6, 6, 1)];
        let found = track(6, &rows, view);
        assert_eq!(found.frames.action, [0, 0, 0, 1, 0, 1]);
        assert_eq!(found.frames.offset, [0, 10, 20, 0, 30, 30]);
        assert!(found.events.t_ns.is_empty());
        // Whole SDUs of NR have no number.
        let none = u32::MAX;
        let found = track(12, &[row(1, none, 0), row(2, none, 0), row(3, none, 1)], view);
        assert_eq!((found.frames.offset, found.frames.ns), (vec![0, 10, -1], vec![-1; 3]));
    }
}
