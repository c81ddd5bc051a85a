//! PDUs of one bearer to the rows of every link.
//!
//! A status report is an RR whose N(R) is ACK_SN, and a SREJ for each NACK. Entity 0 is the terminal, 1 the
//! base station.

use super::direction::{Piece, Placed, Received, RlcDirection, SMALL};
use super::pdus::{self, PduRow, Pdus};
use super::received;
use crate::issue::Issues;
use crate::linktable::{EVT, EventRow, Events, FrameRow, Frames, RCV, SND, cause_code, kind_code};

/// A bearer that was silent for longer had nothing to send: it was set up anew when there was something.
const LONGEST_GAP_NS: i64 = 5_000_000_000;

/// Longest time from an answer to the next request for both to be of one outage, if nothing got through between.
const SAME_TROUBLE_NS: i64 = 200_000_000;

/// What a row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A data PDU or a segment of one: `sn`, `start`, `length`, `last`, `hash`, `poll`.
    Data,
    /// A status report: `sn` is ACK_SN.
    Status,
    /// One NACK of the report before it: `sn` is NACK_SN, `length` how many PDUs; `part`: from `start` on.
    Nack,
    /// The connection is re-established or set up anew: `cause` of the reset.
    Reestablishment,
    /// The base station answers on common control: what is asked for after it is asked for anew.
    Answer,
    /// The terminal has another identity in the cell, or another cell.
    Handover,
    /// It was ordered to go to another cell: from now on it stands still.
    Command,
}

/// Who saw a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// A monitor, or nobody knows: it is taken for sent.
    Air,
    /// The terminal.
    Ue,
    /// The base station.
    Bs,
}

/// One thing that a log tells of a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Row {
    pub t_ns: i64,
    pub record: i64,
    /// Interface of the capture; which view it is is known when all of it was read.
    pub interface: u16,
    pub uplink: bool,
    pub kind: Kind,
    pub sn: u32,
    pub start: u32,
    pub length: u32,
    pub last: bool,
    pub poll: bool,
    /// A segment of a PDU (LTE) or SDU (NR).
    pub part: bool,
    pub hash: u64,
}

/// Rows of the link's tables.
#[derive(Debug, Default)]
pub struct Tracked {
    /// Data PDUs.
    pub frames: Frames,
    /// Status reports, resets.
    pub events: Events,
    /// Both, as RLC sees them.
    pub pdus: Pdus,
    /// Damage and doubt.
    pub issues: Issues,
}

/// Follow a bearer. Rows are in the order of the log.
pub fn track(sn_bits: u32, rows: &[Row], view: impl Fn(u16) -> View) -> Tracked {
    // A direction that no sender tells of is numbered by what its receiver has.
    let mut seen_sent = [false; 2];
    for row in rows.iter().filter(|row| row.kind == Kind::Data) {
        seen_sent[usize::from(!row.uplink)] |= sends(view(row.interface), row.uplink);
    }
    let mut bearer = Bearer {
        found: Tracked::default(),
        directions: [RlcDirection::new(sn_bits), RlcDirection::new(sn_bits)],
        seen_sent,
        terminal_tells: rows.iter().any(|row| view(row.interface) == View::Ue),
        ends_tell: rows.iter().any(|row| view(row.interface) != View::Air),
        reset: None,
        answered: None,
        resumed: None,
        works: false,
        once_more: [false; 2],
        mark: None,
        last_ns: None,
    };
    for row in rows {
        bearer.row(row, view(row.interface));
    }
    for direction in [0, 1] {
        if !seen_sent[direction] && bearer.directions[direction].used() {
            received::place(&mut bearer.found, 1 - direction as i16);
        }
    }
    bearer.found
}

/// Whether what is seen is what the sender sends.
pub(crate) fn sends(view: View, uplink: bool) -> bool {
    match view {
        View::Air => true,
        View::Ue => uplink,
        View::Bs => !uplink,
    }
}

struct Bearer {
    found: Tracked,
    directions: [RlcDirection; 2],
    seen_sent: [bool; 2],
    /// Whether the log has the terminal's own view: then what it asked and received counts, not what reached others.
    terminal_tells: bool,
    /// Whether it tells what an end received.
    ends_tell: bool,
    /// The latest reset: who asked for it, and which directions have begun anew since.
    reset: Option<(usize, [bool; 2])>,
    /// Since when the terminal has an answer on common control, and since when who asked has begun anew.
    answered: Option<i64>,
    resumed: Option<i64>,
    /// Whether data has got through since, as far as the log tells.
    works: bool,
    /// Directions that may begin anew once more: it was asked for again in the same trouble.
    once_more: [bool; 2],
    /// A handover that no direction has followed yet: when the bearer last worked, and the record that tells.
    mark: Option<(i64, i64)>,
    last_ns: Option<i64>,
}

impl Bearer {
    fn row(&mut self, row: &Row, view: View) {
        if let Some(last) = self.last_ns
            && row.t_ns < last
        {
            let back = last - row.t_ns;
            let detail = || format!("{back} ns older than the PDU before");
            self.found.issues.add("out-of-order-lines", row.record as u64, detail);
        }
        let direction = usize::from(!row.uplink);
        let sent = sends(view, row.uplink);
        let (entity, action) = if sent { (direction, SND) } else { (1 - direction, RCV) };
        match row.kind {
            Kind::Data => self.data(row, direction, entity, action),
            Kind::Status | Kind::Nack => self.report(row, direction, entity, action),
            Kind::Reestablishment if self.is_settled(row.t_ns) && (sent || !self.terminal_tells) => {
                self.begin((row.t_ns, row.record), 0, "reestablishment")
            }
            Kind::Answer => {
                if self.reset.is_some() && (!sent || !self.terminal_tells) {
                    self.answered.get_or_insert(row.t_ns);
                }
                self.event((row.t_ns, row.record), entity, action, "UA", -1, "");
            }
            Kind::Handover if self.is_settled(row.t_ns) => {
                self.mark = self.last_ns.map(|last| (last, row.record))
            }
            Kind::Command if self.is_settled(row.t_ns) => self.mark = Some((row.t_ns, row.record)),
            Kind::Reestablishment if self.answered.is_some() && (sent || !self.terminal_tells) => {
                (self.answered, self.resumed, self.once_more) = (None, None, [true; 2]);
            }
            Kind::Reestablishment | Kind::Handover | Kind::Command => {}
        }
        if matches!(row.kind, Kind::Data | Kind::Status | Kind::Nack) {
            self.last_ns = Some(self.last_ns.map_or(row.t_ns, |last| last.max(row.t_ns)));
        }
    }

    /// Whether the last reset is over, so that there can be another: requests are repeated until they are answered,
    /// and a side that gives up anew before data gets through does so in the same trouble. Some time after an
    /// answer, or after who asked has begun anew, it is another one if nobody had anything to send.
    fn is_settled(&self, t_ns: i64) -> bool {
        let Some((asked, done)) = self.reset else { return self.directions.iter().any(RlcDirection::used) };
        let long = |since: Option<i64>| since.is_some_and(|since| t_ns - since > SAME_TROUBLE_NS);
        let asker = if self.directions[asked].used() { asked } else { 1 - asked };
        self.works || long(self.answered) || long(self.resumed) || (!self.ends_tell && done[asker])
    }

    /// Whether a direction is known to begin anew with its next PDU.
    fn is_armed(&self, direction: usize) -> bool {
        self.mark.is_some() || self.reset.is_some_and(|(_, done)| !done[direction])
    }

    /// A status report, or one of its NACKs, about the other direction.
    fn report(&mut self, row: &Row, direction: usize, entity: usize, action: i8) {
        let (word, kind) = if row.kind == Kind::Status { ("RR", pdus::STATUS) } else { ("SREJ", pdus::NACK) };
        let at = (row.t_ns, row.record);
        self.event(at, entity, action, word, row.sn as i32, "");
        let about = &mut self.directions[1 - direction];
        match row.kind {
            Kind::Status => about.acknowledged(row.sn),
            _ => about.asked(row.sn),
        }
        self.found.pdus.push(PduRow {
            number: about.number_of(row.sn),
            epoch: about.epoch(),
            start: if row.part { row.start.min(i32::MAX as u32) as i32 } else { -1 },
            length: row.length,
            ..PduRow::new(at, entity, action, kind)
        });
    }

    fn data(&mut self, row: &Row, direction: usize, entity: usize, action: i8) {
        let piece =
            Piece { sn: row.sn, start: row.start, length: row.length, last: row.last, hash: row.hash };
        let (place, attempt);
        if action == RCV && self.seen_sent[direction] {
            (place, attempt) = (self.directions[direction].receive(&piece), 0);
        } else {
            let fresh = !self.directions[direction].used();
            let placed = self.directions[direction].send(piece, self.is_armed(direction));
            self.directions[direction].grow(&piece);
            if placed.restart {
                self.restarted(row, direction);
            } else if fresh {
                if let Some((_, done)) = &mut self.reset {
                    done[direction] = true;
                }
            } else if placed.attempt == 0 && row.sn >= SMALL {
                // It goes on as before: another identity, but no new start.
                self.mark = None;
            }
            if placed.missing > 0 && self.seen_sent[direction] {
                let detail = || format!("{} PDUs before this one are not in the log", placed.missing);
                let record = row.record as u64;
                self.found.issues.add_many("missing-frames", u64::from(placed.missing), record, detail);
            }
            // Of what its sender does not tell, the receiver's first line is not always the first transmission.
            attempt = if action == SND { placed.attempt } else { 0 };
            let had = action == RCV && self.directions[direction].receive(&piece).had;
            let Placed { offset, number, epoch, .. } = placed;
            place = Received { offset, number, epoch, had };
        }
        let begun = self.reset.is_some_and(|(_, done)| done[direction])
            && place.epoch == self.directions[direction].epoch();
        self.works |= if self.ends_tell { action == RCV && begun } else { self.answered.is_some() };
        if begun && self.reset.is_some_and(|(asked, _)| asked == direction) {
            self.resumed.get_or_insert(row.t_ns);
        }
        let (offset, duplicate) = (place.offset, place.had);
        self.found.pdus.push(PduRow {
            number: place.number,
            epoch: place.epoch,
            start: row.start.min(i32::MAX as u32) as i32,
            length: row.length,
            last: row.last,
            poll: row.poll,
            part: row.part,
            attempt,
            duplicate,
            offset,
            ..PduRow::new((row.t_ns, row.record), entity, action, pdus::DATA)
        });
        self.found.frames.push(FrameRow {
            ns: row.sn as i32,
            offset,
            length: row.length.min(i32::MAX as u32) as i32,
            attempt,
            duplicate: i8::from(duplicate),
            poll: i8::from(row.poll),
            ..FrameRow::new((row.t_ns, row.record), entity as i16, action)
        });
    }

    /// The numbers of one direction begin again: with the other direction's, or for a reason not in the log.
    fn restarted(&mut self, row: &Row, direction: usize) {
        if let Some(at) = self.mark.take() {
            // The base station decides on a handover; the bearer stood still from its last PDU on.
            self.begin(at, 1, "handover");
        }
        match &mut self.reset {
            Some((asked, done)) if !done[direction] || self.once_more[direction] => {
                self.once_more[direction] = false;
                let reported = *asked != direction;
                done[direction] = true;
                if reported {
                    self.event((row.t_ns, row.record), direction, EVT, "reset", -1, "peer");
                }
            }
            _ => {
                let last_ns = self.last_ns.filter(|last| row.t_ns - last <= LONGEST_GAP_NS);
                self.begin((last_ns.unwrap_or(row.t_ns), row.record), direction, "other");
                if let Some((_, done)) = &mut self.reset {
                    done[direction] = true;
                    done[1 - direction] = !self.directions[1 - direction].used();
                }
            }
        }
    }

    fn begin(&mut self, at: (i64, i64), entity: usize, cause: &str) {
        self.event(at, entity, EVT, "reset", -1, cause);
        self.reset = Some((entity, [false; 2]));
        (self.answered, self.resumed, self.works) = (None, None, false);
        self.once_more = [false; 2];
        self.mark = None;
    }

    fn event(&mut self, at: (i64, i64), entity: usize, action: i8, word: &str, nr: i32, cause: &str) {
        self.found.events.push(EventRow {
            nr,
            cause: cause_code(cause.as_bytes()),
            ..EventRow::new(at, entity as i16, action, kind_code(word.as_bytes()))
        });
    }
}

#[cfg(test)]
mod tests;
