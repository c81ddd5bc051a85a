"""What retis would have written of a recorded host: events of packets, in the format that its sources define.

The sample in ``tests/data/formats/retis`` is the first part of what `events_of` makes of ``host-queue``; no
file of retis itself is in this repository. Two of its own (``retis/test_data``, GPL-2.0) were read for
comparison.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from support_samples import SAMPLES

import multitracer as mt
from multitracer import native
from multitracer.model import schema

FOLDER = Path(__file__).parent / "data" / "formats" / "retis"
PROBES = {
    "queue": "net:net_dev_queue",
    "enqueue": "qdisc:qdisc_enqueue",
    "dequeue": "qdisc:qdisc_dequeue",
    "start_xmit": "net:net_dev_start_xmit",
    "receive": "net:netif_receive_skb",
    "drop": "skb:kfree_skb",
}
ROWS = 60


def start(offset_ns: int, version: str = "v1.6.0") -> dict[str, Any]:
    """The first line."""
    offset = {"sec": offset_ns // 10**9, "nsec": offset_ns % 10**9}
    return {
        "common": {"timestamp": 1},
        "startup": {"retis_version": version, "clock_monotonic_offset": offset},
    }


def event(kind: str, t_ns: int, address: int, device: str = "eth0", **sections: Any) -> dict[str, Any]:
    """An event of a packet, without the packet itself."""
    made: dict[str, Any] = {
        "common": {"timestamp": t_ns, "smp_id": 1, "task": {"pid": 77, "tgid": 77, "comm": "a"}},
        "kernel": {"symbol": PROBES.get(kind, kind), "probe_type": "raw_tracepoint"},
        "skb-tracking": {"orig_head": 1 << 63, "timestamp": t_ns, "skb": address},
        "netns": {"cookie": 1, "inum": 4026531840},
        "dev": {"name": device, "ifindex": 2},
    }
    return made | sections


def packet(frame: bytes, length: int) -> dict[str, Any]:
    """The section that holds a packet."""
    return {"len": length, "capture_len": len(frame), "data": base64.b64encode(frame).decode()}


def events_of(sample: Path) -> list[dict[str, Any]]:
    """All events of packets of a recorded host, as retis has them."""
    m = mt.read(sample)
    source = next(at for at, one in enumerate(m.sources) if one.format == "ftrace")
    offset_ns = next(clock.offset_ns for clock in m.clocks if clock.source == source)
    details = m.sources[source].details
    table = m.table("host_events")
    packets = mt.analyze(m).results["host"].tables["host_packets"]
    capture = m.table("segments")
    rows = [start(offset_ns)]
    for at in range(len(table)):
        kind = schema.HOST_KINDS[table["kind"][at]]
        if kind not in PROBES:
            continue
        skb, t_ns = int(table["skb"][at]), int(table["t_ns"][at])
        own = np.flatnonzero((packets["skb"] == skb) & (packets["t_ns"] <= t_ns))
        sections: dict[str, Any] = {}
        name = table["name"][at]
        device = "eth0" if kind in ("enqueue", "dequeue", "drop") or name < 0 else details["devices"][name]
        row = int(packets["capture"][own[-1]]) if len(own) else -1
        if row >= 0:
            kept = native.packet(m.sources[int(capture["source"][row])].path, int(capture["record"][row]))
            assert kept is not None
            sections["packet"] = packet(kept.data[:80], kept.original_length)
        if kind in ("queue", "start_xmit", "receive"):
            sections["skb"] = {"meta": {"len": int(table["length"][at])}}
        if kind == "start_xmit":
            sections["skb"]["gso"] = {"segs": int(table["extra"][at]), "size": 1448}
        if kind == "drop":
            sections["skb-drop"] = {"drop_reason": details["drop_reasons"][name]}
        made = event(kind, t_ns - offset_ns, skb % (1 << 64), details["devices"][0], **sections)
        made["common"]["smp_id"] = int(table["cpu"][at])
        made["dev"]["name"] = details["devices"][0] if device == "eth0" else device
        rows.append(made)
    return rows


def text(rows: list[Any]) -> str:
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def main() -> None:
    """Write the sample."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = text(events_of(SAMPLES / "host-queue")[:ROWS]).encode()
    (FOLDER / "events.json.gz").write_bytes(gzip.compress(made, 9, mtime=0))


if __name__ == "__main__":
    main()
