//! All connections of a capture: those that are heard of lately ready to hand, the others, if wanted, packed.
//!
//! A connection ready to be tracked takes two kilobytes; packed, one of a few packets takes some two hundred bytes. In
//! a capture of hundreds of thousands, few are heard of at a time.

use super::compact::{Packed, Scratch};
use super::connection::Connection;
use super::flow::Endpoint;
use super::sender::Sender;
use crate::segment::Segment;
use std::cmp::Reverse;

/// How many are held ready at first: as much as a cache holds.
const READY: usize = 1024;

/// The number of a place that holds none.
const NOBODY: u32 = u32::MAX;

/// Where a connection is.
enum Place {
    /// Its place among those held ready.
    Ready(u32),
    /// Packed, and whether there is something to report of it.
    Packed(Packed, bool),
}

/// Connections by their number, in order of their first segment.
#[derive(Default)]
pub struct ConnectionStore {
    /// Room for all that are held at first is reserved at once: the system gives no memory for it before it is used, and
    /// none has to move when more come.
    ready: Vec<Connection>,
    /// The numbers of those held ready, or [`NOBODY`]; empty where none is ever packed.
    numbers: Vec<u32>,
    /// Places whose connections were packed.
    vacant: Vec<u32>,
    /// Where each is; empty where none is ever packed: then the number is the place.
    places: Vec<Place>,
    /// How many are held ready before some are packed; `None`: all.
    limit: Option<usize>,
    /// No tables will be asked for.
    sums_up: bool,
    /// How many were unpacked since some were packed.
    unpacked: usize,
    /// Whether places changed since that was asked last.
    moved: bool,
    /// Whether any was unpacked, or numbers changed, since that was asked last.
    woken: bool,
    /// Whether any were given up, of which `overview` still knows.
    forgot: bool,
    scratch: Scratch,
    /// Of those that were packed.
    overview: Overview,
}

/// What is asked of all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overview {
    /// Time of the first segment of all.
    pub first_ns: Option<i64>,
    /// Most payload in one direction, and of the connections that sent it the first.
    pub largest: Option<(u64, usize)>,
}

impl Overview {
    fn take_in(&mut self, index: usize, connection: &Connection) {
        let first_ns =
            self.first_ns.map_or(connection.first_ns, |first_ns| first_ns.min(connection.first_ns));
        self.first_ns = Some(first_ns);
        let sent = connection.senders.iter().map(|sender| sender.totals.data_bytes).max().unwrap_or(0);
        self.rank(sent, index);
    }

    fn rank(&mut self, sent: u64, index: usize) {
        let most = |(known, at): (u64, usize)| known > sent || (known == sent && at <= index);
        if !self.largest.is_some_and(most) {
            self.largest = Some((sent, index));
        }
    }
}

impl From<Vec<Connection>> for ConnectionStore {
    fn from(ready: Vec<Connection>) -> Self {
        ConnectionStore { ready, ..ConnectionStore::default() }
    }
}

impl ConnectionStore {
    /// One that packs what is not heard of for longest.
    pub(super) fn compacting() -> Self {
        ConnectionStore { ready: Vec::with_capacity(READY), limit: Some(READY), ..ConnectionStore::default() }
    }

    /// The same for a summary, of which it is one of so many parts.
    pub(super) fn summing_up(parts: usize) -> Self {
        let limit = READY / parts.max(1);
        let ready = Vec::with_capacity(limit);
        ConnectionStore { ready, sums_up: true, limit: Some(limit), ..ConnectionStore::default() }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        if self.limit.is_some() { self.places.len() } else { self.ready.len() }
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, of a store that packs none.
    pub fn as_slice(&self) -> &[Connection] {
        &self.ready
    }

    /// One that is held ready, by its place.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> Option<&Connection> {
        self.ready.get(place)
    }

    /// The same, to change.
    #[inline(always)]
    pub(super) fn at_mut(&mut self, place: usize) -> &mut Connection {
        &mut self.ready[place]
    }

    /// A new one that begins with `segment`; its number, and its place.
    pub(super) fn push(&mut self, segment: &Segment) -> (u32, usize) {
        let number = self.len() as u32;
        if self.limit.is_none() {
            self.ready.push(Connection::new(segment));
            return (number, number as usize);
        }
        let place = match self.vacancy() {
            Some(place) => {
                self.ready[place].renew(segment);
                self.numbers[place] = number;
                place
            }
            None => {
                self.ready.push(Connection::new(segment));
                self.numbers.push(number);
                self.ready.len() - 1
            }
        };
        self.ready[place].sum_up(self.sums_up);
        self.places.push(Place::Ready(place as u32));
        (number, place)
    }

    /// The place of one by its number; it is unpacked if need be.
    pub(super) fn place_of(&mut self, number: u32) -> usize {
        if self.limit.is_none() {
            return number as usize;
        }
        if let Place::Ready(place) = self.places[number as usize] {
            return place as usize;
        }
        let place = self.vacancy().unwrap_or_else(|| {
            self.ready.push(Connection::blank());
            self.numbers.push(NOBODY);
            self.ready.len() - 1
        });
        if let Place::Packed(packed, _) =
            std::mem::replace(&mut self.places[number as usize], Place::Ready(place as u32))
        {
            packed.unpack_into(&mut self.ready[place]);
            self.ready[place].sum_up(self.sums_up);
            self.numbers[place] = number;
            self.unpacked += 1;
            self.woken = true;
        }
        place
    }

    /// Whether places changed since that was asked last.
    #[inline]
    pub(super) fn moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// Whether what was known of those packed may have changed since that was asked last.
    pub fn woken(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    /// Whether one is packed: as long as none is [woken](Self::woken), it stays as it is.
    pub fn is_packed(&self, number: usize) -> bool {
        matches!(self.places.get(number), Some(Place::Packed(..)))
    }

    /// When one was heard of last, and its ends.
    pub(super) fn head(&self, number: usize) -> (i64, [Endpoint; 2]) {
        match self.places.get(number) {
            Some(Place::Packed(packed, _)) => packed.head(),
            _ => self.with(number, |connection| (connection.last_ns, connection.endpoints)),
        }
    }

    /// Of a store that packs, give up all but the `keep` that were heard of last, after a look at each. Those kept
    /// are numbered anew, in their order; their old numbers.
    pub(super) fn forget(&mut self, keep: usize, mut over: impl FnMut(&Connection)) -> Vec<u32> {
        let mut kept: Vec<u32> = (0..self.places.len() as u32).collect();
        if keep < kept.len() {
            let last_ns: Vec<i64> = (0..kept.len()).map(|number| self.head(number).0).collect();
            kept.select_nth_unstable_by_key(keep, |&number| Reverse(last_ns[number as usize]));
            kept.truncate(keep);
            kept.sort_unstable();
        }
        let mut is_kept = vec![false; self.places.len()];
        kept.iter().for_each(|&number| is_kept[number as usize] = true);
        self.each((0..is_kept.len()).filter(|&number| !is_kept[number]), |_, connection| over(connection));
        for (place, is_kept) in std::mem::take(&mut self.places).into_iter().zip(is_kept) {
            match place {
                Place::Ready(at) if is_kept => self.numbers[at as usize] = self.places.len() as u32,
                Place::Ready(at) => {
                    self.ready[at as usize] = Connection::blank();
                    self.numbers[at as usize] = NOBODY;
                    self.vacant.push(at);
                }
                Place::Packed(..) => {}
            }
            if is_kept {
                self.places.push(place);
            }
        }
        (self.moved, self.woken, self.forgot) = (true, true, true);
        kept
    }

    /// What one says, by its number.
    pub fn with<R>(&self, number: usize, look: impl FnOnce(&Connection) -> R) -> R {
        match self.places.get(number) {
            None => look(&self.ready[number]),
            Some(Place::Ready(place)) => look(&self.ready[*place as usize]),
            Some(Place::Packed(packed, _)) => {
                let mut connection = Connection::blank();
                packed.copy_into(&mut connection);
                look(&connection)
            }
        }
    }

    /// What some of them say, in order.
    pub fn each(&self, numbers: impl IntoIterator<Item = usize>, mut look: impl FnMut(usize, &Connection)) {
        let mut copy = Connection::blank();
        for number in numbers {
            match self.places.get(number) {
                None => look(number, &self.ready[number]),
                Some(Place::Ready(place)) => look(number, &self.ready[*place as usize]),
                Some(Place::Packed(packed, _)) => {
                    packed.copy_into(&mut copy);
                    look(number, &copy);
                }
            }
        }
    }

    /// Those of which there is something to report, in order.
    pub(super) fn each_remarkable(&self, mut look: impl FnMut(&Connection)) {
        let remarkable = |number: &usize| !matches!(self.places.get(*number), Some(Place::Packed(_, false)));
        self.each((0..self.len()).filter(remarkable), |_, connection| look(connection));
    }

    /// Those that went on for long enough to be compared with others, and perhaps more, in order.
    pub(super) fn each_comparable(&self, look: impl FnMut(usize, &Connection)) {
        let long = |number: &usize| !matches!(self.places.get(*number), Some(Place::Packed(packed, _)) if !packed.comparable);
        self.each((0..self.len()).filter(long), look);
    }

    /// Change what is known of one.
    pub(super) fn note(&mut self, number: usize, change: impl FnOnce(&mut Connection)) {
        match self.places.get_mut(number) {
            None => change(&mut self.ready[number]),
            Some(Place::Ready(place)) => change(&mut self.ready[*place as usize]),
            Some(Place::Packed(packed, _)) => {
                let mut connection = Connection::blank();
                packed.copy_into(&mut connection);
                change(&mut connection);
                if let Some(again) = Packed::from(&mut connection, &mut self.scratch) {
                    *packed = again;
                }
            }
        }
    }

    /// What is asked of all together.
    pub fn overview(&self) -> Overview {
        if self.forgot {
            let mut overview = Overview::default();
            self.each(0..self.len(), |number, connection| overview.take_in(number, connection));
            return overview;
        }
        let mut overview = self.overview;
        for (place, connection) in self.ready.iter().enumerate() {
            let number = self.numbers.get(place).map_or(place, |&number| number as usize);
            if number != NOBODY as usize {
                overview.take_in(number, connection);
            }
        }
        overview
    }

    /// All, unpacked.
    pub fn into_vec(mut self) -> Vec<Connection> {
        if self.limit.is_none() {
            return self.ready;
        }
        let mut ready: Vec<Option<Connection>> = self.ready.drain(..).map(Some).collect();
        let unpacked = self.places.into_iter().map(|place| match place {
            Place::Ready(place) => ready[place as usize].take(),
            Place::Packed(packed, _) => {
                let mut connection = Connection::blank();
                packed.unpack_into(&mut connection);
                Some(connection)
            }
        });
        unpacked.flatten().collect()
    }

    /// A place that may be used again; `None`: one more is to be held.
    #[inline]
    fn vacancy(&mut self) -> Option<usize> {
        if self.vacant.is_empty() && self.limit.is_some_and(|limit| self.ready.len() >= limit) {
            self.pack_half();
        }
        self.vacant.pop().map(|place| place as usize)
    }

    /// Pack the half that was not heard of for longest. All places are taken.
    #[cold]
    fn pack_half(&mut self) {
        let mut limit = self.limit.unwrap_or(usize::MAX);
        if self.unpacked > limit / 4 {
            // More take turns than are held: hold more, so that compacting costs little for each segment.
            limit *= 2;
        }
        self.unpacked = 0;
        self.moved = true;
        let mut order: Vec<(i64, u32)> =
            (0..).zip(&self.ready).map(|(place, c)| (c.last_ns, place)).collect();
        let half = order.len() / 2;
        order.select_nth_unstable(half);
        order.truncate(half);
        for (_, place) in order {
            self.pack(place as usize);
        }
        if self.vacant.len() < limit / 4 {
            limit *= 2;
        }
        self.limit = Some(limit);
    }

    fn pack(&mut self, place: usize) {
        let connection = &mut self.ready[place];
        let number = self.numbers[place] as usize;
        self.overview.take_in(number, connection);
        let remarkable = connection.misses_handshake() || connection.unseen_bytes() > 0;
        let Some(packed) = Packed::from(connection, &mut self.scratch) else { return };
        self.places[number] = Place::Packed(packed, remarkable);
        self.numbers[place] = NOBODY;
        self.vacant.push(place as u32);
    }
}

impl Connection {
    /// Another that begins with `segment`, with the room for runs that this one had.
    fn renew(&mut self, segment: &Segment) {
        let mut fresh = Connection::new(segment);
        for (old, new) in self.senders.iter_mut().zip(&mut fresh.senders) {
            std::mem::swap(&mut old.outstanding, &mut new.outstanding);
            std::mem::swap(&mut old.sent, &mut new.sent);
            std::mem::swap(&mut old.sacked, &mut new.sacked);
            new.outstanding.empty();
            new.sent.empty();
            new.sacked.empty();
        }
        *self = fresh;
    }

    /// Whether tables will be asked for.
    fn sum_up(&mut self, yes: bool) {
        self.senders.iter_mut().for_each(|sender| sender.sums_up = yes);
    }

    /// Bytes acknowledged that the capture never saw, although it saw both directions.
    pub(super) fn unseen_bytes(&self) -> i64 {
        let both = self.senders.iter().all(|sender| sender.totals.segments > 0);
        if both { self.senders.iter().map(Sender::unseen_bytes).sum() } else { 0 }
    }
}

mod joined;
#[cfg(test)]
mod tests;
