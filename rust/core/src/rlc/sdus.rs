//! The packets in the PDUs of one bearer, where they are not ciphered.
//!
//! A sender sends new PDUs in order, so their first transmissions hold its packets one after the other; what
//! is sent again adds nothing.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

use super::Radio;
use super::bearers::{Key, hash};
use super::capture::{frames_of, pdu_of};
use super::framing::{Channel, Layer, Mode, Pdu as Framed};
use super::pdcp::Sdus;
use super::pdu::{Data, Pdu};
use super::track::{View, sends};
use super::{lte, mac, nr, um};
use crate::capture::{IcmpError, ReadError, Sink, read_from};
use crate::issue::Issues;
use crate::linktable::Frames;
use crate::segment::Segment;

/// Largest packet of any radio bearer: an SDU that grows beyond is none.
const LARGEST: usize = 65_536;
/// Half the numbers of PDCP: what may be sent again.
const RECENT: usize = 2048;

/// IP packets in order of the log, as a pcap of raw packets, and where each was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// File in nanoseconds, LINKTYPE_RAW.
    pub file: Vec<u8>,
    /// Record of the log in which each packet ends.
    pub records: Vec<u64>,
    /// The first byte of each in the stream of its direction; -1 if it is not known.
    pub offsets: Vec<i64>,
    /// SDUs that are no IP packet in the clear.
    pub unreadable: u64,
    /// All SDUs, ciphered or not.
    pub sdus: Sdus,
    /// Bits of their numbers; 0 if not known.
    pub pdcp_bits: u32,
}

impl Packets {
    /// Hand their TCP segments to a sink, with the records of the log that they were found in; and where in the
    /// stream each of them begins.
    pub fn segments(&self, sink: &mut (impl Sink + ?Sized)) -> (Vec<i64>, Issues) {
        let mut issues = Issues::default();
        let mut sink = Renumbered { sink, packets: self, offsets: Vec::new() };
        // It is made here, whole and in memory: there is nothing to fail.
        let _ = read_from(self.file.as_slice(), &mut sink, &mut issues, None);
        (sink.offsets, issues)
    }
}

struct Renumbered<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    packets: &'a Packets,
    offsets: Vec<i64>,
}

impl<S: Sink + ?Sized> Renumbered<'_, S> {
    fn of(&self, record: u64) -> u64 {
        let at = record.saturating_sub(1) as usize;
        self.packets.records.get(at).copied().unwrap_or(record)
    }
}

impl<S: Sink + ?Sized> Sink for Renumbered<'_, S> {
    fn segment(&mut self, segment: &Segment) {
        let at = segment.record.saturating_sub(1) as usize;
        self.offsets.push(self.packets.offsets.get(at).copied().unwrap_or(-1));
        self.sink.segment(&Segment { record: self.of(segment.record), ..*segment });
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.sink.icmp_error(&IcmpError { record: self.of(error.record), ..*error });
    }
}

/// Read a capture again for the packets of one bearer, whose PDUs have been placed.
///
/// # Errors
/// See [`ReadError`].
pub(crate) fn packets(
    files: &[PathBuf],
    key: Key,
    placed: &Frames,
    view: impl Fn(u16) -> View,
) -> Result<Packets, ReadError> {
    let mut reading = Reading::new(key, placed);
    // Damage was told of when it was read first.
    frames_of(files, &mut Issues::default(), |frame| {
        if let Some(Ok(pdu)) = pdu_of(&frame)
            && !frame.cut
        {
            let interface = frame.interface.min(u32::from(u16::MAX)) as u16;
            if sends(view(interface), pdu.uplink) {
                reading.take((frame.t_ns, frame.record), &pdu);
            }
        }
    })?;
    if matches!(key.channel, Channel::Drb(_)) {
        reading.found.pdcp_bits = reading.found.sdus.read_numbers(key.radio);
    }
    Ok(reading.found)
}

/// An SDU that is being put together: its bytes, the first one's place in the stream, and when it was sent.
type Part = Option<(Vec<u8>, i64, i64)>;

struct Reading<'a> {
    key: Key,
    placed: &'a Frames,
    next: usize,
    /// By direction, and the next byte.
    parts: [Part; 2],
    expected: [i64; 2],
    /// SDUs of late, to leave out what a handover had sent again.
    recent: VecDeque<u64>,
    known: HashSet<u64>,
    found: Packets,
}

impl<'a> Reading<'a> {
    fn new(key: Key, placed: &'a Frames) -> Self {
        let mut found = Packets::default();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 0, 101] {
            found.file.extend(word.to_le_bytes());
        }
        Reading {
            key,
            placed,
            next: 0,
            parts: [None, None],
            expected: [0; 2],
            recent: VecDeque::new(),
            known: HashSet::new(),
            found,
        }
    }

    /// Place and attempt of the next PDU that was sent, if it is of this record.
    fn place(&mut self, record: u64) -> Option<(i64, i16)> {
        let placed = self.placed;
        while self.next < placed.record.len()
            && (placed.record[self.next] < record as i64 || placed.action[self.next] != 0)
        {
            self.next += 1;
        }
        if placed.record.get(self.next) != Some(&(record as i64)) {
            return None;
        }
        self.next += 1;
        Some((placed.offset[self.next - 1], placed.attempt[self.next - 1]))
    }

    fn take(&mut self, at: (i64, u64), pdu: &Framed<'_>) {
        let ue = if pdu.ueid != 0 { u32::from(pdu.ueid) } else { u32::from(pdu.rnti) << 16 };
        if pdu.radio != self.key.radio || pdu.crc == Some(false) || pdu.retx > 0 {
            return;
        }
        match pdu.layer {
            Layer::Pdcp { user: true } if pdu.ueid == 0 || ue == self.key.ue => {
                self.sdu(at, usize::from(!pdu.uplink), pdu.payload, -1);
            }
            _ if ue != self.key.ue => {}
            Layer::Mac { own: true } => {
                let mut parts = Vec::new();
                let wanted = super::bearers::lcid(self.key.radio, self.key.channel);
                let _ = mac::sdus(pdu.radio, pdu.uplink, pdu.payload, |lcid, sdu| {
                    if Some(lcid) == wanted {
                        parts.push(sdu);
                    }
                });
                for part in parts {
                    let um = self.key.mode == Mode::Unacknowledged;
                    if !um || um::reserved_bits(pdu.radio, part, self.key.sn_bits) == 0 {
                        self.pdu(at, pdu.uplink, false, part);
                    }
                }
            }
            Layer::Rlc { mode, sn_bits, channel, long_li }
                if (mode, sn_bits, channel) == (self.key.mode, self.key.sn_bits, self.key.channel) =>
            {
                self.pdu(at, pdu.uplink, long_li, pdu.payload);
            }
            _ => {}
        }
    }

    fn pdu(&mut self, at: (i64, u64), uplink: bool, long_li: bool, bytes: &[u8]) {
        let pdu = match (self.key.mode, self.key.radio) {
            (Mode::Transparent, _) => return,
            (Mode::Unacknowledged, radio) => match um::decode(radio, bytes, self.key.sn_bits) {
                Ok((_, pdu)) => pdu,
                Err(_) => return,
            },
            (Mode::Acknowledged, radio) => {
                let decoded = match radio {
                    Radio::Lte => lte::decode(bytes, self.key.sn_bits, long_li),
                    Radio::Nr => nr::decode(bytes, self.key.sn_bits),
                };
                let Ok(Pdu::Data(pdu)) = decoded else { return };
                pdu
            }
        };
        let Some((offset, attempt)) = self.place(at.1) else { return };
        if attempt > 0 || offset < 0 {
            return;
        }
        let direction = usize::from(!uplink);
        if offset != self.expected[direction] {
            self.parts[direction] = None;
        }
        self.expected[direction] = offset + pdu.data.len() as i64;
        self.pieces(at, direction, &pdu, offset);
    }

    /// Take the parts of SDUs in a PDU.
    fn pieces(&mut self, at: (i64, u64), direction: usize, pdu: &Data<'_>, mut offset: i64) {
        let mut rest = pdu.data;
        for index in 0..=pdu.lengths.count {
            let last = index == pdu.lengths.count;
            let length = if last { rest.len() } else { pdu.lengths.get(index).min(rest.len()) };
            let (part, behind) = rest.split_at(length);
            rest = behind;
            if index > 0 || pdu.begins {
                self.parts[direction] = Some((Vec::new(), offset, at.0));
            }
            offset += part.len() as i64;
            let Some((sdu, ..)) = &mut self.parts[direction] else { continue };
            sdu.extend_from_slice(part);
            if sdu.len() > LARGEST {
                self.parts[direction] = None;
            } else if (!last || pdu.ends)
                && let Some((sdu, first, begun_ns)) = self.parts[direction].take()
            {
                self.found.sdus.push((begun_ns, at.0), at.1, direction, first, &sdu);
                self.sdu(at, direction, &sdu, first);
            }
        }
    }

    /// A PDCP PDU of the user plane.
    fn sdu(&mut self, at: (i64, u64), direction: usize, sdu: &[u8], first: i64) {
        if sdu.first().is_some_and(|first| first & 0x80 == 0) {
            return; // control
        }
        let Some((header, packet)) = ip_behind_pdcp(sdu) else {
            self.found.unreadable += 1;
            return;
        };
        // PDCP numbers tell packets apart: one that comes again was sent again in another cell.
        let mark = hash(&(direction, sdu));
        if !self.known.insert(mark) {
            return;
        }
        self.recent.push_back(mark);
        if self.recent.len() > RECENT
            && let Some(old) = self.recent.pop_front()
        {
            self.known.remove(&old);
        }
        let (t_ns, record) = at;
        for word in [t_ns.div_euclid(1_000_000_000), t_ns.rem_euclid(1_000_000_000)] {
            self.found.file.extend((word as u32).to_le_bytes());
        }
        for _ in 0..2 {
            self.found.file.extend((packet.len() as u32).to_le_bytes());
        }
        self.found.file.extend_from_slice(packet);
        self.found.records.push(record);
        self.found.offsets.push(if first < 0 { -1 } else { first + header as i64 });
    }
}

/// PDCP headers have one to three bytes, by the length of their numbers, which the log may not tell; SDAP adds
/// one, integrity protection four at the end. An IP packet says itself how long it is.
fn ip_behind_pdcp(sdu: &[u8]) -> Option<(usize, &[u8])> {
    (1..=4).find_map(|header| {
        let packet = sdu.get(header..)?;
        let be16 = |at: usize| packet.get(at..at + 2).map(|b| usize::from(u16::from_be_bytes([b[0], b[1]])));
        let length = match packet.first()? >> 4 {
            4 if packet[0] & 0x0f >= 5 && packet.len() >= 20 => be16(2)?,
            6 if packet.len() >= 40 => 40 + be16(4)?,
            _ => return None,
        };
        (length == packet.len() || length + 4 == packet.len()).then(|| (header, &packet[..length]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(fill: u8) -> Vec<u8> {
        let mut packet = vec![fill; 30];
        packet[..4].copy_from_slice(&[0x45, 0, 0, 30]);
        packet
    }

    /// PDUs as a direction has them: record, offset, attempt.
    fn placed(pdus: &[(i64, i64, i16)]) -> Frames {
        Frames {
            record: pdus.iter().map(|one| one.0).collect(),
            offset: pdus.iter().map(|one| one.1).collect(),
            attempt: pdus.iter().map(|one| one.2).collect(),
            action: vec![0; pdus.len()],
            ..Frames::default()
        }
    }

    fn key(radio: Radio, sn_bits: u8) -> Key {
        Key { radio, ue: 1, channel: Channel::Drb(1), mode: Mode::Acknowledged, sn_bits }
    }

    #[test]
    fn packets_across_pdus_of_lte() {
        let stream = [&[0x80, 1][..], &ip(7), &[0x80, 2], &ip(8)].concat();
        // 20 bytes; then the rest of the first SDU (length indicator 12) and 10 bytes of the second; then all.
        let first = [&[0x88, 0][..], &stream[..20]].concat();
        let second = [&[0x9c, 1, 0x00, 0xc0][..], &stream[20..42]].concat();
        let third = [&[0x90, 2][..], &stream[42..]].concat();
        let rows = placed(&[(1, 100, 0), (2, 120, 0), (3, 120, 1), (4, 142, 0), (5, 164, 0), (6, 186, 0)]);
        let mut reading = Reading::new(key(Radio::Lte, 10), &rows);
        // At last the third PDU's bytes once more behind a new start: known already.
        for (record, pdu) in [&first, &second, &second, &third, &second, &third].into_iter().enumerate() {
            reading.pdu((5, record as u64 + 1), true, false, pdu);
        }
        assert_eq!(
            (reading.found.records.as_slice(), reading.found.offsets.as_slice()),
            (&[2, 4][..], &[102, 134][..])
        );
        assert!(reading.found.file.ends_with(&ip(8)));
        let sdus = &reading.found.sdus;
        assert_eq!((sdus.offset[..2].to_vec(), sdus.length[..2].to_vec()), (vec![100, 132], vec![32, 32]));
        // Without the PDU between, there is no packet to put together.
        let rows = placed(&[(1, 0, 0), (2, 42, 0)]);
        let mut reading = Reading::new(key(Radio::Lte, 10), &rows);
        reading.pdu((5, 1), true, false, &first);
        reading.pdu((5, 2), true, false, &third);
        assert!(reading.found.records.is_empty());
    }

    #[test]
    fn packets_in_segments_of_nr() {
        let sdu = [&[0x80, 0, 1][..], &ip(9)].concat();
        let rows = placed(&[(1, 0, 0), (2, 10, 0), (3, 33, 0)]);
        let mut reading = Reading::new(key(Radio::Nr, 12), &rows);
        reading.pdu((5, 1), false, false, &[&[0x90, 0][..], &sdu[..10]].concat());
        reading.pdu((6, 2), false, false, &[&[0xa0, 0, 0, 10][..], &sdu[10..]].concat());
        reading.pdu((7, 3), false, false, &[&[0xc0, 1][..], &[0x80; 40]].concat());
        assert_eq!((reading.found.records.as_slice(), reading.found.unreadable), (&[2][..], 1));
        assert_eq!(reading.found.offsets, [3]);
    }

    #[test]
    fn headers_in_front_of_ip() {
        for header in [vec![0x80, 5], vec![0x80, 5, 6], vec![0x80, 5, 6, 1]] {
            assert_eq!(ip_behind_pdcp(&[&header[..], &ip(1)].concat()), Some((header.len(), &ip(1)[..])));
        }
        assert_eq!(ip_behind_pdcp(&[&[0x80, 5][..], &ip(1), &[0; 4]].concat()), Some((2, &ip(1)[..])));
        assert_eq!(ip_behind_pdcp(&[0x80, 5, 0x45]), None);
        assert_eq!(ip_behind_pdcp(&[]), None);
    }
}
