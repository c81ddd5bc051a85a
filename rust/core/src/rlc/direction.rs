//! One direction of a bearer: which PDUs are new, which were sent before, and where their bytes are in the stream.

use std::collections::HashMap;

/// A jump ahead by more than this is not loss of records but something else: a new start, or a capture that
/// began anew.
const FEW: u32 = 64;
/// Numbers that a sender may have reached before the first PDU behind a new start was captured.
pub(crate) const SMALL: u32 = 32;

/// More NACKs than a status report has.
const MOST_ASKED: usize = 1024;

/// A data PDU, or a segment of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) sn: u32,
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) last: bool,
    pub(crate) hash: u64,
}

/// What is known of one sequence number.
#[derive(Debug, Clone)]
struct Known {
    offset: i64,
    /// Bytes of it, as far as they were seen.
    reach: u32,
    /// Whether the last one was seen.
    whole: bool,
    /// The attempt that runs has come so far.
    upto: u32,
    attempt: i16,
    /// The first piece: length and hash.
    first: (u32, u64),
    /// Its place in the order of all numbers.
    number: i64,
    epoch: i32,
    /// Whether the peer has ever asked for it: an answer may still be under way when it has it at last.
    asked: bool,
    /// What the peer has received of it.
    received: Vec<(u32, u32)>,
}

/// Where a piece belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) offset: i64,
    /// See [`super::pdus::Pdus`].
    pub(crate) number: i64,
    pub(crate) epoch: i32,
    /// 0 for the first transmission.
    pub(crate) attempt: i16,
    /// PDUs before it that the capture does not have.
    pub(crate) missing: u32,
    /// The sender began anew with it.
    pub(crate) restart: bool,
}

/// What a receiver got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// -1 if it is not known what it is.
    pub(crate) offset: i64,
    pub(crate) number: i64,
    pub(crate) epoch: i32,
    /// It had it already.
    pub(crate) had: bool,
}

#[derive(Debug)]
pub(crate) struct RlcDirection {
    modulus: u32,
    next: Option<u32>,
    /// The number that `next` will have.
    number: i64,
    epoch: i32,
    offset: i64,
    /// Bytes of the last new PDU: those that were missed are taken for as long.
    usual: u32,
    known: HashMap<u32, Known>,
    before: HashMap<u32, Known>,
    /// What the last status report acknowledged, and what it asked for.
    acked: Option<u32>,
    asked: Vec<u32>,
}

impl RlcDirection {
    pub(crate) fn new(sn_bits: u32) -> Self {
        RlcDirection {
            modulus: 1 << sn_bits.clamp(1, 18),
            next: None,
            number: 0,
            epoch: 0,
            offset: 0,
            usual: 0,
            known: HashMap::new(),
            before: HashMap::new(),
            acked: None,
            asked: Vec::new(),
        }
    }

    /// Whether anything was sent.
    pub(crate) fn used(&self) -> bool {
        self.next.is_some()
    }

    /// The entity sends a piece; `armed`: it is known to have begun anew since the last one.
    pub(crate) fn send(&mut self, piece: Piece, armed: bool) -> Placed {
        let sn = piece.sn % self.modulus;
        let Some(next) = self.next else {
            return self.new_number(sn, piece, 0, false);
        };
        let ahead = sn.wrapping_sub(next) & (self.modulus - 1);
        let small = sn < SMALL;
        if ahead < self.modulus / 2 {
            if ahead > 0 && small && (armed || ahead > FEW) {
                return self.restart(sn, piece);
            }
            // So many PDUs are not missed at once: what is counted for them would be invented.
            return self.new_number(sn, piece, if ahead > FEW { 0 } else { ahead }, false);
        }
        let done = self.is_done(sn);
        // Without bytes to compare, PDUs of equal length are the same; but not one that the peer has long since.
        let anew = small && done && (armed || self.modulus - ahead > FEW);
        match self.known.get_mut(&sn) {
            Some(known) if (!anew || known.asked) && known.is_same(&piece) => known.again(&piece),
            Some(_) if small => self.restart(sn, piece),
            None if small && (armed || done || self.modulus - ahead > FEW) => self.restart(sn, piece),
            Some(known) => known.again(&piece),
            // Sent before the capture began, or missed.
            None => {
                Placed { offset: -1, number: -1, epoch: self.epoch, attempt: 1, missing: 0, restart: false }
            }
        }
    }

    /// The number of what a status report names; -1 if nothing near it was sent.
    pub(crate) fn number_of(&self, sn: u32) -> i64 {
        let sn = sn % self.modulus;
        if let Some(known) = self.known.get(&sn) {
            return known.number;
        }
        let before = sn.wrapping_sub(1) & (self.modulus - 1);
        if let Some(known) = self.known.get(&before) {
            return known.number + 1;
        }
        match self.next {
            Some(next) if sn.wrapping_sub(next) & (self.modulus - 1) <= FEW => {
                self.number + i64::from(sn.wrapping_sub(next) & (self.modulus - 1))
            }
            _ => -1,
        }
    }

    /// The peer acknowledges all numbers before `sn`, but those that it goes on to ask for.
    pub(crate) fn acknowledged(&mut self, sn: u32) {
        self.acked = Some(sn % self.modulus);
        self.asked.clear();
    }

    /// The peer asks for a number.
    pub(crate) fn asked(&mut self, sn: u32) {
        let sn = sn % self.modulus;
        if let Some(known) = self.known.get_mut(&sn) {
            known.asked = true;
        }
        if self.asked.len() < MOST_ASKED {
            self.asked.push(sn);
        }
    }

    /// Whether the peer has this number: nobody sends it again.
    fn is_done(&self, sn: u32) -> bool {
        let before = |ack: u32| (ack.wrapping_sub(sn + 1) & (self.modulus - 1)) < self.modulus / 2;
        self.acked.is_some_and(before) && !self.asked.contains(&sn)
    }

    /// New starts so far.
    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The peer receives a piece that this entity sent: its place, and whether the peer had it already.
    pub(crate) fn receive(&mut self, piece: &Piece) -> Received {
        let sn = piece.sn % self.modulus;
        let old = self.before.get_mut(&sn).filter(|known| known.is_same(piece));
        let Some(known) = self.known.get_mut(&sn).filter(|known| known.is_same(piece)).or(old) else {
            return Received { offset: -1, number: -1, epoch: self.epoch, had: false };
        };
        let (from, to) = (piece.start, piece.start.saturating_add(piece.length));
        let had = known.received.iter().any(|&(a, b)| a <= from && to <= b);
        if !had {
            let room = known.received.len() < 64;
            match known.received.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ if room => known.received.push((from, to)),
                _ => {}
            }
        }
        Received { offset: known.offset + i64::from(from), number: known.number, epoch: known.epoch, had }
    }

    fn restart(&mut self, sn: u32, piece: Piece) -> Placed {
        self.before = std::mem::take(&mut self.known);
        self.acked = None;
        self.epoch += 1;
        self.new_number(sn, piece, sn, true)
    }

    fn new_number(&mut self, sn: u32, piece: Piece, missing: u32, restart: bool) -> Placed {
        if piece.length > 0 && piece.last && piece.start == 0 {
            self.usual = piece.length;
        }
        let half = self.modulus / 2;
        for number in 0..missing {
            let lost = sn.wrapping_sub(missing - number) & (self.modulus - 1);
            self.insert(lost, Known::unseen(self.offset, self.usual, (self.number, self.epoch)), half);
            self.offset += i64::from(self.usual);
            self.number += 1;
        }
        self.insert(sn, Known::new(self.offset, &piece, (self.number, self.epoch)), half);
        let placed = Placed {
            offset: self.offset + i64::from(piece.start),
            number: self.number,
            epoch: self.epoch,
            attempt: 0,
            missing,
            restart,
        };
        self.number += 1;
        self.offset += i64::from(piece.start) + i64::from(piece.length);
        self.next = Some((sn + 1) & (self.modulus - 1));
        placed
    }

    fn insert(&mut self, sn: u32, known: Known, half: u32) {
        self.known.insert(sn, known);
        self.known.remove(&(sn.wrapping_sub(half) & (self.modulus - 1)));
    }

    /// As [`RlcDirection::send`] does, of a further segment of the newest SDU: the stream grows by it.
    pub(crate) fn grow(&mut self, piece: &Piece) {
        let newest = self.next.map(|next| next.wrapping_sub(1) & (self.modulus - 1));
        if newest != Some(piece.sn % self.modulus) {
            return;
        }
        if let Some(known) = self.known.get(&(piece.sn % self.modulus)) {
            self.offset = self.offset.max(known.offset + i64::from(known.reach));
        }
    }
}

impl Known {
    fn new(offset: i64, piece: &Piece, (number, epoch): (i64, i32)) -> Self {
        let reach = piece.start.saturating_add(piece.length);
        let first = if piece.start == 0 { (piece.length, piece.hash) } else { (0, 0) };
        Known {
            offset,
            reach,
            whole: piece.last,
            upto: reach,
            attempt: 0,
            first,
            number,
            epoch,
            asked: false,
            received: Vec::new(),
        }
    }

    fn unseen(offset: i64, length: u32, (number, epoch): (i64, i32)) -> Self {
        Known {
            offset,
            reach: length,
            whole: false,
            upto: length,
            attempt: 0,
            first: (0, 0),
            number,
            epoch,
            asked: false,
            received: Vec::new(),
        }
    }

    /// Whether a piece can be of the same PDU: the same bytes, or a part of as many.
    fn is_same(&self, piece: &Piece) -> bool {
        let end = piece.start.saturating_add(piece.length);
        if piece.start == 0 && self.first.0 == piece.length && self.first.0 > 0 {
            return self.first.1 == piece.hash;
        }
        // Only a part may be shorter: a whole one is as long as it was.
        let whole = piece.start == 0 && piece.last;
        !self.whole || (end <= self.reach && (!whole || end == self.reach))
    }

    fn again(&mut self, piece: &Piece) -> Placed {
        let end = piece.start.saturating_add(piece.length);
        let placed = |known: &Known, attempt| Placed {
            offset: known.offset + i64::from(piece.start),
            number: known.number,
            epoch: known.epoch,
            attempt,
            missing: 0,
            restart: false,
        };
        self.whole |= piece.last;
        if self.first.0 == 0 && piece.start == 0 {
            self.first = (piece.length, piece.hash);
        }
        if piece.start >= self.reach {
            // A further segment, for the first time.
            self.reach = end;
            self.upto = end;
            return placed(self, 0);
        }
        if piece.start < self.upto {
            self.attempt = self.attempt.saturating_add(1);
        }
        self.upto = end;
        self.reach = self.reach.max(end);
        placed(self, self.attempt.max(1))
    }
}

#[cfg(test)]
mod tests;
