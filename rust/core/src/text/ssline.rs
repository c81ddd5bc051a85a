//! The two kinds of lines that ss writes about a TCP socket: who it is, and how it fares.

use super::fault::Fault;
use super::flows::{Endpoint, endpoint};
use super::number::{decimal, fit, milliseconds, scaled};
use super::words::{Words, split_once};

/// Names that `ss` without `-n` gives to ports that measurements use (IANA).
const SERVICES: [(&str, u16); 14] = [
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("http", 80),
    ("https", 443),
    ("rsync", 873),
    ("nfs", 2049),
    ("commplex-main", 5000),
    ("commplex-link", 5001),
    ("targus-getdata1", 5201),
    ("http-alt", 8080),
];

const STATES: [&[u8]; 12] = [
    b"ESTAB",
    b"SYN-SENT",
    b"SYN-RECV",
    b"FIN-WAIT-1",
    b"FIN-WAIT-2",
    b"TIME-WAIT",
    b"UNCONN",
    b"CLOSE-WAIT",
    b"LAST-ACK",
    b"LISTEN",
    b"CLOSING",
    b"NEW-SYN-RECV",
];

/// What a line about a socket says who it is.
pub(crate) enum Socket<'a> {
    /// A connection, local end first, and what follows on the line.
    Connection(Endpoint, Endpoint, Words<'a>),
    /// A socket without a peer, or of another protocol.
    Other,
}

/// Read `[netid] [state] recv-q send-q local peer ...`; None if the line is not of that form.
///
/// ss leaves the state out when its filter asks for one state, and the netid when it shows one protocol.
pub(crate) fn socket(line: &[u8]) -> Option<Socket<'_>> {
    let mut words = Words(line);
    let mut word = words.next()?;
    let mut tcp = true;
    if word.first()?.is_ascii_lowercase() {
        tcp = matches!(word, b"tcp" | b"mptcp");
        word = words.next()?;
    }
    let named = STATES.contains(&word);
    let listening = matches!(word, b"LISTEN" | b"UNCONN");
    if named {
        word = words.next()?;
    }
    decimal(word).and(decimal(words.next()?))?;
    let (local, peer) = (words.next()?, words.next()?);
    let colons = local.contains(&b':') && peer.contains(&b':');
    if !tcp || listening {
        return (named && colons || !tcp).then_some(Socket::Other);
    }
    match (endpoint(local, port), endpoint(peer, port)) {
        (Some(local), Some(peer)) => Some(Socket::Connection(local, peer, words)),
        _ if colons && peer.ends_with(b":*") => Some(Socket::Other),
        _ => None,
    }
}

fn port(text: &[u8]) -> Option<u16> {
    fit(text).or_else(|| SERVICES.iter().find(|(name, _)| name.as_bytes() == text).map(|(_, port)| *port))
}

/// What ss says how a socket fares; -1 where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Info {
    pub cwnd: i32,
    pub ssthresh: i64,
    pub snd_wnd: i64,
    pub rcv_wnd: i64,
    pub srtt_ns: i64,
    pub rttvar_ns: i64,
    pub rto_ns: i64,
    pub mss: i32,
    pub bytes_sent: i64,
    pub bytes_acked: i64,
    pub bytes_retrans: i64,
    pub unacked: i32,
    pub retrans_total: i32,
    pub notsent: i64,
    pub min_rtt_ns: i64,
    pub backoff: i16,
    pub busy_ns: i64,
    pub rwnd_limited_ns: i64,
    pub sndbuf_limited_ns: i64,
    pub app_limited: i8,
    pub timer_ns: i64,
    /// Whether there was a word of `-i`: without one, the line says nothing of TCP.
    pub present: bool,
}

impl Info {
    pub const NONE: Info = Info {
        cwnd: -1,
        ssthresh: -1,
        snd_wnd: -1,
        rcv_wnd: -1,
        srtt_ns: -1,
        rttvar_ns: -1,
        rto_ns: -1,
        mss: -1,
        bytes_sent: -1,
        bytes_acked: -1,
        bytes_retrans: -1,
        unacked: -1,
        retrans_total: -1,
        notsent: -1,
        min_rtt_ns: -1,
        backoff: -1,
        busy_ns: -1,
        rwnd_limited_ns: -1,
        sndbuf_limited_ns: -1,
        app_limited: -1,
        timer_ns: -1,
        present: false,
    };

    /// Take in the words of a line.
    pub fn read(&mut self, words: Words) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for word in words {
            if word == b"app_limited" {
                self.app_limited = 1;
            } else if word == b"delivery_rate" {
                self.app_limited = self.app_limited.max(0);
            } else if let Some((key, value)) = split_once(word, b':')
                && self.take(key, value).is_none()
            {
                self.present = true;
                outcome = Err(Fault::BadNumber);
            }
        }
        outcome
    }

    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        match key {
            b"cwnd" => self.cwnd = fit(value)?,
            b"ssthresh" => self.ssthresh = fit(value)?,
            b"snd_wnd" => self.snd_wnd = fit(value)?,
            b"rcv_wnd" => self.rcv_wnd = fit(value)?,
            b"rtt" => {
                let (srtt, rttvar) = split_once(value, b'/')?;
                (self.srtt_ns, self.rttvar_ns) = (milliseconds(srtt)?, milliseconds(rttvar)?);
            }
            b"rto" => self.rto_ns = milliseconds(value)?,
            b"mss" => self.mss = fit(value)?,
            b"bytes_sent" => self.bytes_sent = fit(value)?,
            b"bytes_acked" => self.bytes_acked = fit(value)?,
            b"bytes_retrans" => self.bytes_retrans = fit(value)?,
            b"unacked" => self.unacked = fit(value)?,
            b"retrans" => self.retrans_total = fit(split_once(value, b'/')?.1)?,
            b"notsent" => self.notsent = fit(value)?,
            b"minrtt" => self.min_rtt_ns = milliseconds(value)?,
            b"backoff" => self.backoff = fit(value)?,
            b"busy" => self.busy_ns = limited(value)?,
            b"rwnd_limited" => self.rwnd_limited_ns = limited(value)?,
            b"sndbuf_limited" => self.sndbuf_limited_ns = limited(value)?,
            // A kernel that tells what was delivered would also say if the application was the limit.
            b"delivered" => self.app_limited = self.app_limited.max(0),
            b"timer" => {
                self.timer_ns = timer(value)?;
                return Some(());
            }
            // Every socket has one of these; other words with a colon may be anything.
            b"wscale" | b"pmtu" | b"rcvmss" | b"advmss" | b"segs_in" | b"segs_out" => {}
            _ => return Some(()),
        }
        self.present = true;
        Some(())
    }
}

/// `400ms(100.0%)`
fn limited(value: &[u8]) -> Option<i64> {
    milliseconds(split_once(value, b'(').map_or(value, |(time, _)| time).strip_suffix(b"ms")?)
}

/// `(on,212ms,0)`: time to expiry if it is the retransmission timer, else -1.
fn timer(value: &[u8]) -> Option<i64> {
    let inner = value.strip_prefix(b"(")?.strip_suffix(b")")?;
    let mut parts = inner.split(|byte| *byte == b',');
    if parts.next()? != b"on" {
        return Some(-1);
    }
    duration(parts.next()?)
}

/// `1min30sec`, `1.204sec`, `212ms`, and nothing for zero; with a point, seconds stand before it whatever the unit
/// says (older ss prints 1.204 s as `1.204ms`).
fn duration(mut text: &[u8]) -> Option<i64> {
    let mut total = 0i64;
    while !text.is_empty() {
        let number = text.iter().position(u8::is_ascii_alphabetic)?;
        let unit = text[number..].iter().position(|byte| !byte.is_ascii_alphabetic());
        let (count, rest) = text.split_at(number);
        let (unit, rest) = rest.split_at(unit.unwrap_or(rest.len()));
        let part = match unit {
            b"ms" if !count.contains(&b'.') => milliseconds(count)?,
            b"sec" | b"ms" => scaled(count, 9)?.0,
            b"min" => scaled(count, 9)?.0.checked_mul(60)?,
            _ => return None,
        };
        total = total.checked_add(part)?;
        text = rest;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_in_every_layout() {
        for line in [
            "ESTAB 0      19320  10.77.33.1:42226 10.77.33.2:5001 reno",
            "tcp   FIN-WAIT-1 0 1 10.77.33.1:42226 [::ffff:10.77.33.2]:commplex-link reno",
            "0 19320 ::ffff:10.77.33.1:42226 10.77.33.2%eth0:5001 reno",
        ] {
            let Some(Socket::Connection(local, peer, rest)) = socket(line.as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!((local.0.to_ip().to_string(), local.1), ("10.77.33.1".into(), 42226));
            assert_eq!((peer.0.to_ip().to_string(), peer.1), ("10.77.33.2".into(), 5001));
            assert_eq!(rest.0, b" reno");
        }
        for line in ["LISTEN 0 128 0.0.0.0:22 0.0.0.0:*", "udp UNCONN 0 0 *:68 *:*", "0 128 *:22 *:*"] {
            assert!(matches!(socket(line.as_bytes()), Some(Socket::Other)), "{line}");
        }
        for line in [
            "",
            "Failed to find cgroup2 mount",
            "ESTAB 0 x 1.1.1.1:1 2.2.2.2:2",
            "ESTAB 0 0 1.1.1.1:nobody 2.2.2.2:2",
        ] {
            assert!(socket(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [
            ("", 0),
            ("212ms", 212),
            ("016ms", 16),
            ("1.204sec", 1204),
            ("1.204ms", 1204),
            ("59sec", 59_000),
            ("1min30sec", 90_000),
        ] {
            assert_eq!(duration(text.as_bytes()), Some(ms * 1_000_000), "{text}");
        }
        assert_eq!(timer(b"(keepalive,1min,0)"), Some(-1));
        for bad in ["12", "x", "1h", "1..2ms"] {
            assert_eq!(duration(bad.as_bytes()), None);
        }
    }

    #[test]
    fn an_absent_word_is_not_zero() {
        let mut info = Info::NONE;
        info.read(Words(b"skmem:(r0,rb1) ino:1 cubic")).unwrap();
        assert_eq!(info, Info::NONE);
        info.read(Words(b"cwnd:0 delivered:3")).unwrap();
        assert_eq!((info.cwnd, info.ssthresh, info.app_limited, info.present), (0, -1, 0, true));
        let mut older = Info::NONE;
        older.read(Words(b"cwnd:10 delivery_rate 8.6Mbps")).unwrap();
        assert_eq!(older.app_limited, 0);
    }
}
