//! M-Lab's tcp-info: snapshots of the kernel's socket diagnostics as lines of JSON.
//!
//! Reference: github.com/m-lab/tcp-info `netlink`; Linux `include/uapi/linux/tcp.h`, `inet_diag.h`.

use std::io::{self, Read};

use super::fault::{Fault, Order};
use super::flows::{Endpoint, FlowTable};
use super::json;
use super::lines::Lines;
use super::stamp;
use super::words::excerpt;
use crate::issue::Issues;
use crate::segment::Address;
use crate::text::found::{Found, columns};

const LONGEST: usize = 1 << 20;
const MAX_FLOWS: usize = 1 << 16;
/// Attributes by their INET_DIAG_ number.
const INFO: usize = 2;
const CONG: usize = 4;
/// `inet_diag_msg` up to the addresses.
const MESSAGE_BYTES: usize = 40;
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;
const US: i64 = 1000;

/// What a struct tcp_info says; it grows with the kernel: each is read where it is there.
struct Field {
    offset: usize,
    bytes: usize,
    factor: i64,
    /// 0 says that it is not known.
    positive: bool,
}

const fn field(offset: usize, bytes: usize, factor: i64, positive: bool) -> Field {
    Field { offset, bytes, factor, positive }
}

/// Names of the columns, in the order of [`TcpInfoLog::columns`].
pub const COLUMNS: [&str; 21] = [
    "backoff",
    "rto_ns",
    "mss",
    "unacked",
    "srtt_ns",
    "rttvar_ns",
    "ssthresh",
    "cwnd",
    "retrans_total",
    "bytes_acked",
    "bytes_received",
    "notsent",
    "min_rtt_ns",
    "busy_ns",
    "rwnd_limited_ns",
    "sndbuf_limited_ns",
    "bytes_sent",
    "bytes_retrans",
    "snd_wnd",
    "rcv_wnd",
    "app_limited",
];

const FIELDS: [Field; 20] = [
    field(4, 1, 1, false),
    field(8, 4, US, true),
    field(16, 4, 1, true),
    field(24, 4, 1, false),
    field(68, 4, US, true),
    field(72, 4, US, true),
    field(76, 4, 1, false),
    field(80, 4, 1, true),
    field(100, 4, 1, false),
    field(120, 8, 1, false),
    field(128, 8, 1, false),
    field(144, 4, 1, false),
    field(148, 4, US, true),
    field(168, 8, US, false),
    field(176, 8, US, false),
    field(184, 8, US, false),
    field(200, 8, 1, false),
    field(208, 8, 1, false),
    field(228, 4, 1, true),
    field(232, 4, 1, true),
];
const SSTHRESH: usize = 6;
const APP_LIMITED: usize = FIELDS.len();
const APP_LIMITED_OFFSET: usize = 7;

/// What such a log says.
#[derive(Debug, Default)]
pub struct TcpInfoLog {
    /// Times.
    pub t_ns: Vec<i64>,
    /// Lines.
    pub record: Vec<i64>,
    /// Sockets by number.
    pub flow: Vec<i32>,
    /// Values by column, -1 where absent.
    pub columns: [Vec<i64>; COLUMNS.len()],
    /// Sockets.
    pub flows: FlowTable,
    /// What the collector calls the connection.
    pub uuid: Option<String>,
    /// Congestion control, the last that was named.
    pub congestion_control: Option<String>,
    /// Snapshots without a struct tcp_info.
    pub without_info: u64,
    /// Bytes of the largest struct.
    pub largest: usize,
    /// Lines in the file.
    pub lines: u64,
    /// Damage.
    pub issues: Issues,
}

impl From<TcpInfoLog> for Found {
    fn from(log: TcpInfoLog) -> Self {
        let mut states = columns!(log; t_ns, record, flow);
        states.extend(COLUMNS.iter().zip(log.columns).map(|(name, column)| ((*name).into(), column.into())));
        Found::new(log.lines, 1_000_000, log.issues)
            .table("tcp_states", states)
            .fact("flows", &log.flows)
            .fact("uuid", log.uuid)
            .fact("congestion_control", log.congestion_control)
            .fact("without_info", log.without_info)
            .fact("largest", log.largest)
    }
}

/// Read a log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<TcpInfoLog> {
    let mut scanner = Scanner::default();
    let mut lines = Lines::of_length(reader, LONGEST);
    let mut issues = Issues::default();
    while let Some((number, line)) = lines.next_line(&mut issues)? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match scanner.line(number, line, &mut issues) {
            Some(()) => {}
            None => Fault::NotOurs.report(number, line, &mut issues),
        }
    }
    let mut log = scanner.log;
    log.lines = lines.count();
    log.issues = issues;
    Ok(log)
}

#[derive(Default)]
struct Scanner {
    log: TcpInfoLog,
    order: Order,
    /// The socket of the line before, as it was written.
    message: Vec<u8>,
    ends: Option<(Endpoint, Endpoint)>,
    info: Vec<u8>,
}

impl Scanner {
    fn line(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Option<()> {
        let record = json::members(line)?;
        let of = |name: &[u8]| record.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let (message, about) = (of(b"RawIDM"), of(b"Metadata"));
        if let Some(about) = about.and_then(json::members)
            && let Some((_, uuid)) = about.iter().rev().find(|(key, _)| *key == b"UUID")
            && let Some(uuid) = json::string(uuid)
        {
            self.log.uuid = Some(excerpt(uuid));
        }
        let Some(message) = message else { return about.map(|_| ()) };
        let t_ns = of(b"Timestamp").and_then(json::string).and_then(time);
        let ends = json::string(message).and_then(|text| self.socket(text));
        let (Some(t_ns), Some((local, remote))) = (t_ns, ends) else {
            issues.add("bad-number", number, || "a snapshot without a time or a whole inet_diag_msg".into());
            return Some(());
        };
        let attributes = of(b"Attributes").and_then(json::items).unwrap_or_default();
        let text = |place: usize| attributes.get(place).and_then(|value| json::string(value));
        let mut info = std::mem::take(&mut self.info);
        let is_whole = text(INFO).is_some_and(|text| base64(text, &mut info));
        if !is_whole {
            self.log.without_info += 1;
        } else if let Some(flow) = self.log.flows.intern_within(local, remote, MAX_FLOWS) {
            self.order.check(t_ns, number, issues);
            self.log.add(t_ns, number, flow, &info);
            let mut name = Vec::new();
            if text(CONG).is_some_and(|text| base64(text, &mut name)) {
                self.log.name(&name);
            }
        } else {
            issues.add("unparsed-line", number, || format!("more than {MAX_FLOWS} sockets"));
        }
        self.info = info;
        Some(())
    }

    fn socket(&mut self, text: &[u8]) -> Option<(Endpoint, Endpoint)> {
        if self.ends.is_none() || self.message != text {
            let mut message = Vec::new();
            let is_whole = base64(text, &mut message) && message.len() >= MESSAGE_BYTES;
            self.ends = is_whole.then(|| ends(&message));
            self.message.clear();
            self.message.extend_from_slice(text);
        }
        self.ends
    }
}

impl TcpInfoLog {
    fn add(&mut self, t_ns: i64, number: u64, flow: i32, info: &[u8]) {
        self.t_ns.push(t_ns);
        self.record.push(number as i64);
        self.flow.push(flow);
        self.largest = self.largest.max(info.len());
        for (place, (column, value)) in self.columns.iter_mut().zip(decode(info)).enumerate() {
            column.push(if place == SSTHRESH && value >= INFINITE_SSTHRESH { -1 } else { value });
        }
    }

    fn name(&mut self, name: &[u8]) {
        let end = name.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        let name = excerpt(&name[..end.min(32)]);
        if end > 0 && self.congestion_control.as_ref() != Some(&name) {
            self.congestion_control = Some(name);
        }
    }
}

/// Values of a struct tcp_info (little-endian) of any length.
fn decode(info: &[u8]) -> [i64; COLUMNS.len()] {
    let mut values = [-1; COLUMNS.len()];
    for (field, value) in FIELDS.iter().zip(&mut values) {
        let Some(bytes) = info.get(field.offset..field.offset + field.bytes) else { continue };
        let number = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let number = i64::try_from(number).ok().and_then(|number| number.checked_mul(field.factor));
        *value = number.filter(|number| *number > 0 || !field.positive).unwrap_or(-1);
    }
    if let Some(flags) = info.get(APP_LIMITED_OFFSET) {
        values[APP_LIMITED] = i64::from(flags & 1);
    }
    values
}

/// The socket of an inet_diag_msg: family, state, timer, retransmits, then ports and addresses as on the wire.
fn ends(message: &[u8]) -> (Endpoint, Endpoint) {
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let address = |at: usize| {
        if message[0] == 2 {
            Address::v4([message[at], message[at + 1], message[at + 2], message[at + 3]])
        } else {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&message[at..at + 16]);
            Address::v6(bytes)
        }
    };
    ((address(8), port(4)), (address(24), port(6)))
}

/// RFC 3339, with its zone.
fn time(text: &[u8]) -> Option<i64> {
    let (found, rest) = stamp::leading(text)?;
    let calendar = text.get(10) == Some(&b'T') && !found.zoneless;
    (calendar && rest.is_empty()).then_some(found.t_ns)
}

/// Decode RFC 4648 base64 with its padding; false if it is none, or empty.
fn base64(text: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if text.is_empty() || !text.len().is_multiple_of(4) || padding > 2 {
        return false;
    }
    let (mut seen, mut last) = (0u8, 0u32);
    let digits = &text[..text.len() - padding];
    let mut fours = digits.chunks_exact(4);
    for four in &mut fours {
        let mut bits = 0u32;
        for byte in four {
            let value = DIGITS[usize::from(*byte)];
            seen |= value;
            bits = bits << 6 | u32::from(value & 63);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    for byte in fours.remainder() {
        let value = DIGITS[usize::from(*byte)];
        seen |= value;
        last = last << 6 | u32::from(value & 63);
    }
    match padding {
        1 => out.extend_from_slice(&(last << 6).to_be_bytes()[1..3]),
        2 => out.push((last >> 4) as u8),
        _ => {}
    }
    seen < 64
}

/// Values of the digits; 64 and more for other bytes.
const DIGITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [64; 256];
    let mut at = 0;
    while at < 64 {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> Vec<u8> {
        let mut info = vec![0; 240];
        for (offset, value) in [(8, 30u32), (16, 1448), (68, 20), (76, 0x7fff_ffff), (80, 10), (100, 2)] {
            info[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        info[120..128].copy_from_slice(&7u64.to_le_bytes());
        info[200..208].copy_from_slice(&9u64.to_le_bytes());
        info
    }

    fn value(info: &[u8], name: &str) -> i64 {
        decode(info)[COLUMNS.iter().position(|column| *column == name).unwrap()]
    }

    #[test]
    fn a_struct_of_any_length() {
        let whole = info();
        for (name, expected) in [
            ("bytes_acked", 7),
            ("bytes_sent", 9),
            ("srtt_ns", 20_000),
            ("rto_ns", 30_000),
            ("mss", 1448),
            ("retrans_total", 2),
            ("notsent", 0),
            ("min_rtt_ns", -1),
            ("app_limited", 0),
        ] {
            assert_eq!(value(&whole, name), expected, "{name}");
        }
        let all = decode(&whole);
        for length in 0..=whole.len() {
            let part = decode(&whole[..length]);
            assert!(part.iter().zip(all).all(|(part, all)| *part == all || *part == -1));
        }
        assert_eq!((value(&whole[..207], "bytes_sent"), value(&whole[..208], "bytes_sent")), (-1, 9));
    }

    #[test]
    fn base64_as_it_is_written() {
        let decoded = |text: &str| {
            let mut out = Vec::new();
            base64(text.as_bytes(), &mut out).then_some(out)
        };
        for (text, expected) in [("TQ==", "M"), ("TWE=", "Ma"), ("TWFu", "Man"), ("Y3ViaWMA", "cubic\0")] {
            assert_eq!(decoded(text), Some(expected.as_bytes().to_vec()));
        }
        for bad in ["", "T", "TWF", "TW=u", "T===", "====", "TW!u", "TWFu\n", "TQ=="[..3].into()] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn lines_and_faults() {
        let message = "AgEAAMCoFFFPCqgABAAAAAAAAAAAAAAACk0AAgAAAAAAAAAAAAAAAA==";
        let line = |stamp: &str| {
            format!(
                "{{\"Timestamp\":\"{stamp}\",\"RawIDM\":\"{message}\",\"Attributes\":[null,null,\"AAAAAAAAAAA=\",null,\"Y3ViaWMA\"]}}\n"
            )
        };
        let text = [
            "{\"Metadata\":{\"UUID\":\"u-1\"}}\n".to_owned(),
            line("2019-05-16T00:21:16.834Z"),
            line("2019-05-16T00:21:16.833Z"),
            line("2019-05-16T00:21:17.000Z").replace("[null,null,", "[null,null,null,"),
            line("2019-05-16T00:21:17.000"),
            line("yesterday"),
            line("2019-05-16T00:21:17.000Z").replace(message, "AAAA"),
            "{\"Metadata\":5}\n{\"other\":1}\nKilled\n\n".to_owned(),
        ]
        .concat();
        let log = scan(text.as_bytes()).unwrap();
        let codes: Vec<_> = log.issues.iter().map(|(code, seen)| (code, seen.count)).collect();
        assert_eq!(codes, [("bad-number", 3), ("out-of-order-lines", 1), ("unparsed-line", 2)]);
        assert_eq!(log.t_ns, [1_557_966_076_834_000_000, 1_557_966_076_833_000_000]);
        assert_eq!((log.flow.as_slice(), log.flows.flows().len(), log.largest), (&[0, 0][..], 1, 8));
        assert_eq!((log.uuid.as_deref(), log.congestion_control.as_deref()), (Some("u-1"), Some("cubic")));
        assert_eq!(log.without_info, 1);
    }
}
