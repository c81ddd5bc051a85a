//! Frames in the order of the capture: whose link they belong to, and which acknowledgement answers which.
//!
//! Reference: IEEE 802.11-2020 sections 9.3.1 (control frames), 10.3.2.11 (acknowledgement procedure), 11.3
//! (association), 11.2.3 (power management).

use std::collections::{BTreeMap, HashMap};

use super::air::{Air, Who};
use super::airtime::{SIFS_NS, Transmission, airtime_ns, mcs, rate_bps};
use super::header::{self, Header, Mac, Short, control};
use super::link::{Data, Link, NO_RADIO};
use super::payload::payload;
use super::radio::{self, NoFrame, Radio};
use super::rows::RadioRow;
use crate::capture::records::RawRecord;
use crate::issue::Issues;

/// Jitter of time stamps that a host took, and of those by the card's clock: of the begin of a frame or of
/// its end, and an ACK at 1 Mb/s takes 304 us.
const HOST_NS: i64 = 1_000_000;
const CARD_NS: i64 = 350_000;
/// The longest frame, where the rate is not known: 2346 bytes at 1 Mb/s.
const LONGEST_NS: i64 = 20_000_000;
/// Any access point: the key of a station's link.
pub(super) const ANY: Mac = [0xff; 6];
const FCS: usize = 4;
const EAPOL: u16 = 0x888e;
/// Stations that are told apart; frames of more are counted only.
pub(super) const MOST_LINKS: usize = 1 << 16;

/// Frames of a capture, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub records: u64,
    /// Readable headers by `type << 4 | subtype`, damaged frames included.
    pub kinds: BTreeMap<u8, u64>,
    pub retries: u64,
    pub protected: u64,
    pub bad_fcs: u64,
    pub cut: u64,
    /// Acknowledgements that answer the frame before them, and those whose frame is not in the capture.
    pub acks_paired: u64,
    pub acks_alone: u64,
    /// Frames that block ACKs told of.
    pub block_acknowledged: u64,
    /// Block ACKs of a reserved kind, too short, or to a station whose association is not in the capture.
    pub block_acks_unread: u64,
    /// Requests for block ACKs, and their answers, whatever their kind.
    pub block_ack_requests: u64,
    pub block_acks: u64,
    /// Sent for their preamble alone, and those of which only that could be received.
    pub soundings: u64,
    pub not_captured: u64,
    pub ps_polls: u64,
    pub beacons: u64,
    pub aggregates: u64,
    pub aggregated_frames: u64,
    pub group_addressed: u64,
    pub eapol: u64,
    pub without_rate: u64,
    pub without_radio: u64,
    pub unknown_fields: u64,
    pub sent_status: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
}

/// The last frame that wants an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    ta: Mac,
    /// Of a data frame: link and place in its list.
    unit: Option<(usize, usize)>,
    t_ns: i64,
    tsft_us: Option<u64>,
    airtime_ns: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct Monitor {
    pub links: Vec<Link>,
    pub counts: Counts,
    pub issues: Issues,
    /// Records of data that was seen before.
    pub repeats: Vec<u64>,
    pub(super) by_address: HashMap<(Mac, Mac), usize>,
    /// Last number of the counter that a sender's frames without a traffic identifier share.
    shared: HashMap<Mac, u16>,
    pub(super) tags: HashMap<Mac, usize>,
    pub(super) pending: Option<Pending>,
    /// An acknowledgement that the capture has before its frame: for whom, and what tells its time.
    early: Option<(Mac, (i64, u64), u64)>,
    transmission: Transmission,
    pub air: Air,
    /// Stations by the identifiers that their access points gave them.
    pub(super) associated: HashMap<(Mac, u16), Mac>,
    last_ns: i64,
}

impl Monitor {
    pub(super) fn record(&mut self, record: &RawRecord<'_>) {
        let (t_ns, number) = (record.t_ns, record.record);
        self.counts.records += 1;
        if self.counts.first_ns.is_some() && t_ns < self.last_ns {
            self.issues.add("time-backwards", number, || "older than the record before".into());
        }
        self.last_ns = t_ns;
        self.counts.first_ns = Some(self.counts.first_ns.map_or(t_ns, |first| first.min(t_ns)));
        self.counts.last_ns = Some(self.counts.last_ns.map_or(t_ns, |last| last.max(t_ns)));
        if !radio::LINK_TYPES.contains(&record.link_type) {
            let code = record.link_type;
            self.issues.add("unsupported-link-type", number, || format!("link type {code} beside 802.11"));
            return;
        }
        let (radio, at) = match radio::decode(record.link_type, record.data) {
            Ok(found) => found,
            Err(bad) => return self.issues.add("malformed-packet", number, || bad.0.into()),
        };
        self.counts.unknown_fields += u64::from(radio.unknown_field);
        let tail = if radio.fcs { FCS } else { 0 };
        let wire = (record.wire_length as usize).saturating_sub(at + tail);
        let data = record.data.get(at..).unwrap_or_default();
        let data = &data[..data.len().min(wire)];
        if let Some(why) = radio.no_frame {
            return self.without_frame((t_ns, number), &radio, why);
        }
        let (airtime_ns, begins) = self.transmission.frame(&radio, wire + FCS);
        let header = match header::decode(data, wire) {
            Ok(header) => header,
            Err(Short::Frame) if radio.bad_fcs => return self.damaged((t_ns, number), airtime_ns),
            Err(Short::Frame) => {
                return self
                    .issues
                    .add("malformed-packet", number, || "frame shorter than its header".into());
            }
            Err(Short::Capture) => {
                self.counts.cut += 1;
                return self.issues.add("snaplen-cut", number, || "an 802.11 header was cut".into());
            }
        };
        *self.counts.kinds.entry(header.kind).or_default() += 1;
        self.counts.retries += u64::from(header.has(control::RETRY));
        self.counts.protected += u64::from(header.has(control::PROTECTED));
        if radio.bad_fcs {
            return self.damaged((t_ns, number), airtime_ns);
        }
        let length = header.length + if radio.padded { header.length.wrapping_neg() % 4 } else { 0 };
        let body = data.get(length..).unwrap_or_default();
        let wire = wire.saturating_sub(length);
        let frame = Frame { at: (t_ns, number), header, radio, body, wire, airtime_ns, begins };
        let who = match header.kind >> 4 {
            0 => self.management(&frame),
            1 => self.control(&frame),
            2 => self.data(&frame),
            _ => {
                self.pending = None;
                Who::Others
            }
        };
        self.air.add((t_ns, number), who, airtime_ns);
    }

    fn without_frame(&mut self, at: (i64, u64), radio: &Radio, why: NoFrame) {
        self.pending = None;
        match why {
            NoFrame::Sounding => self.counts.soundings += 1,
            NoFrame::NotCaptured => self.counts.not_captured += 1,
        }
        self.air.add(at, Who::Others, radio.signalled_ns);
    }

    fn damaged(&mut self, at: (i64, u64), airtime_ns: Option<i64>) {
        self.counts.bad_fcs += 1;
        self.air.add(at, Who::Damaged, airtime_ns);
        self.issues.add("bad-frame", at.1, || "wrong frame check sequence".into());
    }

    /// Follow the counter that all frames of a sender without a traffic identifier share; frames not seen.
    pub(super) fn counted(&mut self, ta: Mac, header: &Header) -> u16 {
        let Some(sequence) = header.sequence else { return 0 };
        let last = self.shared.insert(ta, sequence);
        let ahead = last.map_or(0, |last| sequence.wrapping_sub(last) & 0xfff);
        if (2..=1024).contains(&ahead) { ahead - 1 } else { 0 }
    }

    fn control(&mut self, frame: &Frame<'_>) -> Who {
        let header = &frame.header;
        match header.kind & 0xf {
            13 => return self.ack(frame),
            8 => self.counts.block_ack_requests += 1,
            9 => self.block_ack(frame),
            10 => self.polled(frame),
            _ => self.pending = None,
        }
        let Some(ta) = header.ta else {
            // CTS: to whom it lets send.
            return self
                .by_address
                .get(&(header.ra, ANY))
                .map_or(Who::Others, |&link| Who::Link(link as u32));
        };
        if matches!(header.kind & 0xf, 8 | 10) {
            self.awaits(frame, ta, None);
        }
        self.owner(header.ra, ta)
    }

    /// Whose a frame between two stations is.
    pub(super) fn owner(&self, ra: Mac, ta: Mac) -> Who {
        self.between(ta, ra).map_or(Who::Others, |(link, _)| Who::Link(link as u32))
    }

    pub(super) fn awaits(&mut self, frame: &Frame<'_>, ta: Mac, unit: Option<(usize, usize)>) {
        if let Some((ra, at, tsft_us)) = self.early.take() {
            // A card may hand over what it sends itself when it has the answer: its own clock puts that right.
            let airtime_ns = frame.alone_ns().unwrap_or(LONGEST_NS);
            let apart = frame.radio.tsft_us.and_then(|sent| tsft_us.checked_sub(sent));
            let longest = (airtime_ns + SIFS_NS + CARD_NS) as u64 / 1000;
            if ra == ta && frame.header.unicast() && apart.is_some_and(|us| (1..=longest).contains(&us)) {
                self.counts.acks_alone -= 1;
                self.counts.acks_paired += 1;
                self.pending = None;
                if let Some((link, unit)) = unit {
                    self.links[link].acknowledge(unit, at, false);
                }
                return;
            }
        }
        self.pending = (frame.header.unicast() && !frame.header.no_ack).then(|| Pending {
            ta,
            unit,
            t_ns: frame.at.0,
            tsft_us: frame.radio.tsft_us,
            airtime_ns: frame.alone_ns(),
        });
    }

    fn ack(&mut self, frame: &Frame<'_>) -> Who {
        match self.pending.take() {
            Some(pending) if pending.ta == frame.header.ra && answers(&pending, frame) => {
                self.counts.acks_paired += 1;
                if let Some((link, unit)) = pending.unit {
                    self.links[link].acknowledge(unit, frame.at, false);
                    return Who::Link(link as u32);
                }
                self.by_address
                    .get(&(frame.header.ra, ANY))
                    .map_or(Who::Everybody, |&link| Who::Link(link as u32))
            }
            _ => {
                self.counts.acks_alone += 1;
                self.early = frame.radio.tsft_us.map(|us| (frame.header.ra, frame.at, us));
                self.by_address
                    .get(&(frame.header.ra, ANY))
                    .map_or(Who::Others, |&link| Who::Link(link as u32))
            }
        }
    }

    /// The link between a sender and a receiver, and the sender's side.
    pub(super) fn between(&self, sender: Mac, receiver: Mac) -> Option<(usize, u8)> {
        let with = |station: Mac, peer: Mac| {
            self.by_address.get(&(station, ANY)).filter(|&&link| self.links[link].sides[1] == peer)
        };
        if let Some(&link) = with(sender, receiver) {
            return Some((link, 0));
        }
        if let Some(&link) = with(receiver, sender) {
            return Some((link, 1));
        }
        let pair = (sender.min(receiver), sender.max(receiver));
        self.by_address.get(&pair).map(|&link| (link, u8::from(sender > receiver)))
    }

    fn data(&mut self, frame: &Frame<'_>) -> Who {
        let header = &frame.header;
        let (Some(ta), Some(sequence)) = (header.ta, header.sequence) else { return Who::Others };
        let null = !header.carries_data();
        // A null frame with a traffic identifier has any number.
        let shared_gap = if header.tid.is_none() || !header.unicast() { self.counted(ta, header) } else { 0 };
        if !header.unicast() {
            self.counts.group_addressed += 1;
            self.pending = None;
            return Who::Everybody;
        }
        let infrastructure = header.has(control::TO_DS) != header.has(control::FROM_DS);
        let (key, side, peer) = if infrastructure {
            let up = header.has(control::TO_DS);
            let (station, peer) = if up { (ta, header.ra) } else { (header.ra, ta) };
            ((station, ANY), u8::from(!up), peer)
        } else {
            let pair = (ta.min(header.ra), ta.max(header.ra));
            (pair, u8::from(ta > header.ra), pair.1)
        };
        if null && !self.by_address.contains_key(&key) {
            self.awaits(frame, ta, None);
            return Who::Others;
        }
        let Some(index) = self.link(key, infrastructure, peer) else { return Who::Others };
        let link = &mut self.links[index];
        if infrastructure && link.sides[1] != peer {
            link.moved(frame.at, peer);
        }
        if infrastructure && side == 0 {
            link.power(frame.at, header.has(control::POWER));
        }
        if null {
            self.awaits(frame, ta, None);
        } else {
            self.unit(frame, ta, sequence, index, side, shared_gap);
        }
        Who::Link(index as u32)
    }

    fn unit(&mut self, frame: &Frame<'_>, ta: Mac, sequence: u16, index: usize, side: u8, shared_gap: u16) {
        let header = &frame.header;
        let tag = header.bssid.and_then(|bssid| self.tags.get(&bssid)).copied().unwrap_or(8);
        let found = payload(header, frame.body, frame.wire, tag);
        let key = found.ethertype == Some(EAPOL);
        self.counts.eapol += u64::from(key);
        if key {
            self.links[index].keyed(frame.at.0);
        }
        let data = Data {
            at: frame.at,
            side,
            sequence,
            fragment: header.fragment,
            tid: header.tid,
            retry: header.has(control::RETRY),
            no_ack: header.no_ack,
            length: found.length,
            sent_status: frame.radio.sent_status,
            radio: self.radio_row(frame),
            shared_gap,
            key,
            begins: frame.begins,
        };
        self.counts.sent_status += u64::from(data.sent_status.is_some());
        let (unit, again) = self.links[index].data(&data);
        if again {
            self.repeats.push(frame.at.1);
        }
        self.awaits(frame, ta, Some((index, unit)));
    }

    fn radio_row(&mut self, frame: &Frame<'_>) -> RadioRow {
        let radio = &frame.radio;
        self.counts.aggregated_frames += u64::from(radio.aggregate.is_some());
        self.counts.aggregates += u64::from(radio.aggregate.is_some() && frame.begins);
        let rate = rate_bps(radio.modulation);
        self.counts.without_rate += u64::from(rate.is_none());
        self.counts.without_radio += u64::from(*radio == Radio::default());
        RadioRow {
            airtime_ns: frame.airtime_ns.unwrap_or(-1),
            rate_bps: rate.map_or(-1, |rate| rate as i64),
            mcs: mcs(radio.modulation).map_or(-1, i16::from),
            signal_dbm: radio.signal_dbm.map_or(0, i16::from),
            channel_mhz: radio.channel_mhz.map_or(-1, i32::from),
            ..NO_RADIO
        }
    }

    fn link(&mut self, key: (Mac, Mac), infrastructure: bool, peer: Mac) -> Option<usize> {
        if let Some(&known) = self.by_address.get(&key) {
            return Some(known);
        }
        if self.links.len() >= MOST_LINKS {
            return None;
        }
        self.by_address.insert(key, self.links.len());
        self.links.push(Link::between([key.0, peer], infrastructure));
        Some(self.links.len() - 1)
    }
}

/// A frame that arrived whole.
pub(super) struct Frame<'a> {
    pub at: (i64, u64),
    pub header: Header,
    pub radio: Radio,
    pub body: &'a [u8],
    /// Bytes of the body when it was sent.
    pub wire: usize,
    /// What it adds to the time that its transmission takes.
    pub airtime_ns: Option<i64>,
    /// A transmission begins with it: alone, or as the first of an A-MPDU.
    pub begins: bool,
}

impl Frame<'_> {
    /// How long it takes with a preamble of its own.
    fn alone_ns(&self) -> Option<i64> {
        if self.begins {
            return self.airtime_ns;
        }
        airtime_ns(&self.radio, (self.header.length + self.wire + FCS) as u64)
    }
}

/// Whether an ACK comes when the answer to a frame must: a SIFS after its end. Time stamps may be of the
/// begin or of the end of a frame.
fn answers(pending: &Pending, frame: &Frame<'_>) -> bool {
    let longest = pending.airtime_ns.unwrap_or(LONGEST_NS) + SIFS_NS;
    match (pending.tsft_us, frame.radio.tsft_us) {
        (Some(sent), Some(answered)) => answered
            .checked_sub(sent)
            .and_then(|us| i64::try_from(us).ok())
            .is_some_and(|us| us.saturating_mul(1000) <= longest + CARD_NS),
        _ => {
            let apart = frame.at.0.saturating_sub(pending.t_ns);
            (-HOST_NS..=longest + HOST_NS).contains(&apart)
        }
    }
}
