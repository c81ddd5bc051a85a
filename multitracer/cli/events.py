"""``multitracer events``: the unified table over all layers, for other tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

import click

from multitracer.cli.common import (
    conn_option,
    filter_option,
    format_option,
    json_option,
    load,
    paths_argument,
    point_option,
    replacing,
    window,
)
from multitracer.cli.visible import visible
from multitracer.model.errors import UsageError
from multitracer.model.eventlayers import EVENT_LAYERS
from multitracer.output.cells import neutral

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.api.measurement import Measurement

ROWS = 50_000
"""Rows put into text at a time: memory stays small and a reader gets the first ones at once."""


@click.command(short_help="Print the events of all layers as CSV or Parquet.")
@paths_argument
@format_option
@conn_option
@filter_option
@point_option
@json_option
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE (.csv or .parquet) instead of standard output."
)
@click.option(
    "--layer", "layers", multiple=True, type=click.Choice(EVENT_LAYERS), help="Only this layer. Repeatable."
)
@click.option(
    "--name", "names", multiple=True, metavar="SERIES", help="Only this series, e.g. TcpSnd_data. Repeatable."
)
@click.option("--from", "start", type=float, metavar="SECONDS", help="Only from here on.")
@click.option("--to", "end", type=float, metavar="SECONDS", help="Only before this time.")
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    output: str | None,
    layers: tuple[str, ...],
    names: tuple[str, ...],
    start: float | None,
    end: float | None,
) -> None:
    """Write the events of all layers in time order, as CSV or Parquet.

    Seconds count from the first TCP event. `record` is the packet or line number in `file`.

    \b
    multitracer events sample_traces/flow-control --layer tcp | head
    multitracer events sample_traces/flow-control --name RlpSnd_xoff
    multitracer events sample_traces/flow-control --from 10 --to 20 -o ev.parquet
    """
    ending = os.path.splitext(output)[1].lower() if output else ".csv"
    if ending not in (".csv", ".parquet", ".json"):
        raise UsageError(f"-o {output}: unknown ending; use .csv, .parquet or .json")
    if as_json and output and ending != ".json":
        raise UsageError(f"--json -o {output}: give the file the ending .json")
    if ending == ".parquet":
        _require_pyarrow()
    measurement = load(paths, formats)
    frame = _select(measurement, layers, names, start, end)
    if output is None:
        _writer(as_json)(frame, sys.stdout)
        return
    with replacing(output) as temporary:
        if ending == ".parquet":
            frame.to_parquet(temporary, index=False)
            return
        with open(temporary, "w", encoding="utf-8", newline="") as stream:
            _writer(ending == ".json")(frame, stream)


def _select(
    measurement: Measurement,
    layers: tuple[str, ...],
    names: tuple[str, ...],
    start: float | None,
    end: float | None,
) -> pd.DataFrame:
    """The rows asked for, with seconds in front and the file's name behind."""
    import numpy as np
    import pandas as pd

    low, high = window(measurement, start, end)
    table = measurement.events_table()
    have = sorted(set(table["name"]))
    for name in names:
        if name not in have:
            raise UsageError(f"--name {name}: no such series here; there are {', '.join(have)}")
    keep = (table["t_ns"] >= low) & (table["t_ns"] < high)
    if layers:
        keep &= np.isin(table["layer"], [table.code("layer", layer) for layer in layers])
    if names:
        keep &= np.isin(table["name"].astype(str), names)
    rows = table.where(keep)
    frame = rows.frame()
    frame.insert(0, "t_s", (rows["t_ns"] - measurement.t0_ns) / 1e9)
    # A file may hold several sources: the nodes of a simulation, the stations of a monitor's capture.
    files = list(dict.fromkeys(source.path for source in measurement.sources))
    of_source = np.array([files.index(source.path) for source in measurement.sources], dtype=np.int64)
    cells = [_cell(name) for name in _distinct(files)]
    frame["file"] = pd.Categorical.from_codes(
        of_source[rows["source"]],
        categories=pd.Index(cells, dtype=object),
    )
    return frame


def _distinct(paths: list[str]) -> list[str]:
    """Base names where they tell the files, each of which is given once, apart; else the paths."""
    names = [os.path.basename(path) for path in paths]
    return names if len(set(names)) == len(names) else paths


def _cell(name: str) -> object:
    """A name that any file can hold, no terminal obeys and no spreadsheet computes."""
    return neutral(visible(name).encode("utf-8", "backslashreplace").decode("utf-8"))


def _chunks(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for first in range(0, len(frame), ROWS):
        yield frame.iloc[first : first + ROWS]


def _writer(as_json: bool) -> Callable[[pd.DataFrame, TextIO], None]:
    return _write_json if as_json else _write_csv


def _write_csv(frame: pd.DataFrame, stream: TextIO) -> None:
    frame.iloc[:0].to_csv(stream, index=False, lineterminator="\n")
    for chunk in _chunks(frame):
        chunk.to_csv(stream, index=False, header=False, lineterminator="\n")


def _write_json(frame: pd.DataFrame, stream: TextIO) -> None:
    """One JSON object, one event a line."""
    import json

    stream.write('{"events": [')
    comma = "\n"
    for chunk in _chunks(frame):
        for row in chunk.astype(object).where(chunk.notna(), None).to_dict("records"):
            stream.write(comma + json.dumps(row, allow_nan=False))
            comma = ",\n"
    stream.write("\n]}\n")


def _require_pyarrow() -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install 'multitracer[parquet]', or write .csv")
