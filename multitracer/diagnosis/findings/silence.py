"""Sentences about the time after the last data: no response, or data that stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from multitracer.diagnosis.findings.broken_off import Summary, are_most, which_of
from multitracer.diagnosis.findings.finding import (
    MOST_EVIDENCE,
    Finding,
    joined,
    plot_command,
    seconds,
    several,
)
from multitracer.model.timeline import Timeline
from multitracer.output.digest import transfer_s
from multitracer.output.observed import hosts

LEAST_SHARE = 0.25
"""A time of this part of the transfer is worth a sentence."""

LONG_S = 3.0
"""So long, or longer than the transfer, it is the main cause."""

_ENDED = {"fin": "closed", "reset": "reset"}
_SEVERAL = {
    "no_response": ("request without a response", "requests without a response"),
    "mid_stream": ("transfer that stopped in the middle", "transfers that stopped in the middle"),
    "unseen_bytes": ("transfer whose rest never came", "transfers whose rest never came"),
    "unanswered_fin": ("FIN without an answer", "FINs without an answer"),
}


def silences(m: Timeline, connections: Sequence[Summary]) -> tuple[list[Finding], list[Finding]]:
    """Report that no response came, or that data stopped, and for how long nothing passed.

    Parameters
    ----------
    m : Timeline
    connections : sequence of Summary
        Of the result `connections`.

    Returns
    -------
    main, beside : list of Finding
        None or one. It is the main cause where most of the connections, or of the data, waited for longer
        than their transfers took; not where all that shows it is a FIN with which the capture may end.
    """
    silent = [one for one in connections if "silence" in one]
    shown = [one for one in silent if _length_s(one) >= LEAST_SHARE * transfer_s(one)]
    if not shown:
        return [], []
    long = [one for one in shown if _is_certain(one) and _length_s(one) >= min(LONG_S, transfer_s(one))]
    found = [_said(m, shown, len(connections))]
    return (found, []) if long and are_most(long, connections) else ([], found)


def _said(m: Timeline, shown: Sequence[Summary], of: int) -> Finding:
    if len(shown) == 1:
        text = _of_one(shown[0]) if of == 1 else f"{which_of(shown, of)}: {_of_one(shown[0])}"
    else:
        counted = Counter(one["silence"]["shown_by"] for one in shown)
        cases = joined(several(number, *_SEVERAL[case]) for case, number in counted.items())
        longest = seconds(max(map(_length_s, shown)))
        text = f"{which_of(shown, of)} ended in silence, for up to {longest}: {cases}"
    found = [one["silence"] for one in shown]
    evidence = tuple(
        (m.sources[one["source"]].path, one["silence"]["record"]) for one in shown if one["silence"]["record"]
    )
    command = plot_command(m, min(one["start"] for one in found), max(one["end"] for one in found))
    return Finding(text, 0.0, "silence", command, evidence[:MOST_EVIDENCE])


def _of_one(entry: Summary) -> str:
    """``the data of A stopped at 1.8 s: nothing passed for 14 s; then B closed the connection``."""
    found = entry["silence"]
    last, since = _host(entry, found["last_data_by"]), seconds(found["start"])
    nothing = f"nothing passed for {seconds(_length_s(entry))}"
    if found["ended_by"] is None:
        nothing += ", until the capture ended"
    else:
        nothing += f"; then {_host(entry, found['ended_by'])} {_ENDED[found['ended']]} the connection"
    if found["shown_by"] == "no_response":
        counts = entry["bytes" if found["last_data_by"] == "sender" else "reverse_bytes"]
        got = "acknowledged" if counts["acked"] >= counts["unique"] else "sent"
        asked = f"the request of {last} ({several(found['request_bytes'], 'byte')})"
        return f"{asked} was {got}, and no response came: {nothing}"
    unanswered = "" if found["answered"] or found["ended"] != "fin" else "; no answer to its FIN was captured"
    if found["shown_by"] == "mid_stream":
        return f"the data of {last} stopped at {since}, in the middle of what it sent: {nothing}{unanswered}"
    if found["shown_by"] == "unseen_bytes":
        more = f"at least {several(found['unseen_bytes'], 'byte')} more that it had sent never passed"
        return f"the data of {last} stopped at {since}: {nothing}; by later sequence numbers, {more}"
    return f"after the last data of {last}, and its ACK at {since}, {nothing}{unanswered}"


def _is_certain(entry: Summary) -> bool:
    """Whether more shows it than a FIN: the answer to one may come after the end of the capture."""
    found: dict[str, Any] = entry["silence"]
    return bool(found["shown_by"] != "unanswered_fin" or found["repeated"] > 1)


def _length_s(entry: Summary) -> float:
    return float(entry["silence"]["end"] - entry["silence"]["start"])


def _host(entry: Summary, end: str) -> str:
    """Address of the sender or the receiver of the data."""
    return hosts(entry)[0 if end == "sender" else 1]
