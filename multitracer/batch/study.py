"""Studies: a metric over one parameter or two, with its spread and the number of runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitracer.batch.rows import OF_MEASUREMENT
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen

if TYPE_CHECKING:
    from multitracer.plots.panel import Figure

Value = int | float | str | bool | None

SIZE = (11.0, 6.2)
"""Inches of a study's figure."""


@frozen
class Cell:
    """The runs of one combination of parameters.

    Attributes
    ----------
    row, column : value
        Of the parameters; `column` is None for a study over one.
    n : int
        Values: connections, or measurements for a metric of the measurement.
    runs : int
        Measurements that they come from.
    median, q1, q3, low, high : float
        Median, quartiles, smallest and largest.
    deviation : float or None
        Standard deviation of the sample (n - 1); None for one value.
    """

    row: Value
    column: Value
    n: int
    runs: int
    median: float
    q1: float
    q3: float
    low: float
    high: float
    deviation: float | None


@frozen
class Pivot:
    """A study.

    Attributes
    ----------
    metric, rows : str
    columns : str or None
    cells : list of Cell
        In order of the parameters; combinations without a run are not there.
    missing : int
        Rows of the summary without the metric or a parameter.
    """

    metric: str
    rows: str
    columns: str | None
    cells: list[Cell]
    missing: int

    def row_values(self) -> list[Value]:
        """Values of the first parameter, in order."""
        return in_order({cell.row for cell in self.cells})

    def column_values(self) -> list[Value]:
        """Values of the second parameter, in order."""
        return in_order({cell.column for cell in self.cells})

    def cell(self, row: Value, column: Value) -> Cell | None:
        """The runs of a combination; None if there is none."""
        return next((one for one in self.cells if one.row == row and one.column == column), None)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The chart: medians, with strokes from quartile to quartile, a curve for each value of `columns`.

        Parameters
        ----------
        path : path, optional
            Where to save it; the ending (png, svg, pdf) decides on the format.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UsageError
            More values of `columns` than distinguishable curves, or the file cannot be written.
        """
        from multitracer.plots.mpl import renderer as mpl

        return mpl.draw(study_figure(self), None if path is None else os.fspath(path), size=SIZE)

    def table(self) -> list[dict[str, Any]]:
        """One row for each cell, for a CSV."""
        found = []
        for cell in self.cells:
            row: dict[str, Any] = {self.rows: cell.row}
            if self.columns is not None:
                row[self.columns] = cell.column
            found.append(
                row
                | {
                    "metric": self.metric,
                    "median": cell.median,
                    "q1": cell.q1,
                    "q3": cell.q3,
                    "min": cell.low,
                    "max": cell.high,
                    "std": cell.deviation,
                    "n": cell.n,
                    "runs": cell.runs,
                }
            )
        return found


def parse(text: str) -> tuple[str, str, str | None]:
    """Understand ``metric:rows`` or ``metric:rows,columns``.

    Raises
    ------
    UsageError
    """
    metric, _, parameters = text.partition(":")
    names = [name.strip() for name in parameters.split(",")]
    if not metric.strip() or not names[0] or len(names) > 2 or not names[-1]:
        raise UsageError(f"--pivot {text!r}: write METRIC:PARAMETER or METRIC:PARAMETER,PARAMETER")
    return metric.strip(), names[0], names[1] if len(names) == 2 else None


def pivot(summary: Sequence[Mapping[str, Any]], metric: str, rows: str, columns: str | None = None) -> Pivot:
    """A metric over one parameter or two.

    Parameters
    ----------
    summary : sequence of mapping
        Rows of the summary. Of a metric of the measurement (utilization, Jain index) each measurement counts
        once, however many connections it has; of others each connection counts.
    metric, rows, columns : str
        Any columns of the summary: the metric must hold numbers.

    Raises
    ------
    UsageError
        No such column, or a metric without a number in it.

    Examples
    --------
    >>> from multitracer.batch.study import pivot
    >>> runs = [{"name": f"r{i}", "mtu": 576, "goodput_bps": 1000.0 * i} for i in (1, 2, 4)]
    >>> cell = pivot(runs, "goodput_bps", "mtu").cells[0]
    >>> cell.median, cell.q1, cell.n
    (2000.0, 1500.0, 3)
    """
    known = {name for row in summary for name in row}
    for name in (metric, rows, *((columns,) if columns else ())):
        if name not in known:
            raise UsageError(f"no column {name!r} to study; there are {', '.join(sorted(known)) or 'none'}")
    groups: dict[tuple[Value, Value], list[tuple[str, float]]] = {}
    missing = 0
    counted: set[str] = set()
    for row in summary:
        if metric in OF_MEASUREMENT:
            if row["name"] in counted:
                continue
            counted.add(row["name"])
        value, first = row.get(metric), row.get(rows)
        second = row.get(columns) if columns else None
        is_cell = first is not None and not (columns and second is None)
        if is_cell and isinstance(value, int | float) and not isinstance(value, bool):
            groups.setdefault((first, second), []).append((str(row["name"]), float(value)))
        else:
            missing += 1
    if not groups:
        raise UsageError(f"nothing to study: no run has {metric!r} as a number and a value of {rows!r}")
    cells = [
        _cell(first, second, groups[first, second])
        for first in in_order({key[0] for key in groups})
        for second in in_order({key[1] for key in groups})
        if (first, second) in groups
    ]
    return Pivot(metric, rows, columns, cells, missing)


def _cell(row: Value, column: Value, found: list[tuple[str, float]]) -> Cell:
    import numpy as np

    values = np.array([value for _, value in found])
    low, q1, median, q3, high = (float(one) for one in np.percentile(values, (0, 25, 50, 75, 100)))
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    runs = len({name for name, _ in found})
    return Cell(row, column, len(values), runs, median, q1, q3, low, high, deviation)


def in_order(values: set[Value]) -> list[Value]:
    """Numbers by size, then words by alphabet."""
    return sorted(
        values,
        key=lambda one: (isinstance(one, str), one if isinstance(one, int | float) else 0, str(one)),
    )


def study_figure(study: Pivot) -> Figure:
    """A metric over parameters, as a figure.

    Raises
    ------
    UsageError
        More values of the second parameter than distinguishable curves.
    """
    from multitracer.plots.figures.parameters import Point, build_points

    points = [
        Point(
            cell.row, "" if cell.column is None else str(cell.column), cell.median, cell.q1, cell.q3, cell.n
        )
        for cell in study.cells
    ]
    return build_points(points, study.metric, study.rows, study.columns or "")
