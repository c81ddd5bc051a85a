"""``(kernel)`` beside the shares of what limited a sender only where its counters say the same."""

from __future__ import annotations

import pytest

from multitracer.cli.words import _decided_by


@pytest.mark.parametrize(
    ("method", "shown", "words"),
    [
        ("kernel", 0.80, "kernel"),
        ("kernel", 0.999, "kernel and packets; receiver window 80% by the kernel alone"),
        ("inferred", 0.999, "inferred"),
    ],
)
def test_who_decided(method: str, shown: float, words: str) -> None:
    """The kernel counts a window without any room; the pace of a slow reader is more of its time."""
    assert _decided_by({"method": method, "receiver_window": 0.803}, {"receiver_window": shown}) == words
