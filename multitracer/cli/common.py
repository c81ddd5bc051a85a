"""What the commands share: options, exit statuses, printing."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import click

from multitracer.model.errors import AlignmentError, MultiTracerError, UsageError

if TYPE_CHECKING:
    from multitracer.api.measurement import Measurement
    from multitracer.api.pipeline import Detail
    from multitracer.reading.opening import Formats

USAGE = 2
NOTHING_READABLE = 3
DATA_LOSS = 4
THRESHOLD_MISSED = 5
NO_ROOM = 6
INTERRUPTED = 130
PIPE_CLOSED = 141

LOSS_CODES = frozenset(
    {
        "bad-block",
        "bad-message",
        "bad-number",
        "capture-drops",
        "capture-loss",
        "line-too-long",
        "lost-events",
        "malformed-packet",
        "missing-frames",
        "no-timestamp",
        "options-cut",
        "unknown-message",
        "unparsed-line",
    }
)
"""Issues, in addition to those of severity "error", that mean: something is missing from the results."""

F = TypeVar("F", bound=Callable[..., Any])


def exit_status(error: MultiTracerError) -> int:
    """The exit status for an error that ended a command."""
    return USAGE if isinstance(error, UsageError | AlignmentError) else NOTHING_READABLE


def paths_argument(command: F) -> F:
    """``PATH...``: files, or directories. Existence is ours to judge: status 3, not click's 2."""
    return click.argument(
        "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(readable=False)
    )(command)


def format_option(command: F) -> F:
    """``--format NAME`` for all files, ``--format FILE=NAME`` for one; repeatable."""
    return click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="[FILE=]NAME",
        help="Read all files, or one file, as this format instead of recognising it. Repeatable.",
    )(command)


def point_option(command: F) -> F:
    """``--point POINT`` for all captures, ``--point FILE=POINT`` for one; repeatable. `load` uses it."""
    return click.option(
        "--point",
        "points",
        multiple=True,
        metavar="[FILE=]snd|rcv|mid",
        expose_value=False,
        callback=_keep_points,
        help="Where captures were taken (sender, middle, receiver), instead of inferring it. Repeatable.",
    )(command)


def filter_option(command: F) -> F:
    """``--filter EXPRESSION``: some connections, in pcap-filter's words. `load` uses it."""
    return click.option(
        "--filter",
        "expression",
        default="",
        metavar="EXPRESSION",
        expose_value=False,
        callback=_kept(_FILTER),
        help="Only connections that match, in pcap-filter syntax: 'host 10.0.0.2 and port 443'; host, net, "
        "port, portrange, and, or, not, parentheses.",
    )(command)


def conn_option(command: F) -> F:
    """``--conn N``: connections by number; repeatable. `load` uses it."""
    return click.option(
        "--conn",
        "conns",
        type=click.IntRange(min=0),
        multiple=True,
        metavar="N",
        expose_value=False,
        callback=_kept(_CONNS),
        help="Only this connection, by the number that `analyze` prints. Repeatable.",
    )(command)


def processes_option(command: F) -> F:
    """``-j N``: worker processes."""
    return click.option(
        "-j",
        "--processes",
        type=click.IntRange(1),
        metavar="N",
        help="Worker processes; by default one per core.",
    )(command)


_POINTS = "multitracer.points"
_FILTER = "multitracer.filter"
_CONNS = "multitracer.conns"


def _kept(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        ctx.meta[name] = value

    return keep


def _keep_points(ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> None:
    ctx.meta[_POINTS] = values


def parse_points(values: Sequence[str]) -> str | dict[str, str] | None:
    """The value of `--point`.

    Raises
    ------
    UsageError
        Two points for all files, or one for all in addition to one for a file.
    """
    for_all = [value for value in values if "=" not in value]
    by_file = dict(value.rpartition("=")[::2] for value in values if "=" in value)
    if len(for_all) > 1 or (for_all and by_file):
        raise UsageError("--point: give one POINT for all files, or FILE=POINT for each")
    return for_all[0] if for_all else by_file or None


def json_option(command: F) -> F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md) instead of text.")(
        command
    )


def parse_formats(values: Sequence[str]) -> Formats:
    """The value of `--format`.

    Raises
    ------
    UsageError
        Two formats for all files, or one for all in addition to one for a file.
    """
    for_all = [value for value in values if "=" not in value]
    by_file: dict[str, str] = {}
    for value in values:
        if "=" in value:
            file, _, name = value.rpartition("=")
            by_file[file] = name
    if len(for_all) > 1 or (for_all and by_file):
        raise UsageError("--format: give one NAME for all files, or FILE=NAME for each")
    if for_all:
        return for_all[0]
    return by_file or None


def load(paths: Sequence[str], formats: Sequence[str], detail: Detail = "full") -> Measurement:
    """Read a measurement with progress on a terminal.

    Parameters
    ----------
    paths : sequence of str
        Files and directories.
    formats : sequence of str
        As ``--format`` has them: a format's name, or ``file=format``.
    detail : Detail
        As `multitracer.read` has it; "full" for "brief" and "bounded" where connections are named.

    Returns
    -------
    Measurement
        As of `multitracer.read`, reduced to the connections that the command line selects.
    """
    from multitracer.api.pipeline import read, refuse_without_tcp
    from multitracer.cli.progress import progress

    chosen = selection()
    if detail in ("brief", "bounded") and (chosen["conns"] or chosen["filter"]):
        detail = "full"
    with progress("reading") as step:
        found = read(
            *paths, format=parse_formats(formats), progress=step, detail=detail, point=chosen["point"]
        )
    refuse_without_tcp(found)
    return selected(found)


def load_segments(paths: Sequence[str], formats: Sequence[str], chosen: bool = False) -> Measurement:
    """As `load`, with every segment, for commands that answer nothing without.

    Parameters
    ----------
    paths, formats : sequence of str
    chosen : bool
        Whether a connection is named, for which the memory of all is taken.

    Raises
    ------
    UsageError
        Too many connections: what they would take, and what to do.
    """
    found = load(paths, formats, "full" if chosen else "bounded")
    if found.summarised:
        raise UsageError(_too_many(found))
    return found


def _too_many(measurement: Measurement) -> str:
    from multitracer.api.pipeline import cost_of
    from multitracer.output.digest import digest

    summary = digest(cast("Sequence[Any]", measurement.connections), 3)
    numbers = ", ".join(map(str, summary["worst"] or summary["largest"]))
    which = f" (the worst: {numbers})" if numbers else ""
    return (
        f"{cost_of(len(measurement.connections))}; take some packets out (tcpdump -r FILE -w PART 'host "
        f"ADDRESS'), or take that memory for one connection with --conn N{which}"
    )


class Selection(TypedDict):
    """The values of `--point`, `--filter` and `--conn`."""

    point: str | dict[str, str] | None
    filter: str
    conns: tuple[int, ...]


def selection() -> Selection:
    """The connections and observation points that the command line names."""
    context = click.get_current_context(silent=True)
    meta = context.meta if context is not None else {}
    return {
        "point": parse_points(meta.get(_POINTS, ())),
        "filter": meta.get(_FILTER, ""),
        "conns": meta.get(_CONNS, ()),
    }


def selected(measurement: Measurement) -> Measurement:
    """The connections that `--conn` and `--filter` name."""
    chosen = selection()
    if not chosen["conns"] and not chosen["filter"]:
        return measurement  # numpy need not be loaded
    from multitracer.api.selection import select

    return select(measurement, chosen["conns"], chosen["filter"])


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles of objects, for a command that ends soon after what it makes."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def needs_linux(command: str) -> None:
    """Refuse a command that works on Linux only, on another system.

    Raises
    ------
    UsageError
    """
    if sys.platform != "linux":
        raise UsageError(
            f"{command} works on Linux only: it uses that kernel's tracing and network namespaces; "
            "recordings made there can be analysed here"
        )


def print_json(data: Any) -> None:
    """Print one JSON object; NaN and infinity are faults, not output."""
    import json

    click.echo(json.dumps(data, indent=2, allow_nan=False))


def put(pieces: Iterable[bytes]) -> None:
    """Print ASCII that comes in pieces, and end the line: there may be hundreds of megabytes."""
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def window(measurement: Measurement, start: float | None, end: float | None) -> tuple[int, int]:
    """A time window in seconds from the first TCP event, as nanoseconds on the reference timeline.

    Parameters
    ----------
    measurement : Measurement
    start, end : float or None
        Seconds; None: from the first event on, or to the last.

    Returns
    -------
    (int, int)
        First and last nanosecond.

    Raises
    ------
    UsageError
        An empty window, or a time that is none.
    """
    from multitracer.model.timeline import FAR_NS

    for value in (start, end):
        if value is not None and not math.isfinite(value):
            raise UsageError(f"time window: {value} is not a time")
    if start is not None and end is not None and end <= start:
        raise UsageError(f"--from {start:g} --to {end:g}: the window is empty")
    low = -FAR_NS if start is None else measurement.nanoseconds(start)
    high = FAR_NS if end is None else measurement.nanoseconds(end)
    return low, high


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """A temporary name next to `path`, renamed to it when all went well and removed when not.

    Raises
    ------
    UsageError
        The directory cannot be written to.
    """
    from multitracer.model.complete_files import completed

    try:
        with completed(path, os.path.splitext(path)[1]) as name:
            with open(name, "xb"):
                pass
            yield name
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; choose another place") from error
