"""FlightSize, pipe, bursts, limited transmit and ECN: conversations by hand, and the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support_conversation import CWR, ECE, SYN, Conversation
from support_measurement import ack, data, measurement

import multitracer as mt
from multitracer.model.analysis import Result
from multitracer.model.schema import ACK_KINDS

AE = 0x100
ADVANCE, DUPLICATE = ACK_KINDS.index("advance"), ACK_KINDS.index("duplicate")


def answer(rows: list[dict[str, Any]]) -> Result:
    rows = [{"sack_high": -1, "ack_kind": 0} | row for row in rows]
    result = mt.analyze(measurement(rows, rcv=None), only=["flight"]).results["flight"]
    assert result.inconclusive is None
    return result


def read(c: Conversation, path: Path) -> dict[str, Any]:
    (entry,) = mt.analyze(mt.read(c.write(path)), only=["flight"]).results["flight"].summary["connections"]
    return dict(entry)


def levels(result: Result) -> list[tuple[int, int]]:
    rows = result.tables["in_flight"]
    return list(zip(rows["flight"].tolist(), rows["pipe"].tolist(), strict=True))


def test_hole_leaves_the_pipe_and_comes_back_with_its_copy() -> None:
    """Five segments, the second lost: what RFC 6675 section 4 counts after each packet."""
    rows = [data(n, 1 + 60 * n) for n in range(5)]
    rows += [ack(100, 61), ack(101, 61, sack_high=181), ack(102, 61, sack_high=301)]
    rows += [data(103, 61), ack(203, 301)]
    expected = [(60, 60), (120, 120), (180, 180), (240, 240), (300, 300)]
    expected += [(240, 240), (240, 120), (240, 0), (240, 60), (0, 0)]
    assert levels(answer(rows)) == expected


def test_a_copy_that_is_sent_once_more_counts_once() -> None:
    rows = [data(n, 1 + 60 * n) for n in range(3)] + [ack(100, 1, sack_high=181)]
    rows += [data(101, 1), data(301, 1), ack(401, 181)]
    assert levels(answer(rows))[3:] == [(180, 0), (180, 60), (180, 60), (0, 0)]


def test_without_sack_duplicate_acks_count() -> None:
    """Each is a segment that arrived; the third tells that one is lost, which then comes back as a copy."""
    rows = [data(n, 1 + 60 * n) for n in range(5)] + [ack(100, 61, ack_kind=ADVANCE)]
    rows += [ack(101 + n, 61, ack_kind=DUPLICATE) for n in range(3)]
    rows += [data(104, 61), ack(204, 301, ack_kind=ADVANCE)]
    expected = [(240, 240), (240, 180), (240, 120), (240, 0), (240, 60), (0, 0)]
    assert levels(answer(rows))[5:] == expected


def test_partial_ack_leaves_what_arrived() -> None:
    """RFC 6582: two holes; the ACK for the first covers one segment that had arrived, of three."""
    rows = [data(n, 1 + 60 * n) for n in range(6)]
    rows += [ack(101 + n, 1, ack_kind=DUPLICATE) for n in range(4)]
    rows += [data(106, 1), ack(206, 121, ack_kind=ADVANCE)]
    assert levels(answer(rows))[9:] == [(360, 60), (360, 120), (240, 0)]


def test_timer_takes_all_for_lost() -> None:
    rows = [data(n, 1 + 60 * n) for n in range(4)]
    rows += [data(1000, 1, cause=1), ack(1100, 61), data(1100.1, 61, cause=3), data(1100.2, 121, cause=3)]
    rows += [ack(1200, 241)]
    assert levels(answer(rows))[3:] == [(240, 240), (240, 60), (180, 0), (180, 60), (180, 120), (0, 0)]


def test_mean_is_over_time() -> None:
    rows = [data(0, 1), ack(100, 61), data(1000, 61), ack(1100, 121)]
    (entry,) = answer(rows).summary["connections"]
    assert entry["flight"] == {"max_bytes": 60, "mean_bytes": round(60 * 200 / 1100)}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 20), st.sampled_from([0, 1, 2])),
        min_size=2,
        max_size=60,
    )
)
def test_pipe_is_never_more_than_flight(steps: list[tuple[bool, int, int, int]]) -> None:
    rows = [data(0, 1)]
    for number, (sent, at, more, cause) in enumerate(steps, 1):
        seq = 1 + 60 * at
        rows.append(
            data(10 * number, seq, cause=cause)
            if sent
            else ack(10 * number, seq, sack_high=seq + 60 * more if more else -1)
        )
    rows.append(ack(10 * len(steps) + 10, 1))
    found = levels(answer(rows))
    assert len(found) == len(rows)
    assert all(0 <= pipe <= flight for flight, pipe in found)


def test_burst_in_recovery(tmp_path: Path) -> None:
    c = Conversation()
    c.handshake()
    seq = c.warm_up()
    for i in range(8):
        c.data(3000 + i, seq + 1000 * i)
    c.ack(3100, seq, [(seq + 5000, seq + 8000)])
    for i in range(5):
        c.data(3100.1 + i / 10, seq + 1000 * i)
    c.ack(3201, seq + 8000)
    for i in range(8, 15):
        c.data(3201.1 + i / 10, seq + 1000 * i)
    c.ack(3310, seq + 15_000)
    bursts = read(c, tmp_path / "snd.pcap")["bursts"]
    assert (bursts["largest"]["segments"], bursts["largest"]["bytes"]) == (7, 7000)
    assert bursts["largest_in_recovery"]["segments"] == 5
    assert bursts["largest_in_recovery"]["t"] == 3.1


@pytest.mark.parametrize(("new", "expected"), [((True, True, False), 2), ((False, True, False), 1)])
def test_limited_transmit(new: tuple[bool, ...], expected: int, tmp_path: Path) -> None:
    c = Conversation(sack=False)
    c.handshake()
    seq = c.warm_up()
    for i in range(5):
        c.data(3000 + i, seq + 1000 * i)
    end = seq + 5000
    c.ack(3100, seq + 1000)
    for i, sends in enumerate(new):
        c.ack(3101 + i, seq + 1000)
        if sends:
            c.data(3101.1 + i, end)
            end += 1000
    c.data(3103.1, seq + 1000)
    c.data(3103.2, end)  # new data that the third duplicate ACK released: fast recovery, not limited transmit
    c.ack(3205, end + 1000)
    assert read(c, tmp_path / "snd.pcap")["limited_transmit"] == expected


def negotiation(asked: int, answered: int) -> Conversation:
    c = Conversation()
    c.segment(0, True, 0, None, SYN | asked & 0xFF)
    c.segment(100, False, 0, 1, SYN | answered & 0xFF)
    for number, extra in enumerate((asked, answered)):
        t_ms, packet = c.packets[number]
        if extra & AE:  # the ninth flag is in the byte before
            changed = bytearray(packet)
            changed[32] |= 1
            changed[36:38] = bytes(2)
            c.packets[number] = (t_ms, bytes(changed))
    c.segment(100, True, 1, 1)
    for i in range(4):
        c.data(200 + i, 1 + 1000 * i, ecn=2)
    for i in range(4):
        c.ack(300 + i, 1001 + 1000 * i, flags=ECE if 1 <= i < 3 else 0)
    c.data(304, 4001, flags=CWR)
    c.ack(404, 5001)
    return c


@pytest.mark.parametrize(
    ("asked", "answered", "agreed"),
    [
        (ECE | CWR, ECE, "classic"),
        (ECE | CWR, 0, "none"),
        (0, 0, "none"),
        (AE | ECE | CWR, CWR, "accurate"),
        (AE | ECE | CWR, AE, "accurate"),
        (AE | ECE | CWR, ECE, "classic"),
        (AE | ECE | CWR, AE | ECE | CWR, "none"),
    ],
)
def test_ecn_as_negotiated(asked: int, answered: int, agreed: str, tmp_path: Path) -> None:
    """RFC 3168 section 6.1.1; RFC 9768 section 3.1: a server that reflects all three bits understood none."""
    found = read(negotiation(asked, answered), tmp_path / "snd.pcap")["ecn"]
    assert found["negotiated"] == agreed
    counts = (found["echoes"], found["reductions"], found["without_loss"])
    assert counts == ((2, 1, 1) if agreed == "classic" else (None, None, None))


def test_reduction_during_recovery_is_for_the_loss(tmp_path: Path) -> None:
    c = Conversation()
    c.segment(0, True, 0, None, SYN | ECE | CWR, options=b"\x04\x02")
    c.segment(100, False, 0, 1, SYN | ECE, options=b"\x04\x02")
    c.segment(100, True, 1, 1)
    for i in range(5):
        c.data(200 + i, 1 + 1000 * i)
    c.ack(300, 1, [(1001, 5001)], flags=ECE)
    c.data(300.1, 1)
    c.data(300.2, 5001, flags=CWR)
    c.ack(400, 6001)
    found = read(c, tmp_path / "snd.pcap")["ecn"]
    assert (found["reductions"], found["without_loss"]) == (1, 0)


def test_samples(sample: Path) -> None:
    results = mt.analyze(mt.read(sample), only=["flight", "connections"]).results
    (entry,) = results["flight"].summary["connections"]
    (connection,) = results["connections"].summary["connections"]
    assert entry["flight"]["max_bytes"] == connection["max_flight_bytes"]
    assert entry["ecn"]["negotiated"] == "none"
    rows = results["flight"].tables["in_flight"]
    assert np.all(np.diff(rows["t_ns"]) >= 0)
    assert np.all((rows["pipe"] >= 0) & (rows["pipe"] <= rows["flight"]))
    assert rows["pipe"][-1] == rows["flight"][-1] == 0


def test_pipe_stays_within_the_kernels_congestion_window(sample: Path) -> None:
    """What Linux holds its own count of packets in the network to, at every sending; FlightSize is not."""
    m = mt.read(sample)
    found = mt.analyze(m, only=["flight"]).results["flight"].tables["in_flight"]
    sent = m.flow(0, m.connections[0].data_dir, m.snd)
    sent = sent.where(sent["length"] > 0)
    rows = found.where(np.isin(found["record"], sent["record"]))
    states = m.table("tcp_states")
    mine = (states["conn"] == 0) & (states["dir"] == m.connections[0].data_dir) & (states["cwnd"] > 0)
    states = states.where(mine).sorted_by("t_ns")
    at = np.searchsorted(states["t_ns"], rows["t_ns"], side="right")
    cwnd = np.maximum(states["cwnd"][np.maximum(at - 1, 0)], states["cwnd"][np.minimum(at, len(states) - 1)])
    size = int(np.median(sent["length"]))
    room = (cwnd + 2) * size  # a segment or two leave while the log is a step behind
    assert np.all(rows["pipe"] <= room)
    if sample.name == "local-drops":
        assert np.mean(rows["flight"] > room) > 0.05, "in recovery, flight counts what is lost or has arrived"


def test_without_the_senders_capture_it_is_not_answered(sample: Path) -> None:
    result = mt.analyze(mt.read(sample / "rcv.pcap"), only=["flight"]).results["flight"]
    assert "sender" in (result.inconclusive or "")
