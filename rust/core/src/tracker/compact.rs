//! A connection as few bytes, and back: what of it is only numbers, relative to when it began.
//!
//! One walk over the fields serves both ways, so that they cannot differ; it names every field, so that a new one is
//! not forgotten.

mod numbers;

use super::arrivals::Books;
use super::connection::Connection;
use super::damaged::Damaged;
use super::fields::{Fields, MaybeTime, Time, Walk, walk_answers, walk_over};
use super::flow::Endpoint;
use super::history::History;
use super::newreno::NewReno;
use super::outcome::{State, Totals};
use super::rows::Repetitions;
use super::rtt::RttStatistics;
use super::sender::Sender;
use super::sequence::Unwrapper;
use super::timeout::Timeout;
use crate::segment::Address;
use numbers::{ROOM, Reader, Writer};

/// Runs of a connection up to which it is packed: of most that nobody sends on there are none.
const FEW: usize = 32;
/// The end of no connection.
const NOBODY: Endpoint = (Address([0; 16]), 0);

impl Fields for Address {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let number = u128::from_be_bytes(self.0);
        let (mut high, mut low) = ((number >> 64) as i64, number as i64);
        walk_over!(walk: &mut high, &mut low);
        self.0 = (u128::from(high as u64) << 64 | u128::from(low as u64)).to_be_bytes();
    }
}

impl Fields for State {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let mut place = *self as i64;
        walk.number(&mut place);
        *self = match place {
            1 => State::Recovery,
            2 => State::Loss,
            _ => State::Open,
        };
    }
}

impl Default for Unwrapper {
    fn default() -> Self {
        Unwrapper::new(0)
    }
}

impl Fields for Unwrapper {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Unwrapper { base } = self;
        base.walk(walk);
    }
}

impl Fields for RttStatistics {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let RttStatistics { count, min_ns, max_ns, sum_ns, first_ns } = self;
        walk_over!(walk: count, min_ns, max_ns, sum_ns, first_ns);
    }
}

impl Fields for Totals {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Totals {
            segments,
            data_segments,
            data_bytes,
            duplicate_bytes,
            probe_segments,
            new_data_probes,
            out_of_order,
            retransmissions,
            syn,
            fin,
            rst,
            last_rst_ns,
            corrupted,
            good_checksums,
            bad_checksums,
            duplicate_acks,
            sack_segments,
            dsacks,
            dsack_segments,
            zero_windows,
            window_updates,
            max_flight,
            max_window,
            ece,
            ce,
            cwr,
            counts_marks,
            rst_ttl,
            first_data_ns,
            last_data_ns,
            last_advance_ns,
        } = self;
        walk_over!(walk: segments, data_segments, data_bytes, syn, fin, rst, good_checksums, bad_checksums);
        walk_over!(walk: max_flight, max_window, &mut MaybeTime(first_data_ns), &mut MaybeTime(last_data_ns));
        walk_over!(walk: &mut MaybeTime(last_advance_ns), window_updates, zero_windows, duplicate_acks);
        walk_over!(walk: duplicate_bytes, probe_segments, new_data_probes, out_of_order, retransmissions);
        walk_over!(walk: corrupted, sack_segments, dsacks, dsack_segments, ece, ce, cwr, counts_marks, rst_ttl);
        MaybeTime(last_rst_ns).walk(walk);
    }
}

impl Fields for Sender {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Sender {
            space,
            isn,
            totals,
            rtt,
            timeouts: _,        // in `Beside`
            retransmissions: _, // in `Beside`
            sums_up: _,         // as all do that are held
            mss,
            window_scale,
            window_shift,
            sack_permitted,
            timestamps,
            largest_segment,
            largest_options,
            snd_una,
            snd_max,
            outstanding,
            sent,
            sacked,
            fin_seq,
            state,
            recover,
            episode,
            expiries,
            rto,
            timer_start_ns,
            last_out_ns,
            last_in_ns,
            last_in_news,
            last_in_syn,
            probe_out,
            probe_high,
            dupacks,
            rack_ns,
            last_window_raw,
            probe_byte,
            ts_last,
            ts_first,
            ts_head_before,
            history: _, // in `Beside`
            newreno: _, // in `Beside`
            ids,
            books: _,   // in `Beside`
            damaged: _, // in `Beside`
            ttl,
            first_left_out,
            options_cut,
            closures,
            path,
        } = self;
        walk_over!(walk: space, isn, totals, rtt, mss, window_scale, window_shift, sack_permitted, timestamps);
        walk_over!(walk: largest_segment, largest_options, snd_una, snd_max, outstanding, sent, sacked, fin_seq, rto);
        walk_over!(walk: &mut Time(timer_start_ns), &mut MaybeTime(last_out_ns), &mut MaybeTime(last_in_ns));
        walk_over!(walk: last_window_raw, &mut Time(rack_ns), ts_last, ts_first);
        walk_over!(walk: ts_head_before, state, recover, episode, expiries, probe_high, dupacks);
        walk_answers(walk, [last_in_news, last_in_syn, probe_out, first_left_out, options_cut]);
        walk_over!(walk: probe_byte, ids, ttl, closures, path);
    }
}

impl Fields for Connection {
    fn walk<W: Walk>(&mut self, walk: &mut W) {
        let Connection { endpoints, first_ns, last_ns, senders, exchanges } = self;
        walk_head(walk, first_ns, last_ns, endpoints);
        walk_over!(walk: senders, exchanges);
    }
}

/// What is asked of one that is packed without unpacking it.
fn walk_head<W: Walk>(walk: &mut W, first_ns: &mut i64, last_ns: &mut i64, endpoints: &mut [Endpoint; 2]) {
    walk.origin(first_ns);
    walk_over!(walk: &mut Time(last_ns), endpoints);
}

/// What of a direction is no number, and there only if something was lost or reordered.
#[derive(Debug, Clone, Default)]
struct Beside {
    timeouts: Vec<Timeout>,
    retransmissions: Repetitions,
    history: Option<Box<History>>,
    newreno: Option<Box<NewReno>>,
    books: Option<Box<Books>>,
    damaged: Option<Box<Damaged>>,
}

impl Beside {
    fn take(sender: &mut Sender) -> Self {
        Beside {
            timeouts: std::mem::take(&mut sender.timeouts),
            retransmissions: std::mem::take(&mut sender.retransmissions),
            history: sender.history.take(),
            newreno: sender.newreno.take(),
            books: sender.books.take(),
            damaged: sender.damaged.take(),
        }
    }

    fn give_back(self, sender: &mut Sender) {
        sender.timeouts = self.timeouts;
        sender.retransmissions = self.retransmissions;
        sender.history = self.history;
        sender.newreno = self.newreno;
        sender.books = self.books;
        sender.damaged = self.damaged;
    }
}

/// Where a connection is put together.
pub(super) struct Scratch(Box<[u8; ROOM]>);

impl Default for Scratch {
    fn default() -> Self {
        Scratch(Box::new([0; ROOM]))
    }
}

/// A connection that is packed.
pub(super) struct Packed {
    bytes: Box<[u8]>,
    beside: Option<Box<[Beside; 2]>>,
    /// Whether it went on for long enough to be compared with others.
    pub(super) comparable: bool,
}

impl Packed {
    /// Pack a connection, unless too much of it is in runs; what is left in its place is of no use then.
    pub(super) fn from(connection: &mut Connection, scratch: &mut Scratch) -> Option<Self> {
        let runs = |sender: &Sender| sender.outstanding.len() + sender.sent.len() + sender.sacked.len();
        if connection.senders.iter().map(runs).sum::<usize>() > FEW {
            return None;
        }
        let comparable = connection.senders.iter().any(|s| s.path.as_ref().is_some_and(|p| p.comparable()));
        let mut writer = Writer::new(&mut scratch.0);
        connection.walk(&mut writer);
        let bytes = writer.finish().into();
        let eventful = |sender: &Sender| {
            sender.history.is_some()
                || sender.newreno.is_some()
                || sender.books.is_some()
                || sender.damaged.is_some()
                || !sender.timeouts.is_empty()
                || sender.retransmissions.len() > 0
        };
        let beside = connection
            .senders
            .iter()
            .any(eventful)
            .then(|| Box::new(connection.senders.each_mut().map(Beside::take)));
        Some(Packed { bytes, beside, comparable })
    }

    /// Bytes that its numbers take.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The time of its last segment, and its ends.
    pub(super) fn head(&self) -> (i64, [Endpoint; 2]) {
        let (mut first_ns, mut last_ns, mut endpoints) = (0, 0, [NOBODY; 2]);
        walk_head(&mut Reader::new(&self.bytes), &mut first_ns, &mut last_ns, &mut endpoints);
        (last_ns, endpoints)
    }

    /// The connection, in the place of another.
    pub(super) fn unpack_into(self, connection: &mut Connection) {
        connection.walk(&mut Reader::new(&self.bytes));
        let [first, second] = self.beside.map_or_else(Default::default, |beside| *beside);
        first.give_back(&mut connection.senders[0]);
        second.give_back(&mut connection.senders[1]);
    }

    /// A copy of it, in the place of another.
    pub(super) fn copy_into(&self, connection: &mut Connection) {
        connection.walk(&mut Reader::new(&self.bytes));
        let [first, second] = self.beside.as_deref().cloned().unwrap_or_default();
        first.give_back(&mut connection.senders[0]);
        second.give_back(&mut connection.senders[1]);
    }
}

impl Connection {
    /// One of nobody, to be unpacked into.
    pub(super) fn blank() -> Self {
        Connection {
            endpoints: [NOBODY; 2],
            first_ns: 0,
            last_ns: 0,
            senders: [Sender::default(), Sender::default()],
            exchanges: None,
        }
    }
}

#[cfg(test)]
mod tests;
