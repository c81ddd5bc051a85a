//! The words of the kernel's TCP tracepoints, over all versions.

use super::fault::Fault;
use super::flows::{Endpoint, address, endpoint};
use super::number::{fit, integer};
use super::words::{Words, split_once};
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
}

impl Fields {
    /// Read what follows the tracepoint's name.
    pub fn read(words: Words) -> Result<Self, Fault> {
        let mut fields = Fields {
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
        };
        for word in words {
            if let Some((key, value)) = split_once(word, b'=') {
                fields.take(key, value).ok_or(Fault::BadNumber)?;
            }
        }
        Ok(fields)
    }

    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        match key {
            b"src" => self.src = Some(endpoint(value, fit)?),
            b"dest" => self.dest = Some(endpoint(value, fit)?),
            b"sport" => self.sport = Some(fit(value)?),
            b"dport" => self.dport = Some(fit(value)?),
            b"saddr" => self.saddr[0] = Some(address(value)?),
            b"daddr" => self.daddr[0] = Some(address(value)?),
            b"saddrv6" => self.saddr[1] = Some(address(value)?),
            b"daddrv6" => self.daddr[1] = Some(address(value)?),
            b"data_len" => self.data_len = fit(value)?,
            b"length" => self.header_length = true,
            b"snd_nxt" => self.snd_nxt = word32(value)?,
            b"snd_una" => self.snd_una = word32(value)?,
            b"snd_cwnd" => self.snd_cwnd = fit(value)?,
            b"ssthresh" => {
                let packets = word32(value)?;
                self.ssthresh = if packets < INFINITE_SSTHRESH { packets } else { -1 };
            }
            b"snd_wnd" => self.snd_wnd = word32(value)?,
            b"rcv_wnd" => self.rcv_wnd = word32(value)?,
            b"srtt" => self.srtt_ns = word32(value)? * 1000,
            b"cong_state" => self.cong_state = integer(value)?.try_into().ok()?,
            b"state" => self.state = state(value)?,
            b"oldstate" => self.old_state = state(value)?,
            b"newstate" => self.new_state = state(value)?,
            b"protocol" => self.foreign = !matches!(value, b"IPPROTO_TCP" | b"6" | b"0x6"),
            _ => {}
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
        let (local, remote) = Fields::read(words).unwrap().socket().unwrap();
        assert_eq!((local.0.to_ip().to_string(), local.1), ("2001:db8::1".into(), 1));
        assert_eq!((remote.0.to_ip().to_string(), remote.1), ("2001:db8::2".into(), 2));
    }

    #[test]
    fn numbers_out_of_range_are_faults() {
        for bad in ["snd_cwnd=x", "snd_nxt=0x100000000", "snd_cwnd=2147483648", "sport=65536", "state=TCP_UP"]
        {
            assert_eq!(Fields::read(Words(bad.as_bytes())).err(), Some(Fault::BadNumber), "{bad}");
        }
    }
}
