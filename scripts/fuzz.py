"""Give mutants of a file of every format, and of every sample measurement, to every command.

A mutant is a file with a few targeted faults (`fuzzing.raw`, `fuzzing.texts`, `fuzzing.captures`), alone or
among intact files of its measurement. An outcome that `fuzzing.outcomes` does not allow, such as a traceback
or an unknown status, is kept with the command and the files that show it.

    python scripts/fuzz.py --seconds 180 --keep found
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "scripts")]

from fuzzing.commands import COMMANDS, chosen  # noqa: E402
from fuzzing.inputs import RARE, damaged, inputs  # noqa: E402
from fuzzing.outcomes import fault_of, listen  # noqa: E402
from fuzzing.workers import Begin, Judge, Mutant, each  # noqa: E402


def main() -> int:
    """Run until the time is over; the status is 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--mutants", type=int, default=sys.maxsize, help="end after so many")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first: of a fault, to see it again"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="inputs whose name contains this")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"))
    given = parser.parse_args()
    done: Counter[str] = Counter()
    commands: Counter[str] = Counter()
    found: dict[str, str] = {}
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        begin, judge = tasks(Path(place), given.seed, given.only)
        numbers = range(given.first, min(given.first + given.mutants, sys.maxsize))
        for mutant, fault, run in each(numbers, given.jobs, Path(place), given.seconds, begin, judge):
            command = mutant.words[0]
            done[mutant.name] += 1
            commands[command] += 1
            if done.total() % 1000 == 0:
                rate = done.total() / (time.monotonic() - began_s)
                print(
                    f"{done.total():,} mutants, {rate:.0f} a second, {len(found)} kinds of faults", flush=True
                )
            if fault is not None and (kind := fault.strip().splitlines()[-1][:120]) not in found:
                found[kind] = command
                kept = given.keep / f"{len(found):03}-{mutant.name.replace(' ', '-')}-{command}"
                shutil.copytree(run, kept / "run")
                told = f"seed {given.seed}, mutant {mutant.number}\n{' '.join(mutant.words)}\n{fault}"
                (kept / "fault.txt").write_text(told, encoding="utf-8", errors="backslashreplace")
                print(f"{mutant.number}: {command} {mutant.name}: {kind}", flush=True)
    print(f"seed {given.seed}: {done.total():,} mutants of {len(done)} inputs, {len(found)} kinds of faults")
    print("  " + ", ".join(f"{name} {count:,}" for name, count in commands.most_common()))
    for kind, command in found.items():
        print(f"  {command}: {kind}")
    return int(bool(found))


def tasks(place: Path, seed: int, only: str) -> tuple[Begin, Judge]:
    """How a mutant is made, and how its outcome is judged.

    Parameters
    ----------
    place : Path
        Where files are made that are to be damaged.
    seed : int
        With the number of a mutant, all choices.
    only : str
        Inputs whose name contains this.
    """
    all_inputs = [one for one in inputs(place) if only in one.name]
    often = [RARE if one.whole.is_dir() else 1.0 for one in all_inputs]

    def begin(number: int, run: Path, made: Path) -> Mutant:
        chance = random.Random(f"{seed} {number}")
        one = chance.choices(all_inputs, often)[0]
        path, is_capture = damaged(one, run, chance)
        command = chosen(is_capture, chance)
        words = [command, str(run if command == "batch" else path)]
        if command == "compare":
            words[1:] = chance.sample([words[1], str(one.whole)], 2)
        return Mutant(number, one.name, (*words, *COMMANDS[command][0](chance, made)))

    def judge(mutant: Mutant, made: Path) -> str | None:
        listen()
        return fault_of(list(mutant.words), made)

    return begin, judge


if __name__ == "__main__":
    sys.exit(main())
