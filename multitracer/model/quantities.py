"""Numbers in words, for people: shared by the command line and the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

RETRANSMISSION_WORDS = {
    "timeout": "RTO",
    "fast": "fast retransmit",
    "slow_start": "slow start after an RTO (go-back-N)",
    "tail_loss_probe": "tail loss probe",
    "handshake": "of the handshake",
    "unknown": "unclassified",
}
"""Causes of retransmissions in words; unneeded probes are not among them (docs/json.md)."""

OR_ELSE = {"fast": ("fast_or_slow_start", "slow_start"), "tail_loss_probe": ("probe_or_timeout", "timeout")}
"""Of some causes, the count of those that may have another (docs/json.md), and which."""


def duration(seconds: float, micro: str = "us") -> str:
    """A time span with three or four digits; nothing is ``0 s``; `micro` is how microseconds are written."""
    if seconds == 0:
        return "0 s"
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    if seconds >= 0.9995:
        return f"{seconds:.2f} s"
    if seconds >= 0.9995e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} {micro}"


def rate(bits_per_s: float | None) -> str:
    """A data rate in the unit that suits it."""
    if bits_per_s is None:
        return "unknown"
    for limit, unit in ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s")):
        # What is rounded to a thousand of the next smaller unit is one of this.
        if bits_per_s >= 0.9995 * limit:
            return f"{bits_per_s / limit:.3g} {unit}"
    return f"{bits_per_s / 1e3:.3g} kbit/s"


def count(number: int, thing: str, things: str = "") -> str:
    """``3 link resets``; `things` where the plural is not made with an s.

    Parameters
    ----------
    number : int
    thing : str
        What is counted, one of it.
    things : str
        Several of it; without it, `thing` with an s.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def transferred(connection: Mapping[str, Any], micro: str = "us") -> str:
    """``800,000 bytes, goodput 7.86 Mbit/s over 814 ms``; bytes alone where no rate is known.

    Parameters
    ----------
    connection : mapping
        An entry of ``connections`` (docs/json.md).
    micro : str
        How microseconds are written.
    """
    size = count(connection["bytes"]["unique"], "byte")
    speed, seconds = connection["goodput_bps"], connection["data_s"]
    if speed is None or seconds is None:
        return size
    return f"{size}, goodput {rate(speed)} over {duration(seconds, micro)}"


def verdict_counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How many there are, as ``total``, and by verdict: ``spurious``, ``genuine``, ``inconclusive``."""
    found = Counter(verdicts)
    return {"total": found.total(), **{word: found[word] for word in ("spurious", "genuine", "inconclusive")}}


def voter(name: str) -> str:
    """Who cast a vote on a retransmission, from its name in the JSON."""
    return {"ack_path": "ACK path", "too_early": "too early"}.get(name, name)


def votes(cast: Mapping[str, str]) -> str:
    """``receiver, eifel: spurious; link: genuine``; "none" without a vote."""
    names: dict[str, list[str]] = {}
    for name, vote in cast.items():
        names.setdefault(vote, []).append(voter(name))
    return "; ".join(f"{', '.join(who)}: {vote}" for vote, who in names.items()) or "none"
