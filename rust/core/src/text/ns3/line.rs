//! What precedes the packet on a line: operation, time, and where.

use super::time;
use crate::text::fault::Fault;
use crate::text::number::fit;
use crate::text::words::Words;

/// Where a line was written: a device of a node, or its IP layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// The file does not say: it is of one device.
    Unnamed,
    /// `/NodeList/0/DeviceList/1`.
    Net(u32, u32),
    /// `/NodeList/0/$ns3::Ipv4L3Protocol/Tx(1)`: node and interface.
    Ip(u32, u32),
    /// Another place on a node.
    Other(u32),
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Unnamed => f.write_str("device"),
            Device::Net(node, device) => write!(f, "node {node} device {device}"),
            Device::Ip(node, interface) => write!(f, "node {node} interface {interface}"),
            Device::Other(node) => write!(f, "node {node}"),
        }
    }
}

pub(super) struct Line<'a> {
    pub operation: u8,
    pub t_ns: i64,
    pub digits: u32,
    pub device: Device,
    context: &'a [u8],
    /// The packet.
    pub rest: &'a [u8],
}

impl<'a> Line<'a> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Fault> {
        let mut words = Words(text);
        let operation = match words.next() {
            Some([operation @ (b'+' | b'-' | b'r' | b'd' | b't')]) => *operation,
            _ => return Err(Fault::NotOurs),
        };
        let (t_ns, digits) = words.next().and_then(time::parse).ok_or(Fault::BadNumber)?;
        let mut packet = words.0;
        let mut first = words.next().ok_or(Fault::NotOurs)?;
        if !first.starts_with(b"/NodeList/") && !first.starts_with(b"ns3::") {
            // Wi-Fi devices tell the mode of what they receive before the place.
            packet = words.0;
            first = words.next().ok_or(Fault::NotOurs)?;
        }
        let named = first.starts_with(b"/NodeList/");
        let (context, rest) = if named { (first, words.0) } else { (&b""[..], packet) };
        Ok(Line { operation, t_ns, digits, device: device(context)?, context, rest })
    }

    /// The device, and what of it: `node 1 device 0 TxQueue`.
    pub fn place(&self) -> String {
        let parts: Vec<&[u8]> = self.context.rsplit(|byte| *byte == b'/').take(2).collect();
        let what = match parts[..] {
            // TxQueue/Drop, Phy/PhyRxDrop, $ns3::PointToPointNetDevice/PhyRxDrop
            [last, before, ..] if before.starts_with(b"$") => last,
            [b"Drop", before, ..] => before,
            [last, ..] => last,
            [] => b"",
        };
        let name: String = String::from_utf8_lossy(&what[..what.len().min(40)]).escape_debug().collect();
        format!("{} {name}", self.device).trim_end().to_owned()
    }
}

fn device(context: &[u8]) -> Result<Device, Fault> {
    if context.is_empty() {
        return Ok(Device::Unnamed);
    }
    let mut parts = context.split(|byte| *byte == b'/').skip(2);
    let node: u32 = parts.next().and_then(fit).ok_or(Fault::BadNumber)?;
    Ok(match (parts.next(), parts.next()) {
        (Some(b"DeviceList"), Some(number)) => Device::Net(node, fit(number).ok_or(Fault::BadNumber)?),
        (Some(layer), Some(what)) if layer.starts_with(b"$ns3::Ip") => {
            let from = what.iter().position(|byte| *byte == b'(').map_or(what.len(), |at| at + 1);
            let number = what[from..].strip_suffix(b")").and_then(fit);
            number.map_or(Device::Other(node), |interface| Device::Ip(node, interface))
        }
        _ => Device::Other(node),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (text, name) in [
            (
                "d 1.5 /NodeList/1/DeviceList/2/$ns3::PointToPointNetDevice/TxQueue/Drop x",
                "node 1 device 2 TxQueue",
            ),
            ("d 1.5 /NodeList/1/DeviceList/2/$ns3::CsmaNetDevice/PhyRxDrop x", "node 1 device 2 PhyRxDrop"),
            ("t 1.5 /NodeList/7/$ns3::Ipv4L3Protocol/Tx(3) x", "node 7 interface 3 Tx(3)"),
            ("r 1.5 ns3::Ipv4Header", "device"),
            (
                "r 1 DsssRate1Mbps /NodeList/0/DeviceList/3/$ns3::WifiNetDevice/Phy/State/RxOk x",
                "node 0 device 3 RxOk",
            ),
        ] {
            assert_eq!(Line::parse(text.as_bytes()).ok().map(|line| line.place()).as_deref(), Some(name));
        }
        for bad in ["x 1 y", "", "r", "r x y", "r 1", "d 1 /NodeList/x y", "d 1 /NodeList/1/DeviceList/-1 y"]
        {
            assert!(Line::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
