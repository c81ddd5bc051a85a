"""``multitracer analyze --follow``: a running summary of a capture while it is written."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from multitracer.cli import loss_words, words
from multitracer.cli.visible import say

if TYPE_CHECKING:
    from multitracer.api.follow import Follower
    from multitracer.api.measurement import Measurement

Object = Mapping[str, Any]
Show = Callable[[Object], None]
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def follow(
    path: str,
    *,
    formats: tuple[str, ...],
    interval_s: float,
    connections: int,
    full: bool,
    as_json: bool,
    port: int | None = None,
) -> Measurement:
    """Show how a capture goes until it ends or Ctrl-C is pressed; the measurement that it came to.

    Parameters
    ----------
    path : str
        A capture that is being written, or a pipe.
    formats : tuple of str
        As ``--format`` has them.
    interval_s : float
        Seconds between two states that are shown.
    connections : int
        How many are kept at most; those idle longest are dropped first.
    full : bool
        Keep single segments as well.
    as_json : bool
        Print one JSON object for each state, on a line of its own.
    port : int, optional
        Serve a page that updates itself at this port of 127.0.0.1; 0: at any that is free; None: no page.

    Raises
    ------
    MultiTracerError
    """
    from multitracer.api.follow import Follower
    from multitracer.cli.common import parse_formats

    with (
        Follower(
            path,
            detail="full" if full else "summary",
            connections=connections,
            format=parse_formats(formats),
        ) as follower,
        _signals(follower),
    ):
        with _served(path, port, interval_s) as serve, _display(path, as_json) as show:
            while not follower.wait(interval_s):
                found = follower.running()
                serve(found)
                show(found)
        return follower.measurement()


@contextmanager
def _signals(follower: Follower) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the following, not the program; a second one does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    kept = {number: signal.getsignal(number) for number in _ENDINGS}

    def stop(_number: int, _frame: FrameType | None) -> None:
        follower.stop()
        restore()

    def restore() -> None:
        for number, handler in kept.items():
            signal.signal(number, handler)

    for number in kept:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()


@contextmanager
def _served(path: str, port: int | None, interval_s: float) -> Iterator[Show]:
    """Sends updates to a page, if there is one; its URL goes to standard error."""
    if port is None:
        yield lambda _found: None
        return
    from multitracer.cli.serve import LiveServer

    with LiveServer(path, port, interval_s) as server:
        say(f"multitracer: {server.address}", err=True)
        yield server.tell


@contextmanager
def _display(path: str, as_json: bool) -> Iterator[Show]:
    """What shows a running summary: a line of JSON, a table that changes on a terminal, or a line of text."""
    if as_json:
        import json

        yield lambda found: _put(json.dumps({"running": found}, allow_nan=False))
    elif sys.stdout.isatty():
        from multitracer.cli.live import table

        with table(path) as show:
            yield show
    else:
        yield lambda found: _put(line(found))


def _put(text: str) -> None:
    say(text)
    sys.stdout.flush()


def line(found: Object) -> str:
    """A running summary in one line."""
    now = found["interval"]
    if not found["records"]:
        return "no packets yet"
    parts = [
        f"{words.duration(found['capture_s'] or 0.0)}:",
        f"{words.count(found['records'], 'packet')} (+{now['records']:,}),",
        f"{words.rate(now['throughput_bps'])},",
        f"{words.count(found['connections'], 'connection')}, {now['connections']:,} active,",
        f"{words.count(found['retransmissions']['total'], 'retransmission')},",
        loss_words.verdicts(found["timeouts"]),
    ]
    return f"{' '.join(parts)}; now: {now['cause']['text']}"
