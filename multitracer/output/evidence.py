"""The records that a sentence of the diagnosis rests on, in words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any


def records(evidence: Iterable[Mapping[str, Any]]) -> str:
    """``snd.pcap 127, 167; rlp.log.gz 2932``: records by file, of ``evidence`` (docs/json.md)."""
    files: dict[str, list[str]] = {}
    for one in evidence:
        files.setdefault(os.path.basename(str(one["source"])), []).append(f"{one['record']:,}")
    return "; ".join(f"{name} {', '.join(numbers)}" for name, numbers in files.items())
