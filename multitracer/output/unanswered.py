"""Questions that the files do not answer, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Object = Mapping[str, Any]

LOOKED_AT = 1000
"""Of more connections, those with most data, the worst and the first show whether a question was answered."""

SEVERAL = 2
"""With fewer connections or captures, the questions on sharing a path or on hops are left out."""

NO_LINK_LOG = "no link log was given"
"""One reason for all that a log of the link would answer; `multitracer formats` names such logs."""


def unanswered(contract: Object) -> dict[str, str]:
    """Analyses without an answer, with the reason; not those whose answer was inferred from one capture."""
    connections = contract["connections"]
    if not connections and "logs" in contract["other"]:
        # A log has answered: what captures would add is one line.
        return dict.fromkeys(contract["inconclusive"], "needs a packet capture, or a log of the link")
    if len(connections) > LOOKED_AT:
        # Each is made when asked for: of a million, those with most data, the worst, and the first.
        from multitracer.output.digest import digest

        summary = digest(connections, LOOKED_AT)
        connections = [
            connections[place] for place in {*summary["largest"], *summary["worst"], *range(LOOKED_AT)}
        ]
    inferred: dict[str, Callable[[Object], object]] = {
        "goodput": lambda one: one["goodput_bps"] is not None,
        "limits": lambda one: one.get("limits"),
        "losses": lambda one: one.get("losses"),
        "queueing": lambda one: (one.get("bottleneck") or {}).get("standing_queue_ms"),
    }
    left = dict(contract["inconclusive"])
    for name in [name for name in left if name in inferred]:
        if any(map(inferred[name], connections)):
            del left[name]
    # Questions that need more than was given are left out: other connections, captures along the path.
    if len(connections) < SEVERAL or not left.get("fairness", "").startswith("needs "):
        left.pop("fairness", None)
    if sum(one["layer"] == "tcp" and one["tcp_segments"] > 0 for one in contract["sources"]) < SEVERAL:
        left.pop("hops", None)
    if any(one["kind"] == "local_drop" for one in contract["diagnosis"]):
        left.pop("local_drops", None)
    return left


def by_reason(reasons: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """The reasons, each with the analyses that it concerns; what needs a log of the link is the last one."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        link = reason == "needs a link log" or reason.startswith("needs a link log (")
        found.setdefault(NO_LINK_LOG if link else reason, []).append(name)
    return sorted(found.items(), key=lambda one: one[0] == NO_LINK_LOG)
