//! Entries of many connections in pieces, made on threads of their own while the last ones are written.

use super::connection::{EntryContext, connection_entries};
use super::line::one_line;
use crate::tracker::ConnectionStore;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Entries in a piece: some 200 KB, which a cache holds.
const PIECE: usize = 128;
/// Pieces that each thread holds ready.
const READY: usize = 2;
/// Threads at most.
const THREADS: usize = 2;
/// Pieces from which on threads are worth their start.
const MANY: usize = 8;

/// All entries in order, piece by piece.
pub struct Entries {
    making: Arc<Making>,
    /// Piece `number` comes from the thread at `number` modulo their count.
    threads: Vec<Receiver<String>>,
    next: usize,
}

struct Making {
    connections: Arc<ConnectionStore>,
    context: EntryContext,
    /// Without line breaks.
    flat: bool,
}

impl Making {
    fn pieces(&self) -> usize {
        self.connections.len().div_ceil(PIECE)
    }

    fn piece(&self, number: usize) -> String {
        let text = connection_entries(&self.connections, number * PIECE, PIECE, &self.context);
        if self.flat { one_line(&text) } else { text }
    }
}

impl Entries {
    /// Laid out over lines, or `flat`, on one.
    pub fn new(connections: Arc<ConnectionStore>, context: EntryContext, flat: bool) -> Self {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
        Entries::on(threads, Making { connections, context, flat })
    }

    fn on(threads: usize, making: Making) -> Self {
        let making = Arc::new(making);
        let threads = if making.pieces() < MANY { 0 } else { threads };
        let each = (0..threads).map(|first| begin(Arc::clone(&making), first, threads));
        Entries { threads: each.collect(), making, next: 0 }
    }
}

/// A thread that makes every `step`th piece until nobody wants them. If there can be none, nothing comes.
fn begin(making: Arc<Making>, first: usize, step: usize) -> Receiver<String> {
    let (ready, pieces) = sync_channel(READY);
    let work = move || {
        for number in (first..making.pieces()).step_by(step) {
            if ready.send(making.piece(number)).is_err() {
                break;
            }
        }
    };
    drop(thread::Builder::new().spawn(work));
    pieces
}

impl Iterator for Entries {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let number = self.next;
        self.next += 1;
        if number >= self.making.pieces() {
            return None;
        }
        let thread = number.checked_rem(self.threads.len()).and_then(|at| self.threads.get(at));
        // Pieces of a thread that could not be had are made here.
        let made = thread.and_then(|pieces| pieces.recv().ok());
        Some(made.unwrap_or_else(|| self.making.piece(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Sink;
    use crate::issue::Issues;
    use crate::segment::{Address, Checksum, Options, Segment, flags};
    use crate::tracker::Tracker;

    fn many(count: usize) -> Arc<ConnectionStore> {
        let mut tracker = Tracker::compacting();
        for number in 0..count {
            tracker.segment(&Segment {
                t_ns: number as i64,
                record: number as u64,
                source: (Address::v4([10, 0, (number >> 8) as u8, number as u8]), 1000),
                destination: (Address::v4([10, 1, 0, 1]), 80),
                seq: 7,
                ack: 0,
                flags: flags::SYN,
                window: 100,
                length: 0,
                ip_length: 40,
                ip_id: 0,
                ttl: 64,
                ecn: 0,
                checksum: Checksum::Good,
                options: Options::default(),
            });
        }
        Arc::new(tracker.conclude(&mut Issues::default()).0)
    }

    fn context() -> EntryContext {
        EntryContext { source: "\"a\"".to_owned(), point: "null".to_owned(), t0_ns: 0 }
    }

    fn pieces(connections: &Arc<ConnectionStore>, threads: usize, flat: bool) -> Vec<String> {
        let making = Making { connections: Arc::clone(connections), context: context(), flat };
        Entries::on(threads, making).collect()
    }

    #[test]
    fn however_many_threads_make_them() {
        for count in [0, 1, PIECE, PIECE * MANY - PIECE + 1, PIECE * 11 + 5] {
            let connections = many(count);
            let whole = connection_entries(&connections, 0, count, &context());
            for threads in 0..4 {
                assert_eq!(pieces(&connections, threads, false).concat(), whole);
                assert_eq!(pieces(&connections, threads, true).concat(), one_line(&whole));
            }
        }
    }

    /// Threads that nobody listens to any more end, and let go of what they were given.
    #[test]
    fn nobody_has_to_take_all() {
        let connections = many(PIECE * 40);
        let making = Making { connections: Arc::clone(&connections), context: context(), flat: false };
        let mut entries = Entries::on(2, making);
        assert!(entries.next().is_some());
        let making = Arc::downgrade(&entries.making);
        drop(entries);
        while making.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
