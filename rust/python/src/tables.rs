//! Tables of a capture as NumPy columns.

use multitracer_core::segment::Mptcp;
use multitracer_core::tracker::{
    Arrival, Columns, Connection, Endpoint, Held, MultipathRow, QuotedError, Retransmission, Sender, Sparse,
    Timeout,
};
use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

macro_rules! set_columns {
    ($dict:expr, $py:expr, $table:expr, $($name:ident),+ $(,)?) => {
        $( $dict.set_item(stringify!($name), $table.$name.into_pyarray($py))?; )+
    };
}

/// A column as an array; one most of whose rows say "none" as that value, the other rows, and their values.
fn sparse_to_python<'py, T: Element + Copy + PartialEq + IntoPyObject<'py>, const ABSENT: i8>(
    py: Python<'py>,
    column: Sparse<T, ABSENT>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match column.into_held() {
        Held::All(values) => values.into_pyarray(py).into_any(),
        Held::Few(absent, rows, values) => {
            (absent, rows.into_pyarray(py), values.into_pyarray(py)).into_pyobject(py)?.into_any()
        }
    })
}

pub(crate) fn segments_to_python<'py>(py: Python<'py>, columns: Columns) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    set_columns!(
        d,
        py,
        columns,
        t_ns,
        record,
        conn,
        dir,
        seq,
        ack,
        length,
        flags,
        window,
        transmission,
        cause,
        ack_kind,
        flight,
        rtt_ns,
        checksum,
        ip_length,
        ip_id,
        seq_raw,
        ack_raw,
    );
    d.set_item("duplicate", sparse_to_python(py, columns.duplicate)?)?;
    d.set_item("ts_val", sparse_to_python(py, columns.ts_val)?)?;
    d.set_item("ts_ecr", sparse_to_python(py, columns.ts_ecr)?)?;
    d.set_item("sack_high", sparse_to_python(py, columns.sack_high)?)?;
    d.set_item("sack_count", sparse_to_python(py, columns.sack_count)?)?;
    Ok(d)
}

/// The rows that a list in every sender holds, with connection and direction, in order of time.
pub(crate) fn gather<'a, T>(
    connections: &'a [Connection],
    rows: impl Fn(&'a Sender) -> &'a [T],
    time: impl Fn(&T) -> i64,
) -> Vec<(i32, i8, &'a T)> {
    let mut found: Vec<(i32, i8, &T)> = Vec::new();
    for (index, connection) in connections.iter().enumerate() {
        for direction in 0..2 {
            let rows = rows(connection.senders_at(direction));
            found.extend(rows.iter().map(|row| (index as i32, direction as i8, row)));
        }
    }
    found.sort_by_key(|(_, _, row)| time(row));
    found
}

/// A column out of gathered rows.
pub(crate) fn column<'py, T, E: Element>(
    py: Python<'py>,
    d: &Bound<'py, PyDict>,
    name: &str,
    rows: &[T],
    value: impl Fn(&T) -> E,
) -> PyResult<()> {
    d.set_item(name, rows.iter().map(value).collect::<Vec<E>>().into_pyarray(py))
}

pub(crate) fn retransmissions_to_python<'py>(
    py: Python<'py>,
    connections: &[Connection],
) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::retransmissions, |r: &Retransmission| r.t_ns);
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "length", &rows, |r| r.2.length as i32)?;
    column(py, &d, "duplicate", &rows, |r| r.2.duplicate as i32)?;
    column(py, &d, "cause", &rows, |r| r.2.cause as i8)?;
    column(py, &d, "transmission", &rows, |r| r.2.transmission.min(i16::MAX as u16) as i16)?;
    column(py, &d, "since_sent_ns", &rows, |r| r.2.since_sent_ns)?;
    column(py, &d, "since_ack_ns", &rows, |r| r.2.since_ack_ns)?;
    column(py, &d, "dupacks", &rows, |r| r.2.dupacks as i32)?;
    column(py, &d, "sacked", &rows, |r| r.2.sacked)?;
    column(py, &d, "rto_ns", &rows, |r| r.2.rto_ns)?;
    column(py, &d, "episode", &rows, |r| r.2.episode as i32)?;
    column(py, &d, "alternative", &rows, |r| r.2.alternative as i8)?;
    column(py, &d, "eifel", &rows, |r| r.2.eifel as i8)?;
    column(py, &d, "dsack", &rows, |r| r.2.dsack as i8)?;
    let min_rtt = |r: &(i32, i8, &Retransmission)| connections[r.0 as usize].min_rtt_ns(r.1 as usize);
    column(py, &d, "too_early", &rows, |r| r.2.too_early(min_rtt(r)) as i8)?;
    column(py, &d, "verdict", &rows, |r| r.2.verdict(min_rtt(r)) as i8)?;
    column(py, &d, "answer_ns", &rows, |r| r.2.answer_after_ns.unwrap_or(-1))?;
    column(py, &d, "answer_record", &rows, |r| r.2.answer_record as i64)?;
    Ok(d)
}

pub(crate) fn arrivals_to_python<'py>(
    py: Python<'py>,
    connections: &[Connection],
) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::arrivals, |r: &Arrival| r.t_ns);
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "length", &rows, |r| r.2.length as i32)?;
    column(py, &d, "verdict", &rows, |r| r.2.verdict as i8)?;
    column(py, &d, "cause", &rows, |r| r.2.cause as i8)?;
    column(py, &d, "evidence", &rows, |r| r.2.evidence as i8)?;
    column(py, &d, "in_order", &rows, |r| i8::from(r.2.in_order))?;
    column(py, &d, "fresh", &rows, |r| i8::from(r.2.fresh))?;
    Ok(d)
}

pub(crate) fn timeouts_to_python<'py>(
    py: Python<'py>,
    connections: &[Connection],
) -> PyResult<Bound<'py, PyDict>> {
    let rows = gather(connections, Sender::timeouts, |t: &Timeout| t.t_ns);
    let min_rtt = |r: &(i32, i8, &Timeout)| connections[r.0 as usize].min_rtt_ns(r.1 as usize);
    let d = PyDict::new(py);
    column(py, &d, "t_ns", &rows, |r| r.2.t_ns)?;
    column(py, &d, "record", &rows, |r| r.2.record as i64)?;
    column(py, &d, "conn", &rows, |r| r.0)?;
    column(py, &d, "dir", &rows, |r| r.1)?;
    column(py, &d, "seq", &rows, |r| r.2.seq)?;
    column(py, &d, "length", &rows, |r| r.2.length as i32)?;
    column(py, &d, "backoff", &rows, |r| r.2.backoff.min(i16::MAX as u16) as i16)?;
    column(py, &d, "silence_ns", &rows, |r| r.2.silence_ns)?;
    column(py, &d, "rto_ns", &rows, |r| r.2.rto_ns)?;
    column(py, &d, "waited_ns", &rows, |r| r.2.waited_ns)?;
    column(py, &d, "rto_max_ns", &rows, |r| r.2.rto_max_ns)?;
    column(py, &d, "eifel", &rows, |r| r.2.eifel as i8)?;
    column(py, &d, "dsack", &rows, |r| r.2.dsack as i8)?;
    column(py, &d, "frto", &rows, |r| r.2.frto as i8)?;
    column(py, &d, "ack_path", &rows, |r| r.2.ack_path as i8)?;
    column(py, &d, "too_early", &rows, |r| r.2.too_early(min_rtt(r)) as i8)?;
    column(py, &d, "verdict", &rows, |r| r.2.verdict(min_rtt(r)) as i8)?;
    column(py, &d, "answer_record", &rows, |r| r.2.answer_record as i64)?;
    Ok(d)
}

pub(crate) fn icmp_errors_to_python<'py>(
    py: Python<'py>,
    rows: &[QuotedError],
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    column(py, &d, "t_ns", rows, |r| r.error.t_ns)?;
    column(py, &d, "record", rows, |r| r.error.record as i64)?;
    column(py, &d, "conn", rows, |r| r.connection.map_or(-1, |(index, _)| index as i32))?;
    column(py, &d, "dir", rows, |r| r.connection.map_or(0, |(_, direction)| direction as i8))?;
    column(py, &d, "version", rows, |r| if r.error.v6 { 6i8 } else { 4 })?;
    column(py, &d, "type", rows, |r| i16::from(r.error.icmp_type))?;
    column(py, &d, "code", rows, |r| i16::from(r.error.code))?;
    column(py, &d, "mtu", rows, |r| i64::from(r.error.mtu))?;
    column(py, &d, "seq", rows, |r| r.seq)?;
    column(py, &d, "seq_raw", rows, |r| r.error.seq)?;
    let ends = |pick: fn(&QuotedError) -> Endpoint| {
        rows.iter().map(|row| end_to_string(pick(row))).collect::<Vec<_>>()
    };
    d.set_item("source_end", ends(|r| r.error.source))?;
    d.set_item("destination_end", ends(|r| r.error.destination))?;
    d.set_item("reporter", rows.iter().map(|r| r.error.reporter.to_ip().to_string()).collect::<Vec<_>>())?;
    Ok(d)
}

pub(crate) fn multipath_to_python<'py>(
    py: Python<'py>,
    rows: &[MultipathRow],
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    column(py, &d, "t_ns", rows, |r| r.t_ns)?;
    column(py, &d, "record", rows, |r| r.record as i64)?;
    column(py, &d, "conn", rows, |r| r.conn as i32)?;
    column(py, &d, "dir", rows, |r| r.direction as i8)?;
    column(py, &d, "seq", rows, |r| r.seq)?;
    column(py, &d, "length", rows, |r| r.length as i32)?;
    column(py, &d, "subtypes", rows, |r| r.option.subtypes)?;
    column(py, &d, "has", rows, |r| i16::from(r.option.has))?;
    column(py, &d, "version", rows, |r| r.option.version as i8)?;
    column(py, &d, "address_id", rows, |r| i16::from(r.option.address_id))?;
    // What is not there is 0; `has` tells.
    let pick = |r: &MultipathRow, bit: u8, value: u64| if r.option.has & bit != 0 { value } else { 0 };
    column(py, &d, "sender_key", rows, |r| pick(r, Mptcp::SENDER_KEY, r.option.a))?;
    column(py, &d, "receiver_key", rows, |r| pick(r, Mptcp::RECEIVER_KEY, r.option.b))?;
    column(py, &d, "data_seq", rows, |r| pick(r, Mptcp::MAPPING, r.option.a))?;
    column(py, &d, "data_ack", rows, |r| pick(r, Mptcp::DATA_ACK, r.option.b))?;
    column(py, &d, "token", rows, |r| pick(r, Mptcp::TOKEN, r.option.token.into()) as u32)?;
    column(py, &d, "subflow_seq", rows, |r| pick(r, Mptcp::MAPPING, r.option.token.into()) as u32)?;
    column(py, &d, "data_length", rows, |r| i32::from(r.option.data_length))?;
    Ok(d)
}

/// As URLs have it: brackets around IPv6.
pub(crate) fn end_to_string((address, port): Endpoint) -> String {
    std::net::SocketAddr::new(address.to_ip(), port).to_string()
}
