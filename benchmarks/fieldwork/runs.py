"""A run of the lab in memory: what was captured at each point, and what truly happened to each packet."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldwork.packets import File, Packet, load, packets
from fieldwork.wire import Arrival, Direction, arrivals, directions

POINTS = ("snd", "mid", "rcv")
Json = dict[str, Any]


@dataclass
class Run:
    """A run's captures and truth in memory."""

    path: Path
    truth: Json
    files: dict[str, File]
    captures: dict[str, list[Packet]]
    found: dict[Any, Direction]
    arrivals: dict[str, list[Arrival]]
    resent: dict[str, set[int]]


def read_run(path: Path) -> Run:
    """Read ``truth.json`` and all captures of a run's folder."""
    files = {point: load(path / f"{point}.pcap.gz") for point in POINTS}
    captures = {point: packets(file) for point, file in files.items()}
    found = directions(captures)
    return Run(
        path,
        json.loads((path / "truth.json").read_text()),
        files,
        captures,
        found,
        {point: arrivals(capture, found) for point, capture in captures.items()},
        {point: _retransmissions(capture, found) for point, capture in captures.items()},
    )


def _retransmissions(capture: Sequence[Packet], found: Mapping[Any, Direction]) -> set[int]:
    """Records that hold a retransmission, in order or not."""
    return {
        packet.record
        for packet in capture
        if packet.key in found
        and any(
            sent.retransmission
            for identity, *_ in found[packet.key].parts(packet)
            if (sent := found[packet.key].sent.get(identity))
        )
    }


def ends(run: Run, direction: Direction) -> tuple[str, str]:
    """Names of the captures where a direction begins and ends."""
    times = {
        point: min((p.t_ns for p in run.captures[point] if p.key == direction.key), default=1 << 62)
        for point in ("snd", "rcv")
    }
    return ("snd", "rcv") if times["snd"] <= times["rcv"] else ("rcv", "snd")


def key_of(connection: Json, run: Run) -> Any:
    """The direction of a connection's data among those found."""
    both = []
    for text in connection["endpoints"]:
        host, _, port = text.rpartition(":")
        both.append((socket.inet_aton(host), int(port)))
    key = (both[0], both[1]) if connection.get("data_direction") != "reverse" else (both[1], both[0])
    return key if key in run.found else None


def server_port(connection: Json, run: Run) -> int:
    """The server's port of a connection."""
    ports = {int(text.rpartition(":")[2]) for text in connection["endpoints"]}
    return next((flow["port"] for flow in run.truth["flows"] if flow["port"] in ports), 0)
