"""Time of data in the layers of a host, out of made packets and calls, and of a real recording."""

from __future__ import annotations

import numpy as np
import pytest
from support_host import events
from support_samples import SAMPLES

import multitracer as mt
from multitracer.cli.host import lines
from multitracer.layers.host import calls
from multitracer.layers.host.waiting import LAYERS, waiting
from multitracer.model import schema
from multitracer.model.table import Table
from multitracer.report.host_tables import host_tables

MS = 1_000_000


def data(*rows: tuple[int, int, dict[str, int]]) -> tuple[Table, Table]:
    """Packets joined to segments: ``(first byte, bytes, times in ms)``."""
    names = ("queue_ns", "enqueue_ns", "dequeue_ns", "start_ns", "receive_ns", "drop_ns")
    columns: dict[str, list[int]] = {
        name: [row[2].get(name[:-3], -1) * (MS if row[2].get(name[:-3], -1) >= 0 else 1) for row in rows]
        for name in names
    }
    columns |= {
        "t_ns": [min(row[2].values()) * MS for row in rows],
        "way": [int("receive" in row[2]) for row in rows],
        "seq": [row[0] for row in rows],
        "capture": list(range(len(rows))),
        "conn": [0] * len(rows),
        "dir": [0] * len(rows),
    }
    segments = Table.filled(schema.SEGMENTS, len(rows), {"length": [row[1] for row in rows]})
    return Table.filled(schema.HOST_PACKETS, len(rows), columns), segments


def joined(log: Table) -> Table:
    found = calls.calls(log)
    return found.replace(conn=np.zeros(len(found), dtype=np.int32), dir=np.zeros(len(found), dtype=np.int8))


def of(packets: Table, segments: Table, log: Table, begun: bool = True) -> dict:
    return waiting(packets, segments, log, joined(log), lambda _conn, _dir: begun)


WRITES = events(
    ("sendmsg", 0, 0, {"length": 3000}),
    ("sendmsg", 40_000, 0, {"length": 1000}),
    ("send", 50_000, -1, {"length": 3000, "value": 0}),
    ("send", 60_000, -1, {"length": 500, "value": 0}),
)


def test_copies_of_a_write_are_those_of_its_parts() -> None:
    found = calls.copies(WRITES, joined(WRITES))
    assert found["place"].tolist() == [0, 2000, 3000]
    assert (found["t_ns"] // MS).tolist() == [0, 40, 60]


def test_the_send_buffer_counts_from_the_copy_and_new_data_only() -> None:
    packets, segments = data(
        (1, 1000, {"queue": 10, "enqueue": 10, "dequeue": 30, "start": 31}),
        (2001, 1000, {"queue": 45, "start": 46}),
        (1, 1000, {"queue": 48, "start": 50}),
        (3001, 500, {"queue": 70, "enqueue": 70, "start": 90}),
        (3501, 500, {"queue": 70, "start": 70, "drop": 71}),
    )
    found = of(packets, segments, WRITES)
    assert found["send_buffer"]["packets"] == 3
    assert found["send_buffer"]["total_s"] == pytest.approx(0.010 + 0.005 + 0.010)
    assert (found["qdisc"]["packets"], found["qdisc"]["unknown"]) == (3, 1)
    assert found["qdisc"]["total_s"] == pytest.approx(0.020)
    assert found["device"]["total_s"] == pytest.approx(0.001 + 0.001 + 0.002 + 0.020)
    assert sum(found[layer]["share"] or 0 for layer in LAYERS) == pytest.approx(1, abs=1e-5)
    assert found["receive_queue"] == {
        "packets": 0,
        "unknown": 0,
        "share": None,
        **dict.fromkeys(("total_s", "median_s", "p95_s", "max_s")),
    }


def test_the_receive_queue_ends_with_the_read() -> None:
    log = events(
        ("recv", 20_000, -1, {"length": 1000, "value": 0}),
        ("recv", 90_000, -1, {"length": 1000, "value": 0}),
    )
    packets, segments = data(
        (1, 1000, {"receive": 15}),
        (1001, 1000, {"receive": 30}),
        (1, 1000, {"receive": 40}),
        (2001, 1000, {"receive": 95}),
    )
    found = of(packets, segments, log)["receive_queue"]
    assert (found["packets"], found["unknown"], found["share"]) == (2, 1, 1.0)
    assert (found["total_s"], found["max_s"]) == (0.065, 0.06)


def test_without_the_first_byte_it_is_unknown() -> None:
    packets, segments = data((1, 1000, {"queue": 10, "start": 11}))
    found = of(packets, segments, WRITES, begun=False)["send_buffer"]
    assert (found["packets"], found["unknown"], found["share"]) == (0, 1, None)


def test_a_real_recording() -> None:
    """All of a queue of 30 ms at 20 Mbit/s, behind 400 kB in the socket."""
    summary = mt.analyze(mt.read(SAMPLES / "host-queue"), only=["host"]).results["host"].summary
    found = summary["waiting"]
    assert found["qdisc"]["median_s"] == pytest.approx(summary["qdisc"]["median_s"], rel=0.01)
    assert found["send_buffer"]["max_s"] < 0.4
    assert "of all waiting" in str(host_tables(summary))
    assert "in the send buffer" in dict(lines(summary))["Data waited"]
