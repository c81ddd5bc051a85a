"""Writes tests/data/formats: a small constructed sample of each format, out of the repository's measurements.

Run it (``python tests/support_format_samples.py``) only when a sample has to change.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import support_kernel_logs as kernel_logs
import support_wifi
from support_rlp_capture import call
from support_samples import SAMPLES

from multitracer.lab.ppp import hdlc

FOLDER = Path(__file__).parent / "data" / "formats"
ROWS = 120
WALL_NS = 1_795_246_858_019_187_000  # of the sample's ftrace clock
LOCAL, REMOTE = ("10.77.0.1", 42244), ("10.77.0.2", 5201)


def tcp_info(values: dict[str, int], length: int = 240) -> bytes:
    """A struct tcp_info of Linux 6 with some of its fields."""
    places = {
        "rto_us": (8, "<I"),
        "mss": (16, "<I"),
        "srtt_us": (68, "<I"),
        "ssthresh": (76, "<I"),
        "cwnd": (80, "<I"),
        "retrans": (100, "<I"),
        "acked": (120, "<Q"),
        "notsent": (144, "<I"),
        "sent": (200, "<Q"),
    }
    raw = bytearray(240)
    raw[0] = 1
    for name, value in values.items():
        offset, form = places[name]
        struct.pack_into(form, raw, offset, value)
    return bytes(raw[:length])


def diag_message() -> bytes:
    """A struct inet_diag_msg of one IPv4 socket."""
    hosts = [bytes(map(int, host.split("."))).ljust(16, b"\0") for host, _ in (LOCAL, REMOTE)]
    return struct.pack(">BBBBHH", 2, 1, 0, 0, LOCAL[1], REMOTE[1]) + hosts[0] + hosts[1] + bytes(32)


def iperf3_document(intervals: int = 6, mss: int = 1448) -> dict[str, Any]:
    """A document as iperf3 3.12 writes it at the client that sends."""
    streams = []
    for at in range(intervals):
        stream = {
            "socket": 5,
            "start": at * 0.5,
            "end": (at + 1) * 0.5,
            "seconds": 0.5,
            "bytes": 131072 * (at + 1),
            "bits_per_second": 1.0,
            "retransmits": at % 2,
            "snd_cwnd": mss * (10 + at),
            "snd_wnd": 65536,
            "rtt": 20_000 + at,
            "rttvar": 1000,
            "pmtu": 1500,
            "omitted": False,
            "sender": True,
        }
        streams.append({"streams": [stream], "sum": {}})
    connected = {
        "socket": 5,
        "local_host": LOCAL[0],
        "local_port": LOCAL[1],
        "remote_host": REMOTE[0],
        "remote_port": REMOTE[1],
    }
    return {
        "start": {
            "connected": [connected],
            "version": "iperf 3.12",
            "system_info": "constructed",
            "timestamp": {"time": "", "timesecs": 1_795_249_751},
            "connecting_to": {"host": REMOTE[0], "port": REMOTE[1]},
            "tcp_mss_default": mss,
            "test_start": {"protocol": "TCP", "blksize": 131072, "reverse": 0, "duration": 3},
        },
        "intervals": streams,
        "end": {"sum_sent": {"bytes": 1, "bits_per_second": 2.0}},
    }


def iperf3_stream() -> str:
    """The same as a stream of events (3.17 and later)."""
    document = iperf3_document()
    events = [("start", document["start"]), *(("interval", part) for part in document["intervals"])]
    events.append(("end", document["end"]))
    return "".join(json.dumps({"event": kind, "data": data}) + "\n" for kind, data in events)


def tcpinfo_lines(count: int = 20) -> str:
    """Snapshots as M-Lab's tcp-info writes them."""
    zero = "0001-01-01T00:00:00Z"
    lines = [{"Timestamp": zero, "Metadata": {"UUID": "constructed", "Sequence": 0, "StartTime": zero}}]
    idm = base64.b64encode(diag_message()).decode()
    for at in range(count):
        values = {"acked": 1 + at * 2896, "sent": 14480 + at * 2896, "cwnd": 10 + at, "mss": 1448}
        info = tcp_info(values | {"srtt_us": 20_000 + at, "ssthresh": 0x7FFFFFFF, "rto_us": 220_000})
        attributes = [
            None,
            None,
            base64.b64encode(info).decode(),
            None,
            base64.b64encode(b"cubic\0").decode(),
        ]
        stamp = f"2026-11-21T08:29:{10 + at // 100:02d}.{at % 100 * 10:03d}Z"
        lines.append({"Timestamp": stamp, "RawIDM": idm, "Attributes": attributes})
    return "".join(json.dumps(line) + "\n" for line in lines)


def ndt7_document(count: int = 8) -> dict[str, Any]:
    """A download as NDT7's server archives it."""
    measurements = []
    for at in range(count):
        info = {"ElapsedTime": 250_000 * (at + 1), "RTT": 20_000, "RTTVar": 900, "SndCwnd": 10 + at}
        info |= {"SndMSS": 1448, "SndSsThresh": 2147483647, "BytesAcked": 100_000 * at, "AppLimited": at % 2}
        ends = {"Server": "[2001:db8::1]:443", "Client": "[2001:db8::2]:50000"}
        measurements.append({"ConnectionInfo": ends, "TCPInfo": info, "BBRInfo": {}})
    part = {"UUID": "constructed", "StartTime": "2026-11-21T08:29:11.5Z", "ServerMeasurements": measurements}
    return {
        "GitShortCommit": "0",
        "Version": "v0",
        "ServerIP": "2001:db8::1",
        "ServerPort": 443,
        "Download": part,
    }


BCC = """Tracing retransmits ... Hit Ctrl-C to end
TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE
23:59:58 0      4  10.153.223.157:22    R> 69.53.245.40:34619   ESTABLISHED
23:59:59 0      6  [2001:db8::1]:443    L> [2001:db8::2]:50000  ESTABLISHED
00:00:01 2345   4  10.153.223.157:22    R> 69.53.245.40:34619   FIN_WAIT1
00:00:02 2345   4  10.153.223.157:22    R> 69.53.245.40:34619   SYN_SENT
"""
TCPSTATES = """TIME,SKADDR,C-PID,C-COMM,LADDR,LPORT,RADDR,RPORT,OLDSTATE,->,NEWSTATE,MS
18:15:30,ffff9fd7e8192000,22384,curl,10.0.0.1,0,52.33.159.26,80,CLOSE,->,SYN_SENT,0.000
18:15:31,ffff9fd7e8192000,0,swapper/5,10.0.0.1,63446,52.33.159.26,80,SYN_SENT,->,ESTABLISHED,100.1
18:15:32,ffff9fd7e8192000,22384,curl,10.0.0.1,63446,52.33.159.26,80,ESTABLISHED,->,FIN_WAIT1,176.0
"""
CSV_VALUES = """# signal of the radio
time,name,value
1795249751.5,signal_dbm,-71
1795249752.0,signal_dbm,-75.5
1795249752.0,handover,1
1795249753.25,signal_dbm,
1795249754.0,signal_dbm,-80
"""
CSV_STATES = """time,local,remote,cwnd_bytes,srtt_ms,ssthresh,mss
1795249751.5,10.0.0.1:1000,10.0.0.2:80,14480,20.5,,1448
1795249752.5,10.0.0.1:1000,10.0.0.2:80,15928,21.25,20,1448
1795249753.5,[::ffff:10.0.0.2]:80,[::ffff:10.0.0.1]:1000,14480,19,,1448
"""
CSV_FRAMES = """time,entity,action,kind,seq,offset,length,attempt
1795249751.000,ue,snd,,0,0,1000,0
1795249751.010,bs,rcv,,0,0,1000,0
1795249751.020,ue,snd,,1,1000,1000,0
1795249751.060,bs,snd,SREJ,,,,
1795249751.070,ue,snd,,1,1000,1000,1
1795249751.080,bs,rcv,,1,1000,1000,0
1795249751.500,ue,evt,reset,,,,
1795249751.600,ue,evt,handover,,,,
"""


PING = """PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.
[1795249751.120000] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=20.1 ms
[1795249752.121500] 64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=21.4 ms
[1795249754.140000] no answer yet for icmp_seq=3
[1795249754.190000] 64 bytes from 192.0.2.7: icmp_seq=4 ttl=57 time=88.0 ms
[1795249755.130000] 64 bytes from 192.0.2.7: icmp_seq=5 ttl=57 time=24.2 ms
[1795249758.133000] 64 bytes from 192.0.2.7: icmp_seq=8 ttl=57 time=20.6 ms

--- 192.0.2.7 ping statistics ---
8 packets transmitted, 5 received, 37.5% packet loss, time 7012ms
rtt min/avg/max/mdev = 20.100/34.860/88.000/26.610 ms
"""
PING_WINDOWS = """Pinging example.net [192.0.2.7] with 32 bytes of data:\r
Reply from 192.0.2.7: bytes=32 time=12ms TTL=57\r
Request timed out.\r
Reply from 192.0.2.7: bytes=32 time=14ms TTL=57\r
Reply from 192.0.2.7: bytes=32 time=13ms TTL=57\r
"""
IPERF3_TEXT = """Connecting to host 10.77.0.2, port 5201
[  5] local 10.77.0.1 port 42244 connected to 10.77.0.2 port 5201
[  7] local 10.77.0.1 port 42246 connected to 10.77.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   632 KBytes  5.18 Mbits/sec    5   16.7 KBytes       (omitted)
[  7]   0.00-1.00   sec   600 KBytes  4.92 Mbits/sec    2   19.5 KBytes       (omitted)
[SUM]   0.00-1.00   sec  1.20 MBytes  10.1 Mbits/sec    7             (omitted)
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-1.00   sec   640 KBytes  5.24 Mbits/sec    1   18.2 KBytes
[  7]   0.00-1.00   sec   610 KBytes  5.00 Mbits/sec    0   22.4 KBytes
[SUM]   0.00-1.00   sec  1.22 MBytes  10.2 Mbits/sec    1
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   1.00-2.00   sec   620 KBytes  5.08 Mbits/sec    0   20.1 KBytes
[  7]   1.00-2.00   sec   600 KBytes  4.92 Mbits/sec    3   15.5 KBytes
[SUM]   1.00-2.00   sec  1.19 MBytes  10.0 Mbits/sec    3
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  1.23 MBytes  5.16 Mbits/sec    1             sender
[  5]   0.00-2.01   sec  1.20 MBytes  5.01 Mbits/sec                  receiver
[  7]   0.00-2.00   sec  1.18 MBytes  4.96 Mbits/sec    3             sender
[  7]   0.00-2.01   sec  1.16 MBytes  4.85 Mbits/sec                  receiver
[SUM]   0.00-2.00   sec  2.41 MBytes  10.1 Mbits/sec    4             sender
[SUM]   0.00-2.01   sec  2.36 MBytes  9.86 Mbits/sec                  receiver

iperf Done.
"""
IPERF2_TEXT = """------------------------------------------------------------
Client connecting to 10.77.0.2, TCP port 5001
TCP window size: 85.0 KByte (default)
------------------------------------------------------------
[  3] local 10.77.0.1 port 35100 connected with 10.77.0.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0- 1.0 sec   128 KBytes  1.05 Mbits/sec
[  3]  1.0- 2.0 sec  0.00 Bytes  0.00 bits/sec
[  3]  2.0- 3.0 sec   256 KBytes  2.10 Mbits/sec
[  3]  0.0- 3.0 sec   384 KBytes  1.05 Mbits/sec
"""
MM_LINK = """# mahimahi mm-link (uplink) [up.trace] > up.log
# command line: mm-link up.trace down.trace
# queue: infinite [mm-link default]
# init timestamp: 10
# base timestamp: 1795249751000
12 + 1504
20 # 1504
20 - 1504 8
31 # 1504
140 + 1504
141 + 1504
150 # 1504
150 - 1504 10
262 # 1504
262 - 1504 121
"""
MAP_CSV = """Date;Time;Technology;PCI;RSRP (dBm);SINR [dB];DL throughput (Mbps);Ping (ms)
03.11.2026;14:00:00.000;LTE;101;-88,5;12,5;61,20;24
03.11.2026;14:00:01.000;LTE;101;-91,0;11,0;58,75;25
03.11.2026;14:00:02.000;LTE;108;-109,5;2,5;4,10;97
03.11.2026;14:00:03.000;NR;311;-80;21;180,5;18
03.11.2026;14:00:04.000;NR;311;;20;n/a;19
"""


def flent_document(count: int = 20) -> dict[str, Any]:
    """A result file as Flent 2 writes it: an upload of two streams beside a ping."""
    axis = [round(0.2 * at, 1) for at in range(count)]
    rates = [[8.0 + 0.1 * at, None if at == 3 else 4.0] for at in range(count)]
    return {
        "metadata": {
            "DATA_FILENAME": "constructed.flent",
            "FLENT_VERSION": "2.1.1",
            "LENGTH": 4,
            "NAME": "tcp_nup",
            "SERIES_META": {
                "Ping (ms) ICMP": {"UNITS": "ms"},
                "TCP upload::1": {"UNITS": "Mbits/s"},
                "TCP upload::2": {"UNITS": "Mbits/s"},
            },
            "STEP_SIZE": 0.2,
            "T0": "2026-11-21T08:29:11.500000Z",
            "TITLE": "",
        },
        "results": {
            "Ping (ms) ICMP": [20.0 + at for at in range(count)],
            "TCP upload::1": [pair[0] for pair in rates],
            "TCP upload::2": [pair[1] for pair in rates],
            "TCP upload::1::tcp_rtt": [25.0 + at for at in range(count)],
            "TCP upload::1::tcp_cwnd": [10 + at for at in range(count)],
            "TCP upload::avg": [pair[0] for pair in rates],
        },
        "raw_values": {},
        "version": 4,
        "x_values": axis,
    }


def mahimahi_trace() -> str:
    """A trace of 12 Mbit/s for a second, nothing for half of one, and 6 Mbit/s for half of one."""
    times = [*range(1, 1001), *range(1500, 2001, 2)]
    return "".join(f"{t}\n" for t in times)


def lena_rsrp() -> str:
    """Two terminals every 100 ms; the first goes from cell 1 to cell 2 after 6 s, at its weakest."""
    lines = ["% time\tcellId\tIMSI\tRNTI\trsrp\tsinr\tComponentCarrierId"]
    for at in range(120):
        dbm = -100 + 0.5 * abs(60 - at)
        watt = 10 ** ((dbm - 30) / 10)
        cell = 1 if at < 60 else 2
        time, ratio = f"{0.1 * at + 0.000214285:.6g}", 10 ** ((dbm + 110) / 10)
        lines.append(f"{time}\t{cell}\t1\t1\t{watt:.6g}\t{ratio:.6g}\t0")
        lines.append(f"{time}\t1\t2\t2\t1e-11\t1000\t0")
    return "".join(f"{line}\n" for line in lines)


LENA_MAC = """% time\tcellId\tIMSI\tframe\tsframe\tRNTI\tmcsTb1\tsizeTb1\tmcsTb2\tsizeTb2\tccId
0.300\t1\t1\t31\t1\t1\t28\t2196\t0\t0\t0
0.301\t1\t1\t31\t2\t1\t26\t1992\t0\t0\t0
0.302\t1\t1\t31\t3\t1\t20\t1383\t0\t0\t0
"""


def oai_log() -> str:
    """Statistics every 1.28 s over the end of the frame numbers; the signal falls, repeats and BLER rise."""
    lines = ["[HW]   Reference samples per second 61440000"]
    blocks, repeats, sent = 1000, 10, 50_000
    for at in range(12):
        blocks, repeats, sent = blocks + 600 - 40 * at, repeats + 6 * at, sent + 800_000 - 60_000 * at
        lines += [
            f"[NR_MAC]   Frame.Slot {(512 + 128 * at) % 1024}.0",
            f"UE RNTI 3a5f CU-UE-ID 1 in-sync PH {40 - at} dB PCMAX 21 dBm, "
            f"average RSRP {-80 - at} (16 meas)",
            f"UE 3a5f: CQI {15 - at // 2}, RI 1, PMI (0,0)",
            f"UE 3a5f: dlsch_rounds {blocks}/{repeats}/1/0, dlsch_errors 0, pucch0_DTX 2, "
            f"BLER {0.01 * at:.5f} MCS (0) {27 - at}",
            f"UE 3a5f: ulsch_rounds {blocks // 2}/{repeats}/0/0, ulsch_errors 0, ulsch_DTX 1, "
            f"BLER {0.005 * at:.5f} MCS (0) 9 (Qm 4 deltaMCS 0 dB) NPRB 5  SNR {25.5 - at} dB",
            f"UE 3a5f: MAC:    TX {sent:14d} RX {sent // 20:14d} bytes",
            "UE 3a5f: LCID 1: TX            651 RX           3031 bytes",
        ]
    return "".join(f"{line}\n" for line in lines)


def amarisoft_log(seconds: int = 24) -> str:
    """Blocks every 100 ms past midnight; SNR falls, and blocks are damaged, until the cell changes."""
    lines = ["# lteenb version 2025-09-19, gcc 13.2.0", "# Log file format:"]
    lines += [
        "# time layer dir ue_id {cell_id rnti sfn channel:} message",
        "# Started on 2026-05-18 23:59:50",
    ]
    for at in range(seconds * 10):
        second = (86_390 + at // 10) % 86_400
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{at % 10}00"
        cell, far = (1, at) if at < 120 else (2, 0)
        bad = far % 10 < far // 24
        where = f"0001 {cell:02x} 4601 {at * 10 % 1024:5d}.3"
        lines += [
            f"{clock} [PHY] DL {where} PDSCH: harq=1 k1=4 prb=23:2 symb=1:13 CW0: "
            f"tb_len={2000 - 10 * far} mod=6 rv_idx=0 retx={int(bad)}",
            f"{clock} [PHY] UL {where} PUSCH: harq=3 prb=2:4 symb=0:13 CW0: tb_len=110 mod=2 rv_idx=0 retx=0 "
            f"crc={'KO' if bad else 'OK'} snr={26 - far / 10:.1f} epre=-35.6 ta=0.1",
            f"{clock} [MAC] UL 0001 {cell:02x} LCID:52 len=6 PAD:len=3",
        ]
        if at % 20 == 0:
            lines.append(
                f"{clock} [PHY] UL {where} PUCCH: format=2 prb=1 symb=12:2 csi=1 cqi={15 - far // 20} ri=1"
            )
        if at == 119:
            lines += [f"{clock} [RRC] DL 0001 01 DCCH-NR: RRC reconfiguration", "        {", "        }", ""]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write all samples."""
    sample = SAMPLES / "link-resets-vj"
    probes = kernel_logs.probes(sample / "tcp_probe.txt.gz")
    first, _ = kernel_logs.span_ns(probes)
    texts = {
        "tcpprobe/eleven-columns.txt": _head(kernel_logs.tcpprobe_lines(probes, first - 5_000_000)),
        "tcpprobe/jiffies.txt": _head(kernel_logs.tcpprobe_lines(probes, first - 5_000_000, 4000)),
        "siftr/siftr-1.2.2.log": _head(kernel_logs.siftr_lines(probes, WALL_NS)),
        "siftr/siftr-1.2.4.log": _head(kernel_logs.siftr_lines(probes, WALL_NS, "1.2.4")),
        "siftr/siftr-1.3.0.log": _head(kernel_logs.siftr_lines(probes, WALL_NS, "1.3.0")),
        "iperf3/sender.json": json.dumps(iperf3_document(), indent="\t") + "\n",
        "iperf3/stream.jsonl": iperf3_stream(),
        "tcpinfo/snapshots.jsonl": tcpinfo_lines(),
        "ndt7/download.json": json.dumps(ndt7_document()),
        "bcc/tcpretrans.txt": BCC,
        "bcc/tcpstates.csv": TCPSTATES,
        "ping/stamped.txt": PING,
        "ping/windows.txt": PING_WINDOWS,
        "iperf3-text/parallel.txt": IPERF3_TEXT,
        "iperf3-text/iperf2.txt": IPERF2_TEXT,
        "flent/upload.flent": json.dumps(flent_document(), sort_keys=True),
        "mahimahi/cellular.up": mahimahi_trace(),
        "mahimahi/mm-link.log": MM_LINK,
        "ns3-lena-phy/DlRsrpSinrStats.txt": lena_rsrp(),
        "ns3-lena-phy/DlMacStats.txt": LENA_MAC,
        "oai/gnb.log": oai_log(),
        "csv/values.csv": CSV_VALUES,
        "csv/states.csv": CSV_STATES,
        "csv/frames.csv": CSV_FRAMES,
    }
    (FOLDER / "amarisoft").mkdir(parents=True, exist_ok=True)
    (FOLDER / "amarisoft" / "gnb0.log.gz").write_bytes(gzip.compress(amarisoft_log().encode(), 9, mtime=0))
    for name, text in texts.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with TemporaryDirectory() as folder:
        made = call(Path(folder), seconds=8)
        (FOLDER / "gsmtap").mkdir(exist_ok=True)
        (FOLDER / "gsmtap" / "rlp.pcap").write_bytes(made.frames.read_bytes())
    (FOLDER / "wifi").mkdir(exist_ok=True)
    (FOLDER / "wifi" / "air.pcap").write_bytes(support_wifi.content(support_wifi.conversation()))
    lines = [hdlc.encode(0x21, bytes(range(at, at + 60)), opening_flag=True) for at in range(12)]
    records = [
        struct.pack(">BH", 1 + at % 2, len(line)) + line + b"\x06\x03" for at, line in enumerate(lines)
    ]
    (FOLDER / "pppd").mkdir(exist_ok=True)
    (FOLDER / "pppd" / "line.rec").write_bytes(struct.pack(">BI", 7, 1_795_249_751) + b"".join(records))


def _head(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:ROWS])


if __name__ == "__main__":
    main()
