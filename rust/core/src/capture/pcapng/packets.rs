//! Packet blocks: enhanced, simple, and the old kind.

use super::blocks::{Blocks, COMMENT_BYTES, ENHANCED_PACKET, OLD_PACKET};
use super::options::{COMMENT, Options, text};

const EPB_FLAGS: u16 = 2;

/// What was found of a packet before it is handed out.
pub(super) struct Found {
    pub(super) interface: Option<usize>,
    pub(super) time: (u32, u32),
    pub(super) captured: u32,
    pub(super) original: u32,
    /// Where its bytes begin in the block.
    pub(super) at: usize,
    /// Whether it has a time.
    pub(super) timed: bool,
}

impl Blocks<'_> {
    /// Fields of a packet block; `None` if the block contradicts itself.
    #[inline]
    pub(super) fn fields(&self, block_type: u32, block: &[u8]) -> Option<Found> {
        let field = |at| self.order.u32(block, at);
        let room = |at: usize| block.len().checked_sub(at + 4);
        let found = match block_type {
            ENHANCED_PACKET => {
                room(28)?;
                Found {
                    interface: Some(field(8) as usize),
                    time: (field(12), field(16)),
                    captured: field(20),
                    original: field(24),
                    at: 28,
                    timed: true,
                }
            }
            OLD_PACKET => {
                room(28)?;
                Found {
                    interface: Some(usize::from(self.order.u16(block, 8))),
                    time: (field(12), field(16)),
                    captured: field(20),
                    original: field(24),
                    at: 28,
                    timed: true,
                }
            }
            _ => {
                let most = room(12)? as u32;
                let original = field(8);
                // It belongs to the first interface, and has no captured length of its own.
                let snaplen = self.interfaces.first().map_or(0, |interface| interface.snaplen);
                let captured = if snaplen == 0 { original } else { original.min(snaplen) };
                // Without a snap length, the block itself says how much there is.
                let captured = if snaplen == 0 { captured.min(most) } else { captured };
                Found { interface: Some(0), time: (0, 0), captured, original, at: 12, timed: false }
            }
        };
        (found.captured as usize <= room(found.at)?).then_some(found)
    }

    /// Length of a frame check sequence that an enhanced packet block states, and its comments.
    #[cold]
    #[inline(never)]
    pub(super) fn packet_options(&mut self, from: usize, length: usize) -> Option<u32> {
        let options = self.source.bytes().get(from..length - 4).unwrap_or_default();
        let (mut fcs, mut comments) = (None, Vec::new());
        for (option, value) in Options::new(options, self.order) {
            match (option, value.len()) {
                (EPB_FLAGS, 4) => fcs = Some(self.order.u32(value, 0) >> 5 & 0xf).filter(|&fcs| fcs > 0),
                (COMMENT, _) => comments.push(text(value, COMMENT_BYTES)),
                _ => {}
            }
        }
        for comment in comments {
            self.comment(self.number, comment);
        }
        fcs
    }
}
