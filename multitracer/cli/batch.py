"""``multitracer batch``: every measurement under a directory."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from multitracer.cli.common import (
    DATA_LOSS,
    NOTHING_READABLE,
    THRESHOLD_MISSED,
    conn_option,
    filter_option,
    json_option,
    point_option,
    print_json,
    processes_option,
    selection,
)
from multitracer.cli.finite import Finite
from multitracer.cli.visible import say, say_wrapped
from multitracer.model.errors import UsageError
from multitracer.model.quantities import count

if TYPE_CHECKING:
    from multitracer.batch import Batch
    from multitracer.batch.progress import Progress, Report

LINE_EVERY_S = 30.0
SHOWN = 20
LEAST_SHARE = 0.0005  # of the time; less would be printed as 0.0 %


@click.command(short_help="Analyse a directory of measurements.")
@click.argument("root", metavar="ROOT")
@json_option
@click.option(
    "-o", "--output", metavar="DIR", required=True, help="Directory for the results; fsspec URLs work too."
)
@processes_option
@filter_option
@conn_option
@point_option
@click.option(
    "--pages",
    type=click.Choice(["all", "flagged", "none"]),
    default="all",
    show_default=True,
    help="Which measurements get a report page.",
)
@click.option(
    "--flag-below",
    type=Finite(0, 100),
    default=95.0,
    show_default=True,
    metavar="PERCENT",
    help="Flag measurements with this utilization or less.",
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="PATTERN",
    help=r"Parameter from the names of measurements: 'mtu=(\d+)'.",
)
@click.option(
    "--parameters",
    "table",
    metavar="CSV",
    help="CSV of parameters: a row per measurement, named in column 'name'.",
)
@click.option(
    "--pivot",
    "pivots",
    multiple=True,
    metavar="METRIC:P[,P]",
    help="Study: a metric over one parameter or two.",
)
@click.option("--baseline", metavar="DIR", help="Output of an earlier batch to compare with.")
@click.option(
    "--partition-by",
    multiple=True,
    metavar="COLUMN",
    help="Write a Parquet data set too, partitioned by this column.",
)
@click.option(
    "--time-limit",
    type=Finite(),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Per measurement.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Per measurement, e.g. 2GiB; 0: none. Default: an equal share of 80% of the memory.",
)
@click.option("--dask", type=click.IntRange(1), metavar="N", help="Run on a local Dask cluster of N workers.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at tcp://host:port.")
@click.option(
    "--min-utilization",
    type=Finite(0, 100),
    metavar="PERCENT",
    help="Exit with status 5 if a measurement used less (or if it is unknown).",
)
@click.option(
    "--max-spurious",
    type=click.IntRange(0),
    metavar="N",
    help="Exit with status 5 above N spurious timeouts.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="RULE",
    help="Exit with status 5 if RULE applies to a measurement: a column of summary.csv ('utilization<95', "
    "'timeouts_spurious>0'), the main cause ('cause=loss'), or, with --baseline, 'slowdown>5' (percent). "
    "Repeatable.",
)
@click.option("--strict", is_flag=True, help="Exit with status 4 if a measurement could not be analysed.")
@click.pass_context
def command(
    ctx: click.Context,
    root: str,
    as_json: bool,
    output: str,
    processes: int | None,
    pages: str,
    flag_below: float,
    params: tuple[str, ...],
    table: str | None,
    pivots: tuple[str, ...],
    baseline: str | None,
    partition_by: tuple[str, ...],
    time_limit: float,
    memory_limit: str | None,
    dask: int | None,
    scheduler: str | None,
    min_utilization: float | None,
    max_spurious: int | None,
    fail_on: tuple[str, ...],
    strict: bool,
) -> None:
    """Analyse every measurement under ROOT: summary, a page for each, an index page over all.

    An interrupted run resumes when the same command is given again.

    \b
    multitracer batch runs -o results
    multitracer batch runs -o results --param 'mtu=(\\d+)' --pivot goodput_bps:mtu
    multitracer batch after -o out --baseline results --fail-on 'slowdown>5'
    multitracer batch s3://in/today -o s3://out/today --scheduler tcp://head:8786
    """
    from multitracer.batch import batch
    from multitracer.batch.output import spurious, state

    if not time_limit > 0:
        raise UsageError(f"--time-limit {time_limit:g}: must be positive")
    with batch_progress() as shown, _resumable(shown) as report:
        began = time.monotonic()
        found = batch(
            root,
            output,
            processes=processes,
            dask=dask or 0,
            scheduler=scheduler,
            pages=pages,  # type: ignore[arg-type]
            flag_below=flag_below,
            params=params,
            parameter_table=table,
            pivots=pivots,
            baseline=baseline,
            partition_by=partition_by,
            fail_on=fail_on,
            **selection(),
            time_limit_s=time_limit,
            memory_limit_bytes=None if memory_limit is None else _size(memory_limit),
            progress=report,
        )
        seconds = time.monotonic() - began
    if as_json:
        print_json(state(found, []))
    else:
        _print(found, seconds)
    if not found.done:
        ctx.exit(NOTHING_READABLE)
    missed = _missed(found, min_utilization)
    if max_spurious is not None and (number := spurious(found)) > max_spurious:
        missed.append(f"{number:,} spurious timeouts, at most {max_spurious:,} are allowed")
    missed += [f"{one.measurement or output}: {one.text} ({one.rule})" for one in found.broken]
    for line in missed[:SHOWN]:
        say(f"multitracer: {line}", err=True)
    if len(missed) > SHOWN:
        say(f"multitracer: and {len(missed) - SHOWN:,} more", err=True)
    if missed:
        ctx.exit(THRESHOLD_MISSED)
    if strict and (found.failed or found.unread):
        ctx.exit(DATA_LOSS)


def _missed(found: Batch, least: float | None) -> list[str]:
    if least is None:
        return []
    lines = []
    for record in found.records:
        value = record["utilization"]["value"] if record["status"] == "done" else None
        if value is None or 100 * value < least:
            known = "is unknown" if value is None else f"is {100 * value:.1f}%"
            lines.append(f"{record['name']}: utilization {known}, the threshold is {least:g}%")
    return lines


def _print(found: Batch, seconds: float) -> None:
    from multitracer.batch.outcome import flag_rule

    computed = len(found.records) - found.cached
    say(
        f"{count(len(found.records), 'measurement')} in {seconds:,.1f} s: "
        f"{computed:,} computed, {found.cached:,} reused"
    )
    say(f"  done     {len(found.done):,}")
    say(f"  flagged  {len(found.flagged):,}  ({flag_rule(found)})")
    for record in found.flagged[:SHOWN]:
        causes = ", ".join(
            f"{one['cause'].replace('_', ' ')} {100 * one['share']:.1f}%"
            for one in record["causes"]
            if one["share"] >= LEAST_SHARE
        )
        value = record["utilization"]["value"]
        used = "unknown" if value is None else f"{100 * value:5.1f}% "
        say_wrapped(f"    {used} ", f"{record['name']}: {causes or _said(record)}")
    say(f"  failed   {len(found.failed):,}")
    for record in found.failed[:SHOWN]:
        say_wrapped("    ", f"{record['name']}: {record['error']['text']}")
    for one in found.unread[:SHOWN]:
        say(f"    left out: {one.path}: {one.reason}")
    if found.removed:
        names = ", ".join(found.removed[:SHOWN]) + (", ..." if len(found.removed) > SHOWN else "")
        say(f"  gone     {len(found.removed):,}  (results of the run before removed: {names})")
    say(f"{found.output}/index.html")


def _said(record: dict[str, Any]) -> str:
    """The first sentences of the diagnosis, where no cause has a share."""
    found = [one["text"] for one in record["diagnosis"][:2]]
    return " ".join(found) or "cause unknown"


@contextmanager
def _resumable(report: Report) -> Iterator[Report]:
    """Reports how far the run came if it is interrupted: what is done is kept."""
    last: list[Progress] = []

    def step(state: Progress) -> None:
        last[:] = [state]
        report(state)

    try:
        yield step
    except KeyboardInterrupt:
        if last:
            done = f"{last[0].done:,} of {last[0].total:,} done"
            say(f"multitracer: {done}; run the same command again to resume", err=True)
        raise


@contextmanager
def batch_progress() -> Iterator[Report]:
    """A bar on a terminal; elsewhere a line now and then."""
    if not sys.stderr.isatty():
        said = time.monotonic()

        def line(state: Progress) -> None:
            nonlocal said
            if time.monotonic() - said >= LINE_EVERY_S:
                said = time.monotonic()
                say(f"multitracer: {_words(state)}", err=True)

        yield line
        return
    from rich.progress import BarColumn, Progress as Bar, TextColumn

    from multitracer.cli.terminal import Console

    bar = Bar(
        BarColumn(bar_width=24),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("looking for measurements", total=None)

        def step(state: Progress) -> None:
            bar.update(task, completed=state.done, total=state.total, description=_words(state))

        yield step


def _words(state: Progress) -> str:
    left = "" if state.left_s is None else f", about {_clock(state.left_s)} left"
    failed = f", {state.failed:,} failed" if state.failed else ""
    return f"{state.done:,} of {state.total:,} done, {state.flagged:,} flagged{failed}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d} min"


def _size(text: str) -> int:
    """Bytes of ``2GiB``, ``500MB``, ``0``.

    Raises
    ------
    UsageError
    """
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?)\s*([kMGT]?)(i?)B?", text.strip())
    if match is None:
        raise UsageError(f"--memory-limit {text!r}: write a size as 2GiB or 500MB")
    power = " kMGT".index(match[2]) if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)
