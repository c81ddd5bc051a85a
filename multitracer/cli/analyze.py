"""``multitracer analyze``: the answers about one measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from multitracer.cli.common import (
    DATA_LOSS,
    LOSS_CODES,
    THRESHOLD_MISSED,
    conn_option,
    filter_option,
    format_option,
    json_option,
    load,
    paths_argument,
    point_option,
    put,
    uncollected,
)
from multitracer.cli.finite import Finite
from multitracer.cli.unshown import UNSHOWN
from multitracer.cli.visible import say
from multitracer.model.errors import UsageError
from multitracer.model.lazy import ahead

if TYPE_CHECKING:
    from multitracer.api.measurement import Measurement

_FIRST = ("multitracer.parsers._helpers.tcptables", "multitracer.alignment.assemble")
_SHOWN = ("multitracer.cli.diagnosis", "multitracer.cli.render")
"""What is needed before the answers, and after them where people read them."""


@click.command(short_help="Explain why a transfer was slow.")
@paths_argument
@format_option
@conn_option
@filter_option
@point_option
@json_option
@click.option("--strict", is_flag=True, help="Exit with status 4 if any input was damaged, cut or skipped.")
@click.option(
    "--min-utilization",
    type=Finite(0, 100),
    metavar="PERCENT",
    help="Exit with status 5 if TCP used less of the link than this (or if it is unknown).",
)
@click.option(
    "--full/--summary",
    "full",
    default=None,
    help="Keep every segment, or only a summary of each connection. By default a single capture above"
    " 64 MiB or of more than 10,000 connections is summarised, and one of more than 100,000 always.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Read one capture while it is written: print a running summary, then everything (docs/live.md).",
)
@click.option(
    "--interval",
    type=Finite(0.1, 86_400),
    metavar="SECONDS",
    help="With --follow: time between two running summaries; 1 by default.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(1, 2**32, clamp=True),
    metavar="N",
    help="With --follow: connections to keep; beyond, those idle longest are dropped. 100,000 by default.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="With --follow: serve a page that updates itself, on this machine only; its URL is printed.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="With --serve: the port; any that is free by default.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print all rows of every list, not the first 12.")
@click.option("--explain", is_flag=True, help="Print the chains of events behind the diagnosis too.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    strict: bool,
    min_utilization: float | None,
    full: bool | None,
    follow: bool,
    interval: float | None,
    max_connections: int | None,
    serve: bool,
    port: int | None,
    verbose: bool,
    explain: bool,
) -> None:
    """Analyse one transfer: files, or the directory that holds them.

    Times are in seconds from the first TCP event.

    \b
    multitracer analyze sample_traces/link-resets-vj
    multitracer analyze snd.pcap rcv.pcap rlp.log.gz --json
    multitracer analyze sample_traces/local-drops --explain
    multitracer analyze run7 --min-utilization 95
    tcpdump -U -w - tcp | multitracer analyze - --follow
    tcpdump -U -w - tcp | multitracer analyze - --follow --serve
    """
    from multitracer.api.answering import modules
    from multitracer.api.pipeline import analyze
    from multitracer.output.contract import analysis_object

    unasked = frozenset[str]() if as_json else UNSHOWN
    if port is not None and not serve:
        raise UsageError("--port needs --serve")
    if serve and not follow:
        raise UsageError("--serve needs --follow; for a complete capture use multitracer report")
    if follow:
        page_port = (port or 0) if serve else None
        measurement = _followed(paths, formats, interval, max_connections, bool(full), as_json, page_port)
    elif interval is not None or max_connections is not None:
        raise UsageError("--interval and --max-connections need --follow")
    else:
        # What is made is kept to the end: searching it for cycles took up to a fifth of the time.
        ctx.with_resource(uncollected())
        ahead((*_FIRST, *modules(unasked), *(() if as_json else _SHOWN)))
        measurement = load(paths, formats, "auto" if full is None else "bounded" if full else "summary")
    analysis = analyze(measurement, without=unasked)
    contract = analysis_object(measurement, analysis.results)
    if as_json:
        from multitracer.output.jsontext import encoded, one_line

        put((one_line if follow else encoded)(contract))
    else:
        from multitracer.cli import diagnosis as explanation
        from multitracer.cli.render import summary

        explanation.answer(contract)
        summary(contract, verbose=verbose)
        if explain:
            explanation.chains(contract)
        explanation.evidence(contract)
    lost = sorted(
        {i["code"] for i in contract["issues"] if i["severity"] == "error" or i["code"] in LOSS_CODES}
    )
    if strict and lost:
        say(f"multitracer: --strict: data was lost ({', '.join(lost)}); see the issues", err=True)
        ctx.exit(DATA_LOSS)
    if min_utilization is not None:
        value = contract["utilization"]["value"]
        if value is None or 100 * value < min_utilization:
            known = "is unknown" if value is None else f"is {100 * value:.1f}%"
            say(f"multitracer: utilization {known}, the threshold is {min_utilization:g}%", err=True)
            ctx.exit(THRESHOLD_MISSED)


def _followed(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    interval: float | None,
    connections: int | None,
    full: bool,
    as_json: bool,
    port: int | None,
) -> Measurement:
    from multitracer.api.follow import CONNECTIONS
    from multitracer.cli.follow import follow

    if len(paths) != 1:
        raise UsageError("--follow reads one capture; analyse several when they are complete")
    return follow(
        paths[0],
        formats=formats,
        interval_s=interval or 1.0,
        connections=connections or CONNECTIONS,
        full=full,
        as_json=as_json,
        port=port,
    )
