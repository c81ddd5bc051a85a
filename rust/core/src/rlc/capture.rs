//! Captures of MAC, RLC and PDCP PDUs to the rows of one bearer.

use std::io::Read;
use std::path::PathBuf;

use super::Radio;
pub use super::bearers::Counts;
use super::bearers::{At, Bearers, Key};
use super::framing::{self, Channel, Mode};
use super::sdus::{self, Packets};
use super::track::{Kind, Row, Tracked, View, sends, track};
use super::um;
use crate::capture::ReadError;
use crate::capture::frames::{Frame, frames, frames_from, frames_in_head};
use crate::capture::transport;
use crate::issue::Issues;

/// Packets that tell whether a capture is one of PDUs.
const SNIFFED: u64 = 400;
/// Subframe of LTE: the time a transport block takes.
const SUBFRAME_NS: i64 = 1_000_000;

/// Which bearer is wanted, and who captured it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// UEID or C-RNTI; the busiest otherwise.
    pub ue: Option<u16>,
    /// "srb1", "drb1" ...; the busiest otherwise.
    pub bearer: Option<String>,
    /// Who captured it, if all was captured by one; otherwise the names of interfaces say it ("ue", "bs").
    pub view: Option<View>,
}

/// A bearer, as facts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Summary {
    pub radio: Radio,
    pub ue: u32,
    pub bearer: String,
    pub mode: Mode,
    pub sn_bits: u8,
    pub data: u64,
    pub bytes: u64,
    pub status: u64,
    pub nacks: u64,
}

/// Transport blocks of the terminal that the bearer is of.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Blocks {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub airtime_ns: Vec<i64>,
    pub rate_bps: Vec<i64>,
    pub attempt: Vec<i16>,
}

/// What a capture says.
#[derive(Debug, Default)]
pub struct RlcCapture {
    /// Rows of the bearer.
    pub tracked: Tracked,
    /// HARQ.
    pub blocks: Blocks,
    /// The bearer in the tables; `None` if there is none.
    pub bearer: Option<Summary>,
    /// All bearers, the busiest first.
    pub bearers: Vec<Summary>,
    /// PDUs by kind.
    pub counts: Counts,
    /// Records of the file.
    pub packets: transport::Counts,
    /// IP packets of the bearer, where they are in the clear.
    pub sdus: Packets,
    /// Views that occur, as words.
    pub views: Vec<&'static str>,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a capture of PDUs: some of them, and no TCP beside.
pub fn sniff(head: &[u8]) -> bool {
    let (mut found, mut damaged) = (0_u64, 0_u64);
    let counts = frames_in_head(head, SNIFFED, |frame| match pdu_of(&frame) {
        Some(Ok(_)) => found += 1,
        Some(Err(_)) => damaged += 1,
        None => {}
    });
    found > damaged && counts.is_ok_and(|counts| counts.tcp == 0)
}

pub(crate) fn pdu_of<'a>(frame: &Frame<'a>) -> Option<Result<framing::Pdu<'a>, framing::Damaged>> {
    match frame.datagram {
        Some(datagram) => framing::in_datagram(datagram.payload),
        None => framing::in_record(frame.link_type, frame.data),
    }
}

/// Read a capture, whose files follow each other; records are counted through.
///
/// # Errors
/// See [`ReadError`].
pub fn read(files: &[PathBuf], wanted: &Wanted) -> Result<RlcCapture, ReadError> {
    let mut reading = Reading::of(files)?;
    let (packets, names) = (reading.packets, std::mem::take(&mut reading.names));
    let (mut found, key) = reading.finish(packets, &names, Issues::default(), wanted);
    // A pipe can be read only once.
    if let Some(key) = key.filter(|_| files.iter().all(|path| path.is_file())) {
        found.sdus =
            sdus::packets(files, key, &found.tracked.frames, |interface| view_at(wanted, &names, interface))?;
    }
    Ok(found)
}

/// Hand every record of files that follow each other to `each`, counted through.
///
/// # Errors
/// See [`ReadError`].
pub(crate) fn frames_of(
    files: &[PathBuf],
    issues: &mut Issues,
    mut each: impl FnMut(Frame<'_>),
) -> Result<(transport::Counts, Vec<String>), ReadError> {
    let mut whole = transport::Counts::default();
    let mut names = Vec::new();
    for path in files {
        let before = whole.records;
        let mut found = Issues::default();
        let (counts, interfaces) = frames(path, &mut found, |frame| {
            each(Frame { record: before + frame.record, ..frame });
        })?;
        for (code, seen) in found.iter() {
            let first = if seen.first_record == 0 { 0 } else { before + seen.first_record };
            issues.add_many(code, seen.count, first, || seen.detail.clone());
        }
        whole.records += counts.records;
        whole.tcp += counts.tcp;
        whole.udp += counts.udp;
        whole.resolution_ns = whole.resolution_ns.max(counts.resolution_ns);
        if names.is_empty() {
            names = interfaces;
        }
    }
    Ok((whole, names))
}

/// Numbers that a sender may be further on, or behind, when a file goes on where another ended.
const NEAR: u32 = 64;

/// The order in which files continue each other: each begins when the one before has ended, and bearers of a
/// terminal go on with their numbers. `None` if they do not.
///
/// # Errors
/// See [`ReadError`].
pub fn continuation(files: &[PathBuf]) -> Result<Option<Vec<usize>>, ReadError> {
    let mut outlines = Vec::with_capacity(files.len());
    for path in files {
        let reading = Reading::of(std::slice::from_ref(path))?;
        let mut ways: Vec<(Key, bool, u32, u32)> = Vec::new();
        let mut span: Option<(i64, i64)> = None;
        for key in best_lengths(&reading.bearers) {
            for row in reading.rows(key) {
                span = Some(span.map_or((row.t_ns, row.t_ns), |(a, b)| (a.min(row.t_ns), b.max(row.t_ns))));
                if row.kind != Kind::Data || key.mode != Mode::Acknowledged {
                    continue;
                }
                match ways.iter_mut().rev().find(|way| (way.0, way.1) == (key, row.uplink)) {
                    Some(way) => way.3 = row.sn,
                    None => ways.push((key, row.uplink, row.sn, row.sn)),
                }
            }
        }
        let Some(span) = span else { return Ok(None) };
        outlines.push((span, ways));
    }
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&at| outlines[at].0.0);
    let goes_on = order.windows(2).all(|pair| {
        let ((a, before), (b, after)) = (&outlines[pair[0]], &outlines[pair[1]]);
        let both: Vec<_> = after
            .iter()
            .filter_map(|way| {
                before.iter().find(|one| (one.0, one.1) == (way.0, way.1)).map(|one| (one, way))
            })
            .collect();
        let near = both.iter().all(|(one, way)| {
            let mask = (1_u32 << way.0.sn_bits.clamp(1, 18)) - 1;
            let ahead = way.2.wrapping_sub(one.3) & mask;
            ahead.min(mask + 1 - ahead) <= NEAR
        });
        // All that begins with 0 is another run.
        a.1 <= b.0 && !both.is_empty() && near && both.iter().any(|(_, way)| way.2 != 0)
    });
    Ok(goes_on.then_some(order))
}

/// As [`read`], from any bytes, without the packets in the PDUs.
///
/// # Errors
/// See [`ReadError`].
pub fn read_from(reader: impl Read + Send, wanted: &Wanted) -> Result<RlcCapture, ReadError> {
    let mut reading = Reading::default();
    let mut issues = Issues::default();
    let (packets, names) = frames_from(reader, &mut issues, u64::MAX, |frame| reading.frame(&frame))?;
    Ok(reading.finish(packets, &names, issues, wanted).0)
}

/// What was read of a file, before a bearer is chosen.
#[derive(Default)]
pub(crate) struct Reading {
    bearers: Bearers,
    issues: Issues,
    cut: u64,
    packets: transport::Counts,
    names: Vec<String>,
}

impl Reading {
    /// Read all of some files, one after the other.
    pub(crate) fn of(files: &[PathBuf]) -> Result<Self, ReadError> {
        let mut reading = Reading::default();
        let mut issues = Issues::default();
        let (packets, names) = frames_of(files, &mut issues, |frame| reading.frame(&frame))?;
        (reading.packets, reading.names) = (packets, names);
        reading.issues.take_in(&issues);
        Ok(reading)
    }

    /// Bearers that are wanted, the busiest first.
    pub(crate) fn keys(&self, wanted: &Wanted) -> Vec<Key> {
        let mut keys = best_lengths(&self.bearers);
        keys.retain(|key| is_wanted(*key, wanted, &self.bearers));
        keys
    }

    /// What a bearer's log says, in the order of the file.
    pub(crate) fn rows(&self, key: Key) -> Vec<Row> {
        let terminal = self.bearers.terminals.get(&(key.radio, key.ue));
        let marks: &[Row] = terminal.map_or(&[], |terminal| &terminal.marks);
        merged(&self.bearers.bearers[&key].rows, marks)
    }

    /// Who captured rows, if all of them were captured by one.
    pub(crate) fn view(&self, wanted: &Wanted, rows: &[Row]) -> View {
        let mut views = rows.iter().map(|row| view_at(wanted, &self.names, row.interface));
        let first = views.next().unwrap_or(View::Air);
        if views.all(|view| view == first) { first } else { View::Air }
    }

    /// As [`RlcCapture`], of a bearer that was tracked together with another capture's.
    pub(crate) fn capture(self, key: Key, tracked: Tracked, view: View, rows: &[Row]) -> RlcCapture {
        let mut found = RlcCapture {
            counts: self.bearers.counts,
            packets: self.packets,
            issues: self.issues,
            bearers: best_lengths(&self.bearers).into_iter().map(|key| summary(&self.bearers, key)).collect(),
            bearer: Some(summary(&self.bearers, key)),
            ..RlcCapture::default()
        };
        finish(&mut found, &self.bearers, key, tracked, rows, |_| view);
        found
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        let Some(pdu) = pdu_of(frame) else { return };
        let interface = frame.interface.min(u32::from(u16::MAX)) as u16;
        let at = At { t_ns: frame.t_ns, record: frame.record as i64, interface };
        let outcome = match pdu {
            Ok(pdu) => self.bearers.take(at, &pdu),
            Err(framing::Damaged(why)) => Err(why),
        };
        if frame.cut {
            self.cut += 1;
            self.issues.add("snaplen-cut", frame.record, String::new);
        } else if let Err(why) = outcome {
            self.issues.add("malformed-packet", frame.record, || why.into());
        }
    }

    fn finish(
        self,
        packets: transport::Counts,
        names: &[String],
        capture: Issues,
        wanted: &Wanted,
    ) -> (RlcCapture, Option<Key>) {
        let mut issues = self.issues.clone();
        issues.take_in(&capture);
        let view = |interface: u16| view_at(wanted, names, interface);
        let mut found = RlcCapture { counts: self.bearers.counts, packets, issues, ..RlcCapture::default() };
        let chosen = best_lengths(&self.bearers);
        found.bearers = chosen.iter().map(|key| summary(&self.bearers, *key)).collect();
        let Some(key) = chosen.into_iter().find(|key| is_wanted(*key, wanted, &self.bearers)) else {
            return (found, None);
        };
        found.bearer = Some(summary(&self.bearers, key));
        let rows = self.rows(key);
        let tracked = match key.mode {
            Mode::Acknowledged => track(u32::from(key.sn_bits), &rows, view),
            Mode::Unacknowledged | Mode::Transparent => um::track(u32::from(key.sn_bits), &rows, view),
        };
        finish(&mut found, &self.bearers, key, tracked, &rows, view);
        (found, Some(key))
    }
}

/// Take in what was tracked of a bearer, and the transport blocks of its terminal.
fn finish(
    found: &mut RlcCapture,
    all: &Bearers,
    key: Key,
    tracked: Tracked,
    rows: &[Row],
    view: impl Fn(u16) -> View,
) {
    found.tracked = tracked;
    found.issues.take_in(&found.tracked.issues);
    let terminal = all.terminals.get(&(key.radio, key.ue));
    for block in terminal.map_or(&[][..], |terminal| &terminal.blocks) {
        if !sends(view(block.interface), block.uplink) {
            continue;
        }
        let lte = key.radio == Radio::Lte;
        found.blocks.t_ns.push(block.t_ns);
        found.blocks.record.push(block.record);
        found.blocks.entity.push(i16::from(!block.uplink));
        found.blocks.airtime_ns.push(if lte { SUBFRAME_NS } else { -1 });
        found.blocks.rate_bps.push(if lte { i64::from(block.bytes) * 8000 } else { -1 });
        found.blocks.attempt.push(block.attempt);
    }
    let words = [(View::Air, "air"), (View::Ue, "ue"), (View::Bs, "bs")];
    let seen = |wanted| rows.iter().any(|row| view(row.interface) == wanted);
    found.views = words.into_iter().filter(|(one, _)| seen(*one)).map(|(_, word)| word).collect();
}

fn view_at(wanted: &Wanted, names: &[String], interface: u16) -> View {
    let named = || names.get(usize::from(interface)).map_or(View::Air, |name| view_of(name));
    wanted.view.unwrap_or_else(named)
}

fn view_of(name: &str) -> View {
    match name.to_ascii_lowercase().as_str() {
        "ue" => View::Ue,
        "bs" | "enb" | "gnb" | "du" => View::Bs,
        _ => View::Air,
    }
}

/// Bearers, the busiest first, those in transparent mode last; of those whose numbers may have two lengths, the
/// likelier.
fn best_lengths(all: &Bearers) -> Vec<Key> {
    let mut chosen: Vec<Key> = Vec::new();
    for (key, one) in all.bearers.iter().filter(|(_, one)| one.is_plausible()) {
        let same = |other: &&mut Key| Key { sn_bits: 0, ..**other } == Key { sn_bits: 0, ..*key };
        // Keys are in order: those of one channel follow each other.
        match chosen.last_mut().filter(same) {
            Some(other) if one.steps > all.bearers[other].steps => *other = *key,
            Some(_) => {}
            None => chosen.push(*key),
        }
    }
    chosen.sort_by_key(|key| (key.mode == Mode::Transparent, std::cmp::Reverse(all.bearers[key].bytes)));
    chosen
}

fn is_wanted(key: Key, wanted: &Wanted, all: &Bearers) -> bool {
    let rnti = all.terminals.get(&(key.radio, key.ue)).map_or(0, |terminal| terminal.rnti);
    let ue =
        wanted.ue.is_none_or(|ue| key.ue == u32::from(ue) || key.ue >> 16 == u32::from(ue) || rnti == ue);
    ue && wanted.bearer.as_ref().is_none_or(|name| *name == name_of(key.channel))
}

fn name_of(channel: Channel) -> String {
    match channel {
        Channel::Ccch => "ccch".into(),
        Channel::Srb(id) => format!("srb{id}"),
        Channel::Drb(id) => format!("drb{id}"),
        Channel::Other => "other".into(),
    }
}

fn summary(all: &Bearers, key: Key) -> Summary {
    let one = &all.bearers[&key];
    Summary {
        radio: key.radio,
        ue: if key.ue > 0xffff { key.ue >> 16 } else { key.ue },
        bearer: name_of(key.channel),
        mode: key.mode,
        sn_bits: key.sn_bits,
        data: one.data,
        bytes: one.bytes,
        status: one.status,
        nacks: one.nacks,
    }
}

/// PDUs and marks in the order of the file.
fn merged(rows: &[Row], marks: &[Row]) -> Vec<Row> {
    let mut all = Vec::with_capacity(rows.len() + marks.len());
    let mut next = marks.iter().peekable();
    for row in rows {
        while let Some(mark) = next.next_if(|mark| mark.record <= row.record) {
            all.push(*mark);
        }
        all.push(*row);
    }
    all.extend(next);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pcap(link_type: u32, records: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, link_type] {
            file.extend(word.to_le_bytes());
        }
        for (at, data) in records.iter().enumerate() {
            for word in [at as u32, 0, data.len() as u32, data.len() as u32] {
                file.extend(word.to_le_bytes());
            }
            file.extend(data);
        }
        file
    }

    fn framed(name: &[u8], body: &[u8]) -> Vec<u8> {
        let length = (8 + name.len() + body.len()) as u16;
        [&[0x10, 0x92, 0x27, 0x0f][..], &length.to_be_bytes(), &[0, 0], name, body].concat()
    }

    /// NR, AM, 12 bits, downlink or uplink, UEID 1, DRB 1, then the PDU.
    fn rlc_nr(uplink: bool, pdu: &[u8]) -> Vec<u8> {
        let head = [4, 12, 2, u8::from(!uplink), 3, 0, 1, 4, 5, 5, 1, 1];
        framed(b"rlc-nr", &[&head[..], pdu].concat())
    }

    fn read_all(file: &[u8]) -> RlcCapture {
        assert!(sniff(file));
        read_from(file, &Wanted::default()).unwrap()
    }

    #[test]
    fn rlc_framing_behind_a_udp_header() {
        let pdu = |sn: u8, text: &[u8]| [&[0xc0, sn], text].concat();
        let records = [
            rlc_nr(true, &pdu(0, b"abc")),
            rlc_nr(true, &pdu(1, b"defg")),
            rlc_nr(false, &[0, 2, 0x80, 0, 0]),
            rlc_nr(true, &pdu(0, b"abc")),
            rlc_nr(true, &[0xc0]),
        ];
        let found = read_all(&pcap(149, &records));
        let bearer = found.bearer.unwrap();
        assert_eq!((bearer.bearer.as_str(), bearer.ue, bearer.sn_bits), ("drb1", 1, 12));
        assert_eq!((bearer.data, bearer.status, bearer.nacks), (3, 1, 1));
        assert_eq!(found.tracked.frames.attempt, [0, 0, 1]);
        assert_eq!(found.tracked.frames.offset, [0, 3, 0]);
        assert_eq!(found.tracked.frames.poll, [1, 1, 1]);
        assert_eq!(found.tracked.events.nr, [2, 0]);
        assert_eq!(found.views, ["air"]);
        let issues: Vec<_> = found.issues.iter().map(|(code, seen)| (code, seen.first_record)).collect();
        assert_eq!(issues, [("malformed-packet", 5)]);
    }

    #[test]
    fn mac_framing_and_the_lengths_of_numbers_that_it_does_not_tell() {
        // NR downlink MAC PDUs with C-RNTI 0x4601, UEID 7: LCID 4, 18 bits.
        let mac = |uplink: bool, rnti: u8, payload: &[u8]| {
            let head = [1, u8::from(!uplink), 3, 2, 0x46, rnti, 3, 0, 7, 1];
            framed(b"mac-nr", &[&head[..], payload].concat())
        };
        let pdu = |sn: u8| vec![0x04, 5, 0x80, 0, sn, b'x', sn];
        let mut records: Vec<Vec<u8>> = (0..100).map(|sn| mac(false, 1, &pdu(sn))).collect();
        records.extend((0..40).map(|sn| mac(false, 2, &[0x04, 5, 0x80, 0, sn, b'y', sn])));
        let found = read_all(&pcap(149, &records));
        let bearer = found.bearer.unwrap();
        assert_eq!((bearer.bearer.as_str(), bearer.sn_bits, bearer.data), ("drb1", 18, 140));
        assert_eq!(found.tracked.events.cause.len(), 1);
        assert_eq!(crate::linktable::CAUSES[found.tracked.events.cause[0] as usize], "handover");
        assert_eq!(found.tracked.frames.offset.last(), Some(&278));
        assert_eq!(found.blocks.attempt.len(), 140);
        // The same context without a name is what link type 157 begins with.
        let bare: Vec<Vec<u8>> = records.iter().map(|one| one[8 + 6..].to_vec()).collect();
        assert_eq!(read_all(&pcap(157, &bare)).bearer.unwrap().data, 140);
        let wanted = Wanted { ue: Some(7), bearer: Some("srb1".into()), view: None };
        assert!(read_from(&pcap(149, &records)[..], &wanted).unwrap().bearer.is_none());
    }

    #[test]
    fn harq_is_not_rlc() {
        // LTE uplink: LCID 1, then the same block as a HARQ retransmission, then one with a wrong checksum.
        let mac = |retx: u8, crc: u8, sn: u8| {
            vec![1, 0, 3, 2, 0, 70, 3, 0, 1, 6, retx, 7, crc, 1, 0x01, 0x88, sn, 1, 2, 3]
        };
        let found = read_all(&pcap(147, &[mac(0, 1, 0), mac(1, 1, 0), mac(0, 0, 1)]));
        assert_eq!((found.counts.mac, found.counts.harq_again, found.counts.wrong_crc), (2, 1, 1));
        assert_eq!(found.tracked.frames.attempt, [0]);
        assert_eq!(found.blocks.attempt, [0, 1]);
        assert_eq!(found.blocks.airtime_ns, [1_000_000; 2]);
    }

    #[test]
    fn requests_for_reestablishment() {
        // LTE RLC framing: mode TM, uplink, UEID 1, CCCH; then AM of 10 bits on DRB 1.
        let ccch = |first: u8| framed(b"rlc-lte", &[1, 3, 0, 5, 0, 1, 6, 0, 1, 1, first, 0, 0, 0, 0, 0]);
        let data = |sn: u8, text: &[u8]| {
            let head = [4, 2, 10, 3, 0, 5, 0, 1, 6, 0, 5, 7, 0, 1, 1, 0x80, sn];
            framed(b"rlc-lte", &[&head[..], text].concat())
        };
        let records = [ccch(0x40), data(0, b"ab"), data(1, b"cd"), ccch(0), data(0, b"ef"), data(1, b"gh")];
        let found = read_all(&pcap(149, &records));
        assert_eq!(found.counts.ccch, 2);
        assert_eq!(found.tracked.events.record, [4]);
        assert_eq!(found.tracked.frames.offset, [0, 2, 4, 6]);
    }

    #[test]
    fn others_are_not_claimed() {
        assert!(!sniff(&pcap(149, &[b"12345678 nothing of the kind".to_vec()])));
        assert!(!sniff(&pcap(147, &[vec![9; 40]])));
        assert!(!sniff(b"rlc-lte"));
    }
}
