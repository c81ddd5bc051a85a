"""``multitracer export``: results and figures in the formats of other tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from multitracer.cli.anonymize import anonymize_options, mapping_of
from multitracer.cli.common import (
    filter_option,
    format_option,
    json_option,
    load_segments,
    paths_argument,
    point_option,
    print_json,
    window,
)
from multitracer.cli.visible import say
from multitracer.model import quantities
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.api.analysis import Analysis
    from multitracer.plots.panel import Figure

FORMATS = (
    "xplot", "xgraph", "gnuplot", "csv", "parquet", "pcap", "pcapng", "lua", "perfetto", "mahimahi", "errors",
)  # fmt: skip
VERDICTS = ("spurious", "genuine", "inconclusive", "retransmitted", "damaged")
READERS = {
    "wireshark": "pcapng (verdicts as packet comments) or lua (as fields to filter by)",
    "tshark": "pcapng (verdicts as packet comments) or lua (as fields to filter by)",
    "excel": "csv",
    "pandas": "parquet or csv",
    "json": "csv or parquet; the results as JSON are from multitracer analyze --json",
    "tcptrace": "xplot",
}
"""Programs that are named in place of a format, and what they read."""


class _Format(click.Choice[str]):
    """A format; where a program is named, the format that it reads is in the error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if str(value).lower() in READERS:
            self.fail(f"{value!r} is no format; for it: {READERS[str(value).lower()]}", param, ctx)
        return super().convert(value, param, ctx)


@click.command(short_help="Convert results for other tools.")
@paths_argument
@format_option
@filter_option
@point_option
@json_option
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="File to write; a directory for some formats."
)
@click.option(
    "--to",
    "target",
    required=True,
    type=_Format(FORMATS),
    metavar="FORMAT",
    help=f"One of {', '.join(FORMATS)}.",
)
@click.option("-k", "--kind", metavar="NAME", help="xplot, xgraph, gnuplot, perfetto: which figure.")
@click.option("--table", metavar="NAME", help="csv, parquet: which table (a file: events; a directory: all).")
@click.option(
    "--end",
    "side",
    type=click.Choice(["snd", "rcv"]),
    default="snd",
    show_default=True,
    help="pcap, pcapng, lua: which end's capture.",
)
@click.option("--conn", type=click.IntRange(0), metavar="N", help="pcap and figures: connection.")
@click.option("--from", "start", type=float, metavar="SECONDS", help="pcap and figures: begin.")
@click.option("--until", "end", type=float, metavar="SECONDS", help="pcap and figures: end.")
@anonymize_options
@click.option("--verdict", type=click.Choice(VERDICTS), help="pcap: only segments with this verdict.")
def command(
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    as_json: bool,
    output: str,
    target: str,
    kind: str | None,
    table: str | None,
    side: str,
    conn: int | None,
    start: float | None,
    end: float | None,
    verdict: str | None,
    anonymize: bool,
    anonymize_key: str | None,
) -> None:
    """Convert results for other tools.

    xplot, gnuplot, xgraph: any figure. csv, parquet: any table. pcap: selected packets. pcapng: a capture
    with the verdicts as packet comments. lua: the verdicts as fields of Wireshark and tshark. perfetto: the
    timeline for ui.perfetto.dev. mahimahi: the link's capacity for mm-link. errors: a scenario that replays
    the link's errors in the lab. OUT is a directory for xgraph and gnuplot.

    \b
    multitracer export sample_traces/link-resets-vj --to xplot -o resets.xpl
    multitracer export run7 --to pcap --verdict damaged --end rcv -o cut.pcap
    multitracer export run7 --to pcapng -o commented.pcapng
    multitracer export run7 --to csv --table link_frames -o frames.csv
    multitracer export sample_traces/link-resets-vj --to errors -o replay.toml
    """
    from multitracer.api.pipeline import analyze
    from multitracer.cli.progress import progress

    if (anonymize or anonymize_key) and target != "pcap":
        raise UsageError(
            f"--to {target} cannot be anonymized: only --to pcap can; export that, and convert the copy"
        )
    parent = os.path.dirname(output.rstrip(os.sep))  # "series/" is a directory to be made
    if not os.path.isdir(parent or "."):
        raise UsageError(f"-o {output}: the directory {parent} does not exist")
    measurement = load_segments(paths, formats, conn is not None)
    window(measurement, start, end)
    with progress("analysing") as step:
        analysis = analyze(measurement, progress=step)
    options = {"from_s": start, "to_s": end, "conn": conn}
    if target in ("xplot", "xgraph", "gnuplot", "perfetto"):
        written, facts = _figure(analysis, target, output, kind, options)
    elif target in ("csv", "parquet"):
        from multitracer.export import tables

        written, facts = tables.write(analysis, output, target, table), {}
    elif target == "pcap":
        from multitracer.export import pcap

        span = window(measurement, start, end)
        mapping = mapping_of(anonymize, anonymize_key)
        count = pcap.write(
            analysis, output, point=side, conn=conn, window_ns=span, verdict=verdict, mapping=mapping
        )
        written, facts = [output], {"packets": count}
    elif target in ("pcapng", "lua"):
        written, facts = [output], _noted(analysis, target, output, side)
    else:
        from multitracer.export import emulation

        if target == "mahimahi":
            facts = {"opportunities": emulation.write_mahimahi(measurement, output)}
        else:
            facts = {"lost_slots": emulation.write_errors(measurement, output)}
            if resets := emulation.resets_to_lose(measurement):
                counted = quantities.count(resets, "link reset")
                facts["warning"] = (
                    f"the replay has the air, and may not have the measurement's {counted}: a reset needs "
                    "one frame to fail N2 times, and which frame meets a bad slot depends on TCP"
                )
        written = [output]
    _tell(written, facts, target, as_json)


def _figure(
    analysis: Analysis, target: str, output: str, kind: str | None, options: dict[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Build a figure and write it; true sequence numbers, as other tools have no legend for offsets."""
    from multitracer import registry
    from multitracer.plots.plot import PlotOptions

    known = registry.plots()
    name = registry.plot_name(kind or ("tsg" if target == "xplot" else "multilayer"))
    if name not in known:
        raise UsageError(registry.no_plot(name))
    figure: Figure = known[name].build(
        analysis.measurement, analysis.results, PlotOptions(offset_bytes=0, **options)
    )
    if target == "perfetto":
        from multitracer.export import perfetto

        return [output], {"events": perfetto.write(figure, output)}
    if target == "xplot":
        from multitracer.export import xplot

        return xplot.write(figure, output), {}
    if target == "xgraph":
        from multitracer.export import xgraph

        return xgraph.write(figure, output), {}
    from multitracer.export import gnuplot

    return gnuplot.write(figure, output), {}


def _noted(analysis: Analysis, target: str, output: str, side: str) -> dict[str, Any]:
    """A capture with verdicts, or the verdicts for its reader; how many packets."""
    if target == "pcapng":
        from multitracer.export import annotated

        packets, commented = annotated.write(analysis, output, point=side)
        return {"packets": packets, "commented": commented}
    from multitracer.export import dissector

    return {"commented": dissector.write(analysis, output, point=side)}


def _tell(written: Sequence[str], facts: dict[str, Any], target: str, as_json: bool) -> None:
    if as_json:
        print_json({"export": {"format": target, "paths": list(written), **facts}})
        return
    if "warning" in facts:
        say(f"multitracer: warning: {facts['warning']}", err=True)
    for path in written:
        say(path)
