from __future__ import annotations

import pytest
from support_measurement import LinkLog, ack, data, measurement
from support_samples import SAMPLES

import multitracer as mt
from multitracer.analyzers import flow_control, idle_phases, utilization
from multitracer.model.analysis import Result


def connections(sent: int, duplicate: int) -> Result:
    counts = {"sent": sent, "unique": sent - duplicate, "duplicate": duplicate, "acked": sent - duplicate}
    return Result("connections", {"connections": [{"bytes": counts}]})


def busy_half_held_off() -> LinkLog:
    """1 s busy, 1 s XOFF, 0.5 s reset handshake, 0.5 s busy, 1 s idle, 1 s busy."""
    log = LinkLog()
    log.send(0, 24 * 50)
    log.line(1000, "ms rcv RNR").line(2000, "ms rcv RR")
    log.line(2000, "ms evt reset cause=n2 flush_tx=0 flush_rx=0").line(2500, "ms rcv UA")
    log.send(2500, 24 * 24 + 5)
    log.send(4000, 24 * 49 + 5)
    return log


def run(log: LinkLog, sent: int = 1000, duplicate: int = 0) -> Result:
    rows = [data(0, 1), ack(3998, 61), data(3999, 61), ack(5000, 121)]
    m = measurement(rows, log.text())
    results = {"connections": connections(sent, duplicate), "flow_control": flow_control.run(m, {})}
    results["idle_phases"] = idle_phases.run(m, results)
    return utilization.run(m, results)


def test_available_time_leaves_out_what_the_link_withheld() -> None:
    found = run(busy_half_held_off()).summary
    assert found["span_s"] == pytest.approx(5)
    assert (found["xoff_s"], found["reset_s"]) == (pytest.approx(1), pytest.approx(0.5))
    assert found["available_s"] == pytest.approx(3.5)
    assert found["idle_s"] == pytest.approx(1)
    assert found["value"] == pytest.approx(1 - 1 / 3.5, abs=1e-6)
    assert found["flagged"] is True
    assert found["basis"] == "link log"


def test_duplicates_multiply() -> None:
    found = run(busy_half_held_off(), sent=1000, duplicate=250).summary
    assert found["value"] == pytest.approx((1 - 1 / 3.5) * 0.75, abs=1e-6)
    assert found["duplicate_share"] == 0.25
    assert [cause["cause"] for cause in found["causes"]] == ["handshake/slow_start", "duplicates"]
    assert found["causes"][0]["share"] == pytest.approx(1 / 3.5, abs=1e-6)


@pytest.mark.parametrize(("duplicate", "flagged"), [(0, False), (49, False), (50, True)])
def test_flagged_at_95_percent_or_less(duplicate: int, flagged: bool) -> None:
    log = LinkLog()
    log.send(0, 24 * 250)
    found = run(log, sent=1000, duplicate=duplicate).summary
    assert found["idle_share"] == 0.0
    assert found["flagged"] is flagged


def test_nothing_sent_is_no_utilization() -> None:
    assert run(busy_half_held_off(), sent=0).inconclusive is not None


@pytest.mark.parametrize("name", ["link-resets-sack", "local-drops"])
def test_the_receiver_s_capture_alone_bounds_it_by_the_rate_of_the_full_link(name: str) -> None:
    """The link's own log has the answer."""
    sample = SAMPLES / name
    known = mt.analyze(mt.read(sample)).to_dict()["utilization"]["value"]
    found = mt.analyze(mt.read(sample / "rcv.pcap")).to_dict()["utilization"]
    assert found["told_from"] == "rate of the full link"
    assert found["low"] <= known <= found["high"]
    assert found["low"] <= found["value"] <= found["high"]
    # Both bounds are of one rate.
    assert found["idle_high"] == pytest.approx(1 - found["low"], abs=1e-5)
    busy = 1 - found["idle_share"]
    assert found["value"] == pytest.approx(busy * (1 - found["duplicate_share"]), abs=1e-5)


def test_a_link_that_was_seldom_full_has_no_utilization_away_from_the_sender() -> None:
    found = mt.analyze(mt.read(SAMPLES / "link-burst" / "rcv.pcap")).to_dict()
    assert found["utilization"]["value"] is None


def test_bounds_leave_out_what_is_idle_at_least() -> None:
    found = utilization._summary("rate", 1e6, 0.2, (0.15, 0.3), (0.7, 1.0), 2.0, (1000, 0, 0))
    assert (found["low"], found["value"], found["high"]) == (0.7, 0.8, 0.85)
    assert found["high"] <= 1 - found["idle_low"]
