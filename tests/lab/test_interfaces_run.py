"""Runs over real interfaces and with queues of the kernel. Skipped where the machine does not have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dpkt
import pytest

from multitracer.lab.library import load
from multitracer.lab.requirements import LabError, missing
from multitracer.lab.runner import run

LACKS = missing(["ip", "ss", "tc", "tcpdump"])
pytestmark = [
    pytest.mark.skipif(bool(LACKS), reason="a real run needs " + "; ".join(LACKS)),
    pytest.mark.usefixtures("kernel_to_itself"),
]

QUICK = ["trace.events=false", "network.quiet_s=0.3"]


def made(tmp_path: Path, name: str, *settings: str) -> tuple[Path, Any]:
    out = tmp_path / name
    run(load(name, [*QUICK, *settings]), str(out))
    return out, json.loads((out / "truth.json").read_text())


def segments(path: Path) -> list[tuple[dpkt.ip.IP, dpkt.tcp.TCP]]:
    """IPv4 with TCP, of Ethernet or raw."""
    with path.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        raw = reader.datalink() != dpkt.pcap.DLT_EN10MB
        found = [dpkt.ip.IP(data) if raw else dpkt.ethernet.Ethernet(data).data for _, data in reader]
    return [(ip, ip.data) for ip in found if isinstance(ip, dpkt.ip.IP) and isinstance(ip.data, dpkt.tcp.TCP)]


def payload_bytes(ip: dpkt.ip.IP) -> int:
    return ip.len - ip.hl * 4 - ip.data.off * 4


def test_the_senders_queue_drops_before_any_capture(tmp_path: Path) -> None:
    out, truth = made(tmp_path, "queue-sender", "flow.bytes=500000")
    assert truth["complete"]
    assert truth["qdisc"]["at"] == "sender"
    assert truth["qdisc"]["drops"] > 0
    assert truth["received"] == 2_500_000
    captures = [
        sorted(
            (ip.id, tcp.sport, tcp.seq, ip.len) for ip, tcp in segments(out / f"{point}.pcap") if ip.p == 6
        )
        for point in ("snd", "mid", "rcv")
    ]
    # Nothing is lost behind the queue: all captures hold the same packets.
    assert captures[0] == captures[1] == captures[2]
    # What the queue refused has taken IDs along.
    for flow in truth["flows"]:
        ids = [
            ip.id
            for ip, tcp in segments(out / "snd.pcap")
            if tcp.dport == flow["port"] and (ip.id or payload_bytes(ip))
        ]
        span = (ids[-1] - ids[0]) % 65_536 + 1
        # All that TCP handed down, refused or not; answers in TIME-WAIT may follow.
        assert span >= flow["tcp_info"]["segs_out"] - flow["tcp_info"]["total_retrans"]
        assert flow["tcp_info"]["busy_time"] > 0
    assert len(truth["last_ss"]) == 5


def test_a_router_lowers_ttl_and_its_queue_holds_packets(tmp_path: Path) -> None:
    out, truth = made(tmp_path, "queue-router", "flow.bytes=1500000")
    ttls = {
        point: {
            ip.ttl for ip, tcp in segments(out / f"{point}.pcap") if tcp.dport == truth["flows"][0]["port"]
        }
        for point in ("snd", "mid", "rcv")
    }
    assert ttls == {"snd": {64}, "mid": {64}, "rcv": {63}}
    assert truth["flows"][0]["tcp_info"]["rtt"] > 20_000  # microseconds; the wires alone take some 50
    assert truth["qdisc"]["at"] == "router"
    assert truth["seconds"] > 0.9


def test_offload_shows_super_segments_at_the_sender_alone(tmp_path: Path) -> None:
    out, truth = made(
        tmp_path, "queue-router", "flow.bytes=600000", "network.offload=true", "link.tap=receiver"
    )
    port = truth["flows"][0]["port"]
    longest = {
        point: max(payload_bytes(ip) for ip, tcp in segments(out / f"{point}.pcap") if tcp.dport == port)
        for point in ("snd", "mid", "rcv")
    }
    assert longest["snd"] > 1448
    assert longest["mid"] == longest["rcv"] == 1448


def test_a_tap_in_the_middle_of_a_path(tmp_path: Path) -> None:
    out, truth = made(tmp_path, "path-tap", "flow.bytes=600000", "trace.begin_s=0.1", "trace.end_s=0.5")
    port = truth["flows"][0]["port"]
    whole = {
        point: [
            (ip.id, tcp.seq) for ip, tcp in segments(out / "whole" / f"{point}.pcap") if tcp.dport == port
        ]
        for point in ("snd", "mid", "rcv")
    }
    lost = [
        event["hop"] for event in truth["events"] if event["what"] == "packet_lost" and event["side"] == 0
    ]
    queued = sum(e["what"] == "queue_drop" and e["hop"] == 0 and e["side"] == 0 for e in truth["events"])
    assert len(whole["mid"]) == len(whole["snd"]) - lost.count(0) - queued
    assert set(whole["rcv"]) <= set(whole["mid"])
    for point, packets in whole.items():
        part = segments(out / f"{point}.pcap")
        assert part
        assert {(ip.id, tcp.seq) for ip, tcp in part if tcp.dport == port} < set(packets)


def test_a_discipline_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    refused = None
    try:
        made(tmp_path, "queue-sender", "network.qdisc.kind=fq_codel", "flow.bytes=50000")
    except LabError as error:
        refused = str(error)
    # Whichever it is on this machine: a whole run, or a word about what is missing and nothing left behind.
    assert (tmp_path / "queue-sender" / "truth.json").exists() == (refused is None)
    assert refused is None or "may lack fq_codel" in refused
