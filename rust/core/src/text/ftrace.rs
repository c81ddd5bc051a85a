//! Kernel TCP tracepoints as text: the ftrace file, `trace-cmd report` and `perf script`.
//!
//! The three write the same `key=value` words after `<time>: <tracepoint>:`; what stands before the time (command
//! name, CPU, flags, instance) differs and is not needed.

use std::collections::BTreeMap;
use std::io::{self, Read};

use memchr::{memchr_iter, memmem};

use super::fault::{Fault, Order, Resolution, take_lines};
use super::flows::FlowTable;
use super::hostevents::{Host, Kind, Place};
use super::number::{decimal, fit, seconds};
pub use super::tracepoint::STATES;
use super::tracepoint::{Fields, Layout, Tracepoint};
use super::words::{Words, excerpt, split_once};
use crate::issue::Issues;
use crate::text::found::{Found, columns};

/// Names of other tracepoints that are counted one by one; the rest together.
const MAX_TRACEPOINTS: usize = 64;

/// Kinds of events; the position is the code in the column.
pub const KINDS: [&str; 3] = ["retransmit", "cong_state", "sock_state"];

/// Rows of `tcp_probe`; -1 where a value is absent. Sequence numbers are the raw 32 bits.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Probes {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub snd_nxt: Vec<i64>,
    pub snd_una: Vec<i64>,
    pub data_length: Vec<i32>,
    pub cwnd: Vec<i32>,
    pub ssthresh: Vec<i64>,
    pub snd_wnd: Vec<i64>,
    pub rcv_wnd: Vec<i64>,
    pub srtt_ns: Vec<i64>,
}

/// Rows of the other tracepoints; -1 where a value is absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct KernelEvents {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub flow: Vec<i32>,
    pub kind: Vec<i8>,
    pub value: Vec<i16>,
    pub old_value: Vec<i16>,
}

/// What a tracepoint log says.
#[derive(Debug, Default)]
pub struct KernelLog {
    /// `tcp_probe`.
    pub probes: Probes,
    /// `tcp_retransmit_skb`, `tcp_cong_state_set`, `inet_sock_set_state`.
    pub events: KernelEvents,
    /// Tracepoints above and below TCP.
    pub host: Host,
    /// Sockets.
    pub flows: FlowTable,
    /// Events read, by tracepoint.
    pub tracepoints: BTreeMap<String, u64>,
    /// Events of other tracepoints and protocols.
    pub ignored: BTreeMap<String, u64>,
    /// `tcp_probe` rows that tell the segment's length with its header: the payload is unknown.
    pub header_lengths: u64,
    /// Times without a decimal point: ticks of a counter, not seconds.
    pub ticks: bool,
    /// Lines in the file.
    pub lines: u64,
    /// Step of the clock as written.
    pub resolution_ns: i64,
    /// Damage.
    pub issues: Issues,
}

impl From<KernelLog> for Found {
    fn from(log: KernelLog) -> Self {
        let (probes, events) = (log.probes, log.events);
        let Host { events: host, devices, reasons, .. } = log.host;
        Found::new(log.lines, log.resolution_ns, log.issues)
            .table(
                "tcp_states",
                columns!(probes; t_ns, record, flow, snd_nxt, snd_una, data_length, cwnd, ssthresh, snd_wnd, rcv_wnd, srtt_ns),
            )
            .table("kernel_events", columns!(events; t_ns, record, flow, kind, value, old_value))
            .table(
                "host_events",
                columns!(host; t_ns, record, kind, cpu, pid, skb, sk, flow, length, value, extra, name),
            )
            .fact("flows", &log.flows)
            .fact("devices", devices.list().to_vec())
            .fact("drop_reasons", reasons.list().to_vec())
            .fact("tracepoints", log.tracepoints)
            .fact("ignored", log.ignored)
            .fact("header_lengths", log.header_lengths)
            .fact("ticks", log.ticks)
    }
}

/// Read a tracepoint log.
///
/// # Errors
/// Errors of the system while reading.
pub fn scan(reader: impl Read) -> io::Result<KernelLog> {
    let mut scanner = Scanner::default();
    let mut head = Vec::new();
    let (lines, mut issues) = take_lines(reader, |number, line, issues| match event(line, &mut head) {
        Some((time, name, words)) => {
            let prefix = &line[..time.as_ptr() as usize - line.as_ptr() as usize];
            scanner.event(number, (prefix, time), name, words, issues)
        }
        None => scanner.remark(number, line, issues),
    })?;
    scanner.report_markers(&mut issues);
    let mut log = scanner.log;
    log.host.finish();
    for (name, count) in Tracepoint::NAMES.iter().zip(scanner.counts).filter(|(_, count)| *count > 0) {
        log.tracepoints.insert((*name).to_owned(), count);
    }
    log.lines = lines;
    log.resolution_ns = scanner.resolution.ns();
    log.issues = issues;
    Ok(log)
}

/// Time, tracepoint and words of an event line: the first `<digits>: <name>:`, whatever stands before it.
///
/// `head` is what stood from the colon behind the time to that behind the name, the last time.
fn event<'a>(line: &'a [u8], head: &mut Vec<u8>) -> Option<(&'a [u8], &'a [u8], Words<'a>)> {
    for colon in memchr_iter(b':', line) {
        if !matches!(line.get(colon + 1), Some(b' ' | b'\t')) {
            continue;
        }
        let mut start = colon;
        while start > 0 && matches!(line[start - 1], b'0'..=b'9' | b'.') {
            start -= 1;
        }
        if start == colon || !(start == 0 || matches!(line[start - 1], b' ' | b'\t')) {
            continue;
        }
        let time = &line[start..colon];
        let rest = &line[colon..];
        if !head.is_empty()
            && rest.starts_with(head)
            && matches!(rest.get(head.len()), None | Some(b' ' | b'\t'))
        {
            return Some((time, bare_name(&rest[1..head.len()]), Words(&rest[head.len()..])));
        }
        let mut words = Words(&rest[1..]);
        let Some(word) = words.next().filter(|word| word.ends_with(b":")) else { continue };
        let name = bare_name(word);
        if !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            head.clear();
            head.extend_from_slice(&rest[..rest.len() - words.0.len()]);
            return Some((time, name, words));
        }
    }
    None
}

/// `tcp_probe` of `tcp_probe:`, and of `tcp:tcp_probe:` as perf writes it.
fn bare_name(word: &[u8]) -> &[u8] {
    let word = word.trim_ascii_start();
    let name = word.strip_suffix(b":").unwrap_or(word);
    memchr::memrchr(b':', name).map_or(name, |at| &name[at + 1..])
}

#[derive(Default)]
struct Scanner {
    log: KernelLog,
    resolution: Resolution,
    order: Order,
    counts: [u64; Tracepoint::NAMES.len()],
    layouts: [Layout; Tracepoint::NAMES.len()],
    /// Whether the ftrace header gave the number of events lost.
    counted: bool,
    /// Markers "buffer started": how many, and the line of the first.
    started: (u64, u64),
}

impl Scanner {
    fn event(
        &mut self,
        number: u64,
        (prefix, time): (&[u8], &[u8]),
        name: &[u8],
        words: Words,
        issues: &mut Issues,
    ) -> Result<(), Fault> {
        let ticks = !time.contains(&b'.');
        let when =
            || if ticks { fit(time).map(|count| (count, 9)) } else { seconds(time) }.ok_or(Fault::BadNumber);
        let Some(tracepoint) = Tracepoint::named(name) else {
            if let Some(kind) = Kind::named(name) {
                let (t_ns, decimals) = when()?;
                if self.log.host.event(kind, (t_ns, number as i64), Place::of(prefix), words.0) {
                    self.saw(t_ns, decimals, ticks, number, issues);
                    return Ok(());
                }
            }
            self.ignore(name);
            return Ok(());
        };
        let fields = self.layouts[tracepoint as usize].read(words)?;
        if fields.foreign {
            self.ignore(b"other protocols");
            return Ok(());
        }
        let (t_ns, decimals) = when()?;
        let at = (t_ns, number as i64);
        match tracepoint {
            Tracepoint::Probe => self.probe(at, &fields),
            Tracepoint::Retransmit => self.kernel(at, 0, fields.state, -1, &fields),
            Tracepoint::CongState if fields.cong_state >= 0 => {
                self.kernel(at, 1, fields.cong_state, -1, &fields)
            }
            Tracepoint::SockState if fields.old_state >= 0 && fields.new_state >= 0 => {
                self.kernel(at, 2, fields.new_state, fields.old_state, &fields)
            }
            _ => None,
        }
        .map(|flow| self.host(tracepoint, at, prefix, flow, &fields))
        .ok_or(Fault::NotOurs)?;
        self.counts[tracepoint as usize] += 1;
        self.saw(t_ns, decimals, ticks, number, issues);
        Ok(())
    }

    fn saw(&mut self, t_ns: i64, decimals: u8, ticks: bool, number: u64, issues: &mut Issues) {
        self.log.ticks |= ticks;
        self.resolution.saw(decimals);
        self.order.check(t_ns, number, issues);
    }

    /// What a tracepoint of TCP tells of the host's sockets.
    fn host(&mut self, tracepoint: Tracepoint, at: (i64, i64), prefix: &[u8], flow: i32, fields: &Fields) {
        let host = &mut self.log.host;
        if let Some(sk) = fields.skaddr {
            host.socket(sk, flow, at.0);
            if tracepoint == Tracepoint::Retransmit {
                host.retransmit(at, Place::of(prefix), flow, fields.skbaddr.unwrap_or(-1), sk, fields.err);
            }
        }
        if tracepoint == Tracepoint::SockState
            && STATES.get((fields.new_state as usize).wrapping_sub(1)) == Some(&"CLOSE")
        {
            host.closed(flow, at.0);
        }
    }

    fn probe(&mut self, at: (i64, i64), fields: &Fields) -> Option<i32> {
        let (Some(src), Some(dest)) = (fields.src, fields.dest) else { return None };
        let flow = self.log.flows.intern(src, dest);
        let probes = &mut self.log.probes;
        probes.t_ns.push(at.0);
        probes.record.push(at.1);
        probes.flow.push(flow);
        probes.snd_nxt.push(fields.snd_nxt);
        probes.snd_una.push(fields.snd_una);
        probes.data_length.push(fields.data_len);
        probes.cwnd.push(fields.snd_cwnd);
        probes.ssthresh.push(fields.ssthresh);
        probes.snd_wnd.push(fields.snd_wnd);
        probes.rcv_wnd.push(fields.rcv_wnd);
        probes.srtt_ns.push(fields.srtt_ns);
        self.log.header_lengths += u64::from(fields.header_length && fields.data_len < 0);
        Some(flow)
    }

    fn kernel(&mut self, at: (i64, i64), kind: i8, value: i16, old: i16, fields: &Fields) -> Option<i32> {
        let (local, remote) = fields.socket()?;
        let flow = self.log.flows.intern(local, remote);
        let events = &mut self.log.events;
        events.t_ns.push(at.0);
        events.record.push(at.1);
        events.flow.push(flow);
        events.kind.push(kind);
        events.value.push(value);
        events.old_value.push(old);
        Some(flow)
    }

    fn ignore(&mut self, name: &[u8]) {
        let ignored = &mut self.log.ignored;
        let name = std::str::from_utf8(name).unwrap_or("other");
        if let Some(count) = ignored.get_mut(name) {
            *count += 1;
        } else {
            let name =
                if ignored.len() < MAX_TRACEPOINTS { excerpt(name.as_bytes()) } else { "other".into() };
            *ignored.entry(name).or_default() += 1;
        }
    }

    /// A line without an event: headers and loss markers of the three tools.
    fn remark(&mut self, number: u64, line: &[u8], issues: &mut Issues) -> Result<(), Fault> {
        let line = line.trim_ascii();
        if let Some(header) = line.strip_prefix(b"#") {
            self.header(number, header, issues);
        } else if let Some(lost) = lost(line) {
            issues.add_many("lost-events", lost, number, || excerpt(line));
        } else if !is_noise(line) {
            return Err(Fault::NotOurs);
        }
        Ok(())
    }

    fn header(&mut self, number: u64, header: &[u8], issues: &mut Issues) {
        if let Some(counts) = header.trim_ascii().strip_prefix(b"entries-in-buffer/entries-written:") {
            let numbers = Words(counts).next().and_then(|word| split_once(word, b'/'));
            let Some((kept, written)) = numbers.and_then(|(a, b)| Some((decimal(a)?, decimal(b)?))) else {
                return;
            };
            self.counted = true;
            if written > kept {
                let detail = || format!("ring buffer kept {kept} of {written} events");
                issues.add_many("lost-events", written - kept, number, detail);
            }
        } else if memmem::find(header, b" buffer started ####").is_some() {
            self.started.0 += 1;
            if self.started.1 == 0 {
                self.started.1 = number;
            }
        }
    }

    /// The kernel writes "buffer started" only after an overrun: it counts where the header does not say how many.
    fn report_markers(&self, issues: &mut Issues) {
        let (count, first) = self.started;
        if count > 0 && !self.counted {
            issues.add_many("lost-events", count, first, || "a CPU's buffer starts after an overrun".into());
        }
    }
}

/// Events lost by a marker: `CPU:1 [LOST 12 EVENTS]`, `CPU:0 [EVENTS DROPPED]`, `... PERF_RECORD_LOST lost 5`.
fn lost(line: &[u8]) -> Option<u64> {
    let marker = if line.starts_with(b"CPU:") {
        let marker = &line[memchr::memchr(b'[', line)?..];
        let said = [&b"LOST"[..], b"DROPPED"].iter().any(|word| memmem::find(marker, word).is_some());
        said.then_some(marker)?
    } else {
        &line[memmem::find(line, b"PERF_RECORD_LOST")?..]
    };
    let count = marker.split(|byte| !byte.is_ascii_digit()).find_map(decimal);
    Some(count.unwrap_or(1).max(1))
}

/// What trace-cmd and perf write around the events.
fn is_noise(line: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [b"cpus=", b"version = ", b"CPU ", b"trace-cmd"];
    line.is_empty() || starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: &str =
        "src=10.0.0.1:1 dest=10.0.0.2:2 snd_nxt=0x2 snd_una=0x1 snd_cwnd=10 ssthresh=7 srtt=5";

    fn times(prefix: &str) -> (Vec<i64>, Issues) {
        let log = scan(format!("{prefix} tcp_probe: {PROBE}\n").as_bytes()).unwrap();
        (log.probes.t_ns, log.issues)
    }

    #[test]
    fn every_prefix() {
        for prefix in [
            "          <idle>-0       [001] ..s2.   242.030221:",
            "           <idle>-0     [004] ..s7   242.030221:",
            "  my: 1: job-77   [001] ....   242.030221:",
            "frinst2:   python3-10534 [001]   242.030221:",
            "  python3-10534 ( 10534) [001] d..1.   242.030221:",
            "242.030221:",
        ] {
            let (found, issues) = times(prefix);
            assert_eq!(found, [242_030_221_000], "{prefix}");
            assert!(issues.is_empty());
        }
        let perf = format!("  a b 10542 [000]  1165.068190:   tcp:tcp_probe: {PROBE}\n");
        assert_eq!(scan(perf.as_bytes()).unwrap().probes.t_ns, [1_165_068_190_000]);
    }

    #[test]
    fn ticks_are_not_seconds() {
        let log = scan(format!(" a-1 [000] ..... 77: tcp_probe: {PROBE}\n").as_bytes()).unwrap();
        assert!(log.ticks);
        assert_eq!(log.probes.t_ns, [77]);
    }

    fn lost_of(text: &str) -> Option<(u64, u64)> {
        let issues = scan(text.as_bytes()).unwrap().issues;
        issues
            .iter()
            .find(|(code, _)| *code == "lost-events")
            .map(|(_, found)| (found.count, found.first_record))
    }

    #[test]
    fn loss_markers() {
        let header = "# tracer: nop\n# entries-in-buffer/entries-written: 5/12   #P:2\n";
        let started = "##### CPU 1 buffer started ####\n";
        assert_eq!(lost_of(header), Some((7, 2)));
        assert_eq!(lost_of(&format!("{header}{started}")), Some((7, 2)));
        assert_eq!(lost_of(&format!("\n{started}{started}")), Some((2, 2)));
        assert_eq!(lost_of("# entries-in-buffer/entries-written: 0/0   #P:2\n"), None);
        assert_eq!(lost_of("CPU:1 [LOST 12 EVENTS]\nCPU:0 [EVENTS DROPPED]\n"), Some((13, 1)));
        assert_eq!(lost_of("CPU:0 [3 EVENTS DROPPED]\n"), Some((3, 1)));
        assert_eq!(lost_of("  a 1 [000]  1165.014412: PERF_RECORD_LOST lost 5\n"), Some((5, 1)));
    }

    #[test]
    fn other_tracepoints_are_counted_within_bounds() {
        let one =
            " a-1 [000] 1.0: inet_sock_set_state: protocol=IPPROTO_DCCP oldstate=1 newstate=2\n".to_owned();
        let many: String = (0..100).map(|i| format!(" a-1 [000] 1.0: point{i}: x=1\n")).collect();
        let log = scan((one + &many).as_bytes()).unwrap();
        assert_eq!(log.ignored["other protocols"], 1);
        assert_eq!(log.ignored.values().sum::<u64>(), 101);
        assert_eq!(log.ignored.len(), MAX_TRACEPOINTS + 1);
        assert!(log.issues.is_empty());
    }
}
