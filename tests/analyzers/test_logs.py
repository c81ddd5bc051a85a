"""Transfers that only a log tells of: what is summed up, what limited them, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support_format_samples as samples
from support_samples import SAMPLES

import multitracer as mt
from multitracer.model.errors import UsageError

FORMATS = Path(__file__).parent.parent / "data" / "formats"


def transfers(*paths: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = mt.analyze(*paths).to_dict()["other"]["logs"]["transfers"]
    return found


def sentences(*paths: Path) -> dict[str, str]:
    return {one["kind"]: one["text"] for one in mt.analyze(*paths).to_dict()["diagnosis"]}


def iperf3(path: Path, **changes: Any) -> Path:
    document = samples.iperf3_document()
    for part in document["intervals"]:
        part["streams"][0].update(changes)
    path.write_text(json.dumps(document))
    return path


def test_sums_of_a_document_of_iperf3() -> None:
    (one,) = transfers(FORMATS / "iperf3" / "sender.json")
    assert one["bytes"] == 131072 * 21
    assert one["duration_s"] == pytest.approx(3.0)
    assert one["throughput_bps"]["mean"] == round(131072 * 21 * 8 / 3)
    assert one["throughput_bps"]["intervals"] == 6
    assert (one["retransmissions"], one["sends"]) == (3, True)
    assert (one["local"], one["remote"]) == ("10.77.0.1:42244", "10.77.0.2:5201")
    assert one["rtt_ms"]["min"] == 20.0
    assert one["cwnd_bytes"] == {"min": 14480, "median": 18100, "max": 21720, "samples": 6}


def test_intervals_add_up_to_the_summary() -> None:
    analysis = mt.analyze(FORMATS / "iperf3" / "sender.json")
    rows = analysis.results["logs"].tables["log_intervals"]
    assert rows["length"].sum() == 131072 * 21
    assert rows["retransmissions"].sum() == 3
    assert np.allclose(rows["throughput"], rows["length"] * 8e9 / (rows["end_ns"] - rows["t_ns"]))
    assert np.all(rows["t_ns"][1:] == rows["end_ns"][:-1])


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        # 0.5 s, 20 ms, 14,480 bytes: about 579,200 bytes/s fill the window.
        ({"bytes": 290_000}, "log_congestion_window"),
        ({"bytes": 290_000, "snd_cwnd": 10**6, "snd_wnd": 14_000}, "log_receiver_window"),
        ({"bytes": 20_000}, "log_application"),
        ({"bytes": 290_000, "rtt": 0}, "log_unknown"),
    ],
)
def test_the_limit_follows_windows_rtt_and_rate(tmp_path: Path, changes: dict[str, int], kind: str) -> None:
    assert kind in sentences(iperf3(tmp_path / "iperf3.json", **changes))


def test_the_kernels_clocks_decide() -> None:
    (one,) = transfers(SAMPLES / "link-resets-sack" / "ss.log.gz")
    assert one["limits"]["grade"] == "kernel"
    assert sum(one["limits"]["shares"].values()) == pytest.approx(1, abs=2e-3)
    states = mt.read(SAMPLES / "link-resets-sack" / "ss.log.gz").table("tcp_states")
    limited = states["rwnd_limited_ns"][states["rwnd_limited_ns"] >= 0]
    share = (limited[-1] - limited[0]) / (states["t_ns"][-1] - states["t_ns"][0])
    assert one["limits"]["shares"]["receiver_window"] == pytest.approx(share, abs=0.02)


def test_the_log_agrees_with_the_captures_beside_it() -> None:
    """The kernel's counter against bytes and retransmissions that the sender's capture shows."""
    (one,) = transfers(SAMPLES / "link-resets-sack" / "ss.log.gz")
    (captured,) = mt.analyze(SAMPLES / "link-resets-sack").to_dict()["connections"]
    # The log ends with its last sample.
    assert 0.9 * captured["bytes"]["acked"] <= one["bytes"] <= captured["bytes"]["acked"]
    assert one["retransmissions"] <= captured["retransmissions"]["total"]


def test_what_a_capture_holds_is_not_repeated() -> None:
    assert "logs" not in mt.analyze(SAMPLES / "link-resets-sack").to_dict()["other"]


def test_both_ends_of_a_test_know_each_other(tmp_path: Path) -> None:
    sender, receiver = samples.iperf3_document(), samples.iperf3_document()
    for document in (sender, receiver):
        document["start"]["cookie"] = "abcdefgh"
    connected = receiver["start"]["connected"][0]
    for one, other in (("local_host", "remote_host"), ("local_port", "remote_port")):
        connected[one], connected[other] = connected[other], connected[one]
    del receiver["start"]["connecting_to"]
    for part in receiver["intervals"]:
        stream = part["streams"][0]
        stream["sender"] = False
        for key in ("snd_cwnd", "retransmits", "rtt", "snd_wnd", "rttvar"):
            del stream[key]
    paths = [tmp_path / "client.json", tmp_path / "server.json"]
    for path, document in zip(paths, (sender, receiver), strict=True):
        path.write_text(json.dumps(document))
    first, second = transfers(*paths)
    assert (first["other_end"], second["other_end"]) == (1, 0)
    assert (first["sends"], second["sends"], second["counted"]) == (True, False, "read by the application")
    # Of the two, the sender's log is what the diagnosis is about.
    (text,) = (text for kind, text in sentences(*paths).items() if kind != "log_queue")
    assert "2 of" not in text


def test_a_stretch_without_a_byte_is_a_stall() -> None:
    (one,) = transfers(FORMATS / "iperf3-text" / "iperf2.txt")
    assert one["stalls"] == [{"start": 1.0, "end": 2.0, "record": 8}]
    assert "log_stall" in sentences(FORMATS / "iperf3-text" / "iperf2.txt")


@pytest.mark.slow
def test_tests_in_a_directory_are_rows_of_a_batch(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    for at in range(3):
        document = samples.iperf3_document()
        document["start"]["connected"][0]["local_port"] = 40000 + at
        (root / f"run{at}.json").write_text(json.dumps(document))
    found = mt.batch(root, tmp_path / "out")
    assert [row["sender"] for row in found.rows] == [f"10.77.0.1:{40000 + at}" for at in range(3)]
    assert {row["bytes"] for row in found.rows} == {131072 * 21}
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.parametrize("name", ["iperf3/sender.json", "ping/stamped.txt", "mahimahi/cellular.up"])
def test_the_default_figure_of_a_log_is_its_own(name: str, tmp_path: Path) -> None:
    mt.plot(mt.read(FORMATS / name), "multilayer", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_a_log_without_values_over_time_has_no_figure() -> None:
    with pytest.raises(UsageError, match="nothing to"):
        mt.plot(mt.read(FORMATS / "bcc" / "tcpretrans.txt"), "logs")


def drive(path: Path, low: int, seed: int = 1) -> Path:
    """A drive test whose throughput collapses in `low` stretches of weak signal."""
    random = np.random.default_rng(seed)
    lines = ["time,RSRP (dBm),DL throughput (Mbps),noise"]
    for at in range(200):
        weak = any(20 + 60 * one <= at < 40 + 60 * one for one in range(low))
        rsrp, rate = (-115, 2) if weak else (-85, 50)
        values = random.normal(rsrp, 2), random.normal(rate, 0.3), random.normal()
        lines.append(f"{1795249751 + at}," + ",".join(f"{value:.2f}" for value in values))
    path.write_text("\n".join(lines) + "\n")
    (path.parent / "measurement.toml").write_text(
        f'[sources."{path.name}"]\nformat = "csv"\ntime = "time"\n[sources."{path.name}".series]\n'
        'rsrp_dbm = { column = "RSRP (dBm)", layer = "link" }\n'
        'noise = { column = "noise", layer = "link" }\n'
        'throughput_bps = { column = "DL throughput (Mbps)", factor = 1e6 }\n'
    )
    return path.parent


def test_throughput_is_held_beside_numbers_of_the_link(tmp_path: Path) -> None:
    contract = mt.analyze(drive(tmp_path / "drive.csv", 3)).to_dict()
    told = {one["name"]: one["throughput"] for one in contract["other"]["conditions"]["series"]}
    assert told["rsrp_dbm"]["rank_correlation"] > 0.4
    assert -112 < told["rsrp_dbm"]["threshold"] < -80
    assert told["rsrp_dbm"]["stretches"] >= 2
    assert abs(told["noise"]["rank_correlation"]) < 0.4
    assert told["noise"]["threshold"] is None
    (text,) = (one["text"] for one in contract["diagnosis"] if one["kind"] == "condition")
    assert text.startswith("throughput was low while RSRP was below -")


def test_one_stretch_may_be_chance(tmp_path: Path) -> None:
    """A coincidence that happened once is no sentence."""
    kinds = [one["kind"] for one in mt.analyze(drive(tmp_path / "drive.csv", 0)).to_dict()["diagnosis"]]
    assert "condition" not in kinds


def test_an_rtt_of_zero_was_not_measured() -> None:
    (one,) = transfers(FORMATS / "ns2-variables" / "manet.tr.gz")
    assert one["rtt_ms"]["min"] > 0


def udp_document(sends: bool) -> dict[str, Any]:
    """Two streams of three seconds; every fourth packet of the second one is lost."""
    document = samples.iperf3_document()
    document["start"]["test_start"]["protocol"] = "UDP"
    document["intervals"] = []
    for at in range(3):
        streams = []
        for stream in (5, 7):
            lost = 0 if sends or stream == 5 else 25
            streams.append(
                {
                    "socket": stream,
                    "start": float(at),
                    "end": at + 1.0,
                    "seconds": 1.0,
                    "bytes": 1000 * (100 - lost),
                    "bits_per_second": 8000.0 * (100 - lost),
                    "jitter_ms": 0.5,
                    "lost_packets": lost,
                    "packets": 100,
                    "omitted": False,
                    "sender": sends,
                }
            )
        document["intervals"].append({"streams": streams, "sum": {}})
    return document


@pytest.mark.parametrize("streamed", [False, True])
def test_a_udp_test_of_iperf3(tmp_path: Path, streamed: bool) -> None:
    document = udp_document(sends=False)
    text = json.dumps(document)
    if streamed:
        events = [("start", document["start"])] + [("interval", part) for part in document["intervals"]]
        text = "".join(json.dumps({"event": kind, "data": data}) + "\n" for kind, data in events)
    path = tmp_path / "udp.json"
    path.write_text(text)
    first, second = transfers(path)
    assert first["bytes"] == 300_000
    assert first["datagrams"] == {"packets": 300, "lost": 0}
    assert second["bytes"] == 225_000
    assert second["datagrams"] == {"packets": 300, "lost": 75}
    assert (second["sends"], second["duration_s"], second["counted"]) == (
        False,
        3.0,
        "received in UDP packets",
    )
    said = sentences(path)["log_unknown"]
    assert "75 of 600 UDP packets lost (12%)" in said or "75 of 600 UDP packets lost (13%)" in said
    assert "UDP has no window" in said


def test_of_a_udp_sender_alone_losses_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "udp.json"
    path.write_text(json.dumps(udp_document(sends=True)))
    assert [one["datagrams"] for one in transfers(path)] == [{"packets": 300, "lost": None}] * 2
    assert [one["sends"] for one in transfers(path)] == [True, True]
    assert "lost" not in sentences(path)["log_unknown"]
    analysis = mt.analyze(path)
    assert analysis.measurement.sources[0].clock == "realtime"
