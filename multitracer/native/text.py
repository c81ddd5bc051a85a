"""Text logs: each through its scanner of the core, by name."""

from __future__ import annotations

from typing import Any

import multitracer._core as _core
from multitracer.native.call import Scan, scanned

SCANNERS = tuple(_core.TEXT_SCANNERS)
"""Names that `scan` takes: the rows of the tables in ``rust/core/src/text/``, mod.rs and settings.rs."""


def scan(scanner: str, path: str, **settings: Any) -> Scan:
    """What a scanner of the core finds in a log.

    Parameters
    ----------
    scanner : str
        One of `SCANNERS`; its file in ``rust/core/src/text/`` defines which tables and facts it returns.
    path : str
    **settings
        What the log itself does not contain; those of a scanner are named where its file has ``configured``.
        None is as if it were not stated.

    Returns
    -------
    Scan
        Of simulations also the fact ``ends``: what each host or end saw of TCP, as `read_capture` has it.

    Raises
    ------
    UnreadableFile
        If the file cannot be opened or read.
    CorruptTrace
        If a scanner that holds the whole document finds it too long.
    ValueError
        If no scanner has this name.
    """
    if scanner not in SCANNERS:
        raise ValueError(f"no scanner is named {scanner!r}: {', '.join(SCANNERS)}")
    return scanned(path, lambda name: _core.scan_text(scanner, name, settings))
