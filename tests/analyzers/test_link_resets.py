from __future__ import annotations

from typing import Any

import pytest
from support_measurement import LinkLog, ack, data, measurement, timeouts

from multitracer.analyzers import link_resets
from multitracer.api.measurement import Measurement


def resets(m: Measurement, **results: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = link_resets.run(m, results).summary["resets"]
    return found


def test_repeated_sabm_makes_one_reset_of_all_lines() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "iwf evt reset cause=n2 flush_tx=126 flush_rx=1").line(1001, "iwf snd SABM")
    log.line(1200, "ms evt reset cause=peer flush_tx=634 flush_rx=42")
    log.line(1201, "ms snd UA").line(1800, "iwf snd SABM")
    log.line(2000, "ms evt reset cause=peer flush_tx=983 flush_rx=0")
    log.line(2200, "iwf rcv UA")
    log.line(2300, "ms evt reset cause=peer flush_tx=5 flush_rx=0")  # a SABM that was under way with the UA
    log.line(9000, "ms evt reset cause=n2 flush_tx=7 flush_rx=0").line(9400, "ms rcv UA")
    log.line(9200, "iwf evt reset cause=peer flush_tx=0 flush_rx=8")
    first, second = resets(measurement(None, log.text()))
    assert (first["entity"], first["cause"], len(first["records"])) == ("iwf", "n2", 4)
    assert first["handshake_s"] == pytest.approx(1.2)
    assert first["flushed_bytes"] == {"ms": {"tx": 1622, "rx": 42}, "iwf": {"tx": 126, "rx": 1}}
    assert (second["entity"], len(second["records"])) == ("ms", 2)
    assert second["handshake_s"] == pytest.approx(0.4)


def test_only_the_told_entity_keeps_a_log() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "ms evt reset cause=peer flush_tx=1 flush_rx=0")
    log.line(1800, "ms evt reset cause=peer flush_tx=2 flush_rx=0")
    log.line(20000, "ms evt reset cause=peer flush_tx=4 flush_rx=0")
    found = resets(measurement(None, log.text()))
    assert [(reset["cause"], len(reset["records"])) for reset in found] == [("peer", 2), ("peer", 1)]
    assert found[0]["handshake_s"] is None


def test_both_entities_give_up_at_once() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "ms evt reset cause=n2 flush_tx=1 flush_rx=0")
    log.line(1100, "iwf evt reset cause=n2 flush_tx=2 flush_rx=0")
    log.line(1500, "ms rcv UA").line(1500, "iwf rcv UA")
    assert len(resets(measurement(None, log.text()))) == 1


def test_both_give_up_and_the_second_repeats_its_sabm() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "iwf evt reset cause=n2 flush_tx=28 flush_rx=5").line(1000, "iwf snd SABM")
    log.line(1100, "ms evt reset cause=n2 flush_tx=2 flush_rx=0").line(1100, "ms snd SABM")
    # The UA to the first SABM is lost, so the one that gave up first is told again.
    log.line(1280, "iwf rcv SABM").line(1280, "iwf snd UA")
    log.line(1580, "ms snd SABM").line(1760, "iwf evt reset cause=peer flush_tx=24 flush_rx=0")
    log.line(1760, "iwf snd UA").line(1940, "ms rcv UA")
    log.line(4000, "ms evt reset cause=n2 flush_tx=1 flush_rx=0").line(4400, "ms rcv UA")
    only, _ = resets(measurement(None, log.text()))
    assert (only["entity"], only["cause"], len(only["records"])) == ("iwf", "n2", 3)
    assert only["handshake_s"] == pytest.approx(0.94)
    assert only["flushed_bytes"]["iwf"]["tx"] == 52


def test_a_reset_that_never_completes_has_no_handshake_length() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "ms evt reset cause=protocol flush_tx=1")
    only = resets(measurement(None, log.text()))[0]
    assert (only["cause"], only["handshake_s"], only["end"]) == ("protocol", None, None)


def broken_transfer() -> tuple[list[dict[str, Any]], str]:
    """A reset at 1000 ms takes the second segment and ruins the third; both come again, then a fourth."""
    log = LinkLog()
    log.send(100, 24)
    log.line(1000, "ms evt reset cause=n2 flush_tx=60 flush_rx=0").line(1300, "ms rcv UA")
    log.line(1150, "iwf evt reset cause=peer flush_tx=0 flush_rx=9")
    sent = [(100, 1, 1), (500, 61, 2), (600, 121, 3), (2500, 61, 5), (3000, 121, 6), (3010, 181, 7)]
    rows = [data(t_ms, seq, ip_id=number) for t_ms, seq, number in sent]
    heard = [(400, 1, 1), (1900, 61, 3), (2800, 61, 5), (3300, 121, 6), (3310, 181, 7)]
    for t_ms, seq, number in heard:
        rows.append(data(t_ms, seq, ip_id=number, source=1))
    rows[7]["checksum"] = 2  # the third segment with the header of the second
    for t_ms, number in ((410, 61), (2810, 121), (3320, 241)):
        rows += [ack(t_ms, number, source=1), ack(t_ms + 300, number)]
    return rows, log.text()


def test_gap_losses_and_timeouts() -> None:
    rows, log = broken_transfer()
    judged = timeouts([{"t_ms": 2500, "seq": 61}, {"t_ms": 3500, "seq": 61}])
    only = resets(measurement(rows, log), timeouts=judged)[0]
    assert only["gap_start"] == pytest.approx(0.3)
    assert only["gap_end"] == pytest.approx(2.7)
    assert only["gap_s"] == pytest.approx(2.4)
    assert only["gap_throughput_bps"] == pytest.approx(8 * 60 / 2.4)
    assert (only["segments_lost"], only["segments_discarded"], only["timeouts"]) == (1, 1, 1)
    assert only["variant"] == "decompressor"


def test_offloaded_checksums_are_no_evidence_of_damage() -> None:
    rows, log = broken_transfer()
    for row in rows:
        row["checksum"] = 2
    only = resets(measurement(rows, log))[0]
    # That the receiver refused the third segment now shows only in the ACK that did not come.
    assert only["segments_discarded"] == 1
    assert only["gap_s"] == pytest.approx(2.4)


def test_lost_acks_are_their_own_variant() -> None:
    log = LinkLog()
    log.send(100, 24)
    log.line(1000, "iwf evt reset cause=n2 flush_tx=14").line(1300, "iwf rcv UA")
    rows = [data(100, 1, ip_id=1), data(3000, 1, ip_id=2), data(4000, 61, ip_id=3)]
    rows += [
        data(900, 1, ip_id=1, source=1),
        data(3400, 1, ip_id=2, source=1),
        data(4400, 61, ip_id=3, source=1),
    ]
    for t_ms, number, arrives in ((910, 61, False), (3410, 61, True), (4410, 121, True)):
        rows.append(ack(t_ms, number, source=1, ip_id=t_ms))
        if arrives:
            rows.append(ack(t_ms + 200, number, ip_id=t_ms))
    rows.append(ack(50, 1, ip_id=9))
    rows.append(ack(20, 1, ip_id=9, source=1))
    only = resets(measurement(rows, log.text()))[0]
    assert (only["segments_lost"], only["acks_lost"], only["variant"]) == (0, 1, "acks_lost")


def test_without_tcp_the_reset_is_still_told() -> None:
    log = LinkLog()
    log.send(0, 24)
    log.line(1000, "ms evt reset cause=n2 flush_tx=1 flush_rx=0").line(1300, "ms rcv UA")
    only = resets(measurement(None, log.text()))[0]
    assert only["gap_s"] is None
    assert only["segments_lost"] is None
    assert only["timeouts"] is None
