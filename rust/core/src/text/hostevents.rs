//! The kernel's tracepoints above and below TCP: what applications write and read, queueing disciplines, devices,
//! drops. They name sockets and packets by address only (`skaddr`, `skbaddr`), hashed or not; TCP's own tracepoints
//! tell which address is which socket.
//!
//! Reference: Linux `include/trace/events/{sock,qdisc,net,skb,tcp}.h`.

use std::collections::HashMap;

use memchr::memmem;

use super::number::decimal;
use super::words::{Words, excerpt, split_once};

/// Distinct names of devices, and of drop reasons, that are kept apart; the rest together.
const MAX_NAMES: usize = 512;

/// Kinds of events; the position is the code in the column.
pub const HOST_KINDS: [&str; 11] = [
    "queue",
    "enqueue",
    "dequeue",
    "start_xmit",
    "xmit",
    "receive",
    "drop",
    "send",
    "recv",
    "sendmsg",
    "retransmit",
];

/// Rows of host events; -1 where a value is absent. What `length`, `value` and `extra` hold depends on the kind.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct HostEvents {
    pub t_ns: Vec<i64>,
    pub record: Vec<i64>,
    pub kind: Vec<i8>,
    pub cpu: Vec<i16>,
    pub pid: Vec<i32>,
    pub skb: Vec<i64>,
    pub sk: Vec<i64>,
    pub flow: Vec<i32>,
    pub length: Vec<i64>,
    pub value: Vec<i64>,
    pub extra: Vec<i64>,
    /// Index into the names of devices, or of drop reasons.
    pub name: Vec<i16>,
}

/// One event.
#[derive(Debug, Clone, Copy)]
struct Row {
    kind: i8,
    skb: i64,
    sk: i64,
    flow: i32,
    length: i64,
    value: i64,
    extra: i64,
    name: i16,
}

impl Row {
    fn of(kind: Kind) -> Self {
        Row { kind: kind as i8, skb: -1, sk: -1, flow: -1, length: -1, value: -1, extra: -1, name: -1 }
    }
}

/// Kinds by their code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Queue,
    Enqueue,
    Dequeue,
    StartXmit,
    Xmit,
    Receive,
    Drop,
    Send,
    Recv,
    SendMsg,
    Retransmit,
}

impl Kind {
    /// By the tracepoint's name.
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"net_dev_queue" => Kind::Queue,
            b"qdisc_enqueue" => Kind::Enqueue,
            b"qdisc_dequeue" => Kind::Dequeue,
            b"net_dev_start_xmit" => Kind::StartXmit,
            b"net_dev_xmit" => Kind::Xmit,
            b"netif_receive_skb" => Kind::Receive,
            b"kfree_skb" => Kind::Drop,
            b"sock_send_length" => Kind::Send,
            b"sock_recv_length" => Kind::Recv,
            b"tcp_sendmsg_locked" => Kind::SendMsg,
            _ => return None,
        })
    }
}

/// Where an event happened: what stands before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub cpu: i16,
    pub pid: i32,
}

impl Place {
    /// `   some name-123   [001] ..s1.  `: the process behind the last dash, the CPU in brackets; -1 where absent.
    pub fn of(prefix: &[u8]) -> Self {
        let mut place = Place { cpu: -1, pid: -1 };
        let Some(open) = memchr::memrchr(b'[', prefix) else { return place };
        let close = memchr::memchr(b']', &prefix[open..]).map_or(prefix.len(), |at| open + at);
        let number = |digits: &[u8]| decimal(digits).and_then(|value| i32::try_from(value).ok());
        let cpu = number(&prefix[open + 1..close]);
        place.cpu = cpu.and_then(|value| i16::try_from(value).ok()).unwrap_or(-1);
        let mut task = prefix[..open].trim_ascii_end();
        // `name-123 (  100)`: the thread's group.
        if task.last() == Some(&b')')
            && let Some(at) = memchr::memrchr(b'(', task)
        {
            task = task[..at].trim_ascii_end();
        }
        // perf: `name 123`.
        let digits = task.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        place.pid = number(&task[task.len() - digits..]).unwrap_or(-1);
        place
    }
}

/// What is known of a socket's address: it was this flow from then to then.
#[derive(Debug, Clone, Copy)]
struct Span {
    flow: i32,
    first_ns: i64,
    last_ns: i64,
}

/// Collects host events and what names their sockets.
#[derive(Debug, Default)]
pub struct Host {
    /// Rows so far; flows are filled in by `finish`.
    pub events: HostEvents,
    /// Names of devices.
    pub devices: Names,
    /// Names of drop reasons.
    pub reasons: Names,
    sockets: HashMap<i64, Vec<Span>>,
    closed: HashMap<i32, i64>,
}

impl Host {
    /// Take an event; whether its words could be read.
    pub(crate) fn event(&mut self, kind: Kind, at: (i64, i64), place: Place, words: &[u8]) -> bool {
        let Some(row) = self.row(kind, words) else { return false };
        self.push(row, at, place);
        true
    }

    /// TCP sent a segment again (`err` 0), or could not.
    pub(crate) fn retransmit(
        &mut self,
        at: (i64, i64),
        place: Place,
        flow: i32,
        skb: i64,
        sk: i64,
        err: i64,
    ) {
        self.push(Row { skb, sk, flow, value: err, ..Row::of(Kind::Retransmit) }, at, place);
    }

    /// A tracepoint that names both: this address is that socket now.
    pub(crate) fn socket(&mut self, sk: i64, flow: i32, t_ns: i64) {
        let spans = self.sockets.entry(sk).or_default();
        match spans.last_mut() {
            Some(span) if span.flow == flow => span.last_ns = span.last_ns.max(t_ns),
            _ => spans.push(Span { flow, first_ns: t_ns, last_ns: t_ns }),
        }
    }

    /// A socket was closed.
    pub(crate) fn closed(&mut self, flow: i32, t_ns: i64) {
        self.closed.insert(flow, t_ns);
    }

    /// Fill in the flow of events that have a socket's address.
    pub(crate) fn finish(&mut self) {
        let events = &mut self.events;
        for ((flow, sk), t_ns) in events.flow.iter_mut().zip(&events.sk).zip(&events.t_ns) {
            if *flow < 0
                && let Some(spans) = self.sockets.get(sk)
            {
                *flow = flow_at(spans, &self.closed, *t_ns);
            }
        }
    }

    fn push(&mut self, row: Row, at: (i64, i64), place: Place) {
        let events = &mut self.events;
        events.t_ns.push(at.0);
        events.record.push(at.1);
        events.kind.push(row.kind);
        events.cpu.push(place.cpu);
        events.pid.push(place.pid);
        events.skb.push(row.skb);
        events.sk.push(row.sk);
        events.flow.push(row.flow);
        events.length.push(row.length);
        events.value.push(row.value);
        events.extra.push(row.extra);
        events.name.push(row.name);
    }

    fn row(&mut self, kind: Kind, words: &[u8]) -> Option<Row> {
        let mut row = Row::of(kind);
        match kind {
            Kind::Send | Kind::Recv => {
                if value_after(words, b"protocol = ")? != b"IPPROTO_TCP" {
                    return None;
                }
                row.sk = pointer(value_after(words, b"sk address = ")?)?;
                row.length = signed(value_after(words, b"length = ")?)?;
                row.value = signed(value_after(words, b"error = ")?)?;
                row.extra = value_after(words, b"flags = ").and_then(signed).unwrap_or(-1);
            }
            Kind::SendMsg => {
                row.skb = pointer(value_after(words, b"skb_addr ")?)?;
                row.length = signed(value_after(words, b"msg_left ")?)?;
                row.value = signed(value_after(words, b"skb_len ")?)?;
                row.extra = signed(value_after(words, b"size_goal ")?)?;
            }
            _ => {
                let mut seen = false;
                for word in Words(words) {
                    let Some((key, value)) = split_once(word, b'=') else { continue };
                    seen |= key == b"skbaddr";
                    self.take(&mut row, kind, key, value)?;
                }
                if !seen {
                    return None;
                }
                if kind == Kind::Drop {
                    // Before Linux 5.17 no reason is given.
                    let reason = value_after(words, b"reason: ").unwrap_or(b"NOT_SPECIFIED");
                    row.name = self.reasons.number(reason);
                }
            }
        }
        Some(row)
    }

    fn take(&mut self, row: &mut Row, kind: Kind, key: &[u8], value: &[u8]) -> Option<()> {
        match (kind, key) {
            (_, b"skbaddr") => row.skb = pointer(value)?,
            (_, b"rx_sk") => row.sk = pointer(value)?,
            (_, b"dev") => row.name = self.devices.number(value),
            (_, b"len") => row.length = signed(value)?,
            (_, b"handle") => row.value = signed(value)?,
            (_, b"ifindex") => row.extra = signed(value)?,
            (Kind::Dequeue, b"packets") => row.length = signed(value)?,
            (Kind::StartXmit, b"network_offset") => row.value = signed(value)?,
            (Kind::StartXmit, b"gso_segs") => row.extra = signed(value)?,
            (Kind::Xmit, b"rc") => row.value = signed(value)?,
            (Kind::Drop, b"protocol") => row.value = signed(value)?,
            _ => {}
        }
        Some(())
    }
}

/// The flow that an address was: the last that had shown itself before, unless that had been closed; else the next.
fn flow_at(spans: &[Span], closed: &HashMap<i32, i64>, t_ns: i64) -> i32 {
    let next = spans.partition_point(|span| span.first_ns <= t_ns);
    if let Some(span) = next.checked_sub(1).and_then(|at| spans.get(at)) {
        let over = closed.get(&span.flow).is_some_and(|end| *end > span.first_ns && *end < t_ns);
        if t_ns <= span.last_ns || !over {
            return span.flow;
        }
    }
    spans.get(next).map_or(-1, |span| span.flow)
}

/// Names by their number.
#[derive(Debug, Default)]
pub struct Names {
    index: HashMap<Vec<u8>, i16>,
    names: Vec<String>,
}

impl Names {
    /// All names, by number.
    pub fn list(&self) -> &[String] {
        &self.names
    }

    fn number(&mut self, name: &[u8]) -> i16 {
        if let Some(number) = self.index.get(name) {
            return *number;
        }
        if self.names.len() > MAX_NAMES {
            return MAX_NAMES as i16;
        }
        let number = self.names.len() as i16;
        if self.names.len() == MAX_NAMES {
            self.names.push("other".into());
            return number;
        }
        self.names.push(excerpt(name));
        self.index.insert(name.to_vec(), number);
        number
    }
}

/// What stands behind `label`, up to a blank or comma.
fn value_after<'a>(words: &'a [u8], label: &[u8]) -> Option<&'a [u8]> {
    let rest = &words[memmem::find(words, label)? + label.len()..];
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b',')).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// An address as the kernel prints it, with or without `0x`; -1 for one that it does not tell (`(null)` is 0).
pub(crate) fn pointer(text: &[u8]) -> Option<i64> {
    if text.first() == Some(&b'(') {
        return Some(if text == b"(null)" { 0 } else { -1 });
    }
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')).map(|value| value as i64)
}

/// A number with or without sign, or hexadecimal after `0x`, within 63 bits.
pub(crate) fn signed(text: &[u8]) -> Option<i64> {
    let (negative, digits) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let value = i64::try_from(super::number::integer(digits)?).ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::super::ftrace::scan;
    use super::*;

    const LOG: &str = "\
   my app-77 [001] ..... 10.000001: tcp_sendmsg_locked: skb_addr 0000000000000000 skb_len 0 msg_left 5412 size_goal 31856
   my app-77 [001] ..... 10.000002: sock_send_length: sk address = 00000000ecc3dbbd, family = AF_INET protocol = IPPROTO_TCP, length = 5412, error = 0, flags = 0x0
   my app-77 [001] b.... 10.000003: net_dev_queue: dev=eth0 skbaddr=00000000000000aa len=5478
   my app-77 [001] b..1. 10.000004: qdisc_enqueue: enqueue ifindex=2 qdisc handle=0x10000 parent=0xFFFFFFFF skbaddr=00000000000000aa
   <idle>-0  [000] b.s2. 10.000104: qdisc_dequeue: dequeue ifindex=2 qdisc handle=0x10000 parent=0xFFFFFFFF txq_state=0x0 packets=1 skbaddr=00000000000000aa
   <idle>-0  [000] b.s1. 10.000105: net_dev_start_xmit: dev=eth0 queue_mapping=0 skbaddr=00000000000000aa len=5478 data_len=0 network_offset=14 gso_size=1448 gso_segs=4 gso_type=0x1
   <idle>-0  [000] b.s1. 10.000106: net_dev_xmit: dev=eth0 skbaddr=00000000000000aa len=5478 rc=16
   <idle>-0  [000] ..s1. 10.000200: tcp_probe: src=10.0.0.1:5 dest=10.0.0.2:6 data_len=0 snd_nxt=0x2 snd_una=0x1 snd_cwnd=10 srtt=9 skbaddr=00000000000000bb skaddr=00000000ecc3dbbd
   <idle>-0  [000] ..s1. 10.000300: kfree_skb: skbaddr=00000000000000cc rx_sk=00000000ecc3dbbd protocol=2048 location=a+0x1/0x2 reason: TCP_OFOMERGE
   <idle>-0  [000] ..s1. 10.000400: tcp_retransmit_skb: skbaddr=00000000000000dd skaddr=00000000ecc3dbbd family=AF_INET sport=5 dport=6 saddr=10.0.0.1 daddr=10.0.0.2 state=TCP_ESTABLISHED err=-16
";

    #[test]
    fn every_kind() {
        let log = scan(LOG.as_bytes()).unwrap();
        assert!(log.issues.is_empty(), "{:?}", log.issues);
        let host = &log.host.events;
        let kinds: Vec<&str> = host.kind.iter().map(|kind| HOST_KINDS[*kind as usize]).collect();
        assert_eq!(
            kinds,
            ["sendmsg", "send", "queue", "enqueue", "dequeue", "start_xmit", "xmit", "drop", "retransmit"]
        );
        assert_eq!(host.length, [5412, 5412, 5478, -1, 1, 5478, 5478, -1, -1]);
        assert_eq!(host.value, [0, 0, -1, 0x10000, 0x10000, 14, 16, 2048, -16]);
        assert_eq!(host.extra, [31856, 0, -1, 2, 2, 4, -1, -1, -1]);
        assert_eq!(host.flow, [-1, 0, -1, -1, -1, -1, -1, 0, 0]);
        assert_eq!(host.skb[2..6], [0xaa; 4]);
        assert_eq!(host.cpu, [1, 1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(host.pid, [77, 77, 77, 77, 0, 0, 0, 0, 0]);
        assert_eq!(log.host.devices.list(), ["eth0"]);
        assert_eq!(log.host.reasons.list(), ["TCP_OFOMERGE"]);
    }

    #[test]
    fn an_address_may_serve_another_socket_later() {
        let spans =
            [Span { flow: 3, first_ns: 10, last_ns: 20 }, Span { flow: 4, first_ns: 50, last_ns: 60 }];
        let closed = HashMap::from([(3, 30)]);
        let at = |t| flow_at(&spans, &closed, t);
        assert_eq!([at(5), at(15), at(25), at(40), at(55), at(90)], [3, 3, 3, 4, 4, 4]);
        assert_eq!(flow_at(&spans, &HashMap::new(), 40), 3);
        assert_eq!(flow_at(&[], &closed, 40), -1);
    }

    #[test]
    fn places() {
        let place = |prefix: &str| {
            let Place { cpu, pid } = Place::of(prefix.as_bytes());
            (cpu, pid)
        };
        assert_eq!(place("  kworker/u8:0-12  [001] b..1.  "), (1, 12));
        assert_eq!(place("  a [b] c-d-99 ( 98) [003] "), (3, 99));
        assert_eq!(place("  perf 10542 [000]  "), (0, 10542));
        assert_eq!(place(""), (-1, -1));
        assert_eq!(place("x-99999999999 [x]"), (-1, -1));
        assert_eq!(place("["), (-1, -1));
    }

    #[test]
    fn pointers_and_numbers() {
        assert_eq!(pointer(b"00000000ecc3dbbd"), Some(0xecc3_dbbd));
        assert_eq!(pointer(b"0xffff88810a2b3c40"), Some(0xffff_8881_0a2b_3c40_u64 as i64));
        assert_eq!(pointer(b"(____ptrval____)"), Some(-1));
        assert_eq!(pointer(b"(null)"), Some(0));
        assert_eq!(pointer(b"+1"), None);
        assert_eq!(pointer(b""), None);
        assert_eq!(signed(b"-16"), Some(-16));
        assert_eq!(signed(b"18446744073709551615"), None);
        assert_eq!(signed(b"-"), None);
    }
}
