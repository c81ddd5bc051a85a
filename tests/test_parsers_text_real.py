"""The text-log parsers on real files, against counts by regular expressions."""

from __future__ import annotations

import gzip
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from support_samples import SAMPLES

from multitracer.parsers import ftrace, rlpdump, ss


def real(measured: str, *sample: str) -> pytest.MarkDecorator:
    """Files of that name in this repository's measurements; with more of them, real ones of others too."""
    files = sorted(SAMPLES.glob(f"*/{measured}"))
    if more := os.environ.get("MULTITRACER_SHARED"):
        files += sorted(Path(more, "traces").glob(f"*/{measured}"))
        files += [path for pattern in sample for path in sorted(Path(more, "samples").glob(pattern))]
    return pytest.mark.parametrize("path", files, ids=lambda path: "/".join(path.parts[-3:]))


def text_of(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def total(text: str, pattern: str) -> int:
    return sum(int(found, 0) for found in re.findall(pattern, text))


@real("rlp.log.gz")
def test_real_rlpdumps(path: Path) -> None:
    text, trace = text_of(path), rlpdump.parse(str(path))
    frames, events = trace.tables["link_frames"], trace.tables["link_events"]
    counted = Counter(re.findall(r"^\S+ (\S+) (\S+) (\S+)", text.partition("\n")[2], re.MULTILINE))
    found = Counter(
        (trace.entities[e], a, "I") for e, a in zip(frames["entity"], frames.words("action"), strict=True)
    )
    words = zip(events["entity"], events.words("action"), events.words("kind"), strict=True)
    found.update((trace.entities[e], a, k) for e, a, k in words)
    assert found == counted
    frame_lines = "\n".join(line for line in text.splitlines() if " I " in line)
    assert frames["length"][frames["length"] > 0].sum() == total(frame_lines, r" len=(\d+)")
    assert frames["offset"][frames["offset"] > 0].sum() == total(frame_lines, r" off=(\d+)")
    assert frames["attempt"].sum() == total(text, r" try=(\d+)")
    assert frames["duplicate"].sum() == total(text, r" dup=(\d+)")
    assert events["flush_tx"][events["flush_tx"] > 0].sum() == total(text, r" flush_tx=(\d+)")
    assert trace.source.point == "ms+iwf"
    assert trace.issues == []


@real("tcp_probe.txt.gz", "ftrace_tcp/[!S]*.txt")
def test_real_tracepoint_logs(path: Path) -> None:
    text, trace = text_of(path), ftrace.parse(str(path))
    states, events = trace.tables["tcp_states"], trace.tables["kernel_events"]
    assert len(states) == len(re.findall(r"tcp_probe:", text))
    assert states["cwnd"].sum() == total(text, r" snd_cwnd=(\d+)")
    assert states["srtt_ns"].sum() == 1000 * total(text, r" srtt=(\d+)")
    assert states["snd_una"].sum() == total(text, r" snd_una=(0x[0-9a-f]+)")
    assert states["snd_nxt"].sum() == total(text, r" snd_nxt=(0x[0-9a-f]+)")
    assert states["rcv_wnd"].sum() == total(text, r" rcv_wnd=(\d+)")
    assert states["data_length"][states["data_length"] > 0].sum() == total(text, r" data_len=(\d+)")
    finite = [value for value in re.findall(r" ssthresh=(\d+)", text) if value != "2147483647"]
    assert sorted(states["ssthresh"][states["ssthresh"] >= 0]) == sorted(map(int, finite))
    kinds = Counter(events.words("kind"))
    assert kinds["retransmit"] == len(re.findall(r"tcp_retransmit_skb:", text))
    assert kinds["cong_state"] == len(re.findall(r"tcp_cong_state_set:", text))
    assert kinds["sock_state"] == len(re.findall(r"inet_sock_set_state:", text))
    pairs = re.findall(r"src=(\S+):(\d+) dest=(\S+):(\d+)", text)
    ends = {
        (a.strip("[]").removeprefix("::ffff:"), int(p), b.strip("[]").removeprefix("::ffff:"), int(q))
        for a, p, b, q in pairs
    }
    assert {tuple(trace.flows[flow]) for flow in states["flow"]} == ends
    assert not {issue.code for issue in trace.issues} - {"lost-events", "out-of-order-lines"}


@real("ss.log.gz", "ss/*.log")
def test_real_ss_loops(path: Path) -> None:
    text, trace = text_of(path), ss.parse(str(path))
    states = trace.tables["tcp_states"]
    assert len(states) == len(re.findall(r" cwnd:", text))
    same_name = ("cwnd", "ssthresh", "unacked", "notsent", "bytes_acked", "bytes_retrans", "snd_wnd")
    for name in same_name:
        present = states[name][states[name] >= 0]
        assert len(present) == len(re.findall(rf" {name}:", text)), name
        assert present.sum() == total(text, rf" {name}:(\d+)"), name
    rtts = [round(float(ms) * 1e6) for ms in re.findall(r" rtt:([\d.]+)/", text)]
    assert sorted(states["srtt_ns"][states["srtt_ns"] >= 0]) == sorted(rtts)
    assert states["retrans_total"].max() == max(map(int, re.findall(r" retrans:\d+/(\d+)", text)), default=-1)
    assert (states["timer_ns"] >= 0).sum() == len(re.findall(r"timer:\(on,", text))
    stamps = re.findall(r"^\d{10}\.\d+|^\d{4}-\d\d-\d\dT\S+", text, re.MULTILINE)
    assert trace.source.details["samples"] == len(set(stamps))
    assert trace.issues == []
