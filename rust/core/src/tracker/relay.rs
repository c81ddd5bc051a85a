//! Decoding on one thread, tracking on others: the same answers in less time.
//!
//! Segments cross over in batches that are used again, in their order, so that a tracker sees exactly what it
//! would see on one thread. Where there are several, each takes the segments of its connections: both directions of one
//! go to the same.

use super::Tracker;
use super::flow;
use crate::capture::{Batch, IcmpError, Sink};
use crate::segment::Segment;
use crate::threads;
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Segments in a batch: large enough to make crossing cheap, small enough to stay in the cache.
const BATCH: usize = 2048;
/// Batches in circulation, of one tracker; each further one may be as far behind as a batch.
const BATCHES: usize = 4;
/// Segments that a tracker loads at a time: few enough to be in the cache still when it comes to them.
const TOGETHER: usize = 16;
/// Trackers at most: one thread decodes no faster than so many track.
const TRACKERS: usize = 4;

/// What tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracking {
    /// One tracker, with the segments table.
    Table,
    /// One tracker for a summary.
    Summary,
    /// For a summary of much: so many trackers.
    Divided(usize),
}

impl Tracking {
    /// For a summary of much: as many trackers as there are processors, as far as they find work.
    pub fn divided() -> Self {
        Tracking::Divided(thread::available_parallelism().map_or(1, NonZero::get))
    }

    fn trackers(self) -> usize {
        match self {
            Tracking::Table | Tracking::Summary => 1,
            Tracking::Divided(count) => count.clamp(1, TRACKERS),
        }
    }
}

/// A batch that every tracker looks at. It goes back when the last of them is done with it, or has died.
struct Lent {
    batch: Batch,
    /// Of several trackers, the segments of each by their places.
    parts: Vec<Vec<u16>>,
    back: SyncSender<Batch>,
}

impl Lent {
    fn new(batch: Batch, trackers: usize, back: SyncSender<Batch>) -> Self {
        let mut parts = Vec::new();
        if trackers > 1 {
            parts.resize_with(trackers, || Vec::with_capacity(BATCH));
            for (place, segment) in (0..).zip(batch.segments()) {
                parts[flow::part(segment, trackers)].push(place);
            }
        }
        Lent { batch, parts, back }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        drop(self.back.try_send(batch));
    }
}

/// The decoder's end.
pub struct Relay {
    /// What came one by one.
    filling: Batch,
    trackers: Vec<SyncSender<Arc<Lent>>>,
    empty: Receiver<Batch>,
    back: SyncSender<Batch>,
}

impl Relay {
    /// Swap a batch for an empty one.
    fn pass_on(&mut self, batch: &mut Batch) {
        let next = self.empty.recv().unwrap_or_else(|_| Batch::new(BATCH));
        let batch = std::mem::replace(batch, next);
        let lent = Arc::new(Lent::new(batch, self.trackers.len(), self.back.clone()));
        for tracker in &self.trackers {
            // The other end only vanishes if the tracker's thread panicked, which the join reports.
            drop(tracker.send(Arc::clone(&lent)));
        }
    }

    fn pass_on_filling(&mut self) {
        let mut batch = std::mem::replace(&mut self.filling, Batch::new(1));
        self.pass_on(&mut batch);
        self.filling = batch;
    }
}

impl Sink for Relay {
    fn segment(&mut self, segment: &Segment) {
        *self.filling.place() = *segment;
        self.filling.keep();
        if self.filling.is_full() {
            self.pass_on_filling();
        }
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.filling.push_error(*error);
        if self.filling.is_full() {
            self.pass_on_filling();
        }
    }

    fn batch(&mut self, batch: &mut Batch) {
        if !self.filling.is_empty() {
            self.pass_on_filling();
        }
        self.pass_on(batch);
    }

    fn batch_size(&self) -> usize {
        BATCH
    }
}

/// Let `produce` fill a tracker that works on a thread of its own, or several that do.
///
/// # Errors
/// There is no thread.
pub fn track_beside<R>(
    tracking: Tracking,
    produce: impl FnOnce(&mut Relay) -> R,
) -> io::Result<(R, Tracker)> {
    let trackers = tracking.trackers();
    thread::scope(|scope| {
        let batches = BATCHES + trackers - 1;
        let (back, empty) = sync_channel::<Batch>(batches);
        let (mut ends, mut working) = (Vec::new(), Vec::<ScopedJoinHandle<'_, Tracker>>::new());
        for own in 0..trackers {
            let (full, work) = sync_channel::<Arc<Lent>>(batches);
            match threads::beside(scope, move || track(tracking, own, &work)) {
                Ok(thread) => working.push(thread),
                Err(error) if own == 0 => return Err(error),
                // Those that there are do it all.
                Err(_) => break,
            }
            ends.push(full);
        }
        for _ in 0..batches {
            drop(back.send(Batch::new(BATCH)));
        }
        let mut relay = Relay { filling: Batch::new(BATCH), trackers: ends, empty, back };
        let produced = produce(&mut relay);
        if !relay.filling.is_empty() {
            relay.pass_on_filling();
        }
        drop(relay);
        let done = working.into_iter().map(|thread| match thread.join() {
            Ok(tracker) => tracker,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok((produced, Tracker::joined(done.collect())))
    })
}

/// What one of the trackers does: of each batch, its own part.
fn track(tracking: Tracking, own: usize, work: &Receiver<Arc<Lent>>) -> Tracker {
    let mut tracker = match tracking.trackers() {
        1 if tracking == Tracking::Table => Tracker::new(true),
        1 => Tracker::summing_up(),
        trackers => Tracker::summing_up_a_part(trackers),
    };
    let mut before = 0;
    while let Ok(lent) = work.recv() {
        match lent.parts.get(own) {
            None => lent.batch.deliver(&mut tracker),
            Some(part) => {
                let segments = lent.batch.segments();
                for places in part.chunks(TOGETHER) {
                    fetch(segments, places);
                    for place in places.iter().map(|&place| usize::from(place)) {
                        tracker.take(&segments[place], before + place as u64);
                    }
                }
                before += segments.len() as u64;
            }
        }
    }
    tracker
}

/// Load several segments, which another processor wrote: all at once, where one after the other would wait for each.
#[inline(never)]
fn fetch(segments: &[Segment], places: &[u16]) {
    let loaded =
        places.iter().filter_map(|&place| segments.get(usize::from(place))).fold(0, |loaded, segment| {
            let [far, near] = [segment.source.0.halves()[0], segment.destination.0.halves()[1]];
            loaded ^ segment.t_ns as u64 ^ u64::from(segment.seq ^ segment.options.sack[3].1) ^ far ^ near
        });
    std::hint::black_box(loaded);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::read_from;
    use crate::issue::Issues;

    /// One connection of so many segments of 10 bytes from client to server, as a capture of bare IP.
    fn capture(segments: u32) -> Vec<u8> {
        let mut out: Vec<u8> =
            [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 101].iter().flat_map(|f| f.to_le_bytes()).collect();
        for number in 0..segments {
            let mut packet = vec![0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            packet.extend([0x9c, 0x40, 0, 80]);
            packet.extend((1 + 10 * number).to_be_bytes());
            packet.extend([0, 0, 0, 1, 0x50, 16, 255, 255, 0, 0, 0, 0]);
            packet.resize(50, 0);
            for field in [number, 0, 50, 50] {
                out.extend(u32::to_le_bytes(field));
            }
            out.extend(packet);
        }
        out
    }

    #[test]
    fn batches_lose_nothing_at_their_ends() {
        let most = BATCH as u32;
        for segments in [0, 1, most - 1, most, most + 1, 7 * most + 3] {
            let bytes = capture(segments);
            let (info, tracker) = track_beside(Tracking::Table, |relay| {
                read_from(bytes.as_slice(), relay, &mut Issues::default(), None)
            })
            .unwrap();
            let (_, columns) = tracker.finish(&mut Issues::default());
            let records = columns.expect("segments were asked for").record;
            assert_eq!(info.expect("a capture").tcp_segments, u64::from(segments));
            assert_eq!(records, (1..=i64::from(segments)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_comes_one_by_one_stays_in_order() {
        let mut segments = Vec::new();
        struct All<'a>(&'a mut Vec<Segment>);
        impl Sink for All<'_> {
            fn segment(&mut self, segment: &Segment) {
                self.0.push(*segment);
            }
        }
        let bytes = capture(3 * BATCH as u32);
        read_from(bytes.as_slice(), &mut All(&mut segments), &mut Issues::default(), None)
            .expect("a capture");
        let (_, tracker) = track_beside(Tracking::Table, |relay| {
            segments[..10].iter().for_each(|segment| relay.segment(segment));
            let mut batch = Batch::new(5);
            for segment in &segments[10..15] {
                *batch.place() = *segment;
                batch.keep();
            }
            relay.batch(&mut batch);
            assert!(batch.is_empty());
            segments[15..].iter().for_each(|segment| relay.segment(segment));
        })
        .unwrap();
        let (_, columns) = tracker.finish(&mut Issues::default());
        let records = columns.expect("segments were asked for").record;
        assert_eq!(records, (1..=3 * BATCH as i64).collect::<Vec<_>>());
    }
}
