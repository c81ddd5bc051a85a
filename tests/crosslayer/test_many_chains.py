"""Recoveries in columns: nothing is an object that nobody looks at, and columns hold what objects would."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_samples import SAMPLE_NAMES, SAMPLES, Run

import multitracer as mt
from multitracer.diagnosis.chains import chain as chain_module, episodes as episodes_module
from multitracer.diagnosis.chains.chain import Chain, Event, event_table
from multitracer.diagnosis.chains.episodes import Repeats, together
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.found import Columns
from multitracer.diagnosis.chains.recovery import SENT, add_episode
from multitracer.diagnosis.chains.unexplained import Unexplained
from multitracer.model import schema
from multitracer.model.arrays.group_by import last_places
from multitracer.model.table import Table

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import generate


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lossy") / "parallel.pcap"
    generate.write(path, "parallel", 61_000)
    return path


def test_the_text_makes_no_object_of_a_recovery(
    lossy: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    looked_at: list[int] = []
    whole = Columns.chain

    def counted(name: str) -> object:
        def init(self: object, *given: object, **named: object) -> None:
            made.append(name)

        return init

    def noted(self: Columns, row: int) -> dict[str, object]:
        looked_at.append(row)
        return whole(self, row)

    monkeypatch.setattr(chain_module.Chain, "__init__", counted("chain"))
    monkeypatch.setattr(
        episodes_module.Episodes, "__iter__", lambda self: made.append("episodes") or iter(())
    )
    monkeypatch.setattr(Columns, "chain", noted)
    done = run("analyze", "--point", "snd", lossy)
    assert done.returncode == 0, done.stderr
    assert "fast retransmit" in done.stdout
    assert not made
    assert len(looked_at) <= 2  # the worst recovery, whose time is that of the picture
    monkeypatch.undo()
    assert len(mt.analyze(mt.read(lossy, point="snd")).results["chains"].summary["chains"]) >= 150


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_columns_of_recoveries_hold_what_their_chains_would(name: str) -> None:
    m = mt.read(next(iter(sorted((SAMPLES / name).glob("snd.pcap*")))))
    evidence = Evidence(m, mt.analyze(m).results)
    every = np.arange(len(evidence.episodes))
    chains = []
    for episode in evidence.episodes:
        chain = Chain("loss", episode.copy_ns, episode.conn)
        seq, length = (episode.values(field)[0] for field in ("seq", "length"))
        first = Event("sent", episode.copy_ns, SENT, conn=episode.conn, seq=seq, length=length)
        add_episode(evidence, chain, episode, chain.add(first))
        chains.append(chain)
    columns = Unexplained(evidence, every)
    found, expected = columns.take_events(every + 1), event_table(chains, (every + 1).tolist())
    found = found.where(np.lexsort((found["event"], found["chain"])))
    for field in found:
        assert found[field].tolist() == expected[field].tolist(), field
    for field in ("conn", "t_ns", "duplicate", "silence_ns"):
        assert getattr(columns, field).tolist() == [getattr(one, field) for one in chains], field


def test_an_idle_phase_is_the_last_event_of_its_recovery(lossy: Path) -> None:
    evidence = Evidence(mt.read(lossy, point="snd"), {})
    before = Unexplained(evidence, np.arange(3)).take_events(np.arange(1, 4))
    columns = Unexplained(evidence, np.arange(3))
    columns.idle(1, 100, 150, "why", 0, 7, 5)
    columns.idle(1, 200, 210, "why", 0, 8, 5)
    after = columns.take_events(np.arange(1, 4))
    assert columns.idle_ns.tolist() == [0, 60, 0]
    idle = after.where(after["what"] == "idle")
    events = int(np.count_nonzero(before["chain"] == 2))
    assert idle["event"].tolist() == [events + 1, events + 2]
    assert idle["parent"].tolist() == [events, events + 1]
    assert idle["chain"].tolist() == [2, 2]
    assert len(after) == len(before) + 2


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(("timeout", "fast", "slow_start", "unknown", "tail_loss_probe")),
        st.integers(0, 3_000_000_000),
        st.integers(-1, 2),
    ),
    max_size=30,
)


@given(rows=ROWS)
def test_recoveries_without_needless_timers_are_found_at_once(
    rows: list[tuple[int, str, int, int]],
) -> None:
    given = {
        "episode": [episode for episode, _, _, _ in rows],
        "cause": [schema.CAUSES.index(cause) for _, cause, _, _ in rows],
        "t_ns": np.cumsum(np.array([step for _, _, step, _ in rows], dtype=np.int64)),
        "seq": [seq for _, _, _, seq in rows],
        "record": np.arange(len(rows)),
        "rto_ns": np.full(len(rows), 1_500_000_000),
    }
    table = Table.filled(schema.RETRANSMISSIONS, len(rows), given)
    one_by_one = together(Repeats(table), np.array([-5]))  # a timer of a packet that is not there
    assert together(Repeats(table), np.array([], dtype=np.int64)).tolist() == one_by_one.tolist()


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=20)


@given(known=PAIRS, wanted=PAIRS)
def test_the_last_place_of_a_pair(known: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    places = {pair: place for place, pair in enumerate(known)}
    found = last_places(columns(known), columns(wanted))
    assert found.tolist() == [places.get(pair, -1) for pair in wanted]
