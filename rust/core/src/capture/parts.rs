//! Several files of one capture: `tcpdump -C`, `-G` and `-W` go on in the next file.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{Batch, CaptureInfo, IcmpError, Progress, RawPacket, ReadError, Sink, packet, read_with};
use crate::input::is_pipe;
use crate::issue::Issues;
use crate::segment::{Address, Segment};

/// Read files one after the other into one sink, as if they were one: records are counted through.
///
/// # Errors
/// See [`ReadError`], with the path of the file; a path at least must be given.
pub fn read_parts<S: Sink + ?Sized>(
    paths: &[PathBuf],
    sink: &mut S,
    issues: &mut Issues,
    progress: Option<&Progress>,
) -> Result<CaptureInfo, (usize, ReadError)> {
    let mut whole: Option<CaptureInfo> = None;
    for (index, path) in paths.iter().enumerate() {
        let before = whole.as_ref().map_or(0, |info| info.records);
        let mut found = Issues::default();
        let mut shifted = Shifted { sink, before };
        let part = read_with(path, &mut shifted, &mut found, progress).map_err(|error| (index, error))?;
        for (code, seen) in found.iter() {
            let first = if seen.first_record == 0 { 0 } else { before + seen.first_record };
            issues.add_many(code, seen.count, first, || seen.detail.clone());
        }
        match &mut whole {
            Some(whole) => whole.extend(part),
            None => whole = Some(part),
        }
    }
    whole.ok_or_else(|| (0, ReadError::NotPcap("no file".into())))
}

/// One record of a capture in parts, by its number over all of them.
///
/// # Errors
/// As [`packet`]; `InvalidInput` for a pipe: it was read once to learn of the capture.
pub fn packet_of_parts(paths: &[PathBuf], mut number: u64) -> Result<Option<RawPacket>, ReadError> {
    for path in paths {
        readable_again(path)?;
        if let Some(found) = packet(path, number)? {
            return Ok(Some(found));
        }
        let mut nothing = Nothing;
        let records = read_with(path, &mut nothing, &mut Issues::default(), None)?.records;
        match number.checked_sub(records) {
            Some(left) if left > 0 => number = left,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Refuse what can be read once only: opening it again would wait for a writer that has left.
pub(super) fn readable_again(path: &Path) -> io::Result<()> {
    if is_pipe(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "came through a pipe, which is read once"));
    }
    Ok(())
}

struct Nothing;

impl Sink for Nothing {
    fn segment(&mut self, _: &Segment) {}
}

/// Counts records on from those of the files before.
struct Shifted<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    before: u64,
}

impl<S: Sink + ?Sized> Sink for Shifted<'_, S> {
    #[inline]
    fn segment(&mut self, segment: &Segment) {
        self.sink.segment(&Segment { record: self.before + segment.record, ..*segment });
    }

    fn batch(&mut self, batch: &mut Batch) {
        let (segments, errors) = batch.contents();
        segments.iter_mut().for_each(|segment| segment.record += self.before);
        errors.iter_mut().for_each(|(_, error)| error.record += self.before);
        self.sink.batch(batch);
    }

    fn batch_size(&self) -> usize {
        self.sink.batch_size()
    }

    #[inline]
    fn wants(&self, record: u64) -> bool {
        self.sink.wants(self.before + record)
    }

    fn icmp_error(&mut self, error: &IcmpError) {
        self.sink.icmp_error(&IcmpError { record: self.before + error.record, ..*error });
    }
}

impl CaptureInfo {
    /// Take in the file that follows.
    fn extend(&mut self, next: CaptureInfo) {
        self.records += next.records;
        self.tcp_segments += next.tcp_segments;
        self.first_ns = self.first_ns.into_iter().chain(next.first_ns).min();
        self.last_ns = self.last_ns.max(next.last_ns);
        self.resolution_ns = self.resolution_ns.max(next.resolution_ns);
        self.bytes += next.bytes;
        self.captured_bytes += next.captured_bytes;
        self.offloaded_checksums += next.offloaded_checksums;
        for (name, count) in next.kinds {
            *self.kinds.entry(name).or_default() += count;
        }
        for (name, count) in next.tunnels {
            *self.tunnels.entry(name).or_default() += count;
        }
        for (name, count) in next.blocks {
            *self.blocks.entry(name).or_default() += count;
        }
        for (own, other) in self.interfaces.iter_mut().zip(next.interfaces) {
            own.packets += other.packets;
        }
        self.comment_count += next.comment_count;
        let room = 100usize.saturating_sub(self.comments.len());
        self.comments.extend(next.comments.into_iter().take(room));
    }
}

/// Flows that are remembered of a file.
const FLOWS: usize = 1 << 16;

/// What tells whether a file goes on where another ended.
struct Outline {
    link_type: u16,
    first_ns: i64,
    last_ns: i64,
    flows: Flows,
}

#[derive(Default)]
struct Flows(HashSet<[(Address, u16); 2]>);

impl Sink for Flows {
    fn segment(&mut self, segment: &Segment) {
        if self.0.len() < FLOWS {
            let (a, b) = (segment.source, segment.destination);
            self.0.insert([a.min(b), a.max(b)]);
        }
    }
}

/// The order in which files continue each other: each begins when the one before has ended, with the same
/// link type, and with a connection of it still going on. `None` if they do not.
///
/// # Errors
/// See [`ReadError`].
pub fn continuation(paths: &[PathBuf], progress: Option<&Progress>) -> Result<Option<Vec<usize>>, ReadError> {
    let mut outlines = Vec::with_capacity(paths.len());
    for path in paths {
        match outline(path, progress)? {
            Some(outline) => outlines.push(outline),
            None => return Ok(None),
        }
    }
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&index| outlines[index].first_ns);
    let goes_on = order.windows(2).all(|pair| {
        let (a, b) = (&outlines[pair[0]], &outlines[pair[1]]);
        a.link_type == b.link_type && a.last_ns <= b.first_ns && !a.flows.0.is_disjoint(&b.flows.0)
    });
    Ok(goes_on.then_some(order))
}

fn outline(path: &Path, progress: Option<&Progress>) -> Result<Option<Outline>, ReadError> {
    let mut flows = Flows::default();
    let info = read_with(path, &mut flows, &mut Issues::default(), progress)?;
    let (Some(first_ns), Some(last_ns)) = (info.first_ns, info.last_ns) else { return Ok(None) };
    Ok(Some(Outline { link_type: info.link_type, first_ns, last_ns, flows }))
}
