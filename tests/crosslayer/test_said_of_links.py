"""Sentences about radio bearers and the air: as the lab's record has it, silent where nothing is known."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import support_wifi as wifi
from support_lab import SECOND, Outcome
from support_rlc import download, raw_pcap, record
from support_wifi import RETRY, Heard, data, exchange

import multitracer as mt

MS = 1_000_000
LATE_NS = 200_000
BEARER: dict[str, Any] = {
    "max_retransmissions": 1000,
    "tti_ms": 5,
    "pdus_per_tti": 8,
    "payload_bytes": 200,
}
LOSSY = {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "loss_bad": 0.9}
# For Wi-Fi, a packet with its 14-byte LLC and QoS header; 1 and 11 Mbit/s with the long preamble.
PREAMBLE_US = 192
SLOW, FAST = 2, 22


def said(m: mt.Measurement) -> dict[str, dict[str, Any]]:
    result = mt.analyze(m).results["diagnosis"]
    return {one["kind"]: one for one in result.summary.get("sentences", [])}


def download_over(folder: Path, settings: dict[str, Any], seed: int) -> tuple[Outcome, mt.Measurement]:
    """A bearer and a capture at the base station."""
    packets = download(seed)
    outcome, log, capture = record(folder, settings, packets, seed)
    log.unlink()
    sent = [(t_ns, one) for t_ns, side, one in packets if side == 1]
    came = [(one.t_ns + LATE_NS, one.packet) for one in outcome.deliveries if one.side == 1]
    (folder / "snd.pcap").write_bytes(raw_pcap(sent + came, 0))
    return outcome, mt.read(folder / "snd.pcap", capture)


def events(outcome: Outcome, what: str, side: int) -> list[dict[str, Any]]:
    return [one for one in outcome.link.truth.events if one["what"] == what and one["side"] == side]


def covered_s(spans: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Seconds that spans cover together, and the longest stretch of them."""
    joined: list[list[int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    lengths = [(end - start) / 1e9 for start, end in joined]
    return sum(lengths), max(lengths)


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) / (1000 if unit == "ms" else 1)


@pytest.mark.parametrize("seed", [2, 5])
def test_what_a_bearer_sent_again_is_that_of_the_record(tmp_path: Path, seed: int) -> None:
    outcome, m = download_over(tmp_path, {**BEARER, "air": LOSSY}, seed)
    one = said(m)["bearer_repeats"]
    found = re.search(
        r"bs to ue sent (\d+) of (\d+) PDUs .* for ([\d.]+ m?s) of ([\d.]+ m?s)(?:, up to ([\d.]+ m?s))?",
        one["text"],
    )
    assert found is not None, one["text"]
    pdus = mt.analyze(m, only=["bearer"]).results["bearer"].summary["directions"]
    (way,) = (way for way in pdus if way["entity"] == "bs")
    assert (int(found[1]), int(found[2])) == (way["pdus"]["again"], way["pdus"]["sent"])
    whole, longest = covered_s((e["opened_ns"], e["t_ns"]) for e in events(outcome, "gap_filled", 0))
    assert seconds(found[3]) == pytest.approx(whole, rel=0.06)
    assert seconds(found[5] or found[3]) == pytest.approx(longest, rel=0.06)
    waits = [(e["t_ns"] - e["asked_ns"]) / 1e9 for e in events(outcome, "poll_answered", 1)]
    if poll := re.search(r"[Aa] poll waited ([\d.]+ m?s)", one["text"]):
        assert seconds(poll[1]) == pytest.approx(max(waits), rel=0.06)
    else:
        assert max(waits) < max(0.1, 3 * sorted(waits)[len(waits) // 2])
    assert one["cost_s"] == 0
    assert one["evidence"]
    assert {e["record"] for e in one["evidence"]} <= set(m.table("rlc_pdus")["record"].tolist())


def test_nothing_is_said_of_a_bearer_that_lost_nothing(tmp_path: Path) -> None:
    _, m = download_over(tmp_path, dict(BEARER), 3)
    assert not [kind for kind in said(m) if kind.startswith("bearer")]


def test_what_a_bearer_gave_up_is_that_of_the_record(tmp_path: Path) -> None:
    slow = {**BEARER, "air": LOSSY, "pdus_per_tti": 2, "discard_ms": 100}
    outcome, m = download_over(tmp_path, slow, 4)
    discarded = len(events(outcome, "packet_discarded", 1))
    assert discarded > 0
    one = said(m)["bearer_discards"]
    assert f"gave up {discarded} packets before sending a byte (PDCP skipped their numbers)" in one["text"]
    assert one["evidence"]


def upload(retries: int, rate: int = FAST, packets: int = 60, every_us: int = 4000) -> list[Heard]:
    """TCP up to the access point, every frame sent again so many times, and its ACKs."""
    heard: list[Heard] = []
    for n in range(packets):
        body, t_us = wifi.segment(1 + n * 1000, 1000), n * every_us
        for attempt in range(retries + 1):
            frame = data(n, body, flags=RETRY if attempt else 0)
            heard += [one._replace(rate=rate) for one in exchange(t_us, frame, answered=attempt == retries)]
            t_us += 1300
        heard += exchange(n * every_us + 3500, data(n, acknowledgement(1 + (n + 1) * 1000), down=True))
    return sorted(heard)


def acknowledgement(number: int) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 5001, 40000, 1, number, 0x50, 0x10, 65535, 0, 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40, number % 65536, 0, 64, 6, 0)
    return wifi.LLC_IP + head + bytes([10, 0, 0, 2, 10, 0, 0, 1]) + tcp


def heard_by(folder: Path, frames: list[Heard], link_type: int = wifi.RADIOTAP) -> mt.Measurement:
    return mt.read(wifi.capture(folder / "wifi.pcap", frames, link_type))


def test_airtime_of_repeats(tmp_path: Path) -> None:
    kinds = said(heard_by(tmp_path, upload(1)))
    text = kinds["air_retries"]["text"]
    assert text.startswith("50% of the airtime of sta went into retransmitted frames")
    assert "a frame up to 2 times" in text
    # 60 frames of 26 + 8 + 1040 bytes and a check sequence, at 11 Mbit/s.
    spent = 60 * (PREAMBLE_US + (26 + 8 + 1040 + 4) * 8 / 11) / 1000
    told = re.search(r": (\d+) ms of the", text)
    assert told is not None
    assert int(told[1]) == pytest.approx(spent, abs=1.0)
    assert kinds["air_retries"]["evidence"]
    assert not kinds.keys() & {"air_busy", "air_slow"}


def test_nothing_is_said_of_an_air_without_repeats_or_of_unknown_airtime(tmp_path: Path) -> None:
    for frames, link_type in ((upload(0), wifi.RADIOTAP), (upload(1), wifi.BARE)):
        assert not [kind for kind in said(heard_by(tmp_path, frames, link_type)) if kind.startswith("air")]


def test_others_that_had_the_air(tmp_path: Path) -> None:
    # A stranger's frames of 1500 bytes, at 1 Mbit/s: 12.4 ms each, one in every 16 ms.
    long = bytearray(data(1, bytes(1500)))
    long[10:16] = wifi.STRANGER
    mine = upload(0, every_us=16_000)
    others = [Heard(n * 16_000 + 4000, bytes(long), rate=SLOW) for n in range(60)]
    text = said(heard_by(tmp_path, sorted([*mine, *others])))["air_busy"]["text"]
    told = re.search(r"busy for (\d+)% of the transfer, (\d+)% with frames of others and ([\d.]+)%", text)
    assert told is not None, text
    foreign = (PREAMBLE_US + (26 + 1500 + 4) * 8) / 16_000
    assert int(told[2]) == pytest.approx(100 * foreign, abs=2)
    assert float(told[1]) == pytest.approx(float(told[2]) + float(told[3]), abs=1.1)


def test_slow_rates(tmp_path: Path) -> None:
    half = upload(0, packets=40)
    slow = [one._replace(rate=SLOW) if one.frame[1] & 1 and n % 3 == 0 else one for n, one in enumerate(half)]
    text = said(heard_by(tmp_path, [*slow]))["air_slow"]["text"]
    assert "was spent at 1 Mbit/s or less, although some of its frames went at 11 Mbit/s" in text


def test_a_station_that_slept(tmp_path: Path) -> None:
    """A download: what comes in while the station dozes is sent when it is awake."""
    packets, heard = 40, list[Heard]()
    host: list[tuple[int, bytes]] = []
    for n in range(packets):
        body = wifi.segment(1 + n * 1000, 1000)
        came = n * 10_000
        went = 250_000 + 1500 * n if 100_000 <= came < 250_000 else came + 1000
        went = max(went, heard[-1].t_us + 1200 if heard else 0)
        heard += exchange(went, data(n, body, down=True))
        ip = body[8:]
        host.append(((wifi.BEGIN_NS + came * 1000), ip))
        ack = acknowledgement(1 + (n + 1) * 1000)
        heard += exchange(went + 1300, data(n, ack))
        host.append((wifi.BEGIN_NS + (went + 2300) * 1000, ack[8:]))
    heard += [Heard(99_000, wifi.null(True)), Heard(249_500, wifi.null(False))]
    wifi.capture(tmp_path / "wifi.pcap", sorted(heard))
    (tmp_path / "snd.pcap").write_bytes(raw_pcap(host, 0))
    declared = '[sources."snd.pcap"]\npoint = "snd"\n'
    (tmp_path / "measurement.toml").write_text(declared, encoding="utf-8")
    one = said(mt.read(tmp_path))["xoff"]
    assert re.match(
        r"the station slept 1 time, 1[45]\d ms in all \(power save\): 15 segments had to wait for it, up to "
        r"165 ms",
        one["text"],
    ), one["text"]


def test_wait_times_are_in_seconds() -> None:
    assert covered_s([(0, SECOND), (SECOND // 2, 2 * SECOND), (3 * SECOND, 3 * SECOND + MS)]) == (2.001, 2.0)
