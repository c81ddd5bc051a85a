//! A capture without some of its records.

use super::{Batch, IcmpError, Sink};
use crate::segment::Segment;

/// Passes on what is not of the records that are left out: a packet that a radio link sent again is still the
/// same packet, which TCP sent once.
#[derive(Debug)]
pub struct Without<'a, S: Sink + ?Sized> {
    /// What takes the rest.
    pub sink: &'a mut S,
    /// Numbers of records, ascending.
    pub records: &'a [u64],
}

impl<S: Sink + ?Sized> Sink for Without<'_, S> {
    fn segment(&mut self, segment: &Segment) {
        self.sink.segment(segment);
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.sink.icmp_error(error);
    }

    fn batch(&mut self, batch: &mut Batch) {
        self.sink.batch(batch);
    }

    fn batch_size(&self) -> usize {
        self.sink.batch_size()
    }

    fn wants(&self, record: u64) -> bool {
        self.records.binary_search(&record).is_err()
    }
}
