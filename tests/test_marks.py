"""Marks of formats: a parser that is not asked would not have claimed the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_every_format import samples

from multitracer import native, registry
from multitracer.reading.opening import HEAD_BYTES

SHARED = os.environ.get("MULTITRACER_SHARED", "")


def pieces(head: bytes) -> Iterator[bytes]:
    """The head, what it holds without its first lines, and single lines of it."""
    yield head
    lines = head.split(b"\n")
    for at in range(1, min(len(lines), 12)):
        yield b"\n".join(lines[at:])
    for line in lines[:40]:
        yield line + b"\n"


def missed(head: bytes) -> list[str]:
    """The parsers that claim it and would not be asked."""
    return [
        name
        for name, parser in registry.parsers().items()
        if not registry.may_claim(name, head) and parser.sniff(head)
    ]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    found = samples(tmp_path_factory.mktemp("formats"))
    return [(name, native.head(str(path), HEAD_BYTES)) for name, path in found]


def test_no_parser_claims_what_lacks_its_mark(every: list[tuple[str, bytes]]) -> None:
    assert {name for name, _ in every} >= set(registry.MARKS)
    for name, head in every:
        assert registry.may_claim(name, head), name
        for piece in pieces(head):
            assert not missed(piece), (name, piece[:80])


@pytest.mark.skipif(not SHARED, reason="MULTITRACER_SHARED is not set")
def test_no_parser_claims_a_real_file_that_lacks_its_mark() -> None:
    for path in sorted(path for path in Path(SHARED).rglob("*") if path.is_file()):
        head = native.head(str(path), HEAD_BYTES)
        assert not missed(head), path
        assert not missed(head[:2000]), path


def test_text_is_asked_of_few_and_a_capture_of_no_log(every: list[tuple[str, bytes]]) -> None:
    heads = dict(every)
    asked = {name for name in registry.PARSERS if registry.may_claim(name, heads["rlpdump"])}
    assert "rlpdump" in asked
    assert not asked & {"iperf3", "ping", "flowmonitor", "omnetpp", "ndt7", "trace-dat", *registry.CAPTURES}
