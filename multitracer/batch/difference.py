"""How much longer transfers take after a change than before it, and which cause made the difference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from multitracer.batch.budget import CAUSES, Budget
from multitracer.batch.comparison import Change
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 4000
MOST_ARRANGEMENTS = 20_000
"""Up to so many arrangements of a permutation test all are tried; of more, as many are drawn."""
MOST_VALUES = 2_000_000
"""At once in memory while sets are resampled or permuted."""
ROUNDING_S = 1e-5
"""Times below this are left by the rounding of shares."""
LEVEL = 0.05
"""Of the test: so often two equal sets are called different."""

SLOWED_BY_ROUND_TRIPS = ("receiver_window", "congestion_window", "losses", "handshake")
"""Causes whose time grows with the path's RTT: a window moves once in an RTT."""

Verdict = Literal["slower", "faster", "no difference shown", "too few runs", "one measurement each"]


@frozen
class CauseChange:
    """The time of one cause before and after, for the same number of bytes.

    Attributes
    ----------
    cause : str
        A key of `multitracer.batch.budget.CAUSES`.
    before_s, after_s : float
        Mean over the measurements [s].
    difference_s : float
        What the cause added to the transfer time; the differences of all causes sum to the whole [s].
    low_s, high_s : float or None
        Its 95% confidence interval; None with a single measurement in a set.
    """

    cause: str
    before_s: float
    after_s: float
    difference_s: float
    low_s: float | None
    high_s: float | None


@frozen
class Set:
    """One side of a comparison.

    Attributes
    ----------
    path : str
    measurements, connections : int
        With data, and how long they took.
    bytes : float
        Payload of a connection, each byte once; mean.
    seconds : float
        Transfer time as measured: handshake to last ACK; mean [s].
    goodput_bps : float
        All payload over all transfer time [bit/s].
    left_out : tuple of str
        Measurements that could not be analysed, or have no connection with data.
    """

    path: str
    measurements: int
    connections: int
    bytes: float
    seconds: float
    goodput_bps: float
    left_out: tuple[str, ...] = ()


@frozen
class Difference:
    """Two sets of measurements compared.

    Attributes
    ----------
    before, after : Set
    bytes : float
        Payload that all times below are for: the mean of `before`.
    before_s, after_s : float
        Time to move it: all time over all payload of the measurements, times `bytes` [s].
    difference_s : float
        ``after_s - before_s``.
    low_s, high_s : float or None
        95% confidence interval of the difference; None with a single measurement in a set.
    p_value : float or None
        Permutation test of equal times; None if it cannot reach 5%.
    paired : bool
        Whether the sets have the same measurements by name, which were compared one by one.
    causes : list of CauseChange
        What made the difference first; causes that work against it last.
    factors : list of Change
        Medians of what else was measured, with intervals; empty below two measurements in a set.
    settings : dict
        Parameters of the runs that differ between the sets: name to (before, after).
    notes : list of str
        What limits the comparison.
    """

    before: Set
    after: Set
    bytes: float
    before_s: float
    after_s: float
    difference_s: float
    low_s: float | None
    high_s: float | None
    p_value: float | None
    paired: bool
    causes: list[CauseChange]
    factors: list[Change] = field(default_factory=list)
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Slower or faster if the test shows it; else why it does not."""
        if min(self.before.measurements, self.after.measurements) == 1 and (
            self.before.measurements == self.after.measurements
        ):
            return "one measurement each"
        if self.p_value is None:
            return "too few runs"
        if self.p_value > LEVEL:
            return "no difference shown"
        return "slower" if self.difference_s > 0 else "faster"

    @property
    def share(self) -> float:
        """``difference_s`` over ``before_s``."""
        return self.difference_s / self.before_s

    def goodput_difference_bps(self, difference_s: float) -> float:
        """Part of the goodput's difference that a part of the time's difference makes [bit/s].

        Goodput is bytes over time, so parts of the time's difference scale alike; those of all causes sum to
        the difference of the goodputs at equal bytes.
        """
        return -8 * self.bytes * difference_s / (self.before_s * self.after_s)

    def frame(self) -> pd.DataFrame:
        """The causes as pandas."""
        import pandas as pd

        return pd.DataFrame([vars(one) for one in self.causes], columns=list(CauseChange.__annotations__))

    def to_dict(self) -> dict[str, Any]:
        """As ``multitracer compare --json`` prints it (docs/compare.md)."""
        sides = {
            name: {
                "path": one.path,
                "measurements": one.measurements,
                "connections": one.connections,
                "bytes": round(one.bytes, 3),
                "seconds": round(one.seconds, 6),
                "goodput_bps": round(one.goodput_bps, 3),
                "left_out": list(one.left_out),
            }
            for name, one in (("before", self.before), ("after", self.after))
        }
        return sides | {
            "bytes": round(self.bytes, 3),
            "before_s": _rounded(self.before_s),
            "after_s": _rounded(self.after_s),
            "difference_s": _rounded(self.difference_s),
            "low_s": _rounded(self.low_s),
            "high_s": _rounded(self.high_s),
            "share": _rounded(self.share),
            "p_value": _rounded(self.p_value),
            "paired": self.paired,
            "verdict": self.verdict,
            "causes": [
                {
                    "cause": one.cause,
                    **{
                        key: _rounded(getattr(one, key))
                        for key in ("before_s", "after_s", "difference_s", "low_s", "high_s")
                    },
                    "goodput_difference_bps": round(self.goodput_difference_bps(one.difference_s), 3),
                }
                for one in self.causes
            ],
            "factors": [one.to_dict() for one in self.factors],
            "settings": {name: list(values) for name, values in self.settings.items()},
            "notes": list(self.notes),
        }


def difference(before: Sequence[Budget], after: Sequence[Budget], paths: tuple[str, str]) -> Difference:
    """Compare two sets of measurements.

    All times are for the same payload, the mean of `before`: all time over all payload of a set, times it.
    So the times of the causes sum to the whole. Intervals are percentiles
    of the bootstrap over measurements (Efron 1979). The test permutes measurements between the sets (of
    pairs: within each pair), which is exact for any number of them (Fisher 1935); no random number differs
    between two calls.

    A cause's difference is that of its time. From causes whose time grows with the RTT, the part that the
    change of the path's RTT explains is `round_trip`: their time is a number of RTTs times the RTT, and the
    RTT's part of the difference of the product is the mean of changing it first and of changing it last
    (Shapley 1953; Sun, Energy Economics 20, 1998), never more than the whole difference of the cause.

    Parameters
    ----------
    before, after : sequence of Budget
        At least one each.
    paths : tuple of str
        Names for the two.

    Raises
    ------
    UsageError
        A set without a measurement that carried data.
    """
    import numpy as np

    for path, budgets in zip(paths, (before, after), strict=True):
        if not budgets:
            raise UsageError(
                f"{path}: no measurement with a connection that carried data; nothing to compare"
            )
    reference = math.fsum(one.bytes for one in before) / len(before)
    paired = sorted(one.name for one in before) == sorted(one.name for one in after)
    a, b = (_Matrix(sorted(one, key=lambda budget: budget.name), reference) for one in (before, after))
    middle = _by_cause(a.mean(None), b.mean(None))
    low = high = whole_low = whole_high = None
    if min(len(before), len(after)) > 1:
        drawn = _resampled(a, b, paired)
        low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
        whole_low, whole_high = (float(one) for one in np.percentile(drawn.sum(axis=1), (2.5, 97.5)))
    times = a.mean(None).seconds, b.mean(None).seconds
    causes = [
        CauseChange(
            cause,
            float(times[0][at]),
            float(times[1][at]),
            float(middle[at]),
            None if low is None else float(low[at]),
            None if high is None else float(high[at]),
        )
        for at, cause in enumerate(CAUSES)
        if max(times[0][at], times[1][at], abs(middle[at])) > ROUNDING_S
    ]
    total = float(middle.sum())
    sign = -1.0 if total < 0 else 1.0
    causes.sort(key=lambda one: (-sign * one.difference_s, one.cause))
    return Difference(
        _set(paths[0], before),
        _set(paths[1], after),
        reference,
        float(times[0].sum()),
        float(times[1].sum()),
        total,
        whole_low,
        whole_high,
        _tested(a, b, paired),
        paired,
        causes,
    )


@frozen
class _Means:
    seconds: Floats
    log_rtt: Floats


class _Matrix:
    """Budgets as arrays: seconds by measurement and cause, and the bytes that they moved."""

    def __init__(self, budgets: Sequence[Budget], reference: float) -> None:
        import numpy as np

        self.seconds = np.array([[one.seconds.get(cause, 0.0) for cause in CAUSES] for one in budgets])
        self.parts = np.array([one.bytes / reference for one in budgets])
        self.log_rtt = np.array([math.log(one.rtt_base_s) if one.rtt_base_s else np.nan for one in budgets])

    def mean(self, rows: Any) -> _Means:
        """Of all measurements, or of each resample: `rows` has shape (resamples, measurements)."""
        import numpy as np

        chosen = np.arange(len(self.log_rtt)) if rows is None else rows
        logs = self.log_rtt[chosen]
        known = np.isfinite(logs)
        with np.errstate(invalid="ignore"):
            log_rtt = np.where(known, logs, 0.0).sum(axis=-1) / known.sum(axis=-1)
        parts = self.parts[chosen].sum(axis=-1)[..., np.newaxis]
        return _Means(self.seconds[chosen].sum(axis=-2) / parts, log_rtt)


def _by_cause(before: _Means, after: _Means) -> Floats:
    """Differences by cause, shape (..., causes): what the RTT explains is taken out of the others."""
    import numpy as np

    found: Floats = after.seconds - before.seconds
    ratio = np.exp(np.nan_to_num(after.log_rtt - before.log_rtt))
    names = list(CAUSES)
    path = names.index("round_trip")
    for cause in SLOWED_BY_ROUND_TRIPS:
        at = names.index(cause)
        whole = found[..., at]
        # Seconds are RTTs times their length. Change the length first, or last: the mean of both (Shapley).
        part = (before.seconds[..., at] * (ratio - 1) + after.seconds[..., at] * (1 - 1 / ratio)) / 2
        part = np.clip(part, np.minimum(whole, 0.0), np.maximum(whole, 0.0))
        found[..., at] -= part
        found[..., path] += part
    return found


def _resampled(a: _Matrix, b: _Matrix, paired: bool) -> Floats:
    """Differences by cause of resampled sets, shape (RESAMPLES, causes), in blocks: memory stays flat."""
    import numpy as np

    random = np.random.default_rng(20040216)
    first, second = len(a.log_rtt), len(b.log_rtt)
    block = max(1, MOST_VALUES // (max(first, second) * len(CAUSES)))
    parts = []
    for start in range(0, RESAMPLES, block):
        count = min(block, RESAMPLES - start)
        rows = random.integers(0, first, (count, first))
        others = rows if paired else random.integers(0, second, (count, second))
        parts.append(_by_cause(a.mean(rows), b.mean(others)))
    return np.concatenate(parts)


def _tested(a: _Matrix, b: _Matrix, paired: bool) -> float | None:
    """The test's p; of pairs that are too few for one, that of the two sets, if it shows a difference."""
    found = _p_value(a, b, paired)
    if found is None and paired:
        # If pairs are similar, the sets vary more: their test then shows less.
        found = _p_value(a, b, False)
        return found if found is not None and found <= LEVEL else None
    return found


def _p_value(a: _Matrix, b: _Matrix, paired: bool) -> float | None:
    """Two-sided permutation test of equal times; None if even the clearest outcome is above `LEVEL`."""
    import numpy as np

    first, count = len(a.parts), len(a.parts) + len(b.parts)
    possible = 2**first if paired else math.comb(count, first)
    if 2 / possible > LEVEL:
        return None
    # Seconds and bytes of every measurement, shape (2, measurements).
    old, new = (np.stack((one.seconds.sum(axis=1), one.parts)) for one in (a, b))
    whole = (old.sum(axis=1) + new.sum(axis=1))[:, np.newaxis]
    if paired:
        before = old.sum(axis=1)[:, np.newaxis]
        parts = [before + (new - old) @ exchanged.T for exchanged in _exchanges(first, possible)]
    else:
        both = np.concatenate((old, new), axis=1)
        parts = [both[:, chosen].sum(axis=2) for chosen in _choices(count, first, possible)]
    mine = np.concatenate(parts, axis=1)
    rest = whole - mine
    drawn = rest[0] / rest[1] - mine[0] / mine[1]
    observed = new[0].sum() / new[1].sum() - old[0].sum() / old[1].sum()
    # What differs by rounding only is equal.
    slack = 1e-9 * float((whole[0] / whole[1])[0])
    extreme = int((np.abs(drawn) >= abs(observed) - slack).sum())
    return extreme / possible if possible <= MOST_ARRANGEMENTS else (extreme + 1) / (drawn.size + 1)


def _exchanges(length: int, possible: int) -> Iterator[Any]:
    """Every way to exchange members of pairs, or a sample of them, in blocks of rows of 0 and 1."""
    import numpy as np

    if possible <= MOST_ARRANGEMENTS:
        yield np.array(list(itertools.product((0.0, 1.0), repeat=length)))
        return
    random = np.random.default_rng(20040216)
    for count in _blocks(length):
        yield random.choice((0.0, 1.0), (count, length))


def _choices(count: int, first: int, possible: int) -> Iterator[Any]:
    """Every choice of `first` among `count` measurements, or a sample of them, in blocks of rows."""
    import numpy as np

    if possible <= MOST_ARRANGEMENTS:
        yield np.array(list(itertools.combinations(range(count), first)))
        return
    random = np.random.default_rng(20040216)
    for rows in _blocks(count):
        yield random.permuted(np.tile(np.arange(count), (rows, 1)), axis=1)[:, :first]


def _blocks(length: int) -> Iterator[int]:
    block = max(1, MOST_VALUES // length)
    for start in range(0, MOST_ARRANGEMENTS, block):
        yield min(block, MOST_ARRANGEMENTS - start)


def _set(path: str, budgets: Sequence[Budget]) -> Set:
    count = len(budgets)
    total_bytes = math.fsum(one.bytes for one in budgets)
    seconds = math.fsum(one.total_s for one in budgets)
    return Set(
        path,
        count,
        sum(one.connections for one in budgets),
        total_bytes / count,
        seconds / count,
        8 * total_bytes / seconds,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
