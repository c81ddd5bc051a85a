"""``multitracer record`` and ``multitracer doctor``: measure this host."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from multitracer.cli.anonymize import anonymize_options, mapping_of
from multitracer.cli.common import DATA_LOSS, NOTHING_READABLE, json_option, needs_linux, print_json
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.record.session import Progress

_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@click.command(
    "record",
    context_settings={"ignore_unknown_options": False},
    short_help="Record every layer of this host.",
)
@click.option("-o", "--output", type=click.Path(), help="Directory to create; must not exist.")
@click.option("-i", "--interface", default="", help="Interface; by default that of the default route.")
@click.option(
    "--filter", "rule", default="", metavar="EXPR", help="Only these packets, in pcap-filter syntax."
)
@click.option(
    "--for",
    "duration",
    metavar="TIME",
    help="Duration (30s, 5m); by default until Ctrl-C or until COMMAND ends.",
)
@click.option("--interval", default="100ms", show_default=True, help="Time between two samples of counters.")
@click.option("--snaplen", default=128, show_default=True, help="Bytes kept of each packet; 0: all.")
@click.option(
    "--max-size", default="2G", show_default=True, help="Stop when the recording reaches this size."
)
@click.option(
    "--buffer",
    default="8M",
    show_default=True,
    help="Size of the capture buffer, and of each CPU's trace buffer.",
)
@anonymize_options
@click.option("--dry-run", is_flag=True, help="Only show what would be enabled.")
@click.option("--quiet", is_flag=True, help="No progress on the terminal.")
@json_option
@click.argument("command_line", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context,
    output: str | None,
    interface: str,
    rule: str,
    duration: str | None,
    interval: str,
    snaplen: int,
    max_size: str,
    buffer: str,
    anonymize: bool,
    anonymize_key: str | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    command_line: tuple[str, ...],
) -> None:
    """Record every layer of this host: application, TCP, queue, device, drops, wire and counters.

    Needs root for packets and tracepoints; without, only counters are recorded and the rest is listed as
    missing. Only headers are kept unless --snaplen is larger. Exit status 4: something was lost.

    \b
    sudo multitracer record -o run1 --for 30s
    sudo multitracer record -o run1 -i eth0 --filter 'port 443' -- curl -O URL
    multitracer analyze run1
    """
    needs_linux("record")
    from multitracer.record import host, plan as planning
    from multitracer.record.session import Options, ports_of, record

    if dry_run:
        name = interface or host.default_interface()
        plan = planning.make(name, ports_of(rule))
        if as_json:
            print_json({"interface": name, "sources": [one.to_dict() for one in plan.sources]})
        else:
            click.echo("\n".join(planning.host_lines(plan)))
        return
    if not output:
        raise UsageError("name the directory to write with -o")
    options = Options(
        output=output,
        interface=interface,
        filter=rule,
        duration_s=None if duration is None else seconds(duration, "--for"),
        command=command_line,
        interval_s=max(seconds(interval, "--interval"), 0.01),
        snaplen=snaplen,
        max_bytes=size(max_size, "--max-size"),
        buffer_kib=max(size(buffer, "--buffer") >> 10, 64),
    )
    mapping = mapping_of(anonymize, anonymize_key)
    line = None if quiet or not sys.stderr.isatty() else _Line()
    outcome = record(options, None if line is None else line.show)
    if line is not None:
        line.clear()
    removed: list[str] = []
    if mapping is not None:
        from multitracer.anonymize.recordings import anonymize_recording

        removed = anonymize_recording(output, mapping)
        outcome.problems += removed
        outcome.sizes = {one.name: one.stat().st_size for one in os.scandir(output)}
    for problem in outcome.problems:
        click.echo(f"multitracer: warning: {problem}", err=True)
    if as_json:
        print_json(outcome.to_dict())
    else:
        total = sum(outcome.sizes.values())
        click.echo(
            f"{output}: {outcome.seconds:.1f} s, {total:,} bytes, {outcome.lost_events:,} events lost; "
            f"read it: multitracer analyze {output}"
        )
    if outcome.status:
        ctx.exit(outcome.status if 0 < outcome.status < 256 else 1)
    if removed or outcome.lost_events or outcome.capture_drops or outcome.ended_by in ("disk", "failure"):
        ctx.exit(DATA_LOSS)


@click.command("doctor", short_help="Show what this host can record.")
@click.option("-i", "--interface", default="", help="Interface; by default that of the default route.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, interface: str, as_json: bool) -> None:
    """Show what `multitracer record` can record on this host, and how to enable the rest.

    \b
    sudo multitracer doctor
    """
    needs_linux("doctor")
    from multitracer.record import host, plan as planning

    plan = planning.make(interface or host.default_interface())
    if as_json:
        facts = host.facts(plan.interface)
        print_json({**facts, "sources": [one.to_dict() for one in plan.sources]})
    else:
        click.echo("\n".join(planning.host_lines(plan)))
    if not any(one.available for one in plan.sources if one.layer != "counters"):
        ctx.exit(NOTHING_READABLE)


def seconds(text: str, option: str) -> float:
    """``30``, ``30s``, ``5m``, ``1h`` or ``100ms`` in seconds.

    Raises
    ------
    UsageError
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|min|m|h)?", text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"{option} {text!r}: write 30s, 5m, 1h or 100ms")
    return float(match[1]) * _UNITS[match[2] or ""]


def size(text: str, option: str) -> int:
    """``2G``, ``500M`` or a number of bytes.

    Raises
    ------
    UsageError
    """
    match = re.fullmatch(r"(\d{1,12})\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f"{option} {text!r}: write 2G, 500M or a number of bytes")
    return int(match[1]) * _SIZES[match[2].upper()]


class _Line:
    """One line on the terminal that is written again and again."""

    def __init__(self) -> None:
        self._before: tuple[float, int] = (0.0, 0)

    def show(self, progress: Progress) -> None:
        total = sum(progress.sizes.values())
        then, size_then = self._before
        rate = (total - size_then) / max(progress.seconds - then, 0.01)
        if progress.seconds - then >= 1:
            self._before = (progress.seconds, total)
        lost = f", {progress.lost_events:,} events lost" if progress.lost_events else ""
        click.echo(
            f"\r{progress.seconds:6.1f} s  {total / 1e6:8.1f} MB  {rate / 1e6:6.2f} MB/s{lost}\x1b[K",
            nl=False,
            err=True,
        )

    def clear(self) -> None:
        click.echo("\r\x1b[K", nl=False, err=True)
