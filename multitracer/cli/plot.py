"""``multitracer plot``: a figure of one measurement."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from multitracer.cli.common import (
    filter_option,
    format_option,
    json_option,
    load,
    point_option,
    print_json,
)
from multitracer.cli.visible import say
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.api.measurement import Measurement

ENDINGS = (".png", ".svg", ".pdf")


@click.command(short_help="Draw a figure.")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path(readable=False))
@format_option
@filter_option
@point_option
@json_option
@click.option("-o", "--output", metavar="FILE", help="Where to write: .png, .svg or .pdf.")
@click.option(
    "-k", "--kind", default="multilayer", show_default=True, metavar="NAME", help="Which figure; see --list."
)
@click.option("--list", "list_kinds", is_flag=True, help="List the kinds of figures.")
@click.option("--from", "start", type=float, metavar="SECONDS", help="Begin of the time window.")
@click.option("--to", "end", type=float, metavar="SECONDS", help="End of the time window.")
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    metavar="BYTES",
    help="Distance between the graphs of different layers; 0: true values.",
)
@click.option(
    "--conn", type=click.IntRange(0), metavar="N", help="Connection; by default that with most data."
)
@click.option(
    "--fold",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Cut out idle periods longer than this.",
)
@click.option("--dark", is_flag=True, help="Dark theme.")
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    output: str | None,
    kind: str,
    list_kinds: bool,
    start: float | None,
    end: float | None,
    offset: int,
    conn: int | None,
    fold: float | None,
    dark: bool,
) -> None:
    """Draw a figure of a measurement: the multi-layer time/sequence plot, or any other of --list.

    Seconds count from the first TCP event. An offset separates the graphs of different layers. The kinds
    compare, cdf and utilization take several measurements, one per PATH.

    \b
    multitracer plot sample_traces/link-resets-vj -o resets.png
    multitracer plot sample_traces/link-resets-vj --from 25 --to 60 -o gap.pdf
    multitracer plot sample_traces/link-resets-vj -k corrupted-segments -o corrupted.png
    multitracer plot sample_traces/link-resets-vj --fold 3 -o folded.png
    multitracer plot sample_traces/flow-control --offset 0 --dark -o xoff.svg
    multitracer plot sample_traces/* -k compare -o all.png
    """
    if list_kinds:
        _list(as_json)
        return
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    if output is None:
        raise click.UsageError("Missing option '-o FILE': where to write the figure (.png, .svg or .pdf).")
    if os.path.splitext(output)[1].lower() not in ENDINGS:
        raise UsageError(f"-o {output}: unknown ending; use {', '.join(ENDINGS)}")
    if start is not None and end is not None and end <= start:
        raise UsageError(f"--from {start:g} --to {end:g}: the window is empty")
    from multitracer.api.pipeline import plot

    subject = _several(paths, formats) if _compares(kind) else load(paths, formats)
    window: dict[str, Any] = {"from_s": start, "to_s": end, "fold_s": fold}
    plot(subject, kind, output, **window, offset_bytes=offset, conn=conn, dark=dark)
    if as_json:
        print_json({"figures": [{"path": output, "kind": kind}]})
    else:
        say(output)


def _compares(kind: str) -> bool:
    """Whether a kind of figure takes several measurements."""
    from multitracer import registry

    plot = registry.plots().get(registry.plot_name(kind))
    return plot is not None and plot.build_many is not None


def _several(paths: tuple[str, ...], formats: tuple[str, ...]) -> dict[str, Measurement]:
    """A measurement per path, under the shortest names that tell them apart.

    What is no directory among directories is left alone: a shell's ``*`` also names README files.
    """
    directories = [path for path in paths if os.path.isdir(path)]
    wanted = directories if directories else list(paths)
    names = [os.path.basename(os.path.abspath(path)) for path in wanted]
    if len(set(names)) < len(names):
        names = wanted
    return {name: load([path], formats) for name, path in zip(names, wanted, strict=True)}


def _list(as_json: bool) -> None:
    from multitracer import registry

    known = registry.plots()
    if as_json:
        print_json({"kinds": [{"name": plot.name, "title": plot.title} for plot in known.values()]})
        return
    for plot in known.values():
        say(f"{plot.name:19}{plot.title}")
