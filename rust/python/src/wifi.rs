//! Captures of 802.11 frames: (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::wifi::{self, Counts, LinkFacts, Mac, NAMES, Wanted};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::error_to_python;
use crate::link::link_tables;
use crate::text::{Scan, facts, listed, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sniff_wifi, m)?)?;
    m.add_function(wrap_pyfunction!(read_wifi, m)?)?;
    Ok(())
}

#[pyfunction]
fn sniff_wifi(head: &[u8]) -> bool {
    wifi::sniff(head)
}

#[pyfunction]
#[pyo3(signature = (paths, station=None, retry_limit=None))]
fn read_wifi(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    station: Option<Mac>,
    retry_limit: Option<i16>,
) -> PyResult<Scan<'_>> {
    let found = py
        .detach(|| wifi::read(&paths, Wanted { station, retry_limit }))
        .map_err(|(_, error)| error_to_python(error))?;
    let tables = link_tables(py, found.frames, found.events)?;
    let rows = found.radio;
    let radio =
        table!(py, rows, t_ns, record, entity, airtime_ns, rate_bps, mcs, signal_dbm, channel_mhz, attempt);
    tables.set_item("link_radio", radio)?;
    let rows = found.air;
    let air = table!(
        py,
        rows,
        t_ns,
        record,
        own_ns,
        others_ns,
        everybody_ns,
        damaged_ns,
        frames,
        own_frames,
        unknown_frames
    );
    tables.set_item("link_air", air)?;
    let facts = facts(py, found.counts.records, found.resolution_ns)?;
    facts.set_item("span", found.counts.first_ns.zip(found.counts.last_ns))?;
    facts.set_item("counts", counts(py, &found.counts)?)?;
    let links = found.links.iter().map(|link| link_facts(py, link)).collect::<PyResult<Vec<_>>>()?;
    facts.set_item("links", links)?;
    facts.set_item("link_count", found.link_count)?;
    facts.set_item("retry_limit", found.retry_limit)?;
    facts.set_item("repeats", found.repeats)?;
    let arrivals: Vec<_> = found.arrivals.iter().map(arrival).collect();
    facts.set_item("arrivals", arrivals)?;
    facts.set_item("air_step_ns", wifi::STEP_NS)?;
    Ok((tables, listed(&found.issues), facts))
}

/// Asked, associated, first and last message of the key handshake, next data; whether by fast transition.
type Arrival = (Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, bool);

fn arrival(found: &wifi::Return) -> Arrival {
    let (first, last) = found.keyed_ns.unzip();
    (found.asked_ns, found.associated_ns, first, last, found.data_ns, found.fast_transition)
}

fn counts<'py>(py: Python<'py>, found: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let kinds = PyDict::new(py);
    for (kind, count) in &found.kinds {
        match NAMES.iter().find(|(code, _)| code == kind) {
            Some((_, name)) => kinds.set_item(name, count)?,
            None => kinds.set_item(format!("type {} subtype {}", kind >> 4, kind & 0xf), count)?,
        }
    }
    entry.set_item("kinds", kinds)?;
    for (name, count) in [
        ("retries", found.retries),
        ("protected", found.protected),
        ("bad_fcs", found.bad_fcs),
        ("cut", found.cut),
        ("acks_paired", found.acks_paired),
        ("acks_alone", found.acks_alone),
        ("block_acknowledged", found.block_acknowledged),
        ("block_acks", found.block_acks),
        ("block_acks_unread", found.block_acks_unread),
        ("block_ack_requests", found.block_ack_requests),
        ("soundings", found.soundings),
        ("not_captured", found.not_captured),
        ("ps_polls", found.ps_polls),
        ("beacons", found.beacons),
        ("aggregates", found.aggregates),
        ("aggregated_frames", found.aggregated_frames),
        ("group_addressed", found.group_addressed),
        ("eapol", found.eapol),
        ("without_rate", found.without_rate),
        ("without_radio", found.without_radio),
        ("unknown_fields", found.unknown_fields),
        ("sent_status", found.sent_status),
    ] {
        entry.set_item(name, count)?;
    }
    Ok(entry)
}

fn link_facts<'py>(py: Python<'py>, link: &LinkFacts) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let counts = &link.counts;
    for (side, (role, address)) in link.sides.iter().enumerate() {
        let own = PyDict::new(py);
        let text: Vec<_> = address.iter().map(|byte| format!("{byte:02x}")).collect();
        own.set_item("role", role)?;
        own.set_item("address", text.join(":"))?;
        for (name, pair) in [
            ("sent", counts.sent),
            ("retries", counts.retries),
            ("frames", counts.frames),
            ("bytes", counts.bytes),
            ("acknowledged", counts.acknowledged),
            ("acks_not_seen", counts.acks_not_seen),
            ("given_up", counts.lost),
            ("given_up_or_ack_not_seen", counts.undecided),
            ("first_attempts_not_seen", counts.attempts_not_seen),
            ("frames_not_seen", counts.not_seen),
            ("frames_not_seen_acknowledged", counts.not_seen_acknowledged),
        ] {
            own.set_item(name, pair[side])?;
        }
        entry.set_item(side, own)?;
    }
    entry.set_item("resets", counts.resets)?;
    entry.set_item("power_changes", counts.power_changes)?;
    entry.set_item("roams", link.roams)?;
    entry.set_item("asked_for", counts.asked_for)?;
    entry.set_item("held_back", counts.held_back)?;
    entry.set_item("held_back_ns", counts.held_back_ns)?;
    Ok(entry)
}
