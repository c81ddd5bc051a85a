//! Blocks one after the other, and the packets in them.

use std::collections::BTreeMap;

use super::super::ReadError;
use super::super::info::{Comment, Facts, Interface as Described};
use super::super::pcap::describe;
use super::super::record::{ByteOrder, Damage, Reader, Record, Take};
use super::super::source::Source;
use super::interface::Interface;
use crate::issue::Issues;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
pub(super) const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Type and total length before a block's body, the length again behind it.
const FRAMING: usize = 12;
const HEADER: usize = 8;

/// A block that is looked into must fit into memory; others are passed over at any length.
pub(super) const MAX_BLOCK: u32 = 17 << 20;
/// Interfaces that are kept, in all sections together: 48 bytes each.
pub(super) const MAX_INTERFACES: usize = 1 << 20;
/// Interfaces and comments that are told of.
pub(super) const DESCRIBED: usize = 32;
pub(super) const COMMENTS: usize = 100;
pub(super) const COMMENT_BYTES: usize = 500;
/// Unknown block types that are counted apart.
const UNKNOWN_TYPES: usize = 32;

/// Whether a file's content begins with a section header.
pub(crate) fn sniff(head: &[u8]) -> bool {
    head.starts_with(&SECTION.to_be_bytes())
        && head
            .get(8..12)
            .is_none_or(|magic| matches!(magic, [0x1a, 0x2b, 0x3c, 0x4d] | [0x4d, 0x3c, 0x2b, 0x1a]))
}

fn name(block_type: u32) -> String {
    match block_type {
        SECTION => "section".into(),
        INTERFACE => "interface".into(),
        OLD_PACKET => "packet".into(),
        SIMPLE_PACKET => "simple-packet".into(),
        4 => "name-resolution".into(),
        STATISTICS => "interface-statistics".into(),
        ENHANCED_PACKET => "enhanced-packet".into(),
        9 => "systemd-journal".into(),
        10 => "decryption-secrets".into(),
        0xbad | 0x4000_0bad => "custom".into(),
        other => format!("{other:#x}"),
    }
}

/// The packets of a pcapng file.
pub(crate) struct Blocks<'p> {
    pub(super) source: Source<'p>,
    pub(super) order: ByteOrder,
    swapped: bool,
    /// Of the present section.
    pub(super) interfaces: Vec<Interface>,
    /// Over all sections.
    pub(super) interface_count: usize,
    pub(super) described: Vec<Described>,
    pub(super) step_ns: u32,
    pub(super) number: u64,
    pub(super) previous_ns: i64,
    /// Bytes of the block handed out last, still in the window.
    pending: usize,
    counts: BTreeMap<u32, u64>,
    /// Of the three kinds of packet blocks: counted apart, because a map costs.
    pub(super) packets: [u64; 3],
    other_types: u64,
    pub(super) application: String,
    pub(super) comments: Vec<Comment>,
    pub(super) comment_count: u64,
    pub(super) dropped: u64,
    issues: Issues,
    damage: Option<Damage>,
}

impl<'p> Blocks<'p> {
    /// Read the first section header.
    pub(crate) fn new(mut source: Source<'p>) -> Result<Self, ReadError> {
        let complete = source.ensure(HEADER + 4)?;
        if !sniff(source.bytes()) {
            return Err(ReadError::NotPcap(describe(source.bytes())));
        }
        if !complete {
            return Err(ReadError::Corrupt("the file ends inside its first section header".into()));
        }
        let mut blocks = Blocks {
            source,
            order: ByteOrder::NATIVE,
            swapped: false,
            interfaces: Vec::new(),
            interface_count: 0,
            described: Vec::new(),
            step_ns: 1,
            number: 0,
            previous_ns: 0,
            pending: 0,
            counts: BTreeMap::new(),
            packets: [0; 3],
            other_types: 0,
            application: String::new(),
            comments: Vec::new(),
            comment_count: 0,
            dropped: 0,
            issues: Issues::default(),
            damage: None,
        };
        blocks.learn_order();
        blocks.swapped = blocks.order != ByteOrder::NATIVE;
        let total = blocks.order.u32(blocks.source.bytes(), 4);
        if !(28..=MAX_BLOCK).contains(&total) || !blocks.source.ensure(total as usize)? {
            return Err(ReadError::Corrupt(format!("the first section header claims {total} bytes")));
        }
        Ok(blocks)
    }

    /// The byte order of the section whose header is in the window.
    fn learn_order(&mut self) -> bool {
        match self.source.bytes().get(8..12) {
            Some([0x1a, 0x2b, 0x3c, 0x4d]) => self.order = ByteOrder::Big,
            Some([0x4d, 0x3c, 0x2b, 0x1a]) => self.order = ByteOrder::Little,
            _ => return false,
        }
        true
    }

    /// The next packet block in the window whole, by its type and length; `None` at the end.
    #[inline]
    fn next_packet_block(&mut self) -> Result<Option<(u32, usize)>, ReadError> {
        loop {
            self.source.consume(self.pending);
            self.pending = 0;
            if !self.source.ensure(FRAMING)? {
                self.ended("block header");
                return Ok(None);
            }
            let mut block_type = self.order.u32(self.source.bytes(), 0);
            // The same in both byte orders; the order of the rest is inside.
            if block_type == SECTION && !self.learn_order() {
                self.impossible("a section header without its byte-order magic".into());
                return Ok(None);
            }
            if block_type.swap_bytes() == SECTION {
                block_type = SECTION;
            }
            let total = self.order.u32(self.source.bytes(), 4);
            let packet = matches!(block_type, ENHANCED_PACKET | SIMPLE_PACKET | OLD_PACKET);
            // A length that is no multiple of four is against the rules; readers round it up.
            let length = u64::from(total).next_multiple_of(4);
            if total < FRAMING as u32 || (packet && total > MAX_BLOCK) {
                self.impossible(format!("a block of type {block_type:#x} claims {total} bytes"));
                return Ok(None);
            }
            if packet {
                if !self.source.ensure(length as usize)? {
                    self.ended("packet block");
                    return Ok(None);
                }
                if !self.framed(length as usize, total) {
                    return Ok(None);
                }
                self.pending = length as usize;
                return Ok(Some((block_type, length as usize)));
            }
            if !self.other_block(block_type, total, length)? {
                return Ok(None);
            }
        }
    }

    /// Whether the length behind the block repeats the one before it.
    #[inline]
    fn framed(&mut self, length: usize, total: u32) -> bool {
        let again = self.order.u32(self.source.bytes(), length - 4);
        if again != total {
            self.impossible(format!("a block's two lengths differ: {total} and {again}"));
        }
        again == total
    }

    /// Anything but a packet; false if reading must stop.
    #[cold]
    #[inline(never)]
    fn other_block(&mut self, block_type: u32, total: u32, length: u64) -> Result<bool, ReadError> {
        if self.counts.len() < UNKNOWN_TYPES || self.counts.contains_key(&block_type) {
            *self.counts.entry(block_type).or_default() += 1;
        } else {
            self.other_types += 1;
        }
        let known = matches!(block_type, SECTION | INTERFACE | STATISTICS);
        if !known || total > MAX_BLOCK {
            if known {
                let detail = || format!("{} block of {total} bytes passed over", name(block_type));
                self.issues.add("bad-block", self.number + 1, detail);
            }
            if !self.source.skip(length)? {
                self.ended("block");
                // Passed over, so nothing of it is left to tell of.
                let damage = || Damage {
                    code: "truncated-file",
                    record: self.number + 1,
                    detail: format!("the file ends inside a block of {total} bytes"),
                };
                self.damage = Some(self.damage.take().unwrap_or_else(damage));
                return Ok(false);
            }
            return Ok(true);
        }
        let length = length as usize;
        if !self.source.ensure(length)? {
            self.ended("block");
            return Ok(false);
        }
        if !self.framed(length, total) {
            return Ok(false);
        }
        self.pending = length;
        let body = self.source.bytes()[HEADER..length - 4].to_vec();
        match block_type {
            SECTION => return Ok(self.section(&body)),
            INTERFACE => return Ok(self.interface(&body)),
            _ => self.statistics(&body),
        }
        Ok(true)
    }

    #[cold]
    fn ended(&mut self, inside: &str) {
        self.damage = Damage::at_end(&self.source, self.number + 1, inside);
    }

    #[cold]
    pub(super) fn impossible(&mut self, detail: String) {
        self.damage = Some(Damage { code: "bad-record", record: self.number + 1, detail });
    }

    #[cold]
    fn bad_block(&mut self, detail: &str) {
        self.issues.add("bad-block", self.number + 1, || detail.into());
    }
}

impl Reader for Blocks<'_> {
    #[inline(never)]
    fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let (block_type, length, found, interface) = loop {
            let Some((block_type, length)) = self.next_packet_block()? else { return Ok(None) };
            let Some(found) = self.fields(block_type, &self.source.bytes()[..length]) else {
                self.bad_block("a packet block holds fewer bytes than it says");
                continue;
            };
            let Some(interface) = found.interface.and_then(|index| self.interfaces.get(index)).copied()
            else {
                self.bad_block("a packet of an interface that was not described");
                continue;
            };
            break (block_type, length, found, interface);
        };
        self.number += 1;
        self.packets[match block_type {
            SIMPLE_PACKET => 0,
            OLD_PACKET => 1,
            _ => 2,
        }] += 1;
        let (t_ns, out_of_range) =
            if found.timed { interface.time(found.time.0, found.time.1) } else { (self.previous_ns, false) };
        if !found.timed {
            self.issues.add("no-packet-time", self.number, || "a simple packet block".into());
        }
        self.previous_ns = t_ns;
        if let Some(described) = self.described.get_mut(interface.serial as usize) {
            described.packets += 1;
        }
        let end = found.at + found.captured as usize;
        let options = end.next_multiple_of(4);
        let mut fcs = u32::from(interface.fcs);
        if block_type != SIMPLE_PACKET && options + 8 <= length {
            fcs = self.packet_options(options, length).unwrap_or(fcs);
        }
        let original = found.original.max(found.captured);
        Ok(Some(Record {
            number: self.number,
            t_ns,
            fraction_overflow: out_of_range,
            original_length: original,
            wire_length: original.saturating_sub(fcs),
            link: interface.link,
            link_type: interface.code,
            interface: interface.serial,
            data: &self.source.bytes()[found.at..end],
        }))
    }

    #[inline(always)]
    fn each(&mut self, taker: &mut impl Take) -> Result<(), ReadError> {
        loop {
            self.source.consume(std::mem::take(&mut self.pending));
            self.each_in_window(taker);
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
        self.retire_interfaces();
        let used = self.described.iter().find(|interface| interface.packets > 0);
        let first = used.or(self.described.first());
        let mut blocks: BTreeMap<String, u64> =
            self.counts.iter().map(|(&block_type, &count)| (name(block_type), count)).collect();
        for (count, block_type) in self.packets.into_iter().zip([SIMPLE_PACKET, OLD_PACKET, ENHANCED_PACKET])
        {
            if count > 0 {
                blocks.insert(name(block_type), count);
            }
        }
        if self.other_types > 0 {
            blocks.insert("other".into(), self.other_types);
        }
        let (dropped, count) = (self.dropped, self.interface_count);
        if dropped > 0 {
            self.issues
                .add_many("capture-drops", dropped, 0, || format!("{dropped} packets, by its statistics"));
        }
        Facts {
            format: "pcapng",
            link_type: first.map_or(0, |interface| interface.link_type),
            snaplen: first.map_or(0, |interface| interface.snaplen),
            resolution_ns: self.step_ns,
            swapped: self.swapped,
            compressed: self.source.compressed(),
            interfaces: std::mem::take(&mut self.described),
            interface_count: count as u64,
            blocks,
            application: std::mem::take(&mut self.application),
            comments: std::mem::take(&mut self.comments),
            comment_count: self.comment_count,
            issues: std::mem::take(&mut self.issues),
        }
    }
}
