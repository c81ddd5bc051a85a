"""What a campaign has shown, as tables of text or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fieldwork import linkrates
from fieldwork.queues import is_wrong
from fieldwork.scoring import right_policer
from fieldwork.wire import DUPLICATE, REORDERED, RETRANSMISSION

Json = dict[str, Any]
NOT_TOLD = "not told"
_GROUP = ("point", "IP IDs", "timestamps", "captures")
_SUMS = ("tshark: told, were none", "tcptrace: retransmitted", "tcptrace: out of order")
_LOSSES = ("lossy sides right", "losses before: right", "too many", "behind: right", "too many")
_NEEDLESS = ("needless: right", "too many")
_VERDICTS = (RETRANSMISSION, REORDERED, DUPLICATE)


def tables(scores: Sequence[Json], markdown: bool = False) -> str:
    """All tables, each behind its title."""
    parts = [
        ("Verdicts on single arrivals: right of so many", _verdicts(scores)),
        ("The same with the capture's first and last quarter cut off", _parts(scores)),
        ("The same of tshark, and sums of tcptrace, as captured", _others(scores)),
        ("Retransmissions counted, their cause, losses before and behind the point", _totals(scores)),
        ("Half round trips inside their bounds; dominating limit; kind of the main cause", _causes(scores)),
        ("Main cause by what the run was", _families(scores)),
        ("Policers, as captured", _policers(scores)),
        ("Whether a full queue dropped what was lost, as captured", _queues(scores)),
        ("Rate and utilization of the link of a single transfer, as captured", _links(scores)),
        *[("The everyday matrix, each capture", rows) for rows in [_each(scores)] if rows],
    ]
    return "\n".join(f"{_title(title, markdown)}\n\n{_drawn(rows, markdown)}\n" for title, rows in parts)


def _verdicts(scores: Sequence[Json]) -> list[list[str]]:
    rows = [["point", "IP IDs", "timestamps", "SACK", "captures", *_VERDICTS, "undecided", "told, were none"]]
    whole = [score for score in scores if score["variant"] != "a part"]
    for point in ("snd", "mid", "rcv"):
        for ids in (True, False):
            for stamps in (True, False):
                for sack in (True, False):
                    chosen = [
                        s
                        for s in whole
                        if (s["point"], s["ids"], s["timestamps"], s["sack"]) == (point, ids, stamps, sack)
                    ]
                    if chosen:
                        rows.append([point, _yes(ids), _yes(stamps), _yes(sack), *_matrix(chosen)])
    return rows


def _parts(scores: Sequence[Json]) -> list[list[str]]:
    rows = [["point", "timestamps", "captures", *_VERDICTS, "undecided", "told, were none"]]
    for point in ("snd", "mid", "rcv"):
        for stamps in (True, False):
            chosen = [
                s for s in scores if (s["variant"], s["point"], s["timestamps"]) == ("a part", point, stamps)
            ]
            if chosen:
                rows.append([point, _yes(stamps), *_matrix(chosen)])
    return rows


def _matrix(
    chosen: Sequence[Json], of: Callable[[Json], Json] = lambda score: dict(score["matrix"])
) -> list[str]:
    """Captures, share right of each verdict, share undecided, retransmissions that are none."""
    right, total, undecided, wrong, told = Counter[str](), Counter[str](), 0, 0, 0
    for score in chosen:
        for true, row in of(score).items():
            for verdict, count in row.items():
                total[true] += count
                right[true] += count * (verdict == true)
                undecided += count * (verdict == "undecided")
                told += count * (verdict != NOT_TOLD)
                wrong += count * (verdict == RETRANSMISSION != true)
        wrong += score["invented"]
    if not told and sum(total.values()):
        return [str(len(chosen)), *(f"{NOT_TOLD} of {total[name]:,}" for name in _VERDICTS), "", ""]
    return [
        str(len(chosen)),
        *(_share(right[name], total[name]) for name in _VERDICTS),
        str(undecided),
        str(wrong),
    ]


def _others(scores: Sequence[Json]) -> list[list[str]]:
    rows = [["point", "captures", *(f"tshark: {name}" for name in _VERDICTS), *_SUMS]]
    for point in ("snd", "mid", "rcv"):
        chosen = [s for s in scores if s["point"] == point and s["others"].get("tshark") is not None]
        if not chosen:
            continue
        changed = [{**s, "invented": s["others"]["tshark_invented"]} for s in chosen]
        count, *verdicts, _undecided, wrong = _matrix(changed, lambda s: dict(s["others"]["tshark"]))
        resent = sum(s["resent"][0] for s in chosen)
        sums = [s["others"]["tcptrace"] for s in chosen if s["others"].get("tcptrace")]
        late = sum(
            sum(row.values()) for s in chosen for true, row in s["matrix"].items() if true == REORDERED
        )
        rows.append(
            [
                point,
                count,
                *verdicts,
                wrong,
                f"{sum(part[RETRANSMISSION] for part in sums):,} (were {resent:,})",
                f"{sum(part['out_of_order'] for part in sums):,} (were reordered {late:,})",
            ]
        )
    return rows


def _totals(scores: Sequence[Json]) -> list[list[str]]:
    rows = [[*_GROUP, "number right", "told", "were", "timeout or fast right", *_LOSSES, *_NEEDLESS]]
    for point, ids, stamps, chosen in _grouped(scores):
        counted = [s for s in chosen if s["told"] is not None]
        exact = sum(s["resent"][0] <= s["told"] <= s["resent"][1] for s in counted)
        rows.append(
            [
                point,
                _yes(ids),
                _yes(stamps),
                str(len(chosen)),
                _share(exact, len(counted)),
                f"{sum(s['told'] for s in counted):,}",
                f"{sum(s['resent'][0] for s in counted):,}",
                _cause(chosen),
                *_losses(chosen),
                *_needless(chosen),
            ]
        )
    return rows


def _cause(chosen: Sequence[Json]) -> str:
    right = total = 0
    for score in chosen:
        true, told = score["causes_true"], score["causes_told"]
        if true is None:
            continue
        for name in ("timeout", "fast"):
            total += true[name]
            right += min(true[name], told[name])
    return _share(right, total)


def _losses(chosen: Sequence[Json]) -> list[str]:
    told = [s for s in chosen if s["losses_told"] is not None]
    if not told:
        return [NOT_TOLD, NOT_TOLD, "", NOT_TOLD, ""]
    sides = before = before_all = before_wrong = after = after_all = after_wrong = 0
    for score in told:
        (low, high, down, _), (up_told, down_told) = score["losses_true"], score["losses_told"]
        sides += ((low > 0) <= (up_told > 0) <= (high > 0)) and (down_told > 0) == (down > 0)
        before_all += low
        before += min(low, up_told)
        before_wrong += max(0, up_told - high)
        after_all += down
        after += min(down, down_told)
        after_wrong += max(0, down_told - down)
    return [
        _share(sides, len(told)),
        _share(before, before_all),
        str(before_wrong),
        _share(after, after_all),
        str(after_wrong),
    ]


def _needless(chosen: Sequence[Json]) -> list[str]:
    right = total = wrong = 0
    for score in chosen:
        true, told = score.get("needless_true"), score.get("needless_told")
        if true is not None and told is not None:
            total += true
            right += min(true, told)
            wrong += max(0, told - true)
    return [_share(right, total), str(wrong)]


def _causes(scores: Sequence[Json]) -> list[list[str]]:
    rows = [[*_GROUP, "halves", "limit", "main cause", "well", "unknown"]]
    for point, ids, stamps, chosen in _grouped(scores):
        halves = [half for score in chosen for half in score["halves"] if half.get("inside") is not None]
        limits = [limit for score in chosen for limit in score["limits"] if limit["allowed"]]
        judged = [s["kinds"] for s in chosen if s["kinds"] and s["kinds"]["allowed"]]
        rows.append(
            [
                point,
                _yes(ids),
                _yes(stamps),
                str(len(chosen)),
                _share(sum(half["inside"] for half in halves), len(halves)) if halves else NOT_TOLD,
                _share(sum(limit["told"] in limit["allowed"] for limit in limits), len(limits))
                if limits
                else NOT_TOLD,
                _share(sum(kind["told"] in kind["allowed"] for kind in judged), len(judged)),
                str(sum(kind["told"] == "well" not in kind["allowed"] for kind in judged)),
                str(sum(kind["told"] in ("unknown", NOT_TOLD) for kind in judged)),
            ]
        )
    return rows


def _families(scores: Sequence[Json]) -> list[list[str]]:
    rows = [["run", "captures", "right", "told"]]
    whole = [s for s in scores if s["variant"] == "as it is" and s["kinds"] and s["kinds"]["allowed"]]
    for family in sorted({s["family"] for s in whole}):
        chosen = [s["kinds"] for s in whole if s["family"] == family]
        told = Counter(kind["told"] for kind in chosen)
        rows.append(
            [
                family,
                str(len(chosen)),
                _share(sum(kind["told"] in kind["allowed"] for kind in chosen), len(chosen)),
                ", ".join(f"{name} {count}" for name, count in told.most_common()),
            ]
        )
    return rows


def _policers(scores: Sequence[Json]) -> list[list[str]]:
    rows = [["point", "timestamps", "policed", "found", "rate right", "others", "called policed"]]
    whole = [s for s in scores if s["variant"] == "as it is"]
    for point in ("snd", "mid", "rcv"):
        for stamps in (True, False):
            chosen = [
                one
                for s in whole
                if (s["point"], s["timestamps"]) == (point, stamps)
                for one in s["policers"]
            ]
            met = [one for one in chosen if one["met_bps"]]
            told = [one for one in met if one["told"]]
            others = [one for one in chosen if not one["met_bps"]]
            right = sum(right_policer(one["met_bps"], one["told"]) for one in told)
            called = sum(one["told"] is not None for one in others)
            cells = [str(len(met)), _share(len(told), len(met)), _share(right, len(told)), str(len(others))]
            rows.append([point, _yes(stamps), *cells, str(called)])
    return rows


def _queues(scores: Sequence[Json]) -> list[list[str]]:
    rows = [
        ["point", "transfers", "mostly by a full queue", "told so", "mostly otherwise", "told so", "wrong"]
    ]
    whole = [s for s in scores if s["variant"] == "as it is"]
    for point in ("snd", "mid", "rcv"):
        mine = [one for s in whole if s["point"] == point for one in s["queues"]]
        by_queue = [one for one in mine if one["full"] > one["others"]]
        found = sum(one["dropped"] is True and one["right"] for one in mine)
        none = sum(one["dropped"] is False and one["right"] for one in mine)
        wrong = sum(map(is_wrong, mine))
        numbers = (len(mine), len(by_queue), found, len(mine) - len(by_queue), none, wrong)
        rows.append([point, *map(str, numbers)])
    return rows


def _links(scores: Sequence[Json]) -> list[list[str]]:
    return linkrates.rows([score for score in scores if score["variant"] == "as it is"])


def _each(scores: Sequence[Json]) -> list[list[str]]:
    """A line for each run of the matrix, with all its points, and one with the sums; empty without any."""
    chosen = [s for s in scores if s["run"].rpartition("/")[2].startswith("matrix-")]
    chosen = [s for s in chosen if s["variant"] == "as it is"]
    rows = []
    sums: Counter[str] = Counter()
    for run in dict.fromkeys(score["run"] for score in chosen):
        mine = {score["point"]: score for score in chosen if score["run"] == run}
        cells = []
        for score in mine.values():
            low, high = score["resent"]
            cause = score["kinds"]["told"] in score["kinds"]["allowed"]
            count = low <= score["told"] <= high
            true = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            sums["captures"] += 1
            sums["right"] += cause and count
            told = f"{score['kinds']['told']}{'' if cause else ' (wrong)'}"
            cells.append(f"{told}, {score['told']:,}" + ("" if count else f" (of {true})"))
        rows.append([next(iter(mine.values()))["family"].removeprefix("matrix: "), *cells])
    if not rows:
        return []
    rows.append([f"right: {sums['right']} of {sums['captures']}", "", "", ""])
    return [
        ["transfer", *(f"{point}: main cause, retransmissions" for point in ("snd", "mid", "rcv"))],
        *rows,
    ]


def _grouped(scores: Sequence[Json]) -> Iterable[tuple[str, bool, bool, list[Json]]]:
    whole = [score for score in scores if score["variant"] != "a part"]
    for point in ("snd", "mid", "rcv"):
        for ids in (True, False):
            for stamps in (True, False):
                chosen = [s for s in whole if (s["point"], s["ids"], s["timestamps"]) == (point, ids, stamps)]
                if chosen:
                    yield point, ids, stamps, chosen


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} of {whole:,}" if whole else "none"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _title(title: str, markdown: bool) -> str:
    return f"### {title}" if markdown else title


def _drawn(rows: Sequence[Sequence[str]], markdown: bool) -> str:
    if markdown:
        head, *body = ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([head, "|" + "---|" * len(rows[0]), *body])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )
