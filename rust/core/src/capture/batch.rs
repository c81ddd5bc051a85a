//! Segments on their way from the decoder to a sink, many at a time.

use super::{IcmpError, Sink, icmp};
use crate::segment::Segment;

/// Segments in order, and the ICMP errors among them. Segments are decoded where they lie, and the places are used
/// again and again: nothing is moved for each.
#[derive(Debug, Default)]
pub struct Batch {
    places: Box<[Segment]>,
    filled: usize,
    /// With the number of segments before each.
    errors: Vec<(usize, IcmpError)>,
}

impl Batch {
    /// Room for so many segments, at least one.
    pub fn new(room: usize) -> Self {
        Batch { places: vec![icmp::blank(); room.max(1)].into(), filled: 0, errors: Vec::new() }
    }

    /// The segments.
    pub fn segments(&self) -> &[Segment] {
        &self.places[..self.filled]
    }

    /// The segments and the errors, to change them.
    pub fn contents(&mut self) -> (&mut [Segment], &mut [(usize, IcmpError)]) {
        (&mut self.places[..self.filled], &mut self.errors)
    }

    /// Where the next segment is to be; what is there is of another one. Not to be asked for when full.
    #[inline(always)]
    pub(crate) fn place(&mut self) -> &mut Segment {
        &mut self.places[self.filled]
    }

    /// The next place holds a segment.
    #[inline(always)]
    pub(crate) fn keep(&mut self) {
        self.filled += 1;
    }

    /// The last so many segments, to change them.
    pub(crate) fn last_mut(&mut self, count: usize) -> &mut [Segment] {
        &mut self.places[self.filled.saturating_sub(count)..self.filled]
    }

    /// The last so many were none.
    pub(crate) fn take_back(&mut self, count: usize) {
        self.filled = self.filled.saturating_sub(count);
    }

    pub(crate) fn push_error(&mut self, error: IcmpError) {
        self.errors.push((self.filled, error));
    }

    /// No room for another segment.
    #[inline(always)]
    pub(crate) fn is_filled(&self) -> bool {
        self.filled == self.places.len()
    }

    /// No room for another segment, or as many errors as there may be segments.
    pub(crate) fn is_full(&self) -> bool {
        self.is_filled() || self.errors.len() == self.places.len()
    }

    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        self.filled == 0 && self.errors.is_empty()
    }

    /// Forget what is in it.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.errors.clear();
    }

    /// Hand everything to a sink, in order.
    #[inline]
    pub fn deliver<S: Sink + ?Sized>(&self, sink: &mut S) {
        let mut from = 0;
        for (before, error) in &self.errors {
            sink.segments(&self.places[from..*before]);
            sink.icmp_error(error);
            from = *before;
        }
        sink.segments(&self.places[from..self.filled]);
    }
}
