"""The facts of a connection, read out of its entry of ``connections`` (docs/json.md)."""

from __future__ import annotations

from multitracer.diagnosis.field.facts import MOSTLY_PACED, Flow, KernelCounts, Object
from multitracer.model.packet_size import INITIAL_SEGMENTS
from multitracer.output.digest import LIMITS
from multitracer.output.losses import loss_bounds, proven_upstream, some_missing, syns_again
from multitracer.output.observed import hosts, is_guess, observed_point
from multitracer.output.rtt import (
    HOST_MS,
    hides_queues,
    outside_recovery,
    queue_at_least,
    shown_queue,
    without_own_queue,
)


def flow(
    entry: Object,
    kernel: KernelCounts | None = None,
    *,
    complete: bool = True,
    lost: int | None = None,
) -> Flow | None:
    """The facts of an entry of ``connections``; None if it carried no data.

    Parameters
    ----------
    entry : mapping
    kernel : KernelCounts, optional
    complete : bool
        Whether the capture dropped no packet.
    lost : int, optional
        Segments lost between both captures.
    """
    if not entry["bytes"]["sent"]:
        return None
    again, bottleneck = entry["retransmissions"], entry.get("bottleneck") or {}
    losses, queue = entry.get("losses") or {}, shown_queue(entry) or {}
    seconds, limits_s = _limits(entry)
    limits, restarts = entry.get("limits") or {}, entry.get("restarts") or {}
    bounds = loss_bounds(entry)
    forward, hidden = entry["data_direction"] == "forward", hides_queues(entry)
    first, second = entry["endpoints"]
    sender, receiver = hosts(entry)

    def part_s(name: str) -> float:
        """Seconds of a part of the limits."""
        return float(limits.get(name) or 0.0) * (seconds or 0.0)

    paced_s = part_s("congestion_window_paced")
    # After the last data nothing was left to pace.
    window_s = part_s("congestion_window") - part_s("congestion_window_after_data")
    stalls = entry.get("standstills") or ()
    return Flow(
        index=entry["index"],
        name=f"{first} {'->' if forward else '<-'} {second}",
        source=entry["source"],
        point=observed_point(entry),
        unique_bytes=entry["bytes"]["unique"],
        data_segments=entry["packets"]["data"],
        seconds=seconds,
        limits_s=limits_s,
        kernel=limits.get("method") == "kernel",
        retransmissions=again["total"],
        unseen_retransmissions=again.get("unseen", 0),
        fast_or_slow_start=again.get("fast_or_slow_start", 0),
        probe_or_timeout=again.get("probe_or_timeout", 0),
        rto=again["timeout"],
        fast=again["fast"],
        slow_start=again["slow_start"],
        tail_loss_probe=again["tail_loss_probe"],
        timeouts=entry["timeouts"]["total"],
        spurious=entry["timeouts"]["spurious"],
        corrupted=entry["damaged_segments"],
        upstream=proven_upstream(entry),
        downstream=losses.get("downstream"),
        rate_bps=bottleneck.get("rate_bps"),
        full_share=bottleneck.get("full_share"),
        rate_exact=bool(bottleneck.get("rate_exact", True)),
        queue_ms=None if queue.get("median") is None else (queue["median"], queue["p95"]),
        base_rtt_ms=bottleneck.get("base_rtt_ms"),
        full_base_ms=bottleneck.get("full_base_rtt_ms"),
        median_ms=(entry.get("rtt") or {}).get("median_ms"),
        base_at_most=queue_at_least(entry),
        opener_away=_opener_away(entry),
        policer=entry.get("policer"),
        queue_at_losses=entry.get("queue_at_losses"),
        rates_bps=tuple(bottleneck["rates_bps"]) if bottleneck.get("rates_bps") else None,
        acks_share=bottleneck.get("acks_share"),
        data_share=bottleneck.get("data_share"),
        shared_with=bottleneck.get("shared_with") or 0,
        zero_windows=entry["zero_windows"],
        closures=_closures(entry.get("window_closures")),
        exchanges=entry.get("exchanges"),
        halves_ms=_halves_ms(entry.get("rtt")),
        goodput_bps=entry.get("goodput_bps"),
        reductions=(entry.get("ecn") or {}).get("cwr", 0),
        window_probes=again["unneeded_probe"] if entry["zero_windows"] else 0,
        max_window_bytes=entry["max_window_bytes"] or 0,
        sender=sender,
        receiver=receiver,
        start_s=entry["start"],
        end_s=entry["end"],
        answered=bool(entry["packets"]["received"]),
        kernel_retransmissions=None if kernel is None else kernel.retransmissions,
        kernel_drops=None if kernel is None else kernel.dropped,
        certain_lost=lost,
        complete=complete,
        link_known="constant_sum" in (bottleneck.get("evidence") or ()),
        guessed=is_guess(entry),
        most_downstream=bounds.downstream,
        in_flight=bounds.in_flight,
        at_reset=bounds.at_reset,
        wire_segments=bounds.sent,
        divided=bounds.divided,
        needless=entry.get("needless_retransmissions") or 0,
        reordered=(entry.get("arrivals") or {}).get("reordered", 0),
        kernel_refused=None if kernel is None else kernel.refused,
        refused=_refused(entry),
        possible=losses.get("possible") or 0,
        some_missing=some_missing(entry),
        writes_bps=limits.get("writes_bps"),
        before_data_s=part_s("loss_recovery_before_data"),
        behind_s=part_s("application_behind"),
        until_data_s=float(limits.get("seconds_before_data") or 0.0),
        nagle_s=part_s("application_nagle"),
        before_loss_s=part_s("congestion_window_before_loss"),
        after_data_s=part_s("congestion_window_after_data"),
        window_in_recovery_s=part_s("receiver_window_in_recovery"),
        window_paced_s=part_s("receiver_window_paced"),
        paced_s=paced_s if paced_s >= MOSTLY_PACED * window_s else 0.0,
        acks_lost=losses.get("acks"),
        stalls_s=tuple(one["length_s"] for one in stalls),
        carried_on_s=sum(one.get("carried_on_s") or 0.0 for one in stalls),
        stalled_before=all(one["upstream"] for one in stalls),
        stalled_by_order=any(one.get("evidence") == "order" for one in stalls),
        silences_s=tuple(one["silence_s"] for one in stalls),
        stalls_passed=sum(one.get("passed") or 0 for one in stalls),
        acks=entry["packets"]["received"],
        without_sack=bool(entry["handshake"] and not entry["sack"]),
        restarts=restarts.get("count", 0),
        idle_times=restarts.get("idle_times", 0),
        restart_bytes=restarts.get("flight_bytes", 0),
        window_scaling=entry.get("window_scaling"),
        timestamps=entry.get("timestamps") is not False,
        syn_timeouts=entry.get("syn_timeouts") or 0,
        syns_again=syns_again(entry),
        unacked_timeouts=entry.get("unacked_timeouts") or 0,
        seldom_timed=outside_recovery(entry),
        queues_before=bool(without_own_queue(entry)),
        silent_s=part_s("loss_recovery_silent") if hidden else 0.0,
        link_hidden=not bottleneck.get("rate_bps") and hidden,
    )


def is_transfer(entry: Object) -> bool:
    """Whether a direction has more data than an initial window holds, and its end does not take turns.

    Parameters
    ----------
    entry : mapping
        Of ``connections`` (docs/json.md), or ``reverse`` of one.
    """
    return entry["exchanges"] is None and int(entry["packets"]["data"]) > INITIAL_SEGMENTS


def _refused(entry: Object) -> int:
    """Segments that the sender's own queue refused, by identifications that no gap explains.

    Away from the sender of a transfer that broke off, gaps were still open: the path lost these.
    """
    broken_off = entry["closed"] == "reset" and entry["bytes"]["acked"] < entry["bytes"]["unique"]
    away = observed_point(entry) != "snd"
    return 0 if broken_off and away else (entry.get("losses") or {}).get("refused") or 0


def _closures(found: Object | None) -> tuple[int, float, float] | None:
    return (found["count"], found["longest_s"], found["total_s"]) if found else None


def _opener_away(entry: Object) -> bool:
    """Whether the end that sent the first packet answers from farther away than a host."""
    halves = _halves_ms(entry.get("rtt"))
    half_ms = halves[entry.get("data_direction") != "reverse"]
    return half_ms is not None and half_ms > HOST_MS


def _halves_ms(rtt: Object | None) -> tuple[float | None, float | None]:
    if rtt is None:
        return None, None
    return rtt["toward_receiver"]["min_ms"], rtt["toward_sender"]["min_ms"]


def _limits(entry: Object) -> tuple[float | None, dict[str, float]]:
    """How long the transfer took, and of it the seconds by limit."""
    limits = entry.get("limits")
    if not limits:
        return None, {}
    seconds = float(limits.get("seconds") or max(entry["end"] - entry["start"], 0.0))
    return seconds, {name: float(limits.get(name) or 0.0) * seconds for name in LIMITS}
