from __future__ import annotations

from typing import Any

from support_measurement import LinkLog, ack, data, measurement

from multitracer.analyzers import local_drops
from multitracer.layers.tcp.losses import losses


def rows(lost: set[int], again_ms: float | None = 900) -> list[dict[str, Any]]:
    """Ten segments of 60 bytes; the numbers in `lost` never arrive, and are sent again."""
    found = [ack(0, 1, ip_id=500), ack(1, 1, source=1, ip_id=500)]
    for number in range(10):
        sent = data(100 + 10 * number, 1 + 60 * number, ip_id=number)
        found.append(sent)
        if number not in lost:
            found.append(sent | {"source": 1, "t_ms": sent["t_ms"] + 300})
    if again_ms is not None:
        for number in lost:
            again = data(again_ms, 1 + 60 * number, ip_id=100 + number, cause=2)
            found += [again, again | {"source": 1, "t_ms": again_ms + 300}]
    return [*found, ack(1500, 601)]


def log() -> LinkLog:
    link = LinkLog()
    link.send(100, 600)
    return link


def test_the_queues_lines_are_matched_to_the_segments_that_are_missing() -> None:
    link = log().line(121, "ms evt drop queue=if len=112").line(171, "ms evt drop queue=if len=112")
    found = local_drops.run(measurement(rows({2, 7}), link.text()), {}).summary
    assert (found["count"], found["matched"], found["evidence"]) == (2, 2, ["queue_log"])
    assert [drop["seq"] for drop in found["drops"]] == [121, 421]
    assert found["recovery"] == {"fast": 2}


def test_a_line_that_fits_no_segment_is_kept_without_one() -> None:
    link = log().line(121, "ms evt drop queue=if len=999")
    only = local_drops.run(measurement(rows({2}), link.text()), {}).summary
    assert (only["count"], only["matched"]) == (1, 0)
    assert only["drops"][0]["seq"] is None


def test_by_the_captures_alone() -> None:
    found = local_drops.run(measurement(rows({4}), log().text()), {}).summary
    assert [(drop["seq"], drop["evidence"]) for drop in found["drops"]] == [(241, "captures")]


def test_what_a_reset_may_have_flushed_is_not_a_local_drop() -> None:
    # Neighbours of the missing segment arrive at 430 and 450 ms: only the first reset lies between.
    for at_ms, count in ((440, 0), (600, 1)):
        link = log().line(at_ms, "ms evt reset cause=n2 flush_tx=9").line(at_ms + 1, "ms rcv UA")
        assert local_drops.run(measurement(rows({4}), link.text()), {}).summary["count"] == count


def test_what_the_link_gave_up_is_not_a_local_drop() -> None:
    for at_ms, count in ((440, 0), (1000, 1)):
        link = log().line(at_ms, "ms evt discard len=100")
        assert local_drops.run(measurement(rows({4}), link.text()), {}).summary["count"] == count


def test_what_is_still_on_its_way_at_the_end_is_not_a_drop() -> None:
    assert local_drops.run(measurement(rows({9}, again_ms=None), log().text()), {}).summary["count"] == 0


def test_what_a_receiver_without_room_refused_is_not_a_local_drop() -> None:
    """A receiver short of memory discards data out of order and gives no answer (Linux: TCPOFODrop)."""
    answers = [ack(401 + 10 * number, 1 + 60 * min(number + 1, 4), source=1) for number in range(7)]
    refused = [data(900, 1 + 60 * number, ip_id=100 + number, cause=2) for number in (7, 8)]
    came = [one | {"source": 1, "t_ms": 1200 + 10 * at} for at, one in enumerate(refused)]
    seen = [*rows({4}), *answers, *refused, *came, ack(1250, 601, source=1)]
    m = measurement(seen, log().text())
    known = losses(m, m.connections[0])
    assert known is not None
    found = zip(known.segments["seq"].tolist(), known.seen.tolist(), strict=True)
    assert list(found) == [(241, False), (421, True), (481, True)]
    assert [drop["seq"] for drop in local_drops.run(m, {}).summary["drops"]] == [241]
    link = log().line(171, "ms evt drop queue=if len=112")
    m = measurement(seen, link.text())
    assert [drop["seq"] for drop in local_drops.run(m, {}).summary["drops"]] == [241]


def test_needs_a_link_log() -> None:
    assert local_drops.run(measurement(rows({4})), {}).inconclusive == "needs a link log"


def test_nothing_at_all_arrived() -> None:
    """A link that gave a packet up, and a receiver's capture without a segment of the data."""
    link = LinkLog().line(0, "ms snd I ns=0 off=0 len=24").line(15, "ms evt discard")
    sent = [data(10 * n, 1 + 60 * n) for n in range(3)]
    m = measurement([*sent, ack(400, 1, source=1)], link.text())
    m.connections[0].summaries.update({0: {}, 1: {}})
    assert local_drops.run(m, {}).summary.get("drops", []) == []
