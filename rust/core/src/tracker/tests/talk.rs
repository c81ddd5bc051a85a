//! A conversation written segment by segment.

use super::*;
use crate::segment::{Address, Checksum, Options, flags};

pub(super) const MS: i64 = 1_000_000;

/// Writes a conversation between a client that sends (A) and a server (B).
pub(super) struct Talk {
    pub(super) tracker: Tracker,
    pub(super) record: u64,
    pub(super) isn_a: u32,
    pub(super) isn_b: u32,
    pub(super) timestamps: bool,
    /// Both hosts number their packets from one counter; else all numbers are zero.
    pub(super) ids: bool,
    /// In the packets of B.
    pub(super) ttl_b: u8,
    /// MSS that both announce, options included (RFC 6691 section 2).
    pub(super) mss: u16,
}

impl Talk {
    pub(super) fn new(isn_a: u32) -> Self {
        let tracker = Tracker::new(true);
        Talk { tracker, record: 0, isn_a, isn_b: 9000, timestamps: false, ids: true, ttl_b: 64, mss: 1000 }
    }

    pub(super) fn blank(&mut self, t_ms: i64, from_a: bool) -> Segment {
        self.record += 1;
        let a = (Address::v4([10, 0, 0, 1]), 40000);
        let b = (Address::v4([10, 0, 0, 2]), 80);
        Segment {
            t_ns: t_ms * MS,
            record: self.record,
            source: if from_a { a } else { b },
            destination: if from_a { b } else { a },
            seq: 0,
            ack: 0,
            flags: flags::ACK,
            window: 60000,
            length: 0,
            ip_length: 40,
            ip_id: if self.ids { self.record as u16 } else { 0 },
            ttl: if from_a { 64 } else { self.ttl_b },
            ecn: 0,
            checksum: Checksum::Good,
            options: Options { complete: true, ..Options::default() },
        }
    }

    /// A segment at so many nanoseconds, as `fill` has it.
    pub(super) fn pass(&mut self, t_ns: i64, from_a: bool, fill: &dyn Fn(&mut Segment)) {
        let mut segment = self.blank(0, from_a);
        segment.t_ns = t_ns;
        fill(&mut segment);
        self.tracker.segment(&segment);
    }

    pub(super) fn handshake(&mut self, sack: bool) {
        self.handshake_from(sack, 0);
    }

    /// The same where the sender's answer takes so long.
    pub(super) fn handshake_from(&mut self, sack: bool, near_ms: i64) {
        let mut syn = self.blank(0, true);
        (syn.seq, syn.flags) = (self.isn_a, flags::SYN);
        syn.options.mss = Some(self.mss);
        syn.options.sack_permitted = sack;
        let mut answer = self.blank(100, false);
        (answer.seq, answer.ack, answer.flags) =
            (self.isn_b, self.isn_a.wrapping_add(1), flags::SYN | flags::ACK);
        answer.options.mss = Some(self.mss);
        answer.options.sack_permitted = sack;
        if self.timestamps {
            syn.options.timestamps = Some((0, 0));
            answer.options.timestamps = Some((100, 0));
        }
        self.tracker.segment(&syn);
        self.tracker.segment(&answer);
        let mut third = self.blank(100 + near_ms, true);
        (third.seq, third.ack) = (self.isn_a.wrapping_add(1), self.isn_b.wrapping_add(1));
        self.tracker.segment(&third);
    }

    /// A sends payload from relative `seq`.
    pub(super) fn data(&mut self, t_ms: i64, seq: i64, length: u32) {
        self.data_echo(t_ms, seq, length, 0);
    }

    /// The same, echoing `echo_ms`.
    pub(super) fn data_echo(&mut self, t_ms: i64, seq: i64, length: u32, echo_ms: i64) {
        let mut s = self.blank(t_ms, true);
        s.seq = self.isn_a.wrapping_add(seq as u32);
        s.ack = self.isn_b.wrapping_add(1);
        s.length = length;
        if self.timestamps {
            s.options.timestamps = Some((t_ms as u32, echo_ms as u32));
        }
        self.tracker.segment(&s);
    }

    /// B acknowledges up to relative `ack`.
    pub(super) fn ack(&mut self, t_ms: i64, ack: i64, sack: &[(i64, i64)]) {
        self.ack_echo(t_ms, ack, sack, t_ms - 100);
    }

    pub(super) fn ack_echo(&mut self, t_ms: i64, ack: i64, sack: &[(i64, i64)], echo_ms: i64) {
        let mut s = self.blank(t_ms, false);
        s.seq = self.isn_b.wrapping_add(1);
        s.ack = self.isn_a.wrapping_add(ack as u32);
        for (slot, &(l, r)) in s.options.sack.iter_mut().zip(sack) {
            *slot = (self.isn_a.wrapping_add(l as u32), self.isn_a.wrapping_add(r as u32));
        }
        s.options.sack_count = sack.len() as u8;
        if self.timestamps {
            s.options.timestamps = Some((t_ms as u32, echo_ms as u32));
        }
        self.tracker.segment(&s);
    }

    pub(super) fn done(self) -> (Vec<Connection>, Columns) {
        let (connections, columns) = self.tracker.finish(&mut Issues::default());
        (connections, columns.expect("segments were asked for"))
    }
}

pub(super) fn causes_of(connection: &Connection) -> Vec<Cause> {
    connection.senders[0].retransmissions().iter().map(|r| r.cause).collect()
}

/// Ten segments, acknowledged one by one 100 ms later: the estimator settles.
pub(super) fn warm_up(talk: &mut Talk) -> i64 {
    for i in 0..10 {
        talk.data(200 + 200 * i, 1 + 1000 * i, 1000);
        talk.ack(300 + 200 * i, 1001 + 1000 * i, &[]);
    }
    10_001
}
