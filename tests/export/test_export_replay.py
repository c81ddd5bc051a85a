"""An exported error trace, replayed: the link does again what it did, frame by frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from support_lab import Outcome, payload, run
from support_samples import SAMPLES

import multitracer as mt
from multitracer.cli.main import main
from multitracer.export import emulation
from multitracer.lab.library import load as load_scenario
from multitracer.layers.link.path import link_path
from multitracer.model.errors import UsageError

SLOT_NS = 20_000_000
PACKETS = [(40_000_000 * i, i % 6 // 5, payload(i, 300)) for i in range(30)]


def link(up: list[int], down: list[int], **more: Any) -> Outcome:
    airs = {"air_up": {"kind": "list", "lost_slots": up}, "air_down": {"kind": "list", "lost_slots": down}}
    return run({"model": "rlp", "queue_packets": 0, **airs, **more}, PACKETS)


def replayed(outcome: Outcome, folder: Path) -> tuple[Outcome, dict[str, int]]:
    """The same packets over the exported air."""
    folder.mkdir(exist_ok=True)
    lines = [outcome.link.log_header(), *outcome.log]
    (folder / "rlp.log").write_text("\n".join(lines) + "\n")
    told = emulation.write_errors(mt.read(folder / "rlp.log"), str(folder / "replay.toml"))
    (folder / "rlp.log").unlink()
    chosen = dict(load_scenario(str(folder / "replay.toml")).link)
    chosen["queue_packets"] = 0
    return run(chosen, PACKETS), told


def resets(outcome: Outcome) -> int:
    return sum(" evt reset " in line for line in outcome.log)


@pytest.mark.parametrize(
    ("up", "down", "count"),
    [
        (range(60, 400), (), 1),
        ((), range(40, 420), 1),
        (range(60, 240), range(200, 420), 2),
        (range(20, 300, 3), range(15, 300, 4), 0),
    ],
    ids=["ms gives up", "iwf gives up", "both", "scattered"],
)
def test_a_link_with_resets_does_it_again(up: range, down: range, count: int, tmp_path: Path) -> None:
    outcome = link(list(up), list(down), n2=3)
    assert resets(outcome) >= count
    again, _ = replayed(outcome, tmp_path / "m")
    assert again.log == outcome.log
    assert [d.packet for d in again.deliveries] == [d.packet for d in outcome.deliveries]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(60, 400), st.integers(1, 120)), max_size=5),
    st.sampled_from([2, 6]),
)
def test_any_air_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[tuple[bool, int, int]], n2: int
) -> None:
    airs: tuple[set[int], set[int]] = (set(), set())
    for down, first, slots in bursts:
        airs[down].update(range(first, first + slots))
    outcome = link(sorted(airs[0]), sorted(airs[1]), n2=n2)
    again, _ = replayed(outcome, tmp_path_factory.mktemp("replay"))
    assert again.log == outcome.log


def test_what_a_peer_did_not_heed_is_not_called_lost(tmp_path: Path) -> None:
    """The receiver's side gives up while the air is good: its peer's frames arrive and are ignored."""
    outcome = link([], list(range(40, 420)), n2=3)
    assert outcome.link.truth.counts["frames_ignored"][1] > 0
    assert outcome.link.truth.counts.get("frames_lost_on_air", [0, 0])[0] == 0
    _, told = replayed(outcome, tmp_path / "m")
    assert told["air_up"] == 0


@pytest.mark.parametrize(("name", "unknown"), [("backoff", 1), ("link-burst", 0), ("call-dropped", 0)])
def test_lost_slots_are_those_of_the_links_own_record(name: str, unknown: int) -> None:
    """Slot by slot, both directions; one frame of `backoff` came to an end that heeded nothing."""
    m = mt.read(SAMPLES / name)
    known = link_path(m)
    assert known is not None
    truth = json.loads((SAMPLES / name / "truth.json").read_text())["events"]
    missed = 0
    for side, entity in enumerate((known.sender, known.receiver)):
        assert entity is not None
        found = {slot for slot, lost in enumerate(emulation.errors(m, entity)) if lost}
        lost = {event["slot"] for event in truth if event["what"] == "air_loss" and event["side"] == side}
        assert found <= lost
        missed += len(lost - found)
    assert missed == unknown


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "link-burst",
            {"slot_ms": 20, "payload_bytes": 24, "delay_ms": 180, "window": 61, "t1_ms": 480, "n2": 20}
            | {"drain_bps": 0, "vj": False},
        ),
        ("link-resets-vj", {"window": 31, "t1_ms": 620, "vj": True, "vj_compress_slot": True}),
        ("flow-control", {"drain_bps": 7680}),
        ("call-dropped", {"on_failure": "drop_call"}),
    ],
)
def test_settings_of_the_link_are_carried_over(name: str, expected: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / "replay.toml"
    emulation.write_errors(mt.read(SAMPLES / name), str(target))
    found = load_scenario(str(target)).link
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["link-resets-vj", "link-resets-sack"])
def test_the_transfer_is_carried_over(name: str, tmp_path: Path) -> None:
    target = tmp_path / "replay.toml"
    emulation.write_errors(mt.read(SAMPLES / name), str(target))
    made = load_scenario(str(target))
    used = int(name == "link-resets-sack")
    assert (made.tcp["sack"], made.tcp["timestamps"]) == (used, used)
    assert [flow.bytes for flow in made.flows] == [100_000]
    assert made.network.mtu_bytes == 512


def test_frames_that_no_slot_of_rlp_holds(tmp_path: Path) -> None:
    (tmp_path / "rlp.log").write_text(
        "# rlpdump 1 clock=realtime slot_ms=1 payload_bytes=1500\n"
        "100.000 ms snd I ns=0 off=0 len=1500\n100.002 iwf rcv I ns=0 off=0 len=1500\n"
    )
    with pytest.raises(UsageError, match="those of this link carry 1,500"):
        emulation.write_errors(mt.read(tmp_path / "rlp.log"), str(tmp_path / "replay.toml"))


def test_a_replay_may_not_have_the_resets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which frame meets a bad slot depends on TCP: the three resets of this link need not come again."""
    for name, expected in (("link-resets-vj", 3), ("local-drops", 0)):
        words = ["export", str(SAMPLES / name), "--to", "errors", "-o", str(tmp_path / f"{name}.toml")]
        assert main(words) == 0
        told = capsys.readouterr().err
        assert (f"may not have the measurement's {expected} link resets" in told) == bool(expected)
