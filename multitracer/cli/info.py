"""``multitracer info``: what each file is."""

from __future__ import annotations

import click

from multitracer.cli.common import (
    NOTHING_READABLE,
    format_option,
    json_option,
    parse_formats,
    paths_argument,
    point_option,
    print_json,
    selection,
)


@click.command(short_help="Describe each file.")
@paths_argument
@format_option
@point_option
@click.option("--details", is_flag=True, help="Show all details of each file; the default for a single file.")
@click.option(
    "--map", "as_map", is_flag=True, help="Print a first column map of a table (CSV) for measurement.toml."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    details: bool,
    as_map: bool,
    as_json: bool,
) -> None:
    """Describe each file: format, layer, observation point, records, time span, damage.

    An unreadable file does not stop the others.

    \b
    multitracer info sample_traces/flow-control
    multitracer info snd.pcap --details
    multitracer info snd.pcap rlp.log.gz --json
    multitracer info --map drive.csv > measurement.toml
    """
    if as_map:
        from multitracer.api.inventory import column_map
        from multitracer.cli.visible import say

        for path in paths:
            say(column_map(path).rstrip("\n"))
        return
    from multitracer.api.inventory import inspect
    from multitracer.cli.progress import progress

    with progress("reading") as step:
        found = inspect(paths, format=parse_formats(formats), progress=step, point=selection()["point"])
    if as_json:
        print_json(found.to_dict())
    else:
        from multitracer.cli.render import info_table

        info_table(found, details or len(found.traces) == 1)
    if not found.traces:
        ctx.exit(NOTHING_READABLE)
