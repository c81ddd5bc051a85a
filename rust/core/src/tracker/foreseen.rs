//! F-RTO foreseen (RFC 5682): after an expiry, data that was sent once arrives, and a host with F-RTO takes the timeout back.
//!
//! A host without it (`net.ipv4.tcp_frto` = 0) stays in slow start. With SACK, both then send again what lies below what
//! arrived: by fast retransmit, or in slow start. New data while more is lost shows the first; data sent again that
//! nothing sent later has overtaken shows the second (RFC 8985). Until then it is open, and may remain so.

use super::outcome::{Cause, State};
use super::sender::Sender;
use super::undo::TakenBack;

/// Runs looked at for one that was lost.
const LOOKED_AT: usize = 64;

/// What is sent again after a recovery was taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    /// Something in the packets calls for it.
    pub called_for: bool,
    /// Something that was sent later has arrived.
    pub overtaken: bool,
    /// Segments of it on the wire, if it is fast retransmit unless the host stayed in slow start.
    pub segments: u64,
}

/// What was sent again while it was open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Foreseen {
    /// Place of the first in the list of the sender.
    place: usize,
    /// Segments on the wire.
    segments: u64,
    /// The recovery before.
    episode: u32,
}

impl Sender {
    /// What is sent now may show whether the host did what F-RTO does. `None` if that is not the question; else whether
    /// it goes on as if nothing had been taken back.
    pub(super) fn weigh_frto(&mut self, again: Option<Again>) -> Option<bool> {
        let history = self.history.as_ref()?;
        let Some((_, _, recover)) = history.taken.filter(|(taken, ..)| *taken == TakenBack::Frto) else {
            self.leave_frto_open();
            return None;
        };
        if !self.sack_permitted || history.undo.shows_frto() {
            return None;
        }
        if self.snd_una >= recover {
            self.leave_frto_open();
            return Some(false);
        }
        match again {
            None => {
                if self.lost_waits(recover) {
                    self.decide_frto();
                }
                Some(false)
            }
            Some(again) if again.overtaken && !self.sacked.is_empty() => {
                let (place, episode) = (self.retransmissions.len(), self.episode);
                let history = self.history.get_or_insert_default();
                let foreseen = history.foreseen.get_or_insert(Foreseen { place, segments: 0, episode });
                foreseen.segments += again.segments;
                Some(false)
            }
            Some(_) => Some(self.revoke_frto()),
        }
    }

    /// Whether something waits to be sent again that was outstanding for two RTTs when the timer expired.
    fn lost_waits(&self, recover: i64) -> bool {
        let Some(history) = &self.history else { return false };
        let old_ns = history.expired_ns - 2 * self.rto.srtt_us() * 1000;
        let runs = self.outstanding.iter().take(LOOKED_AT);
        runs.take_while(|run| run.seq < recover).any(|run| !run.sacked() && run.last_ns < old_ns)
    }

    /// The host does F-RTO.
    fn decide_frto(&mut self) {
        let Some(history) = &mut self.history else { return };
        history.taken = None;
        history.undo.show_frto();
        let Some(foreseen) = history.foreseen.take() else { return };
        for place in foreseen.place..self.retransmissions.len() {
            if let Some(row) = self.retransmissions.get_mut(place) {
                row.alternative = Cause::None;
            }
        }
    }

    /// It does not: it has been in slow start since, and goes on there.
    fn revoke_frto(&mut self) -> bool {
        let Some(history) = &mut self.history else { return false };
        let Some((taken, state, recover)) = history.taken.take() else { return false };
        history.undo.revoke(taken);
        history.disturb();
        (self.state, self.recover) = (state, recover);
        let Some(foreseen) = history.foreseen.take() else {
            if let Some(episode) = history.episodes.last_mut() {
                (episode.taken_back, episode.end_ns, episode.end_record) = (TakenBack::No, None, 0);
            }
            return true;
        };
        while history.episodes.last().is_some_and(|episode| episode.number > foreseen.episode) {
            history.episodes.pop();
        }
        if let Some(episode) = history.episodes.last_mut() {
            (episode.taken_back, episode.end_ns, episode.end_record) = (TakenBack::No, None, 0);
        }
        self.episode = foreseen.episode;
        for place in foreseen.place..self.retransmissions.len() {
            let Some(row) = self.retransmissions.get_mut(place) else { continue };
            row.episode = foreseen.episode;
            if row.cause == Cause::Fast {
                (row.cause, row.alternative) = (Cause::SlowStart, Cause::None);
                history.corrections.push((row.record, Cause::SlowStart));
            }
        }
        let fast = &mut self.totals.retransmissions[Cause::Fast as usize];
        let moved = foreseen.segments.min(*fast);
        *fast -= moved;
        self.totals.retransmissions[Cause::SlowStart as usize] += moved;
        self.state == State::Loss
    }

    /// Nothing has decided it, and nothing can any more.
    pub(super) fn leave_frto_open(&mut self) {
        let Some(history) = &mut self.history else { return };
        if self.sack_permitted && !history.undo.shows_frto() {
            history.taken.take_if(|(taken, ..)| *taken == TakenBack::Frto);
        }
        if let Some(foreseen) = history.foreseen.take() {
            history.fast_or_slow_start += foreseen.segments;
        }
    }

    /// Segments sent again of which two causes are possible, as nothing decides: a tail loss probe or a timeout; fast
    /// retransmit or slow start.
    pub fn undecided(&self) -> (u64, u64) {
        let Some(history) = &self.history else { return (0, 0) };
        let open = history.foreseen.map_or(0, |foreseen| foreseen.segments);
        (history.probe_or_timeout, history.fast_or_slow_start + open)
    }
}
