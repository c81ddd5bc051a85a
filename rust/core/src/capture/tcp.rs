//! The TCP header and its options.
//!
//! Reference: RFC 9293 section 3.1; options RFC 7323, RFC 2018, RFC 7413, RFC 8684.

use super::kinds::Kind;
use super::mptcp;
use super::record::{Stop, be16, be32};
use crate::segment::{Options, Segment};

/// Decode a header into `segment`; `wire` counts the bytes on the wire, header included.
///
/// Returns the length of the header.
#[inline(always)]
pub(crate) fn parse(data: &[u8], wire: u32, segment: &mut Segment) -> Result<u32, Stop> {
    if wire < 20 {
        return Err(Stop::Malformed("segment shorter than a TCP header"));
    }
    let Some(fixed) = data.first_chunk::<20>() else {
        return Err(Stop::Kind(Kind::TcpHeaderCut));
    };
    let length = u32::from(fixed[12] >> 4) * 4;
    if length < 20 {
        return Err(Stop::Malformed("TCP data offset below 5"));
    }
    if length > wire {
        return Err(Stop::Malformed("TCP data offset beyond the end of the segment"));
    }
    segment.source.1 = be16(fixed, 0);
    segment.destination.1 = be16(fixed, 2);
    segment.seq = be32(fixed, 4);
    segment.ack = be32(fixed, 8);
    segment.flags = be16(fixed, 12) & 0x1ff;
    segment.window = be16(fixed, 14);
    segment.length = wire - length;
    let end = length as usize;
    segment.options = Options { complete: data.len() >= end, ..Options::default() };
    parse_options(&data[20..end.min(data.len())], &mut segment.options);
    Ok(length)
}

/// Read options up to their end, or to the first that is cut or impossible.
#[inline(always)]
fn parse_options(mut bytes: &[u8], options: &mut Options) {
    // Nearly every segment of a modern connection: NOP, NOP, timestamps.
    if let [1, 1, 8, 10, rest @ ..] = bytes
        && let Some(value) = rest.first_chunk::<8>()
    {
        options.timestamps = Some((be32(value, 0), be32(value, 4)));
        bytes = &rest[8..];
    }
    // Behind those, with a loss: NOP, NOP, SACK.
    if let [1, 1, 5, length, rest @ ..] = bytes
        && usize::from(*length) == rest.len() + 2
        && let (blocks @ [_, ..], []) = rest.as_chunks::<8>()
        && blocks.len() <= options.sack.len()
    {
        set_sack(options, blocks);
        return;
    }
    if !bytes.is_empty() {
        parse_others(bytes, options);
    }
}

#[inline(never)]
fn parse_others(mut bytes: &[u8], options: &mut Options) {
    loop {
        bytes = match bytes {
            [] | [0, ..] => return,
            [1, rest @ ..] => rest,
            [kind, length, ..] if *length >= 2 && usize::from(*length) <= bytes.len() => {
                let (option, rest) = bytes.split_at(usize::from(*length));
                set(options, *kind, &option[2..]);
                rest
            }
            _ => return,
        };
    }
}

/// No more blocks than there is room for.
#[inline(always)]
fn set_sack(options: &mut Options, blocks: &[[u8; 8]]) {
    for (slot, block) in options.sack.iter_mut().zip(blocks) {
        *slot = (be32(block, 0), be32(block, 4));
    }
    options.sack_count = blocks.len() as u8;
}

fn set(options: &mut Options, kind: u8, value: &[u8]) {
    match (kind, value.len()) {
        (2, 2) => options.mss = Some(be16(value, 0)),
        (3, 1) => options.window_scale = Some(value[0]),
        (4, 0) => options.sack_permitted = true,
        (5, 8 | 16 | 24 | 32) => {
            let (blocks, _) = value.as_chunks::<8>();
            set_sack(options, blocks);
        }
        (8, 8) => options.timestamps = Some((be32(value, 0), be32(value, 4))),
        (30, _) => mptcp::parse(value, &mut options.mptcp),
        (34, _) => options.fast_open = true,
        // The experimental form of RFC 7413 section 4.1.1, by its identifier.
        (253 | 254, 2..) if be16(value, 0) == 0xf989 => options.fast_open = true,
        _ => {}
    }
}
