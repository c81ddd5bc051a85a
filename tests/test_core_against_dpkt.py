"""The Rust core against dpkt, packet by packet: the same numbers from two decoders."""

from __future__ import annotations

from pathlib import Path

import dpkt
import numpy as np
import pytest

from multitracer import native
from multitracer.model.errors import CorruptTrace, UsageError
from multitracer.native.whole_packet import decode
from multitracer.parsers import pcap

SAMPLES = sorted(Path(__file__).parent.parent.glob("sample_traces/*/*.pcap"))


def _by_dpkt(path: Path) -> list[dict[str, int]]:
    rows = []
    with path.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        ethernet = reader.datalink() == dpkt.pcap.DLT_EN10MB
        for number, (_, data) in enumerate(reader, start=1):
            ip = dpkt.ethernet.Ethernet(data).data if ethernet else dpkt.ip.IP(data)
            assert isinstance(ip, dpkt.ip.IP)
            tcp = ip.data
            assert isinstance(tcp, dpkt.tcp.TCP)
            options = dict(dpkt.tcp.parse_opts(tcp.opts))
            stamp = options.get(dpkt.tcp.TCP_OPT_TIMESTAMP)
            rows.append(
                {
                    "record": number,
                    "length": ip.len - ip.hl * 4 - tcp.off * 4,
                    "seq_raw": tcp.seq,
                    "ack_raw": tcp.ack,
                    "flags": tcp.flags,
                    "ip_id": ip.id,
                    "ip_length": ip.len,
                    "ts_val": int.from_bytes(stamp[:4]) if stamp else -1,
                    "ts_ecr": int.from_bytes(stamp[4:]) if stamp else -1,
                    "sack_count": len(options.get(dpkt.tcp.TCP_OPT_SACK, b"")) // 8,
                }
            )
    return rows


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_columns_equal(path: Path) -> None:
    table = pcap.parse(str(path)).tables["segments"]
    rows = _by_dpkt(path)
    assert len(table) == len(rows)
    for name in rows[0]:
        np.testing.assert_array_equal(table[name], [row[name] for row in rows], err_msg=name)


def test_times_equal() -> None:
    path = SAMPLES[0]
    with path.open("rb") as file:
        expected = [round(t * 1_000_000) for t, _ in dpkt.pcap.Reader(file)]
    table = pcap.parse(str(path)).tables["segments"]
    # dpkt gives floats, which near 1.8e9 s cannot hold every microsecond.
    np.testing.assert_allclose(table["t_ns"] // 1000, expected, rtol=0, atol=1)


def test_one_packet_whole() -> None:
    path = str(SAMPLES[0])
    ip = decode(path, 1)
    assert ip.data.flags & dpkt.tcp.TH_SYN
    assert ip.data.seq == pcap.parse(path).tables["segments"]["seq_raw"][0]


def test_no_such_packet() -> None:
    with pytest.raises(UsageError, match="no packet number 999999"):
        decode(str(SAMPLES[0]), 999999)


def test_every_connection_adds_up() -> None:
    for path in SAMPLES:
        found = native.read_capture(str(path), keep_segments=True)
        segments, connections = found["segments"], found["connections"]
        for index, connection in enumerate(connections):
            for direction, name in enumerate(("forward", "reverse")):
                mine = (segments["conn"] == index) & (segments["dir"] == direction)
                summary = connection[name]
                assert summary["segments"] == np.count_nonzero(mine)
                assert summary["duplicate_bytes"] == segments["duplicate"][mine].sum()
                assert summary["data_bytes"] == summary["unique_bytes"] + summary["duplicate_bytes"]


def test_summary_needs_no_tables() -> None:
    path = str(SAMPLES[0])
    whole = native.read_capture(path, keep_segments=True)
    summary = native.read_capture(path, keep_segments=False)
    assert "segments" not in summary
    assert list(summary["connections"]) == whole["connections"]


def test_a_text_file_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "text.pcap"
    path.write_text("this is no capture at all, whatever its name says\n")
    with pytest.raises(CorruptTrace, match=r"text\.pcap"):
        native.read_capture(str(path), keep_segments=False)
