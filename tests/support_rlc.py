"""Captures of LTE and NR PDUs: of the lab's bearer in simulation, and of tshark's view of them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_lab import SECOND, Outcome, run, tcp
from support_samples import PATIENCE_S

from multitracer.lab.link import RawFrame
from multitracer.lab.rlc_pdus import PduWriter

MS = 1_000_000
# The lab's capture and those of others, as Wireshark takes them.
TSHARK = (
    "-o",
    'uat:user_dlts:"User 0 (DLT=147)","mac-lte-framed","0","","0",""',
    "-o",
    'uat:user_dlts:"User 2 (DLT=149)","udp","0","","0",""',
    *(
        word
        for name in ("mac_lte", "mac_nr", "rlc_lte", "rlc_nr")
        for word in ("--enable-heuristic", f"{name}_udp")
    ),
)


def record(
    folder: Path,
    settings: dict[str, Any],
    packets: list[tuple[int, int, bytes]],
    seed: int = 1,
    kept: list[RawFrame] | None = None,
) -> tuple[Outcome, Path, Path]:
    """Run the lab's bearer: the outcome, its log and its capture; frames are added to `kept`."""
    outcome = run({"model": "rlc_am", "capture": True, **settings}, packets, seed)
    log, capture = folder / "rlp.log", folder / "rlc.pcapng"
    log.write_text("\n".join([outcome.link.log_header(), *outcome.log]) + "\n", encoding="utf-8")
    with PduWriter(str(capture)) as writer:
        for frame in outcome.link.drain_frames():
            if kept is not None:
                kept.append(frame)
            writer.write(frame.t_ns, frame.side, frame.data)
    return outcome, log, capture


def download(seed: int) -> list[tuple[int, int, bytes]]:
    """Data down at uneven times, and small acknowledgements up, nearly as close as transmission intervals."""
    rng = np.random.default_rng(seed)
    found, down, up = [], SECOND, SECOND + 60 * MS
    for at in range(150):
        down += int(rng.integers(4 * MS, 16 * MS))
        up = max(up + int(rng.integers(5 * MS, 15 * MS)), down + 400 * MS)
        found.append((down, 1, tcp(1 + at * 900, 1, bytes([at]) * 900, ip_id=at)))
        ack = tcp(1, 1 + at * 900, ip_id=at, ports=(80, 1025), options=b"\1\1\1\0")
        found.append((up, 0, ack[:12] + ack[16:20] + ack[12:16] + ack[20:]))
    return sorted(found, key=lambda one: one[0])


def raw_pcap(packets: list[tuple[int, bytes]], shift_ns: int, link_type: int = 101) -> bytes:
    """A capture, of IP packets unless another link type is told."""
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)]
    for t_ns, data in sorted(packets, key=lambda one: one[0]):
        seconds, rest = divmod(t_ns + shift_ns, SECOND)
        records.append(struct.pack("<IIII", seconds, rest, len(data), len(data)) + data)
    return b"".join(records)


def tshark(path: Path, *fields: str, display: str = "", options: tuple[str, ...] = ()) -> list[list[str]]:
    """Fields of the packets that a display filter picks; `options`: preferences besides."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    words = ["tshark", "-r", str(path), *TSHARK, "-T", "fields", *(f"-e{name}" for name in fields)]
    words += [word for option in options for word in ("-o", option)]
    words += ["-Y", display] if display else []
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    return [line.split("\t") for line in told.splitlines()]


def pcap(link_type: int, records: list[bytes]) -> bytes:
    """A capture with a record every millisecond."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    return header + b"".join(
        struct.pack("<IIII", at // 1000, at % 1000 * 1000, len(data), len(data)) + data
        for at, data in enumerate(records)
    )


def in_udp(payload: bytes) -> bytes:
    """A record of link type 149."""
    return struct.pack(">HHHH", 9999, 9999, 8 + len(payload), 0) + payload
