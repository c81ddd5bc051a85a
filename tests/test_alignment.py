"""Alignment on the real samples: true clocks are known, because all sources ran on one host."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support_alignment import FILES, HOUR, MS, S, Wrong, bounds, errors, log_of, rewrite, traces, warped
from support_samples import SAMPLE_NAMES, SAMPLES

from multitracer.api.measurement import Measurement, align
from multitracer.model.errors import AlignmentError, UsageError
from multitracer.reading.opening import open_trace

CAPTURES = ("snd.pcap", "rcv.pcap")
BOOT_NS = 1_795_246_858_019_188_000  # what the samples' kernel logs count from, to some microseconds
MIN_RTT_NS = 520 * MS  # no sample has a smaller one than this


def codes(measurement: Measurement) -> set[str]:
    return {issue.code for issue in measurement.issues}


def aligned(
    sample: str, wrong: dict[str, Wrong], files: Sequence[str] = FILES
) -> tuple[Measurement, dict[str, int]]:
    """The measurement, and by file how many rows lie outside of the bound that is stated for it."""
    original = traces(sample, files)
    given = [warped(t, wrong[f]) if f in wrong else t for t, f in zip(original, files, strict=True)]
    measurement = align(given)
    outside = {}
    for index, (name, trace) in enumerate(zip(files, original, strict=True)):
        bound = bounds(measurement, index, trace)
        apart = errors(measurement, index, trace, BOOT_NS if name.startswith("tcp_probe") else 0)
        outside[name] = int((apart > bound + 5_000).sum())
    return measurement, outside


@pytest.mark.parametrize("sample", SAMPLE_NAMES)
class TestSamples:
    def test_truth_is_within_every_bound(self, sample: str) -> None:
        measurement, outside = aligned(sample, {})
        assert not any(outside.values())
        bounds = dict(zip(FILES, (c.uncertainty_ns or 0 for c in measurement.clocks), strict=True))
        assert bounds["snd.pcap"] == 0
        assert max(bounds["rcv.pcap"], bounds["rlp.log.gz"]) < 25 * MS  # a link log beats half of the RTT
        assert bounds["tcp_probe.txt.gz"] < 50_000
        assert "unjoined-source" not in codes(measurement)
        assert "clock-step" not in codes(measurement)
        assert "foreign-flow" not in codes(measurement)

    def test_clocks_of_one_host_stay_as_stamped(self, sample: str) -> None:
        measurement, _ = aligned(sample, {})
        for clock in measurement.clocks[1:3]:
            assert (clock.offset_ns, clock.skew_ppm, clock.method) == (0, 0.0, "as-stamped")

    def test_ack_rule_leaves_microseconds(self, sample: str) -> None:
        measurement, _ = aligned(sample, {})
        clock = measurement.clocks[3]
        assert clock.method == "ack-match"
        assert clock.grade == "accurate"
        assert clock.evidence["matches"] >= 80
        residual = clock.evidence["residual_ns"]
        assert residual["p95"] - residual["p5"] < 40_000

    def test_captures_alone_are_known_to_half_the_round_trip(self, sample: str) -> None:
        measurement, outside = aligned(sample, {}, CAPTURES)
        assert not any(outside.values())
        clock = measurement.clocks[1]
        assert clock.method == "hull"
        assert (clock.uncertainty_ns or 0) <= MIN_RTT_NS / 2
        assert "wide-clock-bound" in codes(measurement)

    def test_points_are_found_by_content(self, sample: str) -> None:
        for files in itertools.permutations(CAPTURES):
            measurement = align(traces(sample, files))
            assert [s.point for s in measurement.sources] == [name[:3] for name in files]
            assert measurement.snd == files.index("snd.pcap")
            assert measurement.rcv == files.index("rcv.pcap")
        for name in CAPTURES:
            (source,) = align(traces(sample, [name])).sources
            assert source.point == name[:3]
            assert "by all evidence" in source.details["point_by"]
            assert source.details["point_evidence"]

    def test_hours_and_skew_of_a_capture(self, sample: str) -> None:
        for wrong in (Wrong(3 * HOUR + 123_456_789), Wrong(-5 * HOUR, 200e-6), Wrong(-5 * HOUR, -200e-6)):
            measurement, outside = aligned(sample, {"rcv.pcap": wrong}, CAPTURES)
            assert not any(outside.values())
            assert (measurement.clocks[1].uncertainty_ns or 0) < MIN_RTT_NS / 2 + 10 * MS
            assert measurement.clocks[1].skew_ppm == pytest.approx(-wrong.skew * 1e6, abs=5)

    def test_hours_and_skew_of_a_capture_beside_a_link_log(self, sample: str) -> None:
        measurement, outside = aligned(sample, {"rcv.pcap": Wrong(-5 * HOUR, 150e-6)})
        assert not any(outside.values())
        assert (measurement.clocks[1].uncertainty_ns or 0) < 25 * MS

    def test_hours_and_skew_of_a_link_log(self, sample: str) -> None:
        measurement, outside = aligned(sample, {"rlp.log.gz": Wrong(-7 * HOUR, -150e-6)})
        assert not any(outside.values())
        clock = measurement.clocks[2]
        assert clock.method == "causality"
        assert clock.skew_ppm == pytest.approx(150, abs=5)
        assert (clock.uncertainty_ns or 0) < 25 * MS

    def test_hours_and_skew_of_a_kernel_log(self, sample: str) -> None:
        measurement, outside = aligned(sample, {"tcp_probe.txt.gz": Wrong(-HOUR, -150e-6)})
        assert not any(outside.values())
        assert measurement.clocks[3].skew_ppm == pytest.approx(150, abs=1)

    def test_hours_of_counters(self, sample: str) -> None:
        measurement, outside = aligned(sample, {"ss.log.gz": Wrong(-HOUR)})
        assert not any(outside.values())
        assert measurement.clocks[4].method == "ack-match"

    @pytest.mark.slow
    def test_every_subset_is_aligned(self, sample: str) -> None:
        for count in range(1, len(FILES) + 1):
            for files in itertools.combinations(FILES, count):
                measurement = align(traces(sample, files))
                events = measurement.events_table()
                assert (np.diff(events["t_ns"]) >= 0).all()
                assert len(measurement.clocks) == count
                assert measurement.clocks[measurement.clocks[0].source].source == 0
                assert sum(clock.grade == "reference" for clock in measurement.clocks) == 1


@pytest.mark.parametrize("sample", ["flow-control", "local-drops", "spurious-timeouts"])
@pytest.mark.parametrize("step_s", [2, -2])
def test_step_of_a_capture(sample: str, step_s: int) -> None:
    measurement, outside = aligned(sample, {"rcv.pcap": Wrong(HOUR, 0.0, step_s * S)}, CAPTURES)
    assert outside["rcv.pcap"] == 0
    (issue,) = [issue for issue in measurement.issues if issue.code == "clock-step"]
    assert issue.path.endswith("rcv.pcap")
    (step,) = measurement.clocks[1].evidence["steps"]
    assert step["offset_change_ns"] == pytest.approx(-step_s * S, abs=60 * MS)


@pytest.mark.parametrize("sample", ["flow-control", "local-drops", "spurious-timeouts"])
def test_step_of_a_link_log(sample: str) -> None:
    measurement, outside = aligned(sample, {"rlp.log.gz": Wrong(-7 * HOUR, 0.0, S)})
    assert not any(outside.values())
    (issue,) = [issue for issue in measurement.issues if issue.code == "clock-step"]
    assert issue.path.endswith("rlp.log.gz")


@pytest.mark.parametrize(
    ("sample", "files", "name", "wrong"),
    [
        ("link-resets-sack", CAPTURES, "rcv.pcap", Wrong(HOUR, 0.0, -2 * S)),
        ("link-resets-sack", CAPTURES, "rcv.pcap", Wrong(HOUR, 0.0, 2 * S, 0.75)),
        ("spurious-timeouts", CAPTURES, "rcv.pcap", Wrong(HOUR, 0.0, 2 * S, 0.75)),
        ("link-resets-vj", FILES, "rlp.log.gz", Wrong(-7 * HOUR, 0.0, S)),
    ],
)
def test_step_inside_a_silence(sample: str, files: Sequence[str], name: str, wrong: Wrong) -> None:
    """What the silence hides is said, and the bound of the records in it covers both sides."""
    measurement, outside = aligned(sample, {name: wrong}, files)
    assert not any(outside.values())
    (step,) = measurement.clocks[files.index(name)].evidence["steps"]
    assert step["offset_change_ns"] == pytest.approx(-wrong.step, abs=600 * MS)
    if "doubtful" in step:
        (issue,) = [issue for issue in measurement.issues if issue.code == "clock-step"]
        assert f"records {step['doubtful'][0]} to {step['doubtful'][1]}" in (issue.detail or "")
        clock = measurement.clocks[files.index(name)]
        inside, before = step["doubtful"][0], step["doubtful"][0] - 1
        assert (clock.uncertainty_at(inside) or 0) > (clock.uncertainty_at(before) or 0) + 900 * MS


def test_some_silences_hide_the_place_of_a_step() -> None:
    measurement, _ = aligned("link-resets-vj", {"rcv.pcap": Wrong(HOUR, 0.0, 2 * S, 0.25)}, CAPTURES)
    assert "doubtful" in measurement.clocks[1].evidence["steps"][0]


def test_delays_of_both_directions_that_jump_together_are_no_step() -> None:
    """In `backoff` a burst on the link delays data and ACKs at once."""
    folder = SAMPLES / "backoff"
    for files in (CAPTURES, FILES):
        measurement = align([open_trace(folder / name) for name in files])
        assert "clock-step" not in codes(measurement)
        apart = errors(measurement, 1, open_trace(folder / "rcv.pcap"))
        assert apart.max() <= (measurement.clocks[1].uncertainty_ns or 0)


def test_tables_are_in_common_terms() -> None:
    measurement = align(traces("flow-control"))
    segments = measurement.table("segments")
    assert segments["t_ns"].dtype == np.int64
    assert set(segments["conn"].tolist()) == {0}
    for name, table in measurement.tables.items():
        assert (np.diff(table["t_ns"]) >= 0).all(), name
    first = segments.where(segments["source"] == measurement.snd)
    assert measurement.t0_ns == first["t_ns"].min()
    states = measurement.table("tcp_states")
    probe = states.where((states["source"] == 3) & (states["dir"] == 0))
    assert (np.diff(probe["snd_una"]) >= 0).all()
    acks = first["ack"][(first["dir"] == 1) & (first["ack"] >= 0)]
    assert set(probe["snd_una"].tolist()) <= set(acks.tolist())
    assert (probe["snd_nxt"] >= probe["snd_una"]).all()
    assert measurement.entities == ["ms", "iwf"]
    assert measurement.sources[2].point == "ms+iwf"


def test_capture_without_handshake_is_rebased(tmp_path: Path) -> None:
    cut = rewrite(SAMPLES / "flow-control" / "rcv.pcap", tmp_path / "cut.pcap", lambda packets: packets[40:])
    measurement = align([open_trace(SAMPLES / "flow-control" / "snd.pcap"), open_trace(cut)])
    (connection,) = measurement.connections
    assert set(connection.summaries) == {0, 1}
    table = measurement.table("segments")
    here, there = (table.where(table["source"] == source) for source in (0, 1))
    numbers = {
        (raw, ack): (seq, rel)
        for raw, ack, seq, rel in zip(here["seq_raw"], here["ack_raw"], here["seq"], here["ack"], strict=True)
    }
    for raw, ack, seq, rel in zip(
        there["seq_raw"], there["ack_raw"], there["seq"], there["ack"], strict=True
    ):
        assert numbers[raw, ack] == (seq, rel)


def test_port_used_again_is_another_connection(tmp_path: Path) -> None:
    import dpkt

    def twice(packets: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
        again = []
        for t, data in packets:
            ip = dpkt.ip.IP(data)
            ip.data.seq = (ip.data.seq + 123_456_789) % 2**32
            if ip.data.flags & dpkt.tcp.TH_ACK:
                ip.data.ack = (ip.data.ack + 123_456_789) % 2**32
            again.append((t + 1000, bytes(ip)))
        return packets + again

    both = [open_trace(rewrite(SAMPLES / "flow-control" / name, tmp_path / name, twice)) for name in CAPTURES]
    measurement = align(both)
    assert len(measurement.connections) == 2
    assert all(set(c.summaries) == {0, 1} for c in measurement.connections)
    table = measurement.table("segments")
    first = [table["t_ns"][table["conn"] == conn].min() for conn in (0, 1)]
    assert first[0] + 900 * S < first[1]


class TestWrongInput:
    def test_same_capture_twice(self) -> None:
        twice = traces("flow-control", ["snd.pcap", "snd.pcap"])
        with pytest.raises(AlignmentError, match="same records"):
            align(twice)

    def test_copy_with_moved_times(self) -> None:
        first, second = traces("flow-control", ["snd.pcap", "snd.pcap"])
        with pytest.raises(AlignmentError, match="same records"):
            align([first, warped(second, Wrong(HOUR))])

    def test_copy_beside_other_sources(self) -> None:
        measurement = align(traces("flow-control", ["snd.pcap", "rcv.pcap", "rcv.pcap"]))
        assert "identical-sources" in codes(measurement)
        assert len(measurement.table("segments")) == 880
        assert [clock.grade for clock in measurement.clocks] == ["reference", "approximate", "unjoined"]

    def test_nothing(self) -> None:
        with pytest.raises(AlignmentError):
            align([])

    @pytest.mark.parametrize("foreign", FILES[1:])
    def test_source_of_another_transfer(self, foreign: str) -> None:
        others = traces("local-drops", [foreign])
        measurement = align(traces("flow-control", ["snd.pcap"]) + others)
        clock = measurement.clocks[1]
        assert (clock.grade, clock.method, clock.uncertainty_ns) == ("unjoined", "none", None)
        assert "unjoined-source" in codes(measurement)

    def test_foreign_flows_are_named(self) -> None:
        measurement = align(traces("flow-control", ["snd.pcap"]) + traces("local-drops", ["ss.log.gz"]))
        assert "foreign-flow" in codes(measurement)
        assert set(measurement.table("tcp_states")["conn"].tolist()) == {-1}


class TestSettings:
    def test_declared_clock_is_taken(self) -> None:
        given = traces("flow-control", CAPTURES)
        settings = {"sources": {"rcv.pcap": {"clock_offset_s": 0.010, "clock_uncertainty_s": 0.002}}}
        clock = align(given, settings).clocks[1]
        assert (clock.offset_ns, clock.uncertainty_ns, clock.method) == (10 * MS, 2 * MS, "declared")

    def test_impossible_clock_is_named(self) -> None:
        given = traces("flow-control", CAPTURES)
        measurement = align(given, {"sources": {"rcv.pcap": {"clock_offset_s": 5.0}}})
        assert measurement.clocks[1].offset_ns == 5 * S
        (issue,) = [issue for issue in measurement.issues if issue.code == "inconsistent-metadata"]
        assert "4." in issue.detail

    def test_swapped_points_are_named(self) -> None:
        settings = {"sources": {"snd.pcap": {"point": "rcv"}, "rcv.pcap": {"point": "snd"}}}
        measurement = align(traces("flow-control", CAPTURES), settings)
        assert [s.point for s in measurement.sources] == ["rcv", "snd"]
        assert (measurement.snd, measurement.rcv) == (1, 0)
        assert sum(issue.code == "inconsistent-metadata" for issue in measurement.issues) == 2
        assert (
            measurement.clocks[0].uncertainty_ns is not None
        )  # what it saw, not its name, orders the packets

    @pytest.mark.parametrize(
        "entry", [{"point": "middle"}, {"clock_offset_s": "1"}, {"clock_offset_s": float("nan")}, 3]
    )
    def test_bad_settings_are_refused(self, entry: object) -> None:
        with pytest.raises(UsageError, match=r"measurement\.toml"):
            align(traces("flow-control", ["snd.pcap"]), {"sources": {"snd.pcap": entry}})


@pytest.mark.parametrize(("there_ms", "back_ms"), [(30, 40), (5, 3), (200, 10)])
@pytest.mark.parametrize("name", CAPTURES)
def test_capture_at_a_distance_from_the_link(name: str, there_ms: int, back_ms: int) -> None:
    capture, log = traces("spurious-timeouts", [name, "rlp.log.gz"])
    segments = capture.tables["segments"]
    into_link = segments["dir"] == (0 if name == "snd.pcap" else 1)
    moved = segments["t_ns"] + np.where(into_link, -there_ms * MS, back_ms * MS)
    capture.tables = {"segments": segments.replace(t_ns=moved)}
    settings = {"sources": {name: {"point": name[:3]}}}  # the shift of times hides it
    clock = align([capture, warped(log, Wrong(HOUR))], settings).clocks[1]
    assert clock.method == "causality"
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + HOUR) <= clock.uncertainty_ns < (there_ms + back_ms) * MS / 2 + 25 * MS


@pytest.mark.parametrize("sample", ["flow-control", "spurious-timeouts"])
def test_two_logs_of_one_link(sample: str, tmp_path: Path) -> None:
    mine = open_trace(log_of(sample, "ms", tmp_path / "ms.log"))
    peer = open_trace(log_of(sample, "iwf", tmp_path / "iwf.log"))
    measurement = align([*traces(sample, ["snd.pcap"]), mine, warped(peer, Wrong(2 * HOUR))])
    for index, trace in ((1, mine), (2, peer)):
        bound = measurement.clocks[index].uncertainty_ns
        assert bound is not None
        assert bound < 250 * MS
        assert errors(measurement, index, trace).max() <= bound


@pytest.mark.parametrize("sample", SAMPLE_NAMES)
def test_sender_kernel_log_beside_the_far_capture(sample: str) -> None:
    far, log = traces(sample, ["rcv.pcap", "tcp_probe.txt.gz"])
    states = log.tables["tcp_states"]
    sender = [i for i, flow in enumerate(log.flows) if flow.remote_port == 5001]
    log.tables = {"tcp_states": states.where(np.isin(states["flow"], sender))}
    clock = align([far, log]).clocks[1]
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns - BOOT_NS) <= clock.uncertainty_ns


@pytest.mark.parametrize(
    ("entity", "action", "capture"), [("ms", "snd", "snd.pcap"), ("iwf", "rcv", "rcv.pcap")]
)
def test_log_of_one_direction_stays_as_stamped(
    tmp_path: Path, entity: str, action: str, capture: str
) -> None:
    """Its clock is bounded on one side only; real time that the bound allows is not moved to touch it."""
    whole = log_of("spurious-timeouts", entity, tmp_path / "whole.log")
    half = tmp_path / "half.log"
    lines = whole.read_text().splitlines(keepends=True)
    half.write_text("".join(line for line in lines if line.startswith("#") or line.split()[2] == action))
    log = open_trace(half)
    (clock,) = align([*traces("spurious-timeouts", [capture]), log]).clocks[1:]
    assert (clock.offset_ns, clock.method, clock.uncertainty_ns) == (0, "as-stamped", None)
    (clock,) = align([*traces("spurious-timeouts", [capture]), warped(log, Wrong(HOUR))]).clocks[1:]
    assert clock.method == "causality"
    assert abs(clock.offset_ns + HOUR) < 100 * MS
