//! What a data frame carries: an IP packet behind LLC, or what encryption leaves to see of it.
//!
//! Reference: IEEE 802.11-2020 sections 9.2.4.7 (mesh control), 9.3.2.2 (A-MSDU), 12.3 (WEP), 12.5.2 (TKIP),
//! 12.5.3 (CCMP), 12.5.5 (GCMP), 9.4.2.24 (RSN element); IEEE 802.2 and RFC 1042.

use super::header::{Header, control};

const SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];
const LLC: usize = 8;
const SUBFRAME: usize = 14;
/// Subframes of an A-MSDU that are looked at: it holds 11 454 bytes at most.
const SUBFRAMES: usize = 512;

/// What was found in a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Payload {
    /// Bytes of the packet, or of a fragment's part of it, without LLC.
    pub length: usize,
    /// The EtherType, if the body can be read.
    pub ethertype: Option<u16>,
}

/// The packet in a body of `wire` bytes, of which `body` was kept. `tag`: bytes that authenticate an
/// encrypted frame, 8 or 16.
pub fn payload(header: &Header, body: &[u8], wire: usize, tag: usize) -> Payload {
    if header.has(control::PROTECTED) {
        let overhead = overhead(body, tag);
        let llc = if header.fragment == 0 { LLC } else { 0 };
        let extra = if header.aggregated { SUBFRAME } else { 0 };
        return Payload { length: wire.saturating_sub(overhead + llc + extra), ethertype: None };
    }
    let skip = if header.mesh { 6 + 6 * usize::from(body.first().map_or(0, |flags| flags & 3)) } else { 0 };
    let (body, wire) = (body.get(skip..).unwrap_or_default(), wire.saturating_sub(skip));
    if header.fragment > 0 {
        return Payload { length: wire, ethertype: None };
    }
    if header.aggregated {
        return together(body, wire);
    }
    match ethertype(body) {
        Some(ethertype) => Payload { length: wire.saturating_sub(LLC), ethertype: Some(ethertype) },
        None => Payload { length: wire, ethertype: None },
    }
}

fn ethertype(body: &[u8]) -> Option<u16> {
    (body.len() >= LLC && body[..3] == SNAP).then(|| u16::from_be_bytes([body[6], body[7]]))
}

/// The packets of an A-MSDU of `wire` bytes with their LLC headers: where each begins, and its length.
pub fn subframes(body: &[u8], wire: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let begin = next + SUBFRAME;
        let head = body.get(next..begin)?;
        let length = usize::from(u16::from_be_bytes([head[12], head[13]]));
        next = (begin + length).next_multiple_of(4);
        (begin + length <= wire).then_some((begin, length))
    })
    .take(SUBFRAMES)
}

/// Sum of the packets in an A-MSDU.
fn together(body: &[u8], wire: usize) -> Payload {
    let mut found = Payload::default();
    for (begin, length) in subframes(body, wire) {
        found.length += length.saturating_sub(LLC);
        found.ethertype = found.ethertype.or_else(|| ethertype(body.get(begin..).unwrap_or_default()));
    }
    found
}

/// Bytes that encryption adds to a body, told from the begin of it.
fn overhead(body: &[u8], tag: usize) -> usize {
    let Some(head) = body.get(..4) else { return 8 + tag };
    // The extended IV bit of the key identifier.
    if head[3] & 0x20 == 0 {
        return 4 + 4;
    }
    // TKIP's second octet follows from its first; CCMP's and GCMP's third is 0.
    if head[2] != 0 && head[1] == (head[0] | 0x20) & 0x7f {
        // Extended IV, MIC (Michael) and ICV.
        return 8 + 8 + 4;
    }
    8 + tag
}

/// Bytes of the tag that frames of a network end with, from the elements of a beacon or an association
/// request: 16 with GCMP or CCMP-256, else 8.
pub fn tag_of(elements: &[u8]) -> Option<usize> {
    let mut rest = elements;
    while let [number, length, tail @ ..] = rest {
        let length = usize::from(*length);
        let element = tail.get(..length)?;
        rest = &tail[length..];
        // RSN: version, group cipher, count of pairwise ciphers, the ciphers.
        if *number == 48 && length >= 12 {
            let count = usize::from(u16::from_le_bytes([element[6], element[7]]));
            let suites: Vec<&[u8]> = element[8..].chunks_exact(4).take(count).collect();
            let long = suites
                .iter()
                .filter(|suite| suite[..3] == [0x00, 0x0f, 0xac] && matches!(suite[3], 8..=10))
                .count();
            return Some(if long > 0 && long == suites.len() { 16 } else { 8 });
        }
    }
    None
}

/// Where the elements of a management frame begin, behind its header and fixed fields.
pub fn elements(kind: u8) -> Option<usize> {
    match kind {
        0x00 => Some(4),
        0x02 => Some(10),
        0x05 | 0x08 => Some(12),
        _ => None,
    }
}
