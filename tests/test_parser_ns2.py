"""ns-2: a run against the totals that ns-2 itself kept, the clock of a simulation, public files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.api import inventory
from multitracer.model.errors import CorruptTrace, UsageError

DATA = Path(__file__).parent / "data"
EVENTS = DATA / "formats" / "ns2" / "manet.tr.gz"
VARIABLES = DATA / "formats" / "ns2-variables" / "manet.tr.gz"
SEGMENT = 1460


@pytest.fixture(scope="module")
def totals() -> dict[str, int]:
    """What the agent counted: two seconds of studies/manet-tcp/manet.tcl."""
    found: dict[str, int] = json.loads((DATA / "ns2" / "manet-totals.json").read_text())
    return found


@pytest.fixture(scope="module")
def measurement() -> Any:
    return mt.read(EVENTS, VARIABLES)


def test_what_the_agent_counted_is_what_is_read(measurement: Any, totals: dict[str, int]) -> None:
    (connection,) = measurement.connections
    sent = connection.summaries[measurement.snd]["forward"]
    # The agent counts packet 0 among its packets.
    assert sent["data_segments"] == totals["ndatapack_"] - 1
    assert sent["data_bytes"] == totals["ndatabytes_"]
    assert sent["duplicate_bytes"] == totals["nrexmitbytes_"] == totals["nrexmitpack_"] * SEGMENT
    assert sent["retransmissions"]["total"] == totals["nrexmitpack_"]
    assert sent["acked_bytes"] == totals["ack_"] * SEGMENT
    assert sent["unique_bytes"] == totals["maxseq_"] * SEGMENT
    segments = measurement.table("segments")
    assert np.all(segments["window"] == -1)


def test_both_ends_and_variables_are_on_one_clock(measurement: Any) -> None:
    points = [trace.source.point for trace in measurement.traces]
    assert points == ["snd", "rcv", "_3_", "snd"]
    found = [(clock.offset_ns, clock.skew_ppm, clock.uncertainty_ns) for clock in measurement.clocks]
    # Variables are written to five decimals.
    assert found == [(0, 0.0, 0)] * 3 + [(0, 0.0, 5000)]
    assert not [issue for issue in measurement.issues if issue.code == "unjoined-source"]
    segments = measurement.table("segments")
    data = (segments["length"] > 0) & (segments["seq"] == 1)
    at = {int(source): int(segments["t_ns"][data & (segments["source"] == source)][0]) for source in (0, 1)}
    assert 0 < at[1] - at[0] < 10**9
    states = measurement.table("tcp_states")
    assert np.all(states["conn"] == 0)


def test_variables_are_what_the_agent_had(totals: dict[str, int]) -> None:
    trace = registry.parsers()["ns2-variables"].parse(str(VARIABLES))
    states, series = trace.tables["tcp_states"], trace.tables["series"]
    assert states["unacked"][-1] == totals["maxseq_"] - totals["ack_"]
    assert series["value"][series["name"] == "ack_"][-1] == totals["ack_"]
    lines = [line.split() for line in gzip.decompress(VARIABLES.read_bytes()).decode().splitlines()]
    assert states["cwnd"].max() == int(max(float(line[6]) for line in lines if line[5] == "cwnd_"))
    last = [float(line[6]) for line in lines if line[5] == "srtt_"][-1]
    assert states["srtt_ns"][-1] == round(last * 1e9)


def test_backoff_is_an_exponent_and_sockets_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "v.tr"
    file.write_text(
        "0.00000  0  0  3  0  backoff_ 1\n1.00000  0  0  3  0  backoff_ 8\n"
        "1.00000  0  1  3  1  dupacks_ 3\n1.00000  0  0  3  0  dupacks_ 1\n"
    )
    trace = registry.parsers()["ns2-variables"].parse(str(file))
    states = trace.tables["tcp_states"]
    mine = states["flow"] == 0
    assert states["backoff"][mine].tolist() == [0, 3]
    assert states["cwnd"].tolist() == [-1, -1, -1]
    assert sorted(trace.tables["series"]["name"]) == [
        "dupacks_ 0.0.0.0:0 > 0.0.0.3:0",
        "dupacks_ 0.0.0.0:1 > 0.0.0.3:1",
    ]


def test_info_lists_both_ends() -> None:
    found = inventory.inspect([EVENTS]).to_dict()["sources"]
    assert [(one["path"], one["point"]) for one in found] == [
        (str(EVENTS), "snd"),
        (str(EVENTS), "rcv"),
        (str(EVENTS), "_3_"),
    ]
    details = found[0]["details"]
    assert details["segment_bytes"] == [SEGMENT]
    assert sum(details["drops"].values()) > 0
    first, last = details["energy_joules"]["_0_"]
    assert 990 < last < first <= 1000


def test_every_frame_and_drop_is_in_a_table(measurement: Any) -> None:
    lines = [line.split() for line in gzip.decompress(EVENTS.read_bytes()).decode().splitlines()]
    mac = [words for words in lines if words[0] in "sr" and words[3] == "MAC"]
    frames = measurement.table("mac_frames")
    for kind in ("RTS", "CTS", "ACK"):
        of_kind = frames.where(frames["kind"] == frames.code("kind", kind))
        for action, letter in (("snd", "s"), ("rcv", "r")):
            told = [float(words[1]) for words in mac if words[0] == letter and words[6] == kind]
            found = of_kind["t_ns"][of_kind["action"] == frames.code("action", action)]
            assert (found / 1e9).tolist() == pytest.approx(told)
    assert len(frames) == len(mac)
    again = frames["attempt"] > 0
    assert again.sum() == measurement.sources[0].details["mac_frames_sent_again"] > 0
    drops = measurement.table("packet_drops")
    told = [(words[3], words[4], words[6], words[2]) for words in lines if words[0] == "D"]
    names = ("layer", "reason", "packet", "place")
    assert sorted(zip(*(drops[name] for name in names), strict=True)) == sorted(told)
    # What the radio of the receiver gave up: an acknowledgment, after all retries.
    events = measurement.table("link_events")
    assert (
        events.words("kind").tolist() == ["discard"] == ["discard"] * told.count(("MAC", "RET", "ack", "_3_"))
    )


def test_a_wired_run_is_what_its_agents_counted() -> None:
    file = DATA / "formats" / "ns2" / "wired.tr.gz"
    m = mt.read(file)
    told = json.loads((DATA / "ns2" / "wired-totals.json").read_text())
    for one, flavour in zip(m.connections, ("Newreno", "Sack1"), strict=True):
        sent, totals = one.summaries[m.snd]["forward"], told[flavour]
        assert sent["data_segments"] == totals["ndatapack_"] - 1
        assert sent["data_bytes"] == totals["ndatabytes_"]
        assert sent["duplicate_bytes"] == totals["nrexmitbytes_"]
        assert sent["retransmissions"]["total"] == totals["nrexmitpack_"]
        assert (sent["acked_bytes"], sent["unique_bytes"]) == (
            totals["ack_"] * 1000,
            totals["maxseq_"] * 1000,
        )
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    dropped = [number for number, line in enumerate(lines, 1) if line.startswith("d ")]
    assert m.table("packet_drops")["record"].tolist() == dropped
    assert set(m.table("packet_drops")["place"]) == {"1-2"} == set(m.entities)
    local = mt.analyze(m).results["local_drops"].summary
    assert local["count"] == local["matched"] == len(dropped) == 30
    assert {clock.uncertainty_ns for clock in m.clocks} == {0, 1000}
    told = json.dumps(mt.analyze(m).results["observation"].summary)
    assert "is taken as the SYN" in told
    assert "began before" not in told


def test_every_answer_can_be_asked_for(measurement: Any) -> None:
    analysis = mt.analyze(measurement)
    assert analysis.results["connections"].inconclusive is None
    assert analysis.results["link_resets"].inconclusive is not None


def test_numbers_that_are_bytes_are_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "full.tr"
    lines = ["+ 0.1 0 1 tcp 40 ------- 1 0.0 1.0 0 0"]
    lines += [f"+ 0.{2 + at} 0 1 tcp 1040 ------- 1 0.0 1.0 {1 + 1000 * at} {1 + at}" for at in range(3)]
    file.write_text("\n".join(lines) + "\n")
    trace = registry.parsers()["ns2"].parse(str(file))
    assert [issue.code for issue in trace.issues] == ["unclear-sequence"]


def test_headers_may_be_declared(tmp_path: Path) -> None:
    file = tmp_path / "plain.tr"
    file.write_text("+ 0.1 0 1 tcp 40 ------- 1 0.0 1.0 0 0\n+ 0.2 0 1 tcp 1000 ------- 1 0.0 1.0 1 1\n")
    parser = registry.parsers()["ns2"]
    assert parser.read(str(file), {}).tables["segments"]["length"].tolist() == [0, 960]
    assert parser.read(str(file), {"header_bytes": 0}).tables["segments"]["length"].tolist() == [0, 1000]
    for wrong in (-1, 1.5, True, 10**6):
        with pytest.raises(UsageError, match="header_bytes"):
            parser.read(str(file), {"header_bytes": wrong})


@pytest.mark.parametrize("name", ["ns2", "ns2-variables"])
def test_nothing_of_ns2_is_an_error(name: str, tmp_path: Path) -> None:
    file = tmp_path / "other.txt"
    file.write_text("M 0.0 0 (1, 2, 3)\nsomething else\n")
    with pytest.raises(CorruptTrace, match=r"other\.txt"):
        registry.parsers()[name].parse(str(file))


def test_public_traces(shared: Path) -> None:
    wired = mt.read(shared / "samples" / "ns2" / "wired_Reno_10Mb_head3000.tr")
    lines = (shared / "samples" / "ns2" / "wired_Reno_10Mb_head3000.tr").read_text().splitlines()
    words = [line.split() for line in lines]
    data = [w for w in words if w[4] == "tcp" and w[5] != "40"]
    sent = [w for w in data if w[0] == "+" and w[2] == w[8].split(".")[0]]
    arrived = [w for w in data if w[0] == "r" and w[3] == w[9].split(".")[0]]
    (connection,) = wired.connections
    assert connection.summaries[wired.snd]["forward"]["data_segments"] == len(sent) > 0
    assert connection.summaries[wired.rcv]["forward"]["data_segments"] == len(arrived) > 0
    wireless = mt.read(shared / "samples" / "ns2" / "wireless_old_aodv_tcp_head1800.tr")
    assert len(wireless.connections) == 2
    assert {clock.uncertainty_ns for clock in wireless.clocks} == {0}
