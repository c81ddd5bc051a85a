//! The rows that every reader of a link makes: frames that carry data, and everything else.

use crate::text::found::{Columns, columns};

/// Frame and event types; the position is the code in the column. `opaque` is what is not known.
pub const KINDS: [&str; 22] = [
    "opaque",
    "RR",
    "RNR",
    "REJ",
    "SREJ",
    "SABM",
    "UA",
    "DISC",
    "DM",
    "NULL",
    "UI",
    "XID",
    "TEST",
    "REMAP",
    "reset",
    "drop",
    "call_dropped",
    "discard",
    "damaged",
    "desync",
    "resync",
    "unseen",
];

/// Causes of a reset; the position is the code in the column. `other` is what has no word here.
pub const CAUSES: [&str; 9] =
    ["", "n2", "protocol", "peer", "deauth", "roam", "handover", "reestablishment", "other"];

/// Information frames, one row per sending and reception; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Frames {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub action: Vec<i8>,
    pub ns: Vec<i32>,
    pub offset: Vec<i64>,
    pub length: Vec<i32>,
    pub attempt: Vec<i16>,
    pub duplicate: Vec<i8>,
    pub nr: Vec<i32>,
    pub poll: Vec<i8>,
}

/// Everything else; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Events {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub action: Vec<i8>,
    pub kind: Vec<i8>,
    pub nr: Vec<i32>,
    pub cause: Vec<i8>,
    pub flush_tx: Vec<i64>,
    pub flush_rx: Vec<i64>,
    pub length: Vec<i32>,
    /// 1: command with the P bit; 2: response with the F bit.
    pub poll: Vec<i8>,
}

impl Frames {
    /// All columns by name.
    pub fn into_columns(self) -> Columns {
        columns!(self; t_ns, record, entity, action, ns, offset, length, attempt, duplicate, nr, poll)
    }
}

impl Events {
    /// All columns by name; readers of links without P and F bits leave `poll` out.
    pub fn into_columns(mut self) -> Columns {
        self.poll.resize(self.t_ns.len(), 0);
        columns!(self; t_ns, record, entity, action, kind, nr, cause, flush_tx, flush_rx, length, poll)
    }
}

/// What a side of the link sent.
pub(crate) const SND: i8 = 0;
/// What a side of the link received.
pub(crate) const RCV: i8 = 1;
/// What happened at a side of the link.
pub(crate) const EVT: i8 = 2;

/// A row of [`Frames`]; what a reader does not say is absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameRow {
    pub(crate) t_ns: i64,
    pub(crate) record: i64,
    pub(crate) entity: i16,
    pub(crate) action: i8,
    pub(crate) ns: i32,
    pub(crate) offset: i64,
    pub(crate) length: i32,
    pub(crate) attempt: i16,
    pub(crate) duplicate: i8,
    pub(crate) nr: i32,
    pub(crate) poll: i8,
}

impl FrameRow {
    /// A frame at a time and a record, sent or received by an entity, of which nothing else is known.
    #[inline]
    pub(crate) fn new(at: (i64, i64), entity: i16, action: i8) -> Self {
        FrameRow {
            t_ns: at.0,
            record: at.1,
            entity,
            action,
            ns: -1,
            offset: -1,
            length: -1,
            attempt: 0,
            duplicate: 0,
            nr: -1,
            poll: 0,
        }
    }
}

impl Frames {
    #[inline]
    pub(crate) fn push(&mut self, row: FrameRow) {
        self.t_ns.push(row.t_ns);
        self.record.push(row.record);
        self.entity.push(row.entity);
        self.action.push(row.action);
        self.ns.push(row.ns);
        self.offset.push(row.offset);
        self.length.push(row.length);
        self.attempt.push(row.attempt);
        self.duplicate.push(row.duplicate);
        self.nr.push(row.nr);
        self.poll.push(row.poll);
    }
}

/// A row of [`Events`]; what a reader does not say is absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub(crate) t_ns: i64,
    pub(crate) record: i64,
    pub(crate) entity: i16,
    pub(crate) action: i8,
    pub(crate) kind: i8,
    pub(crate) nr: i32,
    pub(crate) cause: i8,
    pub(crate) flush_tx: i64,
    pub(crate) flush_rx: i64,
    pub(crate) length: i32,
    pub(crate) poll: i8,
}

impl EventRow {
    /// An event of a kind at a time and a record, of which nothing else is known.
    #[inline]
    pub(crate) fn new(at: (i64, i64), entity: i16, action: i8, kind: i8) -> Self {
        EventRow {
            t_ns: at.0,
            record: at.1,
            entity,
            action,
            kind,
            nr: -1,
            cause: 0,
            flush_tx: -1,
            flush_rx: -1,
            length: -1,
            poll: 0,
        }
    }
}

impl Events {
    #[inline]
    pub(crate) fn push(&mut self, row: EventRow) {
        self.t_ns.push(row.t_ns);
        self.record.push(row.record);
        self.entity.push(row.entity);
        self.action.push(row.action);
        self.kind.push(row.kind);
        self.nr.push(row.nr);
        self.cause.push(row.cause);
        self.flush_tx.push(row.flush_tx);
        self.flush_rx.push(row.flush_rx);
        self.length.push(row.length);
        self.poll.push(row.poll);
    }
}

/// Code of a kind of event; `opaque` for an unknown word.
pub(crate) fn kind_code(word: &[u8]) -> i8 {
    KINDS.iter().position(|known| known.as_bytes() == word).unwrap_or(0) as i8
}

/// Code of a cause of a reset; `other` for an unknown word.
pub(crate) fn cause_code(word: &[u8]) -> i8 {
    CAUSES.iter().position(|known| known.as_bytes() == word).unwrap_or(CAUSES.len() - 1) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_their_place() {
        for (code, word) in KINDS.iter().enumerate() {
            assert_eq!(kind_code(word.as_bytes()), code as i8);
        }
        for (code, word) in CAUSES.iter().enumerate() {
            assert_eq!(cause_code(word.as_bytes()), code as i8);
        }
        assert_eq!(
            (KINDS[kind_code(b"HELLO") as usize], CAUSES[cause_code(b"sabm") as usize]),
            ("opaque", "other")
        );
    }

    #[test]
    fn every_row_fills_every_column() {
        let (mut frames, mut events) = (Frames::default(), Events::default());
        frames.push(FrameRow { length: 7, poll: 1, ..FrameRow::new((5, 3), 1, SND) });
        events.push(EventRow {
            cause: cause_code(b"n2"),
            ..EventRow::new((6, 4), 0, EVT, kind_code(b"reset"))
        });
        let expected = Frames {
            t_ns: vec![5],
            record: vec![3],
            entity: vec![1],
            action: vec![0],
            ns: vec![-1],
            offset: vec![-1],
            length: vec![7],
            attempt: vec![0],
            duplicate: vec![0],
            nr: vec![-1],
            poll: vec![1],
        };
        assert_eq!(frames, expected);
        assert_eq!((events.kind[0], events.cause[0], events.poll.len()), (14, 1, 1));
    }
}
