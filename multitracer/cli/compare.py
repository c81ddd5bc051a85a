"""``multitracer compare``: two measurements, or two sets of them, and what made the difference."""

from __future__ import annotations

import os

import click

from multitracer.cli.common import THRESHOLD_MISSED, json_option, print_json, processes_option
from multitracer.cli.finite import Finite
from multitracer.cli.visible import say
from multitracer.model.errors import UsageError


@click.command(short_help="Compare two measurements, or two sets of them.")
@click.argument("before", metavar="BEFORE", type=click.Path(readable=False))
@click.argument("after", metavar="AFTER", type=click.Path(readable=False))
@json_option
@click.option("-o", "--output", metavar="FILE", help="Write a page too: .html.")
@processes_option
@click.option(
    "--max-slowdown",
    type=Finite(0),
    metavar="PERCENT",
    help="Exit with status 5 if AFTER is slower by more than this; of sets, only if the test shows a "
    "difference.",
)
@click.pass_context
def command(
    ctx: click.Context,
    before: str,
    after: str,
    as_json: bool,
    output: str | None,
    processes: int | None,
    max_slowdown: float | None,
) -> None:
    """Compare the transfers of BEFORE and AFTER: how much time differs, and by which causes.

    Each is the output of a batch, a directory of measurements, or one measurement. Give several runs of each:
    only repeated runs show what varies by chance.

    \b
    multitracer compare monday tuesday
    multitracer compare results-before results-after -o compare.html
    multitracer compare results-main results-branch --max-slowdown 5
    """
    if output is not None and os.path.splitext(output)[1].lower() not in (".html", ".htm"):
        raise UsageError(f"-o {output}: unknown ending; a comparison is a page: use .html")
    from multitracer.batch.sides import compare
    from multitracer.cli.batch import batch_progress

    with batch_progress() as report:
        found = compare(before, after, processes=processes, progress=report)
    if output is not None:
        from multitracer.batch.difference_page import difference_page
        from multitracer.report.write import write_text

        write_text(output, difference_page(found))
    if as_json:
        print_json(found.to_dict())
    else:
        from multitracer.cli.difference import print_difference

        print_difference(found)
        if output is not None:
            say(output)
    tested = found.verdict not in ("no difference shown", "too few runs")
    if max_slowdown is not None and tested and 100 * found.share > max_slowdown:
        say(f"multitracer: {100 * found.share:.1f}% slower, at most {max_slowdown:g}% are allowed", err=True)
        ctx.exit(THRESHOLD_MISSED)
