//! What the records of a capture hold, counted: nothing that is not TCP disappears without a number.

use std::collections::BTreeMap;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// What one record of a capture turned out to be.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($(#[doc = $doc])+ $kind,)+ }

        impl Kind {
            /// All kinds, in declaration order.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];

            /// The name under which a kind is reported.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)+ }
            }
        }
    };
}

kinds! {
    /// A TCP segment, decoded.
    Tcp = "tcp",
    /// TCP, but the snap length left less than the 20 bytes of its fixed header.
    TcpHeaderCut = "tcp-header-cut",
    /// A TCP segment that was captured before, at another point or by a mirror port; not counted otherwise.
    TcpCopy = "tcp-copy",
    /// UDP, or a tunnel in UDP without anything to decode in it.
    Udp = "udp",
    /// UDP-Lite.
    UdpLite = "udp-lite",
    /// ICMP for IPv4.
    Icmp = "icmp",
    /// ICMPv6, neighbour discovery included.
    Icmpv6 = "icmpv6",
    /// IGMP.
    Igmp = "igmp",
    /// SCTP.
    Sctp = "sctp",
    /// DCCP.
    Dccp = "dccp",
    /// GRE without anything to decode in it.
    Gre = "gre",
    /// IPsec ESP.
    Esp = "esp",
    /// OSPF.
    Ospf = "ospf",
    /// PIM.
    Pim = "pim",
    /// VRRP or CARP.
    Vrrp = "vrrp",
    /// Another protocol over IP.
    OtherIp = "other-ip-protocol",
    /// IPv6 that says that nothing follows.
    Ipv6NoNextHeader = "ipv6-no-next-header",
    /// A fragment of an IPv4 packet, of any protocol.
    Ipv4Fragment = "ipv4-fragment",
    /// A fragment of an IPv6 packet, of any protocol.
    Ipv6Fragment = "ipv6-fragment",
    /// ARP or RARP.
    Arp = "arp",
    /// LLDP.
    Lldp = "lldp",
    /// EAPOL (802.1X).
    Eapol = "eapol",
    /// PPPoE discovery.
    Pppoe = "pppoe",
    /// PPP's own protocols: LCP, IPCP, authentication.
    PppControl = "ppp-control",
    /// TCP with Van Jacobson's header compression (RFC 1144), not decompressed.
    VjCompressed = "vj-compressed",
    /// Another protocol over PPP.
    OtherPpp = "other-ppp-protocol",
    /// An 802.11 management frame.
    WifiManagement = "wifi-management",
    /// An 802.11 control frame.
    WifiControl = "wifi-control",
    /// An 802.11 data frame with an encrypted body.
    WifiProtected = "wifi-protected",
    /// An 802.11 frame that arrived damaged.
    WifiBadFcs = "wifi-bad-fcs",
    /// An 802.11 data frame without data.
    WifiOther = "wifi-other",
    /// An 802.11 frame with a part of a packet whose other parts follow or are missing.
    WifiFragment = "wifi-fragment",
    /// An 802.11 frame with several packets (A-MSDU) of which none can be read.
    WifiAggregate = "wifi-aggregate",
    /// MPLS without IP or Ethernet in it.
    Mpls = "mpls",
    /// An 802.3 frame with an LLC header: spanning tree, CDP, IS-IS.
    Llc = "llc",
    /// An encapsulation that is known to carry packets, and is encrypted, in parts, or of a kind that is not opened.
    NotOpened = "encapsulation-not-opened",
    /// Another EtherType.
    OtherEthertype = "other-ethertype",
    /// A loopback header with an address family other than IP.
    OtherFamily = "other-address-family",
    /// The snap length left too little to see what the packet is.
    HeaderCut = "header-cut",
    /// Headers that contradict each other.
    Malformed = "malformed",
    /// A record of a link type that is not decoded.
    UnsupportedLinkType = "unsupported-link-type",
}

impl Kind {
    /// The kind of an IP protocol number that is not TCP (IANA protocol numbers).
    pub(crate) const fn of_protocol(protocol: u8) -> Kind {
        match protocol {
            1 => Kind::Icmp,
            2 => Kind::Igmp,
            17 => Kind::Udp,
            33 => Kind::Dccp,
            47 => Kind::Gre,
            50 => Kind::Esp,
            58 => Kind::Icmpv6,
            59 => Kind::Ipv6NoNextHeader,
            89 => Kind::Ospf,
            103 => Kind::Pim,
            112 => Kind::Vrrp,
            132 => Kind::Sctp,
            136 => Kind::UdpLite,
            _ => Kind::OtherIp,
        }
    }

    /// The kind of an EtherType that is not IP.
    pub(crate) const fn of_ethertype(ethertype: u16) -> Kind {
        match ethertype {
            0x0806 | 0x8035 => Kind::Arp,
            0x8847 | 0x8848 => Kind::Mpls,
            0x8863 | 0x8864 => Kind::Pppoe,
            0x888e => Kind::Eapol,
            0x88cc => Kind::Lldp,
            // B.A.T.M.A.N., TRILL, MACsec, network service header.
            0x4305 | 0x22f3 | 0x88e5 | 0x894f => Kind::NotOpened,
            0..=1500 => Kind::Llc,
            _ => Kind::OtherEthertype,
        }
    }
}

/// Records by kind; the counts add up to the number of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindCounts([u64; Kind::ALL.len()]);

impl Default for KindCounts {
    fn default() -> Self {
        KindCounts([0; Kind::ALL.len()])
    }
}

impl KindCounts {
    #[inline]
    pub(crate) fn add(&mut self, kind: Kind) {
        self.add_many(kind, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] += count;
    }

    /// How many records are of a kind.
    pub fn get(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// The sum over all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The kinds that occur, by name.
    pub fn to_map(&self) -> BTreeMap<&'static str, u64> {
        Kind::ALL.iter().map(|&kind| (kind.name(), self.get(kind))).filter(|&(_, count)| count > 0).collect()
    }
}
