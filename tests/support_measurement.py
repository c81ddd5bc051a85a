"""Measurements for the tests of analyzers: built by hand, or from the sample files by dpkt and a regex.

Nothing of the package's own readers or clocks is used, so that results are held against an independent path.
All sources of the samples share one real-time clock.
"""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest

from multitracer.api.measurement import Measurement
from multitracer.model import schema
from multitracer.model.analysis import Result
from multitracer.model.schema import Schema
from multitracer.model.table import Table
from multitracer.model.timeline import Clock, Connection
from multitracer.model.trace import Source, Trace

SAMPLES = ("flow-control", "link-resets-sack", "link-resets-vj", "local-drops", "spurious-timeouts")
MS = 1_000_000
ACTION = {"snd": 0, "rcv": 1, "evt": 2}
KIND = {word: code for code, word in enumerate(schema.LINK_KINDS)}
CAUSE = {word: code for code, word in enumerate(schema.RESET_CAUSES)}
ENDPOINTS = (("10.0.0.1", 4000), ("10.0.0.2", 5001))


def table(columns: Schema, rows: list[dict[str, Any]]) -> Table:
    """A table from rows that name only what matters."""
    given = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    return Table.filled(columns, len(rows), given)


def segments(rows: list[dict[str, Any]]) -> Table:
    """Segments in time order; `t_ms` in milliseconds, `source` 0 unless given, duplicates counted here."""
    full = []
    covered: dict[tuple[int, int], set[int]] = {}
    for number, row in enumerate(sorted(rows, key=lambda row: row["t_ms"]), 1):
        base: dict[str, Any] = {
            "source": 0, "record": number, "conn": 0, "dir": 0, "seq": 1, "ack": 1, "length": 0,
            "flags": 0x10, "window": 8000, "checksum": 1, "ip_id": number, "cause": 0, "transmission": 0,
        }  # fmt: skip
        base |= {name: value for name, value in row.items() if name != "t_ms"}
        base["t_ns"] = round(row["t_ms"] * MS)
        base.setdefault("ip_length", base["length"] + 52)
        seen = covered.setdefault((base["source"], base["dir"]), set())
        span = set(range(base["seq"], base["seq"] + base["length"]))
        base["duplicate"] = len(span & seen)
        seen |= span
        full.append(base)
    return table(schema.SEGMENTS, full)


def link(log: str) -> tuple[Table, Table, list[str], dict[str, Any]]:
    """Frames, events, entities and header settings of an rlpdump text."""
    frames: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    entities: list[str] = []
    details: dict[str, Any] = {}
    for number, line in enumerate(log.splitlines(), 1):
        line = line.strip()
        if line.startswith("#"):
            details |= {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
            continue
        if not line:
            continue
        stamp, entity, action, kind, *rest = line.split()
        whole, _, part = stamp.partition(".")
        if entity not in entities:
            entities.append(entity)
        keys = dict(word.split("=") for word in rest)
        base = {
            "t_ns": int(whole) * 10**9 + int((part + "0" * 9)[:9]),
            "source": 2,
            "record": number,
            "entity": entities.index(entity),
            "action": ACTION[action],
        }
        if kind == "I":
            frames.append(
                base
                | {
                    "ns": int(keys["ns"]), "offset": int(keys.get("off", -1)),
                    "length": int(keys.get("len", -1)),
                    "attempt": int(keys.get("try", 0)), "duplicate": int(keys.get("dup", 0)),
                    "nr": int(keys.get("nr", -1)), "poll": int(keys.get("pf", 0)),
                }
            )  # fmt: skip
        else:
            events.append(
                base
                | {
                    "kind": KIND.get(kind, 0), "cause": CAUSE[keys.get("cause", "")],
                    "flush_tx": int(keys.get("flush_tx", -1)), "flush_rx": int(keys.get("flush_rx", -1)),
                    "length": int(keys.get("len", -1)),
                    "poll": 0 if keys.get("pf", "0") == "0" else 2 if keys.get("cr") == "0" else 1,
                }
            )  # fmt: skip
    return (
        table(schema.LINK_FRAMES, frames).sorted_by("t_ns"),
        table(schema.LINK_EVENTS, events).sorted_by("t_ns"),
        entities,
        details,
    )


class LinkLog:
    """Writes an rlpdump by hand: frames of 24 bytes every 20 ms from `ms` to `iwf`, 180 ms under way."""

    def __init__(self, settings: str = "slot_ms=20 payload_bytes=24 window=31 t1_ms=620") -> None:
        self.header = f"# rlpdump 1 clock=realtime {settings}"
        self.lines: list[tuple[float, str]] = []
        self.offset = 0
        self.ns = 0

    def send(self, t_ms: float, size: int, lost: bool = False) -> float:
        """Send bytes first time, one frame a slot; returns the time of the next slot."""
        while size > 0:
            length = min(size, 24)
            self.frame(t_ms, self.ns, self.offset, length, lost=lost)
            self.offset, self.ns, size = self.offset + length, (self.ns + 1) % 64, size - length
            t_ms += 20
        return t_ms

    def frame(
        self, t_ms: float, ns: int, offset: int, length: int, attempt: int = 0, lost: bool = False
    ) -> None:
        again = f" try={attempt}" if attempt else ""
        self.line(t_ms, f"ms snd I ns={ns} off={offset} len={length}{again}")
        if not lost:
            self.line(t_ms + 180, f"iwf rcv I ns={ns} off={offset} len={length}")

    def line(self, t_ms: float, words: str) -> LinkLog:
        self.lines.append((t_ms, words))
        return self

    def text(self) -> str:
        rows = [f"{t_ms / 1e3:.6f} {words}" for t_ms, words in sorted(self.lines, key=lambda row: row[0])]
        return "\n".join([self.header, *rows])


def data(t_ms: float, seq: int, length: int = 60, **more: Any) -> dict[str, Any]:
    """A data segment at the sender's capture."""
    return {"t_ms": t_ms, "seq": seq, "length": length, "ack": 1} | more


def ack(t_ms: float, number: int, window: int = 8000, **more: Any) -> dict[str, Any]:
    """An ACK at the sender's capture."""
    return {"t_ms": t_ms, "dir": 1, "seq": 1, "ack": number, "window": window} | more


def measurement(
    rows: list[dict[str, Any]] | Table | None = None, log: str = "", snd: int | None = 0, rcv: int | None = 1
) -> Measurement:
    """A measurement of one connection with captures 0 (sender) and 1 (receiver) and link log 2."""
    segs = rows if isinstance(rows, Table) else segments(rows or [])
    frames, events, entities, details = link(log)
    if not len(segs):
        snd = rcv = None
    traces = [
        Trace(Source("snd.pcap", "pcap", "tcp", point="snd")),
        Trace(Source("rcv.pcap", "pcap", "tcp", point="rcv")),
        Trace(Source("rlp.log", "rlpdump", "link", point="+".join(entities), details=details)),
    ]
    tables = {"segments": segs, "link_frames": frames, "link_events": events}
    first = segs["t_ns"] if len(segs) else frames["t_ns"]
    return Measurement(
        traces=traces,
        clocks=[Clock(i, None if i == 0 else 0, 0, 0.0, 0, "as-stamped", "exact") for i in range(3)],
        connections=[Connection(0, ENDPOINTS, 0, {})] if len(segs) else [],
        entities=entities,
        tables=tables,
        snd=snd,
        rcv=rcv,
        t0_ns=int(first.min()) if len(first) else 0,
    )


def timeouts(rows: list[dict[str, Any]]) -> Result:
    """The result of the timeouts analyzer; rows give t_ms, seq, verdict and silence_ms."""
    full = [
        {
            "t_ns": row.get("t_ns", round(row["t_ms"] * MS)), "source": 0, "record": row.get("record", 1),
            "conn": 0, "dir": 0, "seq": row.get("seq", 1), "length": 460, "backoff": row.get("backoff", 0),
            "silence_ns": round(row.get("silence_ms", 1000) * MS),
            "verdict": schema.VERDICTS.index(row.get("verdict", "genuine")),
        }
        for row in rows
    ]  # fmt: skip
    return Result("timeouts", {}, {"timeouts": table(schema.TIMEOUTS, full)})


def sample_folder(name: str) -> Path:
    """Folder of a sample, in the checkout or under MULTITRACER_SHARED; skips the test if it is nowhere."""
    places = [Path(__file__).parents[1] / "sample_traces"]
    if "MULTITRACER_SHARED" in os.environ:
        places.append(Path(os.environ["MULTITRACER_SHARED"]) / "traces")
    for place in places:
        if (place / name / "snd.pcap").exists():
            return place / name
    pytest.skip(f"sample {name} not in sample_traces/ and MULTITRACER_SHARED not set")


def sample(name: str) -> Measurement:
    """A sample measurement, read without the package's own readers."""
    folder = sample_folder(name)
    rows = _capture(folder / "snd.pcap", 0) + _capture(folder / "rcv.pcap", 1)
    log = gzip.decompress((folder / "rlp.log.gz").read_bytes()).decode()
    rows.sort(key=lambda row: row["t_ns"])
    return measurement(table(schema.SEGMENTS, rows), log)


def sample_timeouts(name: str, m: Measurement) -> Result:
    """Timeouts as the sending kernel logged them: its congestion state became Loss.

    The log has its own clock; the connection attempt (SYN_SENT) and the SYN in the capture are one event.
    """
    text = gzip.decompress((sample_folder(name) / "tcp_probe.txt.gz").read_bytes()).decode()
    start = re.search(r"([\d.]+): inet_sock_set_state.*newstate=TCP_SYN_SENT", text)
    port = re.search(r"sport=(\d+) dport=\d+.*newstate=TCP_ESTABLISHED", text)
    assert start
    assert port
    losses = re.findall(rf"([\d.]+): tcp_cong_state_set: .*sport={port[1]} .*cong_state=4", text)
    segs = m.table("segments")
    sent = segs.where((segs["source"] == 0) & (segs["dir"] == 0) & (segs["length"] > 0))
    rows = []
    for loss in losses:
        t_ns = m.t0_ns + round((float(loss) - float(start[1])) * 1e9)
        at = int(np.argmin(np.abs(sent["t_ns"] - t_ns) + (sent["duplicate"] == 0) * 10**12))
        assert abs(int(sent["t_ns"][at]) - t_ns) < 20 * MS
        rows.append(
            {
                "t_ms": 0, "t_ns": int(sent["t_ns"][at]), "seq": int(sent["seq"][at]),
                "record": int(sent["record"][at]),
                "silence_ms": int(sent["t_ns"][at] - sent["t_ns"][at - 1]) / MS,
            }
        )  # fmt: skip
    return timeouts(rows)


def _capture(path: Path, source: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    client: tuple[bytes, int] | None = None
    isn: dict[int, int] = {}
    seen: dict[int, dict[int, int]] = {0: {}, 1: {}}
    with path.open("rb") as handle:
        for number, (stamp, packet) in enumerate(dpkt.pcap.Reader(handle), 1):
            ip = dpkt.ip.IP(packet)
            tcp = ip.data
            if client is None:
                client = (ip.src, tcp.sport)
            direction = 0 if (ip.src, tcp.sport) == client else 1
            isn.setdefault(direction, tcp.seq if tcp.flags & 2 else tcp.seq - 1)
            isn.setdefault(1 - direction, tcp.ack - 1 if tcp.flags & 16 else -1)
            if tcp.flags & 2:
                isn[direction] = tcp.seq
            seq = (tcp.seq - isn[direction]) % 2**32
            ack = (tcp.ack - isn[1 - direction]) % 2**32 if tcp.flags & 16 else -1
            length = ip.len - ip.hl * 4 - tcp.off * 4
            counts = seen[direction]
            again = sum(1 for byte in range(seq, seq + length) if byte in counts)
            for byte in range(seq, seq + length):
                counts[byte] = counts.get(byte, 0) + 1
            rows.append(
                {
                    "t_ns": round(float(stamp) * 1e6) * 1000, "source": source, "record": number, "conn": 0,
                    "dir": direction, "seq": seq, "ack": ack, "length": length, "flags": tcp.flags,
                    "window": tcp.win, "duplicate": again, "transmission": counts.get(seq, 0),
                    "checksum": 1 if _checksum_good(ip, tcp, length) else 2, "ip_length": ip.len,
                    "ip_id": ip.id, "seq_raw": tcp.seq, "ack_raw": tcp.ack,
                }
            )  # fmt: skip
    return rows


def _checksum_good(ip: dpkt.ip.IP, tcp: dpkt.tcp.TCP, length: int) -> bool:
    body = bytes(tcp)[: tcp.off * 4 + length]
    pseudo = dpkt.struct.pack(">4s4sxBH", ip.src, ip.dst, 6, len(body))
    return bool(dpkt.in_cksum(pseudo + body) == 0)
