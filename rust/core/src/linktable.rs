//! The rows that every reader of a link makes: frames that carry data, and everything else.

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
    /// 1: command with the P bit; 2: response with the F bit. Left empty by readers of other links.
    pub poll: Vec<i8>,
}
