"""Many connections: totals, and the worst and largest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from multitracer.cli import loss_words, words
from multitracer.cli.lines import heading, line, table
from multitracer.cli.terminal import Console
from multitracer.diagnosis.field.entries import flow
from multitracer.model.derived import Derived
from multitracer.model.quantities import duration
from multitracer.output.digest import digest, dominating
from multitracer.output.losses import has_all_sent, possibly_again
from multitracer.output.rtt import restrictions

Object = Mapping[str, Any]

GAP = 2  # blanks between columns
LEAST = 10
"""Letters of a connection's addresses, however narrow the terminal."""

ENDS = {
    "fin": "closed",
    "reset": "reset",
    "open": "open at the end",
    "unanswered": "attempts never answered",
    "refused": "attempts refused",
}


def connections(console: Console, found: Sequence[Object], most: int) -> None:
    """Print a digest of many connections.

    Parameters
    ----------
    console : Console
    found : sequence of Object
        Entries of `connections` in docs/json.md.
    most : int
        How many of the worst and of the largest are listed.
    """
    summary = digest(found, most)
    heading(console, words.count(len(found), "connection"))
    # The entries of a large capture are made one by one: its point is that of any, the rest stays open.
    large = isinstance(found, Derived)
    all_sent = not large and all(has_all_sent(one) and not possibly_again(one) for one in found)
    points = {one["point"] for one in (found[:1] if large else found)}
    line(console, "Data", words.data(summary["bytes"], all_sent=all_sent))
    repeating = f", on {words.count(summary['repeating'], 'connection')}" if summary["repeating"] else ""
    # A capture away from the sender lacks what was lost before it; all lack what the sender's queue refused.
    seen = points == {"snd"}
    possible = summary["possible"] > 0
    missing = possible or not seen
    least = "at least " if missing and summary["retransmissions"]["total"] else ""
    line(
        console,
        "Retransmitted",
        f"{least}{loss_words.causes(summary['retransmissions'], seen=seen)}{repeating}"
        f"{loss_words.unseen_words(summary['retransmissions'])}",
    )
    timeouts = loss_words.timeouts_from(
        summary["timeouts"], summary["retransmissions"], points, missing=missing, possible=possible
    )
    line(console, "Timeouts", timeouts)
    if held := _held(summary["limits"]):
        line(console, "Limited by", held)
    ends = [f"{number:,} {ENDS[word]}" for word, number in summary["closed"].items() if number]
    if summary["without_handshake"]:
        ends.append(f"{summary['without_handshake']:,} without their handshake in the capture")
    line(console, "Ends", ", ".join(ends))
    if summary["worst"]:
        _table(console, found, summary["worst"], "Most timeouts and retransmissions", summary["repeating"])
    sending = [place for place in summary["largest"] if place not in summary["worst"]]
    if sending:
        others = ", of the others" if summary["worst"] else ""
        _table(console, found, sending, f"Most data{others}", len(found) - len(summary["worst"]))
    console.print(
        Text("--conn N shows one connection in full (tcp.stream eq N in Wireshark); --json has all", "dim")
    )


def _held(limits: Mapping[str, Mapping[str, int]]) -> str:
    """Connections by what limited them for longest, those with most data first."""
    found = [(one["bytes"], one["connections"], name) for name, one in limits.items() if one["connections"]]
    whole = sum(bytes_ for bytes_, *_ in found) or 1
    return ", ".join(
        f"{name.replace('_', ' ')} {number:,} ({bytes_ / whole:.0%} of the data)"
        for bytes_, number, name in sorted(found, reverse=True)
    )


def _table(console: Console, found: Sequence[Object], places: Sequence[int], title: str, of: int) -> None:
    """One line a connection: columns of zeros only are left out, long addresses cut if there is no room."""
    repeating = any(_again(found[place]) for place in places)
    timeouts = any(found[place]["timeouts"]["total"] for place in places)
    counts = [*(["#retr."] if repeating else []), *(["#RTOs"] if timeouts else [])]
    rows = []
    for place in places:
        one = found[place]
        row = (
            f"{one['index']:,}",
            words.ends(one),
            words.size(one["bytes"]["unique"]),
            *([f"{_again(one):,}"] if repeating else []),
            *([f"{one['timeouts']['total']:,}"] if timeouts else []),
            words.rtt_cell(one),
            "" if one["goodput_bps"] is None else words.rate(one["goodput_bps"]).partition(" (")[0],
            dominating(one).replace("_", " ") if one["bytes"]["sent"] else "",
        )
        rows.append(row)
    headings = ["#no.", title, "#bytes", *counts, "#RTT", "#goodput", "=limited by"]
    left = _left(console, headings, rows)
    if left < LEAST:
        rows = [tuple(cell.replace("at most", "≤") for cell in row) for row in rows]
        left = _left(console, headings, rows)
    if left < LEAST:
        # A limit of two words takes two lines, and none is broken.
        headings[-1] = headings[-1].lstrip("=")
        longest = [(*row[:-1], max(row[-1].split(), key=len, default="")) for row in rows]
        left = _left(console, [*headings[:-1], "limited"], longest)
    room = max(left, LEAST)
    console.print()
    if len(title) > room:
        console.print(Text(title, "dim"))
        headings[1] = "connection"
    shown = table(*headings)
    shown.columns[1].no_wrap, shown.columns[1].overflow = True, "ellipsis"
    shown.columns[1].max_width = room
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
    listed = [found[place] for place in places]
    for note in filter(None, (_again_note(listed), _rtt_note(listed), _goodput_note(listed))):
        console.print(Text(note, "dim"))
    if of > len(places):
        console.print(Text(f"... and {of - len(places):,} more", "dim"))


def _left(console: Console, headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> int:
    """What room is left for the addresses: no number is cut."""
    columns = zip([one.lstrip("#=") for one in headings], *rows, strict=True)
    wide = [max(len(cell) for cell in column) for column in columns]
    return console.width - sum(wide) + wide[1] - GAP * len(wide)


def _again(one: Object) -> int:
    """Retransmissions of a connection: those that passed, and those that identifications count, too."""
    counts = one["retransmissions"]
    return int(counts["total"] + counts["unseen"])


def _again_note(listed: Sequence[Object]) -> str:
    """What the retransmissions of a table may lack; empty if nothing."""
    more = [possibly_again(one) for one in listed]
    number = sum(possible > 0 for possible in more)
    if not number:
        return ""
    of = words.count(number, "connection")
    return f"retr.: of {of} up to {words.count(max(more), 'segment')} in order may be retransmissions, too"


def _rtt_note(listed: Sequence[Object]) -> str:
    """What the RTTs of a table are not of; empty if of all."""
    said = [restrictions(one) for one in listed]
    notes = sorted({note for note in said if note})
    some = "" if all(said) else " of some"
    return f"RTT:{some} {'; '.join(notes)}" if notes else ""


def _goodput_note(listed: Sequence[Object]) -> str:
    """What the goodputs of a table leave out; empty if nothing."""
    late = [facts.before_data_s for facts in map(flow, listed) if facts is not None]
    number = sum(late_s > 0 for late_s in late)
    if not number:
        return ""
    return f"goodput: from the first data on, of {number:,} up to {duration(max(late))} after the handshake"
