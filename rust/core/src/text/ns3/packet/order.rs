//! Headers in the order in which ns-3 writes them, read once from left to right: nearly all. What is written in
//! another way is None here, and looked for by its names.

use super::{Ip, Tcp, control};
use crate::segment::Options;
use crate::text::flows::address;
use crate::text::number::{decimal, fit, integer};

const IPV4_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;

/// What has not been read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// What is before a byte, which is passed over, too.
    #[inline]
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = self.0.iter().position(|byte| *byte == end)?;
        let found = &self.0[..at];
        self.0 = &self.0[at + 1..];
        Some(found)
    }

    #[inline]
    fn skip(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// A word behind a name.
    #[inline]
    fn named(&mut self, name: &[u8]) -> Option<&'a [u8]> {
        self.skip(name)?;
        self.until(b' ')
    }

    /// The last word of a header: up to the bracket that ends it.
    #[inline]
    fn last(&mut self) -> Option<&'a [u8]> {
        let found = self.until(b')')?;
        matches!(self.0.first(), None | Some(b' ')).then_some(found)
    }
}

/// `tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 0 protocol 6 offset (bytes) 0 flags [none] length: 58 10.0.0.1 >
/// 10.0.0.2)`
pub(super) fn ipv4(text: &[u8]) -> Option<Ip> {
    let mut text = Cursor(text);
    let ecn = (integer(text.named(b"tos ")?)? & 3) as u8;
    text.named(b"DSCP ")?;
    text.named(b"ECN ")?;
    let ttl = fit(text.named(b"ttl ")?)?;
    let id = fit(text.named(b"id ")?)?;
    let protocol = decimal(text.named(b"protocol ")?)?;
    let offset = decimal(text.named(b"offset (bytes) ")?)?;
    text.skip(b"flags [none] length: ")?;
    let length: u32 = fit(text.until(b' ')?)?;
    let source = address(text.until(b' ')?)?;
    text.skip(b"> ")?;
    let destination = address(text.last()?)?;
    let payload = length.checked_sub(IPV4_HEADER)?;
    Some(Ip { source, destination, id, ttl, ecn, length, payload, protocol, fragment: offset > 0 })
}

/// `49153 > 9 [ ACK ] Seq=1 Ack=1 Win=65535)`, without options.
pub(super) fn tcp(text: &[u8]) -> Option<Tcp> {
    let mut text = Cursor(text);
    let source = fit(text.until(b' ')?)?;
    text.skip(b"> ")?;
    let destination = fit(text.until(b' ')?)?;
    text.skip(b"[")?;
    let flags = control(text.until(b']')?)?;
    let seq = fit(text.named(b" Seq=")?)?;
    let ack = fit(text.named(b"Ack=")?)?;
    text.skip(b"Win=")?;
    let window = fit(text.last()?)?;
    let options = Options { complete: true, ..Options::default() };
    Some(Tcp { ports: (source, destination), flags, seq, ack, window, options, header: TCP_HEADER })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ns3::packet;

    const IP: &str = "tos 0x3 DSCP Default ECN CE ttl 63 id 7 protocol 6 offset (bytes) 0 flags [none] length: 58 \
                      10.0.0.1 > 10.0.0.2)";
    const SEGMENT: &str = "49153 > 9 [ ACK ] Seq=4294967295 Ack=1 Win=65535)";

    /// Each field as text, to be compared.
    fn of_ip(ip: &Ip) -> String {
        format!(
            "{:?} {:?} {} {} {} {} {} {} {}",
            ip.source, ip.destination, ip.id, ip.ttl, ip.ecn, ip.length, ip.payload, ip.protocol, ip.fragment
        )
    }

    fn of_tcp(tcp: &Tcp) -> String {
        format!(
            "{:?} {} {} {} {} {:?} {}",
            tcp.ports, tcp.flags, tcp.seq, tcp.ack, tcp.window, tcp.options, tcp.header
        )
    }

    #[test]
    fn as_looked_for_by_name() {
        let ip = ipv4(IP.as_bytes()).unwrap();
        assert_eq!((ip.ttl, ip.ecn, ip.length, ip.id), (63, 3, 58, 7));
        assert_eq!(of_ip(&ip), of_ip(&packet::ipv4(IP.as_bytes()).unwrap()));
        let told = tcp(SEGMENT.as_bytes()).unwrap();
        assert_eq!((told.ports, told.seq, told.window), ((49153, 9), u32::MAX, 65535));
        assert_eq!(of_tcp(&told), of_tcp(&packet::tcp(SEGMENT.as_bytes()).unwrap()));
    }

    /// Whatever is damaged: what is read in order is what is read by name.
    #[test]
    fn damaged_as_looked_for_by_name() {
        for filler in [" ", "x", "9", ")", "[", "]", "=", "\t", "-", ".", "  "] {
            for (text, is_ip) in [(IP, true), (SEGMENT, false)] {
                for at in 0..text.len() {
                    for keep in [0, 1] {
                        let damaged = format!("{}{filler}{}", &text[..at], &text[at + 1 - keep..]);
                        let bytes = damaged.as_bytes();
                        let (one, other) = if is_ip {
                            (ipv4(bytes).map(|ip| of_ip(&ip)), packet::ipv4(bytes).map(|ip| of_ip(&ip)))
                        } else {
                            (tcp(bytes).map(|tcp| of_tcp(&tcp)), packet::tcp(bytes).map(|tcp| of_tcp(&tcp)))
                        };
                        assert!(one.is_none() || one == other, "{damaged}: {one:?} {other:?}");
                    }
                }
            }
        }
    }
}
