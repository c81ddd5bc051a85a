//! One record after the other through link, IP and TCP, with everything counted.

use super::checksum::{self, Verdict};
use super::copies::{Copies, Key};
use super::fragment::{First, Reassembly};
use super::ip::{self, TCP};
use super::kinds::{Kind, KindCounts};
use super::link::LinkType;
use super::record::{Record, Stop, Take};
use super::tunnel::{Path, TunnelCounts};
use super::unchecked::Unchecked;
use super::{Batch, Sink, icmp, inner, tcp};
use crate::issue::Issues;
use crate::segment::{Checksum, Segment};

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

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
    pub(crate) tunnels: TunnelCounts,
    pub(crate) bytes: u64,
    pub(crate) captured_bytes: u64,
    /// Earliest and latest time stamp, once there is a record.
    first_ns: i64,
    last_ns: i64,
    previous_ns: i64,
    fraction_overflow: Tally,
    backwards: Tally,
    snaplen_cut: Tally,
    options_cut: Tally,
    malformed: Tally,
    malformed_why: &'static str,
    bad_checksum: Tally,
    unsupported: Tally,
    /// LINKTYPE_ number of the first that is not decoded.
    unsupported_type: u16,
    copies: Tally,
    not_opened: Tally,
}

impl Totals {
    /// Put the tallies among the issues.
    pub(crate) fn report(&self, issues: &mut Issues) {
        self.fraction_overflow.report("bad-timestamp", issues, || {
            "a second or more in the sub-second field, or beyond the years 1823 to 2116".into()
        });
        self.backwards.report("time-backwards", issues, || "older than the record before".into());
        self.snaplen_cut.report("snaplen-cut", issues, || "fewer bytes were captured than were sent".into());
        self.options_cut.report("options-cut", issues, || "the TCP header was not captured whole".into());
        self.malformed.report("malformed-packet", issues, || self.malformed_why.into());
        self.bad_checksum.report("bad-tcp-checksum", issues, || "wrong over all bytes of the segment".into());
        self.unsupported.report("unsupported-link-type", issues, || {
            let code = self.unsupported_type;
            format!("link type {code} ({})", super::link::name(code))
        });
        self.not_opened.report("unopened-encapsulation", issues, || {
            "encrypted, a part of a packet, or of a kind that is not decoded: TRILL, MACsec, NSH, B.A.T.M.A.N.".into()
        });
        self.copies.report("duplicate-record", issues, || "the same packet as one shortly before".into());
    }

    #[inline(always)]
    fn observe(&mut self, record: &Record<'_>) {
        self.records = record.number;
        self.bytes += u64::from(record.original_length);
        self.captured_bytes += record.data.len() as u64;
        if record.fraction_overflow {
            self.fraction_overflow.hit(record.number);
        }
        let t_ns = record.t_ns;
        if record.number == 1 || t_ns < self.previous_ns {
            self.out_of_order(record);
        } else {
            self.last_ns = self.last_ns.max(t_ns);
        }
        self.previous_ns = t_ns;
    }

    /// The first record, or one that is older than the one before.
    #[cold]
    fn out_of_order(&mut self, record: &Record<'_>) {
        let t_ns = record.t_ns;
        if record.number == 1 {
            (self.first_ns, self.last_ns) = (t_ns, t_ns);
        } else {
            self.backwards.hit(record.number);
            self.first_ns = self.first_ns.min(t_ns);
        }
    }

    /// What the checksum of a segment says, of which `length` bytes were on the wire, and `data` was captured.
    #[inline(always)]
    fn checksum(&mut self, segment: &Segment, data: &[u8], length: u32) -> Checksum {
        if data.len() != length as usize {
            return Checksum::Unverified;
        }
        let verdict = checksum::verify(&segment.source.0, &segment.destination.0, data);
        match verdict {
            Verdict::Good => {}
            Verdict::Bad => self.bad_checksum.hit(segment.record),
            Verdict::Offloaded => self.offloaded_checksums += 1,
        }
        verdict.to_checksum()
    }

    /// Earliest and latest time stamp.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        (self.records > 0).then_some((self.first_ns, self.last_ns))
    }
}

/// Decodes records and hands the TCP segments to a sink.
pub(crate) struct Decoder<'s, S: Sink + ?Sized> {
    sink: &'s mut S,
    totals: Totals,
    fragments: Reassembly,
    wifi_parts: super::wifiparts::Parts,
    copies: Copies,
    /// The last segments of the batch, which may be copies.
    unchecked: Unchecked,
    /// Tunnels around the packet being decoded.
    path: Path,
    /// Where it was seen.
    place: u32,
    /// What was decoded, and behind it the segment being decoded; each layer fills in its part.
    batch: Batch,
}

impl<'s, S: Sink + ?Sized> Decoder<'s, S> {
    pub(crate) fn new(sink: &'s mut S) -> Self {
        let batch = Batch::new(sink.batch_size());
        Decoder {
            sink,
            totals: Totals::default(),
            fragments: Reassembly::default(),
            wifi_parts: super::wifiparts::Parts::default(),
            copies: Copies::default(),
            unchecked: Unchecked::default(),
            path: Path::default(),
            place: 0,
            batch,
        }
    }

    pub(crate) fn finish(mut self) -> Totals {
        self.check_copies();
        self.hand_on();
        self.totals
    }

    #[inline(never)]
    fn hand_on(&mut self) {
        self.sink.batch(&mut self.batch);
        self.batch.clear();
    }

    /// Take out the copies among the segments that were not checked yet.
    fn check_copies(&mut self) {
        let count = self.unchecked.count();
        if count == 0 {
            return;
        }
        let tally = &mut self.totals.copies;
        let segments = self.batch.last_mut(count);
        let kept = self.unchecked.check(segments, &mut self.copies, |record| tally.hit(record));
        self.batch.take_back(count - kept);
        self.totals.kinds.add_many(Kind::TcpCopy, (count - kept) as u64);
        self.totals.kinds.add_many(Kind::Tcp, kept as u64);
        self.totals.tcp_segments += kept as u64;
    }

    /// The segment that was decoded last, which `point` saw, is one for the sink unless it is a copy.
    #[inline(always)]
    fn keep_unchecked(&mut self, point: u32) {
        self.batch.keep();
        if self.unchecked.add(point) || self.batch.is_filled() {
            self.check_copies();
            if self.batch.is_filled() {
                self.hand_on();
            }
        }
    }

    /// The segment that was decoded last is one for the sink.
    #[inline(always)]
    fn keep(&mut self) {
        self.totals.tcp_segments += 1;
        self.batch.keep();
        if self.batch.is_filled() {
            self.hand_on();
        }
    }

    /// Decode one record.
    #[inline(always)]
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        self.totals.observe(record);
        if !self.sink.wants(record.number) {
            return;
        }
        if !self.usual(record) {
            self.check_copies();
            self.any(*record);
        }
    }

    /// Take a record that holds a TCP segment in plain IP in a plain frame, as most do; false, and nothing counted, if
    /// there is more to it.
    #[inline(always)]
    fn usual(&mut self, record: &Record<'_>) -> bool {
        let plain = record.link.plain(record.data, record.wire_length);
        let Some((data, wire, place)) = plain else { return false };
        let segment = self.batch.place();
        let Some((data, length)) = ip::plain_tcp(data, wire, segment) else { return false };
        (segment.t_ns, segment.record) = (record.t_ns, record.number);
        if tcp::parse(data, length, segment).is_err() {
            return false;
        }
        segment.checksum = self.totals.checksum(segment, data, length);
        if record.data.len() < record.wire_length as usize || segment.ip_length > wire {
            self.totals.snaplen_cut.hit(record.number);
        }
        if !segment.options.complete {
            self.totals.options_cut.hit(record.number);
        }
        self.keep_unchecked(record.interface << 8 ^ place);
        true
    }

    /// Without the short way: for tests, which hold one against the other.
    #[cfg(test)]
    pub(crate) fn look_closely(&mut self, record: &Record<'_>) {
        self.totals.observe(record);
        self.any(*record);
    }

    /// Take any record. By value, lest every usual one be built in memory for this one's sake.
    #[inline(never)]
    fn any(&mut self, record: Record<'_>) {
        let record = &record;
        let mut cut = record.data.len() < record.wire_length as usize;
        let kind = match self.packet(record, &mut cut) {
            Ok(kind) | Err(Stop::Kind(kind)) => kind,
            Err(Stop::Malformed(why)) => self.malformed(record.number, why),
        };
        let kind = match kind {
            Kind::WifiFragment | Kind::WifiAggregate => self.wifi(record, kind, &mut cut),
            other => other,
        };
        match kind {
            Kind::TcpHeaderCut => self.totals.options_cut.hit(record.number),
            Kind::UnsupportedLinkType => {
                if self.totals.unsupported.count == 0 {
                    self.totals.unsupported_type = record.link_type;
                }
                self.totals.unsupported.hit(record.number);
            }
            Kind::NotOpened => self.totals.not_opened.hit(record.number),
            _ => {}
        }
        if cut {
            self.totals.snaplen_cut.hit(record.number);
        }
        if self.path.id() != 0 {
            self.totals.tunnels.add(self.path);
        }
        self.totals.kinds.add(kind);
    }

    fn packet(&mut self, record: &Record<'_>, cut: &mut bool) -> Result<Kind, Stop> {
        self.path = Path::default();
        self.place = record.interface << 8 ^ record.link.place(record.data);
        let at = record.link.network(record.data, record.wire_length, &mut self.path)?;
        let (data, wire) = (&record.data[at..], record.wire_length - at as u32);
        let segment = self.batch.place();
        segment.t_ns = record.t_ns;
        segment.record = record.number;
        segment.checksum = Checksum::Unverified;
        if let Some((data, length)) = ip::plain_tcp(data, wire, segment) {
            *cut |= segment.ip_length > wire;
            return self.tcp(data, length, false);
        }
        let packet = ip::parse(data, wire, segment)?;
        // Some tools write the captured length into both fields: the IP header knows better.
        *cut |= segment.ip_length > wire;
        let mut packet = packet.transport()?;
        // Every turn is a tunnel deeper, and `Path` bounds how deep.
        loop {
            match (packet.fragment, packet.protocol) {
                (Some(fragment), _) => return Ok(self.fragment(&packet, fragment)),
                (None, TCP) => return self.tcp(packet.payload, packet.payload_length, packet.rerouted),
                (None, ICMP | ICMPV6) => return Ok(self.icmp(&packet)),
                (None, protocol) => {
                    let (data, wire) = (packet.payload, packet.payload_length);
                    let at = inner::packet(packet.v6, protocol, data, wire, &mut self.path)?;
                    let data = data.get(at..).unwrap_or_default();
                    let wire = wire.saturating_sub(at as u32);
                    packet = ip::parse(data, wire, self.batch.place())?.transport()?;
                }
            }
        }
    }

    /// An 802.11 frame with several packets, or with the last part of one.
    #[cold]
    fn wifi(&mut self, record: &Record<'_>, kind: Kind, cut: &mut bool) -> Kind {
        let mut found = kind;
        let mut each = |decoder: &mut Self, data: &[u8], wire_length: usize| {
            let inner = Record { link: LinkType::Llc, data, wire_length: wire_length as u32, ..*record };
            let kind = match decoder.packet(&inner, cut) {
                Ok(kind) | Err(Stop::Kind(kind)) => kind,
                Err(Stop::Malformed(why)) => decoder.malformed(record.number, why),
            };
            // A record is counted once: as TCP, if there is any in it.
            if found != Kind::Tcp {
                found = kind;
            }
        };
        match self.wifi_parts.take(record) {
            super::wifiparts::Inside::Nothing => {}
            super::wifiparts::Inside::Whole(packet) => each(self, &packet.data, packet.wire),
            super::wifiparts::Inside::Several { body, wire } => {
                for (begin, length) in crate::wifi::subframes(body, wire) {
                    let data = body.get(begin..).unwrap_or_default();
                    each(self, &data[..data.len().min(length)], length);
                }
            }
        }
        found
    }

    #[cold]
    fn icmp(&mut self, packet: &ip::Packet<'_>) -> Kind {
        let v6 = packet.protocol == ICMPV6;
        if let Some(error) = icmp::error(v6, packet.payload, self.batch.place()) {
            self.batch.push_error(error);
            if self.batch.is_full() {
                self.hand_on();
            }
        }
        if v6 { Kind::Icmpv6 } else { Kind::Icmp }
    }

    fn tcp(&mut self, data: &[u8], length: u32, rerouted: bool) -> Result<Kind, Stop> {
        let segment = self.batch.place();
        tcp::parse(data, length, segment)?;
        if !rerouted {
            segment.checksum = self.totals.checksum(segment, data, length);
        }
        if !segment.options.complete {
            self.totals.options_cut.hit(segment.record);
        }
        let key = Key::of(segment, self.place ^ self.path.id() << 13 ^ self.path.id() >> 19);
        if self.copies.is_copy(segment, &key) {
            self.totals.copies.hit(segment.record);
            return Ok(Kind::TcpCopy);
        }
        self.keep();
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
    fn fragment(&mut self, packet: &ip::Packet<'_>, fragment: ip::Fragment) -> Kind {
        if packet.protocol == TCP {
            let (payload, length) = (packet.payload, packet.payload_length);
            let segment = self.batch.place();
            let header = if fragment.offset == 0 { tcp::parse(payload, length, segment).ok() } else { None };
            let first = header.map(|tcp_header| First { segment: *segment, tcp_header, payload: length });
            let addresses = (segment.source.0, segment.destination.0);
            if let Some(segment) = self.fragments.add(segment.t_ns, addresses, fragment, length, first) {
                if self.copies.is_copy(&segment, &Key::of(&segment, self.place)) {
                    self.totals.copies.hit(segment.record);
                } else {
                    *self.batch.place() = segment;
                    self.keep();
                }
            }
        }
        fragment.kind
    }
}

impl<S: Sink + ?Sized> Take for Decoder<'_, S> {
    #[inline(always)]
    fn take(&mut self, record: &Record<'_>) {
        self.record(record);
    }
}
