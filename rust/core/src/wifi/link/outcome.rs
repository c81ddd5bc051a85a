//! What became of each frame of a link, and its rows.

use std::collections::HashSet;

use super::{Link, Reception};
use crate::wifi::rows::Output;
use crate::wifi::sequence_counter::Unseen;

impl Link {
    /// Judge every frame and every gap. `limit`: retransmissions before a sender gives up, if known.
    ///
    /// Returns the limit that was used: without one, the most retransmissions of a frame, if there were enough
    /// of them to look like a limit.
    pub(in crate::wifi) fn judge(&mut self, limit: Option<i16>) -> Option<i16> {
        const LEAST: i16 = 3;
        self.flows_again();
        let most = self.units.iter().map(|unit| unit.attempt).max().unwrap_or(0);
        let limit = limit.or((most >= LEAST).then_some(most));
        let mut followed = HashSet::new();
        for index in (0..self.units.len()).rev() {
            let unit = &mut self.units[index];
            let more = !followed.insert((unit.side, unit.counter, unit.epoch));
            if unit.acknowledged || unit.no_ack {
                continue;
            }
            let side = usize::from(unit.side);
            if unit.failed || (more && limit.is_some_and(|limit| unit.attempt >= limit)) {
                unit.failed = true;
                self.counts.lost[side] += 1;
            } else if more && limit.is_some_and(|limit| unit.attempt + 1 == limit) {
                // The last attempt, or an acknowledgement: one of them was not seen.
                self.counts.undecided[side] += 1;
            } else if more {
                self.counts.acks_not_seen[side] += 1;
                self.receptions.push(Reception { at: unit.last, unit: index, again: false });
            }
        }
        for (&(side, _), space) in &mut self.counters {
            space.restart();
            for unseen in &space.unseen {
                self.counts.not_seen[usize::from(side)] += u64::from(unseen.count);
                self.counts.not_seen_acknowledged[usize::from(side)] +=
                    u64::from(unseen.count) * u64::from(unseen.acknowledged);
            }
        }
        for (side, unseen) in &self.shared_unseen {
            self.counts.not_seen[usize::from(*side)] += u64::from(unseen.count);
        }
        limit
    }

    /// The rows of the link, after [`Link::judge`].
    pub(in crate::wifi) fn rows(&self, out: &mut Output) {
        for sent in &self.sent {
            let unit = &self.units[sent.unit];
            out.frame(sent.at, unit.side, 0, unit.sequence, unit.offset, unit.length, sent.attempt, false);
            out.radio(sent.at, unit.side, sent.radio);
        }
        for reception in &self.receptions {
            let unit = &self.units[reception.unit];
            let peer = 1 - unit.side;
            out.frame(reception.at, peer, 1, unit.sequence, unit.offset, unit.length, 0, reception.again);
        }
        for unit in self.units.iter().filter(|unit| unit.failed && !unit.acknowledged) {
            out.event(unit.last, unit.side, 2, "discard", i32::from(unit.sequence), "", unit.length);
        }
        for reset in &self.resets {
            // The link stood still from the last frame that it carried: a station may go without a word.
            let before = |at: &(i64, u64)| at.0 <= reset.at.0;
            let own = self.sent.iter().filter(|sent| self.units[sent.unit].side == reset.side);
            let sent = own.map(|sent| sent.at).filter(before).max();
            let received = self.receptions.iter().map(|reception| reception.at).filter(before).max();
            let at = sent.max(received).unwrap_or(reset.at);
            out.event(at, reset.side, 2, "reset", -1, reset.cause, -1);
        }
        for &(at, dozing) in &self.power {
            // What the access point hears: it holds back what it has for a station that dozes.
            out.event(at, 1, 1, if dozing { "RNR" } else { "RR" }, -1, "", -1);
        }
        let mut gaps: Vec<(u8, Unseen)> = self.shared_unseen.clone();
        for (&(side, _), space) in &self.counters {
            gaps.extend(space.unseen.iter().map(|unseen| (side, *unseen)));
        }
        gaps.sort_by_key(|(side, unseen)| (unseen.record, *side, unseen.sequence));
        for (side, unseen) in gaps {
            out.event((unseen.t_ns, unseen.record), side, 2, "unseen", i32::from(unseen.sequence), "", -1);
        }
    }
}
