//! What RLC itself knows of every PDU: its number counted on across wraps and new starts, what a report says of
//! which, and whether a PDU was cut again.

/// A data PDU, or a segment of one.
pub const DATA: i8 = 0;
/// A status report.
pub const STATUS: i8 = 1;
/// One NACK of the report before it.
pub const NACK: i8 = 2;

/// PDUs and what reports say of them, one row each; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Pdus {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub action: Vec<i8>,
    pub kind: Vec<i8>,
    /// Data: its place in the order in which its sender numbered; status: the first that is not acknowledged
    /// yet; NACK: the one that is missing.
    pub number: Vec<i64>,
    /// New starts of the numbering before it.
    pub epoch: Vec<i32>,
    /// First byte within its PDU or SDU; of a NACK, -1 for the whole.
    pub start: Vec<i32>,
    /// Bytes; of a NACK, how many PDUs.
    pub length: Vec<i32>,
    pub last: Vec<i8>,
    pub poll: Vec<i8>,
    /// It is a segment.
    pub part: Vec<i8>,
    pub attempt: Vec<i16>,
    pub duplicate: Vec<i8>,
    /// First byte in the stream of its direction.
    pub offset: Vec<i64>,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PduRow {
    pub(crate) at: (i64, i64),
    pub(crate) entity: usize,
    pub(crate) action: i8,
    pub(crate) kind: i8,
    pub(crate) number: i64,
    pub(crate) epoch: i32,
    pub(crate) start: i32,
    pub(crate) length: u32,
    pub(crate) last: bool,
    pub(crate) poll: bool,
    pub(crate) part: bool,
    pub(crate) attempt: i16,
    pub(crate) duplicate: bool,
    pub(crate) offset: i64,
}

impl PduRow {
    /// A row of which nothing is known but who sent or received what, and when.
    pub(crate) fn new(at: (i64, i64), entity: usize, action: i8, kind: i8) -> Self {
        PduRow {
            at,
            entity,
            action,
            kind,
            number: -1,
            epoch: 0,
            start: -1,
            length: 0,
            last: false,
            poll: false,
            part: false,
            attempt: 0,
            duplicate: false,
            offset: -1,
        }
    }
}

impl Pdus {
    pub(crate) fn push(&mut self, row: PduRow) {
        self.t_ns.push(row.at.0);
        self.record.push(row.at.1);
        self.entity.push(row.entity as i16);
        self.action.push(row.action);
        self.kind.push(row.kind);
        self.number.push(row.number);
        self.epoch.push(row.epoch);
        self.start.push(row.start);
        self.length.push(row.length.min(i32::MAX as u32) as i32);
        self.last.push(i8::from(row.last));
        self.poll.push(i8::from(row.poll));
        self.part.push(i8::from(row.part));
        self.attempt.push(row.attempt);
        self.duplicate.push(i8::from(row.duplicate));
        self.offset.push(row.offset);
    }
}
