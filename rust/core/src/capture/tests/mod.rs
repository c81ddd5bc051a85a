mod ahead;
mod build;
mod copies;
mod files;
mod fragments;
mod ips;
mod links;
mod many;
mod packets;
mod pcapng;
mod properties;
mod rare_links;
mod tcps;
mod tunnels;
mod wifiparts;

use super::decode::Decoder;
use super::pcap::Records;
use super::record::{Reader, Record};
use super::source::Source;
use super::{CaptureInfo, ReadError, Sink, concluded, read_from};
use crate::issue::{Issues, Occurrences};
use crate::segment::Segment;

/// Keeps every segment.
#[derive(Default)]
struct Keep(Vec<Segment>);

impl Sink for Keep {
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

/// What reading some bytes gives.
#[derive(Debug)]
struct Outcome {
    info: CaptureInfo,
    segments: Vec<Segment>,
    issues: Issues,
}

impl Outcome {
    fn issue(&self, code: &str) -> Option<&Occurrences> {
        self.issues.iter().find(|(c, _)| *c == code).map(|(_, o)| o)
    }

    fn kind(&self, name: &str) -> u64 {
        self.info.kinds.get(name).copied().unwrap_or(0)
    }

    fn only(&self) -> &Segment {
        assert_eq!(self.segments.len(), 1, "{:?} {:?}", self.info.kinds, self.issues);
        &self.segments[0]
    }
}

fn try_read(bytes: &[u8]) -> Result<Outcome, ReadError> {
    let (mut sink, mut issues) = (Keep::default(), Issues::default());
    let info = read_from(bytes, &mut sink, &mut issues, None)?;
    assert_eq!(info.kinds.values().sum::<u64>(), info.records);
    assert_eq!(info.tcp_segments, sink.0.len() as u64);
    Ok(Outcome { info, segments: sink.0, issues })
}

/// The same of a pcap file, each packet looked at closely.
fn read_closely(bytes: &[u8]) -> Result<Outcome, ReadError> {
    let (mut sink, mut issues) = (Keep::default(), Issues::default());
    let mut reader = Records::new(Source::new(bytes, None)?)?;
    let mut decoder = Decoder::new(&mut sink);
    reader.each(&mut |record: &Record<'_>| decoder.look_closely(record))?;
    let info = concluded(&decoder.finish(), &mut reader, &mut issues);
    Ok(Outcome { info, segments: sink.0, issues })
}

fn read(bytes: &[u8]) -> Outcome {
    try_read(bytes).expect("a readable capture")
}
