//! A capture that is read in full only if few connections are in it.

use super::{Batch, IcmpError, Sink};
use crate::input::Progress;
use crate::segment::{Address, Segment};
use std::collections::HashSet;
use std::sync::atomic::Ordering;

type End = (Address, u16);

/// Passes everything on, and ends the reading once more pairs of ends have been seen than were asked for: there are at
/// least as many connections.
#[derive(Debug)]
pub struct Few<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    progress: &'a Progress,
    most: usize,
    seen: HashSet<(End, End)>,
    last: Option<(End, End)>,
}

impl<'a, S: Sink + ?Sized> Few<'a, S> {
    /// For `sink`, so many pairs at most.
    pub fn new(sink: &'a mut S, most: usize, progress: &'a Progress) -> Self {
        Few { sink, progress, most, seen: HashSet::new(), last: None }
    }

    /// Whether there were more.
    pub fn exceeded(&self) -> bool {
        self.seen.len() > self.most
    }

    fn count(&mut self, segment: &Segment) {
        let (one, other) = (segment.source, segment.destination);
        let ends = if one <= other { (one, other) } else { (other, one) };
        if self.last != Some(ends) {
            self.last = Some(ends);
            self.seen.insert(ends);
        }
    }

    fn stop(&self) {
        if self.exceeded() {
            self.progress.cancel.store(true, Ordering::Relaxed);
        }
    }
}

impl<S: Sink + ?Sized> Sink for Few<'_, S> {
    fn segment(&mut self, segment: &Segment) {
        self.count(segment);
        self.stop();
        self.sink.segment(segment);
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.sink.icmp_error(error);
    }

    fn batch(&mut self, batch: &mut Batch) {
        batch.segments().iter().for_each(|segment| self.count(segment));
        self.stop();
        self.sink.batch(batch);
    }

    fn batch_size(&self) -> usize {
        self.sink.batch_size()
    }

    fn wants(&self, record: u64) -> bool {
        self.sink.wants(record)
    }
}
