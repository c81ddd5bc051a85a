//! Numbers of PDCP: in the clear even where what follows is ciphered; how long they are was said in ciphered messages.
//!
//! Reference: 3GPP TS 36.323 section 6.2, TS 38.323 section 6.2 (data PDUs of the user plane).

use super::Radio;

/// One SDU of RLC, which is a PDU of PDCP.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sdus {
    /// Its first byte was first sent.
    pub t_ns: Vec<i64>,
    /// Its last byte was first sent.
    pub end_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    /// First byte in the stream of its direction.
    pub offset: Vec<i64>,
    pub length: Vec<i32>,
    /// Its number by PDCP, counted on where it wraps; -1 if it has none, or its length is not known.
    pub pdcp: Vec<i64>,
    heads: Vec<[u8; 3]>,
}

/// Layouts of a data PDU's first bytes: bits of the number, bits that are reserved behind the first.
const LAYOUTS: [(u32, u32); 4] = [(12, 3), (15, 0), (18, 5), (7, 0)];
/// SDUs that show how long numbers are.
const ENOUGH: usize = 4;

impl Sdus {
    pub(crate) fn push(&mut self, times: (i64, i64), record: u64, direction: usize, first: i64, sdu: &[u8]) {
        self.t_ns.push(times.0);
        self.end_ns.push(times.1);
        self.record.push(record as i64);
        self.entity.push(direction as i16);
        self.offset.push(first);
        self.length.push(sdu.len().min(i32::MAX as usize) as i32);
        self.pdcp.push(-1);
        let mut head = [0; 3];
        for (to, from) in head.iter_mut().zip(sdu) {
            *to = *from;
        }
        self.heads.push(head);
    }

    /// Find out how long the numbers are, as they run up one by one, and read them; 0 bits if they do not.
    pub(crate) fn read_numbers(&mut self, radio: Radio) -> u32 {
        let layouts = LAYOUTS.iter().filter(|(bits, _)| radio == Radio::Lte || matches!(bits, 12 | 18));
        let mut best = (0, 0, 0);
        for &(bits, reserved) in layouts {
            let steps = self.steps(bits, reserved);
            if steps > best.0 {
                best = (steps, bits, reserved);
            }
        }
        let (steps, bits, reserved) = best;
        if steps < ENOUGH || steps * 2 < self.heads.len() {
            return 0;
        }
        let half = 1_i64 << (bits - 1);
        let mut last = [None; 2];
        for ((pdcp, head), &direction) in self.pdcp.iter_mut().zip(&self.heads).zip(&self.entity) {
            let Some(sn) = number(*head, bits, reserved).map(i64::from) else { continue };
            let before = &mut last[direction as usize & 1];
            let step = |from: i64| (sn - from + half).rem_euclid(2 * half) - half;
            // What came before the first is not counted below zero.
            *pdcp = before.map_or(sn, |from: i64| from + step(from)).max(0);
            *before = Some(*pdcp);
        }
        bits
    }

    fn steps(&self, bits: u32, reserved: u32) -> usize {
        let mut last = [None; 2];
        let mut steps = 0;
        for (&direction, head) in self.entity.iter().zip(&self.heads) {
            let Some(sn) = number(*head, bits, reserved) else { continue };
            let before = &mut last[direction as usize & 1];
            steps += usize::from(before.is_some_and(|before: u32| (before + 1) & ((1 << bits) - 1) == sn));
            *before = Some(sn);
        }
        steps
    }
}

/// The number of a data PDU; `None` if reserved bits are set, or it is of control.
fn number(head: [u8; 3], bits: u32, reserved: u32) -> Option<u32> {
    let value = u32::from(head[0]) << 16 | u32::from(head[1]) << 8 | u32::from(head[2]);
    let top = value >> (23 - reserved);
    (top == 1 << reserved).then(|| (value >> (23 - reserved - bits)) & ((1 << bits) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(heads: impl Iterator<Item = [u8; 3]>) -> Sdus {
        let mut all = Sdus::default();
        for (at, head) in heads.enumerate() {
            all.push((at as i64, at as i64), 1, 0, 0, &head);
        }
        all
    }

    #[test]
    fn lengths_by_how_numbers_run() {
        let mut twelve = made((4090_u16..4110).map(|sn| [0x80 | ((sn % 4096) >> 8) as u8, sn as u8, 0xaa]));
        assert_eq!(twelve.read_numbers(Radio::Nr), 12);
        assert_eq!(twelve.pdcp[..8], [4090, 4091, 4092, 4093, 4094, 4095, 4096, 4097]);
        let mut fifteen = made((4090_u16..4110).map(|sn| [0x80 | (sn >> 8) as u8, sn as u8, 0xaa]));
        assert_eq!((fifteen.read_numbers(Radio::Lte), fifteen.pdcp[19]), (15, 4109));
        let mut eighteen =
            made((70_000_u32..70_020).map(|sn| [0x80 | (sn >> 16) as u8, (sn >> 8) as u8, sn as u8]));
        assert_eq!((eighteen.read_numbers(Radio::Nr), eighteen.pdcp[1]), (18, 70_001));
        let mut seven = made((120_u8..140).map(|sn| [0x80 | sn, sn.wrapping_mul(77), sn.wrapping_mul(31)]));
        assert_eq!((seven.read_numbers(Radio::Lte), seven.pdcp[0]), (7, 120));
        let mut none = made((0_u8..20).map(|sn| [0x80, sn.wrapping_mul(77), sn.wrapping_mul(131)]));
        assert_eq!((none.read_numbers(Radio::Nr), none.pdcp[0]), (0, -1));
    }
}
