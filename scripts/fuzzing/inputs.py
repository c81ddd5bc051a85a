"""What is damaged: a file of every format, and every sample measurement with some of its files damaged."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from support_every_format import samples
from support_samples import SAMPLES

from fuzzing.mutants import mutant

RARE = 0.3
"""How often a measurement is taken, relative to a file of a format: its analysis takes ten times as long."""
MOST_BYTES = 1 << 20
"""Of a measurement; larger ones take too long."""


@dataclass(frozen=True)
class Input:
    """What may be damaged: a format's name and a file, or the directory and the files of a measurement."""

    name: str
    whole: Path
    paths: tuple[Path, ...]


def inputs(folder: Path) -> list[Input]:
    """All inputs; what has to be made first is made in `folder`."""
    found = [Input(name, path, (path,)) for name, path in samples(folder)]
    for directory in sorted(SAMPLES.iterdir()):
        paths = tuple(sorted(path for path in directory.rglob("*") if path.is_file()))
        if paths and sum(path.stat().st_size for path in paths) <= MOST_BYTES:
            found.append(Input(f"measurement {directory.name}", directory, paths))
    return found


def damaged(one: Input, target: Path, chance: random.Random) -> tuple[Path, bool]:
    """Write a mutant of an input.

    Parameters
    ----------
    one : Input
        Intact.
    target : Path
        An empty directory.
    chance : random.Random
        All choices are made with it.

    Returns
    -------
    tuple
        What a command is given, and whether that is a capture alone.
    """
    if one.whole.is_file():
        path = target / one.whole.name
        path.write_bytes(mutant(one.whole.read_bytes(), chance))
        return path, one.name in ("pcap", "pcapng", "gsmtap", "wifi", "dccp", "rlc")
    _measurement(one, target, chance)
    return target, False


def _measurement(one: Input, target: Path, chance: random.Random) -> None:
    broken = set(chance.sample(one.paths, min(len(one.paths), chance.choice((1, 1, 2)))))
    for path in one.paths:
        if path not in broken and chance.random() < 0.08:
            continue
        copy = target / path.relative_to(one.whole)
        copy.parent.mkdir(exist_ok=True)
        if path in broken:
            copy.write_bytes(mutant(path.read_bytes(), chance))
        else:
            shutil.copyfile(path, copy)
