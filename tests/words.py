"""Words that users no longer read, each with the field's term: one list for docs and program."""

from __future__ import annotations

import re
from typing import NamedTuple


class OldWord(NamedTuple):
    """A pattern that what people read must not match, and what to write instead."""

    pattern: re.Pattern[str]
    say: str


def _old(pattern: str, say: str) -> OldWord:
    spaced = pattern.replace(" ", r"\s+")
    return OldWord(re.compile(rf"\b(?:{spaced})(?!\w)", re.IGNORECASE), say)


OLD_WORDS = (
    _old(
        r"s[ea]nt? again|sends again|sending again|sendings", "retransmitted, retransmissions, transmissions"
    ),
    _old(r"sent twice|sent before|sent (?:the )?second time", "duplicate bytes; transmitted earlier"),
    _old(r"refills?(?: after a timeout)?", "slow-start (go-back-N) retransmission"),
    _old(r"silent for", "idle before RTO; no segment for"),
    _old(r"the pipe(?:'s)?|pipe capacity", "BDP (bandwidth-delay product)"),
    _old(r"bunch|bunches", "ACK compression; a run of ACKs"),
    _old(r"holes?", "sequence gap"),
    _old(r"came behind|came later than later", "out-of-order arrivals"),
    _old(r"ruined|ruins", "corrupted by header decompression"),
    _old(r"where (?:they|it) belongs?", "at the true sequence number"),
    _old(r"(?:the )?receiver offer(?:s|ed)|offered window|window offered", "advertised (receive) window"),
    _old(r"round trips?", "RTT, RTTs"),
    _old(r"bytes outstanding|outstanding bytes", "bytes in flight"),
    _old(
        r"told (?:from|of)|heard of|cannot (?:be told|tell)|is told|are told|was told|were told",
        "source; method; reported",
    ),
    _old(r"what held when", "events"),
    _old(r"other side's answers", "ACKs"),
    _old(r"lost on the way", "packet loss; lost in the network"),
    _old(r"offset of its group", "layers offset"),
    _old(r"had not grown", "cwnd still below the BDP"),
    _old(r"goes on where it stopped|go on where it stopped", "resumes"),
    _old(r"say what each file is", "describe each file"),
    _old(r"is no end", "at end of file it waits for more data"),
    _old(r"in doubt, a packet", "if unsure, the packet is kept"),
    _old(r"is not said|are not said", "is left out"),
    _old(
        r"behind (?:an? |the |its |each |two |three )?(?:link )?(?:timeouts?|resets?|loss|losses|drop)",
        "after",
    ),
    _old(r"gaps? behind|start behind", "gap after; slow start after"),
)


class Found(NamedTuple):
    """One old word in a text."""

    line: int
    word: str
    say: str


def old_words(text: str) -> list[Found]:
    """The old words of a text, in its order; a phrase may be broken over two lines."""
    found = [
        Found(text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), old.say)
        for old in OLD_WORDS
        for match in old.pattern.finditer(text)
    ]
    return sorted(found)
