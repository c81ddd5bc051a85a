"""The lab's cellular bearer: its capture says what its log and its truth say, and Wireshark reads it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_lab import SECOND, tcp
from support_rlc import record, tshark

import multitracer as mt
from multitracer.lab.models import build_link
from multitracer.model.errors import UsageError
from multitracer.model.table import Array, Table
from multitracer.model.trace import Trace

LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.05, "p_good_to_bad": 0.02, "loss_bad": 0.7}
COLUMNS = ("t_ns", "entity", "action", "ns", "offset", "length", "duplicate", "poll")


def packets(count: int = 60, step_ns: int = SECOND // 8) -> list[tuple[int, int, bytes]]:
    """Segments up, acknowledgements of other sizes down."""
    found = []
    for at in range(count):
        found.append((at * step_ns, 0, tcp(1 + at * 400, 1, bytes([at % 256]) * 400, ip_id=at)))
        found.append((at * step_ns + 7, 1, tcp(1, 1 + at * 400, b"y" * (at % 3), ip_id=at, ports=(80, 1025))))
    return found


def rows(table: Table, action: str) -> dict[str, Array]:
    picked = table.where(table["action"] == table.code("action", action))
    order = np.lexsort((picked["offset"], picked["entity"], picked["t_ns"]))
    names = (*COLUMNS, "attempt") if action == "snd" else COLUMNS
    return {name: picked[name][order] for name in names}


def resets(trace: Trace) -> list[tuple[str, str]]:
    events = trace.tables["link_events"]
    places = np.flatnonzero(events["kind"] == events.code("kind", "reset"))
    return [(trace.entities[events["entity"][at]], str(events.words("cause")[at])) for at in places]


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 4]),
    st.sampled_from([0, 25]),
    st.sampled_from([40, 333, 3000]),
    st.sampled_from([64, 600]),
)
def test_the_capture_tells_what_the_log_tells(
    seed: int, places: int, jitter_ms: int, payload_bytes: int, window: int
) -> None:
    chosen = {
        "pdus_per_tti": places,
        "harq_jitter_ms": jitter_ms,
        "payload_bytes": payload_bytes,
        "window": window,
        "max_retransmissions": 1000,
        "air": LOSSY,
    }
    with TemporaryDirectory() as folder:
        outcome, log, capture = record(Path(folder), chosen, packets(30), seed)
        told, seen = mt.open_trace(log), mt.open_trace(capture)
    assert seen.source.format == "rlc"
    assert seen.entities == told.entities == ["ue", "bs"]
    for action in ("snd", "rcv"):
        expected, found = (rows(trace.tables["link_frames"], action) for trace in (told, seen))
        # Numbers of the log have twelve bits.
        bits = seen.source.details["sn_bits"]
        expected["ns"] = expected["ns"] % (1 << min(bits, 12))
        found["ns"] = found["ns"] % (1 << min(bits, 12))
        for name, values in expected.items():
            assert np.array_equal(found[name], values), (action, name)
    signals = [
        sorted(
            zip(
                trace.tables["link_events"]["t_ns"].tolist(),
                trace.tables["link_events"].words("kind"),
                strict=True,
            )
        )
        for trace in (told, seen)
    ]
    assert signals[0] == signals[1]
    again = outcome.link.truth.counts.get("link_retransmissions", [0, 0])
    frames = seen.tables["link_frames"]
    assert [int(np.count_nonzero((frames["entity"] == e) & (frames["attempt"] > 0))) for e in (0, 1)] == again
    assert not seen.issues


def test_tcp_in_the_clear_is_a_source_of_its_own(tmp_path: Path) -> None:
    outcome, _, capture = record(tmp_path, {"air": LOSSY}, packets())
    (inside,) = mt.open_trace(capture).others
    assert inside.source.tcp_segments == len(outcome.sent[0]) + len(outcome.sent[1]) == 120
    assert {connection["endpoints"][0] for connection in inside.connections} == {
        ("10.0.0.1", 1025),
        ("10.0.0.1", 80),
    }
    sent = inside.tables["segments"].where(inside.tables["segments"]["length"] == 400)
    assert np.array_equal(np.diff(sent["seq"]), np.full(59, 400))
    # Each lies in the stream behind its PDCP header of two bytes.
    assert inside.places is not None
    places = inside.places[inside.tables["segments"]["length"] == 400]
    assert np.array_equal(places, 2 + np.arange(60) * (440 + 2))


def test_a_packet_that_a_handover_sends_again_is_one_packet(tmp_path: Path) -> None:
    outcome, _, capture = record(tmp_path, {"handover_at_s": [2.0, 5.0]}, packets())
    (inside,) = mt.open_trace(capture).others
    assert inside.source.tcp_segments == sum(map(len, outcome.sent)) == 120
    assert not np.any(inside.tables["retransmissions"]["length"] == 400)


@pytest.mark.parametrize("forwards", [True, False])
def test_a_handover_is_a_reset_with_a_gap(tmp_path: Path, forwards: bool) -> None:
    chosen = {"handover_at_s": [2.0, 5.0], "handover_ms": 300, "handover_forwards": forwards, "air": LOSSY}
    outcome, log, capture = record(tmp_path, chosen, packets())
    truth = outcome.link.truth
    begun = [e["t_ns"] for e in truth.events if e["what"] == "reset" and e["cause"] == "handover"]
    over = [e["t_ns"] for e in truth.events if e["what"] == "handover_end"]
    assert [end - begin for begin, end in zip(begun, over, strict=True)] == [300_000_000] * 2
    for trace in (mt.open_trace(log), mt.open_trace(capture)):
        # By time: the log has both lines at the begin of the gap.
        assert sorted(resets(trace)) == [("bs", "handover")] * 2 + [("ue", "peer")] * 2
        times = trace.tables["link_frames"]["t_ns"]
        assert not any(
            np.any((times > begin) & (times < end)) for begin, end in zip(begun, over, strict=True)
        )
    events = mt.open_trace(capture).tables["link_events"]
    told = events["t_ns"][events.words("cause") == "handover"]
    assert np.all((told <= begun) & (np.array(begun) - told < 150_000_000))
    for side in (0, 1):
        got, lost = outcome.received(side), truth.counts.get("packets_lost", [0, 0])[side]
        assert got == outcome.sent[side] if forwards else lost > 0
        assert len(got) + lost == len(outcome.sent[side])


def test_a_reestablishment_is_a_message_on_common_control(tmp_path: Path) -> None:
    lost = list(range(200, 1600))
    chosen = {"max_retransmissions": 3, "window": 64, "air_up": {"kind": "list", "lost_slots": lost}}
    outcome, _, capture = record(tmp_path, chosen, packets(90))
    causes = [(e["side"], e["cause"]) for e in outcome.link.truth.events if e["what"] == "reset"]
    assert causes == [(0, "n2"), (1, "peer")]
    assert resets(mt.open_trace(capture)) == [("ue", "reestablishment"), ("bs", "peer")]


def test_counts_equal_tshark(tmp_path: Path) -> None:
    chosen = {"air": LOSSY, "handover_at_s": [3.0], "window": 600, "payload_bytes": 2500}
    _, _, capture = record(tmp_path, chosen, packets())
    trace = mt.open_trace(capture)
    frames, events = trace.tables["link_frames"], trace.tables["link_events"]
    fields = ("frame.number", "rlc-lte.am.fixed.sn", "rlc-lte.am.data", "rlc-lte.am.nack-sn", "_ws.malformed")
    told = tshark(capture, *fields, display="rlc-lte")
    assert not any(row[4] for row in told)
    numbers = {int(row[0]): int(row[1]) for row in told if row[1]}
    assert numbers == dict(zip(frames["record"].tolist(), frames["ns"].tolist(), strict=True))
    nacks = sum(len(row[3].split(",")) for row in told if row[3])
    assert nacks == int(np.count_nonzero(events["kind"] == events.code("kind", "SREJ"))) > 0


@pytest.mark.parametrize("chosen", [{"handover_at_s": [1.0, 1.05]}, {"handover_at_s": [-1.0]}])
def test_handovers_that_make_no_sense(chosen: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="handover_at_s"):
        build_link({"model": "rlc_am", **chosen}, 1)
