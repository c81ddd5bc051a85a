//! One link: a station and its access point (whichever it is), or two stations.
//!
//! Side 0 is the station, side 1 the access point; of two stations, the lower address is side 0.

use std::collections::HashMap;

mod outcome;

use super::header::Mac;
use super::rows::{RADIO_ROW, RadioRow};
use super::sequence_counter::{Place, SequenceCounter, Unseen};

/// A frame that one side sent, however often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    side: u8,
    sequence: u16,
    /// Which counter numbers it.
    counter: u8,
    /// How many resets came before.
    epoch: u32,
    offset: i64,
    length: i32,
    attempt: i16,
    acknowledged: bool,
    /// The sender itself says that it gave up.
    failed: bool,
    no_ack: bool,
    last: (i64, u64),
}

/// A transmission that was seen.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: (i64, u64),
    unit: usize,
    attempt: i16,
    radio: RadioRow,
}

/// An acknowledgement that was seen.
#[derive(Debug, Clone, Copy)]
struct Reception {
    at: (i64, u64),
    unit: usize,
    again: bool,
}

/// What a data frame is, beyond its addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub at: (i64, u64),
    pub side: u8,
    pub sequence: u16,
    pub fragment: u8,
    pub tid: Option<u8>,
    pub retry: bool,
    pub no_ack: bool,
    pub length: usize,
    pub sent_status: Option<(bool, u8)>,
    pub radio: RadioRow,
    /// Frames of this sender that were not seen before it, by the counter that all its frames share.
    pub shared_gap: u16,
    /// It carries keys, not data: the link does not flow again by it.
    pub key: bool,
    /// It begins a transmission.
    pub begins: bool,
}

/// What a station does on its way back to an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It authenticates or asks to be associated; `fast`: by fast transition.
    Asked { fast: bool },
    /// It may send.
    Associated,
}

/// How a station came to its access point: when each step was first seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Return {
    pub asked_ns: Option<i64>,
    pub associated_ns: Option<i64>,
    /// First and last message of the handshake that makes keys.
    pub keyed_ns: Option<(i64, i64)>,
    pub fast_transition: bool,
    /// The next data.
    pub data_ns: Option<i64>,
}

/// Why a link stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reset {
    pub at: (i64, u64),
    pub side: u8,
    pub cause: &'static str,
}

/// Frames of a link, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LinkCounts {
    /// Transmissions seen, and of them with the retry bit, by side.
    pub sent: [u64; 2],
    pub retries: [u64; 2],
    /// Different frames, and their bytes.
    pub frames: [u64; 2],
    pub bytes: [u64; 2],
    /// Frames whose acknowledgement was seen.
    pub acknowledged: [u64; 2],
    /// Frames that their sender left behind before its retry limit, without an ACK in the capture.
    pub acks_not_seen: [u64; 2],
    /// Frames that were given up: sent as often as the limit allows, and no ACK.
    pub lost: [u64; 2],
    /// Frames left behind one attempt before that limit: given up, or acknowledged, and either not seen.
    pub undecided: [u64; 2],
    /// First seen with the retry bit.
    pub attempts_not_seen: [u64; 2],
    /// Numbers that no frame was seen of, and of them acknowledged by a block ACK.
    pub not_seen: [u64; 2],
    pub not_seen_acknowledged: [u64; 2],
    pub resets: u64,
    pub power_changes: u64,
    /// How often a dozing station asked for what was held back for it.
    pub asked_for: u64,
    /// Times in which the access point announced that it held back something, and their sum.
    pub held_back: u64,
    pub held_back_ns: i64,
}

#[derive(Debug, Default)]
pub(super) struct Link {
    pub sides: [Mac; 2],
    pub infrastructure: bool,
    pub counts: LinkCounts,
    counters: HashMap<(u8, u8), SequenceCounter>,
    units: Vec<Unit>,
    sent: Vec<Sent>,
    receptions: Vec<Reception>,
    resets: Vec<Reset>,
    pending: Option<Reset>,
    power: Vec<((i64, u64), bool)>,
    dozing: bool,
    /// Since when the access point announces that it holds something back.
    held_since: Option<i64>,
    /// Frames of the transmission that a side sent last.
    latest: [Vec<usize>; 2],
    /// How the station came to its access point, each time; the last may be under way.
    pub arrivals: Vec<Return>,
    arriving: Option<Return>,
    shared_unseen: Vec<(u8, Unseen)>,
    next: [i64; 2],
    epoch: u32,
    /// Power bit of the station's last frame; access points that data went through.
    pub roams: u64,
}

/// Frames of an A-MPDU at most.
const AGGREGATE: usize = 1024;
/// Arrivals that are told.
const ARRIVALS: usize = 1000;
/// Counter of frames without a traffic identifier.
const SHARED: u8 = 16;

impl Link {
    pub(super) fn between(sides: [Mac; 2], infrastructure: bool) -> Self {
        Link { sides, infrastructure, ..Link::default() }
    }

    /// A data frame; its place in the list, and whether it had been seen before.
    pub(super) fn data(&mut self, data: &Data) -> (usize, bool) {
        if !data.key {
            self.flows_again();
            self.arrived(data.at.0);
        }
        let side = usize::from(data.side);
        let counter = data.tid.unwrap_or(SHARED);
        let space = self.counters.entry((data.side, counter)).or_default();
        let place = space.place(data.at, data.sequence, data.fragment, data.retry, data.tid.is_some());
        self.counts.sent[side] += 1;
        self.counts.retries[side] += u64::from(data.retry);
        let (index, again) = match place {
            Place::Again(index) => {
                self.units[index].attempt = self.units[index].attempt.saturating_add(1);
                (index, true)
            }
            Place::New(number) => {
                let index = self.units.len();
                space.remember(number, data.fragment, index, data.at.0);
                self.add(data, counter);
                (index, false)
            }
        };
        let unit = &mut self.units[index];
        (unit.last, unit.epoch) = (data.at, self.epoch);
        if let Some((failed, retries)) = data.sent_status {
            unit.attempt = unit.attempt.max(i16::from(retries));
            unit.failed = failed;
        }
        let attempt = unit.attempt;
        if data.begins {
            self.latest[side].clear();
        }
        if self.latest[side].len() < AGGREGATE {
            self.latest[side].push(index);
        }
        self.sent.push(Sent { at: data.at, unit: index, attempt, radio: RadioRow { attempt, ..data.radio } });
        if data.sent_status.is_some_and(|(failed, _)| !failed) && !data.no_ack {
            self.acknowledge(index, data.at, false);
        }
        (index, again)
    }

    fn add(&mut self, data: &Data, counter: u8) {
        let side = usize::from(data.side);
        self.units.push(Unit {
            side: data.side,
            sequence: data.sequence,
            counter,
            epoch: self.epoch,
            offset: self.next[side],
            length: data.length as i32,
            // The first attempt was not seen.
            attempt: i16::from(data.retry),
            acknowledged: false,
            failed: false,
            no_ack: data.no_ack,
            last: data.at,
        });
        self.next[side] += data.length as i64;
        self.counts.frames[side] += 1;
        self.counts.bytes[side] += data.length as u64;
        self.counts.attempts_not_seen[side] += u64::from(data.retry);
        if data.shared_gap > 0 {
            let (t_ns, record) = data.at;
            let sequence = data.sequence.wrapping_sub(data.shared_gap) & 0xfff;
            let count = u32::from(data.shared_gap);
            let unseen = Unseen { t_ns, record, sequence, acknowledged: false, count };
            self.shared_unseen.push((data.side, unseen));
        }
    }

    /// An acknowledgement of a frame was seen.
    pub(super) fn acknowledge(&mut self, index: usize, at: (i64, u64), block: bool) {
        let Some(unit) = self.units.get_mut(index) else { return };
        // A block ACK repeats what earlier ones said.
        if unit.acknowledged && block {
            return;
        }
        self.receptions.push(Reception { at, unit: index, again: unit.acknowledged });
        self.counts.acknowledged[usize::from(unit.side)] += u64::from(!unit.acknowledged);
        unit.acknowledged = true;
    }

    /// A block ACK of what `side` sent; how many frames it acknowledges that nothing did before.
    pub(super) fn block_ack(
        &mut self,
        side: u8,
        tid: u8,
        start: u16,
        bitmap: &[u8],
        fragments: bool,
        at: (i64, u64),
    ) -> u64 {
        let Some(space) = self.counters.get_mut(&(side, tid)) else { return 0 };
        let before = self.counts.acknowledged[usize::from(side)];
        let acknowledged =
            if fragments { space.fragments(start, bitmap) } else { space.acknowledged(start, bitmap) };
        for index in acknowledged {
            self.acknowledge(index, at, true);
        }
        self.counts.acknowledged[usize::from(side)] - before
    }

    /// An answer to all that `side` sent last, or to its one frame of a counter.
    pub(super) fn all_acknowledged(&mut self, side: u8, tid: u8, at: (i64, u64)) -> u64 {
        let before = self.counts.acknowledged[usize::from(side)];
        for index in std::mem::take(&mut self.latest[usize::from(side)]) {
            if tid >= 8 || self.units[index].counter == tid {
                self.acknowledge(index, at, true);
            }
        }
        self.counts.acknowledged[usize::from(side)] - before
    }

    /// The station said whether it dozes.
    pub(super) fn power(&mut self, at: (i64, u64), dozing: bool) {
        if self.dozing != dozing {
            self.dozing = dozing;
            self.power.push((at, dozing));
            self.counts.power_changes += 1;
        }
        if !dozing {
            self.fetched(at.0);
        }
    }

    /// The access point announces that it has something for a station that dozes.
    pub(super) fn held_back(&mut self, t_ns: i64) {
        if self.dozing && self.held_since.is_none() {
            self.held_since = Some(t_ns);
            self.counts.held_back += 1;
        }
    }

    /// The station asks for it without waking up for long.
    pub(super) fn asked_for(&mut self, at: (i64, u64)) {
        self.counts.asked_for += 1;
        self.fetched(at.0);
    }

    fn fetched(&mut self, t_ns: i64) {
        if let Some(since) = self.held_since.take() {
            self.counts.held_back_ns += t_ns.saturating_sub(since).max(0);
        }
    }

    /// The station is on its way to an access point.
    pub(super) fn returns(&mut self, t_ns: i64, step: Step) {
        match step {
            Step::Asked { fast } => {
                let arrival = self.arriving.get_or_insert_default();
                arrival.asked_ns = arrival.asked_ns.or(Some(t_ns));
                arrival.fast_transition |= fast;
            }
            Step::Associated => {
                let arrival = self.arriving.get_or_insert_default();
                arrival.associated_ns = arrival.associated_ns.or(Some(t_ns));
            }
        }
    }

    /// A message of the handshake that makes keys.
    pub(super) fn keyed(&mut self, t_ns: i64) {
        // Keys are changed now and then while data flows: that is no arrival.
        if let Some(arrival) = &mut self.arriving {
            let first = arrival.keyed_ns.map_or(t_ns, |(first, _)| first);
            arrival.keyed_ns = Some((first, t_ns));
        }
    }

    fn arrived(&mut self, t_ns: i64) {
        // Before it is associated, a station's frames are of the time before.
        if self.arriving.is_some_and(|arrival| arrival.associated_ns.is_some())
            && let Some(arrival) = self.arriving.take()
            && self.arrivals.len() < ARRIVALS
        {
            self.arrivals.push(Return { data_ns: Some(t_ns), ..arrival });
        }
    }

    /// The link ended, or moves to another access point; data will tell when it is over.
    pub(super) fn interrupted(&mut self, reset: Reset) {
        match &mut self.pending {
            Some(pending) if reset.cause == "roam" => pending.cause = "roam",
            Some(_) => {}
            None if !self.sent.is_empty() => self.pending = Some(reset),
            None => {}
        }
    }

    /// Data goes to another access point than before.
    pub(super) fn moved(&mut self, at: (i64, u64), peer: Mac) {
        self.interrupted(Reset { at, side: 0, cause: "roam" });
        self.roams += u64::from(!self.sent.is_empty());
        self.sides[1] = peer;
    }

    fn flows_again(&mut self) {
        if let Some(reset) = self.pending.take() {
            self.resets.push(reset);
            self.counts.resets += 1;
            self.epoch += 1;
            self.counters.values_mut().for_each(SequenceCounter::restart);
        }
    }

    /// The name of a side's role.
    pub(super) fn role(&self, side: usize) -> &'static str {
        match (self.infrastructure, side) {
            (true, 1) => "ap",
            _ => "sta",
        }
    }
}

/// A row without a radio header.
pub(super) const NO_RADIO: RadioRow = RADIO_ROW;
