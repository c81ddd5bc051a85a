from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings, strategies as st
from support_lab import SECOND, Outcome, payload, run

from multitracer.lab.rlp import frames

VECTORS = {  # libosmocore tests/rlp/rlp_test.c
    "XID1": "f95f1100213d313d414e6108510600000000000000000000000000c13c6b",
    "XID2": "f95f1101213d313d41305106610774000008060000000000000000ba14a0",
    "SABM": "f91f0000000000000000000000000000000000000000000000000063b2f3",
    "UA": "f8330000000000000000000000000000000000000000000000000029d801",
    "IS1": "01001f000000000000000000000000000000000000000000000000f174ad",
    "IS2": "010401661fffffffffffffffffffffffffffffffffffffffffffff388cd3",
    "DISC": "f923000000000000000000000000000000000000000000000000007986f2",
}


@pytest.mark.parametrize("name", VECTORS)
def test_frame_vectors_round_trip(name: str) -> None:
    data = bytes.fromhex(VECTORS[name])
    frame = frames.decode(data)
    assert frame is not None
    assert frames.encode(frame) == data


def test_frame_vectors_mean_what_the_standard_says() -> None:
    decoded = {name: frames.decode(bytes.fromhex(data)) for name, data in VECTORS.items()}
    is2, ua, xid = decoded["IS2"], decoded["UA"], decoded["XID1"]
    assert is2 is not None
    assert ua is not None
    assert xid is not None
    assert (is2.kind, is2.word, is2.ns, is2.nr, is2.command, is2.pf) == ("I", "RR", 0, 1, True, False)
    assert frames.unpack_user(is2.information) == b"\x66"
    assert (ua.kind, ua.word, ua.command, ua.pf) == ("U", "UA", False, True)
    assert (xid.word, xid.information[:4].hex()) == ("XID", "1100213d")


def test_one_user_byte_is_packed_as_in_the_vector() -> None:
    built = frames.RlpFrame("I", "RR", nr=1, information=frames.pack_user(b"\x66"))
    assert frames.encode(built).hex() == VECTORS["IS2"]


@given(st.binary(max_size=24))
def test_user_bytes_survive_the_status_octets(data: bytes) -> None:
    assert frames.unpack_user(frames.pack_user(data)) == data


@given(st.binary(max_size=40))
def test_any_octets_decode_to_a_frame_or_nothing(data: bytes) -> None:
    frame = frames.decode(data)
    assert frame is None or len(data) == frames.FRAME_BYTES
    frames.unpack_user(data)


@given(st.sampled_from(sorted(VECTORS)), st.integers(0, 239))
def test_a_flipped_bit_fails_the_fcs(name: str, bit: int) -> None:
    data = bytearray.fromhex(VECTORS[name])
    data[bit // 8] ^= 1 << bit % 8
    assert frames.decode(bytes(data)) is None


# --- the link


def transfer(
    up: list[int],
    down: list[int],
    count: int = 12,
    size: int = 300,
    both: bool = False,
    gap_ms: int = 0,
    **more: object,
) -> Outcome:
    """A bulk or paced transfer (in both directions if `both`) through an air that loses the given slots."""
    packets = [
        (i * gap_ms * 1_000_000, side, payload(1000 * side + i, size))
        for i in range(count)
        for side in ((0, 1) if both else (0,))
    ]
    chosen = {
        "model": "rlp",
        "queue_packets": 0,
        "air_up": {"kind": "list", "lost_slots": up},
        "air_down": {"kind": "list", "lost_slots": down},
        **more,
    }
    return run(chosen, packets)


def delivered_by_log(log: list[str], receiver: str) -> list[tuple[int, int]]:
    """Byte ranges that the receiver got in order, told from its log lines alone."""
    ranges: list[tuple[int, int]] = []
    held: dict[int, tuple[int, int]] = {}
    next_ns = 0
    for line in log:
        _, entity, action, kind, *rest = line.split()
        if entity != receiver:
            continue
        fields = dict(word.split("=") for word in rest if "=" in word)
        if action == "rcv" and kind == "I" and "dup" not in fields:
            held[int(fields["ns"])] = (int(fields["off"]), int(fields["len"]))
            while next_ns in held:
                offset, length = held.pop(next_ns)
                ranges.append((offset, offset + length))
                next_ns = (next_ns + 1) % 62
        elif action == "rcv" and fields.get("cr") == "1":
            held.clear()  # the peer polled: what is out of order will come again
        elif action == "evt" and kind == "reset":
            assert int(fields["flush_rx"]) == sum(length for _, length in held.values())
            held.clear()
            next_ns = 0
    return ranges


slots = st.lists(st.integers(0, 500), max_size=200, unique=True)
bursts = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 90)), max_size=4).map(
    lambda spans: sorted({slot for begin, length in spans for slot in range(begin, begin + length)})
)
losses = st.one_of(slots, bursts)
modes = st.fixed_dictionaries(
    {
        "recovery": st.sampled_from(["srej", "rej"]),
        "window": st.sampled_from([61, 30, 7]),
        "delay_ms": st.sampled_from([180.0, 55.0, 10.0]),
        "drain_bps": st.sampled_from([0.0, 7680.0]),
        "payload_bytes": st.sampled_from([24, 20]),
        # Paced data arrives while the sender polls; a bulk transfer fills the window.
        "gap_ms": st.sampled_from([0, 130, 800]),
        "size": st.sampled_from([300, 60]),
        "count": st.sampled_from([12, 40]),
    }
)


@settings(max_examples=150, deadline=None)
@given(losses, losses, modes, st.booleans())
def test_every_byte_arrives_in_order_under_any_loss(up, down, mode, both) -> None:
    outcome = transfer(up, down, both=both, n2=1000, **mode)
    assert "resets" not in outcome.link.truth.counts
    for side in (0, 1):
        assert outcome.received(side) == outcome.sent[side]
    assert "packets_ruined" not in outcome.link.truth.counts


@settings(max_examples=60, deadline=None)
@given(losses, losses, st.integers(1, 3), st.sampled_from(["srej", "rej"]), st.booleans())
def test_with_resets_every_packet_arrives_or_the_truth_says_lost(up, down, n2, recovery, both) -> None:
    outcome = transfer(up, down, both=both, n2=n2, recovery=recovery, on_failure="reset_forever")
    counts = outcome.link.truth.counts
    assert "packets_ruined" not in counts
    for side in (0, 1):
        got = outcome.received(side)
        places = [outcome.sent[side].index(packet) for packet in got]
        assert places == sorted(set(places))
        missing = len(outcome.sent[side]) - len(got)
        assert missing == 0 or "resets" in counts
        # The link is at rest: a packet arrived, or the truth counts it, the very last one, too.
        assert counts.get("packets_lost", [0, 0])[side] == missing


@settings(max_examples=60, deadline=None)
@given(losses, losses, st.integers(1, 4), st.sampled_from(["srej", "rej"]))
def test_the_log_says_exactly_what_was_delivered(up, down, n2, recovery) -> None:
    outcome = transfer(up, down, n2=n2, recovery=recovery)
    ranges = delivered_by_log(outcome.log, "iwf")
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ranges))
    got_bytes = sum(end - begin for begin, end in ranges)
    stream_end = max(int(line.split("off=")[1].split()[0]) for line in outcome.log if " ms snd I " in line)
    if "resets" not in outcome.link.truth.counts:
        assert ranges[0][0] == 0
        assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(ranges))
        assert got_bytes > stream_end
    flushed = sum(
        int(line.split("flush_tx=")[1].split()[0]) for line in outcome.log if "ms evt reset" in line
    )
    sent_end = max(
        int(line.split("off=")[1].split()[0]) + int(line.split("len=")[1].split()[0])
        for line in outcome.log
        if " ms snd I " in line
    )
    # What was sent and did not get through was flushed.
    assert sent_end - got_bytes <= flushed


@settings(max_examples=30, deadline=None)
@given(losses, losses, st.integers(1, 5))
def test_the_log_counts_what_the_truth_counts(up, down, n2) -> None:
    outcome = transfer(up, down, n2=n2, both=True)
    counts = outcome.link.truth.counts
    for side, name in enumerate(("ms", "iwf")):
        mine = [line for line in outcome.log if line.split()[1] == name]
        assert (
            sum(" snd I " in line and " try=" in line for line in mine)
            == counts.get("link_retransmissions", [0, 0])[side]
        )
        resets = [line for line in mine if "evt reset" in line]
        assert len(resets) == counts.get("resets", [0, 0])[side]
        emptied = [line for line in mine if "evt reset" in line or "evt call_dropped" in line]
        flushed = sum(
            int(word.split("=")[1]) for line in emptied for word in line.split() if word[:5] == "flush"
        )
        assert flushed == counts.get("bytes_flushed", [0, 0])[side]
        times = [line.split()[0] for line in mine]
        assert times == sorted(times, key=float)


@settings(max_examples=30, deadline=None)
@given(losses, losses, st.integers(1, 6))
def test_attempts_count_up_and_stop_at_n2(up, down, n2) -> None:
    outcome = transfer(up, down, n2=n2)
    tries: dict[str, int] = defaultdict(int)
    for line in outcome.log:
        if " ms evt reset" in line:
            tries.clear()
        if " ms snd I " in line:
            offset = line.split("off=")[1].split()[0]
            attempt = int(line.split("try=")[1].split()[0]) if "try=" in line else 0
            assert attempt == tries[offset]
            assert attempt <= n2
            tries[offset] += 1


def test_a_frame_lost_n2_times_resets_both_entities() -> None:
    # Slot 10 is lost, and every slot in which its retransmission could go.
    outcome = transfer(up=[10, *range(20, 100)], down=[], n2=2, count=6)
    causes = [event["cause"] for event in outcome.link.truth.events if event["what"] == "reset"]
    assert causes[0] == "n2"
    assert "peer" in causes
    assert any(" ms snd SABM" in line for line in outcome.log)
    assert any(" iwf snd UA" in line for line in outcome.log)


def test_the_call_is_dropped_when_nothing_answers_sabm() -> None:
    outcome = transfer(up=[10, *range(20, 4000)], down=[], n2=2, count=6)
    counts = outcome.link.truth.counts
    assert outcome.link.down_cause == "sabm"
    assert counts["calls_dropped"] == [1, 0]
    # The first, and N2 repetitions.
    assert sum(" ms snd SABM" in line for line in outcome.log) == 3
    assert [line.split(maxsplit=1)[1].split(" flush")[0] for line in outcome.log[-2:]] == [
        "ms evt call_dropped cause=sabm",
        "iwf evt call_dropped cause=peer",
    ]
    assert counts["packets_lost"][0] == 6 - len(outcome.received(0)) > 0


def test_a_network_may_drop_the_call_instead_of_resetting() -> None:
    fading = {"kind": "gilbert_elliott", "p_good_to_bad": 0.01, "p_bad_to_good": 0.01, "loss_bad": 1.0}
    packets = [(i * SECOND // 4, i % 2, payload(i, 200)) for i in range(200)]
    outcome = run({"model": "rlp", "air": fading, "n2": 3, "on_failure": "drop_call"}, packets)
    counts = outcome.link.truth.counts
    assert outcome.link.down_cause == "n2"
    assert "resets" not in counts
    assert not [line for line in outcome.log if "SABM" in line]
    drop = next(event for event in outcome.link.truth.events if event["what"] == "call_dropped")
    assert max(delivery.t_ns for delivery in outcome.deliveries) < drop["t_ns"]
    assert not outcome.link.send(0, payload(0, 50), 600 * SECOND)
    assert outcome.link.next_ns() is None
    for side in (0, 1):
        arrived = len(outcome.received(side))
        assert counts["packets_in"][side] == arrived + outcome.link.truth.counts["packets_lost"][side]


@settings(max_examples=60, deadline=None)
@given(losses, losses, st.integers(1, 3), st.sampled_from(["reset", "drop_call", "reset_forever"]))
def test_packets_in_are_packets_out_or_lost(up, down, n2, on_failure) -> None:
    outcome = transfer(up, down, both=True, n2=n2, on_failure=on_failure)
    counts = outcome.link.truth.counts
    for side in (0, 1):
        lost = counts.get("packets_lost", [0, 0])[side]
        assert counts["packets_in"][side] == counts.get("packets_out", [0, 0])[side] + lost
        assert lost == sum(
            e["what"] == "packet_lost" and e["side"] == side for e in outcome.link.truth.events
        )
    assert (outcome.link.down_cause == "") == ("calls_dropped" not in counts)


def test_data_that_comes_during_a_poll_waits_for_the_answer() -> None:
    # The last frame of the first packet is lost; the second packet comes between the poll and its answer.
    outcome = transfer([12], [], count=3, gap_ms=800)
    assert outcome.received(0) == outcome.sent[0]
    mine = [line.split() for line in outcome.log if " ms " in line]
    poll = next(float(words[0]) for words in mine if words[2] == "snd" and "cr=1" in words)
    final = next(float(words[0]) for words in mine if words[2] == "rcv" and "cr=0" in words)
    assert poll < 0.8 < final
    assert not [words for words in mine if words[2:4] == ["snd", "I"] and poll <= float(words[0]) < final]


def test_a_reset_flushes_what_the_receiver_holds_out_of_order() -> None:
    lost = [10]
    for _ in range(2):
        # Lose the retransmission, too, wherever it goes.
        retransmitted = next(line for line in transfer(lost, [], n2=1).log if " try=1" in line)
        lost.append(round(float(retransmitted.split()[0]) / 0.02))
        outcome = transfer(lost, [], n2=1)
        if "resets" in outcome.link.truth.counts:
            break
    reset = next(event for event in outcome.link.truth.events if event.get("cause") == "peer")
    before = [line for line in outcome.log if " iwf rcv I " in line and "dup" not in line]
    before = [line for line in before if float(line.split()[0]) * SECOND < reset["t_ns"]]
    received = sum(int(line.split("len=")[1].split()[0]) for line in before)
    # Frames 0 to 9 were in order; everything else that had come in went.
    assert reset["flush_rx"] == received - 10 * 24 > 0
    delivered_by_log(outcome.log, "iwf")


def test_a_seed_repeats_a_run() -> None:
    air = {"kind": "gilbert_elliott", "loss_good": 0.02, "p_good_to_bad": 0.01, "p_bad_to_good": 0.02}
    packets = [(i * SECOND // 3, i % 2, payload(i, 200)) for i in range(200)]
    runs = [run({"model": "rlp", "air": air, "raw_frames": True}, packets, seed) for seed in (7, 7, 8)]
    assert runs[0].log == runs[1].log
    assert runs[0].deliveries == runs[1].deliveries
    assert runs[0].link.truth == runs[1].link.truth
    assert runs[0].link.drain_frames() == runs[1].link.drain_frames()
    assert runs[0].log != runs[2].log


def test_rates_are_those_of_the_paper() -> None:
    for drain_bps, wanted in ((0.0, 1200.0), (7680.0, 960.0)):
        outcome = transfer([], [], count=200, size=500, drain_bps=drain_bps)
        first, last = outcome.deliveries[20].t_ns, outcome.deliveries[-1].t_ns
        stream = sum(len(d.packet) + 7 for d in outcome.deliveries[21:])
        # Escapes of random bytes add 2 in 256.
        assert stream * (1 + 2 / 256) * SECOND / (last - first) == pytest.approx(wanted, rel=0.02)


def test_flow_control_gaps_are_those_of_figure_12() -> None:
    outcome = transfer([], [], count=100, size=500, drain_bps=7680)
    signals = [(e["t_ns"], e["what"]) for e in outcome.link.truth.events if e["what"] in ("xoff", "xon")]
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(signals) if (a[1], b[1]) == ("xoff", "xon")]
    assert len(gaps) > 3
    assert all(0.9 * SECOND < gap < 1.4 * SECOND for gap in gaps)
    assert any(" iwf snd RNR " in line for line in outcome.log)
    assert "packets_lost" not in outcome.link.truth.counts


def test_raw_frames_decode_and_match_the_log() -> None:
    outcome = transfer([5, 6], [9], count=4, both=True, raw_frames=True)
    raw = outcome.link.drain_frames()
    for direction in ("snd", "rcv"):
        decoded = [frames.decode(frame.data) for frame in raw if frame.direction == direction]
        assert all(frame is not None for frame in decoded)
        logged = [line for line in outcome.log if f" {direction} I " in line]
        assert sum(frame is not None and frame.kind == "I" for frame in decoded) == len(logged)
    assert outcome.link.drain_frames() == []


def test_an_idle_link_sleeps() -> None:
    outcome = transfer([3], [7], count=2)
    assert outcome.link.next_ns() is None
