"""What an out-of-order segment is, in words (docs/arrivals.md)."""

from __future__ import annotations

from multitracer.diagnosis.explain.rules import RULES
from multitracer.model import schema
from multitracer.model.table import Table

ARRIVED = {
    "retransmission": "retransmitted; the first copy is not in this capture",
    "reordered": "reordered by the network",
    "network_duplicate": "a duplicate made by the network",
    "undecided": "retransmitted or reordered",
}

_VERDICTS = {
    "retransmission": "a retransmission",
    "reordered": "reordered by the network: transmitted before packets that arrived earlier",
    "network_duplicate": "a duplicate: the network delivered, or the capture holds, one packet twice",
    "undecided": "a retransmission, or reordered: the capture does not decide",
}

_EVIDENCE = {
    "ip_id": "its IP identification, which counts this sender's packets",
    "timestamp": "its TSval (RFC 7323)",
    "ip_id_and_timestamp": "its IP identification and its TSval, which agree",
    "duplicate_acks": "duplicate ACKs or SACK that passed at least one RTT earlier (likely, not certain)",
    "silence": "the time since the other copy or the gap, long enough for a timer (likely, not certain)",
    "too_soon": "how soon it came: nothing could have triggered it (likely, not certain)",
    "missing_ids": "missing IP identifications, more than new data can account for",
    "followed": "the other copy that came after or before it (likely, not certain)",
    "in_turn": "the retransmission right before it, of the bytes right before its own (likely, not certain)",
    "header": "its ACK number or its length: it is another packet than the other copy",
}


def arrival_sentence(arrivals: Table, row: int) -> str:
    """One sentence: the verdict, its evidence, and why it was retransmitted."""
    verdict = schema.ARRIVALS_ARE[int(arrivals["verdict"][row])]
    evidence = schema.ARRIVAL_EVIDENCE[int(arrivals["evidence"][row])]
    cause = schema.CAUSES[int(arrivals["cause"][row])]
    text = _VERDICTS[verdict]
    if evidence:
        text += f", by {_EVIDENCE[evidence]}"
    if verdict == "retransmission" and arrivals["fresh"][row]:
        text += "; its bytes were lost before this point"
    if cause and cause in RULES:
        text += f"; cause: {RULES[cause].name}, by this capture"
    return text
