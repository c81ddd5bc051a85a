"""One small file of every format that the registry knows: constructed ones, and some of the measurements."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

from support_dccp import ACK, DATA, REQUEST, RESPONSE, capture, packet
from support_modem import Pdu, binary
from support_rlc import download, record
from support_samples import SAMPLES

FORMATS = Path(__file__).parent / "data" / "formats"
MEASURED = SAMPLES / "link-resets-sack"
HEAD_LINES = 4_000
_AIR = {"kind": "gilbert_elliott", "loss_good": 0.03, "p_good_to_bad": 0.01, "loss_bad": 0.8}
_SRSRAN = """\
2023-03-15T18:29:25.100000 [GNB     ] [I] Built in Release mode
2023-03-15T18:29:25.100001 [RLC     ] [I] du=0 ue=0 DRB1 DL: TX PDU. dc=data p=0 si=full sn=4095 pdu_len=102
2023-03-15T18:29:25.101000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. pdu_size=52 dc=data p=0 si=first sn=0 so=0
2023-03-15T18:29:25.102000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data p=1 si=last sn=0 so=50 pdu_len=44
2023-03-15T18:29:25.103000 [RLC     ] [I] ue=0 DRB1 UL: RX status PDU. ack_sn=1 n_nack=2 nack=[4095][0 50:89]
2023-03-15T18:29:25.105000 [RLC     ] [I] ue=0 DRB1 UL: RX PDU. pdu_len=42 dc=data p=1 si=full sn=7 so=0
"""
_DCCPPROBE = """\
0.000100 10.0.0.1:5001 10.0.0.2:33 1400
0.250000 10.0.0.1:5001 10.0.0.2:33 1400 1400 400000 2000 94125 90000 94125 14873
"""


def as_pcapng(pcap: bytes) -> bytes:
    """The same packets in a pcapng file of one interface; `pcap` is little-endian, in microseconds."""
    magic, _, _, _, _, snap, link = struct.unpack_from("<IHHiIII", pcap)
    ticks = {0xA1B2C3D4: 6, 0xA1B23C4D: 9}[magic]

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    options = struct.pack("<HHB3xHH", 9, 1, ticks, 0, 0)
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", link, 0, snap) + options),
    ]
    at = 24
    while at + 16 <= len(pcap):
        seconds, rest, size, length = struct.unpack_from("<IIII", pcap, at)
        t = seconds * 10**ticks + rest
        head = struct.pack("<IIIII", 0, t >> 32, t & 0xFFFFFFFF, size, length)
        parts.append(block(6, head + pcap[at + 16 : at + 16 + size]))
        at += 16 + size
    return b"".join(parts)


def _lines(folder: Path, name: str) -> Path:
    """The first lines of a log of a measurement, as a file of their own."""
    path = folder / name.removesuffix(".gz")
    with gzip.open(MEASURED / name, "rb") as log:
        path.write_bytes(b"".join(line for _, line in zip(range(HEAD_LINES), log, strict=False)))
    return path


def _dccp(folder: Path) -> Path:
    packets = [
        (0.0, packet(REQUEST, 99)),
        (0.002, packet(RESPONSE, 499, 99, back=True)),
        (0.0021, packet(ACK, 100, 499)),
    ]
    packets += [(0.01 + 0.01 * at, packet(DATA, 101 + at, data=1400)) for at in range(40)]
    return capture(folder / "dccp.pcap", packets, 1_700_000_000.0)


def _phone(folder: Path) -> Path:
    path = folder / "phone.mi2log"
    start = 1_700_000_000_000_000_000
    pdus = [Pdu(start + at * 10_000_000, at % 2 == 0, at, 80, poll=at % 5 == 0) for at in range(30)]
    path.write_bytes(binary(pdus))
    return path


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def samples(folder: Path) -> Iterator[tuple[str, Path]]:
    """Format and file, at least one of every format; what has to be made is made in `folder`."""
    for path in sorted(FORMATS.rglob("*")):
        if path.is_file():
            yield path.parent.name, path
    yield "pcap", MEASURED / "snd.pcap"
    yield "pcapng", _written(folder / "snd.pcapng", as_pcapng((MEASURED / "snd.pcap").read_bytes()))
    yield "ftrace", _lines(folder, "tcp_probe.txt.gz")
    yield "ss", _lines(folder, "ss.log.gz")
    yield "counters", SAMPLES / "host-queue" / "counters.log.gz"
    yield "rlpdump", _lines(folder, "rlp.log.gz")
    bearer = folder / "bearer"
    bearer.mkdir()
    yield (
        "rlc",
        record(
            bearer,
            {"air": {"kind": "gilbert_elliott", "loss_good": 0.03, "p_good_to_bad": 0.01, "loss_bad": 0.8}},
            download(1),
        )[2],
    )
    yield "srsran", _written(folder / "gnb.log", _SRSRAN.encode())
    yield "mobileinsight", _phone(folder)
    yield "dccp", _dccp(folder)
    yield "dccpprobe", _written(folder / "probe.log", _DCCPPROBE.encode())
