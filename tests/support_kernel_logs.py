"""Kernel logs constructed out of a real one: what another tool would have written of the same transfer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multitracer import registry
from multitracer.model.trace import Flow, Trace

MSS = 512


def probes(path: Path) -> Trace:
    """The tcp_probe events of a sample."""
    return registry.parsers()["ftrace"].parse(str(path))


def _ends(flow: Flow) -> tuple[str, str]:
    return f"{flow.local_address}:{flow.local_port}", f"{flow.remote_address}:{flow.remote_port}"


def tcpprobe_lines(trace: Trace, opened_ns: int, unit_us: int = 1) -> str:
    """Constructed: procfs tcpprobe (11 columns) of the same events, srtt in a unit."""
    states, lines = trace.tables["tcp_states"], []
    for row in range(len(states)):
        value = {name: int(states[name][row]) for name in states}
        local, remote = _ends(trace.flows[value["flow"]])
        t_ns = value["t_ns"] - opened_ns
        ssthresh = value["ssthresh"] if value["ssthresh"] >= 0 else 0x7FFFFFFF
        lines.append(
            f"{t_ns // 10**9}.{t_ns % 10**9:09d} {local} {remote} 52 "
            f"{value['snd_nxt']:#x} {value['snd_una']:#x} "
            f"{value['cwnd']} {ssthresh} {value['snd_wnd']} {value['srtt_ns'] // 1000 // unit_us} "
            f"{max(value['rcv_wnd'], 0)}\n"
        )
    return "".join(lines)


def siftr_lines(trace: Trace, add_ns: int, version: str = "1.2.2") -> str:
    """Constructed: siftr of the received segments of the same events, on a wall clock `add_ns` ahead."""
    states = trace.tables["tcp_states"]
    old = version != "1.3.0"
    units = "\thz=1000\ttcp_rtt_scale=32" if old else ""
    lines = [
        f"enable_time_secs=1\tenable_time_usecs=0\tsiftrver={version}{units}\tsysname=FreeBSD\tsysver=604000"
        "\tipmode=4\n"
    ]
    for row in range(len(states)):
        value = {name: int(states[name][row]) for name in states}
        flow = trace.flows[value["flow"]]
        t_us = (value["t_ns"] + add_ns) // 1000
        inflight = (value["snd_nxt"] - value["snd_una"]) % (1 << 32)
        srtt_us = max(value["srtt_ns"], 0) // 1000
        srtt, rto = (srtt_us * 32 // 1000, 300) if old else (srtt_us, 300_000)
        hash_value = "0xbec491a5," if old else ""
        ending = ",0,1,2" if version in ("1.2.4", "1.3.0") else ""
        ssthresh = 1073725440 if value["ssthresh"] < 0 else value["ssthresh"] * MSS
        lines.append(
            f"i,{hash_value}{t_us // 10**6}.{t_us % 10**6:06d},{flow.local_address},{flow.local_port},"
            f"{flow.remote_address},{flow.remote_port},{ssthresh},{value['cwnd'] * MSS},0,{value['snd_wnd']},"
            f"{max(value['rcv_wnd'], 0)},8,1,4,{MSS},{srtt},1,996,{rto},33304,{inflight},"
            f"66608,0,{inflight}{ending}\n"
        )
    lines.append("disable_time_secs=9\tdisable_time_usecs=0\ttotal_tcp_pkts=3\ttotal_skipped_tcp_pkts=0\n")
    return "".join(lines)


def span_ns(trace: Trace) -> tuple[int, int]:
    """First and last time of the events."""
    t_ns = trace.tables["tcp_states"]["t_ns"]
    return int(np.min(t_ns)), int(np.max(t_ns))
