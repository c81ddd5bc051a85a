"""What `explain` shows of retransmissions, ready for a click on their points."""

from __future__ import annotations

import numpy as np

from multitracer.diagnosis.explain import explain_all
from multitracer.layers.tcp.transit import near_sender
from multitracer.output.results import Answers

MOST_OF_ONE = 200
"""Explanations of one view; where more was retransmitted, they are spread over the whole of it."""

Explanations = dict[str, list[str]]
"""By ``source:record``: the title, then what each line is about and its text, in turn."""


def explanations(analysis: Answers, most: int = MOST_OF_ONE) -> Explanations:
    """The explanations of the retransmissions of an analysis.

    Parameters
    ----------
    analysis : Answers
    most : int
        At most so many.

    Returns
    -------
    dict
        Empty without a capture, or without retransmissions.
    """
    m = analysis.measurement
    source = near_sender(m)
    if source is None:
        source = next((at for at, one in enumerate(m.sources) if one.layer == "tcp"), None)
    rows = m.table("segments")
    if source is None or not len(rows):
        return {}
    again = rows["record"][(rows["source"] == source) & (rows["cause"] != 0)]
    if len(again) > most:
        again = again[np.linspace(0, len(again) - 1, max(most, 0)).astype(np.int64)]
    found: Explanations = {}
    for record, explained in explain_all(analysis, source, again.tolist()).items():
        words = [explained.title]
        for line in explained.lines:
            words += [str(line["about"]), str(line["text"])]
        found[f"{source}:{record}"] = words
    return found
