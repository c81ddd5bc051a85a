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
    load_segments,
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
"""Events made and written at a time: memory stays small and a reader gets the first ones at once."""


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
@click.option("--from", "start", type=float, metavar="SECONDS", help="Only from this time on.")
@click.option("--until", "--to", "end", type=float, metavar="SECONDS", help="Only before this time.")
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
    measurement = load_segments(paths, formats)
    frames = _select(measurement, layers, names, start, end)
    if output is None:
        _writer(as_json)(frames, sys.stdout)
        return
    with replacing(output) as temporary:
        if ending == ".parquet":
            _write_parquet(frames, temporary)
            return
        with open(temporary, "w", encoding="utf-8", newline="") as stream:
            _writer(ending == ".json")(frames, stream)


def _select(
    measurement: Measurement,
    layers: tuple[str, ...],
    names: tuple[str, ...],
    start: float | None,
    end: float | None,
) -> Iterator[pd.DataFrame]:
    """Frames of the rows asked for, seconds in front and the file's name at the end; the first has no rows.

    Raises
    ------
    UsageError
        Before the first frame: an empty window, or a series that is not there.
    """
    from itertools import chain

    import numpy as np
    import pandas as pd

    from multitracer.layers.events import in_slices
    from multitracer.model import schema
    from multitracer.model.table import Table

    low, high = window(measurement, start, end)
    if names:
        have = {name for table in in_slices(measurement, ROWS, -(2**62), 2**62) for name in table["name"]}
        for name in names:
            if name not in have:
                raise UsageError(f"--name {name}: no such series here; there are {', '.join(sorted(have))}")
    # A file may hold several sources: the nodes of a simulation, the stations of a monitor's capture.
    files = list(dict.fromkeys(source.path for source in measurement.sources))
    of_source = np.array([files.index(source.path) for source in measurement.sources], dtype=np.int64)
    cells = pd.Index([_cell(name) for name in _distinct(files)], dtype=object)

    def frame_of(table: Table) -> pd.DataFrame:
        keep = np.ones(len(table), dtype=np.bool_)
        if layers:
            keep &= np.isin(table["layer"], [table.code("layer", layer) for layer in layers])
        if names:
            keep &= np.isin(table["name"].astype(str), names)
        rows = table.where(keep)
        frame = rows.frame()
        frame.insert(0, "t_s", (rows["t_ns"] - measurement.t0_ns) / 1e9)
        frame["file"] = pd.Categorical.from_codes(of_source[rows["source"]], categories=cells)
        return frame

    return map(frame_of, chain([Table.empty(schema.EVENTS)], in_slices(measurement, ROWS, low, high)))


def _distinct(paths: list[str]) -> list[str]:
    """Base names where they distinguish the files, each of which is given once; else the paths."""
    names = [os.path.basename(path) for path in paths]
    return names if len(set(names)) == len(names) else paths


def _cell(name: str) -> object:
    """A name that any file can hold, no terminal obeys and no spreadsheet computes."""
    return neutral(visible(name).encode("utf-8", "backslashreplace").decode("utf-8"))


def _writer(as_json: bool) -> Callable[[Iterator[pd.DataFrame], TextIO], None]:
    return _write_json if as_json else _write_csv


def _write_csv(frames: Iterator[pd.DataFrame], stream: TextIO) -> None:
    for number, frame in enumerate(frames):
        frame.to_csv(stream, index=False, header=number == 0, lineterminator="\n")


def _write_json(frames: Iterator[pd.DataFrame], stream: TextIO) -> None:
    """One JSON object, one event a line."""
    import json

    stream.write('{"events": [')
    comma = "\n"
    for frame in frames:
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
            stream.write(comma + json.dumps(row, allow_nan=False))
            comma = ",\n"
    stream.write("\n]}\n")


def _write_parquet(frames: Iterator[pd.DataFrame], path: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    first = pa.Table.from_pandas(next(frames), preserve_index=False)
    # A column that is empty in the first piece may hold words in a later one.
    fields = [one.with_type(pa.large_string()) if pa.types.is_null(one.type) else one for one in first.schema]
    form = pa.schema(fields, first.schema.metadata)
    with parquet.ParquetWriter(path, form) as writer:
        for frame in frames:
            writer.write_table(pa.Table.from_pandas(frame, schema=form, preserve_index=False))


def _require_pyarrow() -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install 'multitracer[parquet]', or write .csv")
