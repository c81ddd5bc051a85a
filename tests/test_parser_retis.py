"""Events of retis: the same packets as the recorder's own tracepoints show, whatever version wrote them."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
import support_retis as made
from support_samples import SAMPLES

import multitracer as mt
from multitracer import registry
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace
from multitracer.model.trace import Flow, Trace
from multitracer.parsers._helpers import framehead

ENDS = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
TCP = struct.pack(">HHIIHHHH", 5000, 80, 1, 1, 5 << 12 | 0x10, 100, 0, 0)


def ipv4(protocol: int = 6, fragment: int = 0, payload: bytes = TCP, turned: bool = False) -> bytes:
    ends = b"".join(reversed(ENDS) if turned else ENDS)
    return struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, fragment, 64, protocol, 0) + ends + payload


def frame(packet: bytes, ether_type: int = 0x0800, tags: int = 0) -> bytes:
    return bytes(12) + struct.pack(">HH", 0x8100, 7) * tags + struct.pack(">H", ether_type) + packet


BACK = TCP[2:4] + TCP[:2] + TCP[4:]
OUT, IN = frame(ipv4()), frame(ipv4(payload=BACK, turned=True))


def parse(tmp_path: Path, *events: Any) -> Trace:
    path = tmp_path / "events"
    path.write_text(made.text([made.start(10**18), *events]))
    return registry.parsers()["retis"].parse(str(path))


def sent(t_ns: int, address: int = 5, kind: str = "start_xmit", **sections: Any) -> dict[str, Any]:
    return made.event(kind, t_ns, address, packet=made.packet(OUT, 54), **sections)


def column(trace: Trace, name: str) -> list[int]:
    found: list[int] = trace.tables["host_events"][name].tolist()
    return found


def test_a_recorded_host_is_the_same_by_either_log(tmp_path: Path) -> None:
    """The events of `host-queue` as retis has them, beside its capture: drops, queue and device agree."""
    sample = SAMPLES / "host-queue"
    (tmp_path / "retis.data").write_text(made.text(made.events_of(sample)))
    shutil.copy(sample / "capture.pcap", tmp_path)
    theirs = mt.analyze(mt.read(sample)).to_dict()["host"]
    analysis = mt.analyze(mt.read(tmp_path))
    ours = analysis.to_dict()["host"]
    assert ours["drops"] == theirs["drops"] == {"QDISC_DROP": 337}
    assert ours["drops_elsewhere"] == theirs["drops_elsewhere"]
    for key in ("packets", "not_queued", "dropped"):
        assert ours["qdisc"][key] == theirs["qdisc"][key], key
    for key in ("median_s", "p95_s", "max_s"):
        assert ours["qdisc"][key] == pytest.approx(theirs["qdisc"][key], abs=1e-6)
    assert ours["device"] == theirs["device"]
    assert ours["unjoined"]["packets"] == theirs["unjoined"]["packets"]
    assert ours["unjoined"]["segments"] == theirs["unjoined"]["segments"]
    assert ours["point"] == theirs["point"] == "snd"
    packets = analysis.results["host"].tables["host_packets"]
    assert int((packets["capture"] >= 0).sum()) > 400


def test_columns(tmp_path: Path) -> None:
    trace = parse(
        tmp_path,
        sent(5, kind="queue", skb={"meta": {"len": 5478}}),
        sent(6, kind="enqueue"),
        sent(7, kind="dequeue"),
        sent(8, skb={"meta": {"len": 5478}, "gso": {"segs": 4}}),
        made.event("receive", 9, (1 << 64) - 2, packet=made.packet(IN, 60), skb={"meta": {"len": 46}}),
        made.event("drop", 10, 5, packet=made.packet(OUT, 54), **{"skb-drop": {"drop_reason": "QDISC_DROP"}}),
        made.event("drop", 11, 6, **{"skb-drop": {"drop_reason": "RX_U", "subsys": "mac80211"}}),
        made.event("drop", 12, 7),
        made.event("kprobe_of_mine", 13, 7),
    )
    kinds = [schema.HOST_KINDS[kind] for kind in column(trace, "kind")]
    assert kinds == ["queue", "enqueue", "dequeue", "start_xmit", "receive", "drop", "drop", "drop"]
    assert column(trace, "t_ns") == [10**18 + at for at in range(5, 13)]
    assert column(trace, "record") == list(range(2, 10))
    assert column(trace, "length") == [5478, -1, 1, 5478, 46, -1, -1, -1]
    assert column(trace, "value") == [-1, -1, -1, 14, -1, 0x0800, -1, -1]
    assert column(trace, "extra") == [-1, 2, 2, 4, -1, -1, -1, -1]
    assert column(trace, "skb") == [5, 5, 5, 5, -2, 5, 6, 7]
    assert column(trace, "flow") == [0, 0, 0, 0, 0, 0, -1, -1]
    assert column(trace, "name") == [0, 0, 0, 0, 0, 0, 1, 2]
    assert (column(trace, "cpu")[0], column(trace, "pid")[0]) == (1, 77)
    assert trace.flows == [Flow("10.0.0.1", 5000, "10.0.0.2", 80)]
    assert trace.source.details["drop_reasons"] == ["QDISC_DROP", "mac80211/RX_U", "NOT_SPECIFIED"]
    assert trace.source.details["ignored_probes"] == {"kprobe_of_mine": 1}
    assert (trace.source.clock, trace.issues) == ("realtime", [])


def test_the_interface_with_most_tcp_is_kept(tmp_path: Path) -> None:
    other = [sent(at, dev={"name": "veth9", "ifindex": 9}, netns={"inum": 3}) for at in (1, 2)]
    trace = parse(tmp_path, *other, *[sent(at) for at in (3, 4, 5)], made.event("receive", 6, 8, "lo"))
    assert trace.source.details["devices"] == ["eth0"]
    assert trace.source.details["events_elsewhere"] == {"veth9": 2, "lo": 1}
    assert column(trace, "record") == [4, 5, 6]


@pytest.mark.parametrize("raw", ["raw", "packet"])
def test_older_versions_have_sections_inside_another(raw: str, tmp_path: Path) -> None:
    """Versions 1.5 and 1.6 of retis (its ``compat.rs``): packet, device and namespace in `skb`."""
    one = sent(5)
    packet = one.pop("packet")
    packet[raw] = packet.pop("data")
    old = {"packet": packet, "dev": one.pop("dev"), "ns": {"netns": one.pop("netns")["inum"]}}
    trace = parse(tmp_path, one | {"skb": old | {"meta": {"len": 54}}})
    assert trace.flows == [Flow("10.0.0.1", 5000, "10.0.0.2", 80)]
    assert trace.source.details["devices"] == ["eth0"]
    assert column(trace, "length") == [54]


def test_sorted_events_are_lists_of_one_packet(tmp_path: Path) -> None:
    path = tmp_path / "sorted"
    path.write_text(made.text([[made.start(0)], [sent(5, kind="queue"), sent(9)], [sent(7, address=8)]]))
    trace = registry.parsers()["retis"].parse(str(path))
    assert column(trace, "t_ns") == [5, 7, 9]
    assert column(trace, "record") == [2, 3, 2]


def test_without_its_first_line_the_clock_counts_from_the_boot(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text(made.text([sent(5)]))
    trace = registry.parsers()["retis"].parse(str(path))
    assert (trace.source.clock, trace.source.first_ns) == ("monotonic", 5)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("no JSON", "unparsed-line"),
        ("7", "unparsed-line"),
        ('{"common": 3}', "unparsed-line"),
        (json.dumps(sent(5) | {"common": {"timestamp": -1}}), "bad-number"),
        (json.dumps(sent(5) | {"common": {"timestamp": 1 << 63}}), "bad-number"),
        (json.dumps(sent(5, address=0)), "bad-number"),
        (json.dumps(sent(5, address=1 << 64)), "bad-number"),
        (json.dumps(sent(5) | {"skb-tracking": {"skb": "x"}}), "bad-number"),
    ],
)
def test_damage_is_an_issue(line: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text(made.text([sent(5)]) + line + "\n")
    trace = registry.parsers()["retis"].parse(str(path))
    assert [(issue.code, issue.count, issue.first_record) for issue in trace.issues] == [(code, 1, 2)]
    assert trace.source.records == 1


@pytest.mark.parametrize(
    "strange",
    [
        {"packet": 5},
        {"packet": {"data": "!" * 99, "len": "x"}},
        {"packet": {"data": "AAAA", "len": -1}},
        {"dev": [], "netns": {"inum": "x"}},
        {"skb": {"meta": {"len": 1e99}, "gso": {"segs": 1 << 70}}},
        {"kernel": {"symbol": "net:net_dev_queue"}, "skb-drop": {"drop_reason": 7}},
    ],
)
def test_strange_values_are_left_out(strange: dict[str, Any], tmp_path: Path) -> None:
    assert parse(tmp_path, sent(5) | strange).source.records == 1


def test_events_without_packets_say_what_to_collect(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match="retis collect -c"):
        parse(tmp_path, made.event("tcp_v4_rcv", 5, 5))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (OUT, (14, 0x0800, ("10.0.0.1", 5000), ("10.0.0.2", 80))),
        (frame(ipv4(), tags=2), (22, 0x0800, ("10.0.0.1", 5000), ("10.0.0.2", 80))),
        (frame(ipv4(17)), (14, 0x0800, None, None)),
        (frame(ipv4(fragment=5)), (14, 0x0800, None, None)),
        (frame(ipv4(payload=b"ab")), (14, 0x0800, None, None)),
        (
            frame(b"\x60" + bytes(5) + b"\x06\x40" + bytes(32) + TCP, 0x86DD),
            (14, 0x86DD, ("::", 5000), ("::", 80)),
        ),
        (
            frame(b"\x60" + bytes(5) + b"\x00\x40" + bytes(32) + b"\x06" + bytes(7) + TCP, 0x86DD),
            (14, 0x86DD, ("::", 5000), ("::", 80)),
        ),
        (frame(b"\x60" + bytes(5) + b"\x2c\x40" + bytes(32) + TCP, 0x86DD), (14, 0x86DD, None, None)),
        (frame(b"", 0x0806), (14, 0x0806, None, None)),
        (frame(b"", tags=20), None),
        (b"short", None),
    ],
)
def test_heads_of_frames(content: bytes, expected: tuple[Any, ...] | None) -> None:
    found = framehead.of(content)
    assert (None if found is None else tuple(found)) == expected


def test_heads_of_frames_cut_anywhere() -> None:
    for size in range(len(OUT)):
        found = framehead.of(OUT[:size])
        assert found is None or (found.source is None) == (size < 38)
