"""Every sentence of the diagnosis of every sample, held to text that changes only by ``--update-golden``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support_samples import ROOT, SAMPLES

import multitracer as mt

SAID = Path(__file__).parent / "said"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def said(name: str) -> str:
    """The sentences, each with its cost and its first records."""
    lines = []
    for one in mt.analyze(mt.read(SAMPLES / name)).results["diagnosis"].summary["sentences"]:
        records = ", ".join(f"{Path(e['source']).name} {e['record']}" for e in one["evidence"][:4])
        lines.append(f"{one['kind']} [{one['cost_s']:.2f} s] {one['text']}\n  {records}")
    return "\n".join(lines).replace(f"{ROOT}/", "") + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_sentences(name: str, request: pytest.FixtureRequest) -> None:
    path = SAID / f"{name}.txt"
    found = said(name)
    if request.config.getoption("--update-golden"):
        SAID.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
        return
    assert found == path.read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert sorted(path.stem for path in SAID.glob("*.txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_sentences_are_for_people(name: str) -> None:
    text = (SAID / f"{name}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        assert not re.search(r"\b(None|nan|True|False)\b|_ns\b|\{|\b1 \w+s were\b", line), line
        assert len(line) < 480, "a sentence that nobody reads to its end"
