//! Reading ahead: one thread reads and decompresses the next blocks of a file while another decodes.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use crate::threads;

/// Bytes in a block: large enough that the system call is lost in the noise, small enough to stay in the cache.
pub(super) const BLOCK: usize = 256 * 1024;
/// Room before the bytes of a block, for what was left of the block before.
pub(super) const ROOM: usize = 64 * 1024;
/// Blocks in circulation.
const BLOCKS: usize = 4;

/// A buffer of at least `ROOM + BLOCK` bytes, of which so many behind the room were read; or why there are no more.
type Block = io::Result<(Vec<u8>, usize)>;

/// The end that takes the blocks.
pub(super) struct Ahead {
    full: Receiver<Block>,
    empty: SyncSender<Vec<u8>>,
}

impl Ahead {
    /// Read on another thread, which ends when all is read or nobody takes it any more.
    ///
    /// # Errors
    /// There is no thread.
    pub(super) fn begin<'scope, 'p: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        mut reader: Box<dyn Read + Send + 'p>,
    ) -> io::Result<Self> {
        let (sender, full) = sync_channel::<Block>(BLOCKS);
        let (empty, receiver) = sync_channel::<Vec<u8>>(BLOCKS);
        for _ in 1..BLOCKS {
            // There is room for all of them.
            drop(empty.send(vec![0; ROOM + BLOCK]));
        }
        threads::beside(scope, move || {
            while let Ok(mut buffer) = receiver.recv() {
                let mut filled = 0;
                let end = fill(&mut *reader, &mut buffer[ROOM..ROOM + BLOCK], &mut filled);
                if filled > 0 && sender.send(Ok((buffer, filled))).is_err() {
                    return;
                }
                match end {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => return drop(sender.send(Err(error))),
                }
            }
        })?;
        Ok(Ahead { full, empty })
    }

    /// The next block; `None` at the end.
    pub(super) fn next(&self) -> Option<Block> {
        self.full.recv().ok()
    }

    /// Give back a buffer, which may have grown for a long record.
    pub(super) fn reuse(&self, mut buffer: Vec<u8>) {
        if buffer.len() > ROOM + BLOCK {
            buffer.truncate(ROOM + BLOCK);
            buffer.shrink_to_fit();
        }
        drop(self.empty.try_send(buffer));
    }
}

/// Read until the buffer is full; false at the end.
fn fill(reader: &mut (impl Read + ?Sized), buffer: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < buffer.len() {
        match reader.read(&mut buffer[*filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
