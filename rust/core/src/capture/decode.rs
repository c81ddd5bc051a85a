//! One record after the other through link, IP and TCP, with everything counted.

use super::checksum::{self, Verdict};
use super::fragment::{First, Reassembly};
use super::ip::{self, TCP};
use super::kinds::{Kind, KindCounts};
use super::record::{Record, Stop};
use super::{Sink, tcp};
use crate::issue::Issues;
use crate::segment::{Checksum, Segment};

/// Occurrences of one issue; much cheaper per packet than a map.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    count: u64,
    first: u64,
}

impl Tally {
    #[inline(always)]
    fn hit(&mut self, record: u64) {
        if self.count == 0 {
            self.first = record;
        }
        self.count += 1;
    }

    fn report(self, code: &'static str, issues: &mut Issues, detail: impl FnOnce() -> String) {
        if self.count > 0 {
            issues.add_many(code, self.count, self.first, detail);
        }
    }
}

/// Counts over all records of a capture.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) kinds: KindCounts,
    pub(crate) records: u64,
    pub(crate) tcp_segments: u64,
    pub(crate) offloaded_checksums: u64,
    pub(crate) bytes: u64,
    pub(crate) captured_bytes: u64,
    /// Earliest and latest time stamp.
    pub(crate) span: Option<(i64, i64)>,
    previous_ns: i64,
    fraction_overflow: Tally,
    backwards: Tally,
    snaplen_cut: Tally,
    options_cut: Tally,
    malformed: Tally,
    malformed_why: &'static str,
    bad_checksum: Tally,
    unsupported: Tally,
}

impl Totals {
    /// Put the tallies among the issues.
    pub(crate) fn report(&self, link_type: &str, issues: &mut Issues) {
        self.fraction_overflow
            .report("bad-timestamp", issues, || "sub-second field of a second or more".into());
        self.backwards.report("time-backwards", issues, || "older than the record before".into());
        self.snaplen_cut.report("snaplen-cut", issues, || "fewer bytes were captured than were sent".into());
        self.options_cut.report("options-cut", issues, || "the TCP header was not captured whole".into());
        self.malformed.report("malformed-packet", issues, || self.malformed_why.into());
        self.bad_checksum.report("bad-tcp-checksum", issues, || "wrong over all bytes of the segment".into());
        self.unsupported.report("unsupported-link-type", issues, || format!("link type {link_type}"));
    }

    #[inline(always)]
    fn observe(&mut self, record: &Record<'_>) {
        self.records += 1;
        self.bytes += u64::from(record.original_length);
        self.captured_bytes += record.data.len() as u64;
        if record.fraction_overflow {
            self.fraction_overflow.hit(record.number);
        }
        let t = record.t_ns;
        self.span = match self.span {
            None => Some((t, t)),
            Some((first, last)) => {
                if t < self.previous_ns {
                    self.backwards.hit(record.number);
                }
                Some((first.min(t), last.max(t)))
            }
        };
        self.previous_ns = t;
    }
}

/// Decodes records and hands the TCP segments to a sink.
pub(crate) struct Decoder<'s, S: Sink + ?Sized> {
    sink: &'s mut S,
    totals: Totals,
    fragments: Reassembly,
}

impl<'s, S: Sink + ?Sized> Decoder<'s, S> {
    pub(crate) fn new(sink: &'s mut S) -> Self {
        Decoder { sink, totals: Totals::default(), fragments: Reassembly::default() }
    }

    pub(crate) fn finish(self) -> Totals {
        self.totals
    }

    /// Decode one record.
    #[inline]
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        self.totals.observe(record);
        let mut cut = record.data.len() < record.wire_length as usize;
        let kind = match self.packet(record, &mut cut) {
            Ok(kind) | Err(Stop::Kind(kind)) => kind,
            Err(Stop::Malformed(why)) => self.malformed(record.number, why),
        };
        match kind {
            Kind::TcpHeaderCut => self.totals.options_cut.hit(record.number),
            Kind::UnsupportedLinkType => self.totals.unsupported.hit(record.number),
            _ => {}
        }
        if cut {
            self.totals.snaplen_cut.hit(record.number);
        }
        self.totals.kinds.add(kind);
    }

    #[inline]
    fn packet(&mut self, record: &Record<'_>, cut: &mut bool) -> Result<Kind, Stop> {
        let at = record.link.network(record.data, record.wire_length)?;
        let wire = record.wire_length - at as u32;
        let packet = ip::parse(&record.data[at..], wire)?;
        // Some tools write the captured length into both fields: the IP header knows better.
        *cut |= packet.length > wire;
        if packet.fragment.is_some() {
            return Ok(self.fragment(record, &packet));
        }
        if packet.protocol != TCP {
            return Err(Stop::Kind(Kind::of_protocol(packet.protocol)));
        }
        let (mut segment, _) = decode(record, &packet)?;
        if packet.payload.len() == packet.payload_length as usize && !packet.rerouted {
            let verdict = checksum::verify(packet.source, packet.destination, packet.payload);
            segment.checksum = verdict.to_checksum();
            match verdict {
                Verdict::Good => {}
                Verdict::Bad => self.totals.bad_checksum.hit(record.number),
                Verdict::Offloaded => self.totals.offloaded_checksums += 1,
            }
        }
        if !segment.options.complete {
            self.totals.options_cut.hit(record.number);
        }
        self.totals.tcp_segments += 1;
        self.sink.segment(&segment);
        Ok(Kind::Tcp)
    }

    #[cold]
    fn malformed(&mut self, record: u64, why: &'static str) -> Kind {
        if self.totals.malformed.count == 0 {
            self.totals.malformed_why = why;
        }
        self.totals.malformed.hit(record);
        Kind::Malformed
    }

    #[cold]
    fn fragment(&mut self, record: &Record<'_>, packet: &ip::Packet<'_>) -> Kind {
        let Some(fragment) = packet.fragment else { return Kind::Malformed };
        if packet.protocol == TCP {
            let first = (fragment.offset == 0)
                .then(|| decode(record, packet).ok())
                .flatten()
                .map(|(segment, tcp_header)| First { segment, tcp_header, payload: packet.payload_length });
            let addresses = (packet.source, packet.destination);
            let whole = self.fragments.add(record.t_ns, addresses, fragment, packet.payload_length, first);
            if let Some(segment) = whole {
                self.totals.tcp_segments += 1;
                self.sink.segment(&segment);
            }
        }
        fragment.kind
    }
}

/// The TCP header behind an IP header, as a segment not yet verified, and the length of the header.
#[inline(always)]
fn decode(record: &Record<'_>, packet: &ip::Packet<'_>) -> Result<(Segment, u32), Stop> {
    let header = tcp::parse(packet.payload, packet.payload_length)?;
    let segment = Segment {
        t_ns: record.t_ns,
        record: record.number,
        source: (packet.source, header.source_port),
        destination: (packet.destination, header.destination_port),
        seq: header.seq,
        ack: header.ack,
        flags: header.flags,
        window: header.window,
        length: packet.payload_length - header.length,
        ip_length: packet.length,
        ip_id: packet.id,
        ttl: packet.ttl,
        ecn: packet.ecn,
        checksum: Checksum::Unverified,
        options: header.options,
    };
    Ok((segment, header.length))
}
