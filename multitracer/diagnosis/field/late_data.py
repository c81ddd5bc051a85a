"""The sentence on a wait between the handshake and the first data."""

from __future__ import annotations

from collections.abc import Sequence

from multitracer.diagnosis.field.facts import Flow
from multitracer.diagnosis.findings.finding import Finding
from multitracer.model.quantities import count, duration

LEAST_S, LEAST_SHARE = 1.0, 0.25
"""A wait of so many seconds, and of this part of the transfer after it, is a sentence."""


def late_data(flows: Sequence[Flow], command: str = "") -> Finding | None:
    """Report that no data passed for long after the handshake, a time that belongs to no transfer.

    Next to its sender that is the application's doing. Elsewhere the first data may have been lost, each
    time that it was sent.

    Parameters
    ----------
    flows : sequence of Flow
        All that carried data.
    command : str
        Draws the measurement.

    Returns
    -------
    Finding or None
        Without a cost: when the application would have liked to send is not known.
    """
    late = [one for one in flows if one.until_data_s >= max(LEAST_S, LEAST_SHARE * (one.seconds or 0.0))]
    if not late:
        return None
    longest_s = max(one.until_data_s for one in late)
    if len(flows) == 1:
        which = f"no data passed for {duration(longest_s)} after the handshake"
    elif len(late) == 1:
        which = f"no data of connection {late[0].index} passed for {duration(longest_s)} after its handshake"
    else:
        which = (
            f"no data of {count(len(late), 'connection')} of {len(flows):,} passed for up to "
            f"{duration(longest_s)} after their handshakes"
        )
    senders = {one.sender for one in late}
    who, it = (senders.pop(), "it") if len(senders) == 1 else ("their senders", "they")
    if all(one.point == "snd" and not one.guessed for one in late):
        why = f"{who} had none to send until then"
    else:
        why = f"{who} sent none until then, or what {it} sent was lost before this capture"
    return Finding(f"{which}: {why}", 0.0, "late_data", command)


def took_most(flows: Sequence[Flow]) -> bool:
    """Whether these waits were longer than all that the transfers took after them."""
    return sum(one.until_data_s for one in flows) > sum(one.seconds or 0.0 for one in flows)
