"""Pairs of captures: translated addresses, hosts with two addresses, proxies, files longer than the flow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support_alignment import MS, S, Wrong, warped
from support_pairs import Change, changed, endpoints, merged, only, sample, written

import multitracer as mt
from multitracer.api.measurement import Measurement, align
from multitracer.reading.opening import open_trace

NAME = "local-drops"
OTHER = "spurious-timeouts"


def measured(*paths: Path) -> Measurement:
    return align([open_trace(path) for path in paths])


def codes(measurement: Measurement) -> set[str]:
    return {issue.code for issue in measurement.issues}


def plain_bound(tmp_path: Path) -> int:
    pair = [written(tmp_path / f"plain-{file}", sample(NAME, file)) for file in ("snd.pcap", "rcv.pcap")]
    bound = measured(*pair).clocks[1].uncertainty_ns
    assert bound is not None
    return bound


def translated(tmp_path: Path, whom: int, port: int | None = None, later_s: float = 0.0) -> list[Path]:
    """The sample, with one endpoint under another name at the receiver."""
    near, far = sample(NAME, "snd.pcap"), sample(NAME, "rcv.pcap")
    old = endpoints(near)[whom]
    names = {old: ("203.0.113.9", old[1] if port is None else port)}
    return [
        written(tmp_path / "near.pcap", near),
        written(tmp_path / "far.pcap", changed(far, Change(names, later_s=later_s))),
    ]


@pytest.mark.parametrize(("whom", "port"), [(0, None), (1, None), (0, 61_000), (1, 61_000)])
def test_translated_addresses_and_ports_are_one_connection(tmp_path: Path, whom: int, port: int) -> None:
    near, far = translated(tmp_path, whom, port)
    found = measured(near, far)
    assert len(found.connections) == 1
    assert not codes(found) & {"unjoined-source", "split-connection", "clock-step"}
    assert found.clocks[1].uncertainty_ns == plain_bound(tmp_path)
    assert [source.point for source in found.sources] == ["snd", "rcv"]
    one = found.connections[0]
    assert one.endpoints == one.translated[0] != one.translated[1]
    assert one.translated[1][whom] == ("203.0.113.9", port or one.endpoints[whom][1])
    segments = found.table("segments")
    assert not (segments["checksum"] == segments.code("checksum", "bad")).any()
    assert not (segments["conn"] < 0).any()


@pytest.mark.parametrize("later_s", [-7200.0, 3600.0])
def test_wrong_clock_behind_a_translator(tmp_path: Path, later_s: float) -> None:
    clock = measured(*translated(tmp_path, 0, 61_000, later_s)).clocks[1]
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + later_s * S) <= clock.uncertainty_ns


def test_another_transfer_is_not_joined(tmp_path: Path) -> None:
    near, far = sample(NAME, "snd.pcap"), sample(OTHER, "rcv.pcap")
    found = measured(written(tmp_path / "near.pcap", near), written(tmp_path / "far.pcap", far))
    assert len(found.connections) == 2
    assert "unjoined-source" in codes(found)


def two_homed(tmp_path: Path, later_s: float = 0.0) -> list[Path]:
    """Two transfers at once between two hosts, each over a pair of addresses of its own."""
    parts = {}
    for file in ("snd.pcap", "rcv.pcap"):
        first, second = sample(NAME, file), sample(OTHER, file)
        ends = endpoints(sample(OTHER, "snd.pcap"))
        names = {ends[0]: ("198.51.100.1", 4001), ends[1]: ("198.51.100.2", 4002)}
        start = sample(NAME, "snd.pcap")[0][0] - sample(OTHER, "snd.pcap")[0][0]
        parts[file] = merged(first, changed(second, Change(names, later_s=start + 0.5)))
    return [
        written(tmp_path / "near.pcap", parts["snd.pcap"]),
        written(tmp_path / "far.pcap", [(t + later_s, data) for t, data in parts["rcv.pcap"]]),
    ]


@pytest.mark.parametrize("later_s", [0.0, 1800.0])
def test_hosts_with_two_addresses(tmp_path: Path, later_s: float) -> None:
    found = measured(*two_homed(tmp_path, later_s))
    clock = found.clocks[1]
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + later_s * S) <= clock.uncertainty_ns
    assert not codes(found) & {"clock-step", "unjoined-source"}
    assert clock.evidence["violation_ns"] == 0
    assert len(found.connections) == 2
    assert clock.uncertainty_ns <= plain_bound(tmp_path)


@pytest.mark.parametrize("make", [two_homed, lambda path: translated(path, 0, 61_000)])
def test_roles_do_not_depend_on_the_order_of_arguments(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    near, far = make(tmp_path)
    one, other = measured(near, far), measured(far, near)
    for found, order in ((one, (0, 1)), (other, (1, 0))):
        assert [found.sources[at].point for at in order] == ["snd", "rcv"]
        assert found.snd == order[0]
    assert one.clocks[1].offset_ns == other.clocks[0].offset_ns
    assert one.clocks[1].uncertainty_ns == other.clocks[0].uncertainty_ns
    assert [c.endpoints for c in one.connections] == [c.endpoints for c in other.connections]


def test_bound_serves_the_flow_and_not_the_file(tmp_path: Path) -> None:
    """A stray connection ten hours later widens no bound but its own."""
    near, far = sample(NAME, "snd.pcap"), sample(NAME, "rcv.pcap")
    ends = endpoints(near)
    names = {ends[0]: ("192.0.2.7", 7), ends[1]: ("192.0.2.8", 8)}
    stray = changed(far[:20], Change(names, {ends[0]: 12_345_678, ends[1]: 98_765_432}, 36_000.0, 77_777))
    paths = [
        written(tmp_path / "near.pcap", near),
        written(tmp_path / "far.pcap", merged(far, stray)),
    ]
    clock = measured(*paths).clocks[1]
    assert clock.uncertainty_ns == plain_bound(tmp_path)
    first, last = clock.evidence["covers_records"]
    assert (first, last) == (1, len(far))
    inside, outside = clock.uncertainty_at(last), clock.uncertainty_at(last + 5)
    assert inside is not None
    assert outside is not None
    assert inside == clock.uncertainty_ns < outside


def test_bound_serves_the_flow_and_not_other_packets(tmp_path: Path) -> None:
    """Datagrams an hour before and behind the connection are no part of what the bound serves."""
    near, far = sample(NAME, "snd.pcap"), sample(NAME, "rcv.pcap")
    (begin, data), (end, _) = far[0], far[-1]
    datagram = data[:9] + b"\x11" + data[10:]
    paths = [
        written(tmp_path / "near.pcap", near),
        written(tmp_path / "far.pcap", [(begin - 3600, datagram), *far, (end + 3600, datagram)]),
    ]
    for order in (paths, paths[::-1]):
        clock = next(one for one in measured(*order).clocks if one.grade != "reference")
        assert clock.uncertainty_ns == plain_bound(tmp_path)
        assert clock.evidence["covers_records"] == [2, len(far) + 1]
        outside, inside = clock.uncertainty_at(1), clock.uncertainty_at(2)
        assert outside is not None
        assert inside == clock.uncertainty_ns < outside


@pytest.mark.parametrize("same_names", [True, False])
def test_proxy_that_splits_the_connection(tmp_path: Path, same_names: bool) -> None:
    near, far = sample(NAME, "snd.pcap"), sample(NAME, "rcv.pcap")
    ends = endpoints(near)
    names = {} if same_names else {ends[0]: ("192.0.2.7", 7), ends[1]: ("192.0.2.8", 8)}
    behind = changed(far, Change(names, {ends[0]: 123_456_789, ends[1]: 1_987_654_321}, 0.0, 5_000_000))
    found = measured(written(tmp_path / "near.pcap", near), written(tmp_path / "far.pcap", behind))
    assert len(found.connections) == 2
    (issue,) = [issue for issue in found.issues if issue.code == "split-connection"]
    assert "no packet is the same" in str(issue.detail)
    assert ("under the same names" in str(issue.detail)) == same_names


def test_step_is_still_found_with_two_addresses(tmp_path: Path) -> None:
    near, far = (open_trace(path) for path in two_homed(tmp_path))
    found = align([near, warped(far, Wrong(step=5 * S))])
    (step,) = found.clocks[1].evidence["steps"]
    bound = found.clocks[1].uncertainty_ns
    assert bound is not None
    assert abs(step["offset_change_ns"] + 5 * S) <= 2 * bound + MS


def test_every_pair_keeps_causality(tmp_path: Path) -> None:
    """No packet arrives before it was sent by more than the stated bound, in either direction."""
    found = measured(*two_homed(tmp_path, 12.5))
    segments = found.table("segments")
    bound = found.clocks[1].uncertainty_ns
    assert bound is not None
    checked = 0
    for one in found.connections:
        for direction in (0, 1):
            mine = segments.where((segments["conn"] == one.index) & (segments["dir"] == direction))
            sides = [mine.where(mine["source"] == source) for source in (0, 1)]
            keys = [
                np.stack([side[name] for name in ("seq_raw", "ack_raw", "ts_val", "length")])
                for side in sides
            ]
            (_, at_near, n), (_, at_far, k) = (
                np.unique(key, axis=1, return_index=True, return_counts=True) for key in keys
            )
            near = {tuple(keys[0][:, i]): sides[0]["t_ns"][i] for i in at_near[n == 1].tolist()}
            for i in at_far[k == 1].tolist():
                sent = near.get(tuple(keys[1][:, i]))
                if sent is None:
                    continue
                delay = int(sides[1]["t_ns"][i] - sent) * (1 if direction == one.data_dir else -1)
                assert delay >= -bound
                checked += 1
    assert checked > 500


def test_what_is_on_its_way_when_a_capture_ends_is_not_lost(tmp_path: Path) -> None:
    near, far = sample(NAME, "snd.pcap"), sample(NAME, "rcv.pcap")
    end = (far[0][0] + far[-1][0]) / 2
    found = []
    for number, seen in enumerate((far, only(far, lambda t: t < end))):
        pair = [
            written(tmp_path / f"near-{number}.pcap", near),
            written(tmp_path / f"far-{number}.pcap", seen),
        ]
        losses = json.loads(mt.analyze(mt.read(*pair)).to_json())["other"]["losses"]
        found.append(losses["directions"][0])
    whole, cut = found
    assert (whole["lost"], whole["unknown"]) == (10, 0)
    assert cut["unknown"] > 100
    assert cut["lost"] <= whole["lost"]
