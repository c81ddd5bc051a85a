from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_measurement import LinkLog, ack, data, measurement

from multitracer.analyzers import flow_control, link_retransmissions, throughput
from multitracer.model.arrays.regression import fit


def entity(summary: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in summary["entities"] if entry["entity"] == name)


def test_retransmissions_attempts_burst_and_delay() -> None:
    log = LinkLog()
    log.send(0, 240)  # ten frames, 0 to 180 ms
    log.frame(200, 3, 72, 24, attempt=1, lost=True)
    log.frame(220, 4, 96, 24, attempt=1, lost=True)
    log.frame(240, 3, 72, 24, attempt=2, lost=True)
    log.send(260, 24)
    log.frame(280, 5, 120, 24, attempt=1, lost=True)
    log.line(150, "ms rcv SREJ").line(140, "iwf snd SREJ").line(141, "iwf snd SREJ")
    log.line(500, "iwf snd I ns=0 off=0 len=5").line(690, "ms rcv I ns=0 off=0 len=5")
    found = link_retransmissions.run(measurement(None, log.text()), {}).summary
    assert (found["frames"], found["retransmitted"], found["data_entity"]) == (16, 4, "ms")
    ms = entity(found, "ms")
    assert (ms["frames"], ms["retransmitted"], ms["attempts_max"]) == (15, 4, 3)
    assert ms["attempts_per_frame"] == pytest.approx(15 / 11)
    assert ms["longest_burst"] == {"start": 0.2, "end": 0.24, "duration_ms": 40.0, "frames": 3}
    assert (ms["srej_sent"], ms["srej_received"]) == (0, 1)
    assert ms["frame_delay_ms"] == {"min": 180.0, "median": 180.0, "max": 180.0}
    iwf = entity(found, "iwf")
    assert (iwf["srej_sent"], iwf["longest_burst"]) == (2, None)
    assert iwf["frame_delay_ms"]["min"] == pytest.approx(190)


def test_the_rate_of_a_busy_link_is_a_frame_per_slot() -> None:
    log = LinkLog()
    log.send(0, 24 * 50)
    found = link_retransmissions.run(measurement(None, log.text()), {}).summary
    assert entity(found, "ms")["rate_bytes_per_s"] == pytest.approx(1200)


def test_bytes_flushed_unsent_are_not_counted_as_rate() -> None:
    log = LinkLog()
    end = log.send(0, 24 * 50)
    log.offset += 5000  # flushed, but numbered
    log.send(end, 24 * 50)
    found = link_retransmissions.run(measurement(None, log.text()), {}).summary
    assert entity(found, "ms")["rate_bytes_per_s"] == pytest.approx(1200)


def held_off() -> LinkLog:
    """Busy for a second, held off for a second, busy for a second."""
    log = LinkLog()
    log.send(0, 24 * 50)
    log.line(1000, "ms rcv RNR").line(820, "iwf snd RNR")
    log.line(2000, "ms rcv RR").line(1820, "iwf snd RR")
    log.send(2000, 24 * 50)
    log.line(3000, "ms snd SREJ")
    return log


def test_xoff_intervals_share_gap_and_rates() -> None:
    rows = [data(0, 1), ack(3000, 61)]
    found = flow_control.run(measurement(rows, held_off().text()), {}).summary
    assert found["intervals"] == [{"start": 1.0, "end": 2.0}]
    assert found["share"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["gap_ms"] == {"min": 1020.0, "median": 1020.0, "max": 1020.0}
    assert found["rate_bytes_per_s"] == {"overall": 800.0, "inside": 0.0, "outside": 1200.0}
    assert found["count_by_entity"] == {"ms": 1, "iwf": 0}


def test_xoff_as_its_sender_logged_it_if_the_held_entity_keeps_no_log_of_what_it_hears() -> None:
    lines = [line for line in held_off().text().splitlines() if " ms rcv " not in line]
    found = flow_control.run(measurement(None, "\n".join(lines)), {}).summary
    assert found["intervals"] == [{"start": 0.82, "end": 1.82}]


def test_xoff_without_xon_lasts_to_the_end_of_the_log() -> None:
    lines = [line for line in held_off().text().splitlines() if " RR" not in line]
    found = flow_control.run(measurement(None, "\n".join(lines)), {}).summary
    assert found["intervals"] == [{"start": 1.0, "end": 3.16}]  # the last frame arrives then


def test_a_second_xoff_does_not_begin_a_second_interval() -> None:
    log = held_off().line(1500, "ms rcv RNR").line(2500, "ms rcv RR")
    assert flow_control.run(measurement(None, log.text()), {}).summary["count"] == 1


def test_throughput_counts_every_byte_and_goodput_each_once() -> None:
    rows = [data(0, 1, 1000), data(100, 1001, 1000), data(500, 1001, 1000), ack(1000, 2001)]
    rows += [ack(5000, 2001)]  # says nothing new
    only = throughput.run(measurement(rows), {}).summary["connections"][0]
    assert only["throughput_bps"] == pytest.approx(8 * 3000)
    assert only["goodput_bps"] == pytest.approx(8 * 2000)
    assert (only["start"], only["end"]) == (0.0, 1.0)


def test_an_ack_damaged_on_its_way_does_not_count() -> None:
    rows = [data(0, 1, 1000), ack(300, 999, checksum=2), ack(500, 500), ack(1000, 1001), ack(1010, 1001)]
    assert throughput.run(measurement(rows), {}).summary["connections"][0]["end"] == 1.0


def test_a_connection_without_data_has_no_rate() -> None:
    only = throughput.run(measurement([ack(0, 1), ack(100, 1)]), {}).summary["connections"][0]
    assert only["throughput_bps"] is None


def test_regression_lines_are_those_of_figure_5() -> None:
    log = LinkLog()
    log.send(0, 24 * 100)
    rows = [data(100 * n, 1 + 60 * n) for n in range(20)]
    rows += [row | {"source": 1, "t_ms": row["t_ms"] + 300} for row in rows] + [ack(2500, 1201)]
    trends = throughput.run(measurement(rows, log.text()), {}).summary["trends"]
    assert [trend["series"] for trend in trends] == ["TcpRcv_data", "RlpSnd_data"]
    assert trends[0]["rate_bytes_per_s"] == pytest.approx(600)
    assert trends[0]["start"] == pytest.approx(0.3)
    assert trends[1]["rate_bytes_per_s"] == pytest.approx(1200)


def test_fit_recovers_a_line_far_from_the_origin() -> None:
    x = 1.8e9 + np.arange(10.0)
    line = fit(x, 3e12 + 7.0 * np.arange(10))
    assert line is not None
    assert line.rate == pytest.approx(7)
    assert line.level == pytest.approx(3e12)
    assert fit(x[:2], x[:2]) is None
    assert fit(np.ones(5), np.ones(5)) is None
