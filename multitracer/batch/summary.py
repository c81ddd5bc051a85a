"""The summary as files: CSV, Parquet, and a partitioned Parquet data set."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from multitracer.model.errors import UsageError
from multitracer.output.cells import neutral

Row = Mapping[str, Any]

ROWS_PER_PART = 50_000
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def csv_bytes(rows: Sequence[Row], names: Sequence[str]) -> bytes:
    """Rows as CSV; what is unknown is empty, and no text is a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if row.get(name) is None else neutral(row[name]) for name in names])
    return text.getvalue().encode("utf-8", "backslashreplace")


def has_parquet() -> bool:
    """Whether pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def parquet_bytes(rows: Sequence[Row], names: Sequence[str]) -> bytes:
    """Rows as one Parquet file."""
    return _parquet(_table(rows, names))


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _table(rows: Sequence[Row], names: Sequence[str]) -> Any:
    import pyarrow as pa

    from multitracer.batch.rows import COLUMNS, WORDS

    arrays, fields = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        kind = _kind(values, known=name in COLUMNS, name=name, words=WORDS)
        if kind == "string":
            values = [None if value is None else _text(value) for value in values]
        elif kind == "double":
            values = [None if value is None else float(value) for value in values]
        fields.append(pa.field(name, getattr(pa, {"double": "float64"}.get(kind, kind))()))
        arrays.append(pa.array(values, type=fields[-1].type))
    return pa.table(arrays, schema=pa.schema(fields))


_COUNTS = frozenset(
    {
        "conn", "bytes", "sent_bytes", "duplicate_bytes", "retransmissions", "retransmissions_timeout",
        "retransmissions_fast", "timeouts", "timeouts_spurious", "timeouts_genuine", "link_frames",
        "link_retransmitted", "link_resets", "local_drops", "flows", "received_bytes", "lost_segments",
        "lost_timeout", "lost_fast",
    }
)  # fmt: skip


def _kind(values: Sequence[Any], known: bool, name: str, words: Collection[str]) -> str:
    """The type of a column: fixed for ours, what all values share for parameters."""
    if known:
        return "string" if name in words else "int64" if name in _COUNTS else "double"
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "bool_"
    if kinds == {int}:
        return "int64"
    if kinds and kinds <= {int, float}:
        return "double"
    return "string"


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "backslashreplace").decode()


def dataset_files(rows: Sequence[Row], names: Sequence[str], by: Sequence[str]) -> dict[str, bytes]:
    """A data set partitioned as Hive does: ``mtu=576/part-00000.parquet``.

    Parameters
    ----------
    rows : sequence of Row
        Rows of the summary.
    names : sequence of str
        Its columns, in their order.
    by : sequence of str
        Columns to partition by; they are in the names of the directories, not in the files.

    Returns
    -------
    dict of str to bytes
        Contents by path.

    Raises
    ------
    UsageError
        No such column, or pyarrow is missing.
    """
    for one in by:
        if one not in names:
            raise UsageError(f"--partition-by {one}: no such column; there are {', '.join(names)}")
    if not has_parquet():
        raise UsageError("a Parquet data set needs pyarrow: pip install 'multitracer[parquet]'")
    table = _table(rows, names).select([name for name in names if name not in by])
    members: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        place = "".join(
            f"{quote(one, safe='')}={NO_VALUE if row.get(one) is None else quote(_text(row[one]), safe='')}/"
            for one in by
        )
        members.setdefault(place, []).append(index)
    files = {}
    for place, indices in sorted(members.items()):
        for number, start in enumerate(range(0, len(indices), ROWS_PER_PART)):
            part = table.take(indices[start : start + ROWS_PER_PART])
            files[f"dataset/{place}part-{number:05d}.parquet"] = _parquet(part)
    return files
