"""What each source says about one host of one run: the kernel, MultiTracer, tshark, tcptrace, the link."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

Counts = dict[str, int]

HOSTS = {"sender": "snd.pcap", "receiver": "rcv.pcap"}
KERNEL = {
    "retransmitted": "TcpRetransSegs",
    "timeouts": "TcpExtTCPTimeouts",
    "fast": "TcpExtTCPFastRetrans",
    "slow_start": "TcpExtTCPSlowStartRetrans",
    "loss_probes": "TcpExtTCPLossProbes",
    "lost_again": "TcpExtTCPLostRetransmit",
}
EXACT = ("retransmitted", "timeouts", "fast", "slow_start", "loss_probes", "lost_again")
UNDO = {
    "loss_undo": "TcpExtTCPLossUndo",
    "full_undo": "TcpExtTCPFullUndo",
    "partial_undo": "TcpExtTCPPartialUndo",
    "dsack_undo": "TcpExtTCPDSACKUndo",
    "spurious_rtos": "TcpExtTCPSpuriousRTOs",
}
UNDONE = {
    "loss_undo": "loss",
    "full_undo": "full",
    "partial_undo": "partial",
    "dsack_undo": "dsack",
    "spurious_rtos": "frto",
}
REORDERING = {
    "reordered_by_sack": "TcpExtTCPSACKReorder",
    "reordered_by_timestamp": "TcpExtTCPTSReorder",
}
UNDECIDED = ("probe_or_timeout", "fast_or_slow_start")
"""Segments with two possible causes, where the capture does not decide."""
LOST = ("packet_lost", "queue_drop")
TSHARK = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")


def kernel(run: Path, host: str) -> Counts:
    """The host's own counters; nstat leaves out what is zero."""
    counters = json.loads((run / "kernel.json").read_text())[host]
    return {name: int(counters.get(key, 0)) for name, key in {**KERNEL, **UNDO, **REORDERING}.items()}


def address(run: Path, host: str) -> str:
    """How the host's address ends: side 0 of the lab's link is .1."""
    settings = json.loads((run / "truth.json").read_text())["settings"]
    side = 0 if settings["network"]["sender"] == "ms" else 1
    return ".1" if (side == 0) == (host == "sender") else ".2"


def ours(capture: Path, ending: str) -> Counts:
    """MultiTracer from this capture alone, the host's own direction only."""
    from multitracer import native
    from multitracer.model import schema

    found = native.read_capture(str(capture), keep_segments=False)
    counts = dict.fromkeys(
        (
            *KERNEL,
            *UNDO,
            *REORDERING,
            *UNDECIDED,
            "unknown",
            "spurious_timeouts",
            "genuine_timeouts",
            "duplicate_bytes",
        ),
        0,
    )
    for connection in found["connections"]:
        for direction, name in enumerate(schema.DIRECTIONS):
            if not connection["endpoints"][direction][0].endswith(ending):
                continue
            sent = connection[name]
            causes = sent["retransmissions"]
            counts["retransmitted"] += causes["total"]
            counts["timeouts"] += causes["timeout"]
            counts["fast"] += causes["fast"]
            counts["slow_start"] += causes["slow_start"]
            counts["loss_probes"] += causes["tail_loss_probe"] + sent["new_data_probes"]
            counts["unknown"] += causes["unknown"]
            counts["spurious_timeouts"] += sent["timeouts"]["spurious"]
            counts["genuine_timeouts"] += sent["timeouts"]["genuine"]
            counts["duplicate_bytes"] += sent["duplicate_bytes"]
            if (recovery := sent["recovery"]) is not None:
                counts["lost_again"] += recovery["lost_again"]
                for name in UNDECIDED:
                    counts[name] += recovery["undecided"][name]
                for name in UNDO:
                    counts[name] += recovery["undone"][UNDONE[name]]
                for name in REORDERING:
                    counts[name] += recovery[name]
    return counts


def certain(run: Path) -> dict[str, Any]:
    """What both captures together show: losses, needless retransmissions, verdicts on timeouts."""
    import multitracer as mt

    results = mt.analyze(mt.read(run), only=["timeouts", "losses"]).results
    losses = results["losses"]
    directions = [] if losses.inconclusive else losses.summary["directions"]
    total = {name: sum(entry[name] for entry in directions) for name in ("lost", "damaged", "unknown")}
    needless: Counts = {}
    for entry in directions:
        for cause, needs in entry["by_cause"].items():
            needless[cause] = needless.get(cause, 0) + needs["spurious"]
    verdicts = [] if results["timeouts"].inconclusive else results["timeouts"].summary["timeouts"]
    alone = native_verdicts(run / HOSTS["sender"])
    both = [(alone.get(one["record"], "inconclusive"), one["verdict"]) for one in verdicts]
    return {
        **total,
        "needless": needless,
        "spurious_timeouts": sum(one["verdict"] == "spurious" for one in verdicts),
        "genuine_timeouts": sum(one["verdict"] == "genuine" for one in verdicts),
        "inconclusive_timeouts": sum(one["verdict"] == "inconclusive" for one in verdicts),
        "contradicted_timeouts": sum({*pair} == {"spurious", "genuine"} for pair in both),
        "undecided_alone": sum(mine == "inconclusive" != theirs for mine, theirs in both),
    }


def native_verdicts(capture: Path) -> dict[int, str]:
    """The verdict on each timeout from this capture alone, by record."""
    from multitracer import native
    from multitracer.model import schema

    rows = native.read_capture(str(capture), keep_segments=True)["timeouts"]
    words = [schema.VERDICTS[code] for code in rows["verdict"].tolist()]
    return dict(zip(rows["record"].tolist(), words, strict=True))


def truth(run: Path) -> Counts:
    """Data packets that the link really lost or damaged; those of 80 bytes and less carry no payload."""
    found = json.loads((run / "truth.json").read_text())
    data = [event for event in found["events"] if event.get("length", 0) > 80]
    return {
        "lost": sum(event["what"] in LOST for event in data),
        "damaged": sum(event["what"] == "packet_ruined" for event in data),
    }


def tshark(capture: Path, ending: str) -> Counts | None:
    """Its flags on the host's own packets; None where it is not installed."""
    if shutil.which("tshark") is None:
        return None
    fields = [word for name in TSHARK for word in ("-e", f"tcp.analysis.{name}")]
    command = ["tshark", "-r", str(capture), "-Y", "tcp.analysis.flags", "-T", "fields", "-E", "separator=,"]
    printed = subprocess.run(
        [*command, "-e", "ip.src", *fields], capture_output=True, text=True, check=True
    ).stdout
    counts = dict.fromkeys(TSHARK, 0)
    for source, *flags in csv.reader(io.StringIO(printed)):
        if source.endswith(ending):
            for name, flag in zip(TSHARK, flags, strict=True):
                counts[name] += bool(flag)
    # A retransmission is flagged so beside the finer names.
    counts["plain"] = (
        counts["retransmission"] - counts["fast_retransmission"] - counts["spurious_retransmission"]
    )
    return counts


def tcptrace(capture: Path, ending: str) -> Counts | None:
    """Its retransmitted segments and bytes from this host; None where it is not installed."""
    if shutil.which("tcptrace") is None:
        return None
    printed = subprocess.run(
        ["tcptrace", "-lnr", "--csv", str(capture)], capture_output=True, text=True, check=True
    ).stdout
    rows = [line for line in printed.splitlines() if line and not line.startswith("#")]
    counts = {"rexmt": 0, "rexmt_bytes": 0, "out_of_order": 0}
    names = {"rexmt": "rexmt_data_pkts", "rexmt_bytes": "rexmt_data_bytes", "out_of_order": "outoforder_pkts"}
    for row in csv.DictReader(rows, skipinitialspace=True):
        for host, suffix in (("host_a", "a2b"), ("host_b", "b2a")):
            if str(row[host]).strip().endswith(ending):
                for name, column in names.items():
                    counts[name] += int(row[f"{column}_{suffix}"])
    return counts
