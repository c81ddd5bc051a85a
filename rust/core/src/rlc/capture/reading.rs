//! All bearers of a file, and the one of them that is followed.

use std::path::PathBuf;

use super::{RlcCapture, Summary, Wanted, frames_of, pdu_of};
use crate::capture::ReadError;
use crate::capture::frames::Frame;
use crate::capture::transport;
use crate::issue::Issues;
use crate::rlc::bearers::{At, Bearers, Key, NO_SN};
use crate::rlc::framing::{self, Channel, Mode};
use crate::rlc::track::{Row, Tracked, View, sends, track};
use crate::rlc::{Radio, um};

/// Subframe of LTE: the time a transport block takes.
const SUBFRAME_NS: i64 = 1_000_000;

/// What was read of a file, before a bearer is chosen.
#[derive(Default)]
pub(crate) struct Reading {
    pub(super) bearers: Bearers,
    issues: Issues,
    cut: u64,
    pub(super) packets: transport::Counts,
    pub(super) names: Vec<String>,
}

impl Reading {
    /// Read all of some files, one after the other.
    pub(crate) fn of(files: &[PathBuf]) -> Result<Self, ReadError> {
        let mut reading = Reading::default();
        let mut issues = Issues::default();
        let (packets, names) = frames_of(files, &mut issues, |frame| reading.frame(&frame))?;
        (reading.packets, reading.names) = (packets, names);
        reading.issues.take_in(&issues);
        Ok(reading)
    }

    /// Bearers that are wanted, the busiest first.
    pub(crate) fn keys(&self, wanted: &Wanted) -> Vec<Key> {
        let mut keys = self.bearers.likeliest();
        keys.retain(|key| is_wanted(*key, wanted, &self.bearers));
        keys
    }

    /// What a bearer's log says, in the order of the file.
    pub(crate) fn rows(&self, key: Key) -> Vec<Row> {
        let terminal = self.bearers.terminals.get(&(key.radio, key.ue));
        let marks: &[Row] = terminal.map_or(&[], |terminal| &terminal.marks);
        merged(&self.bearers.bearers[&key].rows, marks)
    }

    /// Who captured rows, if all of them were captured by one.
    pub(crate) fn view(&self, wanted: &Wanted, rows: &[Row]) -> View {
        let mut views = rows.iter().map(|row| view_at(wanted, &self.names, row.interface));
        let first = views.next().unwrap_or(View::Air);
        if views.all(|view| view == first) { first } else { View::Air }
    }

    /// As [`RlcCapture`], of a bearer that was tracked together with another capture's.
    pub(crate) fn capture(self, key: Key, tracked: Tracked, view: View, rows: &[Row]) -> RlcCapture {
        let mut found = RlcCapture {
            counts: self.bearers.counts,
            packets: self.packets,
            issues: self.issues,
            bearers: self.bearers.likeliest().into_iter().map(|key| summary(&self.bearers, key)).collect(),
            bearer: Some(summary(&self.bearers, key)),
            ..RlcCapture::default()
        };
        finish(&mut found, &self.bearers, key, tracked, rows, |_| view);
        found
    }

    pub(super) fn frame(&mut self, frame: &Frame<'_>) {
        let Some(pdu) = pdu_of(frame) else { return };
        let interface = frame.interface.min(u32::from(u16::MAX)) as u16;
        let at = At { t_ns: frame.t_ns, record: frame.record as i64, interface };
        let outcome = match pdu {
            Ok(pdu) => self.bearers.take(at, &pdu),
            Err(framing::Damaged(why)) => Err(why),
        };
        if frame.cut {
            self.cut += 1;
            self.issues.add("snaplen-cut", frame.record, String::new);
        } else if let Err(why) = outcome {
            self.issues.add("malformed-packet", frame.record, || why.into());
        }
    }

    pub(super) fn finish(
        self,
        packets: transport::Counts,
        names: &[String],
        capture: Issues,
        wanted: &Wanted,
    ) -> (RlcCapture, Option<Key>) {
        let mut issues = self.issues.clone();
        issues.take_in(&capture);
        let view = |interface: u16| view_at(wanted, names, interface);
        let mut found = RlcCapture { counts: self.bearers.counts, packets, issues, ..RlcCapture::default() };
        let chosen = self.bearers.likeliest();
        found.bearers = chosen.iter().map(|key| summary(&self.bearers, *key)).collect();
        let Some(key) = chosen.into_iter().find(|key| is_wanted(*key, wanted, &self.bearers)) else {
            return (found, None);
        };
        found.bearer = Some(summary(&self.bearers, key));
        let rows = self.rows(key);
        let tracked = match key.mode {
            Mode::Acknowledged => track(u32::from(key.sn_bits), &rows, view),
            Mode::Unacknowledged | Mode::Transparent => um::track(u32::from(key.sn_bits), &rows, view),
        };
        finish(&mut found, &self.bearers, key, tracked, &rows, view);
        (found, Some(key))
    }
}

/// Take in what was tracked of a bearer, and the transport blocks of its terminal.
fn finish(
    found: &mut RlcCapture,
    all: &Bearers,
    key: Key,
    tracked: Tracked,
    rows: &[Row],
    view: impl Fn(u16) -> View,
) {
    found.tracked = tracked;
    found.issues.take_in(&found.tracked.issues);
    let terminal = all.terminals.get(&(key.radio, key.ue));
    for block in terminal.map_or(&[][..], |terminal| &terminal.blocks) {
        if !sends(view(block.interface), block.uplink) {
            continue;
        }
        let lte = key.radio == Radio::Lte;
        found.blocks.t_ns.push(block.t_ns);
        found.blocks.record.push(block.record);
        found.blocks.entity.push(i16::from(!block.uplink));
        found.blocks.airtime_ns.push(if lte { SUBFRAME_NS } else { -1 });
        found.blocks.rate_bps.push(if lte { i64::from(block.bytes) * 8000 } else { -1 });
        found.blocks.attempt.push(block.attempt);
    }
    let words = [(View::Air, "air"), (View::Ue, "ue"), (View::Bs, "bs")];
    let seen = |wanted| rows.iter().any(|row| view(row.interface) == wanted);
    found.views = words.into_iter().filter(|(one, _)| seen(*one)).map(|(_, word)| word).collect();
}

pub(super) fn view_at(wanted: &Wanted, names: &[String], interface: u16) -> View {
    let named = || names.get(usize::from(interface)).map_or(View::Air, |name| view_of(name));
    wanted.view.unwrap_or_else(named)
}

fn view_of(name: &str) -> View {
    match name.to_ascii_lowercase().as_str() {
        "ue" => View::Ue,
        "bs" | "enb" | "gnb" | "du" => View::Bs,
        _ => View::Air,
    }
}

fn is_wanted(key: Key, wanted: &Wanted, all: &Bearers) -> bool {
    let rnti = all.terminals.get(&(key.radio, key.ue)).map_or(0, |terminal| terminal.rnti);
    let ue =
        wanted.ue.is_none_or(|ue| key.ue == u32::from(ue) || key.ue >> 16 == u32::from(ue) || rnti == ue);
    ue && wanted.bearer.as_ref().is_none_or(|name| *name == name_of(key.channel))
}

fn name_of(channel: Channel) -> String {
    match channel {
        Channel::Ccch => "ccch".into(),
        Channel::Srb(id) => format!("srb{id}"),
        Channel::Drb(id) => format!("drb{id}"),
        Channel::Other => "other".into(),
    }
}

fn summary(all: &Bearers, key: Key) -> Summary {
    let one = &all.bearers[&key];
    Summary {
        radio: key.radio,
        ue: if key.ue > 0xffff { key.ue >> 16 } else { key.ue },
        bearer: name_of(key.channel),
        mode: key.mode,
        // Whole SDUs of NR without acknowledgements have none.
        sn_bits: if one.rows.iter().any(|row| row.sn != NO_SN) { key.sn_bits } else { 0 },
        data: one.data,
        bytes: one.bytes,
        status: one.status,
        nacks: one.nacks,
    }
}

/// PDUs and marks in the order of the file.
fn merged(rows: &[Row], marks: &[Row]) -> Vec<Row> {
    let mut all = Vec::with_capacity(rows.len() + marks.len());
    let mut next = marks.iter().peekable();
    for row in rows {
        while let Some(mark) = next.next_if(|mark| mark.record <= row.record) {
            all.push(*mark);
        }
        all.push(*row);
    }
    all.extend(next);
    all
}
