//! Results of NDT7, M-Lab's speed test: what the server measured, with its TCPInfo.
//!
//! Reference: M-Lab's NDT7 data format, `spec/data-format.md` of ndt-server.

use std::collections::HashMap;
use std::io::Read;

use super::json::{Walk, whole};
use super::settings::{Settings, Unread, whole_document};
use crate::issue::Issues;
use crate::text::found::{Found, Value, columns};

const US_NS: u32 = 1000;

/// Key of TCPInfo, column, and what one of its unit is in the column's.
const FIELDS: [(&[u8], &str, u32); 20] = [
    (b"AppLimited", "app_limited", 1),
    (b"Backoff", "backoff", 1),
    (b"RTO", "rto_ns", US_NS),
    (b"SndMSS", "mss", 1),
    (b"Unacked", "unacked", 1),
    (b"RTT", "srtt_ns", US_NS),
    (b"RTTVar", "rttvar_ns", US_NS),
    (b"SndSsThresh", "ssthresh", 1),
    (b"SndCwnd", "cwnd", 1),
    (b"TotalRetrans", "retrans_total", 1),
    (b"BytesAcked", "bytes_acked", 1),
    (b"BytesReceived", "bytes_received", 1),
    (b"NotsentBytes", "notsent", 1),
    (b"MinRTT", "min_rtt_ns", US_NS),
    (b"BusyTime", "busy_ns", US_NS),
    (b"RWndLimited", "rwnd_limited_ns", US_NS),
    (b"SndBufLimited", "sndbuf_limited_ns", US_NS),
    (b"BytesSent", "bytes_sent", 1),
    (b"BytesRetrans", "bytes_retrans", 1),
    (b"SndWnd", "snd_wnd", 1),
];

/// Names of columns, in their order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(_, column, _)| *column)
}

/// Both ends of a measurement's socket as they are written, server first; empty where absent.
pub type Ends<'a> = (&'a [u8], &'a [u8]);

/// What a result says; texts are JSON.
#[derive(Debug, Default)]
pub struct Ndt7Log<'a> {
    /// The document is whole.
    pub is_whole: bool,
    /// What the result says of itself, by key.
    pub about: Vec<(&'a [u8], &'a [u8])>,
    /// Download and upload: when it began, and its name; none where there was none.
    pub tests: [Option<(&'a [u8], &'a [u8])>; 2],
    /// By measurement, download before upload: which test.
    pub test: Vec<i8>,
    /// Nanoseconds since the test began; -1 where absent.
    pub elapsed_ns: Vec<i64>,
    /// Index in `sockets`.
    pub socket: Vec<i32>,
    /// Values, -1 where absent.
    pub columns: [Vec<i64>; FIELDS.len()],
    /// Distinct ends.
    pub sockets: Vec<Ends<'a>>,
}

impl From<Ndt7Log<'_>> for Found {
    fn from(log: Ndt7Log<'_>) -> Self {
        let bytes = |text: &[u8]| Value::Bytes(text.to_vec());
        let pair = |(one, other): (&[u8], &[u8])| Value::Tuple(vec![bytes(one), bytes(other)]);
        let mut states = columns!(log; test, elapsed_ns, socket);
        states.extend(columns().zip(log.columns).map(|(name, column)| (name.into(), column.into())));
        let about = log
            .about
            .into_iter()
            .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), bytes(value)));
        let tests = log.tests.map(|one| one.map_or(Value::None, pair));
        Found::bare(Issues::default())
            .table("tcp_states", states)
            .fact("is_whole", log.is_whole)
            .fact("about", Value::ByName(about.collect()))
            .fact("tests", Value::List(tests.into()))
            .fact("sockets", Value::List(log.sockets.into_iter().map(pair).collect()))
    }
}

/// Read a result of at most `most_bytes`, see [`read`].
///
/// # Errors
/// Errors of the system while reading; more bytes than are held.
pub fn document(reader: &mut dyn Read, settings: &Settings) -> Result<Found, Unread> {
    Ok(read(&whole_document(reader, settings)?).into())
}

/// Read a result.
pub fn read(text: &[u8]) -> Ndt7Log<'_> {
    let (mut log, mut parts, mut places) = (Ndt7Log::default(), [None; 2], HashMap::new());
    let mut walk = Walk::new(text);
    let whole = walk.object(|walk, key| {
        let value = walk.any()?;
        match key {
            b"Download" => parts[0] = Some(value),
            b"Upload" => parts[1] = Some(value),
            b"Version" | b"ServerIP" | b"ServerPort" | b"ClientIP" | b"ClientPort" => {
                log.about.push((key, value));
            }
            _ => {}
        }
        Some(())
    });
    log.is_whole = whole.and_then(|()| walk.end()).is_some();
    for (place, part) in parts.into_iter().enumerate() {
        if let Some(part) = part {
            // It has been walked before, so it is whole.
            let _ = test(&mut log, &mut places, place, part);
        }
    }
    log
}

fn test<'a>(
    log: &mut Ndt7Log<'a>,
    places: &mut HashMap<Ends<'a>, i32>,
    place: usize,
    part: &'a [u8],
) -> Option<()> {
    let (mut start, mut name, mut measurements, mut is_empty) = (&b"null"[..], &b"\"\""[..], None, true);
    Walk::new(part).object(|walk, key| {
        is_empty = false;
        let value = walk.any()?;
        match key {
            b"StartTime" => start = value,
            b"UUID" => name = value,
            b"ServerMeasurements" => measurements = Some(value),
            _ => {}
        }
        Some(())
    })?;
    if is_empty {
        return None;
    }
    log.tests[place] = Some((start, name));
    Walk::new(measurements?).array(|walk| {
        let (mut elapsed, mut values, mut ends) = (-1, [-1; FIELDS.len()], (&b""[..], &b""[..]));
        walk.object(|walk, key| match key {
            b"TCPInfo" => {
                (elapsed, values) = (-1, [-1; FIELDS.len()]);
                let mut next = 0;
                walk.object(|walk, key| {
                    let value = walk.any()?;
                    if key == b"ElapsedTime" {
                        elapsed = whole(value, US_NS);
                    } else if let Some(place) = column(key, next) {
                        values[place] = whole(value, FIELDS[place].2);
                        next = place + 1;
                    }
                    Some(())
                })
            }
            b"ConnectionInfo" => {
                ends = (&[], &[]);
                walk.object(|walk, key| {
                    let value = walk.any()?;
                    match key {
                        b"Server" => ends.0 = value,
                        b"Client" => ends.1 = value,
                        _ => {}
                    }
                    Some(())
                })
            }
            _ => walk.any().map(|_| ()),
        })?;
        let socket = *places.entry(ends).or_insert_with(|| {
            log.sockets.push(ends);
            log.sockets.len() as i32 - 1
        });
        log.test.push(place as i8);
        log.elapsed_ns.push(elapsed);
        log.socket.push(socket);
        for (column, value) in log.columns.iter_mut().zip(values) {
            column.push(value);
        }
        Some(())
    })
}

/// The column of a key: mostly the one behind the last.
fn column(key: &[u8], next: usize) -> Option<usize> {
    if FIELDS.get(next).is_some_and(|field| field.0 == key) {
        return Some(next);
    }
    FIELDS.iter().position(|field| field.0 == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"Version":"v0","Upload":{"StartTime":"2026","UUID":"u","ServerMeasurements":[
        {"TCPInfo":{"SndCwnd":10,"RTT":5.5,"ElapsedTime":7,"SndWnd":"x"},"ConnectionInfo":{"Server":"a","Client":"b"}},
        {"ConnectionInfo":{"Client":"b","Server":"a","UUID":""},"TCPInfo":{"RTT":-1}}, {}, 7]},
        "Download":{"ServerMeasurements":[{"TCPInfo":{"Backoff":1,"ElapsedTime":1}}]}}"#;

    fn values(log: &Ndt7Log<'_>, name: &str) -> Vec<i64> {
        log.columns[columns().position(|column| column == name).unwrap()].clone()
    }

    #[test]
    fn measurements() {
        let log = read(TEXT.as_bytes());
        assert!(log.is_whole);
        assert_eq!(log.about, [(&b"Version"[..], &b"\"v0\""[..])]);
        assert_eq!(log.tests, [Some((&b"null"[..], &b"\"\""[..])), Some((&b"\"2026\""[..], &b"\"u\""[..]))]);
        assert_eq!(log.test, [0, 1, 1, 1, 1]);
        assert_eq!(log.elapsed_ns, [1000, 7000, -1, -1, -1]);
        assert_eq!(log.sockets, [(&b""[..], &b""[..]), (&b"\"a\""[..], &b"\"b\""[..])]);
        assert_eq!(log.socket, [0, 1, 1, 0, 0]);
        assert_eq!(values(&log, "cwnd"), [-1, 10, -1, -1, -1]);
        assert_eq!(values(&log, "srtt_ns"), [-1, 5500, -1, -1, -1]);
        assert_eq!(values(&log, "backoff"), [1, -1, -1, -1, -1]);
    }

    #[test]
    fn cut_anywhere_it_is_not_whole() {
        for length in 0..TEXT.len() {
            assert!(!read(&TEXT.as_bytes()[..length]).is_whole, "{length}");
        }
        assert!(!read(format!("{TEXT} x").as_bytes()).is_whole);
        assert_eq!(read(br#"{"Download":{},"Upload":3}"#).tests, [None; 2]);
    }
}
