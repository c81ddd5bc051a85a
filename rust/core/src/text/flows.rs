//! Sockets as kernel logs name them.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::number::fit;
use crate::segment::Address;

/// Address and port of one end.
pub type Endpoint = (Address, u16);

/// Distinct sockets in order of appearance, local end first.
#[derive(Debug, Default)]
pub struct FlowTable {
    index: HashMap<(Endpoint, Endpoint), i32>,
    flows: Vec<(Endpoint, Endpoint)>,
    last: usize,
}

impl FlowTable {
    /// The number of a socket, a new one if it has not been seen.
    #[inline]
    pub fn intern(&mut self, local: Endpoint, remote: Endpoint) -> i32 {
        let flow = (local, remote);
        if self.flows.get(self.last) != Some(&flow) {
            self.last = *self.index.entry(flow).or_insert_with(|| {
                self.flows.push(flow);
                self.flows.len() as i32 - 1
            }) as usize;
        }
        self.last as i32
    }

    /// The same, as long as there are no more than so many sockets.
    #[inline]
    pub(crate) fn intern_within(&mut self, local: Endpoint, remote: Endpoint, most: usize) -> Option<i32> {
        let room = self.flows.len() < most || self.index.contains_key(&(local, remote));
        room.then(|| self.intern(local, remote))
    }

    /// All sockets.
    pub fn flows(&self) -> &[(Endpoint, Endpoint)] {
        &self.flows
    }
}

/// An address in any notation; a zone (`%eth0`) is left out.
pub(crate) fn address(text: &[u8]) -> Option<Address> {
    if let Some(octets) = dotted_quad(text) {
        return Some(Address::v4(octets));
    }
    let text = std::str::from_utf8(text).ok()?;
    let text = text.split('%').next()?;
    let text = text.strip_prefix('[').map_or(text, |inner| inner.strip_suffix(']').unwrap_or(inner));
    if let Ok(v6) = text.parse::<Ipv6Addr>() {
        return Some(Address::v6(v6.octets()));
    }
    text.parse::<Ipv4Addr>().ok().map(|v4| Address::v4(v4.octets()))
}

/// The usual case, by hand: it is most of the time that a line of tcp_probe takes.
fn dotted_quad(text: &[u8]) -> Option<[u8; 4]> {
    let mut octets = [0u8; 4];
    let mut parts = text.split(|byte| *byte == b'.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.len() > 3 {
            return None;
        }
        *octet = fit(part)?;
    }
    parts.next().is_none().then_some(octets)
}

/// `address:port`, with the port as `port` reads it.
pub(crate) fn endpoint(text: &[u8], port: impl FnOnce(&[u8]) -> Option<u16>) -> Option<Endpoint> {
    let colon = memchr::memrchr(b':', text)?;
    Some((address(&text[..colon])?, port(&text[colon + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_one_address() {
        let expected = Some((Address::v4([10, 9, 0, 2]), 5201));
        for text in [
            "10.9.0.2:5201",
            "[::ffff:10.9.0.2]:5201",
            "::ffff:10.9.0.2:5201",
            "10.9.0.2%eth0:5201",
            "[::ffff:10.9.0.2]%lo:5201",
        ] {
            assert_eq!(endpoint(text.as_bytes(), fit), expected, "{text}");
        }
        assert_eq!(address(b"2001:db8::1").unwrap().to_ip().to_string(), "2001:db8::1");
        for bad in ["", ":", "1.2.3:4", "1.2.3.256:4", "1.2.3.4.5:6", "1.2.3.4:65536", "*:*", "a.b:1"] {
            assert_eq!(endpoint(bad.as_bytes(), fit), None, "{bad}");
        }
    }

    #[test]
    fn flows_are_numbered_by_appearance() {
        let ends: Vec<Endpoint> = (0..3).map(|last| (Address::v4([10, 0, 0, last]), 1)).collect();
        let mut table = FlowTable::default();
        assert_eq!(table.intern(ends[0], ends[1]), 0);
        assert_eq!(table.intern(ends[1], ends[0]), 1);
        assert_eq!(table.intern(ends[0], ends[1]), 0);
        assert_eq!(table.intern(ends[0], ends[2]), 2);
        assert_eq!(table.flows().len(), 3);
    }
}
