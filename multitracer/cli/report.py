"""``multitracer report``: everything about one measurement on one page."""

from __future__ import annotations

import os

import click

from multitracer.cli.common import (
    conn_option,
    filter_option,
    format_option,
    json_option,
    load,
    paths_argument,
    point_option,
    print_json,
)
from multitracer.cli.finite import Finite
from multitracer.cli.visible import say
from multitracer.model.errors import UsageError


@click.command(short_help="Write one HTML page.")
@paths_argument
@format_option
@conn_option
@filter_option
@point_option
@json_option
@click.option("-o", "--output", metavar="FILE", required=True, help="Where to write: .html.")
@click.option("--title", metavar="WORDS", help="Heading; by default the name of the directory.")
@click.option(
    "--fold",
    type=Finite(0, min_open=True),
    metavar="SECONDS",
    help="Start with idle periods longer than this folded.",
)
@click.option(
    "--full", is_flag=True, help="Keep every segment of up to 100,000 connections; 10,000 by default."
)
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    output: str,
    title: str | None,
    fold: float | None,
    full: bool,
) -> None:
    """Write one HTML page with the diagnosis, an interactive figure, tables and sources.

    The page is self-contained: it opens from disk, without a network, and can be mailed.

    \b
    multitracer report sample_traces/link-resets-vj -o resets.html
    multitracer report snd.pcap rcv.pcap -o page.html --title "On the train"
    """
    if os.path.splitext(output)[1].lower() not in (".html", ".htm"):
        raise UsageError(f"-o {output}: unknown ending; a report is a page: use .html")
    from multitracer.api.pipeline import analyze
    from multitracer.cli.progress import progress

    measurement = load(paths, formats, "bounded" if full else "brief")
    with progress("analysing") as step:
        analysis = analyze(measurement, progress=step)
    from multitracer.api.views import each_connection, worth_seeing
    from multitracer.plots import libraries
    from multitracer.report import write

    libraries.without_help()
    numbers = worth_seeing(analysis)
    write(analysis, output, title, fold, each_connection(measurement, numbers))
    if as_json:
        print_json({"report": {"path": output, "bytes": os.path.getsize(output)}})
    else:
        say(output)
