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
    load_segments,
    point_option,
    print_json,
)
from multitracer.cli.finite import Finite
from multitracer.cli.visible import say, say_wrapped
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
@click.option("--until", "--to", "end", type=float, metavar="SECONDS", help="End of the time window.")
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
    type=Finite(0, min_open=True),
    metavar="SECONDS",
    help="Cut out idle periods longer than this.",
)
@click.option("--dark", is_flag=True, help="Dark theme.")
@click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    help="Size, type and heading for a screen (default), for print without a title, or for a slide.",
)
@click.option("--width", metavar="WIDTH", help="Inches, or column (3.4) or page (7) of a paper.")
@click.option("--height", type=float, metavar="INCHES", help="Height; for print, as needed by default.")
@click.option("--font-size", type=float, metavar="POINTS", help="Size of axis numbers; other text scales.")
@click.option("--title", metavar="WORDS", help="Title instead of the endpoints.")
@click.option("--no-title", is_flag=True, help="Print title and notes instead of drawing them.")
@click.option(
    "--legend",
    type=click.Choice(["auto", "right", "below", "none"]),
    default="auto",
    show_default=True,
    help="Place of the legend.",
)
@click.option("--name", "names", multiple=True, metavar="OLD=NEW", help="A name for an address; repeatable.")
@click.option("--log", type=click.Choice(["x", "y", "xy"]), help="Logarithmic axes.")
@click.option(
    "--color", "colors", multiple=True, metavar="ROLE=COLOR", help="Color of a role of --roles; repeatable."
)
@click.option("--roles", is_flag=True, help="List roles and their colors.")
@click.option("--dpi", type=float, metavar="N", help="Pixels per inch of a PNG.")
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
    roles: bool,
    **look: Any,
) -> None:
    """Draw a figure of a measurement: the multi-layer time/sequence plot, or any other of --list.

    Seconds count from the first TCP event. An offset separates the graphs of different layers. The kinds
    compare, cdf and utilization take several measurements, one per PATH.

    \b
    multitracer plot sample_traces/link-resets-vj -o resets.png
    multitracer plot sample_traces/link-resets-vj --from 25 --to 60 -o gap.pdf
    multitracer plot sample_traces/link-resets-vj -k corrupted-segments -o cs.png
    multitracer plot sample_traces/link-resets-vj --fold 3 -o folded.png
    multitracer plot sample_traces/flow-control --offset 0 --dark -o xoff.svg
    multitracer plot sample_traces/* -k compare -o all.png
    multitracer plot sample_traces/backoff -k rto-backoff --width column -o f.pdf
    multitracer plot run7 -k rtt --style slide --name 10.77.2.1=phone -o rtt.png
    """
    if list_kinds or roles:
        (_list if list_kinds else _list_roles)(as_json)
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
    from multitracer.plots import libraries

    libraries.without_help()
    appearance = _appearance(**look)
    if _compares(kind):
        subject: Any = _several(paths, formats)
    else:
        subject = load_segments(paths, formats, conn is not None)
    window: dict[str, Any] = {"from_s": start, "to_s": end, "fold_s": fold}
    figure = plot(subject, kind, output, **window, **appearance, offset_bytes=offset, conn=conn, dark=dark)
    caption = str(figure.get_label())
    if as_json:
        print_json({"figures": [{"path": output, "kind": kind, "caption": caption}]})
        return
    say(output)
    if not figure.texts:  # nothing was drawn over the panels
        say(caption)


def _appearance(
    *,
    width: str | None,
    title: str | None,
    no_title: bool,
    names: tuple[str, ...],
    colors: tuple[str, ...],
    log: str | None,
    **others: Any,
) -> dict[str, Any]:
    """Options of the command line as those of `Appearance`, refused here, before anything is read."""
    from multitracer.plots.appearance import Appearance

    if title is not None and no_title:
        raise click.UsageError("--title and --no-title exclude each other.")
    found = others | {
        "width": _inches(width),
        "title": False if no_title else title,
        "names": _pairs("--name", "OLD=NEW", names),
        "colors": _pairs("--color", "ROLE=COLOR", colors),
        "log": log or "",
    }
    Appearance(**found)
    return found


def _inches(width: str | None) -> float | str | None:
    try:
        return None if width is None else float(width)
    except ValueError:
        return width


def _pairs(option: str, form: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    for old, equals, new in pairs:
        if not old or not equals or not new:
            raise click.UsageError(f"{option} {old}{equals}{new}: write {option} {form}")
    return {old: new for old, _, new in pairs}


def _compares(kind: str) -> bool:
    """Whether a kind of figure takes several measurements."""
    from multitracer import registry

    plot = registry.plots().get(registry.plot_name(kind))
    return plot is not None and plot.build_many is not None


def _several(paths: tuple[str, ...], formats: tuple[str, ...]) -> dict[str, Measurement]:
    """A measurement per path, under the shortest names that distinguish them.

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
        say_wrapped(f"{plot.name:19}", plot.title)


def _list_roles(as_json: bool) -> None:
    from multitracer.plots.theme import THEMES

    light, dark = (THEMES[name].looks for name in ("light", "dark"))
    if as_json:
        known = [{"name": name, "light": light[name].color, "dark": dark[name].color} for name in light]
        print_json({"roles": known})
        return
    for name in light:
        say(f"{name:27}{light[name].color}  {dark[name].color} (--dark)")
