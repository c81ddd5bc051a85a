"""Words that users no longer read, each with the field's term: one list for docs and program."""

from __future__ import annotations

import re
from typing import NamedTuple


class OldWord(NamedTuple):
    """A pattern that no text for users matches, and what to write instead."""

    pattern: re.Pattern[str]
    say: str


class Found(NamedTuple):
    """One old word in a text."""

    line: int
    word: str
    say: str


def _old(phrases: str, say: str) -> OldWord:
    """Phrases separated by bars, as whole words; a blank also stands for a line break."""
    spaced = phrases.replace(" ", r"\s+")
    return OldWord(re.compile(rf"\b(?:{spaced})(?!\w)", re.IGNORECASE), say)


OLD_WORDS = (
    _old(
        r"s[ea]nt? again|sends again|sending again|sendings", "retransmitted, retransmission, transmissions"
    ),
    _old(r"sent twice|sent before|sent (?:the )?second time", "duplicate bytes; transmitted earlier"),
    _old(r"refills?|refilled", "slow-start (go-back-N) retransmission"),
    _old(r"silent for|of silence", "idle before RTO; no segment for"),
    _old(r"the pipe(?:'s)?|pipe capacity", "BDP (bandwidth-delay product)"),
    _old(r"bunch|bunches", "ACK compression; a run of ACKs"),
    _old(r"holes?", "sequence gap"),
    _old(r"came behind", "out-of-order arrivals"),
    _old(r"ruined|ruins", "corrupted by header decompression"),
    _old(r"where (?:they|it) belongs?", "at the true sequence number"),
    _old(r"receiver offer(?:s|ed)|offered window|window offered", "advertised (receive) window"),
    _old(r"round trips?", "RTT, RTTs"),
    _old(r"(?:bytes|data) outstanding|outstanding bytes", "bytes in flight"),
    _old(
        r"told (?:from|of)|hears? of|heard of|cannot (?:be told(?! apart)|tell)",
        "source; method; reported; unknown",
    ),
    _old(r"told apart", "distinguished"),
    _old(r"in (?:its|their) turn", "as well, too"),
    _old(r"(?:is|are|was|were) told", "is reported, is shown"),
    _old(r"(?:is|are) not said|cannot be said", "is left out"),
    _old(r"(?:tells?|told|telling)(?! (?:\w+ ){0,2}apart)", "shows, reports, records, is unknown"),
    _old(r"heard(?=[ ,;.])|frames heard", "captured, received"),
    _old(r"(?:stood|stands?|standing) still|(?:a|no) queue stood", "stalled; standing queue"),
    _old(r"(?:frames?|segments?|bytes|it) again", "retransmitted"),
    _old(r"(?:the|on its|on their) way back", "on the return path"),
    _old(r"(?:on (?:the|its|their)|under) way", "in transit; in flight"),
    _old(r"t(?:akes?|aken|ook) (?:(?:its|the) \w+ )?back", "undone"),
    _old(r"call(?:s|ed) for by", "started by"),
    _old(r"story|stories", "explanation"),
    _old(r"what held when", "events"),
    _old(r"other side's answers", "ACKs"),
    _old(r"lost on the way", "packet loss; lost in the network"),
    _old(r"offset of its group", "layers offset"),
    _old(r"had not grown", "cwnd still below the BDP"),
    _old(r"goe?s? on where it stopped", "resumes"),
    _old(r"say what each file is", "describe each file"),
    _old(r"is no end", "at end of file it waits for more data"),
    _old(r"in doubt, a packet", "if unsure, the packet is kept"),
    _old(
        r"behind (?:an? |the |its |each |two |three )?(?:link )?(?:timeouts?|resets?|loss|losses|drop)",
        "after",
    ),
    _old(r"gaps? behind|start behind", "gap after; slow start after"),
)


def old_words(text: str) -> list[Found]:
    """The old words of a text, in its order."""
    found = [
        Found(text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), old.say)
        for old in OLD_WORDS
        for match in old.pattern.finditer(text)
    ]
    return sorted(found)
