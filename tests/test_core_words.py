"""The core gives numbers for words: both have the same words in the same order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multitracer.diagnosis.explain import arrived
from multitracer.export import notes
from multitracer.model import schema
from multitracer.model.schema import tcp

CORE = Path(__file__).resolve().parent.parent / "rust" / "core" / "src"

ENUMS = {
    "tracker/arrivals/verdict.rs::ArrivalVerdict": schema.ARRIVALS_ARE,
    "tracker/arrivals/verdict.rs::Evidence": schema.ARRIVAL_EVIDENCE,
    "tracker/outcome.rs::Cause": schema.CAUSES,
    "tracker/outcome.rs::AckKind": tcp.ACK_KINDS,
    "tracker/timeout.rs::Vote": tcp.VOTES,
    "tracker/timeout.rs::Verdict": tcp.VERDICTS,
    "tracker/episode.rs::Trigger": tcp.TRIGGERED_BY,
    "tracker/undo.rs::TakenBack": tcp.UNDONE,
    "segment.rs::Checksum": tcp.CHECKSUMS,
}
NOTHING = {"none", "no", "in_order"}
"""What has no word of its own."""


def words_of(place: str) -> list[str]:
    path, _, name = place.partition("::")
    body = re.search(rf"pub enum {name} \{{(.*?)\n\}}", (CORE / path).read_text(), re.DOTALL)
    assert body is not None, place
    found = re.findall(r"^    ([A-Z]\w*) = (\d+),", body[1], re.MULTILINE)
    assert [int(number) for _, number in found] == list(range(len(found))), place
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower() for word, _ in found]


@pytest.mark.parametrize("place", ENUMS)
def test_words_of_the_core(place: str) -> None:
    words = words_of(place)
    if not ENUMS[place][0]:
        assert words.pop(0) in NOTHING
    assert [word for word in ENUMS[place] if word] == words


def test_each_evidence_is_explained() -> None:
    named = set(schema.ARRIVAL_EVIDENCE) - {""}
    assert set(arrived._EVIDENCE) == named
    assert set(notes._EVIDENCE) == named
    text = (CORE.parents[2] / "docs" / "arrivals.md").read_text()
    assert all(f"| `{word}` |" in text for word in named)
