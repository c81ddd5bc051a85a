//! Management frames: who belongs to which access point, who leaves, who returns.
//!
//! Reference: IEEE 802.11-2020 sections 9.3.3, 11.3 (association), 13 (fast transition).

use super::air::Who;
use super::answers::given;
use super::bytes::le16;
use super::link::{Reset, Step};
use super::monitor::{ANY, Frame, Monitor};
use super::payload::{elements, tag_of};

/// Authentication of a station that moves with the keys that it has.
const FAST_TRANSITION: u16 = 2;

impl Monitor {
    pub(super) fn management(&mut self, frame: &Frame<'_>) -> Who {
        let header = &frame.header;
        let (Some(ta), Some(bssid)) = (header.ta, header.bssid) else { return Who::Others };
        self.counted(ta, header);
        let kind = header.kind & 0xf;
        if let Some(tag) = elements(header.kind).and_then(|at| frame.body.get(at..)).and_then(tag_of) {
            self.tags.insert(bssid, tag);
        }
        let station = if ta == bssid { header.ra } else { ta };
        if matches!(kind, 1 | 3)
            && ta == bssid
            && let Some(aid) = given(frame.body)
        {
            self.associate(bssid, aid, station);
        }
        if kind == 8 {
            self.beacon(frame, bssid);
        }
        let link = self.by_address.get(&(station, ANY)).copied();
        match kind {
            10 | 12 if !header.unicast() => {
                for link in self.links.iter_mut().filter(|link| link.infrastructure && link.sides[1] == bssid)
                {
                    link.interrupted(Reset { at: frame.at, side: 1, cause: "deauth" });
                }
            }
            10 | 12 => {
                if let Some(link) = link.map(|link| &mut self.links[link])
                    && link.sides[1] == bssid
                {
                    let side = u8::from(ta == bssid);
                    link.interrupted(Reset { at: frame.at, side, cause: "deauth" });
                }
            }
            // A station that asks another access point: from here on it is on its way.
            0 | 2 | 11 if ta == station => {
                if let Some(link) = link.map(|link| &mut self.links[link]) {
                    let cause = if link.sides[1] == bssid { "other" } else { "roam" };
                    link.interrupted(Reset { at: frame.at, side: 0, cause });
                    let fast = kind == 11 && frame.body.len() >= 2 && le16(frame.body, 0) == FAST_TRANSITION;
                    link.returns(frame.at.0, Step::Asked { fast });
                }
            }
            1 | 3 if ta == bssid => {
                if let Some(link) = link.map(|link| &mut self.links[link]) {
                    link.returns(frame.at.0, Step::Associated);
                }
            }
            _ => {}
        }
        self.awaits(frame, ta, None);
        match link {
            Some(link) if header.unicast() => Who::Link(link as u32),
            _ => Who::Everybody,
        }
    }
}
