"""Writes tests/data/formats: a small constructed sample of each format, out of the repository's measurements.

Run it (``python tests/support_format_samples.py``) only when a sample has to change.
"""

from __future__ import annotations

import base64
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
        "csv/values.csv": CSV_VALUES,
        "csv/states.csv": CSV_STATES,
        "csv/frames.csv": CSV_FRAMES,
    }
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
