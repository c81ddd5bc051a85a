"""The unified event table: names, points, order, and that every row leads back to its record."""

from __future__ import annotations

import numpy as np
import pytest
from support_alignment import traces
from support_measurement import measurement, segments
from support_samples import SAMPLE_NAMES, SAMPLES

import multitracer as mt
from multitracer.api.measurement import align
from multitracer.layers.events import in_slices, sender_entity, unify
from multitracer.model import schema
from multitracer.model.table import Table

LOG = """# rlpdump 1 clock=realtime slot_ms=20 payload_bytes=24
0.010000 ms snd I ns=0 off=0 len=24
0.030000 ms snd I ns=1 off=24 len=10
0.050000 iwf rcv I ns=1 off=24 len=10
0.060000 iwf snd SREJ nr=0
0.070000 ms rcv SREJ nr=0
0.080000 ms snd I ns=0 off=0 len=24 try=1
0.100000 iwf rcv I ns=0 off=0 len=24
0.110000 iwf snd I ns=0 off=0 len=8
0.130000 ms rcv I ns=0 off=0 len=8
0.140000 iwf snd RNR nr=2
0.150000 ms rcv RNR nr=2
0.160000 iwf snd RR nr=2
0.170000 ms rcv RR nr=2
0.180000 ms evt reset cause=n2 flush_tx=70 flush_rx=0
0.190000 ms evt drop queue=if len=512
"""
ROWS = [
    {"t_ms": 0, "flags": 2, "seq": 0, "ack": -1},
    {"t_ms": 1, "length": 100},
    {"t_ms": 5, "length": 100, "source": 1},
    {"t_ms": 6, "dir": 1, "ack": 101, "source": 1},
    {"t_ms": 9, "dir": 1, "ack": 101},
    {"t_ms": 10, "length": 100},
]


def names_at(table: Table, milliseconds: int) -> list[str]:
    return list(table["name"][table["t_ns"] == milliseconds * 1_000_000])


def test_link_names_follow_the_data() -> None:
    m = measurement(segments(ROWS), LOG)
    assert m.entities[sender_entity(m) or 0] == "ms"
    table = unify(m)
    expected = {
        30: "RlpSnd_data", 50: "RlpRcv_data", 60: "RlpRcv_srej_sent", 70: "RlpSnd_srej", 80: "RlpSnd_rexmt",
        100: "RlpRcv_data", 110: "RlpRcv_ack", 130: "RlpSnd_ack", 140: "RlpRcv_xoff_sent", 150: "RlpSnd_xoff",
        160: "RlpRcv_xon_sent", 170: "RlpSnd_xon", 180: "RlpSnd_rst", 190: "RlpSnd_drop",
    }  # fmt: skip
    for at, name in expected.items():
        assert names_at(table, at) == [name]
    reset = table.where(table["name"] == "RlpSnd_rst")
    assert reset["value"].tolist() == [70.0]
    assert reset["point"].tolist() == ["ms"]
    again = table.where(table["name"] == "RlpSnd_rexmt")
    assert (again["seq"].tolist(), again["value"].tolist()) == ([0], [1.0])
    assert table.where(table["name"] == "RlpSnd_drop")["length"].tolist() == [512]


def test_a_reset_is_one_event_whoever_gave_up() -> None:
    """RlpSnd_rst is a reset of the link (Paper 4.5), as the figures draw and `link_resets` counts it."""
    analysis = mt.analyze(mt.read(SAMPLES / "link-resets-vj"))
    table = unify(analysis.measurement)
    m = analysis.measurement
    mine = table.where(table["name"] == "RlpSnd_rst")
    resets = analysis.results["link_resets"].summary["resets"]
    assert [round(m.seconds(int(t_ns)), 6) for t_ns in mine["t_ns"]] == [one["t"] for one in resets]
    assert not np.any(table["name"] == "RlpRcv_rst")


def test_tcp_names_follow_point_and_direction() -> None:
    table = unify(measurement(segments(ROWS)))
    assert [names_at(table, t) for t in (0, 1, 5, 6, 9, 10)] == [
        ["TcpSnd_control"], ["TcpSnd_data"], ["TcpRcv_data"], ["TcpRcv_ack"], ["TcpSnd_ack"], ["TcpSnd_data"],
    ]  # fmt: skip
    kinds = table.words("kind")[table["name"] == "TcpSnd_data"]
    assert kinds.tolist() == ["data", "retransmission"]
    ack = table.where(table["name"] == "TcpSnd_ack")
    assert (ack["seq"].tolist(), ack["value"].tolist()) == ([101], [8000.0])


def test_nothing_makes_an_empty_table() -> None:
    table = unify(measurement())
    assert len(table) == 0
    assert table.schema is schema.EVENTS
    assert sender_entity(measurement()) is None


@pytest.mark.parametrize("sample", SAMPLE_NAMES)
def test_samples(sample: str) -> None:
    m = align(traces(sample))
    table = m.events_table()
    assert m.events_table() is table
    assert (np.diff(table["t_ns"]) >= 0).all()
    wanted = {
        "TcpSnd_data", "TcpSnd_ack", "TcpRcv_data", "TcpRcv_ack", "TcpSnd_cwnd", "TcpSnd_srtt", "TcpSnd_rto",
        "TcpSnd_rwnd", "RlpSnd_data", "RlpSnd_rexmt", "RlpRcv_data", "RlpRcv_ack",
    }  # fmt: skip
    assert wanted <= set(table["name"].tolist())
    parts = segments_of = m.table("segments")
    for source, side in ((m.snd, "Snd"), (m.rcv, "Rcv")):
        own = segments_of.where((parts["source"] == source) & (parts["dir"] == 0) & (parts["length"] > 0))
        events = table.where(table["name"] == f"Tcp{side}_data")
        assert np.array_equal(events["seq"], own["seq"])
        assert np.array_equal(events["record"], own["record"])
        assert np.array_equal(events["t_ns"], own["t_ns"])
    frames = m.table("link_frames")
    named = np.char.startswith(table["name"].astype(str), "Rlp") & (table["seq"] >= 0)
    assert named.sum() == (frames["offset"] >= 0).sum()
    srtt = table["value"][table["name"] == "TcpSnd_srtt"]
    assert 0.1 < np.median(srtt) < 30  # seconds
    cwnd = table["value"][table["name"] == "TcpSnd_cwnd"]
    assert cwnd.min() >= 1
    assert set(table["point"].tolist()) == {"snd", "rcv", "ms", "iwf"}


def test_frame_is_pandas() -> None:
    frame = align(traces("flow-control")).events
    assert list(frame.columns) == [column.name for column in schema.EVENTS.columns]
    assert frame["layer"].cat.categories.tolist() == list(schema.EVENT_LAYERS)


@pytest.mark.parametrize("name", SAMPLE_NAMES)
@pytest.mark.parametrize("rows", [pytest.param(37, marks=pytest.mark.slow), 5_000, 10**9])
def test_slices_put_together_are_the_whole(name: str, rows: int) -> None:
    m = mt.read(SAMPLES / name)
    whole = unify(m)
    last = int(whole["t_ns"][-1])
    for low, high in ((-(2**62), 2**62), (m.t0_ns + 10**9, last)):
        parts = list(in_slices(m, rows, low, high))
        wanted = whole.where((whole["t_ns"] >= low) & (whole["t_ns"] < high))
        together = Table.concat(schema.EVENTS, parts)
        assert len(together) == len(wanted)
        for column in schema.EVENTS.by_name:
            assert np.array_equal(
                together[column], wanted[column], equal_nan=wanted[column].dtype.kind == "f"
            )
        assert rows > len(wanted) or len(parts) > 1
