//! Which node has which address, and what each of them saw of its own connections.
//!
//! A host is the first to send a packet from its address; routers forward it later. What is received for an address
//! that has not sent anything yet (the SYN) waits until its host is known. On the air, everybody receives everything:
//! there a host takes what is for a MAC address from which it sends.

use std::collections::{HashMap, VecDeque};

use super::line::Device;
use super::packet::Frame;
use crate::capture::Sink;
use crate::issue::Issues;
use crate::segment::{Address, Segment};
use crate::tracker::{Columns, Connection, Tracker};

/// Hosts beyond this many are not followed: each has a tracker.
const MAX_HOSTS: usize = 4096;
/// Addresses beyond this many are not followed.
const MAX_ADDRESSES: usize = 1 << 16;
/// Segments for addresses without a host that are kept.
const MAX_WAITING: usize = 4096;
/// Frames sent again are compared with so many that a host received before.
const MEMORY: usize = 256;

/// MAC addresses of one host beyond this many are not told apart.
const MAX_MACS: usize = 16;

/// A node; none where the file is of one device and does not name it.
pub type Host = Option<u32>;

/// What one host saw of its connections.
#[derive(Debug)]
pub struct Seen {
    /// Which.
    pub host: Host,
    /// Addresses that are its own.
    pub addresses: Vec<Address>,
    /// Segments.
    pub columns: Columns,
    /// Connections.
    pub connections: Vec<Connection>,
}

/// Devices see what a capture would; lines of the IP layer are used where there are none of devices.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    #[default]
    Ip,
    Device,
}

/// What tells a packet from others of its host.
type Identity = (Address, u16, u32, u32);

struct Point {
    host: Host,
    addresses: Vec<Address>,
    tracker: Tracker,
    received: VecDeque<Identity>,
    macs: Vec<u64>,
}

struct Waiting {
    host: Host,
    frame: Frame,
    segment: Segment,
}

#[derive(Default)]
pub(super) struct Hosts {
    level: Level,
    points: Vec<Point>,
    places: HashMap<Host, usize>,
    owners: HashMap<Address, usize>,
    waiting: VecDeque<Waiting>,
}

impl Hosts {
    /// Take a segment that a device sent or received.
    pub(super) fn take(
        &mut self,
        device: Device,
        sent: bool,
        frame: Frame,
        segment: &Segment,
        number: u64,
        issues: &mut Issues,
    ) {
        let (level, host) = match device {
            Device::Unnamed => (Level::Device, None),
            Device::Net(node, _) => (Level::Device, Some(node)),
            Device::Ip(node, _) | Device::Other(node) => (Level::Ip, Some(node)),
        };
        if level < self.level {
            return;
        }
        if level > self.level {
            *self = Hosts { level, ..Hosts::default() };
        }
        let address = if sent { segment.source.0 } else { segment.destination.0 };
        let owner = match self.owners.get(&address) {
            Some(owner) => *owner,
            None if sent => match self.own(address, host, frame) {
                Some(owner) => owner,
                None => {
                    issues.add("unparsed-line", number, || {
                        format!("more than {MAX_HOSTS} hosts or {MAX_ADDRESSES} addresses")
                    });
                    return;
                }
            },
            None => {
                if self.waiting.len() == MAX_WAITING {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(Waiting { host, frame, segment: *segment });
                return;
            }
        };
        if self.points[owner].host == host {
            self.points[owner].segment(sent, frame, segment);
        }
    }

    /// Make an address a host's, which then gets what waits for it; `frame` is what it sends, if it does.
    fn own(&mut self, address: Address, host: Host, frame: Frame) -> Option<usize> {
        let next = self.points.len();
        if self.owners.len() == MAX_ADDRESSES || (next == MAX_HOSTS && !self.places.contains_key(&host)) {
            return None;
        }
        let place = *self.places.entry(host).or_insert(next);
        if place == next {
            let (addresses, macs) = (Vec::new(), Vec::new());
            let (tracker, received) = (Tracker::new(true), VecDeque::new());
            self.points.push(Point { host, addresses, tracker, received, macs });
        }
        self.owners.insert(address, place);
        let point = &mut self.points[place];
        point.addresses.push(address);
        point.sends(frame);
        self.waiting.retain(|one| {
            let ours = one.segment.destination.0 == address;
            if ours && one.host == host {
                point.segment(false, one.frame, &one.segment);
            }
            !ours
        });
        Some(place)
    }

    /// By host, what it saw.
    pub(super) fn finish(mut self, issues: &mut Issues) -> Vec<Seen> {
        // Who never sent anything is who received last: the packets before passed routers.
        while let Some(Waiting { host, segment, .. }) = self.waiting.back() {
            let (host, address) = (*host, segment.destination.0);
            if self.own(address, host, Frame::default()).is_none() {
                break;
            }
        }
        let seen = self.points.into_iter().map(|point| {
            let Point { host, addresses, tracker, .. } = point;
            let (connections, columns) = tracker.finish(issues);
            Seen { host, addresses, columns: columns.unwrap_or_default(), connections }
        });
        seen.collect()
    }
}

impl Point {
    fn segment(&mut self, sent: bool, frame: Frame, segment: &Segment) {
        if sent {
            self.sends(frame);
        } else if self.overhears(frame) || !self.is_new(frame.again, segment) {
            return;
        }
        self.tracker.segment(segment);
    }

    fn sends(&mut self, frame: Frame) {
        if let Some((transmitter, _)) = frame.ends
            && self.macs.len() < MAX_MACS
            && !self.macs.contains(&transmitter)
        {
            self.macs.push(transmitter);
        }
    }

    /// Whether a frame is for somebody else, who will forward it.
    fn overhears(&self, frame: Frame) -> bool {
        frame.ends.is_some_and(|(_, receiver)| !self.macs.is_empty() && !self.macs.contains(&receiver))
    }

    /// Whether a segment received is no copy of one received before, whose MAC acknowledgment was lost.
    fn is_new(&mut self, again: bool, segment: &Segment) -> bool {
        let identity = (segment.source.0, segment.ip_id, segment.seq, segment.ack);
        if again && self.received.contains(&identity) {
            return false;
        }
        if self.received.len() == MEMORY {
            self.received.pop_front();
        }
        self.received.push_back(identity);
        true
    }
}
