//! One line of an event trace, in whichever of the formats it is written.

use super::super::fault::Fault;
use super::super::number::{fit, scaled};

/// Where in a node an event happened; wired links have no layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Link,
    Agent,
    Router,
    Mac,
    Other,
}

impl Layer {
    pub(super) fn named(word: &[u8]) -> Layer {
        match word {
            b"AGT" => Layer::Agent,
            b"RTR" => Layer::Router,
            b"MAC" => Layer::Mac,
            _ => Layer::Other,
        }
    }
}

/// A node's address and port.
pub(super) type End = (u32, u16);

/// TCP header fields that the trace may show besides the number (`Trace set show_tcphdr_ 1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub ack: u32,
    pub flags: u16,
    pub bytes: u32,
}

/// What a packet of TCP says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tcp {
    pub source: End,
    pub destination: End,
    /// Number of the packet; on an acknowledgment, of the last one that arrived in order.
    pub number: u32,
    pub header: Option<Header>,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// `s r d f`, or `+ - r d` on wired links.
    pub kind: u8,
    pub t_ns: i64,
    pub decimals: u8,
    pub node: u32,
    /// Wired: the other end of the link.
    pub to: u32,
    pub layer: Layer,
    pub layer_name: &'a [u8],
    pub reason: &'a [u8],
    pub packet: &'a [u8],
    pub size: i32,
    pub uid: u32,
    /// Joules times 10^9; None if absent or off.
    pub energy: Option<i64>,
    pub tcp: Option<Tcp>,
    /// Duration, receiver and sender in the MAC header; of control frames only these are known.
    pub mac: [u32; 3],
}

impl Event<'_> {
    /// Whether it carries data, and not an acknowledgment.
    pub(super) fn is_data(&self) -> bool {
        self.packet == b"tcp"
    }
}

/// Seconds as nanoseconds, and decimals; ns-2 prints small times with an exponent.
#[inline]
pub(super) fn time(word: &[u8]) -> Result<(i64, u8), Fault> {
    if let Some(found) = scaled(word, 9) {
        return Ok(found);
    }
    let text = std::str::from_utf8(word).map_err(|_| Fault::NotOurs)?;
    let value: f64 = text.parse().map_err(|_| Fault::BadNumber)?;
    if !(0.0..9e9).contains(&value) || !word.contains(&b'e') {
        return Err(Fault::BadNumber);
    }
    Ok(((value * 1e9).round() as i64, 9))
}

/// `[energy 99.5` or `-Ne 99.5`; a negative one means that the model is off.
#[inline]
pub(super) fn energy(word: &[u8]) -> Option<i64> {
    scaled(word, 9).map(|(value, _)| value)
}

/// `3.0` or `3:0`: node and port. None for addresses of several levels, and for broadcast (`-1`).
#[inline]
pub(super) fn end(word: &[u8]) -> Option<End> {
    let at = word.iter().position(|byte| matches!(byte, b'.' | b':'))?;
    Some((fit(&word[..at])?, fit(&word[at + 1..])?))
}

/// A number that may be negative: agents count from -1 where nothing arrived yet.
#[inline]
pub(super) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => fit::<i64>(digits).map(|value| -value),
        None => fit(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ns2() {
        assert_eq!(time(b"1e-05"), Ok((10_000, 9)));
        assert_eq!(time(b"0.510032"), Ok((510_032_000, 6)));
        for bad in [&b"x"[..], b"inf", b"-1", b"1e99", b"\xff"] {
            assert!(time(bad).is_err());
        }
        assert_eq!(end(b"3.0"), Some((3, 0)));
        assert_eq!(end(b"[3:255"), None);
        assert_eq!(end(b"1.0.3.0"), None);
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(energy(b"-1.000000"), None);
    }
}
