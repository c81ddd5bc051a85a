//! pppd's record files: what was sent and received on the line, with times to a tenth of a second.
//!
//! Reference: pppd `pppdump`; RFC 1662, RFC 1144.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

use super::hdlc::{Deframer, Framed};
use super::vj::{Decompressor, Outcome};
use crate::input::{is_damage, is_over_limit};
use crate::issue::Issues;
use crate::linktable::{EventRow, Events, FrameRow, Frames, kind_code};

const SENT: u8 = 1;
const RECEIVED: u8 = 2;
const END_SENT: u8 = 3;
const END_RECEIVED: u8 = 4;
const LONG_STEP: u8 = 5;
const SHORT_STEP: u8 = 6;
const START: u8 = 7;
const TENTH_NS: i64 = 100_000_000;
/// Times are held below this: the year 2116.
const LAST_NS: i64 = 4_607_280_000_000_000_000;

/// What a record file says. Action snd is the recorded side's own, rcv what came from its peer.
#[derive(Debug, Default)]
pub struct Recording {
    /// Frames with a right FCS.
    pub frames: Frames,
    /// Damaged frames, and where a decompressor lost and found its state.
    pub events: Events,
    /// Frames by protocol.
    pub protocols: BTreeMap<&'static str, u64>,
    /// Bytes on the line, sent and received.
    pub octets: [u64; 2],
    /// Frames whose header could not be restored, sent and received.
    pub wrong_headers: [u64; 2],
    /// Whether the file says when it began.
    pub started: bool,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a record file: a start record and whole records behind it.
pub fn sniff(head: &[u8]) -> bool {
    let (mut at, mut data) = (5, 0);
    if head.first() != Some(&START) {
        return false;
    }
    while let Some(kind) = head.get(at).copied() {
        at += match kind {
            SENT | RECEIVED => {
                let Some([high, low]) = head.get(at + 1..at + 3) else { break };
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                data += usize::from(
                    head.get(at + 3..(at + 3 + length).min(head.len()))
                        .is_some_and(|line| line.contains(&0x7e)),
                );
                3 + length
            }
            END_SENT | END_RECEIVED => 1,
            LONG_STEP | START => 5,
            SHORT_STEP => 2,
            _ => return false,
        };
    }
    data > 0
}

/// Read a record file.
///
/// # Errors
/// Errors of the system while reading.
pub fn read(reader: impl Read) -> io::Result<Recording> {
    let mut reader = BufReader::with_capacity(1 << 18, reader);
    let mut line = Line::default();
    let mut record = 0;
    loop {
        record += 1;
        match line.record(&mut reader, record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if is_over_limit(&error) => {
                line.found.issues.add("decompression-limit", record, || error.to_string());
                break;
            }
            Err(error) if is_damage(&error) => {
                line.found.issues.add("truncated-file", record, || "the file ends inside a record".into());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    for (direction, name) in ["sent", "received"].into_iter().enumerate() {
        let wrong = line.found.wrong_headers[direction];
        if wrong > 0 {
            let first = line.first_wrong[direction];
            line.found.issues.add_many("header-desync", wrong, first, || format!("VJ headers {name}"));
        }
    }
    Ok(line.found)
}

#[derive(Default)]
struct Line {
    found: Recording,
    t_ns: i64,
    deframers: [Deframer; 2],
    states: [Decompressor; 2],
    /// Whether each direction's decompressor has lost its state.
    lost: [bool; 2],
    first_wrong: [u64; 2],
}

impl Line {
    /// One record; false at the end of the file.
    fn record(&mut self, reader: &mut impl Read, number: u64) -> io::Result<bool> {
        let mut kind = [0];
        if reader.read(&mut kind)? == 0 {
            return Ok(false);
        }
        match kind[0] {
            SENT | RECEIVED => {
                let mut length = [0; 2];
                reader.read_exact(&mut length)?;
                let mut data = vec![0; usize::from(u16::from_be_bytes(length))];
                reader.read_exact(&mut data)?;
                self.octets(usize::from(kind[0] - SENT), number, &data);
            }
            END_SENT | END_RECEIVED => {}
            LONG_STEP | START => {
                let mut value = [0; 4];
                reader.read_exact(&mut value)?;
                let value = i64::from(u32::from_be_bytes(value));
                if kind[0] == START {
                    self.found.started = true;
                    self.t_ns = value * 1_000_000_000;
                } else {
                    self.step(value);
                }
            }
            SHORT_STEP => {
                let mut value = [0];
                reader.read_exact(&mut value)?;
                self.step(i64::from(value[0]));
            }
            other => {
                let detail = || format!("record of unknown type {other}; reading stopped there");
                self.found.issues.add("bad-record", number, detail);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn step(&mut self, tenths: i64) {
        self.t_ns = self.t_ns.saturating_add(tenths * TENTH_NS).min(LAST_NS);
    }

    fn octets(&mut self, direction: usize, record: u64, data: &[u8]) {
        self.found.octets[direction] += data.len() as u64;
        for octet in data {
            if self.deframers[direction].push(*octet) {
                self.frame(direction, record);
            }
        }
    }

    fn frame(&mut self, direction: usize, record: u64) {
        let deframer = &self.deframers[direction];
        let start = deframer.start as i64;
        let (protocol, length, outcome) = match deframer.frame() {
            Framed::Damaged => {
                self.states[direction].damaged();
                self.found.issues.add("bad-frame", record, || "wrong frame check sequence".into());
                self.event(direction, record, "damaged");
                return;
            }
            Framed::Good { protocol: 0x2d, body } => {
                (0x2d, body.len(), Some(self.states[direction].compressed(body)))
            }
            Framed::Good { protocol: 0x2f, body } => {
                (0x2f, body.len(), Some(self.states[direction].uncompressed(body)))
            }
            Framed::Good { protocol, body } => (protocol, body.len(), None),
        };
        *self.found.protocols.entry(name(protocol)).or_default() += 1;
        self.found.frames.push(FrameRow {
            offset: start,
            length: length as i32,
            ..FrameRow::new((self.t_ns, record as i64), 0, direction as i8)
        });
        match outcome {
            Some(Outcome::Wrong) => {
                self.found.wrong_headers[direction] += 1;
                if !std::mem::replace(&mut self.lost[direction], true) {
                    if self.first_wrong[direction] == 0 {
                        self.first_wrong[direction] = record;
                    }
                    self.event(direction, record, "desync");
                }
            }
            Some(Outcome::Right | Outcome::Fresh) if std::mem::take(&mut self.lost[direction]) => {
                self.event(direction, record, "resync");
            }
            _ => {}
        }
    }

    fn event(&mut self, direction: usize, record: u64, word: &str) {
        let at = (self.t_ns, record as i64);
        self.found.events.push(EventRow::new(at, 0, direction as i8, kind_code(word.as_bytes())));
    }
}

fn name(protocol: u16) -> &'static str {
    match protocol {
        0x0021 => "ip",
        0x002d => "vj_compressed",
        0x002f => "vj_uncompressed",
        0x0057 => "ipv6",
        0x00fd => "compressed",
        0x8021 => "ipcp",
        0x8057 => "ipv6cp",
        0x80fd => "ccp",
        0xc021 => "lcp",
        0xc023 => "pap",
        0xc025 => "lqr",
        0xc223 => "chap",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hdlc::tests::line;
    use super::*;
    use crate::linktable::KINDS;

    fn file(parts: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut file = vec![START, 0x6b, 0x01, 0x7f, 0x37];
        for (kind, data) in parts {
            file.push(*kind);
            if matches!(*kind, SENT | RECEIVED) {
                file.extend((data.len() as u16).to_be_bytes());
            }
            file.extend(data);
        }
        file
    }

    #[test]
    fn records_frames_and_times() {
        let bytes = file(&[
            (SENT, line(0xc021, b"abcd")),
            (SHORT_STEP, vec![5]),
            (RECEIVED, line(0x0021, b"abcdefgh")[..9].to_vec()),
            (LONG_STEP, vec![0, 0, 0, 10]),
            (RECEIVED, line(0x0021, b"abcdefgh")[9..].to_vec()),
            (END_SENT, vec![]),
        ]);
        assert!(sniff(&bytes));
        let found = read(&bytes[..]).unwrap();
        assert_eq!(found.frames.t_ns[1] - found.frames.t_ns[0], 15 * TENTH_NS);
        assert_eq!((&found.frames.action[..], &found.frames.length[..]), (&[0, 1][..], &[4, 8][..]));
        assert!(found.issues.is_empty() && found.started);
        assert_eq!(found.protocols["lcp"], 1);
        for cut in 1..bytes.len() {
            let part = read(&bytes[..cut]).unwrap();
            assert!(part.frames.t_ns.len() <= 2);
        }
    }

    #[test]
    fn damage() {
        let mut octets = line(0x0021, b"abcdefgh");
        octets[12] ^= 1;
        let found =
            read(&file(&[(SENT, octets), (RECEIVED, line(0x2d, b"\x00ab")), (9, vec![])])[..]).unwrap();
        let codes: Vec<_> = found.issues.iter().map(|(code, _)| code).collect();
        assert_eq!(codes, ["bad-frame", "bad-record", "header-desync"]);
        let kinds: Vec<_> = found.events.kind.iter().map(|kind| KINDS[*kind as usize]).collect();
        assert_eq!(kinds, ["damaged", "desync"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let found = read(&bytes[..]).unwrap();
            prop_assert_eq!(found.frames.t_ns.len(), found.frames.poll.len());
            sniff(&bytes);
        }
    }
}
