//! What block ACKs and polls of dozing stations tell of the frames of a link.

use super::blockack::{Acknowledged, Whom, parts};
use super::bytes::le16;
use super::header::Mac;
use super::monitor::{ANY, Frame, MOST_LINKS, Monitor};

impl Monitor {
    pub(super) fn block_ack(&mut self, frame: &Frame<'_>) {
        self.pending = None;
        self.counts.block_acks += 1;
        let Some(ta) = frame.header.ta else { return };
        let parts = match parts(frame.body) {
            Ok(parts) => parts,
            Err(why) => return self.unread(frame, why.0),
        };
        let mut unknown = false;
        for (whom, acknowledged) in parts {
            let station = match whom {
                Whom::Receiver => Some(frame.header.ra),
                Whom::Station(address) => Some(address),
                // The access point's own number is 0; to one station alone it is named in the header too.
                Whom::Associated(_) if frame.header.unicast() => Some(frame.header.ra),
                Whom::Associated(aid) => self.associated.get(&(ta, aid)).copied(),
            };
            match station {
                Some(station) => self.acknowledge(frame, station, ta, acknowledged),
                None => unknown = true,
            }
        }
        if unknown {
            self.unread(frame, "a block ACK to a station whose association is not in the capture");
        }
    }

    fn acknowledge(&mut self, frame: &Frame<'_>, station: Mac, by: Mac, acknowledged: Acknowledged<'_>) {
        let Some((link, side)) = self.between(station, by) else { return };
        let link = &mut self.links[link];
        self.counts.block_acknowledged += match acknowledged {
            Acknowledged::Bitmap { tid, start, bits, fragments } => {
                link.block_ack(side, tid, start, bits, fragments, frame.at)
            }
            Acknowledged::All { tid } => link.all_acknowledged(side, tid, frame.at),
            Acknowledged::Group => 0,
        };
    }

    fn unread(&mut self, frame: &Frame<'_>, why: &'static str) {
        self.counts.block_acks_unread += 1;
        self.issues.add("block-ack-unread", frame.at.1, || why.into());
    }

    /// A dozing station asks for one frame of what is held back for it.
    pub(super) fn polled(&mut self, frame: &Frame<'_>) {
        self.counts.ps_polls += 1;
        let aid = frame.header.duration & 0x3fff;
        let (station, bssid) = (frame.header.ta, frame.header.ra);
        if let Some(station) = station {
            self.associate(bssid, aid, station);
            if let Some((link, 0)) = self.between(station, bssid) {
                self.links[link].asked_for(frame.at);
            }
        }
    }

    /// Which stations an access point has something for, from a beacon.
    pub(super) fn beacon(&mut self, frame: &Frame<'_>, bssid: Mac) {
        self.counts.beacons += 1;
        let Some(map) = frame.body.get(12..).and_then(traffic) else { return };
        for aid in map.identifiers() {
            let link =
                self.associated.get(&(bssid, aid)).and_then(|&station| self.by_address.get(&(station, ANY)));
            if let Some(&link) = link
                && self.links[link].sides[1] == bssid
            {
                self.links[link].held_back(frame.at.0);
            }
        }
    }

    /// A station has this identifier at its access point.
    pub(super) fn associate(&mut self, bssid: Mac, aid: u16, station: Mac) {
        if self.associated.len() < MOST_LINKS {
            self.associated.insert((bssid, aid), station);
        }
    }
}

/// The partial virtual bitmap of a beacon: who has something to fetch.
struct Traffic<'a> {
    first: u8,
    bits: &'a [u8],
}

impl Traffic<'_> {
    /// Of the stations; 0 stands for groups.
    fn identifiers(&self) -> impl Iterator<Item = u16> {
        let first = u16::from(self.first) * 8;
        let bits = self.bits.iter().zip(0u16..);
        bits.flat_map(move |(&byte, at)| {
            (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| first + 8 * at + bit)
        })
        .filter(|&aid| aid != 0)
    }
}

/// The traffic indication map among the elements of a beacon.
fn traffic(elements: &[u8]) -> Option<Traffic<'_>> {
    let mut rest = elements;
    while let [number, length, tail @ ..] = rest {
        let element = tail.get(..usize::from(*length))?;
        rest = &tail[element.len()..];
        if *number == 5 && element.len() >= 4 {
            return Some(Traffic { first: element[2] & 0xfe, bits: &element[3..] });
        }
    }
    None
}

/// The identifier that an association response gives; `None` if it refuses.
pub(super) fn given(body: &[u8]) -> Option<u16> {
    (body.len() >= 6 && le16(body, 2) == 0).then(|| le16(body, 4) & 0x3fff)
}
