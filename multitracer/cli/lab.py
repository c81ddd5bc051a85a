"""``multitracer lab``: make measurements instead of reading them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from multitracer.cli.common import DATA_LOSS, json_option, needs_linux, print_json
from multitracer.cli.visible import say, say_wrapped

if TYPE_CHECKING:
    from multitracer.lab.fleet import Outcome
    from multitracer.lab.runner import Progress


@click.group("lab", short_help="Measure real TCP over a simulated link.")
def command() -> None:
    """Measure real TCP between two network namespaces over a link with known faults.

    Needs root, /dev/net/tun, ip and tcpdump; nothing outside its own namespaces is touched.

    \b
    multitracer lab list
    multitracer lab run plain-cubic -o out
    multitracer lab fleet sample_traces/fleet.toml -o runs --dry-run
    """


lab = command


@command.command("list", short_help="List the built-in scenarios.")
@json_option
def list_command(as_json: bool) -> None:
    """List the built-in scenarios: name, estimated seconds, what a run shows.

    \b
    multitracer lab list
    """
    from multitracer.lab.library import load, names

    scenarios = [load(name) for name in names()]
    if as_json:
        keys = ("name", "shows", "paper", "duration_s")
        print_json({"scenarios": [{key: getattr(item, key) for key in keys} for item in scenarios]})
        return
    width = max(len(item.name) for item in scenarios)
    for item in scenarios:
        where = f" [{item.paper}]" if item.paper else ""
        say_wrapped(f"{item.name:{width}}  {item.duration_s:5.0f} s  ", f"{item.shows}{where}")


@command.command("run", short_help="Make one measurement of a scenario.")
@click.argument("scenario", metavar="SCENARIO")
@click.option("-o", "--output", required=True, type=click.Path(), help="Directory to create; must not exist.")
@click.option("--seed", default=1, show_default=True, help="Seed of all random behaviour of the link.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a setting. Repeatable.")
@click.option("--quiet", is_flag=True, help="No progress on the terminal.")
@json_option
def run_command(
    scenario: str, output: str, seed: int, settings: tuple[str, ...], quiet: bool, as_json: bool
) -> None:
    """Make one measurement of SCENARIO: a built-in name, or a TOML file.

    \b
    multitracer lab run figure-8-resets-vj -o resets --seed 3
    multitracer lab run plain-cubic -o out --set tcp.sack=0 --set flow.bytes=1e6
    """
    needs_linux("lab")
    from multitracer.lab.library import load
    from multitracer.lab.runner import run

    chosen = load(scenario, settings)
    with _run_progress(chosen.name, chosen.duration_s, quiet) as step:
        result = run(chosen, output, seed, step)
    for warning in result.warnings:
        say(f"multitracer: warning: {warning}", err=True)
    if as_json:
        print_json(
            {
                "path": result.path,
                "seconds": result.seconds,
                "flows": [flow.to_dict() for flow in result.flows],
                "warnings": result.warnings,
            }
        )
        return
    received = sum(flow.received for flow in result.flows)
    say(f"{output}: {received:,} bytes in {result.seconds:.1f} s; read it: multitracer analyze {output}")


@command.command("fleet", short_help="Make many measurements in parallel.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", required=True, type=click.Path(), help="Directory for the measurements.")
@click.option("-j", "--jobs", default=8, show_default=True, help="Measurements in parallel.")
@click.option("--dry-run", is_flag=True, help="Only show what would be run.")
@click.option("--quiet", is_flag=True, help="No progress on the terminal.")
@json_option
@click.pass_context
def fleet_command(
    ctx: click.Context, file: str, output: str, jobs: int, dry_run: bool, quiet: bool, as_json: bool
) -> None:
    """Make many measurements in parallel: scenario x parameters x seeds, from a TOML file.

    Measurements that are already there are skipped, so that an interrupted fleet resumes.
    Exit status 4: some runs failed; the others were made.

    \b
    multitracer lab fleet sample_traces/fleet.toml -o runs --dry-run
    multitracer lab fleet sample_traces/fleet.toml -o runs --jobs 4
    """
    needs_linux("lab")
    from multitracer.lab.fleet import read_fleet, run_fleet

    wanted = read_fleet(file)
    if dry_run:
        for job in wanted:
            say(f"{job.name}  {job.load().duration_s:.0f} s")
        return
    with _fleet_progress(len(wanted), quiet, as_json) as report:
        outcomes = run_fleet(wanted, output, jobs, report)
    counts = {
        status: sum(outcome.status == status for outcome in outcomes)
        for status in ("done", "skipped", "failed")
    }
    if as_json:
        print_json({**counts, "runs": [_outcome_dict(outcome) for outcome in outcomes]})
    else:
        say(", ".join(f"{number} {status}" for status, number in counts.items()))
    if counts["failed"]:
        ctx.exit(DATA_LOSS)


def _outcome_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.job.name,
        "status": outcome.status,
        "seconds": outcome.seconds,
        "error": outcome.error,
        "warnings": outcome.warnings,
    }


@contextmanager
def _run_progress(name: str, duration_s: float, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _bar() as bar:
        task = bar.add_task(name, total=1.0)

        def step(progress: Progress) -> None:
            share = progress.received_bytes / progress.total_bytes if progress.total_bytes else 0.0
            so_far = f"{progress.phase}, {progress.received_bytes / 1000:.0f} kB"
            words = f"{name}: {so_far} (about {duration_s:.0f} s in all)"
            bar.update(task, completed=min(share, 1.0), description=words)
            bar.refresh()

        yield step


@contextmanager
def _fleet_progress(total: int, quiet: bool, as_json: bool) -> Iterator[Callable[..., None]]:
    def line(outcome: Outcome) -> None:
        words = f"{outcome.status:8} {outcome.job.name}"
        if outcome.status == "done":
            words += f"  {outcome.seconds:.1f} s"
        for more in filter(None, [outcome.error, *outcome.warnings]):
            words += f"\n         {more}"
        say(words, err=True)

    if quiet or not sys.stderr.isatty():

        def plain(outcome: Outcome | None, _running: Sequence[Any], _waiting: int) -> None:
            if outcome is not None and not (quiet and outcome.status != "failed"):
                line(outcome)

        yield plain
        return
    with _bar() as bar:
        task = bar.add_task("fleet", total=float(total))
        ended = 0

        def show(outcome: Outcome | None, running: Sequence[tuple[str, int, int]], waiting: int) -> None:
            nonlocal ended
            if outcome is not None:
                ended += 1
                bar.console.print(f"{outcome.status:8} {outcome.job.name}  {outcome.error}")
            part = sum(min(1.0, received / whole) for _, received, whole in running if whole)
            words = f"{len(running)} running, {waiting} waiting"
            bar.update(task, completed=ended + part, description=words)
            bar.refresh()

        yield show


def _bar() -> Any:
    """A progress bar that draws on request: a drawing thread would disturb the run's clock, and forks."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from multitracer.cli.terminal import Console

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
    )
