//! The words of the kernel's TCP tracepoints, over all versions.

use super::fault::Fault;
use super::flows::{Endpoint, address, endpoint};
use super::hostevents::{pointer, signed};
use super::number::{fit, integer};
use super::words::{Words, blank_at, split_once};
use crate::segment::Address;

/// `TCP_INFINITE_SSTHRESH` of the kernel.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// Socket states by the kernel's number, from 1 (`include/net/tcp_states.h`).
pub const STATES: [&str; 13] = [
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
    "NEW_SYN_RECV",
    "BOUND_INACTIVE",
];

/// The tracepoints that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracepoint {
    Probe,
    Retransmit,
    CongState,
    SockState,
}

impl Tracepoint {
    /// Their names; the position is the discriminant.
    pub const NAMES: [&'static str; 4] =
        ["tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set", "inet_sock_set_state"];

    /// By name.
    #[inline]
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"tcp_probe" => Some(Self::Probe),
            b"tcp_retransmit_skb" => Some(Self::Retransmit),
            b"tcp_cong_state_set" => Some(Self::CongState),
            // tcp_set_state: Linux 4.15, with the same words.
            b"inet_sock_set_state" | b"tcp_set_state" => Some(Self::SockState),
            _ => None,
        }
    }
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Src,
    Dest,
    Sport,
    Dport,
    /// IPv4, or IPv6.
    Saddr(usize),
    Daddr(usize),
    DataLen,
    Length,
    SndNxt,
    SndUna,
    SndCwnd,
    Ssthresh,
    SndWnd,
    RcvWnd,
    Srtt,
    CongState,
    State,
    OldState,
    NewState,
    Protocol,
    Skaddr,
    Skbaddr,
    Err,
    Other,
}

impl Key {
    fn named(key: &[u8]) -> Self {
        match key {
            b"src" => Key::Src,
            b"dest" => Key::Dest,
            b"sport" => Key::Sport,
            b"dport" => Key::Dport,
            b"saddr" => Key::Saddr(0),
            b"daddr" => Key::Daddr(0),
            b"saddrv6" => Key::Saddr(1),
            b"daddrv6" => Key::Daddr(1),
            b"data_len" => Key::DataLen,
            b"length" => Key::Length,
            b"snd_nxt" => Key::SndNxt,
            b"snd_una" => Key::SndUna,
            b"snd_cwnd" => Key::SndCwnd,
            b"ssthresh" => Key::Ssthresh,
            b"snd_wnd" => Key::SndWnd,
            b"rcv_wnd" => Key::RcvWnd,
            b"srtt" => Key::Srtt,
            b"cong_state" => Key::CongState,
            b"state" => Key::State,
            b"oldstate" => Key::OldState,
            b"newstate" => Key::NewState,
            b"protocol" => Key::Protocol,
            b"skaddr" => Key::Skaddr,
            b"skbaddr" => Key::Skbaddr,
            b"err" => Key::Err,
            _ => Key::Other,
        }
    }
}

/// Words of a line whose keys are remembered.
const MAX_PLACES: usize = 32;
const PREFIX: usize = 16;

/// Which key each word of a tracepoint had in the line before: a kernel writes them in one order, so that one
/// comparison of a few bytes tells the key. Any other order is read as well, and remembered.
#[derive(Default)]
pub(crate) struct Layout(Vec<Place>);

/// One word of the line before.
#[derive(Default)]
struct Place {
    /// `key=` as little-endian number, where it has at most so many bytes.
    prefix: u128,
    mask: u128,
    length: usize,
    key: Option<Key>,
    known: Known,
}

impl Place {
    fn learn(&mut self, prefix: &[u8], key: Key) {
        *self = Place { length: prefix.len(), ..Place::default() };
        if prefix.len() <= PREFIX {
            let mut bytes = [0; PREFIX];
            bytes[..prefix.len()].copy_from_slice(prefix);
            self.prefix = u128::from_le_bytes(bytes);
            self.mask = u128::MAX >> (8 * (PREFIX - prefix.len()));
            self.key = Some(key);
        }
    }
}

/// The socket that a word named last: it is the same in most lines.
#[derive(Default)]
struct Known {
    text: Vec<u8>,
    endpoint: Option<Endpoint>,
}

impl Known {
    #[inline]
    fn endpoint(&mut self, value: &[u8]) -> Option<Endpoint> {
        if self.endpoint.is_none() || self.text != value {
            self.endpoint = Some(endpoint(value, fit)?);
            self.text.clear();
            self.text.extend_from_slice(value);
        }
        self.endpoint
    }
}

impl Layout {
    /// Read what follows the tracepoint's name.
    pub fn read(&mut self, words: Words) -> Result<Fields, Fault> {
        let mut fields = Fields::NONE;
        let mut rest = words.0;
        let mut at = 0;
        while let Some(first) = rest.first() {
            if matches!(first, b' ' | b'\t') {
                rest = &rest[1..];
                continue;
            }
            let end = blank_at(rest);
            if let Some(place) = self.0.get_mut(at)
                && let Some(key) = place.key
                && let Some(head) = rest.first_chunk::<PREFIX>()
                && u128::from_le_bytes(*head) & place.mask == place.prefix
                && place.length <= end
            {
                fields.take(key, &rest[place.length..end], &mut place.known).ok_or(Fault::BadNumber)?;
            } else if let Some((key, value)) = split_once(&rest[..end], b'=') {
                let named = Key::named(key);
                fields.take(named, value, &mut Known::default()).ok_or(Fault::BadNumber)?;
                self.learn(at, &rest[..=key.len()], named);
            }
            rest = &rest[end..];
            at += 1;
        }
        Ok(fields)
    }

    fn learn(&mut self, at: usize, prefix: &[u8], key: Key) {
        if at < MAX_PLACES {
            if self.0.len() <= at {
                self.0.resize_with(at + 1, Place::default);
            }
            self.0[at].learn(prefix, key);
        }
    }
}

/// The `key=value` words of one event; -1 or None where absent.
pub(crate) struct Fields {
    pub src: Option<Endpoint>,
    pub dest: Option<Endpoint>,
    sport: Option<u16>,
    dport: Option<u16>,
    saddr: [Option<Address>; 2],
    daddr: [Option<Address>; 2],
    pub data_len: i32,
    /// `length=`: the segment with its header.
    pub header_length: bool,
    pub snd_nxt: i64,
    pub snd_una: i64,
    pub snd_cwnd: i32,
    pub ssthresh: i64,
    pub snd_wnd: i64,
    pub rcv_wnd: i64,
    pub srtt_ns: i64,
    pub cong_state: i16,
    pub state: i16,
    pub old_state: i16,
    pub new_state: i16,
    /// Not TCP (`protocol=`).
    pub foreign: bool,
    /// Addresses of socket and packet, perhaps hashed.
    pub skaddr: Option<i64>,
    pub skbaddr: Option<i64>,
    /// Why a segment could not be sent again: a negative errno, 0 if it could.
    pub err: i64,
}

impl Fields {
    const NONE: Self = Fields {
        src: None,
        dest: None,
        sport: None,
        dport: None,
        saddr: [None; 2],
        daddr: [None; 2],
        data_len: -1,
        header_length: false,
        snd_nxt: -1,
        snd_una: -1,
        snd_cwnd: -1,
        ssthresh: -1,
        snd_wnd: -1,
        rcv_wnd: -1,
        srtt_ns: -1,
        cong_state: -1,
        state: -1,
        old_state: -1,
        new_state: -1,
        foreign: false,
        skaddr: None,
        skbaddr: None,
        err: 0,
    };

    #[inline]
    fn take(&mut self, key: Key, value: &[u8], known: &mut Known) -> Option<()> {
        match key {
            Key::Src => self.src = Some(known.endpoint(value)?),
            Key::Dest => self.dest = Some(known.endpoint(value)?),
            Key::Sport => self.sport = Some(fit(value)?),
            Key::Dport => self.dport = Some(fit(value)?),
            Key::Saddr(family) => self.saddr[family] = Some(address(value)?),
            Key::Daddr(family) => self.daddr[family] = Some(address(value)?),
            Key::DataLen => self.data_len = fit(value)?,
            Key::Length => self.header_length = true,
            Key::SndNxt => self.snd_nxt = word32(value)?,
            Key::SndUna => self.snd_una = word32(value)?,
            Key::SndCwnd => self.snd_cwnd = fit(value)?,
            Key::Ssthresh => {
                let packets = word32(value)?;
                self.ssthresh = if packets < INFINITE_SSTHRESH { packets } else { -1 };
            }
            Key::SndWnd => self.snd_wnd = word32(value)?,
            Key::RcvWnd => self.rcv_wnd = word32(value)?,
            Key::Srtt => self.srtt_ns = word32(value)? * 1000,
            Key::CongState => self.cong_state = integer(value)?.try_into().ok()?,
            Key::State => self.state = state(value)?,
            Key::OldState => self.old_state = state(value)?,
            Key::NewState => self.new_state = state(value)?,
            Key::Protocol => self.foreign = !matches!(value, b"IPPROTO_TCP" | b"6" | b"0x6"),
            Key::Skaddr => self.skaddr = pointer(value).filter(|address| !matches!(address, 0 | -1)),
            Key::Skbaddr => self.skbaddr = pointer(value),
            Key::Err => self.err = signed(value)?,
            Key::Other => {}
        }
        Some(())
    }

    /// The socket, local end first.
    #[inline]
    pub fn socket(&self) -> Option<(Endpoint, Endpoint)> {
        if let (Some(src), Some(dest)) = (self.src, self.dest) {
            return Some((src, dest));
        }
        // The v6 form is right for either family (mapped for IPv4); the v4 form of an IPv6 socket is not.
        let local = self.saddr[1].or(self.saddr[0])?;
        let remote = self.daddr[1].or(self.daddr[0])?;
        Some(((local, self.sport?), (remote, self.dport?)))
    }
}

fn word32(value: &[u8]) -> Option<i64> {
    u32::try_from(integer(value)?).ok().map(i64::from)
}

/// `TCP_ESTABLISHED`, or the number that perf and trace-cmd leave.
fn state(value: &[u8]) -> Option<i16> {
    let name = value.strip_prefix(b"TCP_").unwrap_or(value);
    match STATES.iter().position(|state| state.as_bytes() == name) {
        Some(at) => Some(at as i16 + 1),
        None => integer(value)?.try_into().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_by_name_and_number() {
        assert_eq!(state(b"TCP_ESTABLISHED"), Some(1));
        assert_eq!(state(b"TCP_NEW_SYN_RECV"), Some(12));
        assert_eq!(state(b"0x7"), Some(7));
        assert_eq!(state(b"10"), Some(10));
        assert_eq!(state(b"TCP_UP"), None);
    }

    #[test]
    fn an_ipv6_socket_is_named_by_its_v6_addresses() {
        let words =
            Words(b"sport=1 dport=2 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=2001:db8::1 daddrv6=2001:db8::2");
        let (local, remote) = Layout::default().read(words).unwrap().socket().unwrap();
        assert_eq!((local.0.to_ip().to_string(), local.1), ("2001:db8::1".into(), 1));
        assert_eq!((remote.0.to_ip().to_string(), remote.1), ("2001:db8::2".into(), 2));
    }

    /// Whatever a layout has learned, the next line is read as a new one would read it.
    #[test]
    fn what_is_remembered_changes_nothing() {
        let lines = [
            "src=10.0.0.1:1 dest=10.0.0.2:2 snd_nxt=0x2 snd_una=0x1 srtt=5",
            "src=10.0.0.1:1 dest=10.0.0.3:2 snd_nxt=0x3 snd_una=0x2 srtt=6",
            "dest=10.0.0.1:1  src=10.0.0.2:2\tsnd_una=7 snd_nxt=8 srtt=9",
            "word src=10.0.0.2:2 snd_nxt_of_another_kind_of_word=5 snd_una= x=",
            "src=",
            "snd_nxt=1 =2 == a=b=c srtt=3",
            "srtt=3",
            "src=10.0.0.1:1 dest=10.0.0.2:2 snd_nxt=0x2 snd_una=0x1 srtt=5",
        ];
        let mut layout = Layout::default();
        for line in lines.iter().flat_map(|line| lines.map(|other| [*line, other])).flatten() {
            let of = |layout: &mut Layout| {
                layout
                    .read(Words(line.as_bytes()))
                    .map(|found| (found.src, found.dest, found.snd_nxt, found.snd_una, found.srtt_ns))
            };
            assert_eq!(of(&mut layout), of(&mut Layout::default()), "{line}");
        }
        assert!(layout.0.len() <= MAX_PLACES);
    }

    #[test]
    fn numbers_out_of_range_are_faults() {
        for bad in ["snd_cwnd=x", "snd_nxt=0x100000000", "snd_cwnd=2147483648", "sport=65536", "state=TCP_UP"]
        {
            assert_eq!(Layout::default().read(Words(bad.as_bytes())).err(), Some(Fault::BadNumber), "{bad}");
        }
    }
}
