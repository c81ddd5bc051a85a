"""A run over a tree: find, analyse, gather, write."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import asdict, field
from typing import Any, Literal

from multitracer.api.pcapfilter import compiled
from multitracer.batch import guard
from multitracer.batch.executors import Run, Where, default_memory_bytes, opened
from multitracer.batch.find import Found, Unit, find
from multitracer.batch.outcome import Batch, flagged_for
from multitracer.batch.output import write_all
from multitracer.batch.parameters import merge, name_pattern, read_table
from multitracer.batch.progress import EACH_BYTES, Progress, Report
from multitracer.batch.rules import Rule, parse_rule
from multitracer.batch.storage import LocalStore, is_remote, store
from multitracer.model.declared import points_of, with_points
from multitracer.model.errors import NothingToRead, UnreadableFile, UsageError
from multitracer.model.frozen import frozen

Pages = Literal["all", "flagged", "none"]


@frozen
class Options:
    """What to do with the measurements; see `batch`."""

    pages: Pages = "all"
    flag_below: float = 95.0
    params: tuple[str, ...] = ()
    parameter_table: str | None = None
    pivots: tuple[str, ...] = ()
    baseline: str | None = None
    partition_by: tuple[str, ...] = ()
    dataset: bool = False
    limits: guard.Limits = field(default_factory=guard.Limits)
    rules: tuple[Rule, ...] = ()
    filter: str = ""
    conns: tuple[int, ...] = ()
    point: str | dict[str, str] | None = None


def batch(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    processes: int | None = None,
    executor: Executor | None = None,
    dask: int = 0,
    scheduler: str | None = None,
    pages: Pages = "all",
    flag_below: float = 95.0,
    params: Sequence[str] = (),
    parameter_table: str | os.PathLike[str] | None = None,
    pivots: Sequence[str] = (),
    baseline: str | os.PathLike[str] | None = None,
    partition_by: Sequence[str] = (),
    fail_on: Sequence[str] = (),
    filter: str = "",
    conns: Sequence[int] = (),
    point: str | Mapping[str, str] | None = None,
    time_limit_s: float = 600.0,
    memory_limit_bytes: int | None = None,
    progress: Report | None = None,
) -> Batch:
    r"""Analyse every measurement under a root.

    An interrupted run resumes: what is finished in `output` is kept as long as neither the
    files of the measurement nor the program nor the selection of connections change.

    Parameters
    ----------
    root : path
        A directory, or a path of fsspec (``s3://bucket/runs``).
    output : path, optional
        Where to write, as `root`. Nothing is kept without it.
    processes : int, optional
        Processes of this machine; as many as there are cores by default.
    executor : concurrent.futures.Executor, optional
        Where to run instead. Each of its workers starts a process of its own for the measurements.
    dask, scheduler : int, str, optional
        Workers of a Dask cluster on this machine; address of a Dask scheduler.
    pages : {"all", "flagged", "none"}
        Which measurements get a report page.
    flag_below : float
        Percent of utilization at which, and below which, a measurement is flagged. One that broke off or
        stalled is flagged whatever its utilization.
    params : sequence of str
        Parameters in the names of measurements: ``mtu=(\d+)``.
    parameter_table : path, optional
        A CSV of parameters with a column ``name``.
    pivots : sequence of str
        Studies, as ``goodput_bps:mtu,window``.
    baseline : path, optional
        Output of an earlier batch to compare with.
    partition_by : sequence of str
        Columns by which the Parquet data set is partitioned.
    fail_on : sequence of str
        Rules: ``utilization<95``, ``timeouts_spurious>0``, ``cause=loss``, ``slowdown>5`` (percent, against
        the baseline). Broken ones are in `Batch.broken`.
    filter : str
        Only connections that match, of every measurement, as of `multitracer.select`; one without any fails.
    conns : sequence of int
        Only connections with these numbers, of every measurement.
    point : {"snd", "rcv", "mid"} or mapping, optional
        Observation point of all captures, or of those with a name (``{"a.pcap": "rcv"}``), instead of what
        they show.
    time_limit_s, memory_limit_bytes : float, int
        What one measurement may take; by default ten minutes, and the worker's share of the memory.
    progress : callable, optional
        ``progress(state)``, called when a measurement is over.

    Raises
    ------
    UnreadableFile, NothingToRead
        No such root, or no measurement under it.
    UsageError
        An option that makes no sense, or output that cannot be written: what was finished is kept.

    Examples
    --------
    >>> import multitracer as mt
    >>> found = mt.batch("sample_traces", processes=2)
    >>> len(found.done)
    5
    """
    where = Where(processes, dask, scheduler, executor)
    if (processes is not None and processes < 1) or dask < 0 or not time_limit_s > 0:
        raise UsageError("processes, workers and time limit must be positive")
    memory = default_memory_bytes(where.workers_here) if memory_limit_bytes is None else memory_limit_bytes
    options = Options(
        pages if output is not None else "none",
        flag_below,
        tuple(params),
        None if parameter_table is None else os.fspath(parameter_table),
        tuple(pivots),
        None if baseline is None else os.fspath(baseline),
        tuple(partition_by),
        bool(partition_by or dask or scheduler),
        guard.Limits(time_limit_s, memory),
        tuple(parse_rule(text) for text in fail_on),
        filter.strip(),
        tuple(sorted(set(conns))),
        point if point is None or isinstance(point, str) else dict(point),
    )
    compiled(options.filter)  # a wrong option is reported before the work
    if baseline is None and any(rule.name == "slowdown" for rule in options.rules):
        raise UsageError("--fail-on slowdown: needs --baseline, the output of an earlier batch")
    if output is not None:
        return _run(os.fspath(root), os.fspath(output), where, options, progress)
    with tempfile.TemporaryDirectory(prefix="multitracer-") as place:
        found = _run(os.fspath(root), place, where, options, progress)
        found.output = None
        return found


def _run(root: str, output: str, where: Where, options: Options, progress: Report | None) -> Batch:
    from multitracer.batch.comparison import read_summary
    from multitracer.batch.study import parse

    # Wrong options are reported before the work, not after it.
    patterns = [name_pattern(text) for text in options.params]
    pivots = [parse(text) for text in options.pivots]
    table = _parameter_table(options.parameter_table)
    base = options.baseline
    baseline = None if base is None else read_summary(base, store(base).read("summary.csv"))
    found = find(root, output)
    if not found.units:
        raise NothingToRead(f"{root}: no measurement in it: no directory with traces or measurement.toml")
    with_points({}, options.point, [file for unit in found.units for file in unit.files])
    place = store(output)
    lock = place.lock() if isinstance(place, LocalStore) else None
    try:
        place.prepare()
        with opened(where) as (executor, work):
            records, cached = _analyse_all(root, output, found, executor, work, options, progress)
        for record in records:
            if record["status"] == "done":
                record["parameters"] = merge(record["name"], record["parameters"], patterns, table)
        result = Batch(records, found.unread, options.flag_below, output, cached)
        write_all(place, result, pivots, baseline, options.partition_by, options.dataset, options.rules)
        return result
    finally:
        if lock is not None:
            os.close(lock)


def _parameter_table(path: str | None) -> dict[str, dict[str, Any]]:
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return read_table(path, file.read())
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}; check the path") from error


def _analyse_all(
    root: str,
    output: str,
    found: Found,
    executor: Executor,
    work: Run,
    options: Options,
    progress: Report | None,
) -> tuple[list[dict[str, Any]], int]:
    import multitracer as mt

    state = Progress(len(found.units), sum(unit.bytes + EACH_BYTES for unit in found.units))
    common = {
        "root": root if is_remote(root) else os.path.abspath(root),
        "output": output if is_remote(output) else os.path.abspath(output),
        "version": mt.__version__,
        "page": options.pages,
        "flag_below": options.flag_below,
        "filter": options.filter,
        "conns": list(options.conns),
    }
    limits = asdict(options.limits)
    waiting: dict[Future[dict[str, Any]], Unit] = {}
    # The large ones first: at the end, no process waits long for the last one.
    for unit in sorted(found.units, key=lambda one: (-one.bytes, one.name)):
        points = points_of(options.point, unit.files)
        job = common | {"name": unit.name, "files": list(unit.files), "whole": unit.whole, "point": points}
        waiting[executor.submit(work, job, limits)] = unit
    records: dict[str, dict[str, Any]] = {}
    try:
        for future in as_completed(list(waiting)):
            unit = waiting.pop(future)
            outcome = _outcome(future, unit)
            record = outcome["record"]
            if record["status"] != "done" and record["error"]["kind"] == "output":
                raise UsageError(record["error"]["text"])
            records[unit.name] = record
            flagged = bool(flagged_for(record, options.flag_below))
            state.step(unit.name, unit.bytes, outcome["cached"], record["status"] != "done", flagged)
            if progress:
                progress(state)
    finally:
        for future in waiting:
            future.cancel()
    return [records[name] for name in sorted(records)], state.cached


def _outcome(future: Future[dict[str, Any]], unit: Unit) -> dict[str, Any]:
    try:
        return future.result()
    except Exception as error:  # the executor's: a pool that broke, a worker that died too often
        text = f"the executor lost it: {type(error).__name__}: {error}"
        return guard.lost({"name": unit.name}, "worker-died", json.dumps(text)[1:-1])
