//! Blocks that describe: sections, interfaces, their statistics, and comments on all of them.

use super::super::info::Comment;
use super::blocks::{Blocks, COMMENT_BYTES, COMMENTS, DESCRIBED, MAX_INTERFACES};
use super::interface::Interface;
use super::options::{COMMENT, Options, text};

const SHB_USERAPPL: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

impl Blocks<'_> {
    /// A section header: what was described before is of another section. False if reading must stop.
    pub(super) fn section(&mut self, body: &[u8]) -> bool {
        self.retire_interfaces();
        if self.order.u16(body, 4) != 1 {
            self.impossible(format!("section of version {}", self.order.u16(body, 4)));
            return false;
        }
        for (option, value) in Options::new(body.get(16..).unwrap_or_default(), self.order) {
            match option {
                SHB_USERAPPL if self.application.is_empty() => {
                    self.application = text(value, COMMENT_BYTES);
                }
                COMMENT => self.comment(0, text(value, COMMENT_BYTES)),
                _ => {}
            }
        }
        true
    }

    pub(super) fn interface(&mut self, body: &[u8]) -> bool {
        if self.interface_count == MAX_INTERFACES {
            self.impossible(format!("more than {MAX_INTERFACES} interfaces"));
            return false;
        }
        let Some((interface, described, comments)) =
            Interface::parse(body, self.order, self.interface_count as u32)
        else {
            self.impossible("an interface block without a link type".into());
            return false;
        };
        self.interface_count += 1;
        self.step_ns = self.step_ns.max(interface.step_ns());
        self.interfaces.push(interface);
        if self.described.len() < DESCRIBED {
            self.described.push(described);
        }
        for comment in comments {
            self.comment(0, comment);
        }
        true
    }

    pub(super) fn statistics(&mut self, body: &[u8]) {
        let Some((fixed, rest)) = body.split_at_checked(12) else { return };
        let (mut dropped, mut comments) = (0u64, Vec::new());
        for (option, value) in Options::new(rest, self.order) {
            match (option, value.len()) {
                (ISB_IFDROP | ISB_OSDROP, 8) => dropped = dropped.saturating_add(self.order.u64(value, 0)),
                (COMMENT, _) => comments.push(text(value, COMMENT_BYTES)),
                _ => {}
            }
        }
        if let Some(interface) = self.interfaces.get_mut(self.order.u32(fixed, 0) as usize) {
            interface.dropped = dropped;
        }
        for comment in comments {
            self.comment(0, comment);
        }
    }

    /// A new section begins, or the file ends.
    pub(super) fn retire_interfaces(&mut self) {
        for interface in self.interfaces.drain(..) {
            self.dropped = self.dropped.saturating_add(interface.dropped);
        }
    }

    pub(super) fn comment(&mut self, record: u64, text: String) {
        self.comment_count += 1;
        if self.comments.len() < COMMENTS {
            self.comments.push(Comment { record, text });
        }
    }
}
