"""A capture followed while it is written: how it goes at any moment, and a measurement in the end.

The final summary is that of the same bytes in a file, as long as the capture has no more connections than are
kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal

from multitracer import native, registry
from multitracer.api.interval import Intervals
from multitracer.api.measurement import Measurement
from multitracer.model.errors import UsageError
from multitracer.reading.opening import Formats, check_formats, format_of, recognise
from multitracer.reading.remote import is_url

CONNECTIONS = 100_000
"""How many connections are kept by default: some 50 MB."""

BUSIEST = 10
"""Connections that a running summary names."""

_FORMATS = ("pcap", "pcapng")
_PAUSE_S = 0.1


class Follower:
    """Reads a capture on a thread of its own until its writer closes it, or `stop` is called.

    Parameters
    ----------
    path : str or path-like
        A pipe, ``-`` for standard input, or a file that grows: its end is waited at.
    detail : {"summary", "full"}
        full: every segment is kept, and memory grows with packets.
    connections : int
        How many connections are kept at most in a summary: beyond, those that were idle for longest are
        left out, with an issue.
    format : str or mapping, optional
        As of `multitracer.read`: ``pcap`` or ``pcapng``.

    Raises
    ------
    UnreadableFile, UnknownFormat, CorruptTrace
    UsageError
        What cannot be followed: directories, URLs, other formats than captures of TCP.

    Examples
    --------
    >>> from multitracer.api.follow import Follower
    >>> with Follower("sample_traces/flow-control/snd.pcap") as follower:
    ...     follower.stop()  # with what is there
    ...     measurement = follower.measurement()
    >>> len(measurement.connections)
    1
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        detail: Literal["summary", "full"] = "summary",
        connections: int = CONNECTIONS,
        format: Formats = None,
    ) -> None:
        self.path = os.fspath(path)
        _check(self.path, format)
        self._detail = detail
        self._begun = self._before = time.monotonic()
        self._last_ns: int | None = None
        self._records = 0
        self._intervals = Intervals()
        self._core = native.Follow(self.path, keep_segments=detail == "full", connections=connections)

    def wait(self, seconds: float) -> bool:
        """Wait for the end, so long at most; whether it has come. Signals are answered meanwhile."""
        return self._core.wait(seconds)

    def stop(self) -> None:
        """End with what is there: of a pipe, with what comes within a second."""
        self._core.stop()

    def running(self, busiest: int = BUSIEST) -> dict[str, Any]:
        """How it goes.

        Parameters
        ----------
        busiest : int
            How many connections are named: those that sent most since the last call.

        Returns
        -------
        dict
            As in the JSON of ``multitracer analyze --follow --json`` (docs/live.md).
        """
        found = self._core.snapshot(busiest)
        now = time.monotonic()
        first_ns, last_ns = found["first_ns"], found["last_ns"]
        interval_ns = 0 if last_ns is None else last_ns - (self._last_ns or first_ns)
        elapsed_s, self._before = now - self._before, now
        records, self._records = found["records"] - self._records, found["records"]
        self._last_ns = last_ns
        running: dict[str, Any] = {
            "elapsed_s": round(now - self._begun, 3),
            "capture_s": None if last_ns is None else (last_ns - first_ns) / 1e9,
            "last_unix_s": None if last_ns is None else last_ns / 1e9,
            "bytes_read": found["bytes_read"],
            "records": found["records"],
            "tcp_segments": found["tcp_segments"],
            **_counts(found["sums"]),
            "forgotten_connections": found["forgotten"],
            "interval": {
                "elapsed_s": round(elapsed_s, 3),
                "capture_s": interval_ns / 1e9,
                "records": records,
                "bytes": found["new_bytes"],
                "throughput_bps": _rate_bps(found["new_bytes"], interval_ns),
                "connections": found["active"],
                "busiest": [_line(line, interval_ns) for line in found["busiest"]],
            },
        }
        running["interval"]["cause"] = self._intervals.cause(running)
        return running

    def measurement(self) -> Measurement:
        """Wait for the end; what `multitracer.read` gives of the same bytes. Once.

        Raises
        ------
        UnreadableFile, CorruptTrace
        """
        from multitracer.alignment import align, align_single
        from multitracer.parsers.pcap import trace_of

        trace = trace_of(self.path, self._core.finish())
        return Measurement.of(align_single(trace, {}) if self._detail == "summary" else align([trace], {}))

    def close(self) -> None:
        """Give up at once, if it has not ended."""
        self._core.close()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(path: str, format: Formats) -> None:
    """Refuse what cannot be followed; wait for the first bytes of a file that is still empty."""
    if is_url(path) or os.path.isdir(path):
        raise UsageError(f"{path}: cannot be followed; name a file, a pipe, or - for standard input")
    known = registry.parsers()
    check_formats(format, [path], known)
    while os.path.isfile(path) and os.path.getsize(path) == 0:
        time.sleep(_PAUSE_S)
    asked = format_of(path, format)
    name = recognise(path, known).name if asked is None else asked
    if name not in _FORMATS:
        native.forget(path)
        raise UsageError(
            f"{path}: {name} cannot be followed, only captures of TCP ({', '.join(_FORMATS)});"
            " analyse it without --follow when it is complete"
        )


def _counts(sums: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "connections": sums["connections"],
        "bytes": {"sent": sums["data_bytes"], "duplicate": sums["duplicate_bytes"]},
        "retransmissions": sums["retransmissions"],
        "timeouts": sums["timeouts"],
    }


def _line(line: Mapping[str, Any], interval_ns: int) -> dict[str, Any]:
    counts = _counts(line)
    del counts["connections"]
    return {
        "endpoints": list(line["endpoints"]),
        "throughput_bps": _rate_bps(line["new_bytes"], interval_ns),
        "srtt_ms": None if line["srtt_ns"] is None else line["srtt_ns"] / 1e6,
        "flight_bytes": line["flight_bytes"],
        **counts,
    }


def _rate_bps(count_bytes: int, interval_ns: int) -> float | None:
    """Payload bits in a second of the capture; None where no time has passed in it."""
    if interval_ns <= 0:
        return None if count_bytes else 0.0
    return round(count_bytes * 8e9 / interval_ns, 3)
