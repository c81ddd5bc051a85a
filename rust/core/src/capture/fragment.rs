//! TCP segments that IP fragmented: the header is in the first fragment, the length in all of them.
//!
//! Lengths are put together, not bytes: a fragmented segment reaches the tracker whole, when its last
//! fragment arrives. Reference: RFC 791 section 3.2, RFC 8200 section 4.5.

use std::collections::VecDeque;

use super::ip::Fragment;
use crate::segment::{Address, Segment};

/// Packets under reassembly at a time, and pieces of one of them: memory stays bounded on any input.
const MAX_PENDING: usize = 64;
const MAX_PIECES: usize = 256;
/// RFC 8200 gives a packet 60 seconds; an identification may come again after that.
const TIMEOUT_NS: u64 = 60_000_000_000;

/// The first fragment, decoded as far as it goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct First {
    pub(crate) segment: Segment,
    /// Bytes of the TCP header.
    pub(crate) tcp_header: u32,
    /// Bytes of this fragment behind its IP headers.
    pub(crate) payload: u32,
}

type Key = (Address, Address, u32);

struct Pending {
    key: Key,
    t_ns: i64,
    first: Option<First>,
    /// Length of the whole payload, once the last fragment was seen.
    total: Option<u32>,
    /// Ranges seen, disjoint and sorted.
    pieces: Vec<(u32, u32)>,
}

/// Packets whose fragments are not complete yet.
#[derive(Default)]
pub(crate) struct Reassembly {
    pending: VecDeque<Pending>,
}

impl Reassembly {
    /// Take a fragment of `length` bytes; the segment comes out with the fragment that completes it.
    pub(crate) fn add(
        &mut self,
        t_ns: i64,
        addresses: (Address, Address),
        fragment: Fragment,
        length: u32,
        first: Option<First>,
    ) -> Option<Segment> {
        let key = (addresses.0, addresses.1, fragment.id);
        self.pending.retain(|p| p.t_ns.abs_diff(t_ns) <= TIMEOUT_NS);
        let index = self.pending.iter().position(|p| p.key == key).unwrap_or_else(|| {
            if self.pending.len() == MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(Pending { key, t_ns, first: None, total: None, pieces: Vec::new() });
            self.pending.len() - 1
        });
        let pending = &mut self.pending[index];
        let end = fragment.offset.saturating_add(length);
        pending.first = pending.first.or(first);
        if !fragment.more {
            pending.total = Some(end);
        }
        insert(&mut pending.pieces, (fragment.offset, end));
        let segment = pending.complete(t_ns)?;
        self.pending.remove(index);
        Some(segment)
    }
}

impl Pending {
    fn complete(&self, t_ns: i64) -> Option<Segment> {
        let (first, total) = (self.first?, self.total?);
        if self.pieces[..] != [(0, total)] {
            return None;
        }
        Some(Segment {
            t_ns,
            length: total.checked_sub(first.tcp_header)?,
            ip_length: total.checked_add(first.segment.ip_length.checked_sub(first.payload)?)?,
            ..first.segment
        })
    }
}

/// Unite a range with the ranges it touches.
fn insert(pieces: &mut Vec<(u32, u32)>, (mut start, mut end): (u32, u32)) {
    pieces.retain(|&(s, e)| {
        let apart = e < start || s > end;
        if !apart {
            start = start.min(s);
            end = end.max(e);
        }
        apart
    });
    if pieces.len() < MAX_PIECES {
        let at = pieces.partition_point(|&(s, _)| s < start);
        pieces.insert(at, (start, end));
    }
}
