//! What ACKs ask for where there is no SACK: fast recovery repeats nothing but the first segment that is not
//! acknowledged, which an ACK names (RFC 6582). What none ever named is sent again after a timeout.

use super::books::Books;
use super::judge::DUPACK_THRESHOLD;
use crate::tracker::sender::Sender;
use std::collections::VecDeque;

/// Acknowledgment numbers remembered.
const ACKS: usize = 128;

/// An acknowledgment number that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    ack: i64,
    /// How often it came again.
    repeats: u32,
    /// When it had come again often enough to ask for a retransmission.
    called_ns: Option<i64>,
}

/// Acknowledgment numbers that passed lately, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Asks(VecDeque<Asked>);

/// What ACKs said of a sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Request {
    /// Too long ago, or no ACK was captured.
    #[default]
    Unknown,
    /// No ACK ever asked for it: it was not the first that was missing.
    Never,
    /// An ACK did; with its duplicates, if they were enough to call for it by then.
    Made { called: bool },
}

impl Asks {
    fn note(&mut self, t_ns: i64, ack: i64) {
        match self.0.back_mut() {
            Some(last) if ack < last.ack => {}
            Some(last) if ack == last.ack => {
                last.repeats = last.repeats.saturating_add(1);
                if last.repeats >= DUPACK_THRESHOLD as u32 {
                    last.called_ns.get_or_insert(t_ns);
                }
            }
            _ => {
                if self.0.len() >= ACKS {
                    self.0.pop_front();
                }
                self.0.push_back(Asked { ack, repeats: 0, called_ns: None });
            }
        }
    }

    fn request(&self, seq: i64, until_ns: i64) -> Request {
        if self.0.front().is_none_or(|first| seq < first.ack) {
            return Request::Unknown;
        }
        let place = self.0.partition_point(|asked| asked.ack < seq);
        match self.0.get(place) {
            Some(asked) if asked.ack == seq => {
                Request::Made { called: asked.called_ns.is_some_and(|called_ns| called_ns <= until_ns) }
            }
            _ => Request::Never,
        }
    }
}

impl Books {
    /// What ACKs had said of a sequence number until then.
    pub(super) fn request(&self, seq: i64, until_ns: i64) -> Request {
        self.asks.request(seq, until_ns)
    }
}

impl Sender {
    /// An ACK without data passed, after what it acknowledges was noted.
    #[inline(never)]
    pub(in crate::tracker) fn note_ask(&mut self, t_ns: i64) {
        let (una, sack) = (self.snd_una, self.sack_permitted);
        if let Some(books) = self.books.as_mut().filter(|_| !sack) {
            books.asks.note(t_ns, una);
        }
    }
}
