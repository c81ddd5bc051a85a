//! The columns that a capture becomes.

use crate::linktable::{EventRow, Events, FrameRow, Frames, cause_code, kind_code};

/// What the radio header said of a transmission; see the schema for absent values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RadioRow {
    pub airtime_ns: i64,
    pub rate_bps: i64,
    pub mcs: i16,
    pub signal_dbm: i16,
    pub channel_mhz: i32,
    pub attempt: i16,
}

pub(super) const RADIO_ROW: RadioRow =
    RadioRow { airtime_ns: -1, rate_bps: -1, mcs: -1, signal_dbm: 0, channel_mhz: -1, attempt: -1 };

/// Columns of `link_radio`.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RadioRows {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub entity: Vec<i16>,
    pub airtime_ns: Vec<i64>,
    pub rate_bps: Vec<i64>,
    pub mcs: Vec<i16>,
    pub signal_dbm: Vec<i16>,
    pub channel_mhz: Vec<i32>,
    pub attempt: Vec<i16>,
}

/// The three tables of a link.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub frames: Frames,
    pub events: Events,
    pub radio: RadioRows,
}

impl Output {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn frame(
        &mut self,
        at: (i64, u64),
        entity: u8,
        action: i8,
        sequence: u16,
        offset: i64,
        length: i32,
        attempt: i16,
        duplicate: bool,
    ) {
        self.frames.push(FrameRow {
            ns: i32::from(sequence),
            offset,
            length,
            attempt,
            duplicate: i8::from(duplicate),
            ..FrameRow::new((at.0, at.1 as i64), i16::from(entity), action)
        });
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn event(
        &mut self,
        at: (i64, u64),
        entity: u8,
        action: i8,
        kind: &str,
        number: i32,
        cause: &str,
        length: i32,
    ) {
        self.events.push(EventRow {
            nr: number,
            cause: cause_code(cause.as_bytes()),
            length,
            ..EventRow::new((at.0, at.1 as i64), i16::from(entity), action, kind_code(kind.as_bytes()))
        });
    }

    pub(super) fn radio(&mut self, at: (i64, u64), entity: u8, row: RadioRow) {
        let radio = &mut self.radio;
        radio.t_ns.push(at.0);
        radio.record.push(at.1 as i64);
        radio.entity.push(i16::from(entity));
        radio.airtime_ns.push(row.airtime_ns);
        radio.rate_bps.push(row.rate_bps);
        radio.mcs.push(row.mcs);
        radio.signal_dbm.push(row.signal_dbm);
        radio.channel_mhz.push(row.channel_mhz);
        radio.attempt.push(row.attempt);
    }
}
