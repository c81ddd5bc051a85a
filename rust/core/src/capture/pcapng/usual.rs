//! Enhanced packet blocks without options, in a row: what capturing tools write by the million.

use super::super::record::{ByteOrder, Record, Take};
use super::blocks::{Blocks, ENHANCED_PACKET, MAX_BLOCK};
use super::interface::Interface;

/// Type, length, interface, time, two lengths; and the length again behind the bytes.
const FIXED: usize = 28;
const LENGTH: usize = 4;

impl Blocks<'_> {
    /// The packets of such blocks that are whole within the window, up to the first block of which anything is odd: that
    /// is left to [`next_record`](super::super::record::Reader::next_record).
    #[inline(always)]
    pub(super) fn each_in_window(&mut self, taker: &mut impl Take) {
        if self.order != ByteOrder::Little {
            return;
        }
        let mut left = self.source.bytes();
        let (before, mut number, mut previous_ns) = (self.number, self.number, self.previous_ns);
        // The interface of the packet before, its number in the section, and how many packets it had.
        let mut known: Option<(u32, Interface, u64)> = None;
        while let Some(head) = left.first_chunk::<FIXED>() {
            let field = |at| ByteOrder::Little.u32(head, at);
            let (total, captured, original) = (field(4), field(20), field(24));
            // Nothing but the bytes, filled up to four.
            let bare = u64::from(captured).next_multiple_of(4) + (FIXED + LENGTH) as u64 == u64::from(total);
            if field(0) != ENHANCED_PACKET || !bare || total > MAX_BLOCK {
                break;
            }
            let Some((block, next)) = left.split_at_checked(total as usize) else { break };
            if ByteOrder::Little.u32(block, total as usize - LENGTH) != total {
                break;
            }
            let (interface, packets) = match &mut known {
                Some((index, interface, packets)) if *index == field(8) => (*interface, packets),
                other => {
                    let Some(&interface) = self.interfaces.get(field(8) as usize) else { break };
                    if let Some((_, interface, packets)) = other {
                        count(&mut self.described, interface, *packets);
                    }
                    let (_, _, packets) = other.insert((field(8), interface, 0));
                    (interface, packets)
                }
            };
            let (t_ns, fraction_overflow) = interface.time(field(12), field(16));
            *packets += 1;
            number += 1;
            previous_ns = t_ns;
            let original_length = original.max(captured);
            taker.take(&Record {
                number,
                t_ns,
                fraction_overflow,
                original_length,
                wire_length: original_length.saturating_sub(u32::from(interface.fcs)),
                link: interface.link,
                link_type: interface.code,
                interface: interface.serial,
                data: &block[FIXED..FIXED + captured as usize],
            });
            left = next;
        }
        let passed = self.source.bytes().len() - left.len();
        if let Some((_, interface, packets)) = &known {
            count(&mut self.described, interface, *packets);
        }
        self.packets[2] += number - before;
        (self.number, self.previous_ns) = (number, previous_ns);
        self.source.consume(passed);
    }
}

fn count(described: &mut [super::super::info::Interface], interface: &Interface, packets: u64) {
    if let Some(described) = described.get_mut(interface.serial as usize) {
        described.packets += packets;
    }
}
