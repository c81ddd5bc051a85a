//! The packet on a line: IP and TCP headers as ns-3 prints them.

use memchr::{memchr, memmem};

use crate::segment::{Address, Checksum, Options, Segment, flags};
use crate::text::fault::Fault;
use crate::text::flows::address;
use crate::text::number::{decimal, fit, integer};
use crate::text::words::{Words, split_once};

mod order;

const TCP: u64 = 6;
const MAX_OPTIONS: usize = 40;
const IPV6_HEADER: u32 = 40;

/// What a line is about.
#[derive(Debug)]
pub(super) enum Content {
    /// A segment, and what its frame says.
    Tcp(Segment, Frame),
    /// Another frame that the MAC layer sends again.
    Retry,
    /// A fragment of a datagram.
    Fragment,
    /// Something else.
    Other,
}

/// What the header of a Wi-Fi frame says of its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The MAC layer sends it again.
    pub again: bool,
    /// MAC addresses of its transmitter and its receiver.
    pub ends: Option<(u64, u64)>,
}

impl Frame {
    /// Out of the text behind the name of its header.
    fn of(header: &[u8]) -> Self {
        let header = &header[..memchr(b')', header).unwrap_or(header.len())];
        let set = |name: &[u8]| memmem::find(header, name).is_some();
        let address = |name: &[u8]| {
            let word = after(header, name)?;
            mac(word.strip_suffix(b",").unwrap_or(word))
        };
        let (transmitter, receiver) = match (set(b" ToDS=1"), set(b" FromDS=1")) {
            (false, false) => (address(b" SA="), address(b" DA=")),
            (true, false) => (address(b" SA="), address(b" BSSID=")),
            (false, true) => (address(b" BSSID="), address(b" DA=")),
            (true, true) => (address(b" TA="), address(b" RA=")),
        };
        Frame { again: set(b" Retry=1"), ends: transmitter.zip(receiver) }
    }
}

/// `00:00:00:00:00:03`.
fn mac(text: &[u8]) -> Option<u64> {
    let mut octets = text.split(|byte| *byte == b':');
    let mut value = 0;
    for _ in 0..6 {
        let octet = std::str::from_utf8(octets.next()?).ok()?;
        value = value << 8 | u64::from(u8::from_str_radix(octet, 16).ok()?);
    }
    octets.next().is_none().then_some(value)
}

/// IP header: what a segment takes from it, and bytes of it and its payload.
struct Ip {
    source: Address,
    destination: Address,
    id: u16,
    ttl: u8,
    ecn: u8,
    length: u32,
    payload: u32,
    protocol: u64,
    fragment: bool,
}

pub(super) fn content(packet: &[u8], t_ns: i64, record: u64) -> Result<Content, Fault> {
    let headers = Headers::of(packet);
    let frame = headers.wifi.map(Frame::of).unwrap_or_default();
    let other = || Ok(if frame.again { Content::Retry } else { Content::Other });
    let ip = match headers.ip {
        None => return other(),
        Some(Family::V4(text)) => order::ipv4(text).or_else(|| ipv4(text)),
        Some(Family::V6(text)) => ipv6(text),
    };
    let ip = ip.ok_or(Fault::BadNumber)?;
    if ip.fragment {
        return Ok(Content::Fragment);
    }
    match headers.tcp {
        Some(text) if ip.protocol == TCP => {
            let known = if headers.options { None } else { order::tcp(text) };
            known
                .or_else(|| tcp(text))
                .and_then(|tcp| segment(&tcp, &ip, t_ns, record))
                .map(|segment| Content::Tcp(segment, frame))
                .ok_or(Fault::BadNumber)
        }
        _ => other(),
    }
}

/// The text behind the name of an IP header.
enum Family<'a> {
    V4(&'a [u8]),
    V6(&'a [u8]),
}

/// Headers that matter, each with the rest of the line: found in one walk.
#[derive(Default)]
struct Headers<'a> {
    /// The first of Wi-Fi, of TCP.
    wifi: Option<&'a [u8]>,
    tcp: Option<&'a [u8]>,
    /// The one next to TCP's: those before it are of a tunnel.
    ip: Option<Family<'a>>,
    /// There is an option behind TCP's header.
    options: bool,
}

impl<'a> Headers<'a> {
    fn of(packet: &'a [u8]) -> Self {
        let mut found = Headers::default();
        let mut from = 0;
        while let Some(more) = memchr(b':', &packet[from..]) {
            let colon = from + more;
            from = colon + 1;
            if packet.get(from) != Some(&b':') || !packet[..colon].ends_with(b"ns3") {
                continue;
            }
            from += 1;
            let name = &packet[from..];
            if let Some(text) = name.strip_prefix(b"Ipv4Header (") {
                if found.tcp.is_none() {
                    found.ip = Some(Family::V4(text));
                }
            } else if let Some(text) = name.strip_prefix(b"TcpHeader (") {
                found.tcp = found.tcp.or(Some(text));
            } else if name.starts_with(b"TcpOption") {
                found.options |= found.tcp.is_some();
            } else if let Some(text) = name.strip_prefix(b"Ipv6Header (") {
                if found.tcp.is_none() {
                    found.ip = Some(Family::V6(text));
                }
            } else if let Some(text) = name.strip_prefix(b"WifiMacHeader (") {
                found.wifi = found.wifi.or(Some(text));
            }
        }
        found
    }
}

/// The word behind a name.
fn after<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = memmem::find(text, name)? + name.len();
    Words(&text[at..]).next()
}

/// `A > B)`: both addresses behind a name and a number.
fn ends(text: &[u8]) -> Option<(Address, Address)> {
    let mut words = Words(text);
    let source = words.next()?;
    if words.next()? != b">" {
        return None;
    }
    let destination = words.next()?;
    Some((address(source)?, address(destination.strip_suffix(b")").unwrap_or(destination))?))
}

fn ipv4(text: &[u8]) -> Option<Ip> {
    let length_at = memmem::find(text, b" length: ")? + b" length: ".len();
    let fixed = &text[..length_at];
    let mut words = Words(&text[length_at..]);
    let length: u32 = fit(words.next()?)?;
    let (source, destination) = ends(words.0)?;
    let flags_at = memmem::find(fixed, b" flags [")? + b" flags [".len();
    let (flags, _) = split_once(&fixed[flags_at..], b']')?;
    let offset = decimal(after(fixed, b" offset (bytes) ")?)?;
    Some(Ip {
        source,
        destination,
        id: fit(after(fixed, b" id ")?)?,
        ttl: fit(after(fixed, b" ttl ")?)?,
        ecn: (integer(after(fixed, b"tos ")?)? & 3) as u8,
        length,
        payload: length.checked_sub(20)?,
        protocol: decimal(after(fixed, b" protocol ")?)?,
        fragment: offset > 0 || memmem::find(flags, b"MF").is_some(),
    })
}

fn ipv6(text: &[u8]) -> Option<Ip> {
    let end = memmem::find(text, b")")?;
    let fixed = &text[..end];
    let payload: u32 = fit(after(fixed, b"Payload Length ")?)?;
    let (source, destination) = ends(&text[end + 1..])?;
    Some(Ip {
        source,
        destination,
        id: 0,
        ttl: fit(after(fixed, b"Hop Limit ")?)?,
        ecn: (integer(after(fixed, b"Traffic class ")?)? & 3) as u8,
        length: payload.checked_add(IPV6_HEADER)?,
        payload,
        protocol: decimal(after(fixed, b"Next Header ")?)?,
        fragment: false,
    })
}

/// What a TCP header says.
struct Tcp {
    ports: (u16, u16),
    flags: u16,
    seq: u32,
    ack: u32,
    window: u16,
    options: Options,
    /// Bytes.
    header: u32,
}

fn segment(tcp: &Tcp, ip: &Ip, t_ns: i64, record: u64) -> Option<Segment> {
    Some(Segment {
        t_ns,
        record,
        source: (ip.source, tcp.ports.0),
        destination: (ip.destination, tcp.ports.1),
        seq: tcp.seq,
        ack: tcp.ack,
        flags: tcp.flags,
        window: tcp.window,
        length: ip.payload.checked_sub(tcp.header)?,
        ip_length: ip.length,
        ip_id: ip.id,
        ttl: ip.ttl,
        ecn: ip.ecn,
        checksum: Checksum::Unverified,
        options: tcp.options,
    })
}

/// `49153 > 9 [SYN|ACK] Seq=0 Ack=1 Win=65535 ns3::TcpOption...`.
fn tcp(text: &[u8]) -> Option<Tcp> {
    let mut words = Words(text);
    let source_port = fit(words.next()?)?;
    if words.next()? != b">" {
        return None;
    }
    let destination_port = fit(words.next()?)?;
    let from = memchr(b'[', words.0)? + 1;
    let (names, rest) = split_once(&words.0[from..], b']')?;
    let number = |name: &[u8]| {
        let word = after(rest, name)?;
        decimal(word.strip_suffix(b")").unwrap_or(word))
    };
    let (options, header) = options(rest)?;
    Some(Tcp {
        ports: (source_port, destination_port),
        flags: control(names)?,
        seq: u32::try_from(number(b" Seq=")?).ok()?,
        ack: u32::try_from(number(b" Ack=")?).ok()?,
        window: u16::try_from(number(b" Win=")?).ok()?,
        options,
        header,
    })
}

/// `SYN|ACK`, `SYN ACK`, or nothing.
fn control(names: &[u8]) -> Option<u16> {
    names.split(|byte| matches!(byte, b' ' | b'|')).filter(|name| !name.is_empty()).try_fold(
        0,
        |all, name| {
            Some(
                all | match name {
                    b"FIN" => flags::FIN,
                    b"SYN" => flags::SYN,
                    b"RST" => flags::RST,
                    b"PSH" => flags::PSH,
                    b"ACK" => flags::ACK,
                    b"URG" => flags::URG,
                    b"ECE" => flags::ECE,
                    b"CWR" => flags::CWR,
                    _ => return None,
                },
            )
        },
    )
}

/// The options, and the length of the header with them: it is not printed.
fn options(text: &[u8]) -> Option<(Options, u32)> {
    const NAME: &[u8] = b"ns3::TcpOption";
    let mut options = Options { complete: true, ..Options::default() };
    let mut bytes = 0u32;
    for at in memmem::find_iter(text, NAME).take(MAX_OPTIONS) {
        let (kind, value) = split_once(&text[at + NAME.len()..], b'(')?;
        let (value, _) = split_once(value, b')')?;
        bytes += match kind {
            b"End" | b"NOP" => 1,
            b"MSS" => {
                options.mss = Some(fit(value)?);
                4
            }
            b"WinScale" => {
                options.window_scale = Some(fit(value)?);
                3
            }
            b"SackPermitted" => {
                options.sack_permitted = true;
                2
            }
            b"TS" => {
                let (val, ecr) = split_once(value, b';')?;
                options.timestamps = Some((fit(val)?, fit(ecr)?));
                10
            }
            b"Sack" => 2 + 8 * sack(value, &mut options)?,
            _ => {
                options.complete = false;
                0
            }
        };
    }
    Some((options, 20 + bytes.div_ceil(4) * 4))
}

/// `blocks: 2,[1,2][3,4]`: how many. Of a second such option, which no host sends, what there is room for.
fn sack(value: &[u8], options: &mut Options) -> Option<u32> {
    let mut count = 0;
    for block in value.split(|byte| *byte == b'[').skip(1) {
        let Some(place) = options.sack.get_mut(usize::from(options.sack_count)) else { break };
        let (left, right) = split_once(block.strip_suffix(b"]").unwrap_or(block), b',')?;
        *place = (fit(left)?, fit(right)?);
        options.sack_count += 1;
        count += 1;
    }
    Some(count)
}
