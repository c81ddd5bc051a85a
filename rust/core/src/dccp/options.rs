//! Options: what the receiver of data tells its sender.
//!
//! Reference: RFC 4340 section 5.8, 11.4, 13; RFC 4342 section 8 (CCID 3).

use super::header::big_endian;

const FIRST_LONG: u8 = 32;
const CONFIRM_L: u8 = 33;
const CONFIRM_R: u8 = 35;
const NDP_COUNT: u8 = 37;
const ACK_VECTOR_0: u8 = 38;
const ACK_VECTOR_1: u8 = 39;
const TIMESTAMP: u8 = 41;
const TIMESTAMP_ECHO: u8 = 42;
const ELAPSED_TIME: u8 = 43;
const LOSS_EVENT_RATE: u8 = 192;
const RECEIVE_RATE: u8 = 194;
/// The feature "congestion control identifier".
const CCID: u8 = 1;
/// No loss event so far: the inverse of the rate is as large as can be.
const NO_LOSS: u64 = 0xffff_ffff;
const TICK_NS: i64 = 10_000;

/// What a packet's options say; -1 where nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// CCID that this end confirms for its own data.
    pub ccid_local: Option<u8>,
    /// CCID that this end confirms for its peer's data.
    pub ccid_remote: Option<u8>,
    /// Packets without data since the last one with data.
    pub ndp: i64,
    /// Packets the ack vector names as received.
    pub received: i32,
    /// As received with a congestion mark.
    pub marked: i32,
    /// As not yet received.
    pub missing: i32,
    /// TIMESTAMP, in units of 10 µs, modulo 2^32.
    pub timestamp: i64,
    /// Timestamp echoed, in the same units.
    pub echo: i64,
    /// Time between the reception of what is acknowledged or echoed and this packet.
    pub elapsed_ns: i64,
    /// Packets per loss event; 0 if none was lost so far.
    pub loss_interval: i64,
    /// Rate at which data arrived, bits per second.
    pub receive_rate_bps: i64,
    /// Whether an option's length leaves the header.
    pub malformed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ccid_local: None,
            ccid_remote: None,
            ndp: -1,
            received: -1,
            marked: -1,
            missing: -1,
            timestamp: -1,
            echo: -1,
            elapsed_ns: -1,
            loss_interval: -1,
            receive_rate_bps: -1,
            malformed: false,
        }
    }
}

/// Read all options.
pub fn parse(mut data: &[u8]) -> Options {
    let mut found = Options::default();
    while let Some((&kind, rest)) = data.split_first() {
        if kind < FIRST_LONG {
            data = rest;
            continue;
        }
        let length = rest.first().map_or(0, |byte| usize::from(*byte));
        let Some(value) = data.get(2..length) else {
            found.malformed = true;
            return found;
        };
        found.option(kind, value);
        data = &data[length..];
    }
    found
}

impl Options {
    fn option(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (CONFIRM_L, [CCID, ccid, ..]) => self.ccid_local = Some(*ccid),
            (CONFIRM_R, [CCID, ccid, ..]) => self.ccid_remote = Some(*ccid),
            (NDP_COUNT, [_, ..]) if value.len() <= 6 => self.ndp = big_endian(value) as i64,
            (ACK_VECTOR_0 | ACK_VECTOR_1, _) => value.iter().for_each(|cell| self.cell(*cell)),
            (TIMESTAMP, _) if value.len() == 4 => self.timestamp = big_endian(value) as i64,
            (TIMESTAMP_ECHO, _) if matches!(value.len(), 4 | 6 | 8) => {
                self.echo = big_endian(&value[..4]) as i64;
                if value.len() > 4 {
                    self.elapsed_ns = big_endian(&value[4..]) as i64 * TICK_NS;
                }
            }
            (ELAPSED_TIME, _) if matches!(value.len(), 2 | 4) => {
                self.elapsed_ns = big_endian(value) as i64 * TICK_NS;
            }
            (LOSS_EVENT_RATE, _) if value.len() == 4 => {
                let inverse = big_endian(value);
                self.loss_interval = if inverse == NO_LOSS { 0 } else { inverse.max(1) as i64 };
            }
            (RECEIVE_RATE, _) if value.len() == 4 => self.receive_rate_bps = big_endian(value) as i64 * 8,
            _ => {}
        }
    }

    /// A cell of an ack vector: two bits of state, six of run length.
    fn cell(&mut self, cell: u8) {
        let run = i32::from(cell & 0x3f) + 1;
        for count in [&mut self.received, &mut self.marked, &mut self.missing] {
            *count = (*count).max(0);
        }
        match cell >> 6 {
            0 => self.received += run,
            1 => self.marked += run,
            3 => self.missing += run,
            _ => {} // reserved
        }
    }
}
