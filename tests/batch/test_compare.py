"""Two sets of measurements compared: parts sum to the whole, chance is told from change."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st
from support_samples import SAMPLES

import multitracer as mt
from multitracer.batch import difference_words as words
from multitracer.batch.budget import CAUSES, budgets
from multitracer.batch.difference import LEVEL, Difference, difference
from multitracer.batch.difference_page import difference_page
from multitracer.batch.rows import LIMIT_SHARES
from multitracer.cli.main import group
from multitracer.model.errors import NothingToRead, UsageError

A, B = SAMPLES / "flow-control", SAMPLES / "link-resets-vj"


def row(
    name: str, seconds: float, size: int = 1_000_000, rtt_ms: float = 20.0, **shares: float
) -> dict[str, Any]:
    """A row of a summary; the shares that are not given are unknown."""
    assert shares.keys() <= LIMIT_SHARES.keys()
    limits = {f"limit_{cause}": shares.get(cause, 0.0) for cause in LIMIT_SHARES}
    limits["limit_unknown"] = 1 - sum(shares.values())
    return {
        "name": name,
        "bytes": size,
        "duration_s": seconds,
        "limits_s": seconds,
        "rtt_base_ms": rtt_ms,
        "retransmissions": 1 if shares.get("loss_recovery") else 0,
        "limits_method": "inferred",
        **limits,
    }


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Difference:
    return difference(budgets(before), budgets(after), ("before", "after"))


def by_cause(found: Difference) -> dict[str, float]:
    return {one.cause: one.difference_s for one in found.causes}


SIDE = st.lists(
    st.tuples(
        st.floats(0.1, 1e4),
        st.integers(1, 10**12),
        st.floats(0.01, 1e4),
        st.lists(st.integers(0, 100), min_size=len(LIMIT_SHARES), max_size=len(LIMIT_SHARES)).filter(any),
    ),
    min_size=1,
    max_size=6,
)


def rows_of(drawn: list[tuple[float, int, float, list[int]]], prefix: str) -> list[dict[str, Any]]:
    rows = []
    for number, (seconds, size, rtt_ms, weights) in enumerate(drawn):
        shares = dict(zip(LIMIT_SHARES, (one / sum(weights) for one in weights), strict=True))
        shares.pop("unknown")
        rows.append(row(f"{prefix}{number}", seconds, size, rtt_ms, **shares))
    return rows


@given(SIDE, SIDE)
def test_causes_sum_to_the_whole(one: Any, other: Any) -> None:
    found = compared(rows_of(one, "a"), rows_of(other, "b"))
    whole = found.after_s - found.before_s
    slack = 1e-6 * max(found.before_s, found.after_s) + 1e-4
    assert math.fsum(by_cause(found).values()) == pytest.approx(whole, abs=slack)
    assert found.difference_s == pytest.approx(whole, abs=slack)
    goodput = [8 * found.bytes / seconds for seconds in (found.before_s, found.after_s)]
    parts = math.fsum(found.goodput_difference_bps(cause.difference_s) for cause in found.causes)
    assert parts == pytest.approx(goodput[1] - goodput[0], rel=1e-3, abs=1e-3 * max(goodput))
    json.dumps(found.to_dict(), allow_nan=False)


@given(SIDE)
def test_nothing_differs_from_itself(side: Any) -> None:
    rows = rows_of(side, "a")
    found = compared(rows, rows)
    assert found.difference_s == 0
    assert set(by_cause(found).values()) <= {0.0}
    assert found.verdict in ("one measurement each", "too few runs", "no difference shown")


def test_a_smaller_window_is_the_receiver_window() -> None:
    before = [row(f"r{n}", 10 + 0.01 * n, bandwidth=0.9, receiver_window=0.1) for n in range(5)]
    after = [row(f"s{n}", 30 + 0.01 * n, bandwidth=0.1, receiver_window=0.9) for n in range(5)]
    found = compared(before, after)
    assert found.verdict == "slower"
    assert found.causes[0].cause == "receiver_window"
    assert found.causes[-1].cause == "bandwidth"
    assert found.causes[-1].difference_s < 0
    assert compared(after, before).verdict == "faster"


def test_losses_own_the_window_that_they_made_small() -> None:
    before = [row("r", 5, congestion_window=0.2, bandwidth=0.8)]
    after = [row("r", 20, congestion_window=0.6, loss_recovery=0.2, bandwidth=0.2)]
    parts = by_cause(compared(before, after))
    assert parts["losses"] == pytest.approx(16)
    assert parts["congestion_window"] == pytest.approx(-1)


def test_the_same_window_over_a_longer_path_is_the_round_trip() -> None:
    before = [row("r", 10, rtt_ms=20, receiver_window=1.0)]
    after = [row("r", 40, rtt_ms=80, receiver_window=1.0)]
    parts = by_cause(compared(before, after))
    assert parts == {"round_trip": pytest.approx(30), "receiver_window": pytest.approx(0, abs=1e-9)}
    # A longer path explains no more than the cause took longer.
    less = by_cause(compared(before, [row("r", 12, rtt_ms=800, receiver_window=1.0)]))
    assert less["round_trip"] == pytest.approx(2)
    # And nothing of a cause that got shorter.
    assert "round_trip" not in by_cause(compared(before, [row("r", 8, rtt_ms=800, receiver_window=1.0)]))


def test_a_lost_syn_is_a_loss() -> None:
    before = [row("r", 2, rtt_ms=50, bandwidth=0.95, handshake=0.05)]
    after = [row("r", 3, rtt_ms=50, bandwidth=0.65, handshake=0.35) | {"syn_retransmissions": 1}]
    parts = by_cause(compared(before, after))
    assert parts["losses"] == pytest.approx(1.05 - 0.05)
    assert parts["handshake"] == pytest.approx(0.05 - 0.1)


def test_losses_that_only_a_longer_path_has_are_shared_with_it() -> None:
    """A product of two that changed: losses lasted no RTT of 20 ms before, and 10 of 100 ms after."""
    before = [row("r", 10, rtt_ms=20, bandwidth=1.0)]
    after = [row("r", 20, rtt_ms=100, bandwidth=0.5, loss_recovery=0.5)]
    parts = by_cause(compared(before, after))
    assert parts["round_trip"] == pytest.approx(10 * (1 - 20 / 100) / 2)
    assert parts["losses"] == pytest.approx(10 - parts["round_trip"])


def test_times_are_for_the_same_bytes() -> None:
    found = compared([row("r", 10, bandwidth=1.0)], [row("r", 30, size=3_000_000, bandwidth=1.0)])
    assert found.difference_s == pytest.approx(0)
    assert (found.before.seconds, found.after.seconds) == (10, 30)


def test_connections_of_a_measurement_are_averaged() -> None:
    rows = [row("r", 10, bandwidth=1.0), row("r", 30, application=1.0), row("r", 99, size=0)]
    (one,) = budgets(rows)
    assert (one.connections, one.bytes, one.total_s) == (2, 1_000_000, 20)
    assert one.seconds["bandwidth"] == 5


def test_limits_that_are_not_known() -> None:
    (one,) = budgets([{"name": "r", "bytes": 5, "duration_s": 2.0, "limits_s": None}])
    assert one.seconds["unknown"] == one.total_s == 2.0
    with pytest.raises(UsageError, match="nothing to compare"):
        compared([], [row("r", 1)])


@pytest.mark.parametrize("paired", [True, False])
def test_permutation_test_against_every_arrangement(paired: bool) -> None:
    random = np.random.default_rng(7)
    names = [f"r{n}" for n in range(6)]
    old = [row(name, float(random.uniform(8, 12))) for name in names]
    new = [row(name if paired else f"s{name}", float(random.uniform(9, 14))) for name in names]
    a, b = ([one["limits_s"] for one in side] for side in (old, new))
    observed = abs(sum(b) - sum(a))
    if paired:
        drawn = [
            abs(sum(sign * (y - x) for sign, x, y in zip(signs, a, b, strict=True)))
            for signs in itertools.product((1, -1), repeat=6)
        ]
    else:
        both = a + b
        drawn = [
            abs(sum(both) - 2 * sum(both[at] for at in chosen))
            for chosen in itertools.combinations(range(12), 6)
        ]
    expected = sum(one >= observed - 1e-9 for one in drawn) / len(drawn)
    found = compared(old, new)
    assert found.paired is paired
    assert found.p_value == pytest.approx(expected)


def test_pairs_that_are_too_few_for_a_test_are_tested_as_sets() -> None:
    def five(prefix: str, seconds: float, spread: float) -> list[dict[str, Any]]:
        return [row(f"{prefix}{n}", seconds + spread * n, bandwidth=1.0) for n in range(5)]

    found = compared(five("r", 10, 0.1), five("r", 20, 0.1))
    assert (found.paired, found.verdict) == (True, "slower")
    assert found.p_value == pytest.approx(2 / math.comb(10, 5))
    assert "as two sets: p = 0.0079" in words.method(found)
    # Pairs that differ among each other by more than the change: sets do not show it, nor that there is none.
    assert compared(five("r", 10, 5.0), five("r", 10.5, 5.0)).verdict == "too few runs"


@pytest.mark.parametrize(
    ("metric", "number", "change", "said"),
    [
        ("goodput_bps", 4_650_610.0, False, "4.65 Mbit/s"),
        ("goodput_bps", -1_946_000.0, True, "-1.95 Mbit/s"),
        ("rtt_base_ms", 34.842, False, "34.8 ms"),
        ("duration_s", 0.25, True, "+250 ms"),
        ("utilization", 0.958285, False, "95.8%"),
        ("received_share", -0.02, True, "-2 points"),
        ("duplicate_bytes", 39_214.0, True, "+39,214"),
        ("retransmissions", 0.0, True, "0"),
    ],
)
def test_values_of_metrics_have_units(metric: str, number: float, change: bool, said: str) -> None:
    assert words.value(metric, number, change=change) == said
    assert not words.metric(metric).endswith(("bps", " ms", " s"))


def test_equal_sets_are_seldom_called_different() -> None:
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(300):
        sides = [
            [row(f"{side}{n}", float(random.lognormal(0, 0.3)), bandwidth=1.0) for n in range(5)]
            for side in "ab"
        ]
        alarms += compared(*sides).verdict in ("slower", "faster")
    assert alarms <= 300 * LEVEL + 12  # three standard deviations


def test_too_few_runs_for_a_test() -> None:
    three = [row(f"r{n}", 1 + n) for n in range(3)]
    assert compared(three, [one | {"name": f"s{one['name']}"} for one in three]).verdict == "too few runs"
    assert compared(three[:1], three[1:2]).verdict == "one measurement each"


def test_many_measurements_take_little_memory() -> None:
    rows = [row(f"r{n}", 1 + n % 7) for n in range(3000)]
    found = compared(rows, [one | {"name": f"s{one['name']}"} for one in rows])
    assert found.verdict == "no difference shown"
    assert found.low_s is not None
    assert found.low_s < 0 < (found.high_s or 0)


def test_compares_measurements_directories_and_outputs(tmp_path: Path) -> None:
    direct = mt.compare(A, B)
    assert direct.verdict == "one measurement each"
    assert {one.cause for one in direct.causes} <= CAUSES.keys()
    assert math.fsum(by_cause(direct).values()) == pytest.approx(direct.difference_s, abs=1e-3)
    for name, sample in (("a", A), ("b", B)):
        mt.batch(sample, tmp_path / name, pages="none", processes=1)
    kept = mt.compare(tmp_path / "a", tmp_path / "b")
    assert kept.to_dict()["causes"] == direct.to_dict()["causes"]
    assert kept.frame().shape[0] == len(kept.causes)
    one_file = mt.compare(A / "snd.pcap", A)
    assert one_file.before.measurements == one_file.after.measurements == 1


def test_command(tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    words = CliRunner().invoke(group, ["compare", str(A), str(B), "-o", str(page)], env={"COLUMNS": "80"})
    assert words.exit_code == 0, words.output
    assert "Difference by cause" in words.output
    assert "One measurement each" in words.output
    assert max(map(len, words.output.splitlines()[:-1])) <= 80
    assert "<script" in page.read_text()
    found = CliRunner().invoke(group, ["compare", str(A), str(B), "--json"])
    assert json.loads(found.output)["verdict"] == "one measurement each"
    slower = CliRunner().invoke(group, ["compare", str(A), str(B), "--max-slowdown", "5"])
    assert slower.exit_code == 5
    assert CliRunner().invoke(group, ["compare", str(B), str(A), "--max-slowdown", "5"]).exit_code == 0


def test_page_holds_no_path_and_no_markup_of_names() -> None:
    hostile = "/home/someone/<script>alert(1)</script>"
    sides = [budgets([row("r", seconds, bandwidth=1.0)]) for seconds in (1.0, 2.0)]
    page = difference_page(difference(sides[0], sides[1], (hostile, "/home/someone/b")))
    assert "alert(1)</script>" not in page.replace("&lt;/script&gt;", "")
    assert "/home/someone" not in page


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([1.0], [2.0], "transfer time for the same bytes: one measurement each<"),
        (
            [1.0, 3.0, 1.0, 3.0],
            [1.1, 3.1, 1.2, 3.0],
            "transfer time for the same bytes: no difference shown<",
        ),
        ([1.0, 1.1, 1.0, 1.1], [3.0, 3.1, 3.2, 3.3], "transfer time for the same bytes<"),
    ],
)
def test_the_large_number_says_if_it_may_be_chance(
    before: list[float], after: list[float], said: str
) -> None:
    sides = [
        [row(f"{side}{at}", seconds, bandwidth=1.0) for at, seconds in enumerate(each)]
        for side, each in (("a", before), ("b", after))
    ]
    assert said in difference_page(compared(sides[0], sides[1]))


@pytest.mark.parametrize("kind", ["memory-limit", "worker-died"])
def test_what_could_not_be_analysed_is_no_empty_set(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"name": "backoff", "error": {"kind": kind, "text": "it ended with status 1"}}
    monkeypatch.setattr(
        "multitracer.batch.sides.batch", lambda *_, **__: SimpleNamespace(rows=[], failed=[failed])
    )
    error = MemoryError if kind == "memory-limit" else NothingToRead
    with pytest.raises(error, match=None if error is MemoryError else "it ended with status 1"):
        mt.compare(A, B)


def test_a_note_says_why_rows_do_not_subtract() -> None:
    before, after = row("a", 10.0, receiver_window=0.9), row("b", 20.0, rtt_ms=40.0, receiver_window=0.9)
    assert "are not after minus before" in words.method(compared([before], [after]))
    alike = row("b", 20.0, receiver_window=0.9)
    assert "after minus before" not in words.method(compared([before], [alike]))


def test_what_has_the_other_sign_offsets_a_cause() -> None:
    before = row("a", 10.0, receiver_window=0.4, loss_recovery=0.1)
    after = row("b", 12.0, receiver_window=0.1, loss_recovery=0.6)
    assert "; partly offset by receiver window: -" in words.main_cause(compared([before], [after]))
