//! Tunnels and tags on the way to the innermost packet: which there are, and how deep they may nest.

use std::collections::BTreeMap;

use super::record::Stop;

/// Tunnels and tags that one packet may be in. Real ones have four or five.
const MAX_DEPTH: u8 = 16;

/// What a packet is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tunnel {
    Vlan,
    Qinq,
    Mpls,
    Pppoe,
    Gre,
    Erspan,
    IpInIp,
    SixInFour,
    Vxlan,
    Geneve,
    GtpU,
    L2tp,
    Teredo,
    EtherIp,
    MplsInUdp,
    Pptp,
    /// The tag of a bridge's port extender (IEEE 802.1BR).
    ETag,
    /// Cisco's tag of a virtual interface.
    VnTag,
    /// Provider backbone bridging (IEEE 802.1ah), also called MAC in MAC.
    Pbb,
    FabricPath,
    Capwap,
    Ayiya,
}

const NAMES: [&str; 22] = [
    "vlan",
    "qinq",
    "mpls",
    "pppoe",
    "gre",
    "erspan",
    "ip-in-ip",
    "6in4",
    "vxlan",
    "geneve",
    "gtp-u",
    "l2tp",
    "teredo",
    "etherip",
    "mpls-in-udp",
    "pptp",
    "e-tag",
    "vn-tag",
    "pbb",
    "fabricpath",
    "capwap",
    "ayiya",
];

/// The tunnels around one packet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Path {
    seen: u32,
    depth: u8,
}

impl Path {
    /// One tunnel deeper.
    pub(crate) fn enter(&mut self, tunnel: Tunnel) -> Result<(), Stop> {
        self.seen |= 1 << tunnel as u8;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Stop::Malformed("more than 16 tunnels and tags")) } else { Ok(()) }
    }

    /// A VLAN tag: the second makes QinQ of it.
    pub(crate) fn tag(&mut self) -> Result<(), Stop> {
        let tagged = self.seen & (1 << Tunnel::Vlan as u8 | 1 << Tunnel::Qinq as u8) != 0;
        self.seen &= !(1 << Tunnel::Vlan as u8);
        self.enter(if tagged { Tunnel::Qinq } else { Tunnel::Vlan })
    }

    /// A number that differs where the tunnels differ; 0 without one.
    pub(crate) fn id(self) -> u32 {
        self.seen
    }
}

/// Records by tunnel.
#[derive(Debug, Clone, Default)]
pub(crate) struct TunnelCounts([u64; NAMES.len()]);

impl TunnelCounts {
    /// Count a record.
    pub(crate) fn add(&mut self, path: Path) {
        for (bit, count) in self.0.iter_mut().enumerate() {
            *count += u64::from(path.seen >> bit & 1);
        }
    }

    /// Those that occur, by name.
    pub(crate) fn to_map(&self) -> BTreeMap<&'static str, u64> {
        NAMES.into_iter().zip(self.0).filter(|&(_, count)| count > 0).collect()
    }
}
