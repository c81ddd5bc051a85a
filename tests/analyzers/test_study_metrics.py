"""Metrics of parameter studies: transfers by hand with known answers, ns-2's own totals, the samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_measurement import MS, ack, data, measurement, sample_folder, table

import multitracer as mt
from multitracer.analyzers import energy, fairness, goodput, idle_losses, rtt_deviation
from multitracer.cli.main import main
from multitracer.model import schema
from multitracer.model.analysis import Result
from multitracer.model.arrays.statistics import jain, smoothed, standard_deviation
from multitracer.model.schema.results import IDLE_CAUSES, IDLE_PHASES, SEGMENT_FATES
from multitracer.model.schema.studies import STUDY_SCHEMAS
from multitracer.model.table import Table

DATA = Path(__file__).parents[1] / "data"
MANET = DATA / "formats" / "ns2" / "manet.tr.gz"


def lossy() -> list[dict[str, Any]]:
    """Four segments: the second is lost and sent again, the third arrives twice, the fourth damaged."""
    sent = [data(0, 1), data(1, 61), data(2, 121), data(3, 181)]
    again = [data(50, 61), data(51, 121), data(52, 181)]
    arrived = [data(10, 1), data(12, 121), data(13, 181, checksum=2), data(60, 61), data(61, 121)]
    return sent + again + [row | {"source": 1} for row in arrived] + [ack(80, 181)]


def test_goodput_counts_each_byte_once_and_no_damaged_one() -> None:
    found = goodput.run(measurement(lossy()), {}).summary
    assert (found["sent_bytes"], found["received_bytes"]) == (7 * 60, 3 * 60)
    assert found["value"] == round(3 / 7, 6)
    (entry,) = found["connections"]
    assert (entry["sent_segments"], entry["received_segments"]) == (7, 3)


def test_goodput_of_partly_overlapping_segments() -> None:
    rows = [data(0, 1, 100), data(1, 51, 100), data(5, 1, 100) | {"source": 1}]
    rows.append(data(6, 51, 100) | {"source": 1})
    assert goodput.run(measurement(rows), {}).summary["received_bytes"] == 150


def test_goodput_of_a_connection_whose_data_flows_back() -> None:
    # What the capture at the "receiver" sees first was sent there.
    rows = [data(0, 1) | {"source": 1}, data(1, 61) | {"source": 1}, data(9, 1)]
    assert goodput.run(measurement(rows), {}).summary["value"] == 0.5


def test_goodput_needs_both_ends() -> None:
    analysis = mt.analyze(measurement(lossy(), rcv=None), only=["goodput"])
    assert analysis.goodput.inconclusive == "needs a capture next to the data receiver"
    only_sent = measurement([data(0, 1), ack(5, 61)])
    assert "both captures" in str(goodput.run(only_sent, {}).inconclusive)


def rated(*rates: tuple[float | None, float, str]) -> dict[str, Result]:
    """Connections from 0 s, each with its goodput, the time of its last ACK, and how it closed."""
    entries = [
        {"conn": number, "goodput_bps": rate, "start": 0.0, "end": end}
        for number, (rate, end, _) in enumerate(rates)
    ]
    entries.append({"conn": len(rates), "goodput_bps": None, "start": None, "end": None})
    states = [{"index": number, "closed": closed} for number, (_, _, closed) in enumerate(rates)]
    return {
        "throughput": Result("throughput", {"connections": entries}),
        "connections": Result("connections", {"connections": states}),
    }


def test_fairness_by_hand() -> None:
    results = rated((1000.0, 10.0, "fin"), (2000.0, 8.0, "fin"), (3000.0, 10.0, "open"))
    found = fairness.run(measurement(lossy()), results).summary
    assert found["flows"] == 3
    assert found["value"] == round(6000**2 / (3 * 14e6), 6)
    assert (found["goodput_mean_bps"], found["goodput_std_bps"]) == (2000, 1000)
    assert found["relative_std"] == 0.5


def test_who_stands_still_until_the_end_got_less() -> None:
    found = fairness.run(measurement(lossy()), rated((1000.0, 10.0, "fin"), (1000.0, 5.0, "open"))).summary
    assert (found["goodput_min_bps"], found["goodput_max_bps"]) == (500, 1000)
    starved = fairness.run(measurement(lossy()), rated((1000.0, 10.0, "open"), (None, 0.0, "open"))).summary
    assert (starved["flows"], starved["value"], starved["goodput_min_bps"]) == (2, 0.5, 0)


def test_who_got_more_of_about_the_same_ended_sooner_and_counts() -> None:
    """Three carry 10, 9 and 4 kbit; the last has another, short, errand of 2."""
    all_s = [(1000.0, 10.0, "fin"), (3000.0, 3.0, "fin"), (2000.0, 2.0, "fin")]
    found = fairness.run(measurement(lossy()), rated(*all_s, (2000.0, 1.0, "fin"))).summary
    assert (found["flows"], found["left_out"], found["goodput_max_bps"]) == (3, 1, 3000)


def test_who_had_it_alone_before_the_others_came_did_not_share_it() -> None:
    results = rated((3000.0, 3.0, "fin"), (1000.0, 12.0, "fin"), (1000.0, 12.0, "fin"))
    for one in results["throughput"].summary["connections"][1:3]:
        one["start"] = 2.0
    found = fairness.run(measurement(lossy()), results).summary
    assert (found["flows"], found["left_out"], found["value"]) == (2, 1, 1.0)


@given(
    st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.1, 50.0)), min_size=1, max_size=12),
)
def test_company_is_the_mean_of_what_each_other_was_there(given: list[tuple[float, float]]) -> None:
    spans = [(begin, begin + length) for begin, length in given]
    present = fairness._Presence(spans)
    for one, (begin, end) in enumerate(spans):
        shared = [
            max(min(end, until) - max(begin, since), 0.0)
            for other, (since, until) in enumerate(spans)
            if other != one
        ]
        expected = sum(shared) / (len(shared) * (end - begin)) if shared else 0.0
        assert present.company(begin, end) == pytest.approx(expected, abs=1e-6)


def test_who_was_shut_out_before_its_first_data_got_less() -> None:
    results = rated((1000.0, 10.0, "fin"), (1000.0, 5.0, "fin"))
    results["connections"].summary["connections"][1]["limits"] = {
        "loss_recovery_before_data": 0.5,
        "seconds": 10.0,
    }
    found = fairness.run(measurement(lossy()), results).summary
    assert (found["goodput_min_bps"], found["goodput_max_bps"]) == (500, 1000)


def test_who_came_one_after_the_other_shared_nothing() -> None:
    results = rated(*[(1000.0, float(number + 1), "fin") for number in range(5)])
    for number, one in enumerate(results["throughput"].summary["connections"][:5]):
        one["start"] = float(number)
    found = fairness.run(measurement(lossy()), results)
    assert found.inconclusive == "no two connections competed at the same time"


def test_a_control_connection_is_compared_with_none() -> None:
    """Both wait for their application all the time; one of them carries next to nothing."""
    results = rated((1000.0, 10.0, "fin"), (1.0, 10.0, "fin"))
    for one in results["connections"].summary["connections"]:
        one["limits"] = {"application": 0.9, "seconds": 10.0}
    assert fairness.run(measurement(lossy()), results).inconclusive is not None
    results["throughput"].summary["connections"][1]["goodput_bps"] = 500.0
    assert fairness.run(measurement(lossy()), results).summary["value"] == 0.9


def test_fairness_of_one_and_of_none() -> None:
    found = fairness.run(measurement(lossy()), rated((1000.0, 10.0, "fin"))).summary
    assert (found["flows"], found["value"], found["goodput_std_bps"]) == (1, None, None)
    assert fairness.run(measurement(lossy()), rated()).inconclusive == "needs a connection that sent data"
    unplaced = measurement(lossy(), snd=None, rcv=None)
    # Goodput shows wherever both directions pass.
    assert fairness.run(unplaced, rated((1.0, 1.0, "fin"), (1.0, 1.0, "fin"))).summary["value"] == 1
    assert "next to" in str(rtt_deviation.run(unplaced, {}).inconclusive)


@given(st.lists(st.floats(1.0, 1e9), min_size=2, max_size=50), st.floats(1e-3, 1e3))
def test_jain_lies_between_its_bounds_and_knows_no_unit(rates: list[float], scale: float) -> None:
    index = jain(rates)
    assert index is not None
    assert 1 / len(rates) - 1e-6 <= index <= 1 + 1e-6
    assert jain([scale * rate for rate in rates]) == pytest.approx(index, abs=2e-6)
    spread = standard_deviation(rates)
    assert spread == pytest.approx(float(np.std(rates, ddof=1)), rel=1e-6, abs=1e-3)


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=300))
def test_smoothing_is_the_recursion(values: list[int]) -> None:
    last, expected = 5.0, []
    for value in values:
        last = 0.75 * last + 0.25 * value
        expected.append(last)
    np.testing.assert_allclose(smoothed(np.array(values, dtype=float), 0.25, 5.0), expected, rtol=1e-9)


def test_rtt_deviation_by_the_rules_of_rfc_6298() -> None:
    samples_ms = [100.0, 200.0, 100.0]
    rows = [data(10 * n, 1 + 60 * n, rtt_ns=-1) for n in range(3)]
    rows += [ack(300 + n, 61 + 60 * n, rtt_ns=round(rtt * MS)) for n, rtt in enumerate(samples_ms)]
    rows += [ack(400, 181, rtt_ns=-1)]
    result = rtt_deviation.run(measurement(rows), {})
    (entry,) = result.summary["connections"]
    assert entry["samples"] == 3
    # SRTT before the second and third sample: 100, 112.5
    assert entry["deviation_ms"] == pytest.approx((100 + 12.5) / 2)
    assert entry["deviation_share"] == pytest.approx(56.25 / (400 / 3), abs=1e-6)
    found = result.tables["rtt_samples"]
    srtt, rttvar = [100.0, 112.5, 112.5 * 7 / 8 + 12.5], [50.0, 62.5, 0.75 * 62.5 + 0.25 * 12.5]
    assert (found["rttvar_ns"] / MS).tolist() == pytest.approx(rttvar)
    assert (found["rto_ns"] / MS).tolist() == pytest.approx(
        [s + 4 * v for s, v in zip(srtt, rttvar, strict=True)]
    )


def test_rtt_deviation_without_a_sample() -> None:
    found = rtt_deviation.run(measurement([data(0, 1, rtt_ns=-1), ack(5, 61, rtt_ns=-1)]), {})
    assert found.inconclusive is not None


def idle(*phases: tuple[float, float, str]) -> dict[str, Result]:
    rows = [
        {"t_ns": round(a * MS), "end_ns": round(b * MS), "cause": IDLE_CAUSES.index(word)}
        for a, b, word in phases
    ]
    summary = {"span_s": 1.0, "basis": "estimate from captures"}
    return {"idle_phases": Result("idle_phases", summary, {"idle_phases": table(IDLE_PHASES, rows)})}


def test_idle_share_and_what_it_was_lost_to() -> None:
    results = idle((0, 100, "timeout_wait"), (200, 250, "recovery_stall"), (300, 400, "application"))
    found = idle_losses.run(measurement(lossy()), results).summary
    assert found["value"] == 0.25
    assert found["after_losses"]["share"] == 0.15
    assert (found["segments"], found["retransmissions"]) == (4, 3)
    assert found["lost"] is None


def test_each_loss_is_put_to_what_repaired_it() -> None:
    cause = {word: code for code, word in enumerate(schema.CAUSES)}
    rows = [data(n, 1 + 60 * n) for n in range(6)]
    rows += [data(100, 1, cause=cause["fast"]), data(500, 61, cause=cause["timeout"])]
    rows += [data(501, 121, cause=cause["slow_start"]), data(900, 121, cause=cause["timeout"])]
    rows += [data(950, 181, cause=cause["tail_loss_probe"])]
    m = measurement(rows)
    names = ("t_ns", "record", "conn", "dir", "seq", "length")
    segments = m.table("segments")
    lost_at = [0, 1, 2, 3, 4, 8]  # the last one: the retransmission of byte 121 was lost too
    kept = segments.where(np.array(lost_at))
    fates = Table.filled(
        SEGMENT_FATES, len(kept), {name: kept[name] for name in names} | {"fate": np.zeros(len(kept))}
    )
    results = idle() | {"losses": Result("losses", {}, {"fates": fates})}
    result = idle_losses.run(m, results)
    assert result.summary["lost"] == {"total": 6, "never": 1, "timeout": 3, "fast": 1, "other": 1}
    found = result.tables["lost_segments"]
    last = found["t_ns"] == 501 * MS
    assert found["repaired_ns"][last].tolist() == [900 * MS]


def test_energy_of_an_ns2_run() -> None:
    analysis = mt.analyze(mt.read(MANET))
    found = analysis.energy.summary
    assert [node["node"] for node in found["nodes"]] == [0, 1, 2, 3]
    details = analysis.measurement.sources[0].details["energy_joules"]
    expected = sum(first - last for first, last in details.values())
    assert found["used_j"] == pytest.approx(expected, abs=1e-6)
    received = analysis.goodput.summary["received_bytes"]
    assert found["value"] == pytest.approx(expected / (8e-6 * received), abs=1e-6)
    assert found["basis"] == "received"
    assert np.all(np.diff(analysis.energy.frame()["node"]) > 0)
    assert analysis.to_dict()["energy"]["unit"] == "J/Mbit"


def test_goodput_of_an_ns2_run_is_what_its_agents_counted() -> None:
    totals = json.loads((DATA / "ns2" / "manet-totals.json").read_text())
    found = mt.analyze(mt.read(MANET), only=["goodput"]).goodput.summary
    assert found["sent_bytes"] == totals["ndatabytes_"]
    # Up to a window of segments may be under way at the end.
    assert 0 <= totals["maxseq_"] * 1460 - found["received_bytes"] <= 20 * 1460


def test_energy_without_delivery_and_by_acknowledgments() -> None:
    m = measurement([data(0, 1), ack(5, 61)], rcv=None)
    rows = [
        {"t_ns": t * MS, "source": 0, "record": t + 1, "node": node, "left": left}
        for t, node, left in ((0, 7, 10.0), (1, 8, 5.0), (9, 7, 8.0))
    ]
    m.tables["energy"] = table(schema.ENERGY, rows)
    found = energy.run(m, {}).summary
    assert (found["used_j"], found["value"], found["delivered_bytes"]) == (2.0, None, 0)
    counted = {"connections": Result("connections", {"connections": [{"bytes": {"acked": 250_000}}]})}
    found = energy.run(m, counted).summary
    assert (found["value"], found["basis"]) == (1.0, "acknowledged")


def test_without_energy_the_question_does_not_arise() -> None:
    analysis = mt.analyze(mt.read(sample_folder("local-drops")))
    assert "energy" not in analysis.results
    assert analysis.to_dict()["energy"] is None


def test_tables_of_studies_have_names_of_their_own() -> None:
    assert not set(STUDY_SCHEMAS) & set(schema.SCHEMAS)


def test_the_command_line_tells_energy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(MANET)]) == 0
    shown = capsys.readouterr().out
    assert "J used by 4 nodes" in shown
    assert "Fairness" not in shown  # one flow has nothing to share


def two_flows(path: Path) -> Path:
    """A capture of two connections that deliver 1,000 and 3,000 bytes in one second each."""
    here, there = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    packets = []
    for flow, size in enumerate((1000, 3000)):
        way, back = (
            {"sport": 4000 + flow, "dport": 5001},
            {"sport": 5001, "dport": 4000 + flow},
        )
        for t_s, src, dst, segment in (
            (0.8, here, there, dpkt.tcp.TCP(**way, seq=0, flags=dpkt.tcp.TH_SYN)),
            (0.9, there, here, dpkt.tcp.TCP(**back, seq=0, ack=1, flags=dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK)),
            (0.9, here, there, dpkt.tcp.TCP(**way, seq=1, ack=1, flags=dpkt.tcp.TH_ACK)),
            (1.0, here, there, dpkt.tcp.TCP(**way, seq=1, ack=1, flags=dpkt.tcp.TH_ACK, data=bytes(500))),
            (
                1.1,
                here,
                there,
                dpkt.tcp.TCP(**way, seq=501, ack=1, flags=dpkt.tcp.TH_ACK, data=bytes(size - 500)),
            ),
            (2.0, there, here, dpkt.tcp.TCP(**back, seq=1, ack=1 + size, flags=dpkt.tcp.TH_ACK)),
        ):
            packet = dpkt.ip.IP(src=src, dst=dst, p=dpkt.ip.IP_PROTO_TCP, data=segment)
            packet.len = len(packet)
            packets.append((t_s, bytes(packet)))
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_RAW, nano=True)
        for t_s, raw in sorted(packets, key=lambda one: one[0]):
            writer.writepkt(raw, ts=t_s)
    return path


def test_the_command_line_tells_fairness(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["analyze", str(two_flows(tmp_path / "two.pcap"))]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Jain's index 0.800 over 2 flows; goodput 8 kbit/s (1,000 bytes/s) to 24 kbit/s" in shown


def test_flows_of_one_segment_have_no_rate_to_compare() -> None:
    results = rated((None, 1.0, "fin"), (None, 1.0, "fin"))
    for one in results["connections"].summary["connections"]:
        one["bytes"] = {"acked": 1000}
    assert fairness.run(measurement(lossy()), results).summary == {}
