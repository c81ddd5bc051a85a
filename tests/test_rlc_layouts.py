"""Every layout of RLC's headers and reports in MAC PDUs, held to tshark with its table of channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support_rlc import in_udp, pcap, tshark

import multitracer as mt
from multitracer.model.trace import Trace

COUNT = 120


@dataclass(frozen=True)
class Layout:
    """A mode and length of numbers, and what tshark calls it."""

    radio: str
    mode: str
    sn_bits: int

    @property
    def lcid(self) -> int:
        """The first of a data bearer."""
        return 3 if self.radio == "lte" else 4

    @property
    def table(self) -> str:
        """tshark's line about that logical channel."""
        named = (
            f"{self.mode.upper()}, SN Len={self.sn_bits}" if (self.mode, self.sn_bits) != ("am", 10) else "AM"
        )
        if self.radio == "lte":
            return f'uat:drb_logchans:"LCID {self.lcid}","1","{named}"'
        return f'uat:drb_bearerconfig:"LCID {self.lcid}","1","{named}","{named}"'

    def mac(self, sdu: bytes) -> bytes:
        """A MAC PDU of the downlink with one SDU, behind the framing for UDP."""
        length = b"" if self.radio == "lte" else bytes([len(sdu)])
        head = bytes([1, 1, 3, 2, 0x46, 1, 3, 0, 7, 1, self.lcid])
        return in_udp(f"mac-{self.radio}".encode() + head + length + sdu)

    def data(self, sn: int, body: bytes, poll: bool, part: tuple[int, bool] | None) -> bytes:
        """A data PDU; `part`: where a segment begins, and whether it is the last."""
        start, last = part or (0, True)
        if self.radio == "nr":
            kind = 0 if part is None else 1 if start == 0 else 2 if last else 3
            place = f"{start:016b}" if kind >= 2 else ""
            number = f"{sn:0{self.sn_bits}b}"
            if self.mode == "am":
                return packed(f"1{poll:b}{kind:02b}{'00' * (self.sn_bits == 18)}{number}{place}") + body
            reserved = "00" * (self.sn_bits == 12)
            return packed(f"{kind:02b}{reserved}{number}{place}" if kind else "00000000") + body
        number = f"{sn:0{self.sn_bits}b}"
        if self.mode == "um":
            return packed(f"{'000' * (self.sn_bits == 10)}000{number}") + body
        flags = f"1{part is not None:b}{poll:b}000"
        if self.sn_bits == 10:
            return packed(flags + number + (f"{last:b}{start:015b}" if part else "")) + body
        tail = f"{last:b}0{number}{start:016b}" if part else f"00{number}"
        return packed(flags + tail) + body

    def status(self, ack: int, nacks: list[tuple[int, tuple[int, int] | None, int]]) -> bytes:
        """A report: each NACK with a part, and how many numbers it is about (NR)."""
        bits = f"0000{ack:0{self.sn_bits}b}{bool(nacks):b}"
        if self.radio == "nr":
            bits += "0" * (7 if self.sn_bits == 12 else 1)
        for at, (sn, part, count) in enumerate(nacks):
            bits += f"{sn:0{self.sn_bits}b}{at + 1 < len(nacks):b}{part is not None:b}"
            if self.radio == "nr":
                bits += f"{count > 1:b}" + "0" * (1 if self.sn_bits == 12 else 3)
            width = 15 if (self.radio, self.sn_bits) == ("lte", 10) else 16
            bits += "".join(f"{place:0{width}b}" for place in part or ())
            bits += f"{count:08b}" if count > 1 else ""
        return packed(bits)


LAYOUTS = [
    Layout("lte", "am", 10),
    Layout("lte", "am", 16),
    Layout("nr", "am", 12),
    Layout("nr", "am", 18),
    Layout("lte", "um", 5),
    Layout("lte", "um", 10),
    Layout("nr", "um", 6),
    Layout("nr", "um", 12),
]


def packed(bits: str) -> bytes:
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def stream(layout: Layout, seed: int) -> Iterator[bytes]:
    """PDUs with numbers that wrap, whole, in segments and again; reports with all that they can say."""
    rng = np.random.default_rng(seed)
    modulus = 1 << layout.sn_bits
    begin = int(rng.integers(modulus))
    for at in range(COUNT):
        sn = (begin + at) % modulus
        body = rng.bytes(int(rng.integers(40, 60)))
        chance = rng.random()
        if layout.mode == "um":
            if layout.radio == "nr":
                yield layout.data(sn, body[:20], False, (0, False))
                yield layout.data(sn, body[20:], False, (20, True))
            else:
                yield layout.data(sn, body, False, None)
            continue
        yield layout.data(sn, body, bool(rng.random() < 0.3), None)
        if chance < 0.2:  # cut again
            yield layout.data(sn, body[:15], False, (0, False))
            yield layout.data(sn, body[15:], True, (15, True))
        elif chance < 0.5 and at > 20:
            several = int(rng.integers(2, 5)) if layout.radio == "nr" else 1
            nacks = [
                ((sn - 18) % modulus, None, 1),
                ((sn - 14) % modulus, (5, 30), 1),
                ((sn - 9) % modulus, (7, 9), several),
                ((sn - 4) % modulus, None, several),
            ]
            yield layout.status((sn + 1) % modulus, nacks[: int(rng.integers(0, 5))])


def written(folder: Path, layout: Layout) -> Path:
    path = folder / "mac.pcap"
    path.write_bytes(pcap(149, [layout.mac(pdu) for pdu in stream(layout, layout.sn_bits)]))
    return path


def ours(trace: Trace, kind: str, *names: str) -> list[tuple[int, ...]]:
    table = trace.tables["rlc_pdus"]
    table = table.where(table["kind"] == table.code("kind", kind))
    return list(zip(*(table[name].tolist() for name in names), strict=True))


def numbers(rows: list[list[str]], column: int) -> list[int]:
    return [int(value, 0) for row in rows for value in row[column].split(",") if value]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda one: f"{one.radio}-{one.mode}-{one.sn_bits}")
def test_data_bearers_in_mac_pdus_as_tshark_has_them(tmp_path: Path, layout: Layout) -> None:
    path = written(tmp_path, layout)
    trace = mt.open_trace(path)
    facts = trace.source.details
    assert (facts["bearer"], facts["mode"], facts["sn_bits"]) == ("drb1", layout.mode, layout.sn_bits)
    name = f"rlc-{layout.radio}.{layout.mode}"
    number, offset = f"{name}.sn", f"{name}.so"
    if layout.radio == "lte":
        number = number if layout.mode == "um" else f"{name}.fixed.sn"
        offset = "" if layout.mode == "um" else f"{name}.segment.offset"
    told = tshark(
        path, "frame.number", number, *([offset] if offset else []), display=number, options=(layout.table,)
    )
    frames = trace.tables["link_frames"]
    assert frames["ns"].tolist() == numbers(told, 1)
    assert frames["record"].tolist() == numbers(told, 0)
    if offset:
        starts = [(int(row[0]), int(row[2], 0)) for row in told if int(row[2] or "0", 0) > 0]
        assert [row for row in ours(trace, "data", "record", "start") if row[1] > 0] == starts != []
    if layout.mode == "um":
        return
    polls = tshark(path, "frame.number", display=f"{name}.p == 1", options=(layout.table,))
    assert frames["record"][frames["poll"] == 1].tolist() == numbers(polls, 0) != []
    fields = [f"{name}.{one}" for one in ("ack-sn", "nack-sn", "so-start")]
    fields += [f"{name}.nack-range"] if layout.radio == "nr" else []
    reports = tshark(path, *fields, display=fields[0], options=(layout.table,))
    events = trace.tables["link_events"]
    assert events["nr"][events["kind"] == events.code("kind", "RR")].tolist() == numbers(reports, 0) != []
    assert events["nr"][events["kind"] == events.code("kind", "SREJ")].tolist() == numbers(reports, 1) != []
    nacks = ours(trace, "nack", "start", "length")
    assert [start for start, _ in nacks if start >= 0] == numbers(reports, 2) != []
    if layout.radio == "nr":
        assert [count for _, count in nacks if count > 1] == numbers(reports, 3) != []


def test_whole_sdus_have_no_number(tmp_path: Path) -> None:
    layout = Layout("nr", "um", 12)
    heads = [0x800000 | sn << 8 for sn in range(250, 250 + COUNT)]
    sdus = [b"\0" + (0x8000 | head >> 8).to_bytes(2, "big") + bytes(range(40)) for head in heads]
    path = tmp_path / "mac.pcap"
    path.write_bytes(pcap(149, [layout.mac(sdu) for sdu in sdus]))
    trace = mt.open_trace(path)
    assert (trace.source.details["mode"], trace.source.details["sn_bits"]) == ("um", 0)
    assert set(trace.tables["link_frames"]["ns"].tolist()) == {-1}
    told = tshark(path, "frame.number", display="rlc-nr.um.si == 0", options=(layout.table,))
    assert len(told) == len(trace.tables["link_frames"]) == COUNT
