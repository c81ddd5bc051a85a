"""ns-3: the ascii trace of a run against the captures of the same run, line by line and in its answers."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.api.measurement import Measurement
from multitracer.model.errors import CorruptTrace

DATA = Path(__file__).parent / "data"
ALL = DATA / "formats" / "ns3-ascii" / "all.tr.gz"
CAPTURES = DATA / "ns3"
STEP_NS = 100_000  # six digits of times of 10 s and more
EXACT = ("seq", "ack", "length", "flags", "window", "ip_id", "ip_length", "ts_val", "ts_ecr", "sack_high")


@pytest.fixture(scope="module")
def ascii_trace() -> Measurement:
    return mt.read(ALL)


@pytest.fixture(scope="module")
def captures() -> dict[str, Measurement]:
    return {host: mt.read(CAPTURES / f"{host}.pcap.gz") for host in ("h0", "h1", "h4")}


def connection(m: Measurement, sender: str) -> tuple[int, dict[int, dict[str, Any]]]:
    """The connection whose data come from an address."""
    (found,) = [one for one in m.connections if one.endpoints[one.data_dir][0] == sender]
    return found.index, found.summaries


# The view of the ascii trace, the capture at the same host, and who sends the data
SAME = [
    ("snd", "h0", "10.1.0.1"),
    ("rcv", "h4", "10.1.0.1"),
    ("snd", "h4", "10.1.3.2"),
    ("rcv", "h1", "10.1.3.2"),
]


@pytest.mark.parametrize(("view", "host", "sender"), SAME)
def test_segments_are_those_of_the_capture(
    ascii_trace: Measurement, captures: dict[str, Measurement], view: str, host: str, sender: str
) -> None:
    source = ascii_trace.snd if view == "snd" else ascii_trace.rcv
    ours, theirs = ascii_trace.table("segments"), captures[host].table("segments")
    ours = ours.where(
        (ours["source"] == source) & (ours["conn"] == connection(ascii_trace, sender)[0])
    ).sorted_by("record")
    theirs = theirs.where(theirs["conn"] == connection(captures[host], sender)[0]).sorted_by("record")
    assert len(ours) == len(theirs) > 100
    assert np.abs(ours["t_ns"] - theirs["t_ns"]).max() <= STEP_NS // 2
    for name in EXACT:
        assert np.array_equal(ours[name], theirs[name]), name


def _near(ours: Any, theirs: Any, name: str) -> None:
    """The same but for times, which are a step apart at most, and what is worked out of them."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), name
        for key, value in ours.items():
            _near(value, theirs[key], key if not name.endswith("_ms") else name)
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), name
        for one, other in zip(ours, theirs, strict=True):
            _near(one, other, name)
    elif isinstance(ours, float):
        # Of a share of a time, both of its ends may be a step away, and what it is a part of.
        step = STEP_NS / 1e6 if name.endswith("_ms") else 3 * STEP_NS / 1e9
        assert ours == pytest.approx(theirs, rel=1e-4, abs=step), name
    else:
        assert ours == theirs, name


@pytest.mark.parametrize(("view", "host", "sender"), SAME)
def test_connections_are_those_of_the_capture(
    ascii_trace: Measurement, captures: dict[str, Measurement], view: str, host: str, sender: str
) -> None:
    source = ascii_trace.snd if view == "snd" else ascii_trace.rcv
    assert source is not None
    ours = connection(ascii_trace, sender)[1][source]
    (theirs,) = connection(captures[host], sender)[1].values()
    assert ours.keys() == theirs.keys()
    for name in ("first_ns", "last_ns"):
        assert abs(ours[name] - theirs[name]) <= STEP_NS // 2
    assert {name: ours[name] for name in ("endpoints", "handshake", "isn", "base")} == {
        name: theirs[name] for name in ("endpoints", "handshake", "isn", "base")
    }
    for direction in ("forward", "reverse"):
        for name, value in ours[direction].items():
            told = theirs[direction][name]
            if name == "rtt":
                assert (value is None) == (told is None)
                assert value is None or value["samples"] == told["samples"]
                assert value is None or abs(value["mean_ns"] - told["mean_ns"]) <= STEP_NS
            elif name == "path":
                _near(json.loads(value), json.loads(told), name)
            elif name == "loss_records":
                assert len(value) == len(told), name  # lines of the one, packets of the other
            elif name.endswith("_ns"):
                assert value == told or abs(value - told) <= STEP_NS // 2, name
            else:
                assert value == told, name


def test_one_run_gives_one_analysis(ascii_trace: Measurement, captures: dict[str, Measurement]) -> None:
    by_sender = {}
    for m in (ascii_trace, captures["h0"], captures["h4"]):
        for one in mt.analyze(m).to_dict()["connections"]:
            by_sender.setdefault(one["endpoints"][0], []).append(one)
    ours, theirs, *_ = by_sender["10.1.0.1:49153"]
    server, same, *_ = by_sender["10.1.3.2:49153"]
    assert theirs["source"].endswith("h0.pcap.gz")
    assert same["source"].endswith("h4.pcap.gz")
    for a, b in ((ours, theirs), (server, same)):
        for name in ("bytes", "retransmissions", "data_direction", "endpoints"):
            assert a[name] == b[name], name
        assert a["timeouts"]["total"] == b["timeouts"]["total"]
        assert a["rtt_ms"]["mean"] == pytest.approx(b["rtt_ms"]["mean"], abs=STEP_NS / 1e6)
        assert a["throughput_bps"] == pytest.approx(b["throughput_bps"], rel=1e-4)
    assert server["timeouts"]["total"] > 0
    assert ours["retransmissions"]["fast"] > 0


def test_drops_are_in_the_trace_with_their_place(ascii_trace: Measurement) -> None:
    lines = gzip.decompress(ALL.read_bytes()).decode().splitlines()
    dropped = {number for number, line in enumerate(lines, 1) if line.startswith("d ")}
    events = ascii_trace.table("link_events")
    assert set(events["record"].tolist()) == dropped
    assert ascii_trace.entities == ["node 4 device 0 PhyRxDrop"]
    drops = mt.analyze(ascii_trace).results["local_drops"].summary
    assert drops["count"] == len(dropped) == 8


def test_all_of_one_simulation_is_on_one_clock(ascii_trace: Measurement) -> None:
    m = mt.read(ALL, CAPTURES / "h0.pcap.gz", CAPTURES / "h4.pcap.gz")
    assert {clock.offset_ns for clock in m.clocks} == {0}
    # Half a step of the ascii trace on either side; captures are exact.
    assert [clock.uncertainty_ns for clock in m.clocks] == [0, STEP_NS, STEP_NS, STEP_NS // 2, STEP_NS // 2]
    assert {source.clock for source in m.sources} == {"simulation"}
    assert len(m.connections) == 2
    assert len(ascii_trace.issues) == len(m.issues) == 0


def test_a_capture_alone_keeps_its_clock(captures: dict[str, Measurement]) -> None:
    assert [source.clock for source in captures["h0"].sources] == ["realtime"]


def test_on_the_air_hosts_take_what_is_for_them() -> None:
    m = mt.read(CAPTURES / "wifi.tr.gz", CAPTURES / "wifi.flowmonitor")
    totals, segments = m.table("flow_totals"), m.table("segments")
    assert m.sources[0].details["mac_frames_sent_again"] > 0
    for row in range(len(totals)):
        ours = segments["dir"] == totals["dir"][row]
        # Stations hear what goes to the access point and what it forwards; everything had arrived at the end.
        for source in (m.snd, m.rcv):
            mine = ours & (segments["source"] == source)
            assert mine.sum() == totals["tx_packets"][row] == totals["rx_packets"][row] > 50
            assert segments["ip_length"][mine].sum() == totals["tx_bytes"][row]


def test_digits_are_those_that_the_file_has(tmp_path: Path) -> None:
    text = gzip.decompress(ALL.read_bytes()).decode().splitlines()[:40]
    file = tmp_path / "fine.tr"
    file.write_text(
        "".join(re.sub(r"^(\S) (\S+)", r"\1 \g<2>00001234", line) + "\n" for line in text if "." in line[:5])
    )
    source = registry.parsers()["ns3-ascii"].parse(str(file)).source
    assert source.resolution_ns == 1
    assert source.details["significant_digits"] > 9


def test_nothing_of_ns3_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "other.tr"
    file.write_text("+ something else\n")
    with pytest.raises(CorruptTrace, match=r"other\.tr"):
        registry.parsers()["ns3-ascii"].parse(str(file))


def test_public_trace(shared: Path) -> None:
    folder = shared / "samples" / "ns3"
    lines = (folder / "tcp-bulk-send_head450.tr").read_text().splitlines()
    m = mt.read(folder / "tcp-bulk-send_head450.tr")
    kinds = Counter(line[0] for line in lines)
    assert m.sources[0].details["lines"] == {"queued": kinds["+"], "sent": kinds["-"], "received": kinds["r"]}
    segments = m.table("segments")
    # Two hosts on one wire: every line of a packet sent or received is a segment at one of them.
    assert len(segments) == kinds["-"] + kinds["r"]
    # The captures beside it are of the whole run; the trace was cut.
    whole = mt.read(folder / "tcp-bulk-send-0-0.pcap").table("segments")
    ours = segments.where(segments["source"] == m.snd).sorted_by("record")
    theirs = whole.where(np.arange(len(ours)))
    assert np.array_equal(ours["seq"], theirs["seq"])
    assert np.abs(ours["t_ns"] - theirs["t_ns"]).max() <= 1000
