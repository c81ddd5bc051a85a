"""Captures of 802.11 frames: what a monitor heard, what it did not, and what follows for the link."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import support_wifi as wifi
from hypothesis import given, settings, strategies as st
from support_samples import PATIENCE_S
from support_wifi import AP, BARE, HEADERS, RETRY, Heard, capture, data, exchange

import multitracer as mt
from multitracer import native
from multitracer.lab.radiotap import RATES_BPS, Frames, RadiotapWriter
from multitracer.layers.framemap.order import by_arrival
from multitracer.layers.framemap.placement import Placement, in_doubt
from multitracer.layers.framemap.sizes import PLAIN
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.model.trace import Trace
from multitracer.parsers.wifi import configured, parse, sniff

TSHARK = pytest.mark.skipif(which("tshark") is None, reason="tshark is not installed")


def frames(trace: Trace) -> list[tuple[str, str, int, int]]:
    """Entity, action, sequence number and attempt of each row."""
    table = trace.tables["link_frames"]
    names = [trace.entities[entity] for entity in table["entity"].tolist()]
    return list(
        zip(
            names,
            table.words("action").tolist(),
            table["ns"].tolist(),
            table["attempt"].tolist(),
            strict=True,
        )
    )


def events(trace: Trace) -> list[tuple[str, str, str]]:
    """Entity, kind and cause of each event."""
    table = trace.tables["link_events"]
    names = [trace.entities[entity] for entity in table["entity"].tolist()]
    return list(zip(names, table.words("kind").tolist(), table.words("cause").tolist(), strict=True))


def of(tmp_path: Path, heard: list[Heard], **settings: Any) -> Trace:
    return configured(str(capture(tmp_path / "air.pcap", heard)), settings)


def busy(first: int, count: int, t_us: int = 0) -> list[Heard]:
    """So many frames that were answered at once."""
    return [one for n in range(count) for one in exchange(t_us + n * 1000, data((first + n) % 4096))]


def test_an_answered_frame_is_sent_and_received(tmp_path: Path) -> None:
    trace = of(tmp_path, busy(4095, 2))
    assert frames(trace) == [
        ("sta", "snd", 4095, 0),
        ("ap", "rcv", 4095, 0),
        ("sta", "snd", 0, 0),
        ("ap", "rcv", 0, 0),
    ]
    assert not trace.issues
    assert [link.observer for link in trace.links] == ["monitor"] * 2


def test_attempts_end_with_an_answer_or_are_given_up(tmp_path: Path) -> None:
    tries = [Heard(n * 1000, data(7, flags=RETRY if n else 0)) for n in range(3)]
    kept = of(tmp_path, [*tries, Heard(2300, wifi.ack()), *busy(8, 1, 5000)], retry_limit=2)
    assert frames(kept)[:4] == [
        ("sta", "snd", 7, 0),
        ("sta", "snd", 7, 1),
        ("sta", "snd", 7, 2),
        ("ap", "rcv", 7, 0),
    ]
    lost = of(tmp_path, [*tries, *busy(8, 1, 5000)], retry_limit=2)
    assert events(lost) == [("sta", "discard", "")]
    assert [row for row in frames(lost) if row[1] == "rcv"] == [("ap", "rcv", 8, 0)]


def test_what_was_not_seen_is_not_lost(tmp_path: Path) -> None:
    """A number that never came, a first attempt, an acknowledgement: sent or answered all the same."""
    heard = [*busy(1, 2), *exchange(5000, data(5, flags=RETRY)), Heard(6000, data(6)), *busy(7, 1, 7000)]
    trace = of(tmp_path, heard, retry_limit=7)
    assert [row for row in frames(trace) if row[2] in (5, 6)] == [
        ("sta", "snd", 5, 1),
        ("ap", "rcv", 5, 0),
        ("sta", "snd", 6, 0),
        ("ap", "rcv", 6, 0),
    ]
    assert ("sta", "unseen", "") in events(trace)
    assert "discard" not in {kind for _, kind, _ in events(trace)}
    issue = next(issue for issue in trace.issues if issue.code == "not-seen")
    assert issue.count == 2 + 1 + 1


def test_one_attempt_short_of_the_limit_nothing_is_said(tmp_path: Path) -> None:
    tries = [Heard(n * 1000, data(7, flags=RETRY if n else 0)) for n in range(2)]
    trace = of(tmp_path, [*tries, *busy(8, 1, 5000)], retry_limit=2)
    assert not events(trace)
    assert [row[2] for row in frames(trace) if row[1] == "rcv"] == [8]


def test_an_acknowledgement_of_another_exchange_is_not_taken(tmp_path: Path) -> None:
    late = [Heard(0, data(3)), Heard(60_000, wifi.ack()), Heard(61_000, data(3, flags=RETRY))]
    assert [row[1] for row in frames(of(tmp_path, late))] == ["snd", "snd"]
    foreign = [Heard(0, data(3)), Heard(300, wifi.ack(wifi.STRANGER))]
    assert [row[1] for row in frames(of(tmp_path, foreign))] == ["snd"]


def test_an_acknowledgement_that_the_card_hands_over_first(tmp_path: Path) -> None:
    trace = of(tmp_path, [Heard(300, wifi.ack()), Heard(0, data(3))])
    assert sorted(row[1] for row in frames(trace)) == ["rcv", "snd"]
    assert trace.source.details["acks_paired"] == 1


def test_a_block_ack_tells_of_each_frame_of_an_aggregate(tmp_path: Path) -> None:
    aggregate = [Heard(n, data(10 + n), aggregate=1) for n in range(4)]
    again = [Heard(900 + n, data(10 + n, flags=RETRY), aggregate=2) for n in (1, 3)]
    trace = of(
        tmp_path,
        [
            *aggregate,
            Heard(500, wifi.block_ack(10, 0b0101)),
            *again,
            Heard(1500, wifi.block_ack(10, 0b1111)),
        ],
    )
    rows = frames(trace)
    assert [row[2] for row in rows if row[1] == "rcv"] == [10, 12, 11, 13]
    assert [row[3] for row in rows if row[1] == "snd"] == [0, 0, 0, 0, 1, 1]
    assert (trace.source.details["aggregates"], trace.source.details["aggregated_frames"]) == (2, 6)
    assert not trace.issues


def test_counters_of_priorities_and_directions_are_apart(tmp_path: Path) -> None:
    heard = [
        *exchange(0, data(100, tid=0)),
        *exchange(1000, data(5, tid=6)),
        *exchange(2000, data(900, down=True)),
        *exchange(3000, data(101, tid=0)),
        *exchange(4000, data(6, tid=6)),
        *exchange(5000, data(901, down=True)),
    ]
    trace = of(tmp_path, heard)
    assert not events(trace)
    assert Counter(row[0] for row in frames(trace) if row[1] == "snd") == {"sta": 4, "ap": 2}


def test_fragments_of_a_packet_have_their_own_attempts(tmp_path: Path) -> None:
    heard = [
        *exchange(0, data(4, fragment=0, tid=None)),
        Heard(1000, data(4, fragment=1, tid=None)),
        *exchange(2000, data(4, fragment=1, tid=None, flags=RETRY)),
    ]
    assert [row[3] for row in frames(of(tmp_path, heard)) if row[1] == "snd"] == [0, 0, 1]


def test_the_link_ends_and_comes_back(tmp_path: Path) -> None:
    heard = [*busy(50, 3), Heard(20_000, wifi.management(12, b"\3\0")), *busy(0, 3, 900_000)]
    trace = of(tmp_path, heard)
    assert events(trace) == [("sta", "reset", "deauth")]
    # From the last frame that got through: nothing went over the link from then on.
    assert int(trace.tables["link_events"]["t_ns"][0]) == wifi.BEGIN_NS + 2_300_000


def test_a_station_that_moves_to_another_access_point(tmp_path: Path) -> None:
    new = [
        one
        for n in range(3)
        for one in (
            Heard(900_000 + n * 1000, data(n, ap=wifi.OTHER_AP)),
            Heard(900_300 + n * 1000, wifi.ack()),
        )
    ]
    request = wifi.management(2, struct.pack("<HH", 1, 10) + AP, ap=wifi.OTHER_AP)
    trace = of(tmp_path, [*busy(50, 3), Heard(800_000, request), *new])
    assert events(trace) == [("sta", "reset", "roam")]
    assert trace.source.details["roams"] == 1
    assert len(trace.entities) == 2


def test_a_dozing_station_holds_its_access_point_off(tmp_path: Path) -> None:
    heard = [*busy(1, 1), Heard(9000, wifi.null(True)), Heard(30_000, wifi.null(False)), *busy(2, 1, 40_000)]
    assert events(of(tmp_path, heard)) == [("ap", "RNR", ""), ("ap", "RR", "")]


def test_the_busiest_link_or_the_one_that_is_asked_for(tmp_path: Path) -> None:
    other = struct.pack("<HH", 0x0188, 0) + AP + wifi.STRANGER + AP + struct.pack("<HH", 0, 0)
    heard = [*busy(1, 3), Heard(10_000, other + wifi.LLC_IP + bytes(20))]
    assert of(tmp_path, heard).source.details["sta"]["address"] == "02:00:00:00:00:01"
    assert of(tmp_path, heard, station="02:00:00:00:00:99").source.details["sta"]["frames"] == 1
    with pytest.raises(UsageError, match="no data of station"):
        of(tmp_path, heard, station="02:00:00:00:00:77")
    for wrong in ({"station": "alice"}, {"retry_limit": 0}, {"retry_limit": "many"}):
        with pytest.raises(UsageError, match=r"measurement\.toml"):
            of(tmp_path, heard, **wrong)


@pytest.mark.parametrize("link_type", HEADERS)
def test_the_same_frames_behind_any_header(link_type: int, tmp_path: Path) -> None:
    heard = [*busy(20, 4), Heard(9000, data(30, flags=RETRY)), *busy(31, 2, 10_000)]
    path = capture(tmp_path / "air.pcap", heard, link_type)
    assert sniff(path.read_bytes())
    trace = parse(str(path))
    assert frames(trace) == frames(of(tmp_path, heard))
    radio = trace.tables["link_radio"]
    if link_type != BARE:
        assert set(radio["rate_bps"].tolist()) == {11_000_000}
        assert set(radio["signal_dbm"].tolist()) == {-50}
        assert set(radio["channel_mhz"].tolist()) == {2437}
        assert bool((radio["airtime_ns"] > 0).all())
    else:
        assert set(radio["airtime_ns"].tolist()) == {-1}


@pytest.mark.parametrize("protection", [b"\1\2\0\x20\0\0\0\0", b"\x21\x21\x01\x20\0\0\0\0"])
def test_lengths_of_encrypted_packets(protection: bytes, tmp_path: Path) -> None:
    """CCMP adds 16 bytes, TKIP 20; LLC is 8."""
    more = 8 if protection[2] == 0 else 12
    body = protection + wifi.LLC_IP + bytes(100 + more)
    trace = of(tmp_path, exchange(0, data(1, body, flags=wifi.PROTECTED)))
    assert set(trace.tables["link_frames"]["length"].tolist()) == {100}
    assert not trace.others


def test_damage_ends_in_data_or_an_issue(tmp_path: Path) -> None:
    whole = wifi.content([*busy(1, 6), Heard(9000, wifi.block_ack(1, 3)), Heard(9500, wifi.management(12))])
    path = tmp_path / "cut.pcap"
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        try:
            parse(str(path))
        except CorruptTrace:
            assert end < 24 + 16 + len(wifi.radiotap(busy(1, 1)[0])) + len(busy(1, 1)[0].frame)


@settings(deadline=None, max_examples=60)
@given(
    at=st.integers(0, 7), junk=st.binary(min_size=1, max_size=60), link_type=st.sampled_from(sorted(HEADERS))
)
def test_any_bytes_are_survived(
    at: int, junk: bytes, link_type: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    heard = busy(1, 4)
    heard[at] = heard[at]._replace(frame=junk)
    whole = bytearray(wifi.content(heard, link_type))
    whole[24 + 16 + at : 24 + 16 + at + len(junk) // 4] = junk[: len(junk) // 4]
    path = tmp_path_factory.mktemp("any") / "any.pcap"
    path.write_bytes(whole)
    try:
        trace = parse(str(path))
    except CorruptTrace:
        return
    assert all(issue.count > 0 for issue in trace.issues)


def test_headers_of_the_radiotap_library(shared: Path, tmp_path: Path) -> None:
    """Extended presence words, vendor namespaces, a check sequence announced: the frame behind is found."""
    for path in sorted((shared / "samples" / "wifi").glob("radiotap_*.bin")):
        head = path.read_bytes()
        record = head[: struct.unpack_from("<H", head, 2)[0]] + wifi.ack() + bytes(4)
        whole = wifi.content([]) + struct.pack("<IIII", 1, 0, len(record), len(record)) + record
        made = tmp_path / "one.pcap"
        made.write_bytes(whole)
        assert parse(str(made)).source.details["packets_by_kind"] == {"ack": 1}, path


def tshark(path: Path, *fields: str, only: str = "wlan") -> list[list[str]]:
    words = ["tshark", "-r", str(path), "-Y", only, "-T", "fields", *(f"-e{field}" for field in fields)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return [line.split("\t") for line in done.stdout.splitlines()]


def counted(path: Path) -> tuple[Counter[int], int, int]:
    """tshark's frames by type and subtype, its retries, and its protected frames."""
    rows = tshark(path, "wlan.fc.type_subtype", "wlan.fc.retry", "wlan.fc.protected")
    kinds = Counter(int(row[0].split(",")[0], 0) for row in rows)
    yes = ("True", "1")
    return kinds, sum(row[1] in yes for row in rows), sum(row[2] in yes for row in rows)


def check_against_tshark(path: Path) -> None:
    counts = native.read_wifi(str(path)).facts["counts"]
    kinds, retries, protected = counted(path)
    assert sorted(counts["kinds"].values()) == sorted(kinds.values())
    assert (counts["retries"], counts["protected"]) == (retries, protected)


@TSHARK
def test_counts_of_the_samples_equal_tshark(shared: Path) -> None:
    paths = sorted((shared / "samples" / "wifi").glob("*.pcap"))
    assert paths
    for path in paths:
        check_against_tshark(path)


@TSHARK
@pytest.mark.parametrize("link_type", HEADERS)
def test_counts_of_made_captures_equal_tshark(link_type: int, tmp_path: Path) -> None:
    heard = [
        *busy(20, 4),
        Heard(9000, data(30, flags=RETRY)),
        Heard(9100, wifi.null(True)),
        Heard(9200, wifi.block_ack(1, 3)),
        Heard(9300, wifi.management(12, b"\3\0")),
        Heard(9400, data(31, bytes(60), flags=wifi.PROTECTED)),
    ]
    check_against_tshark(capture(tmp_path / "air.pcap", heard, link_type))


@TSHARK
def test_airtime_equals_tshark(tmp_path: Path) -> None:
    for rate in RATES_BPS:
        frames, path = Frames(rate), tmp_path / f"{rate}.pcap"
        with RadiotapWriter(str(path), 0, frames.rate_bps, frames.ack_rate_bps) as writer:
            for number in range(8):
                packet = bytes([0x45]) + bytes(37 * number + 19)
                writer.write(10**9 + number * 10**7, 0, frames.data(0, packet, number, retry=False))
        radio = parse(str(path)).tables["link_radio"]
        assert set(radio["rate_bps"].tolist()) == {rate}
        theirs = [int(row[0]) for row in tshark(path, "wlan_radio.duration")]
        assert len(theirs) == 8
        ours = radio["airtime_ns"].tolist()
        assert all(abs(one / 1000 - other) < 1 for one, other in zip(ours, theirs, strict=True)), rate


def test_a_measurement_of_nothing_but_the_air(tmp_path: Path) -> None:
    path = capture(tmp_path / "air.pcap", busy(1, 5))
    measurement = mt.read(path)
    assert measurement.entities == ["sta", "ap"]
    assert measurement.link_type(0).name == "wifi"


@pytest.mark.parametrize("missed", [0.0, 0.02, 0.1])
def test_packets_of_encrypted_frames_by_length_order_and_arrival(missed: float) -> None:
    """Of 600 packets, mostly of one length: hardly any is taken for another, whatever the monitor missed."""
    chance = np.random.default_rng(7)
    size = np.where(chance.random(600) < 0.8, 1500, chance.integers(52, 1400, 600))
    left = np.cumsum(1e6 + chance.exponential(1e6, 600)).astype(np.int64)
    lost = chance.random(600) < 0.02
    arrived = np.where(lost, -1, left + 4_000_000 + chance.integers(0, 800_000, 600))
    seen = np.flatnonzero(chance.random(600) >= missed)
    heard = np.where(lost[seen], -1, left[seen])
    found = by_arrival(seen % 4096, size[seen], heard, size, arrived)
    known = found.packet >= 0
    assert np.count_nonzero(found.packet[known] != seen[known]) <= 0.01 * len(seen)
    assert np.count_nonzero(known) >= 0.9 * len(seen)
    assert np.count_nonzero(found.packet[found.sure] != seen[found.sure]) <= 0.002 * len(seen)
    assert found.agreement > 0.95
    assert found.complete == (missed == 0)
    nothing = by_arrival(seen % 4096, size[seen], np.full(len(seen), -1), size, arrived)
    assert (nothing.packet == -1).all()
    assert nothing.agreement == 0


def test_behind_a_drop_arrivals_tell_frames_apart() -> None:
    """A queue drops packets of a transfer of one length: every frame has its own all the same."""
    chance = np.random.default_rng(11)
    size = np.full(400, 1500)
    left = np.cumsum(1e6 + chance.exponential(4e5, 400)).astype(np.int64)
    dropped = chance.random(400) < 0.02
    arrived = np.where(dropped, -1, left + 5_000_000 + chance.exponential(1e6, 400).astype(np.int64))
    arrived[~dropped] = np.maximum.accumulate(arrived[~dropped])
    sent = np.flatnonzero(~dropped)
    found = by_arrival(np.arange(len(sent)) % 4096, size[sent], left[sent], size, arrived)
    assert dropped.any()
    assert found.packet.tolist() == sent.tolist()
    assert found.sure.mean() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_equal_packets_at_equal_distances_are_not_taken_for_their_neighbours(seed: int) -> None:
    """Bare ACKs: many arrive as late as the next one would be on time, so that its delay looks usual, too."""
    chance, count = np.random.default_rng(seed), 430
    step = 2_080_000 + chance.normal(0, 60_000, count)
    left = np.cumsum(step + (chance.random(count) < 0.1) * chance.exponential(5e6, count)).astype(np.int64)
    late = np.where(chance.random(count) < 0.6, chance.exponential(3e5, count), step)
    arrived = np.maximum.accumulate(left + 5_190_000 + late.astype(np.int64))
    size = np.full(count, 52)
    found = by_arrival(np.arange(count), size, left, size, arrived)
    assert found.packet.tolist() == list(range(count))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("late_ms", [2.0, 5.0])
def test_where_one_late_packet_makes_others_late_no_delay_is_usual(seed: int, late_ms: float) -> None:
    """None is taken for certain that is another, though the least delay hardly occurs."""
    chance, count = np.random.default_rng(seed), 400
    steps = chance.choice([1.2, 5.0], count, p=[0.6, 0.4]) + chance.exponential(0.3, count)
    left = np.cumsum(steps * 1e6).astype(np.int64)
    arrived = np.maximum.accumulate(left + ((5 + chance.exponential(late_ms, count)) * 1e6).astype(np.int64))
    size = np.full(count, 52)
    size[::29] = 64
    lost = chance.random(count) < 0.02
    heard, arrived = np.where(lost, -1, left), np.where(lost, -1, arrived)
    found = by_arrival(np.arange(count), size, heard, size, arrived)
    sure = np.flatnonzero(found.sure)
    assert found.packet[sure].tolist() == sure.tolist()
    assert len(sure) > 0.7 * count


def test_behind_a_drop_sizes_alone_are_no_proof() -> None:
    """Five packets of one length, the third dropped by a queue: which of them a frame carries is a guess."""
    first = np.arange(5) * 100
    placed = Placement(np.arange(5), first, first + 100, first * 0, PLAIN, 5, 0, first >= 0)
    frames = {"offset": first[:4]}
    dropped = SimpleNamespace(
        first=frames, received_ns=np.array([1, 2, 4, 5]), arrived_ns=np.array([1, 2, -1, 4, 5])
    )
    assert in_doubt(dropped, placed).error.tolist() == [0, 0, 100, 100, 100]
    given_up = SimpleNamespace(
        first={"offset": first}, received_ns=np.array([1, 2, -1, 4, 5]), arrived_ns=np.array([1, 2, -1, 4, 5])
    )
    assert in_doubt(given_up, placed) is placed
    unseen = SimpleNamespace(first={"offset": first}, received_ns=first + 1, arrived_ns=first * 0 - 1)
    assert in_doubt(unseen, placed) is placed
