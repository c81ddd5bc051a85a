from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from support_lab import SECOND, Outcome, payload, run

from multitracer.lab.models import MODELS, build_link
from multitracer.model.errors import UsageError

FADING = {
    "kind": "gilbert_elliott",
    "loss_good": 0.02,
    "loss_bad": 0.8,
    "p_good_to_bad": 0.02,
    "p_bad_to_good": 0.05,
}


# --- the factory


@pytest.mark.parametrize("model", MODELS)
def test_defaults_make_a_link_that_carries_packets(model: str) -> None:
    packets = [(i * SECOND, i % 2, payload(i, 100)) for i in range(6)]
    outcome = run({"model": model}, packets)
    assert outcome.received(0) == outcome.sent[0]
    assert outcome.received(1) == outcome.sent[1]
    assert outcome.link.next_ns() is None
    header = outcome.link.log_header()
    assert (header is None) == (model in ("plain", "path")) == (not outcome.log)
    assert header is None or header.startswith("# rlpdump 1 clock=realtime ")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"model": "adsl"}, "adsl"),
        ({}, "model"),
        ({"model": "rlp", "windw": 61}, "windw"),
        ({"model": "rlp", "window": 62}, "window"),
        ({"model": "rlp", "window": 3.5}, "window"),
        ({"model": "rlp", "n2": True}, "n2"),
        ({"model": "rlp", "vj": "yes"}, "vj"),
        ({"model": "rlp", "t1_ms": 100}, "t1_ms"),
        ({"model": "rlp", "delay_ms": float("nan")}, "delay_ms"),
        ({"model": "rlp", "air": {"loss": 1}}, "air.loss"),
        ({"model": "rlp", "air": {"kind": "vacuum"}}, "vacuum"),
        ({"model": "rlp", "air": {"loss_bad": 2}}, "air.loss_bad"),
        ({"model": "rlp", "air": 3}, "air"),
        ({"model": "rlp", "air": {"trace": [0, 2]}}, "air.trace"),
        ({"model": "rlp", "air": {"lost_slots": "12"}}, "air.lost_slots"),
        ({"model": "arq", "queue_discipline": "red"}, "red"),
        ({"model": "rlc_am", "window": 4096}, "window"),
        ({"model": "plain", "up": {"los": 1}}, "up.los"),
        ({"model": "plain", "down": 7}, "down"),
        ({"model": "plain", "pauses_s": [1]}, "pauses_s"),
        ({"model": "plain", "loss": 1.5}, "loss"),
        ({"model": "path", "hop": []}, "1 to 8"),
        ({"model": "path", "hop": [{}, {"up": {"los": 1}}]}, "hop.1: .*up.los"),
        ({"model": "path", "hops": []}, "hops"),
        ({"model": "interfaces", "tap": "left"}, "tap"),
    ],
)
def test_a_wrong_setting_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        build_link(wrong, 1)


def test_directions_of_a_plain_link_override_the_common_keys() -> None:
    link: Any = build_link({"model": "plain", "delay_ms": 5, "loss": 0.1, "up": {"delay_ms": 7}}, 1)
    assert (link.settings.up.delay_ms, link.settings.down.delay_ms) == (7, 5)
    assert link.settings.up.loss == link.settings.down.loss == 0.1


# --- what every model owes


def lossy(model: str) -> dict[str, Any]:
    if model == "path":
        hop = {key: value for key, value in lossy("plain").items() if key != "model"}
        return {"model": "path", "hop": [hop, {**hop, "reorder": 0.2, "air": {}}]}
    common = {"model": model, "air": FADING, "queue_packets": 0}
    return (
        common
        | {
            "rlp": {"n2": 2},
            "arq": {"retry_limit": 2},
            "rlc_am": {"max_retransmissions": 2, "harq_jitter_ms": 25},
            "plain": {"loss": 0.05, "reorder": 0.1, "duplicate": 0.1, "jitter_ms": 3},
        }[model]
    )


def both_ways(count: int, gap_ns: int, size: int = 200) -> list[tuple[int, int, bytes]]:
    return [(i * gap_ns, i % 2, payload(i, size)) for i in range(count)]


@pytest.mark.parametrize("model", MODELS)
def test_a_seed_repeats_a_run(model: str) -> None:
    packets = both_ways(150, SECOND // 5)
    first, second, other = (run(lossy(model), packets, seed) for seed in (3, 3, 4))
    assert (first.deliveries, first.log, first.link.truth) == (
        second.deliveries,
        second.log,
        second.link.truth,
    )
    assert first.deliveries != other.deliveries


@pytest.mark.parametrize("model", MODELS)
def test_time_steps_do_not_matter(model: str) -> None:
    packets = both_ways(60, SECOND // 5)
    coarse = run(lossy(model), packets, 3)
    fine: Any = build_link(lossy(model), 3)
    deliveries, log = [], []
    waiting = list(packets)
    for t_ns in range(0, 60 * SECOND, SECOND // 100):
        deliveries += fine.advance(t_ns)
        while waiting and waiting[0][0] == t_ns:
            fine.send(waiting[0][1], waiting[0][2], t_ns)
            waiting.pop(0)
        log += fine.drain_log()
    assert deliveries == [d for d in coarse.deliveries if d.t_ns < 60 * SECOND]
    assert log == [line for line in coarse.log if float(line.split()[0]) < 60]


@pytest.mark.parametrize("model", MODELS)
def test_deliveries_and_log_are_in_time_order(model: str) -> None:
    outcome = run(lossy(model), both_ways(150, SECOND // 20), 5)
    times = [delivery.t_ns for delivery in outcome.deliveries]
    assert times == sorted(times)
    logged = [float(line.split()[0]) for line in outcome.log]
    assert logged == sorted(logged)
    events = [event["t_ns"] for event in outcome.link.truth.events]
    assert events == sorted(events)
    assert events


@pytest.mark.parametrize("model", ["arq", "plain"])
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_delivered_or_the_truth_says_lost(model: str, seed: int) -> None:
    outcome = run(lossy(model), both_ways(80, SECOND // 50), seed)
    counts = outcome.link.truth.counts
    for side in (0, 1):
        missing = Counter(outcome.sent[side]) - Counter(outcome.received(side))
        assert missing.total() == counts.get("packets_lost", [0, 0])[side]
        events = [e for e in outcome.link.truth.events if e["what"] == "packet_lost" and e["side"] == side]
        assert len(events) == missing.total()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1, 4]), st.sampled_from([0, 25, 300]))
def test_rlc_loses_packets_only_in_a_reset(seed: int, most: int, pdus_per_tti: int, jitter_ms: int) -> None:
    # With much jitter PDUs from before a re-establishment arrive after it.
    chosen = lossy("rlc_am") | {
        "max_retransmissions": most,
        "pdus_per_tti": pdus_per_tti,
        "harq_jitter_ms": jitter_ms,
    }
    outcome = run(chosen, both_ways(80, SECOND // 10), seed)
    counts = outcome.link.truth.counts
    for side in (0, 1):
        got = outcome.received(side)
        places = [outcome.sent[side].index(packet) for packet in got]
        assert places == sorted(set(places))
        missing = len(outcome.sent[side]) - len(got)
        assert missing == 0 or counts["resets"][0] + counts["resets"][1] > 0
        lost_before_last = (places[-1] + 1 - len(places)) if places else 0
        assert lost_before_last <= counts.get("packets_lost", [0, 0])[side] <= missing


# --- ARQ


def received_by_log(log: list[str], entity: str) -> list[tuple[int, int]]:
    pairs = []
    for line in log:
        words = line.split()
        if words[1:4] == [entity, "rcv", "I"] and "dup=1" not in words:
            fields = dict(word.split("=") for word in words[4:])
            pairs.append((int(fields["off"]), int(fields["len"])))
    return pairs


def test_the_log_of_an_arq_link_tells_what_was_delivered() -> None:
    outcome = run(lossy("arq"), both_ways(200, SECOND // 50), 9)
    ranges = received_by_log(outcome.log, "ap")
    got = outcome.received(0)
    assert [length for _, length in ranges] == [len(packet) for packet in got]
    offsets = [sum(len(p) for p in outcome.sent[0][: outcome.sent[0].index(packet)]) for packet in got]
    assert [offset for offset, _ in ranges] == offsets
    tried = sum(" sta snd I " in line and " try=" in line for line in outcome.log)
    assert tried == outcome.link.truth.counts["link_retransmissions"][0] > 0


def test_an_arq_attempt_takes_overhead_and_bits() -> None:
    chosen = {
        "model": "arq",
        "rate_bps": 8e6,
        "overhead_us": 200,
        "backoff_us": 0,
        "delay_ms": 3,
        "air_up": {"kind": "list", "lost_slots": [0, 1]},
    }
    outcome = run(chosen, [(0, 0, payload(1, 1000))])
    # Three attempts of 200 us and 1000 us, then 3 ms behind the link.
    assert [delivery.t_ns for delivery in outcome.deliveries] == [3 * 1_200_000 + 3_000_000]


def test_a_lost_acknowledgement_gives_a_duplicate_on_the_link_and_none_above() -> None:
    chosen = {"model": "arq", "air_down": {"kind": "list", "lost_slots": [0]}}
    outcome = run(chosen, [(0, 0, payload(1, 500))])
    assert len(outcome.deliveries) == 1
    assert sum("dup=1" in line for line in outcome.log) == 1
    assert outcome.link.truth.counts["acks_lost_on_air"] == [0, 1]


def test_half_duplex_shares_the_medium() -> None:
    packets = [(0, side, payload(10 * side + i, 1000)) for i in range(20) for side in (0, 1)]
    half, full = (run({"model": "arq", "half_duplex": flag}, packets) for flag in (True, False))
    assert half.deliveries[-1].t_ns > 1.8 * full.deliveries[-1].t_ns
    assert Counter(d.side for d in half.deliveries) == Counter({0: 20, 1: 20})


# --- plain


def plain(count: int = 50, gap_ns: int = SECOND // 100, size: int = 1000, **more: Any) -> Outcome:
    packets = [(i * gap_ns, 0, payload(i, size)) for i in range(count)]
    return run({"model": "plain", "queue_packets": 0, **more}, packets)


def test_rate_and_delay() -> None:
    outcome = plain(count=10, gap_ns=0, rate_bps=8e6, delay_ms=20)
    assert [d.t_ns for d in outcome.deliveries] == [(i + 1) * 1_000_000 + 20_000_000 for i in range(10)]


def test_jitter_alone_does_not_reorder() -> None:
    outcome = plain(jitter_ms=60)
    assert outcome.received(0) == outcome.sent[0]
    loose = plain(jitter_ms=60, jitter_reorders=True)
    assert loose.received(0) != loose.sent[0]
    assert sorted(loose.received(0)) == sorted(loose.sent[0])


def test_reordering_delays_the_packets_that_the_truth_names() -> None:
    outcome = plain(reorder=0.2, reorder_ms=35)
    late = [packet for i, packet in enumerate(outcome.received(0)) if packet != outcome.sent[0][i]]
    assert late
    assert outcome.link.truth.counts["packets_reordered"][0] > 0
    assert sorted(outcome.received(0)) == sorted(outcome.sent[0])


def test_corruption_flips_one_bit_behind_the_ip_header() -> None:
    outcome = plain(corrupt=0.5)
    ruined = 0
    for sent, got in zip(outcome.sent[0], outcome.received(0), strict=True):
        different = [(a, b) for a, b in zip(sent[20:], got[20:], strict=True) if a != b]
        assert sent[:20] == got[:20]
        assert sum((a ^ b).bit_count() for a, b in different) <= 1
        ruined += len(different)
    assert ruined == outcome.link.truth.counts["packets_ruined"][0] > 0


def test_duplicates() -> None:
    outcome = plain(duplicate=0.3)
    extra = Counter(outcome.received(0)) - Counter(outcome.sent[0])
    assert extra.total() == outcome.link.truth.counts["packets_duplicated"][0] > 0


def test_a_pause_holds_packets_and_loses_none() -> None:
    outcome = plain(pauses_s=[[0.1, 0.25]], delay_ms=1, rate_bps=0)
    times = [d.t_ns for d in outcome.deliveries]
    assert outcome.received(0) == outcome.sent[0]
    assert not [t_ns for t_ns in times if 0.101 * SECOND < t_ns < 0.351 * SECOND]
    assert max(b - a for a, b in itertools.pairwise(times)) >= 0.24 * SECOND


def test_a_policer_drops_what_exceeds_its_rate_and_burst() -> None:
    free = plain(rate_bps=0, delay_ms=1)
    sent = sum(len(packet) for packet in free.sent[0])
    policed = plain(rate_bps=0, delay_ms=1, police_bps=8e4, police_bytes=5000)
    times = [d.t_ns for d in policed.deliveries if d.side == 1]
    passed = sum(len(packet) for packet in policed.received(0))
    most = 5000 + 1e4 * (times[-1] - times[0]) / SECOND
    assert most - 1500 <= passed <= min(most + 1500, sent - 1)
    assert plain(rate_bps=0, delay_ms=1, police_bps=1e9, police_bytes=10**6).received(0) == free.received(0)


def test_scripted_loss_by_packet_number() -> None:
    outcome = plain(air={"kind": "list", "lost_slots": [3, 4, 17]})
    assert outcome.received(0) == [p for i, p in enumerate(outcome.sent[0]) if i not in (3, 4, 17)]


@pytest.mark.parametrize("model", MODELS)
def test_the_interface_queue_drops_and_says_so(model: str) -> None:
    packets = [(0, 0, payload(i, 1000)) for i in range(10)]
    short = {"hop": [{"queue_packets": 4}]} if model == "path" else {"queue_packets": 4}
    outcome = run({"model": model, **short}, packets)
    accepted = len(outcome.sent[0])
    assert 4 <= accepted <= 5
    assert outcome.link.truth.counts["queue_drops"][0] == 10 - accepted
    assert outcome.received(0) == outcome.sent[0]
    if outcome.link.log_header() is not None:
        assert sum("evt drop queue=if len=1000" in line for line in outcome.log) == 10 - accepted


# --- header compression on the link


def test_resets_with_header_compression_ruin_segments() -> None:
    """Paper 5.3: lost deltas give segments with wrong numbers, which the truth counts."""
    from support_lab import checksum_good, tcp

    packets = [(0, 0, tcp(1000 + i * 460, 1, bytes([i]) * 460, ip_id=i + 1)) for i in range(60)]
    lost = list(range(100, 400))
    chosen = {"model": "rlp", "vj": True, "queue_packets": 0, "air_up": {"kind": "list", "lost_slots": lost}}
    outcome = run(chosen, packets)
    counts = outcome.link.truth.counts
    bad = [packet for packet in outcome.received(0) if not checksum_good(packet)]
    assert counts["resets"][0] > 0
    assert len(bad) == counts["packets_ruined"][0] > 0
    plain_ppp = run({**chosen, "vj": False}, packets)
    assert all(checksum_good(packet) for packet in plain_ppp.received(0))


def test_a_pdu_from_before_a_reestablishment_is_ignored_after_it() -> None:
    from multitracer.lab.l2r import Chunk
    from multitracer.lab.rlc_am import Pdu

    link: Any = build_link({"model": "rlc_am"}, 1)
    receiver = link._entities[1]
    receiver.on_frame(Pdu("reset", epoch=1), 10)
    receiver.on_frame(Pdu("data", 0, chunk=Chunk(0, payload(1, 40)), epoch=0), 20)
    assert link.truth.counts["frames_ignored"] == [0, 1]
    receiver.on_frame(Pdu("data", 0, chunk=Chunk(40, payload(2, 40)), epoch=1), 30)
    received = [line for line in link.drain_log() if "rcv I" in line]
    assert received == ["0.000000030 bs rcv I ns=0 off=40 len=40"]
