//! Decoding on one thread, tracking on another: the same answers in less time.
//!
//! Segments cross over in batches that are used again, in their order, so that the tracker sees exactly what it
//! would see on one thread.

use super::Tracker;
use crate::capture::{Batch, IcmpError, Sink};
use crate::segment::Segment;
use crate::threads;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Segments in a batch: large enough to make crossing cheap, small enough to stay in the cache.
const BATCH: usize = 2048;
/// Batches in circulation.
const BATCHES: usize = 4;

/// The decoder's end.
pub struct Relay {
    /// What came one by one.
    filling: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Relay {
    /// Swap a batch for an empty one.
    fn pass_on(&mut self, batch: &mut Batch) {
        // Both ends only vanish if the tracker's thread panicked, which the join reports.
        let next = self.empty.recv().unwrap_or_else(|_| Batch::new(BATCH));
        drop(self.full.send(std::mem::replace(batch, next)));
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

/// Let `produce` fill a tracker that works on a thread of its own.
///
/// # Errors
/// There is no thread.
pub fn track_beside<R>(
    keep_segments: bool,
    produce: impl FnOnce(&mut Relay) -> R,
) -> io::Result<(R, Tracker)> {
    thread::scope(|scope| {
        let (full, work) = sync_channel::<Batch>(BATCHES);
        let (back, empty) = sync_channel::<Batch>(BATCHES);
        for _ in 0..BATCHES {
            drop(back.send(Batch::new(BATCH)));
        }
        let tracking = threads::beside(scope, move || {
            let mut tracker = if keep_segments { Tracker::new(true) } else { Tracker::summing_up() };
            while let Ok(mut batch) = work.recv() {
                batch.deliver(&mut tracker);
                batch.clear();
                drop(back.try_send(batch));
            }
            tracker
        })?;
        let mut relay = Relay { filling: Batch::new(BATCH), full, empty };
        let produced = produce(&mut relay);
        if !relay.filling.is_empty() {
            relay.pass_on_filling();
        }
        drop(relay);
        match tracking.join() {
            Ok(tracker) => Ok((produced, tracker)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
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
            let (info, tracker) =
                track_beside(true, |relay| read_from(bytes.as_slice(), relay, &mut Issues::default(), None))
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
        let (_, tracker) = track_beside(true, |relay| {
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
