"""Give mutants of a file of every format, and of every sample measurement, to every command.

A mutant is a file with a few targeted faults (`fuzzing.raw`, `fuzzing.texts`, `fuzzing.captures`), alone or
among intact files of its measurement. An outcome that `fuzzing.outcomes` does not allow, such as a traceback
or an unknown status, is kept with the command and the files that show it.

    python scripts/fuzz.py --seconds 180 --keep found
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "scripts")]

MEMORY_BYTES = 5 << 30


def main() -> int:
    """Run until the time is over; the status is 1 if anything was found."""
    from fuzzing.commands import COMMANDS, chosen
    from fuzzing.inputs import RARE, damaged, inputs
    from fuzzing.outcomes import fault_of, listen

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--mutants", type=int, default=sys.maxsize, help="end after so many")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="inputs whose name contains this")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    listen()
    done: Counter[str] = Counter()
    commands: Counter[str] = Counter()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        all_inputs = [one for one in inputs(Path(place)) if given.only in one.name]
        often = [RARE if one.whole.is_dir() else 1.0 for one in all_inputs]
        end = time.monotonic() + given.seconds
        for number in range(given.mutants):
            if time.monotonic() >= end:
                break
            # Each mutant can be made again from its number alone.
            chance = random.Random(f"{given.seed} {number}")
            one = chance.choices(all_inputs, often)[0]
            with tempfile.TemporaryDirectory() as folder:
                target, made = Path(folder, "run"), Path(folder, "made")
                target.mkdir()
                made.mkdir()
                path, is_capture = damaged(one, target, chance)
                command = chosen(is_capture, chance)
                words = [command, str(target if command == "batch" else path)]
                if command == "compare":
                    words[1:] = chance.sample([words[1], str(one.whole)], 2)
                words += COMMANDS[command][0](chance, made)
                fault = fault_of(words, made)
                done[one.name] += 1
                commands[command] += 1
                if done.total() % 1000 == 0:
                    print(f"{done.total():,} mutants, {len(found)} kinds of faults", flush=True)
                if fault is not None and (kind := fault.strip().splitlines()[-1][:120]) not in found:
                    found[kind] = command
                    kept = given.keep / f"{len(found):03}-{one.name.replace(' ', '-')}-{command}"
                    shutil.copytree(target, kept / "run")
                    told = f"seed {given.seed}, mutant {number}\n{' '.join(words)}\n{fault}"
                    (kept / "fault.txt").write_text(told, encoding="utf-8", errors="backslashreplace")
                    print(f"{number}: {command} {one.name}: {kind}", flush=True)
    print(f"seed {given.seed}: {done.total():,} mutants of {len(done)} inputs, {len(found)} kinds of faults")
    print("  " + ", ".join(f"{name} {count:,}" for name, count in commands.most_common()))
    for kind, command in found.items():
        print(f"  {command}: {kind}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
