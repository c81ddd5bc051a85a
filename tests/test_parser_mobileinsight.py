"""RLC PDUs in a phone: the modem's own log and MobileInsight's XML, which tell the same."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support_modem import (
    GPS_EPOCH_NS,
    SUBFRAME_NS,
    Pdu,
    binary,
    framed,
    nested,
    of_capture,
    packet,
    pair,
    xml,
)
from support_rlc import download, raw_pcap, record

import multitracer as mt
from multitracer.model.errors import CorruptTrace, MultiTracerError, UsageError
from multitracer.model.trace import Trace
from multitracer.parsers import mobileinsight

T0 = GPS_EPOCH_NS + 1_173_571_200 * 10**9


def at(millis: int) -> int:
    return T0 + millis * SUBFRAME_NS


# Overtaken in the downlink: 7 before 6, which was asked for; 9 comes in two segments, and 8 twice.
PDUS = [
    Pdu(at(0), False, 5, 100, poll=True),
    Pdu(at(0), False, 7, 60, lengths=3),
    Pdu(at(4), True, 6, nacks=(6,)),
    Pdu(at(8), True, 100, 40),
    Pdu(at(9), True, 101, 44, lengths=2),
    Pdu(at(20), False, 6, 80, poll=True),
    Pdu(at(22), False, 8, 50),
    Pdu(at(23), False, 9, 30, start=0, last=False),
    Pdu(at(24), False, 9, 20, start=30),
    Pdu(at(26), False, 8, 50, poll=True),
    Pdu(at(31), False, 102, nacks=()),
    Pdu(at(40), True, 10, nacks=()),
    Pdu(at(41), True, 102, 44, bearer=33),
]


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def rows(trace: Trace, table: str, *names: str) -> list[tuple[Any, ...]]:
    found = trace.tables[table]
    return list(zip(*(found[name].tolist() for name in names), strict=True))


def codes(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues}


@pytest.fixture(params=["mi2log", "xml", "mi2log.gz"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same PDUs, in each form."""
    if request.param == "xml":
        return written(tmp_path, "phone.xml", xml(PDUS))
    content = binary(PDUS)
    return written(
        tmp_path, f"phone.{request.param}", gzip.compress(content) if "gz" in request.param else content
    )


def test_what_the_phone_sent_and_received(log: str) -> None:
    trace = mt.open_trace(log)
    assert trace.source.format == "mobileinsight"
    assert codes(trace) == {}
    millis = trace.tables["link_frames"]["t_ns"] - T0
    columns = ("action", "entity", "ns", "offset", "length", "attempt", "duplicate", "poll")
    assert [
        (t // SUBFRAME_NS, *row) for t, row in zip(millis, rows(trace, "link_frames", *columns), strict=True)
    ] == [
        (0, 1, 0, 5, 0, 100, 0, 0, 1),
        (0, 1, 0, 7, 180, 60, 0, 0, 0),
        (8, 0, 0, 100, 0, 40, 0, 0, 0),
        (9, 0, 0, 101, 40, 44, 0, 0, 0),
        (20, 1, 0, 6, 100, 80, 1, 0, 1),
        (22, 1, 0, 8, 240, 50, 0, 0, 0),
        (23, 1, 0, 9, 290, 30, 0, 0, 0),
        (24, 1, 0, 9, 320, 20, 0, 0, 0),
        (26, 1, 0, 8, 240, 50, 1, 1, 1),
    ]
    events = trace.tables["link_events"]
    told = list(zip(events["entity"].tolist(), events["action"].tolist(), events.words("kind"), strict=True))
    assert told == [(0, 0, "RR"), (0, 0, "SREJ"), (0, 1, "RR"), (0, 0, "RR")]
    assert [link.observer for link in trace.links] == ["sender", "receiver"]
    assert [link.tells("arrivals") for link in trace.links] == [False, True]


def test_both_forms_are_the_same(tmp_path: Path) -> None:
    one = mt.open_trace(written(tmp_path, "phone.mi2log", binary(PDUS)))
    other = mt.open_trace(written(tmp_path, "phone.xml", xml(PDUS)))
    for name, table in one.tables.items():
        assert len(table)
        for column in set(table.columns) - {"record"}:
            np.testing.assert_array_equal(
                table[column], other.tables[name][column], err_msg=f"{name} {column}"
            )
    assert one.source.details["bearers"] == other.source.details["bearers"]
    assert sum(other.source.details["messages"].values()) == sum(one.source.details["messages"].values())


def test_other_bearers_and_views(log: str) -> None:
    other = mobileinsight.configured(log, {"bearer": "rb33"})
    assert rows(other, "link_frames", "ns", "length") == [(102, 44)]
    air = mobileinsight.configured(log, {"seen_at": "air"})
    assert set(air.tables["link_frames"]["action"].tolist()) == {0}
    for wrong in ({"bearer": "rb4"}, {"ue": 1}):
        with pytest.raises(CorruptTrace, match="there are ue 0 rb3, ue 0 rb33"):
            mobileinsight.configured(log, wrong)
    with pytest.raises(UsageError, match="ue of"):
        mobileinsight.configured(log, {"ue": "one"})


def test_a_new_start_behind_what_was_acknowledged(tmp_path: Path) -> None:
    before = [Pdu(at(0), True, 5, 40), Pdu(at(20), True, 6, 40), Pdu(at(40), False, 7, nacks=())]
    after = [Pdu(at(5000 + 20 * sn), True, sn, 50) for sn in range(8)]
    trace = mt.open_trace(written(tmp_path, "phone.mi2log", binary([*before, *after])))
    assert trace.tables["link_frames"]["attempt"].max() == 0
    events = trace.tables["link_events"]
    assert events.words("kind").tolist().count("reset") == 1


def rrc(t_ns: int, kind: int, message: bytes) -> bytes:
    """A message of RRC, version 20: 6 downlink common, 7 downlink dedicated, 8 uplink common control."""
    head = bytes([20, 14, 0x30, 1]) + bytes(8) + bytes([kind]) + bytes(4)
    return framed(packet(0xB0C0, t_ns, head + len(message).to_bytes(2, "little") + message))


REESTABLISHMENT, REQUEST, SETUP = b"\x08\x11", b"\x5f\xd8", b"\x60\x12"
HANDOVER, MEASUREMENTS, RELEASE = b"\x22\x08\x10", b"\x24\x10\x15", b"\x2a\x02"


@pytest.mark.parametrize(
    ("said", "cause", "ended_ms"),
    [
        ([(7, 900, HANDOVER)], "handover", None),
        ([(8, 900, REESTABLISHMENT), (6, 940, b"\x00\x12")], "reestablishment", 940),
        ([(8, 900, REQUEST), (6, 1100, SETUP)], "reestablishment", 1100),
        # Released in order: a new connection, and no failure.
        ([(7, 850, RELEASE), (8, 900, REQUEST), (6, 940, SETUP)], "other", None),
        ([(7, 900, MEASUREMENTS)], "other", None),
    ],
)
def test_why_numbers_begin_again(
    tmp_path: Path, said: list[tuple[int, int, bytes]], cause: str, ended_ms: int | None
) -> None:
    ways = [(uplink, offset) for uplink, offset in ((True, 0), (False, 3))]
    before = [Pdu(at(20 * n + offset), up, 100 + n, 40 + n) for n in range(40) for up, offset in ways]
    after = [Pdu(at(2000 + 20 * n + offset), up, n, 90 + n) for n in range(40) for up, offset in ways]
    messages = [rrc(at(millis), kind, message) for kind, millis, message in said]
    log = written(tmp_path, "phone.mi2log", binary(before) + b"".join(messages) + binary(after))
    trace = mt.open_trace(log)
    assert codes(trace) == {}
    assert trace.source.details["messages"]["0xB0C0 (RRC)"] == len(said)
    assert not trace.tables["link_frames"]["attempt"].any()
    resets = mt.analyze(mt.read(log)).results["link_resets"].summary["resets"]
    assert [one["cause"] for one in resets] == [cause]
    if ended_ms is not None:
        assert resets[0]["end"] - resets[0]["t"] == pytest.approx((ended_ms - 900) / 1e3)


def test_a_handover_after_which_numbers_go_on(tmp_path: Path) -> None:
    pdus = [Pdu(at(20 * n), True, 100 + n, 40 + n) for n in range(40)]
    log = written(tmp_path, "phone.mi2log", rrc(at(400), 7, HANDOVER) + binary(pdus))
    assert "reset" not in mt.open_trace(log).tables["link_events"].words("kind")


def test_a_second_subscription(tmp_path: Path) -> None:
    content = binary(PDUS[:3], b"\x98\1\0\0\1\0\0\0") + binary(PDUS, b"\x98\1\0\0\2\0\0\0")
    path = written(tmp_path, "phone.mi2log", content)
    bearers = [(one["ue"], one["bearer"]) for one in mt.open_trace(path).source.details["bearers"]]
    assert bearers == [(1, "rb3"), (0, "rb3"), (1, "rb33")]
    assert len(mobileinsight.configured(path, {"ue": 0}).tables["link_frames"]) == 2


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    whole = binary(PDUS)
    first = whole.index(b"\x7e") + 1
    damaged = whole[:20] + b"\0" + whole[21:]
    trace = mt.open_trace(written(tmp_path, "damaged.mi2log", damaged + framed(b"\x60\1")))
    assert codes(trace)["bad-frame"] == 1
    assert trace.source.details["messages"]["command 0x60"] == 1
    assert codes(mt.open_trace(written(tmp_path, "cut.mi2log", whole[:-3])))["truncated-file"] == 1
    short = framed(packet(0xB082, T0, b"\1\1\0\0"))
    assert codes(mt.open_trace(written(tmp_path, "short.mi2log", whole + short)))["bad-message"] == 1
    new = framed(packet(0xB082, T0, bytes([2, 1, 0, 0]) + bytes(40)))
    trace = mt.open_trace(written(tmp_path, "new.mi2log", whole + new))
    (issue,) = trace.issues
    assert (issue.code, issue.detail) == ("unknown-message", "message 0xB082 of version 2")
    assert "XML" in issue.kind.advice
    with pytest.raises(CorruptTrace, match="version 2; Export the log with MobileInsight to XML"):
        mt.open_trace(written(tmp_path, "all-new.mi2log", new * 3))
    others = framed(packet(0xB0C0, T0, b"abc")) * 3
    with pytest.raises(CorruptTrace, match=r"log LTE_RLC_UL.* it has 0xB0C0 \(RRC\)"):
        mt.open_trace(written(tmp_path, "others.mi2log", others))
    missing = [pdu for pdu in PDUS if pdu.sn != 6 or pdu.nacks is not None]
    assert codes(mt.open_trace(written(tmp_path, "gap.mi2log", binary(missing)))) == {"missing-frames": 1}
    assert whole[first:] != whole
    other = mt.open_trace(
        written(tmp_path, "other.mi2log", whole + framed(packet(0xB0C0, T0, bytes([99]) * 30)))
    )
    (issue,) = other.issues
    assert (issue.code, issue.detail) == ("unknown-message", "message 0xB0C0 of version 99")


def test_xml_in_lines_and_damaged(tmp_path: Path) -> None:
    text = xml(PDUS)
    expected = mt.open_trace(written(tmp_path, "phone.xml", text))
    folded = mt.open_trace(written(tmp_path, "folded.xml", text.replace("<list>", "<list>\n")))
    assert rows(folded, "link_frames", "t_ns", "ns", "offset") == rows(
        expected, "link_frames", "t_ns", "ns", "offset"
    )
    assert min(folded.tables["link_frames"]["record"]) == 1
    kind = pair("type_id", "LTE_RLC_DL_AM_All_PDU")
    when = pair("timestamp", "2017-03-15 00:17:31")
    item = nested("RLCDL PDUs", [pair("PDU TYPE", "RLCDL DATA") + pair("SN", "7")])
    bad = [
        f"<dm_log_packet>{kind}<pair></dm_log_packet>",
        f"<dm_log_packet>{kind}{when}{nested('Subpackets', [pair('RB Cfg Idx', 3) + item])}</dm_log_packet>",
        f"<dm_log_packet>{kind}{nested('Subpackets', [])}</dm_log_packet>",
        f"<dm_log_packet>{kind}{'<list>' * 99}</dm_log_packet>",
        "<dm_log_packet></dm_log_packet>",
    ]
    for one in bad:
        assert codes(mt.open_trace(written(tmp_path, "bad.xml", text + one + "\n"))) == {"bad-message": 1}, (
            one
        )
    other = "<dm_log_packet>" + pair("type_id", "LTE_RRC_OTA_Packet") + "</dm_log_packet>\n"
    messages = mt.open_trace(written(tmp_path, "more.xml", text + other)).source.details["messages"]
    assert messages["LTE_RRC_OTA_Packet"] == 1


def test_a_real_log(shared: Path) -> None:
    trace = mt.open_trace(shared / "samples" / "mobileinsight" / "test_log_dl_retx_head.mi2log")
    details = trace.source.details
    # As MobileInsight's export of the same log has them.
    assert (details["data_pdus"], details["status_pdus"], details["nacks"]) == (6892, 2042, 2)
    assert details["messages"] == {"0xB082 (RLC DL AM PDUs)": 816, "0xB092 (RLC UL AM PDUs)": 740}
    assert codes(trace) == {}
    frames = trace.tables["link_frames"]
    down = frames.where(frames["action"] == frames.code("action", "rcv"))
    assert len(down) == 5299
    assert not down["duplicate"].any()
    # Each byte of the stream once: what came late fills the gap that it left.
    order = np.argsort(down["offset"], kind="stable")
    ends = down["offset"] + down["length"]
    np.testing.assert_array_equal(down["offset"][order][1:], ends[order][:-1])


def test_logs_of_other_messages_say_so(shared: Path) -> None:
    logs = sorted((shared / "samples" / "mobileinsight").glob("2020*.mi2log"))
    assert len(logs) == 3
    for path in logs[:2]:
        with pytest.raises(CorruptTrace, match=r"no RLC PDU in it; .* 0xB821 \(NR RRC\)"):
            mt.open_trace(path)
    # The third has no PDU either, but measurements of the serving cell.
    assert set(mt.open_trace(logs[2]).tables) == {"series"}
    with pytest.raises(CorruptTrace, match="no RLC PDU"):
        mt.open_trace(shared / "samples" / "mobileinsight" / "decoded_xml_head.txt")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_survived(tmp_path: Path, draw: st.DataObject) -> None:
    content = bytearray(draw.draw(st.sampled_from([binary(PDUS), xml(PDUS).encode()])))
    for _ in range(draw.draw(st.integers(1, 6))):
        place = draw.draw(st.integers(0, len(content) - 1))
        content[place : place + draw.draw(st.integers(0, 30))] = draw.draw(st.binary(max_size=20))
    try:
        trace = mobileinsight.parse(written(tmp_path, "damaged", bytes(content)))
    except MultiTracerError:
        return
    assert np.all(trace.tables["link_frames"]["length"] >= 0)


BEARER = {
    "air": {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "loss_bad": 0.9},
    "max_retransmissions": 1000,
    "tti_ms": 5,
    "pdus_per_tti": 8,
    "payload_bytes": 200,
}
BEGUN_NS, GPS_AHEAD_NS = 1_700_000_000 * 10**9, 18 * 10**9


def at_the_phone(folder: Path, seed: int) -> tuple[Trace, Path]:
    """A download in simulation: what both ends of the bearer did, and what the phone captures and logs."""
    packets = download(seed)
    outcome, _, capture = record(folder, BEARER, packets, seed)
    both = mt.open_trace(capture)
    sent = [(t_ns, data) for t_ns, side, data in packets if side == 0]
    came = [(one.t_ns + 200_000, one.packet) for one in outcome.deliveries if one.side == 0]
    phone = folder / "phone"
    phone.mkdir()
    (phone / "phone.pcap").write_bytes(raw_pcap(sent + came, BEGUN_NS))
    (phone / "phone.mi2log").write_bytes(binary(of_capture(both, BEGUN_NS + GPS_AHEAD_NS)))
    declared = '[sources."phone.mi2log"]\nclock_offset_s = -18.0\nclock_uncertainty_s = 0.01\n'
    (phone / "measurement.toml").write_text(declared, encoding="utf-8")
    return both, phone


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_beside_a_capture_of_the_phone(tmp_path: Path, seed: int) -> None:
    both, phone = at_the_phone(tmp_path, seed)
    m = mt.read(phone)
    (log,) = (trace for trace in m.traces if trace.source.format == "mobileinsight")
    down, here = both.tables["link_frames"], log.tables["link_frames"]
    heard = down.where((down["entity"] == 0) & (down["action"] == down.code("action", "rcv")))
    mine = here.where(here["action"] == here.code("action", "rcv"))
    # Where each PDU lies is found without its sender.
    np.testing.assert_array_equal(np.sort(mine["offset"]), np.sort(heard["offset"]))
    assert mine["duplicate"].sum() == heard["duplicate"].sum()
    (clock,) = (c for c in m.clocks if m.sources[c.source].format == "mobileinsight")
    assert clock.offset_ns == -GPS_AHEAD_NS
    assert not m.link_is_apart
    results = mt.analyze(m).results
    (station,) = (one for one in results["link_retransmissions"].summary["entities"] if one["entity"] == "bs")
    assert station["seen_by"] == "receiver"
    assert station["frames"] == len(heard)
    assert station["retransmitted"] > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gps_time_is_noticed(tmp_path: Path, seed: int) -> None:
    _, phone = at_the_phone(tmp_path, seed)
    place = '[sources."phone.pcap"]\npoint = "rcv"\n'
    (phone / "measurement.toml").write_text(place, encoding="utf-8")
    m = mt.read(phone)
    (clock,) = (c for c in m.clocks if m.sources[c.source].format == "mobileinsight")
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns + GPS_AHEAD_NS) <= clock.uncertainty_ns < 5 * SUBFRAME_NS
    assert clock.evidence["gps_time_ahead_s"] == 18
    assert not m.link_is_apart


@pytest.mark.parametrize("ahead_s", [0, 17])
def test_another_time_is_not_taken_for_gps_time(tmp_path: Path, ahead_s: int) -> None:
    both, phone = at_the_phone(tmp_path, 1)
    place = '[sources."phone.pcap"]\npoint = "rcv"\n'
    (phone / "measurement.toml").write_text(place, encoding="utf-8")
    (phone / "phone.mi2log").write_bytes(binary(of_capture(both, BEGUN_NS + ahead_s * 10**9)))
    m = mt.read(phone)
    (clock,) = (c for c in m.clocks if m.sources[c.source].format == "mobileinsight")
    assert "gps_time_ahead_s" not in clock.evidence
    assert clock.grade == "unjoined" or abs(clock.offset_ns + ahead_s * 10**9) < 10**8


@pytest.mark.parametrize(
    ("year", "ahead_s"), [(2000, 0), (2008, 14), (2011, 15), (2014, 16), (2016, 17), (2026, 18)]
)
def test_leap_seconds(year: int, ahead_s: int) -> None:
    when = datetime(year, 7, 2, tzinfo=UTC).timestamp()
    assert mobileinsight._gps_ahead_s(int(when) * 10**9) == ahead_s


def test_a_log_of_another_time_answers_nothing_about_tcp(tmp_path: Path, samples: Path) -> None:
    log = written(tmp_path, "phone.mi2log", binary(PDUS))
    m = mt.read(samples / "link-resets-vj" / "snd.pcap", log)
    assert m.link_is_apart
    results = mt.analyze(m).results
    assert "on the timeline" in (results["frame_map"].inconclusive or "")
    assert results["utilization"].summary["basis"] == "estimate from captures"
    assert results["idle_phases"].summary["basis"] == "estimate from captures"
    assert results["link_retransmissions"].summary["frames"] == 9
