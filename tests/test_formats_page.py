"""The page of formats: every format has its page, its place in both tables, and the tables name no other."""

from __future__ import annotations

import re
from pathlib import Path

from multitracer import registry

PAGES = Path(__file__).parent.parent / "docs" / "formats"
WITHOUT_TRANSFER = {"pcap", "pcapng", "dccp", "dccpprobe", "bcc", "retis", "counters", "ns2", "ns3-ascii"}
WITHOUT_TRANSFER |= {"omnetpp"}
"""Captures and simulators' packets, from which connections are told, and logs of single events."""


def test_every_format_has_its_page_and_is_listed() -> None:
    text = (PAGES / "README.md").read_text()
    listed = set(re.findall(r"\]\(([a-z0-9-]+)\.md\)", text))
    assert listed == set(registry.PARSERS)
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(registry.PARSERS)


def test_the_table_of_answers_names_every_log() -> None:
    table = (PAGES / "README.md").read_text().split("## What each format provides")[1]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")][1:]
    named = {
        word.strip() for cell in cells for word in re.split(r",| \(.*?\)| with a column map| of a link", cell)
    }
    named = {word.removesuffix(" sender").removesuffix(" receiver") for word in named if word}
    assert named - {"sender", "receiver"} == set(registry.PARSERS) - WITHOUT_TRANSFER
