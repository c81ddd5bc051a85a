"""Which frames of the link carried which segment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multitracer.analyzers._needs import QUESTIONS
from multitracer.layers import framemap
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.timeline import Timeline


def run(m: Timeline, results: Mapping[str, Result]) -> Result:
    """Tables of segments and frames (`multitracer.layers.framemap`), and how certain they are.

    References
    ----------
    RFC 1662 (framing), RFC 1144 (header compression).
    """
    found = framemap.of(m)
    if not len(found.spans):
        return Result(
            "frame_map", inconclusive="needs a link log with byte offsets and a capture at an end of the link"
        )
    fates = found.spans.words("fate")
    summary = {
        "segments": len(found.spans),
        "pairs": len(found.frames),
        "fates": {word: int(np.count_nonzero(fates == word)) for word in sorted(set(fates.tolist()))},
        "directions": found.facts,
    }
    return Result("frame_map", summary, {"packet_spans": found.spans, "packet_frames": found.frames})


ANALYZER = Analyzer(
    name="frame_map",
    question="Which frames of the link carried which segment, and what became of its bytes?",
    run=run,
    **QUESTIONS["frame_map"]._asdict(),
)
