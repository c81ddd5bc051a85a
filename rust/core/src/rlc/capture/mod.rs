//! Captures of MAC, RLC and PDCP PDUs to the rows of one bearer.

mod continuation;
mod reading;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::PathBuf;

pub use continuation::continuation;
pub(crate) use reading::Reading;
use reading::view_at;

use super::Radio;
pub use super::bearers::Counts;
use super::framing::{self, Mode};
use super::sdus::{self, Packets};
use super::track::{Tracked, View};
use crate::capture::ReadError;
use crate::capture::frames::{Frame, frames, frames_from, frames_in_head};
use crate::capture::transport;
use crate::issue::Issues;

/// Packets that tell whether a capture is one of PDUs.
const SNIFFED: u64 = 400;

/// Which bearer is wanted, and who captured it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// UEID or C-RNTI; the busiest otherwise.
    pub ue: Option<u16>,
    /// "srb1", "drb1" ...; the busiest otherwise.
    pub bearer: Option<String>,
    /// Who captured it, if all was captured by one; otherwise the names of interfaces say it ("ue", "bs").
    pub view: Option<View>,
}

/// A bearer, as facts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Summary {
    pub radio: Radio,
    pub ue: u32,
    pub bearer: String,
    pub mode: Mode,
    pub sn_bits: u8,
    pub data: u64,
    pub bytes: u64,
    pub status: u64,
    pub nacks: u64,
}

/// Transport blocks of the terminal that the bearer is of.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Blocks {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub airtime_ns: Vec<i64>,
    pub rate_bps: Vec<i64>,
    pub attempt: Vec<i16>,
}

/// What a capture says.
#[derive(Debug, Default)]
pub struct RlcCapture {
    /// Rows of the bearer.
    pub tracked: Tracked,
    /// HARQ.
    pub blocks: Blocks,
    /// The bearer in the tables; `None` if there is none.
    pub bearer: Option<Summary>,
    /// All bearers, the busiest first.
    pub bearers: Vec<Summary>,
    /// PDUs by kind.
    pub counts: Counts,
    /// Records of the file.
    pub packets: transport::Counts,
    /// IP packets of the bearer, where they are in the clear.
    pub sdus: Packets,
    /// Views that occur, as words.
    pub views: Vec<&'static str>,
    /// Damage.
    pub issues: Issues,
}

/// Whether a file begins like a capture of PDUs: some of them, and no TCP beside.
pub fn sniff(head: &[u8]) -> bool {
    let (mut found, mut damaged) = (0_u64, 0_u64);
    let counts = frames_in_head(head, SNIFFED, |frame| match pdu_of(&frame) {
        Some(Ok(_)) => found += 1,
        Some(Err(_)) => damaged += 1,
        None => {}
    });
    found > damaged && counts.is_ok_and(|counts| counts.tcp == 0)
}

pub(crate) fn pdu_of<'a>(frame: &Frame<'a>) -> Option<Result<framing::Pdu<'a>, framing::Damaged>> {
    match frame.datagram {
        Some(datagram) => framing::in_datagram(datagram.payload),
        None => framing::in_record(frame.link_type, frame.data),
    }
}

/// Read a capture, whose files follow each other; records are counted through.
///
/// # Errors
/// See [`ReadError`].
pub fn read(files: &[PathBuf], wanted: &Wanted) -> Result<RlcCapture, ReadError> {
    let mut reading = Reading::of(files)?;
    let (packets, names) = (reading.packets, std::mem::take(&mut reading.names));
    let (mut found, key) = reading.finish(packets, &names, Issues::default(), wanted);
    // A pipe can be read only once.
    if let Some(key) = key.filter(|_| files.iter().all(|path| path.is_file())) {
        found.sdus =
            sdus::packets(files, key, &found.tracked.frames, |interface| view_at(wanted, &names, interface))?;
    }
    Ok(found)
}

/// Hand every record of files that follow each other to `each`, counted through.
///
/// # Errors
/// See [`ReadError`].
pub(crate) fn frames_of(
    files: &[PathBuf],
    issues: &mut Issues,
    mut each: impl FnMut(Frame<'_>),
) -> Result<(transport::Counts, Vec<String>), ReadError> {
    let mut whole = transport::Counts::default();
    let mut names = Vec::new();
    for path in files {
        let before = whole.records;
        let mut found = Issues::default();
        let (counts, interfaces) = frames(path, &mut found, |frame| {
            each(Frame { record: before + frame.record, ..frame });
        })?;
        for (code, seen) in found.iter() {
            let first = if seen.first_record == 0 { 0 } else { before + seen.first_record };
            issues.add_many(code, seen.count, first, || seen.detail.clone());
        }
        whole.records += counts.records;
        whole.tcp += counts.tcp;
        whole.udp += counts.udp;
        whole.resolution_ns = whole.resolution_ns.max(counts.resolution_ns);
        if names.is_empty() {
            names = interfaces;
        }
    }
    Ok((whole, names))
}

/// As [`read`], from any bytes, without the packets in the PDUs.
///
/// # Errors
/// See [`ReadError`].
pub fn read_from(reader: impl Read + Send, wanted: &Wanted) -> Result<RlcCapture, ReadError> {
    let mut reading = Reading::default();
    let mut issues = Issues::default();
    let (packets, names) = frames_from(reader, &mut issues, u64::MAX, |frame| reading.frame(&frame))?;
    Ok(reading.finish(packets, &names, issues, wanted).0)
}
