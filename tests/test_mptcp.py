"""Multipath TCP as one transfer: captures made byte by byte, and tshark where it is installed."""

from __future__ import annotations

import hashlib
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest
from hypothesis import given, strategies as st

from multitracer import native
from multitracer.api.pipeline import analyze
from multitracer.layers.tcp.multipath import initial_data_seq, token_of

CLIENT, SERVER = 0x0102030405060708, 0x1122334455667788
SYN, ACK, PSH = 2, 16, 8


class Capture:
    """A capture that grows packet by packet, a millisecond apart."""

    def __init__(self, path: Path) -> None:
        self.path, self._packets = path, []  # type: Path, list[bytes]

    def add(
        self,
        ends: tuple[tuple[str, int], tuple[str, int]],
        seq: int,
        ack: int,
        flags: int,
        option: bytes,
        size: int = 0,
    ) -> None:
        (src, sport), (dst, dport) = ends
        option += b"\1" * (-len(option) % 4)
        tcp = dpkt.tcp.TCP(
            sport=sport, dport=dport, seq=seq, ack=ack, flags=flags, win=60_000, data=b"x" * size
        )
        tcp.opts = option
        tcp.off = 5 + len(option) // 4
        ip = dpkt.ip.IP(src=socket.inet_aton(src), dst=socket.inet_aton(dst), p=6, ttl=64, data=tcp)
        ip.id = len(self._packets) + 1
        ip.len = len(ip)
        self._packets.append(bytes(ip))

    def written(self) -> Path:
        with self.path.open("wb") as handle:
            writer = dpkt.pcap.Writer(handle, linktype=101)
            for number, data in enumerate(self._packets):
                writer.writepkt(data, ts=1_700_000_000 + number / 1000)
        return self.path


def option(subtype: int, low: int, rest: bytes) -> bytes:
    return struct.pack("!BBB", 30, 3 + len(rest), subtype << 4 | low) + rest


def key(value: int) -> bytes:
    return struct.pack("!Q", value)


def dss(seq: int, subflow_seq: int, length: int, wide: bool = True, fin: bool = False) -> bytes:
    flags = 4 | (8 if wide else 0) | (16 if fin else 0)
    number = struct.pack("!Q", seq % (1 << 64)) if wide else struct.pack("!I", seq % (1 << 32))
    return option(2, 0, bytes([flags]) + number + struct.pack("!IHH", subflow_seq, length, 0))


FIRST = (("10.0.0.1", 4000), ("10.0.0.2", 80))
SECOND = (("192.0.2.1", 4001), ("192.0.2.2", 80))
THIRD = (("10.0.0.2", 5000), ("192.0.2.1", 6000))  # opened by the server


def opened(capture: Capture, version: int) -> None:
    """The handshake of the first subflow; ISNs 100 and 200."""
    flags = b"\x81"
    capture.add(FIRST, 100, 0, SYN, option(0, version, flags + (key(CLIENT) if version == 0 else b"")))
    capture.add(FIRST[::-1], 200, 101, SYN | ACK, option(0, version, flags + key(SERVER)))
    capture.add(FIRST, 101, 201, ACK, option(0, version, flags + key(CLIENT) + key(SERVER)))


def joined(capture: Capture, ends: Any, token: int, backup: bool = False) -> None:
    """The handshake of a further one; ISNs 300 and 400."""
    capture.add(ends, 300, 0, SYN, option(1, int(backup), b"\2" + struct.pack("!II", token, 7)))
    capture.add(ends[::-1], 400, 301, SYN | ACK, option(1, 0, b"\2" + bytes(12)))
    capture.add(ends, 301, 401, ACK, option(1, 0, b"\0" + bytes(20)))


def transfer(path: Path, version: int = 1, wide: bool = True) -> Path:
    """1,000 bytes over the first subflow, 1,000 over the second, 500 of the first again, 500 over a third."""
    capture = Capture(path)
    opened(capture, version)
    token = token_of(SERVER, version)
    joined(capture, SECOND, token, backup=True)
    joined(capture, THIRD, token_of(CLIENT, version))
    start = initial_data_seq(CLIENT, version) + 1
    capture.add(FIRST, 101, 201, ACK | PSH, dss(start, 1, 1000, wide), 500)
    capture.add(FIRST, 601, 201, ACK | PSH, b"", 500)  # by the mapping before it
    capture.add(SECOND, 301, 401, ACK | PSH, dss(start + 1000, 1, 1000, wide), 1000)
    capture.add(SECOND, 301, 401, ACK | PSH, dss(start + 1000, 1, 1000, wide), 1000)  # TCP's own
    capture.add(SECOND, 1301, 401, ACK | PSH, dss(start + 500, 1001, 500, wide), 500)  # again, elsewhere
    capture.add(THIRD[::-1], 401, 301, ACK | PSH, dss(start + 2000, 1, 500, wide), 500)
    capture.add(FIRST, 1101, 201, ACK, dss(start + 2500, 0, 1, wide, fin=True))
    return capture.written()


def found(*paths: Path) -> dict[str, Any]:
    return dict(analyze(*paths).to_dict()["mptcp"])


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("wide", [True, False])
def test_subflows_are_one_transfer(tmp_path: Path, version: int, wide: bool) -> None:
    (one,) = found(transfer(tmp_path / "t.pcap", version, wide))["transfers"]
    assert one["version"] == version
    assert one["tokens"] == [f"{token_of(k, version):#010x}" for k in (CLIENT, SERVER)]
    assert one["data_direction"] == "forward"
    assert one["forward"] == {"bytes": 2500, "reinjected": 500, "unmapped": 0}
    first, second, third = one["subflows"]
    assert (first["opened"], second["opened"], third["opened"]) == ("first", "join", "join")
    assert (first["backup"], second["backup"], third["flipped"]) == (False, True, True)
    wanted = {"sent": 1000, "unique": 1000, "bytes": 1000, "reinjected": 0, "unmapped": 0, "share": 0.4}
    assert first["forward"] == wanted
    assert second["forward"] == {**wanted, "sent": 2500, "unique": 1500, "reinjected": 500}
    assert third["forward"] == {**wanted, "sent": 500, "unique": 500, "bytes": 500, "share": 0.2}


def test_data_on_the_opening(tmp_path: Path) -> None:
    """MP_CAPABLE of version 1 with data has a mapping of its own (RFC 8684 section 3.1)."""
    capture = Capture(tmp_path / "t.pcap")
    opened(capture, 1)
    capture.add(
        FIRST, 101, 201, ACK | PSH, option(0, 1, b"\x81" + key(CLIENT) + key(SERVER) + b"\0\x64"), 100
    )
    joined(capture, SECOND, token_of(SERVER, 1))
    start = initial_data_seq(CLIENT, 1) + 1
    capture.add(SECOND, 301, 401, ACK | PSH, dss(start + 50, 1, 100), 100)
    (one,) = found(capture.written())["transfers"]
    assert one["forward"] == {"bytes": 150, "reinjected": 50, "unmapped": 0}


def test_what_is_not_captured_is_not_made_up(tmp_path: Path) -> None:
    capture = Capture(tmp_path / "t.pcap")
    joined(capture, SECOND, 0xDEADBEEF)  # of a transfer that began before
    capture.add(SECOND, 301, 401, ACK | PSH, b"", 100)  # no mapping
    capture.add(FIRST, 101, 201, ACK | PSH, dss(5, 1, 100), 100)  # no handshake
    capture.add(THIRD, 1, 0, SYN, option(0, 1, b"\x81"))  # nobody answers with Multipath TCP
    capture.add(THIRD[::-1], 1, 2, SYN | ACK, b"")
    whole = found(capture.written())
    (one,) = whole["transfers"]
    assert one["version"] is None
    assert one["tokens"] == [None, None]
    assert one["forward"] == {"bytes": 0, "reinjected": 0, "unmapped": 100}
    assert len(whole["unassigned"]) == len(whole["refused"]) == 1


def test_tokens_are_the_hash_of_the_key() -> None:
    raw = struct.pack("!Q", CLIENT)
    assert token_of(CLIENT, 1) == int(hashlib.sha256(raw).hexdigest()[:8], 16)
    assert token_of(CLIENT, 0) == int(hashlib.sha1(raw).hexdigest()[:8], 16)
    assert initial_data_seq(CLIENT, 1) == int(hashlib.sha256(raw).hexdigest()[-16:], 16)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
@pytest.mark.parametrize("version", [0, 1])
def test_tshark_groups_the_same(tmp_path: Path, version: int) -> None:
    path = transfer(tmp_path / "t.pcap", version)
    fields = ["mptcp.stream", "tcp.stream", "mptcp.expected_token"]
    command = ["tshark", "-r", str(path), "-Y", "mptcp", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in said]
    by_transfer: dict[str, set[int]] = {}
    for transfer_number, stream, _ in rows:
        by_transfer.setdefault(transfer_number, set()).add(int(stream))
    analysis = analyze(path).to_dict()
    (one,) = analysis["mptcp"]["transfers"]
    streams = {analysis["connections"][sub["conn"]]["stream"] for sub in one["subflows"]}
    # Of the subflow that the server opened tshark knows no transfer.
    assert max(by_transfer.values(), key=len) <= streams
    tokens = {int(token) for _, _, token in rows if token}
    assert tokens <= {int(token, 16) for token in one["tokens"]}
    assert tokens


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=60))
def test_bytes_covered_before(stretches: Sequence[tuple[int, int]]) -> None:
    first = np.array([a for a, _ in stretches], dtype=np.int64)
    length = np.array([b for _, b in stretches], dtype=np.int64)
    seen: set[int] = set()
    for (start, size), before in zip(stretches, native.bytes_covered_before(first, length), strict=True):
        mine = set(range(start, start + size))
        assert before == len(mine & seen)
        seen |= mine


def test_sentence_and_lines(tmp_path: Path) -> None:
    from multitracer.cli import mptcp

    analysis = analyze(transfer(tmp_path / "t.pcap")).to_dict()
    (said,) = [one["text"] for one in analysis["diagnosis"] if one["kind"] == "multipath"]
    assert said.startswith("one MPTCP transfer of 2,500 bytes over 3 subflows: 40% over connection")
    assert "500 bytes (20.0%) were reinjected on another subflow" in said
    printed = list(mptcp.lines(analysis["mptcp"], 12))
    assert printed[0] == ("Transfer 0", "2,500 bytes over 3 subflows, 500 reinjected on another one")
    assert len(printed) == 4


def test_plain_connections_have_no_such_key() -> None:
    from support_samples import SAMPLES

    assert "mptcp" not in analyze(SAMPLES / "local-drops" / "snd.pcap").to_dict()
