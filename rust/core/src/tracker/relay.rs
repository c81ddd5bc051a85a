//! Decoding on one thread, tracking on another: the same answers in less time.
//!
//! Segments cross over in batches that are used again, in their order, so that the tracker sees exactly what it
//! would see on one thread.

use super::Tracker;
use crate::capture::{IcmpError, Sink};
use crate::segment::Segment;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Segments in a batch: large enough to make crossing cheap, small enough to stay in the cache.
const BATCH: usize = 1024;
/// Batches in circulation.
const BATCHES: usize = 4;

/// Segments in order, and the ICMP errors among them with the number of segments before each.
#[derive(Default)]
struct Batch {
    segments: Vec<Segment>,
    errors: Vec<(usize, IcmpError)>,
}

/// The decoder's end.
pub struct Relay {
    filling: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Relay {
    fn pass_on(&mut self) {
        // Both ends only vanish if the tracker's thread panicked, which the join reports.
        let next = self.empty.recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.filling, next);
        drop(self.full.send(batch));
    }
}

impl Sink for Relay {
    #[inline]
    fn segment(&mut self, segment: &Segment) {
        self.filling.segments.push(*segment);
        if self.filling.segments.len() == BATCH {
            self.pass_on();
        }
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.filling.errors.push((self.filling.segments.len(), *error));
        if self.filling.errors.len() == BATCH {
            self.pass_on();
        }
    }
}

/// Let `produce` fill a tracker that works on a thread of its own.
pub fn track_beside<R>(keep_segments: bool, produce: impl FnOnce(&mut Relay) -> R) -> (R, Tracker) {
    thread::scope(|scope| {
        let (full, work) = sync_channel::<Batch>(BATCHES);
        let (back, empty) = sync_channel::<Batch>(BATCHES);
        for _ in 1..BATCHES {
            drop(back.send(Batch::default()));
        }
        let tracking = scope.spawn(move || {
            let mut tracker = Tracker::new(keep_segments);
            while let Ok(mut batch) = work.recv() {
                track(&mut tracker, &batch);
                batch.segments.clear();
                batch.errors.clear();
                drop(back.send(batch));
            }
            tracker
        });
        let mut relay = Relay { filling: Batch::default(), full, empty };
        let produced = produce(&mut relay);
        drop(relay.full.send(std::mem::take(&mut relay.filling)));
        drop(relay);
        match tracking.join() {
            Ok(tracker) => (produced, tracker),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn track(tracker: &mut Tracker, batch: &Batch) {
    let mut errors = batch.errors.iter().peekable();
    for (index, segment) in batch.segments.iter().enumerate() {
        while let Some((_, error)) = errors.next_if(|(before, _)| *before <= index) {
            tracker.icmp_error(error);
        }
        tracker.segment(segment);
    }
    for (_, error) in errors {
        tracker.icmp_error(error);
    }
}
