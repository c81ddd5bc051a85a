"""The same transfer seen worse: from elsewhere, in part, damaged. The analysis says what it cannot know.

Each capture is made from a sample's by dropping, moving or reordering packets with dpkt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import dpkt
import pytest
from support_samples import SAMPLES, Run

import multitracer as mt
from multitracer.analyzers import observation

Packets = list[tuple[float, bytes]]
Write = Callable[..., Path]
RAW = 101
HANDSHAKE = 3


def packets(name: str, side: str) -> Packets:
    with (SAMPLES / name / f"{side}.pcap").open("rb") as file:
        return [(float(t), bytes(data)) for t, data in dpkt.pcap.Reader(file)]


def sender(data: bytes) -> bool:
    return bytes(dpkt.ip.IP(data).src).endswith(b"\x01")


def payload(data: bytes) -> int:
    ip = dpkt.ip.IP(data)
    return int(ip.len - ip.hl * 4 - ip.data.off * 4)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(name, packets)``: a capture of these packets."""

    def save(name: str, found: Packets, keep: int = 65535) -> Path:
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(dpkt.struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, keep, RAW))
            for t, data in found:
                whole = dpkt.ip.IP(data).len
                head = dpkt.struct.pack(
                    "<IIII", int(t), round(t % 1 * 1e6) % 10**6, min(len(data), keep), whole
                )
                file.write(head + data[:keep])
        return path

    return save


def statements(*paths: Path) -> dict[str, str]:
    results = mt.analyze(mt.read(*paths), only=["observation"]).results
    return {one["code"]: one["text"] for one in results["observation"].summary["statements"]}


def connection(*paths: Path) -> dict[str, Any]:
    results = mt.analyze(mt.read(*paths), only=["connections"]).results
    (found,) = results["connections"].summary["connections"]
    return dict(found)


def losses(paths: Sequence[Path]) -> dict[str, Any]:
    """The direction of the data, as both captures show it."""
    result = mt.analyze(mt.read(*paths), only=["losses"]).results["losses"]
    assert result.inconclusive is None
    found: dict[str, Any] = result.summary["directions"][0]
    return found


def test_senders_capture_needs_no_excuse(sample: Path) -> None:
    assert statements(sample / "snd.pcap") == {}


def test_receivers_capture_says_so(sample: Path) -> None:
    said = statements(sample / "rcv.pcap")
    assert said["receiver_side"].startswith("from the receiver's capture")
    assert "nor is the number of duplicate bytes sent" in said["receiver_side"]
    assert "capture_loss" not in said


def test_holes_at_the_receiver_are_not_called_losses() -> None:
    lost = losses([SAMPLES / "link-resets-sack" / f"{side}.pcap" for side in ("snd", "rcv")])["lost"]
    assert lost > 0
    said = statements(SAMPLES / "link-resets-sack" / "rcv.pcap")
    # The core tells retransmissions from reordered segments: nothing is left undecided.
    assert "holes_filled" not in said
    assert "are inferred" in said["receiver_side"]


def test_middle_of_the_path_says_so(write: Write) -> None:
    there = {(sender(data), dpkt.ip.IP(data).id): t for t, data in packets("link-resets-sack", "rcv")}
    halfway = [
        ((t + there[key]) / 2, data)
        for t, data in packets("link-resets-sack", "snd")
        if (key := (sender(data), dpkt.ip.IP(data).id)) in there
    ]
    path = write("mid.pcap", sorted(halfway))
    (path.parent / "measurement.toml").write_text('[sources."mid.pcap"]\npoint = "mid"\n')
    measurement = mt.read(path.parent)
    assert measurement.snd is None
    assert measurement.rcv is None
    said = statements(path.parent)
    assert "losses before this point" in said["mid_path"]
    assert "receiver_side" not in said


@pytest.mark.parametrize("data_kept", [True, False])
def test_one_direction(data_kept: bool, write: Write) -> None:
    half = [(t, data) for t, data in packets("link-resets-sack", "snd") if sender(data) == data_kept]
    path = write("half.pcap", half)
    said = statements(path)
    assert said["one_direction"].startswith("from the only capture: only one direction")
    assert ("no acknowledgments" if data_kept else "no data") in said["one_direction"]
    assert "capture_loss" not in said, "what was not captured on purpose is no loss"
    found = connection(path)
    assert found["rtt_ms"] is None
    if data_kept:
        whole = connection(SAMPLES / "link-resets-sack" / "snd.pcap")
        assert found["bytes"]["duplicate"] == whole["bytes"]["duplicate"]
        assert found["retransmissions"]["unknown"] == found["retransmissions"]["total"]


@pytest.mark.parametrize("every", [7, 37, 101])
def test_capture_loss_is_counted_to_the_byte(every: int, write: Write) -> None:
    whole = packets("flow-control", "snd")
    data = [index for index, (_, packet) in enumerate(whole) if payload(packet) > 0]
    gone = set(data[every:-1:every])  # the last one carries the FIN, which takes a number too
    path = write("lossy.pcap", [packet for index, packet in enumerate(whole) if index not in gone])
    kept = {dpkt.ip.IP(p).data.seq for i, (_, p) in enumerate(whole) if i in data and i not in gone}
    missing = {dpkt.ip.IP(whole[i][1]).data.seq: payload(whole[i][1]) for i in gone}
    unseen = sum(size for seq, size in missing.items() if seq not in kept)
    assert unseen > 0
    assert f"{unseen:,} bytes were acknowledged that it never saw" in statements(path)["capture_loss"]


@pytest.mark.parametrize("grade", ["certain", "guess"])
def test_lost_record_of_a_first_copy(grade: str, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The retransmission is captured, what it repeats is not: a hole that is filled, at the sender.

    If it is only a guess that the capture was taken there, it may have been taken behind a loss.
    """
    monkeypatch.setattr(observation, "one_point", lambda *_: {"observation": {"grade": grade}})
    whole = packets("link-resets-sack", "snd")
    numbers = [dpkt.ip.IP(data).data.seq if payload(data) else None for _, data in whole]
    first = next(i for i, n in enumerate(numbers) if n is not None and numbers.count(n) > 1)
    path = write("lossy.pcap", whole[:first] + whole[first + 1 :])
    said = statements(path)["capture_loss"]
    assert "1 segment fills a sequence gap" in said
    assert ("if it was taken on the path (--point mid)" in said) == (grade == "guess")


def test_what_was_overtaken_on_its_way_to_the_capture_died_in_no_queue(write: Write) -> None:
    """A segment whose successor passed first, by its identification: no first copy is missing."""
    whole = packets("flow-control", "snd")
    at = next(
        index
        for index, (one, other) in enumerate(pairwise(whole))
        if index > 40 and all(sender(data) and payload(data) > 0 for _, data in (one, other))
    )
    (first_t, first), (second_t, second) = whole[at : at + 2]
    path = write("swapped.pcap", [*whole[:at], (first_t, second), (second_t, first), *whole[at + 2 :]])
    assert connection(path)["arrivals"]["reordered"] == 1
    assert "capture_loss" not in statements(path)


@pytest.mark.parametrize("side", ["snd", "rcv"])
def test_what_a_capture_lost_is_not_lost_by_the_network(side: str, write: Write) -> None:
    """Two captures, one with gaps: the ACKs tell lost records from lost packets."""
    name = "flow-control"
    before = losses([SAMPLES / name / "snd.pcap", SAMPLES / name / "rcv.pcap"])
    assert before["lost_by_capture"] == {"near_sender": 0, "near_receiver": 0}
    whole = packets(name, side)
    data = [index for index, (_, packet) in enumerate(whole) if payload(packet) > 0]
    gone = set(data[5::40])
    damaged = write("gaps.pcap", [packet for index, packet in enumerate(whole) if index not in gone])
    other = SAMPLES / name / ("rcv.pcap" if side == "snd" else "snd.pcap")
    after = losses([damaged, other])
    near = "near_sender" if side == "snd" else "near_receiver"
    assert after["lost_by_capture"][near] == len(gone)
    assert after["lost"] == before["lost"]


def test_two_captures_agree_with_the_link(sample: Path) -> None:
    """Every segment that the link says it lost, and no other."""
    paths = [sample / "snd.pcap", sample / "rcv.pcap"]
    found = losses(paths)
    there = {dpkt.ip.IP(data).id for _, data in packets(sample.name, "rcv") if sender(data) and payload(data)}
    sent = [dpkt.ip.IP(data).id for _, data in packets(sample.name, "snd") if sender(data) and payload(data)]
    assert found["certain"]
    assert found["lost"] == sum(number not in there for number in sent)
    assert found["packets"] == len(sent)
    assert found["arrived"] + found["lost"] + found["damaged"] == found["packets"]


def test_needless_retransmissions_are_certain() -> None:
    found = losses([SAMPLES / "spurious-timeouts" / f"{side}.pcap" for side in ("snd", "rcv")])
    assert found["by_cause"]["timeout"] == {"inconclusive": 0, "spurious": 1, "needed": 0, "partly": 0}
    (one,) = [entry for entry in found["spurious"] if entry["cause"] == "timeout"]
    assert 0 < one["earlier_record"] < one["record"]


def test_reordering_by_the_definition() -> None:
    """RFC 4737 by hand: a packet is reordered if one that was sent later came before it."""
    from support_measurement import measurement

    rows = [{"t_ms": 10 * n, "seq": 1 + 60 * n, "length": 60, "ip_id": n + 1} for n in range(6)]
    order = [0, 2, 3, 1, 5, 4]
    rows += [
        {"t_ms": 1000 + 10 * place, "seq": 1 + 60 * n, "length": 60, "ip_id": n + 1, "source": 1}
        for place, n in enumerate(order)
    ]
    m = measurement(rows)
    side = {"mss": None, "timestamps": False}
    summary = {"handshake": False, "forward": side, "reverse": side}
    m.connections[0].summaries.update({0: summary, 1: summary})
    result = mt.analyze(m, only=["losses"]).results["losses"]
    found = result.summary["directions"][0]["reordering"]
    assert found == {"packets": 2, "share": 0.333333, "extent_max": 2, "late_max_s": 0.02}


def test_capture_that_begins_in_the_middle(write: Write) -> None:
    whole = packets("link-resets-sack", "snd")
    path = write("tail.pcap", whole[len(whole) // 3 :])
    said = statements(path)
    assert said.keys() == {"no_handshake"}
    assert "window scale" in said["no_handshake"]
    assert connection(path)["handshake"] is False


def test_copies_of_records_are_no_retransmissions(write: Write) -> None:
    whole = packets("flow-control", "snd")
    path = write("any.pcap", [copy for packet in whole for copy in (packet, packet)])
    once = connection(SAMPLES / "flow-control" / "snd.pcap")
    twice = connection(path)
    assert twice["bytes"] == once["bytes"]
    assert twice["retransmissions"] == once["retransmissions"]
    assert "are no retransmissions" in statements(path)["duplicate_record"]


def test_stamps_out_of_order(write: Write) -> None:
    whole = packets("flow-control", "snd")
    shaken = list(whole)
    for index in range(HANDSHAKE, len(shaken) - 1, 50):
        (t1, first), (t2, second) = shaken[index], shaken[index + 1]
        shaken[index], shaken[index + 1] = (t2, first), (t1, second)
    path = write("shaken.pcap", shaken)
    assert "earlier timestamp than the one before" in statements(path)["time_backwards"]
    assert connection(path)["bytes"] == connection(SAMPLES / "flow-control" / "snd.pcap")["bytes"]


def test_snap_length_below_the_options(write: Write) -> None:
    path = write("short.pcap", packets("link-resets-sack", "snd"), keep=40)
    said = statements(path)
    assert "cut TCP options" in said["options_cut"]
    whole = connection(SAMPLES / "link-resets-sack" / "snd.pcap")
    assert connection(path)["bytes"] == whole["bytes"], "lengths are in the headers that were kept"


def test_people_are_told_too(run: Run) -> None:
    done = run("analyze", SAMPLES / "link-resets-sack" / "rcv.pcap")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "Limits of these captures" in text
    assert (
        "from the receiver's capture (observation point likely, not certain): retransmissions of lost" in text
    )
    whole = run("analyze", SAMPLES / "link-resets-sack")
    assert "Limits of these captures" not in whole.stdout


def test_what_a_capture_lost_of_data_and_acks_was_lost_by_nobody_else(write: Write) -> None:
    """One packet in twenty of a capture at the receiver is missing: its numbers, too, and ACKs as often.

    Those that were lost before the capture remain, and the rate is that of all that was acknowledged.
    """
    whole = packets("bbr", "rcv")
    before = connection(SAMPLES / "bbr" / "rcv.pcap")
    missing = random.Random(3)
    lossy = [one for index, one in enumerate(whole) if index < 4 or missing.random() > 0.05]
    found = connection(write("lossy.pcap", lossy))
    assert found["bytes"]["unique"] < 0.97 * before["bytes"]["unique"]
    assert found["losses"]["upstream"] == pytest.approx(before["losses"]["upstream"], abs=4)
    assert before["losses"]["acks"] == 0
    assert found["losses"]["acks"] is None
    assert found["goodput_bps"] == pytest.approx(before["goodput_bps"], rel=0.001)


def test_a_capture_at_the_sender_that_lost_packets_shows_no_loss_before_it(write: Write) -> None:
    """Numbers that were left out stand for data that was acknowledged; none was lost, nor sent again."""
    whole = packets("flow-control", "snd")
    missing = random.Random(3)
    lossy = write("lossy.pcap", [one for i, one in enumerate(whole) if i < 4 or missing.random() > 0.05])
    found = connection(lossy)
    assert "capture_loss" in statements(lossy)
    assert (found["losses"]["upstream"], found["losses"]["possible"], found["losses"]["acks"]) == (0, 0, None)
    assert found["retransmissions"]["total"] == 0
