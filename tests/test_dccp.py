"""DCCP: captures, dccp_probe logs, the throughput equation, and what is told of a connection."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_dccp import ACK, DATA, PORTS, REQUEST, RESPONSE, capture, packet, report

import multitracer as mt
from multitracer import _core
from multitracer.analyzers import _tfrc as tfrc
from multitracer.cli.main import main
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace

T0_S = 1_700_000_000.0
SIZE = 1400
LOST = 40
OFFSET_S = 3.25


def transfer() -> tuple[list[tuple[float, bytes]], list[tuple[float, bytes]]]:
    """What both ends see: a queue that grows by 5 ms a packet, a lost packet, its report, 1 ms each way."""
    sender = [(0.0, packet(REQUEST, 99)), (0.002, packet(RESPONSE, 499, 99, back=True))]
    receiver = [(0.001, sender[0][1]), (0.001, sender[1][1])]
    sender.append((0.0021, packet(ACK, 100, 499)))
    receiver.append((0.0031, sender[2][1]))
    for number in range(60):
        sent = 0.01 + 0.01 * number
        data = packet(DATA, 101 + number, data=SIZE)
        sender.append((sent, data))
        if number == LOST:
            continue
        arrives = sent + 0.001 + 0.005 * number
        said = report(
            500 + number,
            101 + number,
            rate_bytes=70_000,
            interval=50 if number > LOST else 0,
            elapsed_us=100,
        )
        receiver += [(arrives, data), (arrives + 0.0001, said)]
        sender.append((arrives + 0.0011, said))
    return sorted(sender), sorted(receiver)


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, Path]:
    sender, receiver = transfer()
    return (
        capture(tmp_path / "a.pcap", sender, T0_S),
        capture(tmp_path / "b.pcap", receiver, T0_S + OFFSET_S),
    )


def test_x_calc_of_the_published_example() -> None:
    # s = 1400 bytes, p = 0.2 %, R = 400 ms: 753 kbit/s
    x = tfrc.throughput_bps(1400, 0.4, 0.002)
    assert x is not None
    assert round(x / 1e3) == 753
    assert tfrc.throughput_bps(1400, 0.4, 0.0) is None
    assert tfrc.throughput_bps(1400, 0.0, 0.1) is None


def test_types_have_the_numbers_of_the_core() -> None:
    assert tuple(_core.DCCP_TYPES) == schema.DCCP_TYPES


def test_both_captures_come_onto_one_clock(captures: tuple[Path, Path]) -> None:
    m = mt.read(*captures)
    assert [source.format for source in m.sources] == ["dccp", "dccp"]
    assert [source.point for source in m.sources] == ["snd", "rcv"]
    clock = m.clocks[1]
    assert clock.method == "hull"
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + OFFSET_S * 1e9) <= clock.uncertainty_ns <= 1_100_000


def test_what_the_sender_saw(captures: tuple[Path, Path]) -> None:
    result = mt.analyze(mt.read(captures[0]))["dccp"].summary["connections"]
    assert len(result) == 1
    one = result[0]
    assert one["from"] == ["10.0.0.1", PORTS[0]]
    assert (one["data_packets"], one["data_bytes"], one["missing"]) == (60, 60 * SIZE, 0)
    assert one["rtt"]["min_s"] == pytest.approx(0.002, abs=1e-6)
    assert one["rtt"]["max_s"] == pytest.approx(0.002 + 59 * 0.005, abs=1e-6)
    assert one["loss_event_rate"] == pytest.approx(1 / 50)
    # 70 kB/s serve a packet in 20 ms; the longest round trip was 295 ms above the shortest
    assert one["queue_packets"] == pytest.approx(14.75, abs=0.1)
    # the round trip doubled with packet 1; the packet after the lost one brings the first report of a loss
    doubled = 0.01 + 0.01 + 0.001 + 0.005 + 0.0011
    told = 0.01 + 0.01 * (LOST + 1) + 0.001 + 0.005 * (LOST + 1) + 0.0011
    assert one["late_notice_s"] == pytest.approx(told - doubled, abs=1e-6)
    assert one["x_calc"]["bps"] == pytest.approx(
        tfrc.throughput_bps(SIZE, one["rtt"]["median_s"], 1 / 50), rel=1e-6
    )


def test_the_receiver_misses_what_was_lost(captures: tuple[Path, Path]) -> None:
    assert mt.analyze(mt.read(captures[1]))["dccp"].summary["connections"][0]["missing"] == 1


def test_a_measurement_without_dccp_is_not_asked(samples: Path) -> None:
    m = mt.read(samples / "flow-control")
    assert "dccp" not in mt.analyze(m).results
    assert mt.analyze(m, only=["dccp"])["dccp"].inconclusive == "needs a capture of DCCP"


def test_the_command_line_tells_it(captures: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", *map(str, captures)]) == 0
    shown = capsys.readouterr().out
    assert "DCCP 10.0.0.1:40000 -> 10.0.0.2:5001" in shown
    assert "about 15 packets at the largest RTT" in shown


def test_a_probe_log(tmp_path: Path) -> None:
    log = tmp_path / "dccpprobe.log"
    log.write_text(
        "0.000100 10.0.0.1:5001 10.0.0.2:33 1400\n"
        "not a line of it\n"
        "0.250000 10.0.0.1:5001 10.0.0.2:33 1400 1400 400000 2000 94125 90000 94125 14873\n"
    )
    trace = mt.open_trace(log)
    states = trace.tables["dccp_states"]
    assert (trace.source.format, trace.source.clock, len(states)) == ("dccpprobe", "unknown", 2)
    assert [issue.code for issue in trace.issues] == ["unparsed-line"]
    assert np.isnan(states["loss_event_rate"][0])
    assert states["loss_event_rate"][1] == pytest.approx(0.002)
    assert (states["rtt_ns"][1], states["x_calc_bps"][1], states["interval_ns"][1]) == (
        400_000_000,
        94125 * 8,
        14_873_000,
    )
    # what the kernel computed is what the equation gives
    assert tfrc.throughput_bps(1400, 0.4, 0.002) == pytest.approx(94125 * 8, rel=1e-3)


@given(st.binary(max_size=300), st.integers(0, 2**16))
def test_any_payload_is_data_or_an_issue(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int
) -> None:
    whole = bytearray(report(500, 101, rate_bytes=1, interval=9))
    place = 20 + at % (len(whole) - 20)
    whole[place:] = junk
    first = packet(REQUEST, 1)
    path = capture(tmp_path_factory.mktemp("junk") / "j.pcap", [(1.0, first), (2.0, bytes(whole))])
    trace = mt.open_trace(path, format="dccp")
    assert 1 <= len(trace.tables["dccp_packets"]) <= 2


def test_a_capture_without_any_is_refused(samples: Path) -> None:
    with pytest.raises(CorruptTrace, match="no DCCP packet"):
        mt.open_trace(samples / "flow-control" / "snd.pcap", format="dccp")


@pytest.mark.skipif(which("tshark") is None, reason="tshark is not installed")
def test_numbers_equal_tshark(captures: tuple[Path, Path], shared: Path) -> None:
    for path in (captures[0], shared / "samples" / "pcap" / "dccp_partial_csum_v4_longer.pcap"):
        fields = ("frame.number", "dccp.seq_raw", "dccp.type")
        told = subprocess.run(
            ["tshark", "-r", str(path), "-Y", "dccp", "-T", "fields", *(f"-e{name}" for name in fields)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [tuple(map(int, line.split("\t"))) for line in told.stdout.splitlines()]
        packets = mt.open_trace(path).tables["dccp_packets"].sorted_by("record")
        ours = zip(packets["record"].tolist(), packets["seq"].tolist(), packets["kind"].tolist(), strict=True)
        assert list(ours) == rows
