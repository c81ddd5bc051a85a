//! From addresses and ports to connections.

use crate::segment::{Address, Segment};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One end of a connection.
pub type Endpoint = (Address, u16);

/// Both ends, the smaller first, so that both directions have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowKey {
    low: Endpoint,
    high: Endpoint,
}

impl FlowKey {
    /// Key of a segment's flow.
    #[inline]
    pub fn of(segment: &Segment) -> Self {
        Self::between(segment.source, segment.destination)
    }

    /// Key of the flow between two ends.
    #[inline]
    pub fn between(a: Endpoint, b: Endpoint) -> Self {
        if a <= b { FlowKey { low: a, high: b } } else { FlowKey { low: b, high: a } }
    }
}

/// A multiply-and-fold hash: keys are addresses and ports, and an attacker who chooses them to collide makes
/// buckets long but not wrong; the seed differs from run to run.
#[derive(Default)]
pub struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The newest connection of each flow.
#[derive(Default)]
pub struct FlowTable {
    newest: HashMap<FlowKey, u32, BuildHasherDefault<FlowHasher>>,
    last: Option<(FlowKey, u32)>,
}

impl FlowTable {
    /// The connection that a flow had last.
    #[inline]
    pub fn get(&mut self, key: FlowKey) -> Option<u32> {
        if let Some((last, index)) = self.last
            && last == key
        {
            return Some(index);
        }
        let index = *self.newest.get(&key)?;
        self.last = Some((key, index));
        Some(index)
    }

    /// A flow has a new connection.
    pub fn set(&mut self, key: FlowKey, index: u32) {
        self.newest.insert(key, index);
        self.last = Some((key, index));
    }
}
