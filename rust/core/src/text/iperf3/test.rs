//! One test after the other: what `start` said, and rows of its intervals.

use std::collections::HashMap;

use super::{Iperf3Log, MAX_STREAMS};
use crate::issue::Issues;
use crate::text::fault::Order;
use crate::text::json::{Walk, real, string, whole};

/// Columns of a row, in their order.
pub const COLUMNS: [&str; 8] =
    ["app_written", "app_read", "cwnd", "snd_wnd", "srtt_ns", "rttvar_ns", "mss", "retrans_total"];
/// Local and remote address and port.
pub type Ends = (String, u16, String, u16);

const MAX_SECONDS: f64 = 1e8;
const NS: f64 = 1e9;
/// An interval of such a share of all before it, that begins anew, is their sum.
const WHOLE: f64 = 0.9;
const US_NS: u32 = 1000;
/// What the client writes into each stream before the test.
const COOKIE_BYTES: i64 = 37;
const LARGEST: i64 = 1 << 62;

/// A stream in an interval, as it is written.
struct Stream {
    socket: i64,
    begin: Option<f64>,
    end: Option<f64>,
    bytes: i64,
    is_sender: Option<bool>,
    omitted: Option<bool>,
    has_cwnd: bool,
    cwnd: i64,
    snd_wnd: i64,
    srtt_ns: i64,
    rttvar_ns: i64,
    retransmits: i64,
}

/// A stream since its test began.
#[derive(Default)]
struct Known {
    flow: i32,
    rows: u64,
    /// The last interval was one of those that `-O` leaves out.
    omitted: bool,
    /// Seconds: when its last interval ended, and what is in front of it since times began anew.
    end: f64,
    shift: f64,
    /// Bytes read, bytes written.
    carried: [Option<i64>; 2],
    retransmits: Option<i64>,
}

#[derive(Default)]
pub(super) struct Test {
    log: Iperf3Log,
    order: Order,
    flows: HashMap<Ends, i32>,
    sockets: HashMap<i64, Known>,
    /// Of the interval that is being read.
    streams: Vec<Stream>,
    base_ns: i64,
    first_ns: Option<i64>,
    mss: i64,
    is_client: bool,
    is_other: bool,
}

impl Test {
    /// Forget the interval that is being read.
    pub fn forget(&mut self) {
        self.streams.clear();
    }

    pub fn start(&mut self, text: &[u8]) {
        self.sockets.clear();
        let (mut seconds, mut mss, mut default_mss) = (None, -1, -1);
        (self.is_client, self.is_other) = (false, false);
        let mut walk = Walk::new(text);
        // It has been read before, so it is whole.
        let _ = walk.object(|walk, key| {
            match key {
                b"timestamp" => walk.object(|walk, key| {
                    let value = walk.any()?;
                    if key == b"timesecs" {
                        seconds = real(value);
                    }
                    Some(())
                })?,
                b"connected" => self.connected(walk)?,
                b"connecting_to" => {
                    self.is_client = true;
                    walk.any()?;
                }
                b"tcp_mss" => mss = whole(walk.any()?, 1),
                b"tcp_mss_default" => default_mss = whole(walk.any()?, 1),
                b"test_start" => walk.object(|walk, key| {
                    let value = walk.any()?;
                    if key == b"protocol" {
                        self.is_other = string(value).is_some_and(|name| name != b"TCP");
                    }
                    Some(())
                })?,
                _ => {
                    walk.any()?;
                }
            }
            Some(())
        });
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds < 9e9);
        self.base_ns = seconds.map_or(0, |seconds| seconds.round_ties_even() as i64 * 1_000_000_000);
        self.mss = mss.max(default_mss);
        self.log.has_base = self.base_ns > 0;
        self.log.start = text.to_vec();
        self.log.end.clear();
    }

    fn connected(&mut self, walk: &mut Walk<'_>) -> Option<()> {
        self.sockets.clear();
        let mut count = 0;
        walk.array(|walk| {
            let mut socket = -1;
            let (mut hosts, mut ports) = ([None; 2], [-1; 2]);
            walk.object(|walk, key| {
                let value = walk.any()?;
                match key {
                    b"socket" => socket = whole(value, 1),
                    b"local_host" => hosts[0] = string(value),
                    b"remote_host" => hosts[1] = string(value),
                    b"local_port" => ports[0] = whole(value, 1),
                    b"remote_port" => ports[1] = whole(value, 1),
                    _ => {}
                }
                Some(())
            })?;
            count += 1;
            if let ([Some(local), Some(remote)], [Ok(from), Ok(to)]) = (hosts, ports.map(u16::try_from))
                && count <= MAX_STREAMS
            {
                let ends = (host(local), from, host(remote), to);
                let next = self.log.sockets.len() as i32;
                let flow = *self.flows.entry(ends).or_insert_with_key(|ends| {
                    self.log.sockets.push(ends.clone());
                    self.log.starts.push(i64::MAX);
                    next
                });
                self.sockets.insert(socket, Known { flow, ..Known::default() });
            }
            Some(())
        })
    }

    /// Read the streams of an interval, which count once it is `interval`.
    pub fn streams_of(&mut self, walk: &mut Walk<'_>) -> Option<()> {
        let streams = &mut self.streams;
        walk.object(|walk, key| {
            if key != b"streams" {
                walk.any()?;
                return Some(());
            }
            streams.clear();
            walk.array(|walk| {
                let stream = stream_of(walk)?;
                if streams.len() < MAX_STREAMS {
                    streams.push(stream);
                }
                Some(())
            })
        })
    }

    /// Take the interval that was read.
    pub fn interval(&mut self, number: u64, issues: &mut Issues) {
        self.log.intervals += 1;
        for stream in std::mem::take(&mut self.streams) {
            let socket = stream.socket;
            if self.row(number, &stream, issues).is_none() {
                issues.add("bad-number", number, || {
                    format!("interval of socket {socket} without a known stream or times")
                });
            }
        }
    }

    fn row(&mut self, number: u64, stream: &Stream, issues: &mut Issues) -> Option<()> {
        let known = self.sockets.get_mut(&stream.socket)?;
        let (begin, end) = (stream.begin?, stream.end?);
        if !(0.0 <= begin && begin <= end && end < MAX_SECONDS) {
            return None;
        }
        if self.is_other {
            return Some(());
        }
        if begin < known.end - 0.5 * (end - begin) {
            let left_out = known.omitted && stream.omitted != Some(true);
            if !left_out && known.rows > 1 && end - begin >= WHOLE * known.end {
                // The whole test once more, as some versions write it behind its intervals.
                self.log.whole_tests += 1;
                return Some(());
            }
            // With -O the time begins anew behind the intervals left out.
            known.shift += known.end;
        }
        known.end = end;
        known.rows += 1;
        known.omitted = stream.omitted == Some(true);
        let base_ns = self.base_ns;
        let time = |seconds: f64| base_ns.checked_add((seconds * NS).round_ties_even() as i64);
        let (begin_ns, t_ns) = (time(known.shift + begin)?, time(known.shift + end)?);
        let is_sender = stream.is_sender.unwrap_or(stream.has_cwnd);
        let cookie = if is_sender == self.is_client { COOKIE_BYTES } else { 0 };
        let carried =
            known.carried[usize::from(is_sender)].unwrap_or(cookie).saturating_add(stream.bytes.max(0));
        known.carried[usize::from(is_sender)] = Some(carried);
        let carried = if carried <= LARGEST { carried } else { -1 };
        let mut values = [-1; COLUMNS.len()];
        if is_sender {
            if stream.retransmits >= 0 {
                known.retransmits = Some(known.retransmits.unwrap_or(0).saturating_add(stream.retransmits));
            }
            let cwnd = if stream.cwnd > 0 && self.mss > 0 { stream.cwnd / self.mss } else { -1 };
            let positive = |value: i64| if value > 0 { value } else { -1 };
            let (srtt_ns, rttvar_ns) = (positive(stream.srtt_ns), positive(stream.rttvar_ns));
            let again = known.retransmits.unwrap_or(-1);
            values = [carried, -1, cwnd, stream.snd_wnd, srtt_ns, rttvar_ns, self.mss, again];
        } else {
            values[1] = carried;
        }
        if let Some(start) = self.log.starts.get_mut(known.flow as usize) {
            *start = (*start).min(begin_ns);
        }
        self.first_ns = Some(self.first_ns.map_or(begin_ns, |first| first.min(begin_ns)));
        self.order.check(t_ns, number, issues);
        self.log.t_ns.push(t_ns);
        self.log.record.push(number as i64);
        self.log.flow.push(known.flow);
        for (column, value) in self.log.columns.iter_mut().zip(values) {
            column.push(value);
        }
        Some(())
    }

    pub fn end(&mut self, text: &[u8]) {
        self.log.end = text.to_vec();
    }

    pub fn error(&mut self, text: &[u8]) {
        self.log.error = text.to_vec();
    }

    pub fn finish(mut self, issues: &mut Issues) -> Iperf3Log {
        self.log.start_ns = self.first_ns.unwrap_or(0);
        self.log.issues = std::mem::take(issues);
        self.log
    }
}

fn stream_of(walk: &mut Walk<'_>) -> Option<Stream> {
    let mut stream = Stream {
        socket: -1,
        begin: None,
        end: None,
        bytes: -1,
        is_sender: None,
        omitted: None,
        has_cwnd: false,
        cwnd: -1,
        snd_wnd: -1,
        srtt_ns: -1,
        rttvar_ns: -1,
        retransmits: -1,
    };
    walk.object(|walk, key| {
        let value = walk.any()?;
        match key {
            b"socket" => stream.socket = whole(value, 1),
            b"start" => stream.begin = real(value),
            b"end" => stream.end = real(value),
            b"bytes" => stream.bytes = whole(value, 1),
            b"sender" => stream.is_sender = Some(value != b"false"),
            b"omitted" => stream.omitted = Some(value == b"true"),
            b"snd_cwnd" => (stream.has_cwnd, stream.cwnd) = (true, whole(value, 1)),
            b"snd_wnd" => stream.snd_wnd = whole(value, 1),
            b"rtt" => stream.srtt_ns = whole(value, US_NS),
            b"rttvar" => stream.rttvar_ns = whole(value, US_NS),
            b"retransmits" => stream.retransmits = whole(value, 1),
            _ => {}
        }
        Some(())
    })?;
    Some(stream)
}

/// An address without what a socket of both families and a zone put around it.
fn host(text: &[u8]) -> String {
    let text = text.strip_prefix(b"::ffff:").unwrap_or(text);
    let end = memchr::memchr(b'%', text).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}
