"""One capture alone, as it is and with evidence taken away, held against the truth of its run."""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fieldwork import causes, program
from fieldwork.linkrates import told_of_link
from fieldwork.others import others
from fieldwork.packets import Packet, no_timestamps, rewrite, zero_id
from fieldwork.queues import is_wrong, told_of_queues
from fieldwork.runs import POINTS, Json, Run, ends, key_of, read_run, server_port
from fieldwork.wire import (
    DUPLICATE,
    REORDERED,
    RETRANSMISSION,
    Arrival,
    Halves,
    arrivals,
    halves,
    syns_again,
)

VERDICTS = (RETRANSMISSION, REORDERED, DUPLICATE)
NOT_TOLD = "not told"
_CLOCK_MS = 0.005
"""Captures of one machine agree to some microseconds."""
Change = Callable[[bytearray], None]

VARIANTS: dict[str, tuple[Change, ...]] = {
    "as it is": (),
    "no IDs": (zero_id,),
    "no timestamps": (no_timestamps,),
    "neither": (zero_id, no_timestamps),
    "a part": (),
}
"""What is taken away from a capture: IP IDs, the timestamps option, or its first and its last quarter."""


@dataclass
class Score:
    """One capture of a run in one variant.

    Attributes
    ----------
    matrix : dict
        True verdict to told verdict to number of arrivals.
    invented : int
        Told as a retransmission, and neither out of order nor sent again.
    resent : tuple of int
        Retransmissions at this point: at least, at most.
    told : int or None
        What the program counts.
    causes_true, causes_told : dict
        "timeout", "fast", "probe" (told: "unknown" too); None where the truth is not known.
    losses_true : tuple of int
        Upstream at least, at most, downstream at least, at most.
    needless_true, needless_told : int or None
        Retransmissions here of which an earlier copy reached the other end.
    halves : list
        For each half: smallest delay there and back (ms), the bound told, and whether it holds.
    limits : list
        For each flow: classes that the truth allows, class told.
    kinds : tuple
        Kinds of the main cause that the truth allows, kind told.
    policers : list
        For each flow: rate of the policer that it met (0: none) and what is told of one (None: nothing).
    queues : list
        For the only flow: packets that a full queue dropped on the side of the capture that is judged, and
        those lost otherwise; what is told, and whether it is right.
    link : dict or None
        Of the only flow: the link's rate and utilization, and what is told of them.
    others : dict
        Matrix of tshark, sums of tcptrace (the capture as it is).
    misses : list of str
        One line each.
    """

    run: str
    family: str
    point: str
    variant: str
    ids: bool
    timestamps: bool
    sack: bool
    offload: bool
    matrix: dict[str, dict[str, int]] = field(default_factory=dict)
    invented: int = 0
    resent: tuple[int, int] | None = None
    told: int | None = None
    causes_true: dict[str, int] | None = None
    causes_told: dict[str, int] | None = None
    losses_true: tuple[int, int, int, int] | None = None
    losses_told: tuple[int, int] | None = None
    needless_true: int | None = None
    needless_told: int | None = None
    halves: list[Json] = field(default_factory=list)
    limits: list[Json] = field(default_factory=list)
    kinds: Json | None = None
    policers: list[Json] = field(default_factory=list)
    queues: list[Json] = field(default_factory=list)
    link: Json | None = None
    others: Json = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)

    def to_dict(self) -> Json:
        """As JSON."""
        return asdict(self)


def score_run(
    path: Path,
    points: Sequence[str] = POINTS,
    variants: Sequence[str] = tuple(VARIANTS),
    with_others: bool = True,
) -> list[Score]:
    """The chosen points and variants of a run."""
    run = read_run(path)
    scores = []
    with tempfile.TemporaryDirectory() as folder:
        for point in points:
            for variant in variants:
                if not run.truth["settings"]["tcp"]["timestamps"] and variant in ("no timestamps", "neither"):
                    continue  # it has none to take away
                scores.append(_score(run, point, variant, Path(folder), with_others))
    return scores


def _score(run: Run, point: str, variant: str, folder: Path, with_others: bool) -> Score:
    settings = run.truth["settings"]
    score = Score(
        run=f"{run.path.parent.name}/{run.path.name}",
        family=settings["shows"].removeprefix("everyday: "),
        point=point,
        variant=variant,
        ids=variant not in ("no IDs", "neither"),
        timestamps=bool(settings["tcp"]["timestamps"]) and variant not in ("no timestamps", "neither"),
        sack=bool(settings["tcp"]["sack"]),
        offload=bool(settings["network"]["offload"] or settings["link"].get("gro")),
    )
    file, capture = run.files[point], run.captures[point]
    records, first, true = None, 1, run.arrivals[point]
    if variant == "a part":
        capture, records = _part(capture, len(file.records))
        first, true = records[0], arrivals(capture, run.found)
    target = folder / f"{point}.pcap"
    target.write_bytes(rewrite(file, *VARIANTS[variant], records=records))
    rows = program.arrivals(target)
    _verdicts(score, run.resent[point], true, None if rows is None else _by_record(rows, capture, first))
    if variant == "a part":
        return score
    found = program.analyze(target)
    if found is None:
        score.misses.append("analyze failed")
        return score
    connections = found["connections"]
    _totals(score, run, connections)
    _losses(score, run, connections)
    _needless(score, run, connections)
    _halves(score, run, connections)
    _limits(score, run, found)
    _policers(score, run, connections)
    score.queues = told_of_queues(run.truth, point, connections)
    score.link = told_of_link(run.truth, connections, found.get("utilization"))
    score.misses += [f"queue at losses: {told}" for told in score.queues if is_wrong(told)]
    if with_others and variant == "as it is":
        cache = run.path.parent / ".others" / f"{run.path.name}.{point}.json"
        told = others(target, cache)
        if told["tshark"] is not None:
            matrix: dict[str, Counter[str]] = defaultdict(Counter)
            known = {arrival.record: arrival.verdict for arrival in true}
            for record, verdict in known.items():
                matrix[verdict][told["tshark"].get(str(record), NOT_TOLD)] += 1
            score.others["tshark"] = {true: dict(row) for true, row in matrix.items()}
            in_order = run.resent[point]
            score.others["tshark_invented"] = sum(
                verdict == RETRANSMISSION and int(record) not in known and int(record) not in in_order
                for record, verdict in told["tshark"].items()
            )
        score.others["tcptrace"] = told["tcptrace"]
    return score


def _part(capture: Sequence[Packet], count: int) -> tuple[list[Packet], range]:
    """The middle half of the time: packets, and their records, which are numbered from 1 again by readers."""
    begin, end = capture[0].t_ns, capture[-1].t_ns
    kept = [p for p in capture if begin + (end - begin) // 4 <= p.t_ns < end - (end - begin) // 4]
    if not kept:
        kept = list(capture)
    return kept, range(kept[0].record, kept[-1].record + 1)


def _by_record(
    rows: Sequence[Mapping[str, str]], capture: Sequence[Packet], first: int
) -> dict[int, Mapping[str, str]]:
    """The program's rows by record as the whole file numbers them.

    Whether it counts from 0 or from 1 shows in the lengths.
    """
    lengths = {packet.record: packet.length for packet in capture}

    def fits(offset: int) -> int:
        return sum(lengths.get(int(row["record"]) + offset) == int(row["length"]) for row in rows)

    offset = max((first - 1, first), key=fits)
    return {int(row["record"]) + offset: row for row in rows}


def _verdicts(
    score: Score,
    sent_again: set[int],
    true: Sequence[Arrival],
    told: Mapping[int, Mapping[str, str]] | None,
) -> None:
    matrix: dict[str, Counter[str]] = defaultdict(Counter)
    for arrival in true:
        row = None if told is None else told.get(arrival.record)
        verdict = NOT_TOLD if row is None else row["verdict"]
        matrix[arrival.verdict][verdict] += 1
        if told is not None and verdict != arrival.verdict:
            why = f" ({row['evidence']})" if row is not None else ""
            score.misses.append(f"record {arrival.record}: {arrival.verdict} told as {verdict}{why}")
    score.matrix = {verdict: dict(row) for verdict, row in matrix.items()}
    if told is None:
        return
    late = {arrival.record for arrival in true}
    for record, row in told.items():
        resent = row["verdict"] == RETRANSMISSION and int(row["length"]) > 0
        if resent and record not in sent_again and record not in late:
            score.invented += 1
            score.misses.append(f"record {record}: told as retransmission, was sent once and in order")


def _totals(score: Score, run: Run, connections: Sequence[Json]) -> None:
    both = ("retransmissions", "reverse_retransmissions")
    told = [connection[name] for connection in connections for name in both]
    kernels = (run.truth["kernel"], run.truth["kernel_rcv"])

    def counted(name: str) -> int:
        return sum(kernel.get(name, 0) for kernel in kernels)

    syns = syns_again(run.captures, score.point)
    all_sent = counted("TcpRetransSegs") - counted("TcpExtTCPRetransFail")
    of_data = all_sent - counted("TcpExtTCPSynRetrans")
    wire = sum(direction.retransmitted(ends(run, direction)[0]) for direction in run.found.values())
    here = sum(direction.retransmitted(score.point) for direction in run.found.values())
    # Tail segments that the sender's queue dropped: sent again in order, known to the kernel alone.
    unknown = max(0, of_data - wire)
    score.resent = (here + syns[0], here + syns[1] + unknown)
    score.told = sum(part["total"] for part in told)
    low, high = score.resent
    if not low <= score.told <= high:
        score.misses.append(
            f"retransmissions {score.told}, were {low}" + (f" to {high}" if high > low else "")
        )
    if counted("TcpExtTCPRetransFail") == 0 and here == wire and syns[0] == syns[1]:
        slow, fast = counted("TcpExtTCPSlowStartRetrans"), counted("TcpExtTCPFastRetrans")
        # Timers of an answered SYN are none of TCPTimeouts; all flows of a campaign connect from its sender.
        timeout = counted("TcpExtTCPTimeouts") + slow + run.truth["kernel_rcv"].get("TcpExtTCPSynRetrans", 0)
        score.causes_true = {"timeout": timeout, "fast": fast, "probe": max(0, all_sent - timeout - fast)}
        score.causes_told = {
            name: sum(part[key] for part in told for key in keys)
            for name, keys in (
                ("timeout", ("timeout", "slow_start", "handshake")),
                ("fast", ("fast",)),
                ("probe", ("tail_loss_probe", "unneeded_probe")),
                ("unknown", ("unknown",)),
            )
        }


def _losses(score: Score, run: Run, connections: Sequence[Json]) -> None:
    before = after = missing = 0
    for direction in run.found.values():
        if not direction.with_data:
            continue
        start, end = ends(run, direction)
        before += direction.lost(start, score.point)
        after += direction.lost(score.point, end)
        missing += max(0, direction.unseen.get(score.point, 0))
    # IDs that are missing stand for packets without data as well, and for what the sender's queue refused.
    score.losses_true = (before, max(before, missing), after, after)
    if connections and all("losses" in connection for connection in connections):
        told = [connection["losses"] for connection in connections]
        if any(part is None or part.get("upstream") is None for part in told):
            return
        score.losses_told = (sum(p["upstream"] for p in told), sum(p["downstream"] or 0 for p in told))
        up, down = score.losses_told
        if score.point == "rcv" and down <= _discarded(run):
            score.losses_true = (*score.losses_true[:2], down, down)
        if not before <= up <= score.losses_true[1] or (down != after and score.point != "rcv"):
            score.misses.append(
                f"losses told {up} and {down}, were {before} (at most {score.losses_true[1]}) and {after}"
            )


def _discarded(run: Run) -> int:
    """Segments that arrived with an old timestamp, which the kernels discarded (PAWS, RFC 7323 section 5)."""
    return sum(run.truth[kernel].get("TcpExtPAWSEstab", 0) for kernel in ("kernel", "kernel_rcv"))


def _needless(score: Score, run: Run, connections: Sequence[Json]) -> None:
    score.needless_true = score.needless_told = 0
    for connection in connections:
        key = key_of(connection, run)
        if key is not None:
            direction = run.found[key]
            score.needless_true += direction.needless(score.point, ends(run, direction)[1])
            score.needless_told += connection["needless_retransmissions"]
    if score.needless_true - _discarded(run) <= score.needless_told < score.needless_true:
        score.needless_true = score.needless_told
    if score.needless_told != score.needless_true:
        score.misses.append(f"needless retransmissions {score.needless_told}, were {score.needless_true}")


def _halves(score: Score, run: Run, connections: Sequence[Json]) -> None:
    """The told halves against the delay that the other captures show."""
    for connection in connections:
        told = connection.get("rtt")
        if not isinstance(told, dict):
            continue
        key = key_of(connection, run)
        if key is None:
            continue
        data_from_snd = ends(run, run.found[key])[0] == "snd"
        for name, end in (("toward_receiver", "rcv"), ("toward_sender", "snd")):
            half = told.get(name)
            real = end if data_from_snd else {"rcv": "snd", "snd": "rcv"}[end]
            bound = half.get("bound_ms") if isinstance(half, dict) else None
            if not isinstance(bound, list) or len(bound) != 2:
                continue
            # At the end itself the path has no part left.
            true: Halves | None = Halves(0, 0)
            if real != score.point:
                true = halves(run.captures, key, score.point, real, data_from_snd)
            if (
                real == "snd"
                and run.truth["settings"]["network"]["qdisc"]["at"] == "sender"
                and run.truth["qdisc"]
            ):
                true = None  # the host's own queue is in front of its capture: what it adds is in none
            if true is None:
                continue
            low, high = bound
            inside = low - _CLOCK_MS <= true.smallest / 1e6 <= high + _CLOCK_MS
            score.halves.append(
                {"half": name, "true_ms": true.smallest / 1e6, "bound_ms": bound, "inside": inside}
            )
            if not inside:
                score.misses.append(f"half {name} {bound} ms, was {true.smallest / 1e6:.3f} ms at its best")


def _limits(score: Score, run: Run, found: Json) -> None:
    settings = run.truth["settings"]
    longest, longest_s = set[str](), 0.0
    by_port = {server_port(c, run): c for c in found["connections"]}
    first_ns, last_ns = 0, 0
    for flow, own in zip(run.truth["flows"], settings["flows"], strict=True):
        key = next((key for key in run.found if key[1][1] == flow["port"]), None)
        if key is None:
            continue
        seconds = causes.data_seconds(run.captures["snd"], run.found[key])
        times = [p.t_ns for p in run.captures["snd"] if p.key == key and p.length > 0]
        if times:
            first_ns = min(first_ns or times[0], times[0])
            last_ns = max(last_ns, times[0] + round(seconds * 1e9))
        kernel = causes.shares(flow, seconds)
        allowed = causes.dominating(own, kernel, seconds)
        if seconds > longest_s:
            longest, longest_s = allowed, seconds
        told = by_port.get(flow["port"], {}).get("limits")
        if not isinstance(told, dict):
            continue
        sums: Counter[str] = Counter()
        for name, share in told.items():
            # The kernel measures from the first data on, without the handshake.
            if name in causes.CLASS_OF or name == "unknown":
                sums[causes.CLASS_OF.get(name, name)] += share
        largest = max(sums, key=lambda name: sums[name]) if sums else NOT_TOLD
        score.limits.append({"allowed": sorted(allowed), "told": largest})
        if allowed and largest not in allowed:
            rounded = {name: round(share, 2) for name, share in kernel.items()}
            score.misses.append(f"limit {largest}, was {' or '.join(sorted(allowed))} {rounded}")
    _main_cause(score, run, found, longest, (last_ns - first_ns) / 1e9)


def _policers(score: Score, run: Run, connections: Sequence[Json]) -> None:
    """What is told of a policer, and the one that each connection met."""
    settings = run.truth["settings"]
    way = "up" if settings["network"]["sender"] == "ms" else "down"
    met = max((hop[way].get("police_bps", 0.0) for hop in settings["link"].get("hop", ())), default=0.0)
    for connection in connections:
        told = connection.get("policer")
        score.policers.append({"met_bps": met, "told": told})
        if bool(told) != bool(met) or (told and not right_policer(met, told)):
            score.misses.append(f"policer of {met / 1e6:g} Mbit/s, told {told}")


def right_policer(met_bps: float, told: Json) -> bool:
    """Whether what is told of a policer's rate is so, within 5%."""
    rate_bps: float = told["rate_bps"]
    return rate_bps <= 1.05 * met_bps and (told["rate_at_least"] or rate_bps >= 0.95 * met_bps)


def _main_cause(score: Score, run: Run, found: Json, limits: set[str], seconds: float) -> None:
    settings = run.truth["settings"]
    rate_bps = causes.bottleneck_bps(settings)
    sent = sum(len(direction.sent) for direction in run.found.values())
    resent = sum(direction.retransmitted("snd") for direction in run.found.values())
    unit = max((direction.unit for direction in run.found.values()), default=1)
    wire_bits = run.truth["received"] * 8 * (unit + 54) / unit
    full = wire_bits / seconds / rate_bps if rate_bps and seconds > 0 else 0.0
    local = settings["network"]["qdisc"]["at"] == "sender" and bool((run.truth["qdisc"] or {}).get("drops"))
    with gzip.open(run.path / "ss.log.gz", "rt") as log:
        rtts_ms = causes.kernel_rtts_ms(log.read())
    still = causes.paused_s(settings, seconds)
    lost = any(direction.lost(*ends(run, direction)) for direction in run.found.values())
    allowed = (
        causes.kinds(run.truth, limits, full, resent / max(1, sent), local, rtts_ms, still / seconds, lost)
        if limits and seconds > 0
        else set()
    )
    told = [item["kind"] for item in found.get("diagnosis") or [] if item.get("kind") != "utilization"]
    kind = told[0] if told else NOT_TOLD
    score.kinds = {"allowed": sorted(allowed), "told": kind, "full": round(full, 3), "local": local}
    if allowed and kind not in allowed:
        score.misses.append(f"main cause {kind}, was {' or '.join(sorted(allowed))}")
