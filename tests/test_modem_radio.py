"""Cells and their measurements in a modem's log: messages made here, and any damage to them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import support_modem as modem
from hypothesis import given, settings, strategies as st

import multitracer as mt
from multitracer.model.errors import MultiTracerError
from multitracer.parsers import mobileinsight

BEGIN_NS = 1_795_249_751_000_000_000
MS = 1_000_000
SECOND_CARD = b"\x98\x01\0\0\x02\0\0\0"


def serving(t_ms: int, cell: int, channel: int, card: bytes = b"") -> bytes:
    """LTE_RRC_Serv_Cell_Info, version 3."""
    body = b"\x03" + struct.pack(
        "<HIIBBIHIHBHB", cell, channel, 18_000 + channel, 50, 50, 77, 1, 4, 1, 2, 3, 0
    )
    return modem.framed(card + modem.packet(0xB0C2, BEGIN_NS + t_ms * MS, body))


def measured(
    t_ms: int,
    cell: int,
    dbm: float,
    db: float | None,
    version: int = 36,
    carrier: int = 0,
    channel: int = 1850,
) -> bytes:
    """LTE_PHY_Serv_Cell_Measurement with one part."""
    part = bytearray(60)
    struct.pack_into("<IHxxH", part, 0, channel, 1, cell | carrier << 9 | 1 << 12)
    rsrp, rsrq = round((dbm + 180) * 16), 0 if db is None else round((db + 30) * 16)
    if version == 36:
        struct.pack_into("<I", part, 40, rsrp | 0xABC << 12)
        struct.pack_into("<I", part, 52, rsrq | 0x3FF << 10)
    else:
        struct.pack_into("<I", part, 32, rsrp << 12 | 0xFFF)
        struct.pack_into("<I", part, 40, rsrq << 20 | 0x3FF)
    body = bytes([1, 1, 0, 0, 25, version]) + struct.pack("<H", len(part) + 4) + bytes(part)
    return modem.framed(modem.packet(0xB193, BEGIN_NS + t_ms * MS, body))


def values(path: Path, name: str, label: str = "") -> list[tuple[int, float]]:
    """Milliseconds and values of one series."""
    table = mobileinsight.parse(str(path)).tables["series"]
    return [
        (round((t_ns - BEGIN_NS) / MS), value)
        for t_ns, one, value, of in zip(
            *(table[key].tolist() for key in ("t_ns", "name", "value", "label")), strict=True
        )
        if one == name and of == label
    ]


def written(tmp_path: Path, *frames: bytes) -> Path:
    path = tmp_path / "phone.mi2log"
    path.write_bytes(b"".join(frames))
    return path


@pytest.mark.parametrize("version", [19, 36])
def test_cells_and_how_well_they_are_received(tmp_path: Path, version: int) -> None:
    path = written(
        tmp_path,
        serving(0, 185, 5780),
        measured(10, 185, -101.5, -9.25, version, channel=5780),
        measured(20, 185, -102.0, None, version, channel=5780),  # no RSRQ
        measured(30, 300, -80.0, -5.0, version, carrier=1),  # a secondary carrier
        serving(40, 185, 5780),  # the same again
        serving(1000, 42, 2075),
        measured(1010, 42, -95.0, -7.5, version, channel=2075),
    )
    trace = mt.open_trace(path)
    assert (trace.source.format, trace.source.layer) == ("mobileinsight", "link")
    assert values(path, "pci") == [(0, 185.0), (1000, 42.0)]
    assert values(path, "earfcn") == [(0, 5780.0), (1000, 2075.0)]
    assert values(path, "rsrp_dbm") == [(10, -101.5), (20, -102.0), (1010, -95.0)]
    assert values(path, "rsrq_db") == [(10, -9.25), (1010, -7.5)]


def test_measurements_alone_tell_the_cell(tmp_path: Path) -> None:
    path = written(tmp_path, *(measured(10 * at, 7 + at // 3, -100.0, -10.0) for at in range(6)))
    assert values(path, "pci") == [(0, 7.0), (30, 8.0)]


def test_each_card_has_its_cell(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        serving(0, 1, 100),
        serving(5, 2, 200, SECOND_CARD),
        serving(10, 1, 100),
        serving(15, 3, 100),
    )
    assert values(path, "pci") == [(0, 1.0), (15, 3.0)]
    assert values(path, "pci", "SIM 2") == [(5, 2.0)]


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    strange = modem.framed(modem.packet(0xB0C2, BEGIN_NS, b"\x09" + bytes(30)))
    path = written(tmp_path, serving(0, 1, 100), strange, measured(5, 1, -100.0, -9.0, version=99))
    trace = mobileinsight.parse(str(path))
    assert sum(issue.count for issue in trace.issues if issue.code == "unknown-message") == 2
    assert values(path, "rsrp_dbm") == []


def test_a_frame_with_a_wrong_checksum_says_nothing(tmp_path: Path) -> None:
    damaged = bytearray(serving(10, 42, 2075))
    damaged[20] ^= 1
    path = written(tmp_path, serving(0, 185, 5780), bytes(damaged))
    assert values(path, "pci") == [(0, 185.0)]


def test_beside_a_bearer(tmp_path: Path) -> None:
    """The same log holds PDUs: both are told."""
    pdus = [modem.Pdu(BEGIN_NS + at * 10 * MS, False, at, 500) for at in range(20)]
    path = written(tmp_path, serving(0, 185, 5780), modem.binary(pdus))
    trace = mobileinsight.parse(str(path))
    assert len(trace.tables["link_frames"]) == 20
    assert values(path, "pci") == [(0, 185.0)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_damage_ends_in_data_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(serving(0, 1, 100) + measured(5, 1, -100.0, -9.0) + measured(9, 1, -99.0, -9.0, 19))
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.mi2log"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        trace = mobileinsight.parse(str(path))
    except MultiTracerError:
        return
    assert len(trace.tables["series"])
