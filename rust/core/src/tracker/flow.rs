//! From addresses and ports to connections.

use crate::segment::{Address, Segment};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// One end of a connection.
pub type Endpoint = (Address, u16);

/// Both ends, the smaller first, so that both directions have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    low: Endpoint,
    high: Endpoint,
}

impl FlowKey {
    /// Key of the flow between two ends.
    #[inline]
    pub fn between(a: Endpoint, b: Endpoint) -> Self {
        if a <= b { FlowKey { low: a, high: b } } else { FlowKey { low: b, high: a } }
    }
}

impl Hash for FlowKey {
    /// In whole words.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (address, port) in [self.low, self.high] {
            let [first, second] = address.halves();
            state.write_u64(first ^ u64::from(port));
            state.write_u64(second);
        }
    }
}

/// A multiply-and-fold hash. Keys are addresses and ports: its seed differs from table to table, lest who chooses
/// them can make them collide.
pub struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Begins a hash with a seed.
struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seed {
    type Hasher = FlowHasher;

    #[inline]
    fn build_hasher(&self) -> FlowHasher {
        FlowHasher(self.0)
    }
}

/// Flows that are looked for before the table is.
const RECENT: usize = 256;

/// The newest connection of each flow.
pub struct FlowTable {
    newest: HashMap<FlowKey, u32, Seed>,
    /// Where the newest connection of the last flow is held that came to each place; for both its directions the same.
    recent: Box<[u32; RECENT]>,
}

impl Default for FlowTable {
    fn default() -> Self {
        FlowTable { newest: HashMap::default(), recent: Box::new([u32::MAX; RECENT]) }
    }
}

impl FlowTable {
    /// Where the connection that a segment's flow had last is held ready, if that was looked for not long ago: what
    /// is there is that if its ends are those of the segment.
    #[inline]
    pub fn guess(&self, segment: &Segment) -> u32 {
        self.recent[place(segment.source, segment.destination)]
    }

    /// The connection that a flow had last.
    #[inline]
    pub fn get(&self, a: Endpoint, b: Endpoint) -> Option<u32> {
        self.newest.get(&FlowKey::between(a, b)).copied()
    }

    /// A flow has a new connection.
    pub fn set(&mut self, a: Endpoint, b: Endpoint, index: u32) {
        self.newest.insert(FlowKey::between(a, b), index);
    }

    /// Where the newest connection of a flow is held ready.
    #[inline]
    pub fn expect(&mut self, a: Endpoint, b: Endpoint, held: usize) {
        self.recent[place(a, b)] = held as u32;
    }

    /// Forget where all are held ready.
    #[cold]
    pub fn forget(&mut self) {
        self.recent.fill(u32::MAX);
    }
}

/// The same for both directions, in the upper bits.
#[inline(always)]
fn spread(a: Endpoint, b: Endpoint) -> u64 {
    let ends = a.0.halves()[1] ^ b.0.halves()[1] ^ u64::from(a.1 ^ b.1);
    ends.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline(always)]
fn place(a: Endpoint, b: Endpoint) -> usize {
    (spread(a, b) >> 56) as usize
}

/// Which of so many parts of all flows a segment's is in.
#[inline(always)]
pub(super) fn part(segment: &Segment, parts: usize) -> usize {
    // By other bits than the place: those of one part are to have all places.
    let spread = spread(segment.source, segment.destination) >> 24 & 0xffff_ffff;
    ((spread * parts as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(host: u8, port: u16) -> Endpoint {
        (Address::v4([10, 0, 0, host]), port)
    }

    proptest! {
        /// Whatever flows come in whatever order, also where many share a place of the recent ones: the newest
        /// connection of a flow is found, in both directions, and what was expected last at a place is guessed there.
        #[test]
        fn finds_the_newest(steps in prop::collection::vec((0u8..3, 0u8..3, 0u16..400, any::<bool>()), 1..600)) {
            let (mut table, mut plain) = (FlowTable::default(), HashMap::new());
            for (index, (host, other, port, new)) in steps.into_iter().enumerate() {
                let (a, b) = (end(host, port), end(other, 80));
                let key = FlowKey::between(a, b);
                if new {
                    table.set(a, b, index as u32);
                    plain.insert((key.low, key.high), index as u32);
                }
                let known = plain.get(&(key.low, key.high)).copied();
                prop_assert_eq!(table.get(b, a), known);
                if let Some(known) = known {
                    table.expect(a, b, known as usize);
                    prop_assert_eq!(table.recent[place(b, a)], known);
                }
            }
            table.forget();
            prop_assert!(table.recent.iter().all(|&held| held == u32::MAX));
        }
    }
}
