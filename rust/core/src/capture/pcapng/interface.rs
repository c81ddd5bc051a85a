//! An interface of a section: what its packets need to be understood.

use super::super::info::Interface as Described;
use super::super::link::{self, LinkType};
use super::super::record::ByteOrder;
use super::options::{COMMENT, Options, text};

/// Times are kept within 2^62 ns of the epoch (the years 1823 to 2116), so that differences always fit.
const FARTHEST_NS: i128 = (1 << 62) - 1;

const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;

const NAME_BYTES: usize = 100;

/// Units of the time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// So many nanoseconds.
    Nanoseconds(u64),
    /// A second divided by this.
    Parts(u128),
    /// A second divided by two to the power of this.
    Binary(u8),
}

impl Unit {
    /// From if_tsresol: a negative power of ten, or of two with the highest bit set.
    fn of(resolution: u8) -> Self {
        match resolution {
            0..=9 => Unit::Nanoseconds(10u64.pow(9 - u32::from(resolution))),
            // Finer than 10^-38 s, 64 bits of it are nothing.
            10..=0x7f => Unit::Parts(10u128.pow(u32::from(resolution).min(38))),
            _ => Unit::Binary(resolution & 0x7f),
        }
    }

    fn ns(self, ticks: u64) -> i128 {
        match self {
            Unit::Nanoseconds(unit) => i128::from(ticks) * i128::from(unit),
            Unit::Parts(parts) => (u128::from(ticks) * 1_000_000_000 / parts) as i128,
            Unit::Binary(shift) => ((u128::from(ticks) * 1_000_000_000) >> shift) as i128,
        }
    }

    /// The step of the clock, at least a nanosecond and at most a second.
    fn step_ns(self) -> u32 {
        match self {
            Unit::Nanoseconds(unit) => unit as u32,
            Unit::Parts(_) => 1,
            Unit::Binary(shift) => (1_000_000_000u64 >> shift.min(30)).max(1) as u32,
        }
    }
}

/// What the packets of an interface need; small, because a hostile file may have a million of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interface {
    pub(super) code: u16,
    pub(super) link: LinkType,
    /// Bytes of frame check sequence that lengths include.
    pub(super) fcs: u8,
    unit: Unit,
    pub(super) snaplen: u32,
    /// if_tsoffset, seconds.
    offset_s: i64,
    /// Number over all sections.
    pub(super) serial: u32,
    /// Packets that the host says it dropped (the newest statistics count all).
    pub(super) dropped: u64,
}

impl Interface {
    /// From the body of an interface description block; `None` if it is too short.
    ///
    /// Also what a human wants to know of it, and its comments.
    pub(super) fn parse(
        body: &[u8],
        order: ByteOrder,
        serial: u32,
    ) -> Option<(Self, Described, Vec<String>)> {
        let (fixed, rest) = body.split_at_checked(8)?;
        let code = order.u16(fixed, 0);
        let snaplen = order.u32(fixed, 4);
        let link = LinkType::from_code(code);
        let (mut resolution, mut offset_s, mut fcs) = (6, 0, 0);
        let (mut name, mut description, mut comments) = (String::new(), String::new(), Vec::new());
        for (option, value) in Options::new(rest, order) {
            match (option, value) {
                (IF_TSRESOL, [value, ..]) => resolution = *value,
                (IF_TSOFFSET, [_, _, _, _, _, _, _, _]) => offset_s = order.u64(value, 0) as i64,
                (IF_FCSLEN, [value, ..]) => fcs = *value,
                (IF_NAME, _) => name = text(value, NAME_BYTES),
                (IF_DESCRIPTION, _) => description = text(value, NAME_BYTES),
                (COMMENT, _) => comments.push(text(value, super::blocks::COMMENT_BYTES)),
                _ => {}
            }
        }
        let unit = Unit::of(resolution);
        let described = Described {
            link_type: code,
            link_type_name: link::name(code),
            snaplen,
            resolution_ns: unit.step_ns(),
            name,
            description,
            packets: 0,
        };
        Some((
            Interface { code, link, fcs, unit, snaplen, offset_s, serial, dropped: 0 },
            described,
            comments,
        ))
    }

    /// The step of its clock.
    pub(super) fn step_ns(&self) -> u32 {
        self.unit.step_ns()
    }

    /// A time stamp in nanoseconds, and whether it had to be forced into the range of the time line.
    #[inline]
    pub(super) fn time(&self, high: u32, low: u32) -> (i64, bool) {
        let ticks = u64::from(high) << 32 | u64::from(low);
        // All files of today: the epoch, and micro- or nanoseconds.
        if let Unit::Nanoseconds(unit) = self.unit
            && self.offset_s == 0
            && let Some(ns) = ticks.checked_mul(unit)
            && ns <= FARTHEST_NS as u64
        {
            return (ns as i64, false);
        }
        let ns = self.unit.ns(ticks) + i128::from(self.offset_s) * 1_000_000_000;
        let kept = ns.clamp(-FARTHEST_NS, FARTHEST_NS);
        (kept as i64, kept != ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_both_bases() {
        for (resolution, ticks, ns, step) in [
            (6, 1_500_000, 1_500_000_000, 1_000),
            (9, 7, 7, 1),
            (0, 3, 3_000_000_000, 1_000_000_000),
            (3, 3, 3_000_000, 1_000_000),
            (12, 5_999, 5, 1),
            (0x7f, u64::MAX, 0, 1),
            (0x80, 2, 2_000_000_000, 1_000_000_000),
            (0x80 | 20, 1 << 19, 500_000_000, 953),
            (0x80 | 63, 1 << 62, 500_000_000, 1),
            (0xff, u64::MAX, 0, 1),
        ] {
            let unit = Unit::of(resolution);
            assert_eq!((unit.ns(ticks), unit.step_ns()), (ns, step), "{resolution:#x}");
        }
    }
}
