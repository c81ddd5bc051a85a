"""A small transfer written by hand: one timeout, one reset, one XOFF interval, one ruined segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.api.measurement import Measurement
from multitracer.model import schema
from multitracer.model.analysis import Result
from multitracer.model.table import Table
from multitracer.model.timeline import Clock, Connection
from multitracer.model.trace import Source, Trace

T0 = 1_700_000_000_000_000_000
MSS = 500
SND, RCV, LINK, KERNEL = range(4)


def seconds(values: Any) -> Any:
    return T0 + np.round(np.asarray(values, dtype=float) * 1e9).astype(np.int64)


def segments(source: int, delay: float) -> Table:
    """Twenty segments, one a second; number 10 is sent again at 15.5 s; ACKs stop at it."""
    sent = np.append(np.arange(20.0), 15.5)
    seq = np.append(1 + MSS * np.arange(20), 1 + MSS * 10)
    code = schema.SEGMENTS.code
    again = np.arange(21) == 20
    data = Table.filled(
        schema.SEGMENTS,
        21,
        {
            "t_ns": seconds(sent + delay),
            "source": np.full(21, source),
            "record": np.arange(1, 22),
            "conn": np.zeros(21),
            "seq": seq,
            "length": np.full(21, MSS),
            "duplicate": np.where(again, MSS, 0),
            "transmission": np.where(again, 2, 1),
            "cause": np.where(again, code("cause", "timeout"), 0),
            "checksum": np.where((source == RCV) & (np.arange(21) == 10), code("checksum", "bad"), 0),
        },
    )
    acked = np.where(np.arange(20) < 10, 1 + MSS * (np.arange(20) + 1), 1 + MSS * 10)
    acks = Table.filled(
        schema.SEGMENTS,
        20,
        {
            "t_ns": seconds(np.arange(20) + 0.4),
            "source": np.full(20, source),
            "record": np.arange(30, 50),
            "conn": np.zeros(20),
            "dir": np.ones(20),
            "ack": acked,
            "window": np.where(np.arange(20) == 5, 0, 4000),
        },
    )
    return Table.concat(schema.SEGMENTS, [data, acks])


def link_tables() -> dict[str, Table]:
    code = schema.LINK_EVENTS.code
    n = 600
    frames = {
        "t_ns": seconds(np.append(np.arange(n) * 0.03, 9.0)),
        "source": np.full(n + 1, LINK),
        "record": np.arange(2, n + 3),
        "entity": np.zeros(n + 1),
        "action": np.zeros(n + 1),
        "offset": np.append(1000 + 24 * np.arange(n), 1000 + 24 * 290),
        "length": np.full(n + 1, 24),
        "attempt": np.append(np.zeros(n), 1),
    }
    kinds = [code("kind", word) for word in ("RNR", "RR", "reset", "reset", "drop")]
    events = {
        "t_ns": seconds([4.0, 5.5, 12.0, 13.0, 3.2]),
        "source": np.full(5, LINK),
        "record": np.arange(700, 705),
        "entity": [0, 0, 1, 0, 0],
        "action": [code("action", word) for word in ("rcv", "rcv", "evt", "evt", "evt")],
        "kind": kinds,
        "cause": [0, 0, code("cause", "n2"), code("cause", "peer"), 0],
        "length": [-1, -1, -1, -1, 540],
    }
    return {
        "link_frames": Table.filled(schema.LINK_FRAMES, n + 1, frames),
        "link_events": Table.filled(schema.LINK_EVENTS, 5, events),
    }


def states() -> Table:
    given = {
        "t_ns": seconds(np.arange(0, 20, 2)),
        "source": np.full(10, KERNEL),
        "record": np.arange(1, 11),
        "conn": np.zeros(10),
        "cwnd": np.arange(2, 12),
        "ssthresh": np.where(np.arange(10) < 5, -1, 4),
        "mss": np.full(10, MSS),
    }
    return Table.filled(schema.TCP_STATES, 10, given)


def measurement(*layers: str) -> Measurement:
    """A measurement with the layers named ("snd", "rcv", "link", "kernel"); all of them by default."""
    wanted = layers or ("snd", "rcv", "link", "kernel")
    captures = [segments(i, d) for i, d in ((SND, 0.0), (RCV, 0.2)) if ("snd", "rcv")[i] in wanted]
    tables = {"segments": Table.concat(schema.SEGMENTS, captures)}
    if "link" in wanted:
        tables |= link_tables()
    if "kernel" in wanted:
        tables["tcp_states"] = states()
    sources = [
        Source("snd.pcap", "pcap", "tcp", clock="realtime", point="snd"),
        Source("rcv.pcap", "pcap", "tcp", clock="realtime", point="rcv"),
        Source("rlp.log", "rlpdump", "link", clock="realtime", point="ms+iwf"),
        Source("probe.txt", "ftrace", "kernel"),
    ]
    connection = Connection(0, (("192.0.2.1", 1024), ("2001:db8::1", 80)), 0, {})
    return Measurement(
        [Trace(source) for source in sources],
        [Clock(i, None if i == 0 else 0, 0, 0.0, 0, "as-stamped", "exact") for i in range(4)],
        [connection] if captures else [],
        ["ms", "iwf"],
        tables,
        SND if "snd" in wanted else None,
        RCV if "rcv" in wanted else None,
        T0,
    )


def results() -> dict[str, Result]:
    """What the analyses would say of it."""
    timeout = {
        "t_ns": seconds([15.5]),
        "source": [SND],
        "record": [21],
        "conn": [0],
        "seq": [1 + MSS * 10],
        "length": [MSS],
        "backoff": [1],
        "silence_ns": [500_000_000],
        "link": [schema.VOTES.index("genuine")],
        "verdict": [schema.VERDICTS.index("genuine")],
    }
    rows = Table.filled(schema.TIMEOUTS, 1, timeout)
    reset = {
        "t": 12.0,
        "end": 13.0,
        "entity": "iwf",
        "cause": "n2",
        "gap_start": 10.4,
        "gap_end": 15.9,
        "gap_s": 5.5,
    }
    phases = [
        {"start": 0.0, "end": 0.5, "cause": "handshake"},
        {"start": 13.0, "end": 15.5, "cause": "timeout_wait"},
        {"start": 16.0, "end": 16.5, "cause": "timeout_wait"},
    ]
    return {
        "timeouts": Result("timeouts", {}, {"timeouts": rows}),
        "link_resets": Result("link_resets", {"resets": [reset]}),
        "flow_control": Result("flow_control", {"intervals": [{"start": 4.0, "end": 5.5}]}),
        "idle_phases": Result("idle_phases", {"phases": phases}),
        "utilization": Result("utilization", {"value": 0.625}),
        "connections": Result(
            "connections",
            {
                "connections": [
                    {
                        "index": 0,
                        "bytes": {"unique": 10_000},
                        "packets": {"data": 21},
                        "data_s": 19.4,
                        "goodput_bps": 4_123.7,
                        "retransmissions": {"total": 1, "inferred": 0},
                    }
                ]
            },
        ),
    }
