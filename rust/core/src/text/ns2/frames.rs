//! What the layers below the agents did: MAC frames, RTS and CTS, drops with their reason, energy.

use std::collections::HashMap;

use super::super::fault::Fault;
use super::event::{Event, Layer};
use crate::linktable::{EVT, FrameRow, Frames, RCV, SND};

/// Events of the link; the position is the code in the column. `lost` is a packet that a queue, a router or an agent
/// dropped, `given_up` one that the MAC sent as often as it may; the rest are frames.
pub const KINDS: [&str; 8] = ["lost", "given_up", "damaged", "duplicate", "ignored", "RTS", "CTS", "ACK"];
const LOST: i8 = 0;
const GIVEN_UP: i8 = 1;
const DAMAGED: i8 = 2;
const DUPLICATE: i8 = 3;
const IGNORED: i8 = 4;
const RTS: i8 = 5;
const CTS: i8 = 6;
const ACK: i8 = 7;

const MAX_ENTITIES: usize = 1 << 14;
const MAX_REASONS: usize = 1 << 10;

/// Control frames and drops.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Events {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub action: Vec<i8>,
    pub kind: Vec<i8>,
    pub length: Vec<i32>,
    /// Index into `reasons`.
    pub reason: Vec<i16>,
    /// Layer, reason and kind of packet: `IFQ ARP tcp`.
    pub reasons: Vec<String>,
}

/// Remaining energy of nodes, a row where it changed.
#[derive(Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Energy {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub joules: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Node(u32),
    Link(u32, u32),
}

/// What a node is in the middle of.
#[derive(Debug, Default, Clone, Copy)]
struct Node {
    /// Packet of its last data frame, and how often that was sent.
    sent: Option<(u32, i16)>,
    joules: Option<i64>,
    /// It sent an RTS: a control frame for it is the CTS.
    asked: bool,
    /// It received an RTS: what it sends is the CTS.
    was_asked: bool,
}

pub(super) struct LinkRows {
    keep: bool,
    places: HashMap<Place, i16>,
    order: Vec<Place>,
    nodes: Vec<Node>,
    reasons: HashMap<Vec<u8>, i16>,
    last: Option<(Place, i16)>,
    /// Frames of the MAC with data; `ns` is the packet's number in the simulation.
    frames: Frames,
    events: Events,
    energy: Energy,
}

impl LinkRows {
    pub(super) fn new(keep: bool) -> Self {
        LinkRows {
            keep,
            places: HashMap::new(),
            order: Vec::new(),
            nodes: Vec::new(),
            reasons: HashMap::new(),
            last: None,
            frames: Frames::default(),
            events: Events::default(),
            energy: Energy::default(),
        }
    }

    pub(super) fn finish(mut self) -> (Frames, Events, Energy, Vec<String>) {
        let mut words = vec![String::new(); self.reasons.len()];
        for (reason, index) in &self.reasons {
            words[*index as usize] = super::super::words::excerpt(reason);
        }
        self.events.reasons = words;
        let names = self.order.iter().map(|place| match place {
            Place::Node(node) => format!("_{node}_"),
            Place::Link(from, to) => format!("{from}-{to}"),
        });
        (self.frames, self.events, self.energy, names.collect())
    }

    /// Take an event of any layer.
    #[inline]
    pub(super) fn take(&mut self, event: &Event<'_>, record: u64) -> Result<(), Fault> {
        if let Some(joules) = event.energy {
            self.energy(event.t_ns, event.node, Some(joules), record)?;
        }
        match (event.layer, event.kind) {
            (_, b'd') => self.drop(event, record),
            (Layer::Mac, b's' | b'r') => match self.control(event)? {
                Some(kind) => self.event(event, record, kind),
                None => self.frame(event, record),
            },
            _ => Ok(()),
        }
    }

    /// The energy that a node has left.
    #[inline]
    pub(super) fn energy(
        &mut self,
        t_ns: i64,
        node: u32,
        joules: Option<i64>,
        record: u64,
    ) -> Result<(), Fault> {
        let Some(joules) = joules else { return Ok(()) };
        let entity = self.entity(Place::Node(node))?;
        let known = &mut self.nodes[entity as usize].joules;
        if *known != Some(joules) {
            *known = Some(joules);
            if self.keep {
                self.energy.t_ns.push(t_ns);
                self.energy.record.push(record as i64);
                self.energy.entity.push(entity);
                self.energy.joules.push(joules as f64 / 1e9);
            }
        }
        Ok(())
    }

    /// Which control frame it is: the new format does not say.
    fn control(&mut self, event: &Event<'_>) -> Result<Option<i8>, Fault> {
        match event.packet {
            b"RTS" => return Ok(Some(RTS)),
            b"CTS" => return Ok(Some(CTS)),
            b"ACK" => return Ok(Some(ACK)),
            b"" => {}
            _ => return Ok(None),
        }
        let entity = self.entity(Place::Node(event.node))?;
        let node = &mut self.nodes[entity as usize];
        let [duration, _, sender] = event.mac;
        Ok(Some(if duration == 0 {
            ACK // nothing follows it
        } else if event.kind == b's' {
            // A CTS has no sender's address, and 0 is that of the first node, too.
            let answers = sender == 0 && (event.node != 0 || node.was_asked);
            (node.was_asked, node.asked) = (false, !answers);
            if answers { CTS } else { RTS }
        } else {
            let answer = sender == 0 && node.asked;
            (node.asked, node.was_asked) = (false, !answer);
            if answer { CTS } else { RTS }
        }))
    }

    fn frame(&mut self, event: &Event<'_>, record: u64) -> Result<(), Fault> {
        let entity = self.entity(Place::Node(event.node))?;
        let mut attempt = 0;
        if event.kind == b's' {
            let sent = &mut self.nodes[entity as usize].sent;
            // ARP packets have no number of their own.
            let again = sent.filter(|(uid, _)| *uid == event.uid && !is_arp(event.packet));
            attempt = again.map_or(0, |(_, attempt)| attempt.saturating_add(1));
            *sent = Some((event.uid, attempt)).filter(|_| !is_arp(event.packet));
        }
        if self.keep {
            let action = if event.kind == b's' { SND } else { RCV };
            self.frames.push(FrameRow {
                ns: (event.uid & 0x7fff_ffff) as i32,
                length: event.size,
                attempt,
                ..FrameRow::new((event.t_ns, record as i64), entity, action)
            });
        }
        Ok(())
    }

    fn drop(&mut self, event: &Event<'_>, record: u64) -> Result<(), Fault> {
        let control = matches!(event.packet, b"RTS" | b"CTS" | b"ACK" | b"");
        let kind = match (event.layer, event.reason) {
            (Layer::Mac, b"RET") if !control => GIVEN_UP,
            (Layer::Mac, b"COL" | b"ERR") => DAMAGED,
            (Layer::Mac, b"DUP") => DUPLICATE,
            (Layer::Mac, _) if control => IGNORED,
            _ => LOST,
        };
        self.event(event, record, kind)
    }

    fn event(&mut self, event: &Event<'_>, record: u64, kind: i8) -> Result<(), Fault> {
        let place = match event.layer {
            Layer::Link => Place::Link(event.node, event.to),
            _ => Place::Node(event.node),
        };
        let entity = self.entity(place)?;
        if !self.keep {
            return Ok(());
        }
        let reason = if event.kind == b'd' { self.reason(event)? } else { -1 };
        let events = &mut self.events;
        events.t_ns.push(event.t_ns);
        events.record.push(record as i64);
        events.entity.push(entity);
        events.action.push(match event.kind {
            b's' => SND,
            b'r' => RCV,
            _ => EVT,
        });
        events.kind.push(kind);
        events.length.push(event.size);
        events.reason.push(reason);
        Ok(())
    }

    fn reason(&mut self, event: &Event<'_>) -> Result<i16, Fault> {
        let packet = if event.packet.is_empty() { &b"control"[..] } else { event.packet };
        let words = [event.layer_name, event.reason, packet].join(&b' ');
        if let Some(known) = self.reasons.get(&words) {
            return Ok(*known);
        }
        let next = self.reasons.len();
        if next >= MAX_REASONS {
            return Err(Fault::NotOurs);
        }
        self.reasons.insert(words, next as i16);
        Ok(next as i16)
    }

    fn entity(&mut self, place: Place) -> Result<i16, Fault> {
        if let Some((last, entity)) = self.last
            && last == place
        {
            return Ok(entity);
        }
        let next = self.order.len();
        let entity = match self.places.get(&place) {
            Some(entity) => *entity,
            None if next >= MAX_ENTITIES => return Err(Fault::BadNumber),
            None => {
                self.places.insert(place, next as i16);
                self.order.push(place);
                self.nodes.push(Node::default());
                next as i16
            }
        };
        self.last = Some((place, entity));
        Ok(entity)
    }
}

fn is_arp(packet: &[u8]) -> bool {
    packet.eq_ignore_ascii_case(b"arp")
}
