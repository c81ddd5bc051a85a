//! The segments table: one vector per column.

use super::sparse::Sparse;
use crate::segment::Segment;

/// What the tracker adds to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Row {
    pub direction: u8,
    pub seq: i64,
    pub ack: i64,
    pub window: i64,
    pub duplicate: u32,
    pub transmission: u16,
    pub cause: u8,
    pub ack_kind: u8,
    pub flight: i64,
    pub rtt_ns: i64,
    pub sack_high: i64,
}

/// Columns of the segments table, in the dtypes of the package's schema.
#[derive(Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Columns {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub conn: Vec<i32>,
    pub dir: Vec<i8>,
    pub seq: Vec<i64>,
    pub ack: Vec<i64>,
    pub length: Vec<i32>,
    pub flags: Vec<u16>,
    pub window: Vec<i32>,
    pub duplicate: Sparse<i32, 0>,
    pub transmission: Vec<i16>,
    pub cause: Vec<i8>,
    pub ack_kind: Vec<i8>,
    pub flight: Vec<i64>,
    pub rtt_ns: Vec<i64>,
    pub ts_val: Sparse<i64, -1>,
    pub ts_ecr: Sparse<i64, -1>,
    pub sack_high: Sparse<i64, -1>,
    pub sack_count: Sparse<i8, 0>,
    pub checksum: Vec<i8>,
    pub ip_length: Vec<i32>,
    pub ip_id: Vec<u16>,
    pub seq_raw: Vec<u32>,
    pub ack_raw: Vec<u32>,
}

impl Columns {
    /// Append a segment.
    pub fn push(&mut self, segment: &Segment, conn: u32, row: &Row) {
        let (ts_val, ts_ecr) =
            segment.options.timestamps.map_or((-1, -1), |(val, ecr)| (i64::from(val), i64::from(ecr)));
        self.t_ns.push(segment.t_ns);
        self.record.push(segment.record as i64);
        self.conn.push(conn as i32);
        self.dir.push(row.direction as i8);
        self.seq.push(row.seq);
        self.ack.push(row.ack);
        self.length.push(segment.length as i32);
        self.flags.push(segment.flags);
        // 16 bits, shifted by 14 at most.
        self.window.push(row.window as i32);
        self.duplicate.push(row.duplicate as i32);
        self.transmission.push(row.transmission.min(i16::MAX as u16) as i16);
        self.cause.push(row.cause as i8);
        self.ack_kind.push(row.ack_kind as i8);
        self.flight.push(row.flight);
        self.rtt_ns.push(row.rtt_ns);
        self.ts_val.push(ts_val);
        self.ts_ecr.push(ts_ecr);
        self.sack_high.push(row.sack_high);
        self.sack_count.push(segment.options.sack_count as i8);
        self.checksum.push(segment.checksum as i8);
        self.ip_length.push(segment.ip_length as i32);
        self.ip_id.push(segment.ip_id);
        self.seq_raw.push(segment.seq);
        self.ack_raw.push(segment.ack);
    }
}
