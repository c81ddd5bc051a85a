from __future__ import annotations

from typing import Any

import pytest
from support_measurement import LinkLog, ack, data, measurement, table, timeouts

from multitracer.analyzers import flow_control, idle_phases, local_drops
from multitracer.api.measurement import Measurement
from multitracer.model import schema
from multitracer.model.analysis import Result

WIDE = 8000
Row = dict[str, Any]


def run(m: Measurement, **results: Result) -> dict[str, Any]:
    known = {"flow_control": flow_control.run(m, {}), **results}
    return idle_phases.run(m, known).summary


def two_packets(size: int = 100) -> LinkLog:
    """A packet in frames from 100 ms, the next from 510 ms; the link has nothing in between."""
    log = LinkLog()
    log.send(100, size)
    log.send(510, size)
    return log


def transfer(ack_ms: float = 499, window: int = WIDE) -> list[Row]:
    """60 bytes, an ACK, then the segment that ends the wait at 500 ms; all is acknowledged at 800 ms."""
    acks = [ack(50, 1, window), ack(ack_ms, 61, window), ack(800, 121, window)]
    return [*acks, data(99, 1), data(500, 61)]


def phases(summary: dict[str, Any]) -> list[tuple[float, float, str]]:
    t0 = 50  # the first segment is the zero of times
    return [
        (round(1e3 * phase["start"]) + t0, round(1e3 * phase["end"]) + t0, phase["cause"])
        for phase in summary["phases"]
    ]


def test_idle_begins_a_slot_after_the_last_frame_and_ends_with_the_next() -> None:
    found = run(measurement(transfer(), two_packets().text()))
    # 100 bytes are 5 frames, the last at 180 ms; the tail, 590 to 800 ms, waits for the last ACK only.
    assert phases(found) == [(200, 510, "handshake/slow_start"), (610, 800, "application")]
    assert found["idle_s"] == pytest.approx(0.310 + 0.190)
    assert found["phases"][0]["evidence"] == "short frame"


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (transfer(window=60), "receiver_window"),
        (transfer(window=WIDE), "handshake/slow_start"),
        (transfer(ack_ms=300), "application"),
        ([ack(50, 1), data(99, 1), data(500, 1), ack(800, 61)], "recovery_stall"),
    ],
)
def test_cause_is_read_off_what_ended_the_wait(rows: list[Row], cause: str) -> None:
    assert phases(run(measurement(rows, two_packets().text())))[0] == (200, 510, cause)


@pytest.mark.parametrize(
    ("cwnd", "notsent", "at_ms", "cause"),
    [
        (1, -1, 150, "handshake/slow_start"),
        (3, -1, 150, "application"),
        (1, -1, 600, "application"),
        (9, 500, 300, "pacing"),
        (9, 0, 300, "application"),
        (9, 500, 600, "application"),
    ],
)
def test_new_data_without_an_ack_is_no_pause_of_the_application_if_the_window_was_full(
    cwnd: int, notsent: int, at_ms: int, cause: str
) -> None:
    """As a tail loss probe sends it; the kernel's log decides, by what it had said before the phase."""
    m = measurement(transfer(ack_ms=700), two_packets().text())
    state = {"t_ns": round(at_ms * 1e6), "source": 0, "conn": 0, "dir": 0, "cwnd": cwnd, "mss": 60}
    m.tables["tcp_states"] = table(schema.TCP_STATES, [{**state, "notsent": notsent}])
    assert phases(run(m))[0] == (200, 510, cause)


def waiting_for_timer() -> list[Row]:
    return [ack(50, 1), data(99, 1), data(500, 1), ack(800, 61)]


def test_a_timeout_names_itself_its_verdict_and_the_reset_behind_it() -> None:
    log = two_packets()
    judged = timeouts([{"t_ms": 500, "verdict": "genuine"}])
    found = run(measurement(waiting_for_timer(), log.text()), timeouts=judged)
    assert found["phases"][0]["cause"] == "timeout_wait"
    assert found["phases"][0]["because"] == "timeout at 0.450 s of byte 1 (genuine)"

    log.line(185, "ms evt reset cause=n2 flush_tx=100 flush_rx=0").line(186, "ms snd SABM")
    log.line(385, "iwf evt reset cause=peer flush_tx=0 flush_rx=7").line(560, "iwf snd UA").line(
        400, "ms rcv UA"
    )
    found = run(measurement(waiting_for_timer(), log.text()), timeouts=judged)
    assert phases(found)[0] == (400, 510, "timeout_wait")  # the handshake is the link's fault
    assert found["phases"][0]["because"].endswith("after the link reset at 0.135 s")


def test_recovering_what_the_queue_dropped_is_a_local_drop() -> None:
    log = two_packets().line(100, "ms evt drop queue=if len=112")
    rows = [ack(50, 1), data(99, 1), data(500, 1), ack(800, 61)]
    arrived = [row | {"source": 1, "t_ms": row["t_ms"] + 200} for row in (rows[2],)]
    m = measurement(rows + arrived, log.text())
    dropped = local_drops.run(m, {})
    assert [drop["seq"] for drop in dropped.summary["drops"]] == [1]
    # The captures cannot tell the two copies apart but by their identification.
    assert dropped.summary["drops"][0]["recovered"] == pytest.approx(0.45)
    found = run(m, local_drops=dropped)
    assert found["phases"][0]["cause"] == "local_drop"


def test_without_capture_the_cause_is_unknown_but_idleness_is_not() -> None:
    found = run(measurement(None, two_packets().text()))
    assert [phase["cause"] for phase in found["phases"]] == ["unknown"]
    assert found["idle_s"] == pytest.approx(0.310)


def test_held_off_is_not_idle() -> None:
    log = two_packets().line(205, "ms rcv RNR").line(480, "ms rcv RR")
    found = run(measurement(transfer(), log.text()))
    assert phases(found)[0] == (
        480,
        510,
        "handshake/slow_start",
    )  # the 5 ms before XOFF are less than half a slot
    assert found["silence_s"]["xoff"] == pytest.approx(0.275)


def test_silence_with_data_in_the_buffer_is_not_idle() -> None:
    log = LinkLog()
    log.send(100, 96)  # four full frames: the buffer may hold more
    log.send(510, 40)
    rows = [ack(50, 1), data(99, 1), data(100, 61), ack(560, 121)]  # all handed over before the silence
    found = run(measurement(rows, log.text()))
    assert found["phases"] == []
    assert found["silence_s"]["other"] == pytest.approx(0.330)


def test_a_stream_that_ends_with_a_full_frame_is_idle_if_the_next_frame_follows_its_packet() -> None:
    found = run(measurement(transfer(), two_packets(size=96).text()))
    assert phases(found)[0] == (180, 510, "handshake/slow_start")
    assert found["phases"][0]["evidence"] == "next frame carried data sent after it"


def test_link_retransmissions_are_not_idle() -> None:
    log = two_packets()
    for number, t_ms in enumerate(range(200, 510, 20), 1):
        log.frame(t_ms, 0, 0, 24, attempt=number)
    found = run(measurement(transfer(), log.text()))
    assert phases(found) == [(610, 800, "application")]


def test_a_closed_link_window_is_not_idle() -> None:
    log = LinkLog("slot_ms=20 payload_bytes=24 window=5 t1_ms=620")
    log.send(100, 24, lost=True)
    log.send(120, 76)  # the fifth frame is short and fills the window; the first is still missing
    log.frame(300, 0, 0, 24, attempt=1)  # arrives at 480, known at 660
    log.send(700, 50)
    rows = [ack(50, 1), data(99, 1), ack(689, 61), data(690, 61), ack(900, 121)]
    found = run(measurement(rows, log.text()))
    assert phases(found)[0] == (660, 700, "handshake/slow_start")
    assert found["silence_s"]["link_window"] == pytest.approx(0.100 + 0.340)


def test_a_supervisory_frame_alone_in_its_slot_does_not_make_it_busy() -> None:
    log = two_packets().line(240, "ms snd RR nr=3").line(300, "ms snd SREJ nr=4")
    assert phases(run(measurement(transfer(), log.text())))[0] == (200, 510, "handshake/slow_start")


@pytest.mark.parametrize("answer", ["RR nr=5 pf=1 cr=0", "I ns=0 off=0 len=24 pf=1"])
def test_waiting_for_the_answer_to_a_poll_is_not_idle(answer: str) -> None:
    log = two_packets().line(260, "ms snd RR nr=1 pf=1 cr=1").line(320, "ms snd RR nr=1 pf=1 cr=1")
    log.line(300, "ms rcv RR nr=5 pf=1 cr=1").line(440, f"ms rcv {answer}")
    found = run(measurement(transfer(), log.text()))
    assert phases(found)[:2] == [(200, 260, "handshake/slow_start"), (440, 510, "handshake/slow_start")]
    assert found["silence_s"]["link_checkpoint"] == pytest.approx(0.180)


def test_a_flush_empties_the_buffer_even_after_full_frames() -> None:
    log = LinkLog()
    log.send(100, 96, lost=True)
    log.line(200, "ms evt reset cause=n2 flush_tx=500 flush_rx=0").line(201, "ms snd SABM")
    log.line(400, "iwf evt reset cause=peer flush_tx=0 flush_rx=0").line(600, "ms rcv UA")
    log.send(900, 40)
    rows = [ack(50, 1), data(98, 1), data(99, 61), data(895, 1), ack(1200, 61)]
    found = run(measurement(rows, log.text()), timeouts=timeouts([{"t_ms": 895}]))
    assert phases(found)[0] == (600, 900, "timeout_wait")
    assert found["phases"][0]["evidence"] == "buffer flushed"
    assert found["silence_s"]["reset"] == pytest.approx(0.4)


def test_a_frame_one_slot_late_is_within_the_tolerance() -> None:
    log = LinkLog()
    end = log.send(100, 100)
    log.send(end + 9, 100)
    rows = [ack(50, 1), data(99, 1), data(200, 61), ack(310, 121)]
    assert run(measurement(rows, log.text()))["phases"] == []


def test_shares_add_up() -> None:
    found = run(measurement(transfer(), two_packets().text()))
    assert sum(entry["share"] for entry in found["causes"].values()) == pytest.approx(1, abs=1e-5)
    assert sum(entry["s"] for entry in found["causes"].values()) == pytest.approx(found["idle_s"])
    parts = {name: value for name, value in found["silence_s"].items() if name != "total"}
    assert sum(parts.values()) == pytest.approx(found["silence_s"]["total"])


def test_only_the_transfer_counts() -> None:
    log = two_packets()
    log.send(5000, 30)  # something else, long after the last ACK
    assert phases(run(measurement(transfer(), log.text())))[-1] == (610, 800, "application")
