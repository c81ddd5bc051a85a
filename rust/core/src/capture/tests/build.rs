//! Packets and files by hand, independent of the decoder.

use std::io::Write;

pub(super) const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub(super) const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A TCP segment to be built.
#[derive(Debug, Clone)]
pub(super) struct Tcp {
    pub(super) seq: u32,
    pub(super) flags: u16,
    pub(super) options: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp { seq: 1000, flags: 0x10, options: Vec::new(), payload: b"hello".to_vec() }
    }
}

impl Tcp {
    /// Header and payload, the checksum field zero.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut out = Vec::new();
        out.extend(40000u16.to_be_bytes());
        out.extend(80u16.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(7u32.to_be_bytes());
        out.extend((((5 + options.len() / 4) as u16) << 12 | self.flags).to_be_bytes());
        out.extend(512u16.to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        out.extend(&self.payload);
        out
    }

    /// With the checksum that belongs to the addresses.
    pub(super) fn summed(&self, addresses: &[u8]) -> Vec<u8> {
        let mut out = self.bytes();
        let checksum = !ones_complement(&[&pseudo(addresses, out.len()), &out]);
        out[16..18].copy_from_slice(&checksum.to_be_bytes());
        out
    }
}

pub(super) fn pseudo(addresses: &[u8], length: usize) -> Vec<u8> {
    let mut out = addresses.to_vec();
    out.extend((length as u32).to_be_bytes());
    out.extend(6u32.to_be_bytes());
    out
}

/// The plain definition: 16-bit big-endian words, end-around carry.
pub(super) fn ones_complement(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    sum as u16
}

pub(super) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with(protocol, payload, (20 + payload.len()) as u16, 0)
}

/// `fragment` is the whole 16-bit field of flags and offset.
pub(super) fn ipv4_with(protocol: u8, payload: &[u8], total: u16, fragment: u16) -> Vec<u8> {
    let mut out = vec![0x45, 0x02];
    out.extend(total.to_be_bytes());
    out.extend(0x1234u16.to_be_bytes());
    out.extend(fragment.to_be_bytes());
    out.extend([64, protocol, 0, 0]);
    out.extend(CLIENT);
    out.extend(SERVER);
    out.extend(payload);
    out
}

pub(super) fn ipv4_addresses() -> Vec<u8> {
    [CLIENT, SERVER].concat()
}

pub(super) fn ipv6_addresses() -> Vec<u8> {
    let mut out = vec![0x20; 16];
    out.extend([0x30; 16]);
    out
}

pub(super) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    ipv6_with(next, payload, payload.len() as u16)
}

pub(super) fn ipv6_with(next: u8, payload: &[u8], length: u16) -> Vec<u8> {
    // Traffic class 0x03 (CE), flow label 0.
    let mut out = vec![0x60, 0x30, 0, 0];
    out.extend(length.to_be_bytes());
    out.extend([next, 55]);
    out.extend(ipv6_addresses());
    out.extend(payload);
    out
}

/// A correct IPv4 packet with a TCP segment.
pub(super) fn tcp_v4(tcp: &Tcp) -> Vec<u8> {
    ipv4(6, &tcp.summed(&ipv4_addresses()))
}

pub(super) fn tcp_v6(tcp: &Tcp) -> Vec<u8> {
    ipv6(6, &tcp.summed(&ipv6_addresses()))
}

pub(super) fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0xee; 12];
    out.extend(ethertype.to_be_bytes());
    out.extend(payload);
    out
}

/// A pcap file under construction.
pub(super) struct File {
    bytes: Vec<u8>,
    big: bool,
    modified: bool,
}

impl File {
    pub(super) fn new(link_type: u32) -> Self {
        Self::with(0xa1b2_c3d4, false, (2, 4), 262_144, link_type)
    }

    pub(super) fn with(magic: u32, big: bool, version: (u16, u16), snaplen: u32, network: u32) -> Self {
        let mut file = File { bytes: Vec::new(), big, modified: magic == 0xa1b2_cd34 };
        file.u32(magic);
        for part in [version.0, version.1] {
            file.bytes.extend(if big { part.to_be_bytes() } else { part.to_le_bytes() });
        }
        for field in [0, 0, snaplen, network] {
            file.u32(field);
        }
        file
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    pub(super) fn header(&mut self, time: (u32, u32), first_length: u32, second_length: u32) {
        for field in [time.0, time.1, first_length, second_length] {
            self.u32(field);
        }
        if self.modified {
            self.bytes.extend([0xab; 8]);
        }
    }

    /// A record captured whole.
    pub(super) fn packet(self, data: &[u8]) -> Self {
        self.record((1, 0), data, data.len() as u32)
    }

    pub(super) fn record(mut self, time: (u32, u32), data: &[u8], original: u32) -> Self {
        self.header(time, data.len() as u32, original);
        self.raw(data)
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.bytes
    }
}

/// One packet in one file.
pub(super) fn one(link_type: u32, packet: &[u8]) -> Vec<u8> {
    File::new(link_type).packet(packet).done()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}
