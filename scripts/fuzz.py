"""Mutants of a file of every format, given to every command: data, issues or one line; nothing else.

Each mutant is one file with a few faults that know what they damage: bits, cuts, blocks moved or doubled,
fields of packets' records, numbers and words of texts. What ends in a traceback, in more than the memory or
the time that it may take, or in an unknown status is kept with the command that shows it.

    python scripts/fuzz.py --seconds 180 --keep found
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("info", "--json"),
    ("info",),
    ("analyze", "--full", "--json"),
    ("analyze", "--full"),
    ("analyze", "--summary"),
    ("events",),
    ("export", "--to", "mahimahi", "-o", "{}/out"),
    ("export", "--to", "errors", "-o", "{}/out"),
    ("export", "--to", "csv", "-o", "{}/tables"),
    ("export", "--to", "perfetto", "-o", "{}/out"),
    ("export", "--to", "xplot", "-o", "{}/out"),
    ("report", "-o", "{}/report.html"),
    ("explain", "--conn", "0", "--at", "{seconds}"),
    ("plot", "-o", "{}/figure.svg"),
    ("export", "--to", "parquet", "-o", "{}/tables"),
    ("export", "--to", "pcap", "-o", "{}/out"),
    ("export", "--to", "pcapng", "-o", "{}/out"),
    ("export", "--to", "lua", "-o", "{}/out"),
    ("export", "--to", "gnuplot", "-o", "{}/out"),
    ("export", "--to", "xgraph", "-o", "{}/out"),
    ("batch", "-o", "{}/batch", "-j", "1", "--pages", "none", "--json"),
)
WEIGHTS = (10, 6, 10, 6, 4, 8, 3, 3, 2, 1, 1, 1, 4, 1, 1, 2, 2, 2, 1, 1, 1)
STATUSES = {0, 2, 3}
TIME_S = 60
"""Of the processor: a busy machine is no fault."""
WAITING_S = 600
"""On the clock: what waits so long hangs."""
MEMORY_BYTES = 5 << 30
NUMBERS = [0, 1, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_HEADS = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")


def bits(data: bytearray, chance: random.Random) -> None:
    """Bits turned over."""
    for _ in range(chance.choice((1, 4, 32))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    """The end is missing."""
    del data[chance.randrange(len(data)) :]


def moved(data: bytearray, chance: random.Random) -> None:
    """A block doubled, or taken elsewhere."""
    first = chance.randrange(len(data))
    block = data[first : first + chance.choice((1, 4, 16, 200, 5000))]
    if chance.random() < 0.5:
        del data[first : first + len(block)]
    place = chance.randrange(len(data) + 1)
    data[place:place] = block


def extreme(data: bytearray, chance: random.Random) -> None:
    """A number of the largest and smallest kind, in either order of bytes."""
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice(NUMBERS) % (1 << 8 * size)
    place = chance.randrange(max(len(data) - size, 1))
    data[place : place + size] = value.to_bytes(size, chance.choice(("little", "big")))


def record_field(data: bytearray, chance: random.Random) -> None:
    """A field of a packet's record, or of the headers at its packet's begin."""
    places, at = [], 24
    while at + 16 <= len(data) and len(places) < 20_000:
        places.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    if not places:
        return
    for place in chance.sample(places, min(len(places), chance.choice((1, 5, 50)))):
        at = place + chance.choice((0, 0, 4, 8, 12, 16 + chance.randrange(60)))
        if at + 4 <= len(data):
            struct.pack_into("<I", data, at, chance.choice(NUMBERS) % 2**32)


def number(data: bytearray, chance: random.Random) -> None:
    """Numbers of a text, by ones that are too large, too small or none."""
    found = list(_NUMBER.finditer(data))
    for match in sorted(
        chance.sample(found, min(len(found), chance.choice((1, 3, 20)))), key=lambda m: -m.start()
    ):
        value = chance.choice(
            [str(one) for one in NUMBERS] + ["-1", "nan", "1e308", "-9e18", "0.0000000001", "", "9" * 400]
        )
        data[match.start() : match.end()] = value.encode()


def line(data: bytearray, chance: random.Random) -> None:
    """Lines of a text exchanged, repeated, or with their words in another order."""
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.randrange(3)
    if how == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 1:
        lines[at:at] = [lines[other]] * chance.choice((1, 50))
    else:
        words = lines[at].split(b" ")
        chance.shuffle(words)
        lines[at] = b" ".join(words)
    data[:] = b"\n".join(lines)


ANY: tuple[Callable[[bytearray, random.Random], None], ...] = (bits, cut, moved, extreme)


def mutant(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four faults; of what is compressed, mostly what is inside."""
    if content[:2] == b"\x1f\x8b" and chance.random() < 0.9:
        return gzip.compress(mutant(gzip.decompress(content), chance), 1)
    data = bytearray(content)
    is_text = b"\0" not in content[:4096]
    faults = (*ANY, number, number, line, line) if is_text else (*ANY, extreme)
    if content[:4] in _HEADS:
        faults = (*faults, record_field, record_field, record_field)
    for _ in range(chance.randint(1, 4)):
        if data:
            chance.choice(faults)(data, chance)
    return bytes(data)


class TooLongError(BaseException):
    """A command took more than its time."""


def _late(_number: int, _frame: object) -> None:
    raise TooLongError


def fault_of(words: list[str]) -> str | None:
    """What is wrong with how a command ended; None if nothing is."""
    from multitracer.cli.main import main

    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, TIME_S)
    signal.alarm(WAITING_S)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            status = main(words)
    except TooLongError:
        return f"more than {TIME_S} s of work or {WAITING_S} s"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    if status not in STATUSES:
        return f"status {status}: {err.getvalue()}"
    # `info` and `batch` list what cannot be read on standard output.
    lines = len(err.getvalue().splitlines())
    if status and lines != (0 if words[0] in ("info", "batch") and out.tell() else 1):
        return f"status {status} in {lines} lines: {err.getvalue()}"
    return None


def main() -> int:
    """Run until the time is over; the status is 1 if anything was found."""
    from support_every_format import samples

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _late)
    signal.signal(signal.SIGPROF, _late)
    chance = random.Random(given.seed)
    done: Counter[str] = Counter()
    commands: Counter[str] = Counter()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        files = list(samples(Path(place)))
        end = time.monotonic() + given.seconds
        while time.monotonic() < end:
            name, path = chance.choice(files)
            content = mutant(path.read_bytes(), chance)
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder, "run", path.name)
                target.parent.mkdir()
                target.write_bytes(content)
                command = chance.choices(COMMANDS, WEIGHTS)[0]
                given_path = target.parent if command[0] == "batch" else target
                at = chance.choice(("0", "0.5", "3"))
                words = [command[0], str(given_path)]
                words += [word.format(folder, seconds=at) for word in command[1:]]
                fault = fault_of(words)
                done[name] += 1
                commands[command[0]] += 1
                if done.total() % 1000 == 0:
                    print(f"{done.total():,} mutants, {len(found)} kinds of faults", flush=True)
                if fault is not None and (kind := fault.strip().splitlines()[-1][:120]) not in found:
                    found[kind] = " ".join(command)
                    kept = given.keep / f"{len(found):03}-{name}-{command[0]}"
                    kept.mkdir(parents=True, exist_ok=True)
                    (kept / path.name).write_bytes(content)
                    (kept / "fault.txt").write_text(f"{' '.join(command)}\n{fault}", encoding="utf-8")
    print(f"seed {given.seed}: {done.total():,} mutants of {len(done)} formats, {len(found)} kinds of faults")
    print("  " + ", ".join(f"{name} {count:,}" for name, count in commands.most_common()))
    for kind, command in found.items():
        print(f"  {command}: {kind}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
