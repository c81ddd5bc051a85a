"""Two sets of measurements against each other: how much changed, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitracer.batch.rows import DECLARED, OF_MEASUREMENT
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen

RESAMPLES = 4000
METRICS = (
    "utilization", "goodput_bps", "goodput_share", "duration_s", "retransmissions", "timeouts",
    "timeouts_spurious", "rtt_mean_ms", "rtt_deviation_ms", "received_share", "idle_after_losses_share",
    "jain", "energy_j_per_mbit", *(column.name for _, _, column in DECLARED if column.compared),
)  # fmt: skip


@frozen
class Change:
    """One metric before and after.

    Attributes
    ----------
    metric : str
    before, after : float
        Medians over the measurements; a measurement of several connections counts with its own median.
    n_before, n_after : int
        Measurements.
    difference, low, high : float
        Of the medians (paired: median of the differences), and the bounds of its 95% confidence interval.
    paired : bool
        Whether measurements of the same name were compared one by one.
    """

    metric: str
    before: float
    after: float
    n_before: int
    n_after: int
    difference: float
    low: float
    high: float
    paired: bool

    @property
    def sure(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0

    def to_dict(self) -> dict[str, Any]:
        """A row for a CSV."""
        return dict(vars(self)) | {"sure": self.sure}


def compare(
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    metrics: Sequence[str] = METRICS,
    resamples: int = RESAMPLES,
) -> list[Change]:
    """Compare two summaries metric by metric.

    Confidence intervals are percentiles of the bootstrap (Efron 1979) over measurements, not connections:
    connections of one run are not independent. The resampling is the same at every call.

    Parameters
    ----------
    resamples : int
        How many times the bootstrap draws.
    before, after : sequence of mapping
        Rows of summaries. If both have the same measurements by name, they are compared in pairs.
    metrics : sequence of str
        Those that one of the sets does not have are left out.

    Returns
    -------
    list of Change
        Metrics with at least two measurements in each set.
    """
    import numpy as np

    found = []
    for metric in metrics:
        old, new = _by_measurement(before, metric), _by_measurement(after, metric)
        if len(old) < 2 or len(new) < 2:
            continue
        random = np.random.default_rng(20040216)
        a = np.array([old[name] for name in sorted(old)])
        b = np.array([new[name] for name in sorted(new)])
        paired = set(old) == set(new)
        if paired:
            change = b - a
            drawn = _medians(random, change, resamples)
            difference = float(np.median(change))
        else:
            drawn = _medians(random, b, resamples) - _medians(random, a, resamples)
            difference = float(np.median(b) - np.median(a))
        low, high = (float(one) for one in np.percentile(drawn, (2.5, 97.5)))
        middle = float(np.median(a)), float(np.median(b))
        found.append(Change(metric, *middle, len(a), len(b), difference, low, high, paired))
    return found


def _medians(random: Any, values: Any, resamples: int) -> Any:
    """Medians of resampled sets, in blocks: memory does not grow with the sets."""
    import numpy as np

    block = max(1, 2_000_000 // len(values))
    parts = [
        np.median(
            values[random.integers(0, len(values), (min(block, resamples - start), len(values)))], axis=1
        )
        for start in range(0, resamples, block)
    ]
    return np.concatenate(parts)


def _by_measurement(rows: Sequence[Mapping[str, Any]], metric: str) -> dict[str, float]:
    import numpy as np

    values: dict[str, list[float]] = {}
    for row in rows:
        value = row.get(metric)
        if isinstance(value, int | float) and not isinstance(value, bool):
            mine = values.setdefault(str(row["name"]), [])
            if not (mine and metric in OF_MEASUREMENT):
                mine.append(float(value))
    return {name: float(np.median(mine)) for name, mine in values.items()}


def read_summary(path: str, content: bytes | None) -> list[dict[str, Any]]:
    """The rows of a summary.csv.

    Raises
    ------
    UsageError
        There is none, or it is not the summary of a batch.
    """
    import csv
    import io

    from multitracer.batch.parameters import plain
    from multitracer.output.cells import original

    if content is None:
        raise UsageError(f"{path}: no summary.csv there; name the output of an earlier batch")
    try:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline="")))
    except csv.Error as error:
        raise UsageError(f"{path}: its summary.csv is not that of a batch: {error}") from error
    if rows and not {"name", "utilization", "goodput_bps"} <= rows[0].keys():
        raise UsageError(f"{path}: its summary.csv is not that of a batch")
    return [
        {
            str(key): None if not value else original(value) if key == "name" else plain(original(value))
            for key, value in row.items()
            if isinstance(key, str)  # else what a line has beyond the columns
        }
        for row in rows
    ]
