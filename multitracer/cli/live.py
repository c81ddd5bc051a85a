"""The running summary on a terminal: a table that is drawn anew in its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from multitracer.cli import loss_words, words
from multitracer.cli.lines import table as rows_of
from multitracer.cli.terminal import Console
from multitracer.model.quantities import rate

Object = Mapping[str, Any]

_ROOMY = 110
"""Columns of a terminal from which on all is shown of a connection."""

_MORE = ("#timeouts", "#sent", "#in flight")


@contextmanager
def table(path: str) -> Iterator[Callable[[Object], None]]:
    """A table that is there as long as the block; what draws it anew."""
    console = Console()
    name = "standard input" if path == "-" else os.path.basename(path)
    waiting = Text(f"{name}: waiting for packets; Ctrl-C stops and prints the complete summary", "dim")
    with Live(waiting, console=console, auto_refresh=False, transient=True) as live:

        def show(found: Object) -> None:
            live.update(drawn(name, found, console.width, console.height), refresh=True)

        yield show


def drawn(name: str, found: Object, width: int = 120, height: int = 40) -> Group:
    """A running summary for a terminal of so many columns and lines.

    Parameters
    ----------
    name : str
        Of the capture.
    found : Object
        A state of the capture: one object of ``analyze --follow --json``.
    width : int
        Columns of the terminal.
    height : int
        Lines of the terminal: they limit how many connections are listed.
    """
    now = found["interval"]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for label, text in (
        (name, f"{words.count(found['records'], 'packet')} in {words.duration(found['capture_s'] or 0.0)}"),
        ("now", f"{words.rate(now['throughput_bps'])}, {words.count(now['records'], 'packet')}"),
        ("main cause", now["cause"]["text"]),
        (
            "connections",
            f"{now['connections']:,} active of {found['connections']:,}"
            + (f", {found['forgotten_connections']:,} forgotten" if found["forgotten_connections"] else ""),
        ),
        ("retransmitted", loss_words.causes(found["retransmissions"])),
        ("timeouts", loss_words.verdicts(found["timeouts"])),
    ):
        grid.add_row(Text(label, "cyan"), Text(text))
    # The ends of a connection are what no row can do without: the rest is left out where there is no room.
    roomy = width >= _ROOMY
    lines = rows_of("=from", "=to", "#rate", "#retr.", "#RTT", *(_MORE if roomy else ()))
    for one in now["busiest"][: max(height - 13, 1)]:
        more = (
            f"{one['timeouts']['total']:,}",
            words.size(one["bytes"]["sent"]),
            words.size(one["flight_bytes"]),
        )
        lines.add_row(
            *one["endpoints"],
            rate(one["throughput_bps"]),
            f"{one['retransmissions']['total']:,}",
            "" if one["srtt_ms"] is None else words.duration(one["srtt_ms"] / 1e3),
            *(more if roomy else ()),
        )
    ending = Text("Ctrl-C stops and prints the complete summary", "dim")
    return Group(grid, Text(), lines, ending) if lines.row_count else Group(grid, ending)
