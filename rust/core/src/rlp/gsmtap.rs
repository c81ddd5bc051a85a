//! RLP frames in GSMTAP, as osmo-bts and the lab write them: UDP port 4729, type 0x14.
//!
//! Reference: libosmocore `gsmtap.h`, version 2.

use std::path::Path;

use super::flow::Direction;
use super::frame::{Bad, Body, Frame, decode, n2_of_xid, user_bytes};
use crate::capture::ReadError;
use crate::capture::datagram::{Counts, Datagram, datagrams, datagrams_in_head};
use crate::issue::Issues;
use crate::linktable::{EVT, EventRow, Events, FrameRow, Frames, SND, cause_code, kind_code};

const PORT: u16 = 4729;
const VERSION: u8 = 2;
const TYPE_RLP: u8 = 0x14;
const UPLINK: u16 = 0x4000;
const HEADER: usize = 16;
/// Packets that tell whether a capture is one of RLP.
const SNIFFED: u64 = 400;
/// N2 where no XID says it.
const DEFAULT_N2: u32 = 6;

/// What a capture of RLP frames says. Entity 0 is the mobile side, 1 the network side.
#[derive(Debug, Default)]
pub struct RlpCapture {
    /// Information frames.
    pub frames: Frames,
    /// Everything else.
    pub events: Events,
    /// Packets of the capture.
    pub counts: Counts,
    /// RLP frames, damaged ones included.
    pub rlp_frames: u64,
    /// Frames whose L2R status holds the other side off.
    pub held_off: u64,
    /// GSMTAP packets of other types.
    pub other_types: u64,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a capture of RLP frames: some of them, and no TCP.
pub fn sniff(head: &[u8]) -> bool {
    let mut found = 0;
    let counts = datagrams_in_head(head, SNIFFED, |datagram| {
        found += u64::from(matches!(payload(&datagram), Some((TYPE_RLP, _, _))));
    });
    found > 0 && counts.is_ok_and(|counts| counts.tcp == 0)
}

/// Read a capture. `n2` is how often a frame is sent again before a reset, where no XID says it.
///
/// # Errors
/// See [`ReadError`].
pub fn read(path: &Path, uplink_is_mobile: bool, n2: Option<u32>) -> Result<RlpCapture, ReadError> {
    let mut call = Call::new(n2.unwrap_or(DEFAULT_N2));
    let mut capture_issues = Issues::default();
    let counts = datagrams(path, &mut capture_issues, |datagram| match payload(&datagram) {
        Some((TYPE_RLP, uplink, frame)) => {
            let entity = usize::from(uplink != uplink_is_mobile);
            call.packet(datagram.record, datagram.t_ns, entity, frame);
        }
        Some(_) => call.found.other_types += 1,
        None => {}
    })?;
    let mut found = call.found;
    found.counts = counts;
    found.issues.take_in(&capture_issues);
    Ok(found)
}

/// GSMTAP type, whether the uplink bit is set, and what follows the header.
fn payload<'a>(datagram: &Datagram<'a>) -> Option<(u8, bool, &'a [u8])> {
    let data = datagram.payload;
    if (datagram.ports.0 != PORT && datagram.ports.1 != PORT) || data.len() < HEADER || data[0] != VERSION {
        return None;
    }
    let header = usize::from(data[1]) * 4;
    let arfcn = u16::from_be_bytes([data[4], data[5]]);
    (header >= HEADER).then_some((data[2], arfcn & UPLINK != 0, data.get(header..)?))
}

/// A call: both directions and the handshake of a reset.
struct Call {
    found: RlpCapture,
    directions: [Direction; 2],
    /// Entity that asked for a reset which the other has not answered yet.
    resetting: Option<usize>,
    /// Whether the other side must be told as reset when it answers.
    announced: bool,
    /// Whether each side has sent nothing but SABM since its last one: a SABM more belongs to the same reset.
    asking: [bool; 2],
    /// Whether each side's last word was RNR.
    held: [bool; 2],
    n2: u32,
    last_ns: i64,
}

impl Call {
    fn new(n2: u32) -> Self {
        Call {
            found: RlpCapture::default(),
            directions: [Direction::new(), Direction::new()],
            resetting: None,
            announced: false,
            asking: [false; 2],
            held: [false; 2],
            n2,
            last_ns: i64::MIN,
        }
    }

    fn packet(&mut self, record: u64, t_ns: i64, entity: usize, data: &[u8]) {
        self.found.rlp_frames += 1;
        if t_ns < self.last_ns {
            let back = self.last_ns - t_ns;
            self.found
                .issues
                .add("out-of-order-lines", record, || format!("{back} ns older than the frame before"));
        }
        self.last_ns = t_ns;
        match decode(data) {
            Ok(frame) => self.frame((t_ns, record as i64), entity, &frame, data.len()),
            Err(Bad::Fcs) => {
                self.found.issues.add("bad-frame", record, || "wrong frame check sequence".into());
            }
            Err(Bad::Size) => {
                let detail = || format!("{} bytes, not 30 or 72", data.len());
                self.found.issues.add("bad-frame", record, detail);
            }
        }
    }

    fn frame(&mut self, at: (i64, i64), entity: usize, frame: &Frame<'_>, size: usize) {
        match frame.body {
            Body::I { ns, nr, word, information } => {
                // N(R) of SREJ is the frame that is asked for.
                let (asked, nr) = (nr, if word == "SREJ" { -1 } else { nr });
                self.asking[entity] = false;
                self.acknowledge(at, entity, nr, size);
                let (user, held_off) = user_bytes(information);
                self.found.held_off += u64::from(held_off);
                let placed = self.directions[entity].send(ns, user as i32, size as i32 - 6);
                if placed.missing > 0 {
                    self.missing(at, placed.missing);
                }
                self.found.frames.push(FrameRow {
                    ns,
                    offset: placed.offset,
                    length: placed.length,
                    attempt: placed.attempt,
                    nr,
                    poll: i8::from(frame.poll),
                    ..FrameRow::new(at, entity as i16, SND)
                });
                // RR in an information frame is the rule; it says something only behind RNR.
                if word != "RR" || self.held[entity] {
                    self.supervisory(at, entity, word, asked);
                }
            }
            Body::S { nr, word } => {
                self.asking[entity] = false;
                self.acknowledge(at, entity, if word == "SREJ" { -1 } else { nr }, size);
                self.supervisory(at, entity, word, nr);
                if let Some(poll) = self.found.events.poll.last_mut() {
                    *poll = if frame.command { 1 } else { 2 } * i8::from(frame.poll);
                }
            }
            Body::U { word, information } => self.unnumbered(at, entity, word, information),
        }
    }

    fn acknowledge(&mut self, at: (i64, i64), entity: usize, nr: i32, size: usize) {
        let missing = self.directions[1 - entity].acknowledge(nr, size as i32 - 6);
        if missing > 0 {
            self.missing(at, missing);
        }
    }

    fn missing(&mut self, at: (i64, i64), count: i32) {
        let detail = || format!("{count} frames before this one are not in the capture");
        self.found.issues.add_many("lost-events", count as u64, at.1 as u64, detail);
    }

    fn supervisory(&mut self, at: (i64, i64), entity: usize, word: &str, nr: i32) {
        match word {
            "RNR" => self.held[entity] = true,
            "RR" => self.held[entity] = false,
            _ => {}
        }
        self.event(at, entity, SND, word, nr, "");
    }

    fn unnumbered(&mut self, at: (i64, i64), entity: usize, word: Option<&str>, information: &[u8]) {
        let Some(word) = word else {
            self.found
                .issues
                .add("unknown-verb", at.1 as u64, || "an unnumbered frame of unknown code".into());
            self.event(at, entity, SND, "opaque", -1, "");
            return;
        };
        self.event(at, entity, SND, word, -1, "");
        match word {
            "XID" => self.n2 = n2_of_xid(information).unwrap_or(self.n2),
            "SABM" if self.resetting.is_some() => self.asking[entity] = true,
            "SABM" => {
                self.resetting = Some(entity);
                // The first SABM sets the call up.
                self.announced = self.directions.iter().any(Direction::used) && !self.asking[entity];
                self.asking[entity] = true;
                if self.announced {
                    let gave_up = self.directions[entity].most_attempts >= self.n2 as i16;
                    self.event(at, entity, EVT, "reset", -1, if gave_up { "n2" } else { "other" });
                }
            }
            "UA" if self.resetting == Some(1 - entity) => {
                if self.announced {
                    self.event(at, entity, EVT, "reset", -1, "peer");
                }
                self.resetting = None;
                self.held = [false; 2];
                self.directions.iter_mut().for_each(Direction::reset);
            }
            _ => {}
        }
    }

    fn event(&mut self, at: (i64, i64), entity: usize, action: i8, word: &str, nr: i32, cause: &str) {
        self.found.events.push(EventRow {
            nr,
            cause: cause_code(cause.as_bytes()),
            ..EventRow::new(at, entity as i16, action, kind_code(word.as_bytes()))
        });
    }
}
