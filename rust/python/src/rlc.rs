//! LTE and NR: captures of PDUs, and PDUs out of text logs; (tables, issues, facts).

use std::path::PathBuf;

use multitracer_core::issue::Issues;
use multitracer_core::rlc::capture::{self, RlcCapture, Summary, Wanted};
use multitracer_core::rlc::pair;
use multitracer_core::rlc::pdus::Pdus;
use multitracer_core::rlc::track::{Kind, Row, View, track};
use multitracer_core::rlc::{Mode, Radio};
use multitracer_core::tracker::Tracker;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::{error_to_python, tracked_to_python};
use crate::link::link_tables;
use crate::text::{Scan, facts, listed, table};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sniff_rlc, m)?)?;
    m.add_function(wrap_pyfunction!(read_rlc, m)?)?;
    m.add_function(wrap_pyfunction!(continuation_rlc, m)?)?;
    m.add_function(wrap_pyfunction!(read_rlc_pair, m)?)?;
    m.add_function(wrap_pyfunction!(track_rlc, m)?)?;
    Ok(())
}

#[pyfunction]
fn continuation_rlc(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Option<Vec<usize>>> {
    py.detach(|| capture::continuation(&paths)).map_err(error_to_python)
}

#[pyfunction]
fn sniff_rlc(head: &[u8]) -> bool {
    capture::sniff(head)
}

fn view_named(name: &str) -> PyResult<View> {
    match name {
        "air" => Ok(View::Air),
        "ue" => Ok(View::Ue),
        "bs" => Ok(View::Bs),
        _ => Err(PyValueError::new_err(format!("a view is air, ue or bs, not {name}"))),
    }
}

#[pyfunction]
#[pyo3(signature = (paths, ue=None, bearer=None, view=None))]
fn read_rlc<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    ue: Option<u16>,
    bearer: Option<String>,
    view: Option<&str>,
) -> PyResult<Scan<'py>> {
    let wanted = Wanted { ue, bearer, view: view.map(view_named).transpose()? };
    let found = py.detach(|| capture::read(&paths, &wanted)).map_err(error_to_python)?;
    captured(py, found)
}

/// Terminal, bearer and view that are wanted of a file.
type Choice = (Option<u16>, Option<String>, Option<String>);

/// Two captures of one bearer, each as `read_rlc` gives it; `None` if they are not. An error names the file's place.
#[pyfunction]
fn read_rlc_pair(
    py: Python<'_>,
    paths: (Vec<PathBuf>, Vec<PathBuf>),
    choices: (Choice, Choice),
) -> PyResult<Option<(Scan<'_>, Scan<'_>)>> {
    let wanted = |(ue, bearer, view): Choice| -> PyResult<Wanted> {
        Ok(Wanted { ue, bearer, view: view.as_deref().map(view_named).transpose()? })
    };
    let (first, second) = (wanted(choices.0)?, wanted(choices.1)?);
    let found = py.detach(|| pair::read([&paths.0, &paths.1], [&first, &second]));
    let Some(found) = found.map_err(|(_, error)| error_to_python(error))? else { return Ok(None) };
    let [one, other] = found.captures;
    let (one, other) = (captured(py, one)?, captured(py, other)?);
    one.2.set_item("shared_pdus", found.shared)?;
    other.2.set_item("shared_pdus", found.shared)?;
    Ok(Some((one, other)))
}

fn captured(py: Python<'_>, found: RlcCapture) -> PyResult<Scan<'_>> {
    let tables = link_tables(py, found.tracked.frames, found.tracked.events)?;
    let (offsets_known, mut sdus) = (!found.sdus.records.is_empty(), found.sdus);
    let units = std::mem::take(&mut sdus.sdus);
    tables.set_item("rlc_sdus", table!(py, units, t_ns, end_ns, record, entity, offset, length, pdcp))?;
    set_pdus(py, &tables, found.tracked.pdus)?;
    let blocks = found.blocks;
    tables.set_item("link_radio", table!(py, blocks, t_ns, record, entity, airtime_ns, rate_bps, attempt))?;
    let facts = facts(py, found.packets.records, found.packets.resolution_ns)?;
    let counts = PyDict::new(py);
    let kinds = found.counts;
    for (name, count) in [
        ("pdus", kinds.pdus),
        ("mac", kinds.mac),
        ("harq_retransmissions", kinds.harq_again),
        ("wrong_crc", kinds.wrong_crc),
        ("rlc_other_modes", kinds.other_modes),
        ("pdcp", kinds.pdcp),
        ("ccch", kinds.ccch),
    ] {
        counts.set_item(name, count)?;
    }
    facts.set_item("counts", counts)?;
    facts.set_item("bearer", found.bearer.as_ref().map(|one| summary(py, one)).transpose()?)?;
    let bearers = found.bearers.iter().map(|one| summary(py, one)).collect::<PyResult<Vec<_>>>()?;
    facts.set_item("bearers", bearers)?;
    facts.set_item("views", found.views)?;
    facts.set_item("packets", sdus.records.len())?;
    facts.set_item("ciphered", sdus.unreadable)?;
    facts.set_item("pdcp_bits", sdus.pdcp_bits)?;
    if offsets_known {
        let mut inner = Issues::default();
        let mut offsets = Vec::new();
        let (connections, columns) = py.detach(|| {
            let mut tracker = Tracker::new(true);
            (offsets, inner) = sdus.segments(&mut tracker);
            tracker.finish(&mut inner)
        });
        let tcp = PyDict::new(py);
        tracked_to_python(py, &tcp, &connections, columns)?;
        tcp.set_item("offsets", offsets.into_pyarray(py))?;
        tcp.set_item("issues", listed(&inner))?;
        facts.set_item("tcp", tcp)?;
    }
    Ok((tables, listed(&found.issues), facts))
}

fn set_pdus(py: Python<'_>, tables: &Bound<'_, PyDict>, rows: Pdus) -> PyResult<()> {
    let table = table!(
        py, rows, t_ns, record, entity, action, kind, number, epoch, start, length, last, poll, part,
        attempt, duplicate, offset
    );
    tables.set_item("rlc_pdus", table)
}

fn summary<'py>(py: Python<'py>, one: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("radio", if one.radio == Radio::Lte { "lte" } else { "nr" })?;
    entry.set_item("ue", one.ue)?;
    entry.set_item("bearer", &one.bearer)?;
    let mode = match one.mode {
        Mode::Acknowledged => "am",
        Mode::Unacknowledged => "um",
        Mode::Transparent => "tm",
    };
    entry.set_item("mode", mode)?;
    entry.set_item("sn_bits", one.sn_bits)?;
    entry.set_item("data_pdus", one.data)?;
    entry.set_item("data_bytes", one.bytes)?;
    entry.set_item("status_pdus", one.status)?;
    entry.set_item("nacks", one.nacks)?;
    Ok(entry)
}

type Longs<'py> = PyReadonlyArray1<'py, i64>;

/// `kinds`: 0 data, 1 status, 2 NACK, 3 re-establishment, 4 another cell, 5 an answer,
/// 6 a command to go there. `flags`: 1 uplink, 2 last byte of its PDU or
/// SDU, 4 poll, 8 a segment. A log without bytes: PDUs of one number and length are the same.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn track_rlc<'py>(
    py: Python<'py>,
    sn_bits: u32,
    view: &str,
    t_ns: Longs<'py>,
    record: Longs<'py>,
    kinds: Longs<'py>,
    flags: Longs<'py>,
    sn: Longs<'py>,
    start: Longs<'py>,
    length: Longs<'py>,
) -> PyResult<Scan<'py>> {
    let view = view_named(view)?;
    let columns = [&t_ns, &record, &kinds, &flags, &sn, &start, &length].map(|column| column.as_array());
    let rows_count = columns[0].len();
    if columns.iter().any(|column| column.len() != rows_count) {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let number = |value: i64| value.clamp(0, i64::from(i32::MAX)) as u32;
    let rows: Vec<Row> = (0..rows_count)
        .map(|at| {
            let [t_ns, record, kind, flags, sn, start, length] = columns.map(|column| column[at]);
            Row {
                t_ns,
                record,
                interface: 0,
                uplink: flags & 1 != 0,
                kind: match kind {
                    0 => Kind::Data,
                    1 => Kind::Status,
                    2 => Kind::Nack,
                    3 => Kind::Reestablishment,
                    4 => Kind::Handover,
                    5 => Kind::Answer,
                    _ => Kind::Command,
                },
                sn: number(sn),
                start: number(start),
                length: number(length),
                last: flags & 2 != 0,
                poll: flags & 4 != 0,
                part: flags & 8 != 0,
                hash: 0,
            }
        })
        .collect();
    let found = py.detach(|| track(sn_bits, &rows, |_| view));
    let tables = link_tables(py, found.frames, found.events)?;
    set_pdus(py, &tables, found.pdus)?;
    let facts = facts(py, rows_count as u64, 1)?;
    Ok((tables, listed(&found.issues), facts))
}
