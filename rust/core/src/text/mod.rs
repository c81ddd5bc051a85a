//! Line-oriented logs to columns.
//!
//! Each scanner streams over [`lines::Lines`] and returns one struct of column vectors, with the damage that it met
//! as [`crate::issue::Issues`]. A line that cannot be read costs an issue, never the file. [`SCANNERS`] has a row
//! for each: the binding, the fuzz target, the benchmarks and the tests of properties go by it.

use std::io::{self, Read};

use found::Found;
use settings::{Settings, Unread};

pub mod bcc;
pub mod csv;
pub mod dccpprobe;
mod fault;
pub mod flows;
pub mod found;
pub mod ftrace;
pub mod hostevents;
pub mod iperf3;
mod json;
pub mod lena;
pub mod lines;
pub mod ndt7;
pub mod ns2;
pub mod ns3;
pub(crate) mod number;
pub mod nuttcp;
pub mod omnetpp;
pub mod rlpdump;
pub mod settings;
pub mod siftr;
pub mod srsran;
pub mod ss;
mod ssline;
mod stamp;
pub mod tcpinfo;
pub mod tcpprobe;
mod tracepoint;
mod words;

#[cfg(test)]
mod properties;

/// One row of [`SCANNERS`].
pub struct Scanner {
    /// What the binding calls it.
    pub name: &'static str,
    /// Read a log, those with settings with usual ones.
    pub scan: fn(&mut dyn Read) -> io::Result<Found>,
    /// Line so many, from 0, of a log without damage; a head stands in front of line 0.
    pub line: fn(u32) -> String,
}

/// Every scanner of lines. A new one is its file, its `pub mod` above and its row here; one that takes settings has a row
/// in [`settings::CONFIGURED`] as well. Not here: a result of NDT7, which is one JSON object and no lines (it has the
/// other row only), and the octets that pppd records, which are binary (`crate::ppp`).
pub static SCANNERS: &[Scanner] = &[
    Scanner {
        name: "bcc",
        scan: |reader| bcc::scan(reader).map(Found::from),
        line: |n| {
            let head = "TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE\n";
            format!("{}{} 0 4 10.0.0.1:22 R> 10.0.0.2:9 ESTABLISHED", first(n, head), clock(n))
        },
    },
    Scanner {
        name: "csv",
        scan: |reader| {
            csv::scan(reader, 1, b',', &[csv::Kind::Time(0), csv::Kind::Word, csv::Kind::Number])
                .map(Found::from)
        },
        line: |n| format!("{}{},queue,{n}", first(n, "time,name,value\n"), time(n)),
    },
    Scanner {
        name: "dccpprobe",
        scan: |reader| dccpprobe::scan(reader).map(Found::from),
        line: |n| {
            format!("{}000 10.0.0.1:5001 10.0.0.2:33 1400 1400 400000 {n} 94125 90000 94125 14873", time(n))
        },
    },
    Scanner {
        name: "ftrace",
        scan: |reader| ftrace::scan(reader).map(Found::from),
        line: |n| {
            format!(
                "{} python3-627 [000] b..1.  {}: tcp_probe: family=AF_INET src=10.77.33.1:42226 dest=10.77.33.2:5001 \
                 mark=0x0 data_len=460 snd_nxt=0x{n:x} snd_una=0x{n:x} snd_cwnd=10 ssthresh=2147483647 snd_wnd=8024 \
                 srtt=480000 rcv_wnd=7820 sock_cookie=9bb12 skbaddr=0000000066fea026 skaddr=0000000045fdb369",
                first(n, "# tracer: nop\n"),
                time(n)
            )
        },
    },
    Scanner {
        name: "iperf3",
        scan: |reader| iperf3::scan(reader).map(Found::from),
        line: |n| {
            let head = "{\"event\":\"start\",\"data\":{\"connected\":[{\"socket\":5,\"local_host\":\"10.0.0.1\",\
                        \"local_port\":4,\"remote_host\":\"10.0.0.2\",\"remote_port\":5201}],\
                        \"timestamp\":{\"timesecs\":1795249751},\"test_start\":{\"protocol\":\"TCP\"}}}\n";
            format!(
                "{}{{\"event\":\"interval\",\"data\":{{\"streams\":[{{\"socket\":5,\"start\":{n},\"end\":{},\
                 \"bytes\":131072,\"retransmits\":0,\"snd_cwnd\":14480,\"rtt\":20000,\"sender\":true}}]}}}}",
                first(n, head),
                n + 1
            )
        },
    },
    Scanner {
        name: "iperf3_documents",
        scan: |reader| as_usual(iperf3::documents(reader, &Settings::default())),
        line: |n| {
            format!(
                "{{\"start\":{{\"connected\":[{{\"socket\":5,\"local_host\":\"10.0.0.1\",\"local_port\":4,\
                 \"remote_host\":\"10.0.0.2\",\"remote_port\":5201}}],\"timestamp\":{{\"timesecs\":{}}},\
                 \"test_start\":{{\"protocol\":\"TCP\"}}}},\"intervals\":[{{\"streams\":[{{\"socket\":5,\"start\":0,\
                 \"end\":1,\"bytes\":131072,\"retransmits\":0,\"snd_cwnd\":14480,\"rtt\":20000,\"sender\":true}}]}}],\
                 \"end\":{{}}}}",
                1_795_249_751 + n
            )
        },
    },
    Scanner {
        name: "lena",
        scan: |reader| {
            lena::scan(reader, &[lena::Column { unit: 1e9, limit: Some(9.2e18) }; lena::COLUMNS])
                .map(Found::from)
        },
        line: |n| {
            format!(
                "{n}.1\t{n}.2\t1\t1\t1\t3\t30\t16632\t30\t16632\t0.007\t0.002\t0.003\t0.01\t554.4\t135.4\t54\t590"
            )
        },
    },
    Scanner {
        name: "ns2",
        scan: |reader| ns2::scan(reader, true, ns2::HEADER_BYTES).map(Found::from),
        line: |n| format!("+ {n}.5 0 1 tcp 1040 ------- 1 0.0 3.0 {n} {n}"),
    },
    Scanner {
        name: "ns2_variables",
        scan: |reader| ns2::variables::scan(reader).map(Found::from),
        line: |n| format!("{n}.00000  0  0  3  0  cwnd_ {}.000 ", n % 40 + 1),
    },
    Scanner {
        name: "ns3",
        scan: |reader| ns3::scan(reader).map(Found::from),
        line: |n| {
            format!(
                "r {n}.25 /NodeList/2/DeviceList/0/$ns3::PointToPointNetDevice/MacRx ns3::PppHeader (Point-to-Point \
                 Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id {n} protocol 6 \
                 offset (bytes) 0 flags [none] length: 40 10.1.0.1 > 10.1.3.2) ns3::TcpHeader (49153 > 9000 [ACK] \
                 Seq=1 Ack={} Win=65535)",
                n + 1
            )
        },
    },
    Scanner {
        name: "ns3_series",
        scan: |reader| ns3::series::scan(reader).map(Found::from),
        line: |n| format!("{n}.5\t{}", 536 * n),
    },
    Scanner {
        name: "nuttcp",
        scan: |reader| nuttcp::scan(reader).map(Found::from),
        line: |n| format!("   11.1875 MB /   1.00 sec =   93.8456 Mbps {n:5} retrans    120 KB-cwnd"),
    },
    Scanner {
        name: "omnetpp",
        scan: |reader| omnetpp::scan(reader).map(Found::from),
        line: |n| {
            let head = "version 2\nrun General-0\nvector 17 Net.host cwnd:vector ETV\n";
            format!("{}17\t{n}\t{n}.5\t3", first(n, head))
        },
    },
    Scanner {
        name: "rlpdump",
        scan: |reader| rlpdump::scan(reader).map(Found::from),
        line: |n| {
            let head = "# rlpdump 1 clock=realtime slot_ms=20 payload_bytes=24 window=31 t1_ms=620 n2=6\n";
            let offset = u64::from(n) * 24;
            format!("{}{} ms snd I ns={} off={offset} len=24", first(n, head), time(n), n % 62)
        },
    },
    Scanner {
        name: "siftr",
        scan: |reader| siftr::scan(reader).map(Found::from),
        line: |n| {
            format!(
                "o,0xbec491a5,{},172.16.7.28,22,172.16.2.5,55931,1073725440,172312,6144,66560,66608,8,1,4,1448,936,1,\
                 996,255,33304,208,66608,0,208",
                time(n)
            )
        },
    },
    Scanner {
        name: "srsran",
        scan: |reader| srsran::scan(reader).map(Found::from),
        line: |n| {
            format!(
                "2023-03-15T{}.{:06} [RLC     ] [I] du=0 ue=0 DRB1 DL: TX PDU. dc=data p=0 si=full sn={} pdu_len=102",
                clock(n),
                n % 50 * 20_000,
                n % 4096
            )
        },
    },
    Scanner {
        name: "ss",
        scan: |reader| ss::scan(reader).map(Found::from),
        line: |n| {
            format!(
                "{}\nESTAB 0 19320 10.77.33.1:42226 10.77.33.2:5001 reno rto:1496 rtt:497.397/248.698 mss:460 pmtu:512 \
                 cwnd:10 bytes_sent:4600 bytes_acked:{n} segs_out:12 segs_in:1 data_segs_out:10 send 73985bps \
                 lastsnd:368 lastrcv:368 lastack:368 pacing_rate 147968bps delivered:1 unacked:10 minrtt:497.397",
                time(n)
            )
        },
    },
    Scanner {
        name: "tcpinfo",
        scan: |reader| tcpinfo::scan(reader).map(Found::from),
        line: |n| {
            let (id, zeros) = ("AgEAAMCoFFFPCqgABAAAAAAAAAAAAAAACk0AAgAAAAAAAAAAAAAAAA", "A".repeat(312));
            format!(
                "{{\"Timestamp\":\"2026-11-21T{}.{:03}Z\",\"RawIDM\":\"{id}==\",\"Attributes\":[null,null,\"{zeros}\"]}}",
                clock(n),
                n % 50 * 20
            )
        },
    },
    Scanner {
        name: "tcpprobe",
        scan: |reader| tcpprobe::scan(reader, None).map(Found::from),
        line: |n| format!("{}000 10.0.0.1:5001 10.0.0.2:80 1448 0x{n:x} 0x1 10 20 65535 480 65535", time(n)),
    },
];

/// The scanner of this name.
pub fn scanner(name: &str) -> Option<&'static Scanner> {
    SCANNERS.iter().find(|scanner| scanner.name == name)
}

/// The outcome with usual settings, of which none can be wrong.
fn as_usual(outcome: Result<Found, Unread>) -> io::Result<Found> {
    outcome.map_err(|error| match error {
        Unread::Io(error) => error,
        Unread::Unusable(why) => io::Error::new(io::ErrorKind::InvalidData, why),
    })
}

/// What stands in front of line 0, and of no other.
fn first(n: u32, head: &str) -> &str {
    if n == 0 { head } else { "" }
}

/// The time of line `n`, in seconds: fifty lines a second.
fn time(n: u32) -> String {
    format!("{}.{:06}", 1_700_000_000 + n / 50, n % 50 * 20_000)
}

/// The same as a time of day.
fn clock(n: u32) -> String {
    let seconds = n / 50;
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}
