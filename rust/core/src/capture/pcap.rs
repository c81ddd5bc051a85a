//! The pcap file format: file header, record headers, both byte orders and resolutions.
//!
//! Reference: draft-ietf-opsawg-pcap; libpcap's `sf-pcap.c` for the old versions with swapped lengths.

use std::collections::BTreeMap;

use super::ReadError;
use super::info::{Facts, Interface};
use super::link::{self, LinkType};
use super::record::{ByteOrder, Damage, Reader, Record, Take};
use super::source::Source;
use crate::issue::Issues;

/// Bytes of the file header.
pub(crate) const FILE_HEADER: usize = 24;

/// Bytes of a record header, but for those of patched libpcaps.
const RECORD_HEADER: usize = 16;

/// Bytes that patched libpcaps add to each record header: Nokia's, Alexey Kuznetzov's, and that of SuSE 6.3. All wrote them
/// with a magic number that means fewer, too (Wireshark's `libpcap.c`).
const ADDED: [usize; 3] = [4, 8, 12];

/// So many record headers show a variant that the magic number does not say.
const HEADERS: usize = 3;

/// Records next to each other are not further apart than ten days.
const APART_S: u32 = 864_000;

/// What tcpdump and Wireshark write at most; a larger snap length in the file header raises it.
const USUAL_LIMIT: u32 = 262_144;
/// No record may ask for more memory than this.
const HARD_LIMIT: u32 = 16 << 20;

/// Which of the two length fields comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    OriginalFirst,
    /// Version 2.3 was written both ways: the smaller one is the captured length.
    Either,
}

/// The file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) big_endian: bool,
    pub(crate) nanosecond: bool,
    pub(crate) snaplen: u32,
    pub(crate) link_type: u16,
    /// Bytes of frame check sequence that the original lengths include.
    pub(crate) fcs: u32,
    /// More bytes in each record header: of a patched libpcap.
    added: usize,
    lengths: LengthOrder,
}

impl FileHeader {
    /// Read a header; `None` if the magic number is none of pcap's.
    pub(crate) fn parse(bytes: &[u8; FILE_HEADER]) -> Option<Self> {
        let (big_endian, nanosecond, modified) = magic(bytes)?;
        let added = if modified { 8 } else { 0 };
        let u16_at = |at: usize| {
            let b = [bytes[at], bytes[at + 1]];
            if big_endian { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) }
        };
        let u32_at = |at| u32_of(bytes, at, big_endian);
        let lengths = match (u16_at(4), u16_at(6)) {
            (2, 0..=2) | (543, _) => LengthOrder::OriginalFirst,
            (2, 3) => LengthOrder::Either,
            _ => LengthOrder::CapturedFirst,
        };
        let network = u32_at(20);
        // Bit 26 says that the top four bits hold the FCS length in 16-bit words.
        let fcs = if network & 0x0400_0000 != 0 { (network >> 28) * 2 } else { 0 };
        let link_type = (network & 0xffff) as u16;
        Some(FileHeader { big_endian, nanosecond, snaplen: u32_at(16), link_type, fcs, added, lengths })
    }

    fn record_header(&self) -> usize {
        RECORD_HEADER + self.added
    }

    /// The same header with as many bytes added to each record as its first records show.
    fn as_shown_by(self, records: &[u8]) -> Self {
        if self.lengths != LengthOrder::CapturedFirst || self.reads(records, 2) {
            return self;
        }
        let others = ADDED.into_iter().filter(|&added| added > self.added);
        let mut others = others.map(|added| FileHeader { added, ..self });
        others.find(|other| other.reads(records, HEADERS)).unwrap_or(self)
    }

    /// Whether so many record headers make sense one after the other, or all that are there, to the end exactly.
    fn reads(&self, mut left: &[u8], headers: usize) -> bool {
        let per_second = if self.nanosecond { 1_000_000_000 } else { 1_000_000 };
        let mut first_s = None;
        for read in 0..headers {
            let Some(head) = left.first_chunk() else { return left.is_empty() && read > 1 };
            let Fields { seconds, fraction, captured, original } = self.fields::<false>(head);
            let apart_s = seconds.abs_diff(*first_s.get_or_insert(seconds));
            // As the header has it: `fields` takes the captured length for the original one if that is less.
            let order = if self.big_endian { ByteOrder::Big } else { ByteOrder::Little };
            let cut = captured > 0 && order.u32(head, 12) >= captured;
            if !cut || original > self.limit() || fraction >= per_second || apart_s > APART_S {
                return false;
            }
            left = match left.get(self.record_header() + captured as usize..) {
                Some(behind) => behind,
                None => return read + 1 == headers,
            };
        }
        true
    }

    fn limit(&self) -> u32 {
        self.snaplen.clamp(USUAL_LIMIT, HARD_LIMIT)
    }

    /// Little-endian, and of no old or patched libpcap: nearly every file.
    fn is_usual(&self) -> bool {
        !self.big_endian && self.added == 0 && self.lengths == LengthOrder::CapturedFirst
    }

    /// The fields of a record header; `USUAL` if that is known to be one.
    #[inline(always)]
    fn fields<const USUAL: bool>(&self, bytes: &[u8; RECORD_HEADER]) -> Fields {
        let order = if self.big_endian && !USUAL { ByteOrder::Big } else { ByteOrder::Little };
        let (seconds, fraction) = (order.u32(bytes, 0), order.u32(bytes, 4));
        let (mut captured, mut original) = (order.u32(bytes, 8), order.u32(bytes, 12));
        if !USUAL
            && self.lengths != LengthOrder::CapturedFirst
            && (self.lengths == LengthOrder::OriginalFirst || captured > original)
        {
            std::mem::swap(&mut captured, &mut original);
        }
        Fields { seconds, fraction, captured, original: original.max(captured) }
    }

    #[inline(always)]
    fn record<'a>(&self, number: u64, link: LinkType, fields: &Fields, data: &'a [u8]) -> Record<'a> {
        let (unit, per_second) = if self.nanosecond { (1, 1_000_000_000) } else { (1_000, 1_000_000) };
        Record {
            number,
            // Seconds are unsigned: captures stay readable until 2106. Neither product can overflow.
            t_ns: i64::from(fields.seconds) * 1_000_000_000 + i64::from(fields.fraction) * unit,
            fraction_overflow: fields.fraction >= per_second,
            original_length: fields.original,
            wire_length: fields.original.saturating_sub(self.fcs),
            link,
            link_type: self.link_type,
            interface: 0,
            data,
        }
    }
}

/// What a record header says.
#[derive(Debug, Clone, Copy)]
struct Fields {
    seconds: u32,
    fraction: u32,
    captured: u32,
    original: u32,
}

/// Byte order, resolution and variant that a magic number stands for.
fn magic(head: &[u8]) -> Option<(bool, bool, bool)> {
    match head.first_chunk::<4>()? {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((false, false, false)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((true, false, false)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((false, true, false)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((true, true, false)),
        [0x34, 0xcd, 0xb2, 0xa1] => Some((false, false, true)),
        [0xa1, 0xb2, 0xcd, 0x34] => Some((true, false, true)),
        _ => None,
    }
}

/// Whether a file's content begins like a pcap file.
pub(crate) fn sniff(head: &[u8]) -> bool {
    magic(head).is_some()
}

#[inline(always)]
fn u32_of(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let b = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
}

/// The records of a pcap file, one after the other.
pub(crate) struct Records<'p> {
    source: Source<'p>,
    header: FileHeader,
    link: LinkType,
    number: u64,
    /// Bytes of the record handed out last, still in the window.
    pending: usize,
    damage: Option<Damage>,
}

impl<'p> Records<'p> {
    /// Read the file header.
    pub(crate) fn new(mut source: Source<'p>) -> Result<Self, ReadError> {
        let complete = source.ensure(FILE_HEADER)?;
        let head = source.bytes();
        if !sniff(head) {
            return Err(ReadError::NotPcap(describe(head)));
        }
        let Some(header) = head.first_chunk().filter(|_| complete).and_then(FileHeader::parse) else {
            return Err(ReadError::Corrupt("the file ends inside its header".into()));
        };
        source.consume(FILE_HEADER);
        // By what came with it: of a pipe, no record is waited for.
        let header = header.as_shown_by(source.bytes());
        let link = LinkType::from_code(header.link_type);
        Ok(Records { source, header, link, number: 0, pending: 0, damage: None })
    }

    /// The records that are whole within the window, but for what is odd about the next: that is left to
    /// [`Reader::next_record`].
    #[inline(always)]
    fn each_in_window<const USUAL: bool>(&mut self, taker: &mut impl Take) {
        let (header, link) = (self.header, self.link);
        let (header_length, limit) =
            (if USUAL { RECORD_HEADER } else { header.record_header() }, header.limit());
        let (mut left, mut number) = (self.source.bytes(), self.number);
        while let Some(head) = left.first_chunk() {
            let fields = header.fields::<USUAL>(head);
            let end = header_length + fields.captured as usize;
            if fields.captured > limit || left.len() < end {
                break;
            }
            number += 1;
            let record = header.record(number, link, &fields, &left[header_length..end]);
            if USUAL {
                taker.take(&record)
            } else {
                taker.take_rare(&record)
            }
            left = &left[end..];
        }
        let passed = self.source.bytes().len() - left.len();
        self.number = number;
        self.source.consume(passed);
    }

    #[cold]
    fn ended(&mut self, inside: &str) {
        self.damage = Damage::at_end(&self.source, self.number + 1, inside);
    }

    #[cold]
    fn impossible(&mut self, captured: u32) {
        self.damage = Some(Damage {
            code: "bad-record",
            record: self.number + 1,
            detail: format!("captured length {captured} is beyond the limit of {}", self.header.limit()),
        });
    }
}

impl Reader for Records<'_> {
    #[inline(never)]
    fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        self.source.consume(self.pending);
        self.pending = 0;
        let header_length = self.header.record_header();
        if !self.source.ensure(header_length)? {
            self.ended("record header");
            return Ok(None);
        }
        let Some(head) = self.source.bytes().first_chunk() else { return Ok(None) };
        let fields = self.header.fields::<false>(head);
        if fields.captured > self.header.limit() {
            self.impossible(fields.captured);
            return Ok(None);
        }
        let length = header_length + fields.captured as usize;
        if !self.source.ensure(length)? {
            self.ended("record");
            return Ok(None);
        }
        self.number += 1;
        self.pending = length;
        let data = &self.source.bytes()[header_length..length];
        Ok(Some(self.header.record(self.number, self.link, &fields, data)))
    }

    #[inline(always)]
    fn each(&mut self, taker: &mut impl Take) -> Result<(), ReadError> {
        loop {
            self.source.consume(std::mem::take(&mut self.pending));
            if self.header.is_usual() {
                self.each_in_window::<true>(taker);
            } else {
                self.each_in_window::<false>(taker);
            }
            match self.next_record()? {
                Some(record) => taker.take_rare(&record),
                None => return Ok(()),
            }
        }
    }

    fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    fn facts(&mut self) -> Facts {
        let header = &self.header;
        let resolution_ns = if header.nanosecond { 1 } else { 1_000 };
        let interface = Interface {
            link_type: header.link_type,
            link_type_name: link::name(header.link_type),
            snaplen: header.snaplen,
            resolution_ns,
            name: String::new(),
            description: String::new(),
            packets: self.number,
        };
        Facts {
            format: "pcap",
            link_type: header.link_type,
            snaplen: header.snaplen,
            resolution_ns,
            swapped: header.big_endian != cfg!(target_endian = "big"),
            compressed: self.source.compressed(),
            interfaces: vec![interface],
            interface_count: 1,
            blocks: BTreeMap::new(),
            application: String::new(),
            comments: Vec::new(),
            comment_count: 0,
            issues: Issues::default(),
        }
    }
}

/// Words for what a file begins with instead.
pub(crate) fn describe(head: &[u8]) -> String {
    match head.first_chunk::<4>() {
        _ if head.is_empty() => "the file is empty".into(),
        Some(b) => format!("the first bytes are {:02x} {:02x} {:02x} {:02x}", b[0], b[1], b[2], b[3]),
        None => format!("the file has only {} bytes", head.len()),
    }
}
