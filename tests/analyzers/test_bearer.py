"""Radio bearers: polls, reports, reordering and discards as the lab knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_lab import SECOND, tcp
from support_rlc import in_udp, pcap, record

import multitracer as mt
from multitracer.model.analysis import Result

MS = 1_000_000
LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.03, "p_good_to_bad": 0.01, "loss_bad": 0.8}
BEARER = {"air": LOSSY, "tti_ms": 5, "payload_bytes": 120, "pdus_per_tti": 3, "max_retransmissions": 1000}
WAYS = (0, 1)


def packets(count: int = 120, step_ns: int = 12 * MS) -> list[tuple[int, int, bytes]]:
    """Segments down, acknowledgements up."""
    found = []
    for at in range(count):
        t_ns = SECOND + at * step_ns
        found.append((t_ns, 1, tcp(1 + at * 500, 1, bytes([at % 251]) * 500, ip_id=at)))
        found.append((t_ns + 5 * MS, 0, tcp(1, 1 + at * 500, ip_id=at, ports=(80, 1025))))
    return found


def answer(path: Path) -> tuple[mt.Measurement, Result]:
    m = mt.read(path)
    return m, mt.analyze(m, only=["bearer"]).results["bearer"]


def of(result: Result, name: str) -> dict[str, Any]:
    (found,) = (way for way in result.summary["directions"] if way["entity"] == name)
    return dict(found)


def events(outcome: Any, what: str, side: int) -> list[dict[str, Any]]:
    return [e for e in outcome.link.truth.events if e["what"] == what and e["side"] == side]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "more", [{}, {"resegment_bytes": 50}, {"harq_jitter_ms": 20}, {"window": 600, "resegment_bytes": 100}]
)
def test_delays_are_those_of_the_record(tmp_path: Path, seed: int, more: dict[str, Any]) -> None:
    outcome, _, capture = record(tmp_path, {**BEARER, **more}, packets(), seed)
    counts = outcome.link.truth.counts
    m, result = answer(capture)
    polls, gaps = result.tables["polls"], result.tables["reorderings"]
    for side, name in enumerate(("ue", "bs")):
        way, entity, peer = of(result, name), m.entities.index(name), m.entities.index(("bs", "ue")[side])
        mine = polls.where(polls["entity"] == entity)
        assert way["polls"]["sent"] == counts["polls"][side] == len(mine)
        told = sorted((e["asked_ns"], e["t_ns"]) for e in events(outcome, "poll_answered", side))
        answered = mine["end_ns"] >= 0
        assert (
            list(zip(mine["t_ns"][answered].tolist(), mine["end_ns"][answered].tolist(), strict=True)) == told
        )
        assert way["polls"]["answered"] == len(told)
        filled = gaps.where((gaps["entity"] == peer) & (gaps["end_ns"] >= 0))
        true = sorted((e["opened_ns"], e["t_ns"]) for e in events(outcome, "gap_filled", 1 - side))
        assert sorted(zip(filled["t_ns"].tolist(), filled["end_ns"].tolist(), strict=True)) == true
        assert way["reordering"]["overtaken"] == way["reordering"]["filled"] == len(true) > 0
        # Reported at the earliest when the receiver has waited for it.
        assert way["reordering"]["reported_ms"] is None or way["reordering"]["reported_ms"]["min"] >= 40
        again = way["segmentation"]["segments_again"]
        assert again == counts.get("segments_sent_again", [0, 0])[side]
        assert (way["segmentation"]["resegmented"] > 0) == (again > 0)
        assert way["discards"]["total"] == way["discards"]["pdus_unconfirmed"] == 0
    assert ("resegment_bytes" in more) == (of(result, "bs")["segmentation"]["segments_again"] > 0)
    assert not [issue for issue in m.issues if issue.code != "missing-handshake"]


@pytest.mark.parametrize("forwards", [True, False])
@pytest.mark.parametrize("discard_ms", [0, 150])
def test_what_was_given_up(tmp_path: Path, forwards: bool, discard_ms: int) -> None:
    chosen = {
        **BEARER,
        "pdus_per_tti": 2,
        "handover_at_s": [0.4, 1.1],
        "handover_ms": 200,
        "handover_forwards": forwards,
        "discard_ms": discard_ms,
    }
    outcome, _, capture = record(tmp_path, chosen, packets(150), 5)
    truth = outcome.link.truth
    _, result = answer(capture)
    for side, name in enumerate(("ue", "bs")):
        found = of(result, name)["discards"]
        lost = truth.counts.get("packets_lost", [0, 0])[side]
        discarded = truth.counts.get("packets_discarded", [0, 0])[side]
        # The lab's receiver drops what it holds; others deliver it.
        assert found["total"] == found["unsent"] + found["reset"] + found["held"] == lost + discarded
        assert found["certain"] == (not found["held"])
        # What a reset finds in the queue of RLC has a number, but was in no PDU.
        assert found["unsent"] >= discarded
        assert found["unsent"] == discarded or not forwards
        assert len(outcome.received(side)) + lost + discarded == len(outcome.sent[side])
    if discard_ms:
        assert truth.counts["packets_discarded"][1] > 5
    assert forwards or sum(truth.counts["packets_lost"]) > 0


def test_numbers_of_transmissions(tmp_path: Path) -> None:
    outcome, _, capture = record(tmp_path, {**BEARER, "air_up": {"kind": "perfect"}}, packets(), 3)
    _, result = answer(capture)
    for side, name in enumerate(("ue", "bs")):
        pdus = of(result, name)["pdus"]
        again = outcome.link.truth.counts.get("link_retransmissions", [0, 0])[side]
        histogram = {int(times): count for times, count in pdus["by_transmissions"].items()}
        assert sum(histogram.values()) == pdus["sent"]
        assert sum((times - 1) * count for times, count in histogram.items()) == again
        assert sum(count for times, count in histogram.items() if times > 1) == pdus["again"]
        assert max(histogram) == pdus["transmissions_max"]
    down = of(result, "bs")
    assert down["sdus"]["sent"] == 120
    assert down["sdus"]["again"] <= down["pdus"]["again"]
    assert down["sdus"]["transmissions_max"] == down["pdus"]["transmissions_max"] > 1


def test_reports_are_counted_with_their_nacks(tmp_path: Path) -> None:
    _, log, capture = record(tmp_path, BEARER, packets(), 2)
    _, result = answer(capture)
    heard = [line.split() for line in log.read_text().splitlines()[1:]]
    for name in ("ue", "bs"):
        told = [
            words[3]
            for words in heard
            if words[1] == name and words[2] == "rcv" and words[3] in ("RR", "SREJ")
        ]
        reports = of(result, name)["reports"]
        assert (reports["count"], reports["nacks"]) == (told.count("RR"), told.count("SREJ"))
        assert 0 < reports["with_nacks"] <= min(told.count("RR"), told.count("SREJ"))


def rlc_nr(uplink: bool, mode: int, pdu: bytes) -> bytes:
    return in_udp(b"rlc-nr" + bytes([mode, 12, 2, not uplink, 3, 0, 1, 4, 5, 5, 1, 1]) + pdu)


def test_one_end_alone_does_not_tell_of_reordering(tmp_path: Path) -> None:
    pdus = [rlc_nr(True, 4, bytes([0xC0, sn]) + b"abc") for sn in (0, 1, 2)]
    path = tmp_path / "air.pcap"
    path.write_bytes(pcap(149, [*pdus, rlc_nr(False, 4, bytes([0, 2, 0x80, 0, 0x10])), pdus[1]]))
    _, result = answer(path)
    way = of(result, "ue")
    assert way["reordering"] is None
    # SN 2 is not acknowledged yet: nothing has answered.
    assert way["polls"] == {"sent": 4, "answered": 2, "delay_ms": way["polls"]["delay_ms"]}
    assert way["pdus"]["by_transmissions"] == {"1": 2, "2": 1}
    assert way["reports"]["nacks"] == 1


def test_unacknowledged_mode_has_rows_of_its_own(tmp_path: Path) -> None:
    whole = rlc_nr(False, 2, b"\x00" + b"z" * 9)
    parts = [rlc_nr(False, 2, bytes([0x40, sn]) + b"ab") for sn in (5, 6, 9)]
    path = tmp_path / "um.pcap"
    path.write_bytes(pcap(149, [whole, *parts]))
    m, result = answer(path)
    assert m.link_type(0).name == "rlc-nr-um"
    assert not m.link_type(0).tells("attempts")
    frames = m.table("link_frames")
    assert frames["ns"].tolist() == [-1, 5, 6, 9]
    assert frames["offset"].tolist() == [0, 9, 11, 13]
    assert result.summary["mode"] == "um"
    lost = of(result, "bs")["discards"]
    assert (lost["unfilled"], lost["total"], lost["certain"]) == (2, 2, False)
    seen = m.table("link_events")
    assert seen["nr"].tolist() == [7, 8]
    assert set(seen.words("kind")) == {"unseen"}
    assert not m.issues


def test_attempts_of_harq(tmp_path: Path) -> None:
    def block(retx: int, sn: int) -> bytes:
        context = bytes([1, 0, 3, 2, 0, 70, 3, 0, 1, 6, retx, 7, 1, 1])
        return context + bytes([0x01, 0x88, sn, 1, 2, 3])

    path = tmp_path / "mac.pcap"
    path.write_bytes(pcap(147, [block(0, 0), block(0, 1), block(1, 1), block(2, 1), block(0, 2)]))
    m, result = answer(path)
    assert of(result, "ue")["harq"] == {
        "blocks": 5,
        "again": 2,
        "attempts_max": 3,
        "by_attempt": {"1": 3, "2": 1, "3": 1},
    }
    assert of(result, "ue")["pdus"] == {
        "sent": 3,
        "again": 0,
        "transmissions_mean": 1.0,
        "transmissions_max": 1,
        "by_transmissions": {"1": 3},
    }
    assert not np.any(m.table("link_frames")["attempt"])
