//! Log packets of the modem, and the PDUs in those of RLC in acknowledged mode (codes 0xB082 and 0xB092).
//!
//! All numbers are little-endian. A log packet: command 0x10, a byte, its length twice, code, time, body. A body of
//! RLC: version, number of subpackets, two bytes; then subpackets: number, version, length with these four bytes,
//! bearer, mode, bits of sequence numbers, a byte, what is logged, state variables, number of PDUs. A PDU: frame
//! and subframe, length, length of what is logged of it, a byte, and its first bytes: the whole header.

use super::{Bad, Body, Group, Pdu, subframe};
use crate::rlc::lte;
use crate::rlc::pdu::{Bits, Pdu as Rlc};

/// The command of a log packet.
const LOG: u8 = 0x10;
pub(crate) const DOWNLINK: u16 = 0xb082;
pub(crate) const UPLINK: u16 = 0xb092;
const HEADER: usize = 16;
/// A wrapper of modems with several subscriptions; the number of the subscription follows it, from 1.
const WRAPPER: [u8; 4] = [0x98, 1, 0, 0];
const VERSION: u8 = 1;
/// Numbers of the subpackets, and bytes of the state variables in them.
const DOWNLINK_PACKET: (u8, usize) = (65, 8);
const UPLINK_PACKET: (u8, usize) = (70, 12);
/// Version 4 has the layout of version 3.
const PACKET_VERSIONS: [u8; 2] = [3, 4];
/// What fills a subpacket up to a multiple of four bytes.
const PADDING: usize = 4;
/// Of a length indicator.
const LENGTH_BITS: u32 = 11;
/// Units of time since 1980-01-06.
const PER_SECOND: u128 = 52_428_800;
const EPOCH_S: u64 = 315_964_800;
/// The year 2116: what is beyond is no time.
const LAST_S: u64 = 4_607_280_000;

const CUT: Bad = Bad::Malformed("a message shorter than it says");

/// A log packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) code: u16,
    /// To the microsecond, as MobileInsight tells it; GPS time.
    pub(crate) t_ns: i64,
    pub(crate) body: &'a [u8],
}

/// The subscription, from 0, and the command in a frame.
pub(crate) fn unwrapped(frame: &[u8]) -> (u32, &[u8]) {
    match frame.strip_prefix(&WRAPPER).and_then(<[u8]>::split_first_chunk) {
        Some((number, inner)) => (u32::from_le_bytes(*number).saturating_sub(1), inner),
        None => (0, frame),
    }
}

/// Whether a frame is a log packet.
pub(crate) fn is_log(frame: &[u8]) -> bool {
    unwrapped(frame).1.first() == Some(&LOG)
}

/// The log packet in a frame; `None` if there is another command in it.
pub(crate) fn packet(frame: &[u8]) -> Option<Result<Packet<'_>, Bad>> {
    if *frame.first()? != LOG {
        return None;
    }
    Some(log_packet(frame))
}

fn log_packet(frame: &[u8]) -> Result<Packet<'_>, Bad> {
    let (head, body) = frame.split_at_checked(HEADER).ok_or(CUT)?;
    let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
    if length != frame.len() - 4 {
        return Err(CUT);
    }
    let ticks = head[8..].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let micros = (u128::from(ticks) * 1_000_000 / PER_SECOND) as u64 + EPOCH_S * 1_000_000;
    if micros > LAST_S * 1_000_000 {
        return Err(Bad::Malformed("a time beyond 2116"));
    }
    Ok(Packet { code: u16::from_le_bytes([head[6], head[7]]), t_ns: micros as i64 * 1000, body })
}

/// The PDUs of a message of RLC.
pub(crate) fn groups(code: u16, body: &[u8]) -> Result<Vec<Group>, Bad> {
    let (number, state) = if code == UPLINK { UPLINK_PACKET } else { DOWNLINK_PACKET };
    let mut bytes = Bytes(body);
    let (version, count) = (bytes.byte()?, bytes.byte()?);
    if version != VERSION {
        return Err(Bad::Unknown(format!("message 0x{code:04X} of version {version}")));
    }
    bytes.take(2)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let head = bytes.take(4)?;
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let mut inner = Bytes(bytes.take(length.checked_sub(4).ok_or(CUT)?)?);
        if head[0] != number || !PACKET_VERSIONS.contains(&head[1]) {
            let (id, version) = (head[0], head[1]);
            return Err(Bad::Unknown(format!("message 0x{code:04X}, subpacket {id} of version {version}")));
        }
        found.push(group(&mut inner, state)?);
        if inner.0.len() >= PADDING {
            return Err(Bad::Malformed("a message with bytes behind its last PDU"));
        }
    }
    Ok(found)
}

fn group(bytes: &mut Bytes<'_>, state: usize) -> Result<Group, Bad> {
    let bearer = u32::from(bytes.byte()?);
    let _mode = bytes.byte()?;
    let sn_bits = if bytes.byte()? == 16 { 16 } else { 10 };
    bytes.take(3 + state)?;
    let count = bytes.short()?;
    let mut pdus = Vec::new();
    for _ in 0..count {
        let place = u32::from(bytes.short()?);
        let (length, logged) = (u32::from(bytes.short()?), usize::from(bytes.short()?));
        bytes.take(1)?;
        let body = pdu(bytes.take(logged)?, sn_bits, length)?;
        pdus.push(Pdu { subframe: subframe(place >> 4, place & 15), body });
    }
    Ok(Group { bearer, sn_bits, pdus })
}

/// A PDU of which the header is logged.
fn pdu(logged: &[u8], sn_bits: u8, bytes: u32) -> Result<Body, Bad> {
    if logged.first().is_some_and(|first| first & 0x80 != 0) {
        return data(logged, sn_bits, bytes).map_err(Bad::Malformed);
    }
    match lte::decode(logged, sn_bits, false).map_err(Bad::Malformed)? {
        Rlc::Status { ack, nacks } => Ok(Body::Status { ack, nacks }),
        Rlc::Data(_) => Err(CUT),
    }
}

/// A data PDU: what its length indicators name is not in the log, so nothing can be checked against them.
fn data(logged: &[u8], sn_bits: u8, bytes: u32) -> Result<Body, &'static str> {
    let mut bits = Bits::new(logged);
    bits.skip(1);
    let (part, poll) = (bits.flag()?, bits.flag()?);
    bits.skip(2);
    let mut more = bits.flag()?;
    let mut last = true;
    if sn_bits == 16 {
        last = bits.flag()? || !part;
        bits.skip(1);
    }
    let sn = bits.take(u32::from(sn_bits))?;
    let mut start = 0;
    if part {
        if sn_bits == 10 {
            last = bits.flag()?;
        }
        start = bits.take(if sn_bits == 16 { 16 } else { 15 })?;
    }
    while more {
        more = bits.flag()?;
        bits.take(LENGTH_BITS)?;
    }
    let header = (logged.len() - bits.rest()?.len()) as u32;
    Ok(Body::Data { sn, poll, part, start, last, length: bytes.saturating_sub(header) })
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Bad> {
        let (found, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(found)
    }

    fn byte(&mut self) -> Result<u8, Bad> {
        Ok(self.take(1)?[0])
    }

    fn short(&mut self) -> Result<u16, Bad> {
        let found = self.take(2)?;
        Ok(u16::from_le_bytes([found[0], found[1]]))
    }
}
