"""One conversation in every encapsulation: the same answer, or an issue with counts; held against tshark."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import support_wifi as wifi
from support_conversation import Conversation

import multitracer as mt

NODE_A, NODE_B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
Wrap = Callable[[bytes], bytes]


def ethernet(ethertype: int, body: bytes) -> bytes:
    return NODE_B + NODE_A + struct.pack(">H", ethertype) + body


def ip(protocol: int, body: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 7, 0, 64, protocol, 0)
    return head + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + body


def udp(port: int, body: bytes) -> bytes:
    return ip(17, struct.pack(">HHHH", port, port, 8 + len(body), 0) + body)


def gre(protocol: int, body: bytes) -> bytes:
    return ip(47, struct.pack(">HH", 0, protocol) + body)


def wireless(packet: bytes, flags: int = 0) -> bytes:
    """A data frame in the air, without its check sequence."""
    return wifi.data(1, wifi.LLC_IP + packet, flags=flags, tid=None)


def swapped(frame: bytes) -> bytes:
    return frame[1::-1] + frame[2:]


def capwap(body: bytes, native: bool = False, fragment: bool = False) -> bytes:
    """RFC 5415, section 4.3, with a header of two words; the radio's binding is 802.11."""
    words = 2 << 19 | 1 << 14 | 1 << 9 | native << 8 | fragment << 7
    return udp(5247, struct.pack(">II", words, 0) + body)


def ayiya(packet: bytes) -> bytes:
    """draft-massar-v6ops-ayiya-02: identity of 16 bytes, signature of 20, forwarded IPv4."""
    return udp(5072, struct.pack(">BBBBI", 0x41, 0x52, 0x11, 4, 0) + bytes(16 + 20) + packet)


def arcnet(offset: int, protocol: int, rest: bytes) -> Wrap:
    return lambda packet: bytes([1, 2]) + bytes(offset) + bytes([protocol]) + rest + packet


def pbb(packet: bytes) -> bytes:
    """IEEE 802.1ah: the backbone's tag, the service's tag, the customer's frame."""
    return ethernet(0x88A8, struct.pack(">HHI", 5, 0x88E7, 0x102) + ethernet(0x0800, packet))


def fabricpath(packet: bytes) -> bytes:
    """Tree and time to live, the frame, and a check sequence, which tshark counts off."""
    return ethernet(0x8903, b"\0\x60" + ethernet(0x0800, packet) + bytes(4))


RADIO: dict[str, tuple[int, Wrap]] = {
    name: (kind, lambda packet, kind=kind: wifi.HEADERS[kind](wifi.Heard(1, b"")) + wireless(packet))
    for name, kind in {
        "802.11": wifi.BARE, "radiotap": wifi.RADIOTAP, "prism": wifi.PRISM, "avs": wifi.AVS, "ppi": wifi.PPI
    }.items()
}  # fmt: skip

OPENED: dict[str, tuple[int, Wrap, tuple[str, ...], bool]] = {
    # link type, what goes around a packet, tunnels that are told, whether tshark 4.0 opens it too (of
    # 802.11 in CAPWAP, it takes one order of the frame control for granted)
    **{name: (kind, wrap, (), True) for name, (kind, wrap) in RADIO.items()},
    "avs in prism": (wifi.PRISM, RADIO["avs"][1], (), True),
    "arcnet, RFC 1051": (7, arcnet(0, 240, b""), (), True),
    "arcnet, RFC 1201": (7, arcnet(0, 212, bytes([0, 0, 1])), (), True),
    "arcnet, exception": (7, arcnet(0, 212, bytes([255, 0, 0, 212, 0, 0, 1])), (), True),
    "arcnet of Linux": (129, arcnet(2, 212, bytes([0, 0, 1])), (), True),
    "pbb": (1, pbb, ("vlan", "pbb"), True),
    "e-tag": (1, lambda p: ethernet(0x893F, struct.pack(">HHHH", 1, 2, 3, 0x800) + p), ("e-tag",), True),
    "vn-tag": (1, lambda p: ethernet(0x8926, struct.pack(">HHH", 0x4001, 2, 0x800) + p), ("vn-tag",), True),
    "fabricpath": (1, fabricpath, ("fabricpath",), True),
    "ayiya": (101, ayiya, ("ayiya",), True),
    "capwap": (101, lambda p: capwap(ethernet(0x0800, p)), ("capwap",), True),
    "capwap, 802.11": (101, lambda p: capwap(wireless(p), native=True), ("capwap",), False),
    "capwap, swapped": (101, lambda p: capwap(swapped(wireless(p)), native=True), ("capwap",), True),
    "gre, 802.11": (101, lambda p: gre(0x8200, wireless(p)), ("gre",), True),
    "gre, last of 802.11": (101, lambda p: gre(0x8370, wireless(p)), ("gre",), True),
    "hdlc in ppp": (9, lambda p: b"\x0f\0\x08\0" + p, (), True),
}

COUNTED: dict[str, tuple[int, Wrap, str]] = {
    # link type, what goes around a packet, the kind of packet that is counted
    "capwap, dtls": (101, lambda p: udp(5247, b"\x01" + bytes(20) + p), "encapsulation-not-opened"),
    "capwap, a part": (101, lambda p: capwap(p, fragment=True), "encapsulation-not-opened"),
    "capwap, encrypted": (
        101,
        lambda p: capwap(wireless(p, wifi.PROTECTED), native=True),
        "encapsulation-not-opened",
    ),
    "gre, encrypted": (101, lambda p: gre(0x8210, wireless(p, wifi.PROTECTED)), "encapsulation-not-opened"),
    "arcnet, a part": (7, arcnet(0, 212, bytes([3, 0, 1])), "encapsulation-not-opened"),
    "macsec": (1, lambda p: ethernet(0x88E5, p), "encapsulation-not-opened"),
    "trill": (1, lambda p: ethernet(0x22F3, p), "encapsulation-not-opened"),
    "user's link type": (147, lambda p: p, "unsupported-link-type"),
}
ISSUES = {
    "encapsulation-not-opened": "unopened-encapsulation",
    "unsupported-link-type": "unsupported-link-type",
}


def conversation() -> Conversation:
    """Fifteen segments, of which the third is lost behind the capture and repeated after duplicate ACKs."""
    talk = Conversation()
    talk.handshake()
    for at in range(14):
        talk.data(200 + at, 1 + 1000 * at)
    talk.ack(300, 2001)
    for at in range(3, 8):
        talk.ack(302 + at, 2001, [(3001, 1001 + 1000 * at)])
    talk.data(320, 2001)
    talk.ack(420, 14_001)
    return talk


def written(path: Path, link_type: int, wrap: Wrap, keep: int | None = None) -> Path:
    """The conversation, each packet wrapped, of which a capture kept so many bytes."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link_type))
        for t_ms, packet in conversation().packets:
            data = wrap(packet)
            held = data[:keep]
            seconds, rest = divmod(1_700_000_000_000_000_000 + round(t_ms * 1e6), 10**9)
            file.write(struct.pack("<IIII", seconds, rest, len(held), len(data)) + held)
    return path


def answer(path: Path) -> dict[str, Any]:
    return mt.analyze(mt.read(path, format="pcap")).to_dict()


def told(contract: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on what is around the packets."""
    (one,) = contract["connections"]
    return {key: one[key] for key in ("bytes", "packets", "retransmissions", "timeouts", "rtt_ms")}


def kinds(contract: dict[str, Any]) -> dict[str, int]:
    (source,) = contract["sources"]
    return dict(source["details"]["packets_by_kind"])


@pytest.mark.parametrize("name", OPENED)
def test_the_same_answer_in_it(name: str, tmp_path: Path) -> None:
    link_type, wrap, tunnels, _ = OPENED[name]
    plain = answer(written(tmp_path / "plain.pcap", 101, lambda packet: packet))
    found = answer(written(tmp_path / "wrapped.pcap", link_type, wrap))
    assert told(plain)["retransmissions"]["total"] == 1
    assert told(found) == told(plain)
    packets = len(conversation().packets)
    assert kinds(found) == {"tcp": packets}
    (source,) = found["sources"]
    assert source["details"].get("tunnels", {}) == dict.fromkeys(tunnels, packets)


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_not_opened_is_counted(name: str, tmp_path: Path) -> None:
    link_type, wrap, kind = COUNTED[name]
    found = answer(written(tmp_path / "wrapped.pcap", link_type, wrap))
    packets = len(conversation().packets)
    assert found["connections"] == []
    assert kinds(found) == {kind: packets}
    issues = {issue["code"]: issue["count"] for issue in found["issues"]}
    assert issues[ISSUES[kind]] == packets


@pytest.mark.parametrize("keep", [3, 10, 30])
@pytest.mark.parametrize("name", ["radiotap", "prism", "avs", "ppi"])
def test_a_radio_header_that_the_snap_length_cut(name: str, keep: int, tmp_path: Path) -> None:
    link_type, wrap = RADIO[name]
    found = answer(written(tmp_path / "cut.pcap", link_type, wrap, keep))
    packets = len(conversation().packets)
    assert found["connections"] == []
    assert kinds(found) == {"header-cut": packets}


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark here")
@pytest.mark.parametrize("name", OPENED)
def test_tshark_sees_the_same_segments(name: str, tmp_path: Path) -> None:
    link_type, wrap, _, opens = OPENED[name]
    path = written(tmp_path / "wrapped.pcap", link_type, wrap)
    words = ["tshark", "-r", str(path), "-T", "fields", "-o", "tcp.relative_sequence_numbers:FALSE"]
    done = subprocess.run(
        [*words, "-e", "tcp.seq_raw", "-e", "tcp.len", "-Y", "tcp"],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = [tuple(map(int, line.split("\t"))) for line in done.stdout.splitlines()]
    table = mt.read(path, format="pcap").tables["segments"]
    ours = list(zip(table["seq_raw"].tolist(), table["length"].tolist(), strict=True))
    assert seen == (ours if opens else [])
