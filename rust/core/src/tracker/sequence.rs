//! 32-bit sequence numbers to 64-bit relative ones (RFC 9293 section 3.4).

/// Unwraps raw sequence numbers around a moving reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwrapper {
    /// Raw number that is relative 0.
    pub base: u32,
}

impl Unwrapper {
    /// `base` becomes relative 0: the ISN, so that the first data byte is 1.
    pub fn new(base: u32) -> Self {
        Unwrapper { base }
    }

    /// The relative number nearest to `near` that is congruent to `raw`.
    #[inline]
    pub fn unwrap(self, raw: u32, near: i64) -> i64 {
        let near_raw = self.base.wrapping_add(near as u32);
        near + i64::from(raw.wrapping_sub(near_raw) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwraps_over_the_wrap_and_back() {
        let space = Unwrapper::new(u32::MAX - 10);
        assert_eq!(space.unwrap(u32::MAX - 10, 0), 0);
        assert_eq!(space.unwrap(5, 0), 16);
        assert_eq!(space.unwrap(5, (1 << 32) + 3), (1 << 32) + 16);
        assert_eq!(space.unwrap(u32::MAX - 11, 20), -1);
    }
}
