"""PDUs of LTE and NR from captures and text logs: real ones held to tshark, and what is wrong with others."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support_rlc import in_udp, pcap, tshark

import multitracer as mt
from multitracer import native
from multitracer.layers.link.path import link_path
from multitracer.model.errors import CorruptTrace, MultiTracerError, UsageError
from multitracer.model.trace import Trace
from multitracer.parsers import rlc, srsran

SRSRAN = """\
2023-03-15T18:29:25.100000 [MAC     ] [I] [  276.14] UL PDU rnti=0x4601 ue=0 subPDUs: [lcid=1: len=96]
2023-03-15T18:29:25.100001 [RLC     ] [I] du=0 ue=0 DRB1 DL: TX PDU. dc=data p=0 si=full sn=4095 pdu_len=102
2023-03-15T18:29:25.101000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. pdu_size=52 dc=data p=0 si=first sn=0 so=0
2023-03-15T18:29:25.102000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data p=1 si=last sn=0 so=50 pdu_len=44
2023-03-15T18:29:25.103000 [RLC     ] [I] ue=0 DRB1 UL: RX status PDU. ack_sn=1 n_nack=2 nack=[4095][0 50:89]
2023-03-15T18:29:25.104000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data p=1 si=full sn=4095 so=0 pdu_len=102
2023-03-15T18:29:25.105000 [RLC     ] [I] ue=0 DRB1 UL: RX PDU. pdu_len=42 dc=data p=1 si=full sn=7 so=0
2023-03-15T18:29:25.105500 [RLC     ] [I] ue=0 DRB1 DL: TX status PDU. pdu_len=3 grant_len=4
2023-03-15T18:29:25.106000 [RLC     ] [D] ue=0 DRB1 UL: Refreshed status_report. ack_sn=8 n_nack=0
2023-03-15T18:29:25.106500 [RLC     ] [I] ue=0 DRB1 DL: TX status PDU. pdu_len=3 grant_len=4
2023-03-15T18:29:25.107000 [RLC     ] [I] ue=0 DRB1 DL: TX PDU. dc=data p=1 si=full
2023-03-15T18:29:25.108000 [RLC     ] [I] ue=1 SRB1 UL: RX PDU. pdu_len=12 dc=data p=1 si=full sn=0 so=0
"""


def frames(trace: Trace, *names: str) -> list[tuple[Any, ...]]:
    table = trace.tables["link_frames"]
    return list(zip(*(table[name].tolist() for name in names), strict=True))


def signals(trace: Trace) -> list[tuple[int, str, int]]:
    table = trace.tables["link_events"]
    return list(zip(table["entity"].tolist(), table.words("kind"), table["nr"].tolist(), strict=True))


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


# --- captures


@pytest.mark.parametrize("name", ["api_collector", "dl_first600", "ul_first200"])
def test_counts_of_real_captures_equal_tshark(shared: Path, name: str) -> None:
    path = next((shared / "samples" / "lte_nr").glob(f"ltesniffer_{name}_*.pcap"))
    trace = mt.open_trace(path)
    bearers = trace.source.details["bearers"]
    told = tshark(
        path, "rlc-lte.am.frame-type", "rlc-lte.am.nack-sn", "rlc-lte.am.fixed.sn", display="rlc-lte.am"
    )
    kinds = [kind for row in told for kind in row[0].split(",")]
    # Without a table of logical channels it shows the signalling bearers.
    ours = [one for one in bearers if one["bearer"].startswith("srb")]
    assert sum(one["data_pdus"] for one in ours) == kinds.count("0x01") > 0
    assert sum(one["status_pdus"] for one in ours) == kinds.count("0x00") > 0
    assert sum(one["nacks"] for one in ours) == sum(bool(row[1]) for row in told)
    # It tells terminals apart by UEID alone, which this writer leaves out.
    again = tshark(path, "frame.number", display="rlc-lte.sequence-analysis.retx")
    assert len({one["ue"] for one in bearers}) > 1 or len(again) == sum(
        row[0] > 0 for row in frames(trace, "attempt")
    )
    # The data bearer is in unacknowledged mode, which its numbers alone tell.
    data = [one for one in bearers if one["bearer"].startswith("drb")]
    table = ('uat:drb_logchans:"LCID 3","1","UM, SN Len=10"',)
    told = tshark(path, "rlc-lte.um.sn", display="rlc-lte.um", options=table)
    numbers = [int(sn) for row in told for sn in row[0].split(",")]
    assert [(one["mode"], one["sn_bits"]) for one in data] == [("um", 10)] * (name != "api_collector")
    assert sum(one["data_pdus"] for one in data) == len(numbers)
    if data:
        assert trace.tables["link_frames"]["ns"].tolist() == numbers
        assert len(mt.read(path).connections) > 0
    assert trace.links[0].name == ("rlc-lte-um" if data else "rlc-lte")


def test_a_real_capture_of_exported_pdus(shared: Path, tmp_path: Path) -> None:
    path = shared / "samples" / "lte_nr" / "srsran_gnb_mac_dlt252.pcap"
    trace = mt.open_trace(path)
    assert (trace.links[0].name, trace.source.details["bearer"]) == ("rlc-nr", "srb1")
    # tshark may not know this framing: the same PDUs behind a UDP header.
    content, records, at = path.read_bytes(), [], 24
    while at < len(content):
        size = struct.unpack_from("<I", content, at + 8)[0]
        # Tag, length and 16 bytes of the dissector's name; the end of tags.
        records.append(in_udp(b"mac-nr" + content[at + 16 + 24 : at + 16 + size]))
        at += 16 + size
    again = written(tmp_path, "udp.pcap", pcap(149, records))
    told = tshark(Path(again), "rlc-nr.am.sn", display="rlc-nr.am")
    assert len(told) == trace.source.details["data_pdus"] + trace.source.details["status_pdus"] == 1
    assert mt.open_trace(again).source.details["bearers"] == trace.source.details["bearers"]


def rlc_nr(uplink: bool, pdu: bytes) -> bytes:
    return in_udp(b"rlc-nr" + bytes([4, 12, 2, not uplink, 3, 0, 1, 4, 5, 5, 1, 1]) + pdu)


def test_settings_choose_the_bearer(tmp_path: Path) -> None:
    path = written(
        tmp_path, "a.pcap", pcap(149, [rlc_nr(True, bytes([0xC0, sn]) + b"abc") for sn in range(4)])
    )
    assert frames(rlc.parse(path), "action", "entity") == [(0, 0)] * 4
    assert frames(rlc.configured(path, {"seen_at": "bs"}), "action", "entity") == [(1, 1)] * 4
    assert rlc.configured(path, {"ue": 1, "bearer": "drb1"}).source.details["data_pdus"] == 4
    for given_settings, words in (
        ({"ue": 2}, "there are ue 1 drb1"),
        ({"bearer": "srb1"}, "there are ue 1 drb1"),
    ):
        with pytest.raises(CorruptTrace, match=words):
            rlc.configured(path, given_settings)
    for wrong in ({"ue": True}, {"ue": 70000}, {"seen_at": "core"}):
        with pytest.raises(UsageError):
            rlc.configured(path, wrong)


@pytest.mark.parametrize(("sizes", "full"), [((9, 9, 9, 4), True), ((9, 8, 7, 6), False)])
def test_a_small_pdu_tells_of_the_buffer_only_where_most_are_full(
    tmp_path: Path, sizes: tuple[int, ...], full: bool
) -> None:
    records = [rlc_nr(True, bytes([0xC0, sn]) + bytes(size)) for sn, size in enumerate(sizes)]
    path = link_path(mt.read(written(tmp_path, "a.pcap", pcap(149, records))))
    assert path is not None
    assert path.has_full_frames is full
    assert not path.kind.slotted


def test_a_capture_without_a_bearer_says_so(tmp_path: Path) -> None:
    control = in_udp(b"pdcp-nr" + bytes([2, 2, 3, 0, 6, 0, 1, 1, 0x80, 1, 2]))
    with pytest.raises(CorruptTrace, match="but no bearer"):
        mt.open_trace(written(tmp_path, "pdcp.pcap", pcap(149, [control])))
    with pytest.raises(CorruptTrace, match="no MAC, RLC or PDCP PDU"):
        mt.open_trace(written(tmp_path, "none.pcap", pcap(149, [b"x" * 40])), format="rlc")


def test_a_bearer_of_nothing_but_damage_says_so(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match="none can be decoded"):
        mt.open_trace(written(tmp_path, "cut.pcap", pcap(149, [rlc_nr(True, b"\xc0")])))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([147, 149, 252, 101]),
    st.lists(
        st.tuples(
            st.sampled_from([b"", b"mac-lte", b"mac-nr", b"rlc-lte", b"rlc-nr", b"pdcp-lte", b"pdcp-nr"]),
            st.binary(max_size=60),
            st.binary(max_size=60),
        ),
        max_size=20,
    ),
)
def test_any_bytes_are_data_an_issue_or_a_clear_error(
    tmp_path: Path, link_type: int, records: list[tuple[bytes, bytes, bytes]]
) -> None:
    made = [in_udp(name + context + b"\x01" + body) if name else context for name, context, body in records]
    path = written(tmp_path, "any.pcap", pcap(link_type, made))
    native.sniff_rlc(Path(path).read_bytes())
    try:
        trace = rlc.parse(path)
    except MultiTracerError:
        return
    table = trace.tables["link_frames"]
    assert np.all(table["length"] >= 0)
    assert np.all(table["offset"] >= -1)


# --- text


def test_lines_of_srsran(tmp_path: Path) -> None:
    path = written(tmp_path, "gnb.log", SRSRAN)
    trace = mt.open_trace(path)
    assert trace.source.format == "srsran"
    assert trace.source.details["bearer"] == "drb1"
    assert frames(trace, "record", "entity", "ns", "offset", "length", "attempt", "poll") == [
        (2, 1, 4095, 0, 100, 0, 0),
        (3, 1, 0, 100, 50, 0, 0),
        (4, 1, 0, 150, 40, 0, 1),
        (6, 1, 4095, 0, 100, 1, 1),
        (7, 0, 7, 0, 40, 0, 1),
    ]
    assert signals(trace) == [(0, "RR", 1), (0, "SREJ", 4095), (0, "SREJ", 0), (1, "RR", -1), (1, "RR", 8)]
    assert [(issue.code, issue.count, issue.first_record) for issue in trace.issues] == [
        ("unparsed-line", 1, 11)
    ]
    assert trace.source.first_ns == 1678904965_100001000
    assert frames(srsran.configured(path, {"ue": 1}), "entity", "ns") == [(0, 0)]
    assert frames(srsran.configured(path, {"seen_at": "bs"}), "action", "entity")[-1] == (1, 1)
    with pytest.raises(CorruptTrace, match="ue 0 drb1"):
        srsran.configured(path, {"bearer": "drb9"})
    with pytest.raises(UsageError, match="ue of"):
        srsran.configured(path, {"ue": "one"})


def test_real_lines_of_srsran(shared: Path) -> None:
    trace = mt.open_trace(shared / "samples" / "lte_nr" / "srsran_text_log_lines.txt")
    assert frames(trace, "entity", "ns", "length", "poll") == [(0, 0, 94, 1)]
    assert trace.source.details["bearers"][1]["status_pdus"] == 1


def test_a_log_of_other_layers_says_so(tmp_path: Path) -> None:
    with pytest.raises(CorruptTrace, match="no RLC PDU"):
        mt.open_trace(written(tmp_path, "gnb.log", SRSRAN.splitlines()[0] + "\n"))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_text_is_survived(tmp_path: Path, draw: st.DataObject) -> None:
    content = bytearray(SRSRAN.encode())
    for _ in range(draw.draw(st.integers(1, 6))):
        at = draw.draw(st.integers(0, len(content) - 1))
        content[at : at + draw.draw(st.integers(0, 30))] = draw.draw(st.binary(max_size=20))
    try:
        trace = srsran.parse(written(tmp_path, "damaged", bytes(content)))
    except MultiTracerError:
        return
    assert np.all(trace.tables["link_frames"]["length"] >= 0)
