"""What the compiled core offers. All times are nanoseconds; OSError and ValueError are its only errors."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__version__: str

# text logs

_Columns: TypeAlias = dict[str, npt.NDArray[np.signedinteger[Any]]]
_Issue: TypeAlias = tuple[str, int, int, str]
"""Code, count, first record, detail."""

TextScan: TypeAlias = tuple[dict[str, _Columns], list[_Issue], dict[str, Any]]
"""Columns by table, issues, facts (always ``lines`` and ``resolution_ns``)."""

def head(path: str, count: int) -> bytes: ...
def scan_rlpdump(path: str) -> TextScan:
    """Facts: entities (list of str), version (int or None), settings (list of (key, value))."""

def scan_ftrace(path: str) -> TextScan:
    """Facts: flows (list of (address, port, address, port)), tracepoints and ignored (counts by name).

    Also header_lengths (rows whose payload is unknown) and ticks (times are not seconds).
    """

def scan_ss(path: str) -> TextScan:
    """Facts: flows (as above), stamps, zoneless_stamps, without_info, other_sockets."""

# captures

def capture_format(head: bytes) -> str | None: ...
def read_capture(
    paths: list[str], keep_segments: bool, report: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Keys: info (dict), issues (list of _Issue), connections (list of dict), and the columns of tables."""

def continuation(paths: list[str]) -> list[int] | None:
    """The order in which captures continue each other."""

def packet(paths: list[str], record: int) -> tuple[int, int, bytes, int] | None:
    """Time, original length, bytes kept, link type."""
