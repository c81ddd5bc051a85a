"""Costs: no more than the loss in all, each within its bounds, whatever is claimed."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support_entries import entry

from multitracer.diagnosis.field.idle import why_no_idle_times
from multitracer.diagnosis.field.offered import Offered
from multitracer.diagnosis.findings.finding import Finding
from multitracer.diagnosis.findings.priced import (
    _behind_writes_s,
    _idle as idle_by,
    _late_s,
    _rate as rate_of_link,
    _unsaid,
    from_captures,
)
from multitracer.diagnosis.gain import Claim, Loss, costs, loss_of_link, loss_of_path, opening_s
from multitracer.layers.tcp.bottleneck import STILL_NS, Bottleneck
from multitracer.model.arrays.intervals import intervals
from multitracer.native.bottleneck import rates

NONE = intervals(())
SECONDS = st.floats(0, 1e5, allow_nan=False)
CLAIMS = st.lists(
    st.builds(
        Claim,
        s=SECONDS,
        shared_s=SECONDS,
        follows=st.booleans(),
        certain=st.booleans(),
        open_s=SECONDS,
        beyond_s=SECONDS,
        apart=st.booleans(),
    ),
    max_size=8,
)


@given(SECONDS, SECONDS, SECONDS, SECONDS, SECONDS, CLAIMS)
def test_costs_are_no_more_than_the_loss(
    first: float, second: float, third: float, opening: float, last: float, claims: list[Claim]
) -> None:
    low, middle, high = sorted((first, second, third))
    found = costs(Loss(high, middle, low, high), claims, opening, last)
    assert sum(cost.s for cost in found) <= middle * (1 + 1e-9) + 1e-9
    for cost in found:
        assert 0 <= cost.low_s <= cost.s <= cost.high_s <= high * (1 + 1e-9) + 1e-9


def test_two_causes_share_what_the_duplicates_leave() -> None:
    """Of 4 s, 1 s is one's own; two that limited for 2 s and 4 s share the rest by their time."""
    own, short, long = costs(Loss(10, 4, 4, 4), [Claim(1.0), Claim(0, 2.0), Claim(0, 4.0)])
    assert (own.s, short.s, long.s) == pytest.approx((1, 1, 2))
    assert short.high_s == 2


def test_what_nobody_claims_goes_to_what_it_may_follow_from() -> None:
    loss, pause = costs(Loss(10, 4, 3, 5), [Claim(0, 0.5, follows=True), Claim(0, 1.0)])
    assert (loss.s, pause.s) == pytest.approx((3, 1))
    assert loss.high_s == 5


def test_a_loss_cost_none_of_what_the_application_took() -> None:
    """A window that was small behind it may have held the sender as long as nothing else did."""
    loss = Loss(10.0, 8.0, 7.0, 9.0)
    paused, repaired = costs(loss, [Claim(0, 5, True, apart=True), Claim(0, 1, True)])
    assert (paused.high_s, repaired.high_s) == (paused.s, 4.0)
    assert paused.s == pytest.approx(8 * 5 / 6)
    assert costs(loss, [Claim(0, 5, True), Claim(0, 1, True)])[1].high_s == 9.0


def test_what_is_too_short_for_a_sentence_is_no_cost_of_another() -> None:
    path = Offered([entry(loss_recovery=0.9, application=0.04, receiver_window=0.06)])
    assert _unsaid(path, {"loss", "idle_receiver_window"}) == [Claim(pytest.approx(0.04 * 20))]
    assert _unsaid(path, {"loss", "idle_receiver_window", "host_writer"}) == []


def test_a_reset_that_gave_up_may_have_cost_nothing() -> None:
    """The link would have gone on repeating."""
    (cost,) = costs(loss_of_link(20, 3, 1, 0.5, 0), [Claim(4.0, certain=False)])
    assert (cost.low_s, cost.s) == (0, 4)


def test_the_loss_of_a_link_that_was_never_full_has_no_upper_bound_by_its_rate() -> None:
    """1 MB in 10 s: at 1 Mbit/s it needs 8 s; a link that was not seen full may be faster."""
    full = loss_of_path(10, 1e6, 1e6, seen_full=True, opening_s=0.1)
    open_ended = loss_of_path(10, 1e6, 1e6, seen_full=False, opening_s=0.1)
    assert full.s == open_ended.s == pytest.approx(2)
    assert full.high_s < 3 < open_ended.high_s == pytest.approx(9.9)
    assert loss_of_path(10, 1e6, None, seen_full=False, opening_s=0.1).low_s == 0


def test_a_handshake_that_was_late_is_lost_whatever_the_rate() -> None:
    """A SYN that was lost took 1 s in which no link had anything to carry, however slow it is."""
    for rate_bps in (None, 1e6):
        loss = loss_of_path(9.0, 1e6, rate_bps, seen_full=False, opening_s=0.2, late_s=1.0)
        (late,) = costs(loss, [Claim(1.0)])
        assert (late.s, late.low_s, late.high_s) == (1.0, 1.0, 1.0)
    assert loss_of_path(9.0, 1e6, None, seen_full=False, opening_s=0.2).low_s == 0


def test_nothing_led_to_a_last_ack_that_came_late() -> None:
    loss = Loss(10.0, 3.0, 2.0, 4.0)
    (free,), (bound,) = costs(loss, [Claim(0, 1.0, True)]), costs(loss, [Claim(0, 1.0, True)], 1.5, 1.5)
    assert (free.high_s, bound.high_s) == (4.0, 2.5)
    assert (free.s, bound.s) == (3.0, 1.5)


def test_a_cost_is_no_more_than_the_link_was_idle_for() -> None:
    """In slow start the link was idle for 0.4 s, and for no more than 0.2 s beyond: it carried data else."""
    causes = [
        {"cause": "handshake/slow_start", "kind": "idle", "s": 0.4},
        {"cause": "duplicates", "kind": "bytes", "s": 1.0},
    ]
    used = {"causes": causes, "idle_s": 0.5, "idle_high": 0.06, "span_s": 10.0}
    path = Offered([entry(congestion_window=0.2, handshake=0.01)])
    took_s, most_s = idle_by(path, used)["idle_handshake_slow_start"]
    assert (took_s, most_s) == pytest.approx((0.4 + 0.1 + 0.2, 0.4 + 0.2 + 0.2))
    assert idle_by(Offered([entry(), entry()]), used) == {}
    found = costs(Loss(10.0, 5.0, 4.0, 6.0), [Claim(0.3, 0.4, beyond_s=0.1)])
    assert (found[0].s, found[0].high_s) == pytest.approx((0.7, 0.8))


def test_a_response_that_was_awaited_cost_its_time_before_the_data() -> None:
    """The link's time begins with the data: the wait of 2 s before it is none of that, and a cost."""
    used = {"causes": [{"cause": "application", "kind": "idle", "s": 0.1}], "idle_s": 0.1, "idle_high": 0.1}
    path = Offered([entry(seconds=3.0, application=0.7, handshake=0.02, data_s=0.94)])
    took_s, most_s = idle_by(path, used | {"span_s": 1.0})["idle_application"]
    assert (took_s, most_s) == pytest.approx((0.1 + 2.0, 0.1 + 2.0))
    gave_up = Offered([entry(seconds=3.0, application=0.7, data_s=0.94, unfinished={"timeouts": 3})])
    assert idle_by(gave_up, used | {"span_s": 1.0})["idle_application"][0] == pytest.approx(0.1)


def test_a_late_handshake_cost_what_no_other_transfer_went_on_in() -> None:
    """2 s of timeouts: another connection took 1.5 s of them, or none."""
    late = entry(seconds=4.0, handshake=0.5125, base=50.0, syn_timeouts=2)
    assert _late_s(Offered([late])) == pytest.approx(2.0)
    assert _late_s(Offered([late, entry(1, seconds=0.001)])) == pytest.approx(1.999)
    assert _late_s(Offered([late, entry(1, seconds=1.5)])) == pytest.approx(0.5)
    assert _late_s(Offered([late, entry(1, seconds=4.0)])) == pytest.approx(0.0)
    assert _late_s(Offered([entry(seconds=4.0, handshake=0.5125, base=50.0)])) == 0.0


def test_no_loss_cost_more_than_its_application_took_no_longer_to_write() -> None:
    """2.5 MB at 1.25 Mbit/s take 16 s of 20 s, 1 s of which was the handshake's."""
    known: Any = {"unique": 2_500_000, "loss_recovery": 0.3, "application": 0.6, "handshake": 0.05}
    clocked = entry(parts={"writes_bps": 1.25e6}, **known)
    assert _behind_writes_s(Offered([clocked])) == pytest.approx(3.0)
    assert _behind_writes_s(Offered([entry(**known)])) == math.inf
    assert _behind_writes_s(Offered([clocked, entry(1, **known)])) == math.inf
    (found,) = costs(Loss(20.0, 8.0, 6.0, 9.0), [Claim(0, 6.0, follows=True, most_s=2.9)])
    assert (found.s, found.high_s) == (2.9, 2.9)
    assert found.low_s <= 2.9


@pytest.mark.parametrize("kind", ["idle_receiver_window", "idle_application"])
def test_what_all_cost_together_has_the_opening_whose_cost_is_told(kind: str) -> None:
    """1 MB in 3 s, RTT 100 ms, no link seen: without the main cause alone, 0.7 s of slow start stay."""
    limit = "receiver_window" if "window" in kind else "application"
    shares: Any = {limit: 0.85, "congestion_window": 0.1, "handshake": 0.05, "base": 100.0}
    entries = [entry(seconds=3.0, unique=1_000_000, **shares)]
    m: Any = SimpleNamespace(once=lambda _, make: make(), summarised=True)
    found = [Finding("", 2.55, kind), Finding("", 0.45, "idle_handshake_slow_start")]
    opening = opening_s(None, 0.1, Offered(entries).wire_bytes, Offered(entries).packet_bytes)
    (main, slow_start), loss = from_captures(m, found, entries, [], None)
    assert main.between_s[1] == pytest.approx(3.0 - opening)
    assert slow_start.between_s[1] == pytest.approx(0.45)
    assert loss.together_s == loss.high_s == pytest.approx(2.9)
    assert main.cost_s + slow_start.cost_s <= loss.s
    (alone,), loss = from_captures(m, found[:1], entries, [], None)
    assert loss.together_s is None
    assert alone.between_s[1] == loss.high_s == pytest.approx(3.0 - opening)


def test_slow_start_leaves_a_link_idle_until_its_window_fills_it() -> None:
    """10 and 20 packets of 1500 bytes at 12 Mbit/s take 10 and 20 ms of round trips of 40 ms."""
    assert opening_s(12e6, 0.04, 1e9, 1500) == pytest.approx(2 * 0.04 + 0.03 + 0.02)
    assert opening_s(None, 0.04, 15_000, 1500) == pytest.approx(0.08)
    assert opening_s(12e6, 0.0, 1e9, 1500) == 0


def test_the_rate_is_that_of_packets_that_waited() -> None:
    """Windows of six packets over a link of 250,000 bytes/s, 6 ms for each; it stood still once."""
    service_ns, delay_ns, size = 6_000_000, 40_000_000, 1500
    left, came = [], []
    for window in range(40):
        start = window * 100_000_000 + (1_000_000_000 if window > 20 else 0)
        for packet in range(6):
            left.append(start + packet * 10_000)
            stood = 900_000_000 if window == 20 and packet > 2 else 0
            came.append(start + delay_ns + (packet + 1) * service_ns + stood)
    in_ns, out_ns = np.array(left, dtype=np.int64), np.array(came, dtype=np.int64)
    rate, _ = rates(in_ns, out_ns, np.full(len(left), size), delay_ns + service_ns, STILL_NS)
    assert rate == pytest.approx(size / service_ns * 1e9, rel=0.05)


def test_time_that_may_be_another_s_widens_both_bounds() -> None:
    loss = Loss(10.0, 5.0, 4.5, 5.5)
    alone = costs(loss, [Claim(2.0), Claim(0.0, 3.0, follows=True)])
    still, lost = costs(loss, [Claim(2.0, open_s=0.5), Claim(0.0, 3.0, follows=True)])
    assert (still.s, lost.s) == (alone[0].s, alone[1].s)
    assert (still.low_s, still.high_s) == (2.0, 2.5)
    assert lost.low_s == pytest.approx(alone[1].low_s - 0.5)


@pytest.mark.parametrize(("evidence", "counts_bps"), [(["constant_rate"], 10e6), (["queue"], 15e6)])
def test_compressed_acks_make_no_other_rate_of_a_link_that_was_full_at_one(
    evidence: list[str], counts_bps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to the sender their estimate is 15 Mbit/s; data came at 10 Mbit/s again and again."""
    monkeypatch.setattr(
        "multitracer.layers.tcp.bottleneck.bottleneck", lambda _: SimpleNamespace(rate=15e6 / 8)
    )
    path = Offered([entry(bandwidth=0.9, full=0.9, rate=10e6, evidence=evidence)])
    m: Any = SimpleNamespace(summarised=False)
    assert rate_of_link(m, path) == (counts_bps, True)


@pytest.mark.parametrize(
    ("at_longest", "dropped", "share"),
    [(38, True, 0.95), (2, False, 0.05), (20, None, 0.6), (None, None, 0.6)],
)
def test_how_long_the_queue_was_at_the_losses_says_how_many_of_them_it_dropped(
    at_longest: int | None, dropped: bool | None, share: float
) -> None:
    queue = {"longest_ms": 80.0, "dropping_ms": 79.0, "of": 40, "at_longest": at_longest, "empty": 0}
    one = entry(bandwidth=0.6, full=0.6, rate=1e7, lost=(40, 0), again={"fast": 40})
    one["queue_at_losses"] = None if at_longest is None else {**queue, "dropped": dropped}
    assert Offered([one]).overflow_share == pytest.approx(share)


@pytest.mark.parametrize(
    ("rate_bps", "delay_ns", "why"), [(12e6, 9_000, "sooner"), (12e6, 20_000_000, "in bursts")]
)
def test_why_acks_do_not_show_when_a_link_was_idle(rate_bps: float, delay_ns: int, why: str) -> None:
    """A packet takes 1 ms: one that is acknowledged within 9 us had passed the link before."""
    path = Offered([entry(bandwidth=0.9, full=0.95, rate=12e6)])
    size = np.full(9, 1500)
    found = Bottleneck(1e9, 1e9, 1, delay_ns, NONE, NONE, NONE, NONE, size, size, np.zeros(9), "ACKs")
    m: Any = SimpleNamespace(once=lambda name, _: path if name == "offered" else found)
    assert why in why_no_idle_times(m, [])


def test_what_waited_in_front_of_a_capture_shows_no_idle_times() -> None:
    dropped = entry(
        bandwidth=0.9, full=0.95, rate=12e6, point="snd", lost=(20, 0), inferred=20, again={"fast": 20}
    )
    size = np.full(9, 1500)
    found = Bottleneck(1.5e6, 1.5e6, 1, 10**8, NONE, NONE, NONE, NONE, size, size, np.zeros(9), "arrivals")
    for one, why in (
        (dropped, "own queue, before"),
        (entry(bandwidth=0.9, full=0.95, rate=12e6), "in bursts"),
    ):
        path = Offered([one])
        m: Any = SimpleNamespace(once=lambda name, _, path=path: path if name == "offered" else found)
        assert why in why_no_idle_times(m, [])
