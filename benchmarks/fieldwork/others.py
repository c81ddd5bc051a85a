"""What tshark and tcptrace make of the same capture."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from fieldwork.wire import REORDERED, RETRANSMISSION

_RESENT = (
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
)
_LATE = "tcp.analysis.out_of_order"


def others(capture: Path, cache: Path) -> dict[str, Any]:
    """Verdicts of tshark by record, and the sums of tcptrace; made once and kept.

    Returns
    -------
    dict
        ``tshark``: record to verdict; ``tcptrace``: retransmitted and out of order; either None where the
        program is not installed.
    """
    if cache.exists():
        return dict(json.loads(cache.read_text()))
    told: dict[str, Any] = {"tshark": tshark(capture), "tcptrace": tcptrace(capture)}
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps(told))
    return told


def tshark(capture: Path) -> dict[str, str] | None:
    """Frame number to verdict, by tcp.analysis (which knows no duplicates by the network)."""
    if shutil.which("tshark") is None:
        return None
    argv = ["tshark", "-n", "-r", str(capture), "-Y", " or ".join((*_RESENT, _LATE)), "-T", "fields"]
    for name in ("frame.number", *_RESENT, _LATE):
        argv += ["-e", name]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    verdicts = {}
    for line in done.stdout.splitlines():
        number, *resent, _late = line.split("\t")
        verdicts[number] = RETRANSMISSION if any(resent) else REORDERED
    return verdicts


def tcptrace(capture: Path) -> dict[str, int] | None:
    """Packets that tcptrace calls retransmitted and out of order, both directions of all connections."""
    if shutil.which("tcptrace") is None:
        return None
    done = subprocess.run(
        ["tcptrace", "-lnr", str(capture)], capture_output=True, text=True, errors="replace"
    )
    sums = {}
    for name, words in ((RETRANSMISSION, "rexmt data pkts"), ("out_of_order", "outoforder pkts")):
        sums[name] = sum(int(number) for number in re.findall(rf"{words}:\s+(\d+)", done.stdout))
    return sums
