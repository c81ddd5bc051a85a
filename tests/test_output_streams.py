"""Where output goes and what ends a command: full and closed streams, no memory, signals, hostile names."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support_samples import PATIENCE_S, SAMPLES

from multitracer.cli.limited import Taken, gets_nothing, judged
from multitracer.cli.main import _is_no_memory
from multitracer.cli.visible import visible
from multitracer.output.cells import neutral, original

SAMPLE = SAMPLES / "backoff"
PARSING = (("--version",), ("--help",), ("plot", "--help"))
PRINTING = (("info",), ("info", "--json"), ("analyze",), ("analyze", "--json"), ("events",))

EVERY = {
    "explain": (SAMPLE, "--at", "0"),
    "plot": (SAMPLE, "-o", "{}/figure.svg"),
    "report": (SAMPLE, "-o", "{}/page.html"),
    "batch": ("{}/runs", "-o", "{}/out", "-j", "1", "--pages", "none"),
    "compare": (SAMPLE, SAMPLE),
    "export": (SAMPLE, "--to", "csv", "-o", "{}/tables"),
    "formats": (),
    "doctor": (),
    "completion": ("bash",),
}
"""The other commands, by name; each prints at least what it wrote."""


def call(*words: str | bytes | Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "multitracer", *words],
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=False,
        **({"stdout": subprocess.PIPE} | more),
    )


def one_line(done: subprocess.CompletedProcess[bytes]) -> str:
    (line,) = done.stderr.decode().splitlines()
    return line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_no_room_for_the_output(words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = call(*words, SAMPLE, stdout=full)
    assert (done.returncode, one_line(done)) == (
        6,
        "multitracer: error: standard output: No space left on device",
    )


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_nobody_reads_the_output(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = call(*words, SAMPLE, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", PARSING, ids=" ".join)
def test_nobody_reads_the_help(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = call(*words, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_standard_output_is_closed(words: tuple[str, ...]) -> None:
    done = call(*words, SAMPLE, stdout=None, preexec_fn=lambda: os.close(1))
    assert (done.returncode, one_line(done)) == (
        6,
        "multitracer: error: standard output: Bad file descriptor",
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", EVERY)
def test_no_output_of_any_command(command: str, tmp_path: Path) -> None:
    """A full disk, a closed output, and one that nobody reads, for every command."""
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    shutil.copy(SAMPLE / "snd.pcap", run)
    words = (command, *(str(word).format(tmp_path) for word in EVERY[command]))
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            done = call(*words, stdout=full)
        assert done.returncode == 6, done.stderr
        assert one_line(done) == "multitracer: error: standard output: No space left on device"
    done = call(*words, stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 6, done.stderr
    assert one_line(done) == "multitracer: error: standard output: Bad file descriptor"
    reading, writing = os.pipe()
    os.close(reading)
    done = call(*words, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_what_prints_nothing_needs_no_output(tmp_path: Path) -> None:
    words = ("events", SAMPLE, "-o", tmp_path / "events.csv")
    assert call(*words, stdout=None, preexec_fn=lambda: os.close(1)).returncode == 0
    assert (tmp_path / "events.csv").read_text().startswith("t_s,")


def test_no_memory() -> None:
    code = (
        "import sys\n"
        "from unittest import mock\n"
        "from multitracer.cli import main\n"
        "with mock.patch('multitracer.api.pipeline.read', side_effect=MemoryError):\n"
        f"    sys.exit(main.main(['analyze', {str(SAMPLE)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 6
    assert one_line(done).startswith("multitracer: error: out of memory; ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_file(number: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from multitracer.cli import common, main\n"
        "def command(*_):\n"
        f"    with common.replacing({str(tmp_path / 'out.csv')!r}):\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(600)\n"
        "main.group.invoke = command\n"
        "sys.argv = ['multitracer', 'formats']\n"
        "sys.exit(main.main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        assert list(tmp_path.iterdir())
        process.send_signal(number)
        told = process.stderr.read().decode()
        assert process.wait(PATIENCE_S) == 128 + number
    assert told == f"multitracer: ended by {number.name}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_following_ends_before_the_first_byte(number: signal.Signals, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "multitracer", "analyze", str(pipe), "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process, open(pipe, "wb"):
        time.sleep(2)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, 3, 128 + number), err
    assert b"Traceback" not in err
    assert len(err.splitlines()) <= 1


HOSTILE = b"\x1b]0;owned\x07\x1b[2J\xff=x"


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_no_name_steers_a_terminal(words: tuple[str, ...], tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), HOSTILE + b".pcap")
    shutil.copy(SAMPLE / "snd.pcap", path)
    done = call(*words, path)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    gone = call(*words, path + b"?")
    assert gone.returncode == 3
    assert b"\x1b" not in gone.stderr


@pytest.mark.parametrize(
    "words",
    [("report", "-o", "{}/r.html"), ("plot", "-o", "{}/p.png"), ("events", "-o", "{}/e.csv")]
    + [("export", "--to", one, "-o", "{}/x") for one in ("csv", "xplot", "perfetto", "pcap", "gnuplot")],
    ids=" ".join,
)
def test_any_name_is_written(words: tuple[str, ...], tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), HOSTILE + b".pcap")
    shutil.copy(SAMPLE / "snd.pcap", path)
    done = call(words[0], path, *(word.format(tmp_path) for word in words[1:]))
    assert done.returncode == 0, done.stderr


def test_control_characters_are_visible() -> None:
    assert visible("a\x1b[2J\r\n\tb\x7f\x9b\u202e") == "a␛[2J␍\n\tb␡\ufffd\ufffd"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "'=1", "''-", "plain", "'plain", "", "\t=1"])
def test_cells_are_neutral_and_come_back(text: str) -> None:
    cell = str(neutral(text))
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    assert original(cell) == text
    assert neutral(-1.5) == -1.5


MEMORY: dict[str, tuple[str | Path, ...]] = {
    "info": (SAMPLE,),
    "analyze": (SAMPLE, "--json"),
    "events": (SAMPLE,),
    **{name: EVERY[name] for name in ("explain", "plot", "report", "compare", "export", "batch")},
}


@pytest.mark.parametrize("mebibytes", [150, 200, 250, 300, 400, 600])
@pytest.mark.parametrize("command", MEMORY)
def test_too_little_memory_at_any_moment(command: str, mebibytes: int, tmp_path: Path) -> None:
    words = [str(word).format(tmp_path) for word in MEMORY[command]]
    limit = mebibytes << 20
    shutil.copytree(SAMPLE, tmp_path / "runs" / "one")
    done = call(
        command,
        *words,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if command == "compare" and done.returncode == 3:
        # A worker could not even begin: of that its parent knows no more.
        assert ": the process that analysed it ended with status " in one_line(done)
    elif done.returncode:
        assert (done.returncode, one_line(done)) == (
            6,
            "multitracer: error: out of memory; see --summary, or cut the capture (editcap -c)",
        )


@pytest.mark.parametrize("mebibytes", [240, 250, 255, 265, 280, 300])
def test_a_library_that_cannot_be_loaded(mebibytes: int, tmp_path: Path) -> None:
    """No room for the library that writes Parquet: memory is what is missing, not the library."""
    limit = mebibytes << 20
    done = call(
        *("export", SAMPLE, "--to", "parquet", "-o", tmp_path / "tables"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if done.returncode:
        assert (done.returncode, one_line(done).partition(";")[0]) == (6, "multitracer: error: out of memory")


LINE = b"multitracer: error: out of memory\n"


@pytest.mark.parametrize(
    ("status", "messages", "told"),
    [
        (0, b"a warning\n", (0, b"a warning\n")),
        (3, b"multitracer: error: x: no such file\n", (3, b"multitracer: error: x: no such file\n")),
        (6, b"ERROR:root:no hash\nTraceback\n" + LINE, (6, LINE)),
        (6, b"Traceback\n", (6, LINE)),
        (1, b"OpenBLAS error: Memory allocation still failed after 10 retries, giving up.\n", (6, LINE)),
        (1, b"Traceback\n  print\nMemoryError\n", (6, LINE)),
        (1, b"Traceback\nKeyError: 1\n", (1, b"Traceback\nKeyError: 1\n")),
        (-signal.SIGABRT, b"terminate called after\n  what():  std::bad_alloc\n", (6, LINE)),
        (-signal.SIGSEGV, b"", (6, LINE)),
        (-signal.SIGTERM, b"", (143, b"")),
    ],
)
def test_one_line_of_whatever_a_library_does(status: int, messages: bytes, told: tuple[int, bytes]) -> None:
    words = ("memory allocation", "bad_alloc")
    assert judged(status, messages, 6, words, LINE.decode().rstrip()) == told


def test_what_tries_for_ever_is_ended() -> None:
    """Python before 3.14 may unwind for ever where nothing is left (gh-132508): its parent ends that."""
    code = (
        "import mmap, resource, sys\n"
        "from multitracer.cli import limited\n"
        "limited.LOOK_S = 0.05\n"
        "resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\n"
        "ended = limited.watched(['analyze'], 6, (), 'no memory')\n"
        "if ended is not None:\n"
        "    sys.exit(str(ended))\n"
        "held, ask = [], 64 << 20\n"
        "while True:\n"
        "    try:\n"
        "        held.append(mmap.mmap(-1, ask))\n"
        "    except (OSError, MemoryError):\n"
        "        ask = max(ask >> 1, 32 << 10)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.stderr == b"(6, b'no memory\\n')\n"


@pytest.mark.parametrize(
    ("now", "limits_bytes", "hopeless"),
    [
        (Taken(1000 << 10, 9, 9, 8), (1000 << 10, None), True),
        (Taken(1000 << 10, 9, 9, 8), (None, None), False),
        (Taken(1000 << 10, 9, 9, 8), (None, 100 << 10), True),  # data, by another limit
        (Taken(1000 << 10, 9, 9, 7), (1000 << 10, None), False),  # it waits
        (Taken(1000 << 10, 10, 9, 8), (1000 << 10, None), False),  # it fills what it has
        (Taken(1000 << 10, 9, 9, 8), (2000 << 10, None), False),  # it may take more
    ],
)
def test_when_a_process_gets_nothing(
    now: Taken, limits_bytes: tuple[int | None, int | None], hopeless: bool
) -> None:
    assert gets_nothing(Taken(1000 << 10, 9, 9, 7), now, limits_bytes) == hopeless


def test_a_font_that_finds_no_memory() -> None:
    error = RuntimeError("FT_Open_Face (ft2font.cpp line 200) failed with error 0x40: out of memory")
    assert _is_no_memory(error)
    assert not _is_no_memory(RuntimeError("FT_Open_Face (ft2font.cpp line 200) failed with error 0x2"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_what_is_watched(number: signal.Signals, tmp_path: Path) -> None:
    """Under a limit the work is a child's: it gets the signal, and its end is the end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    limit = 8 << 30
    process = subprocess.Popen(
        [sys.executable, "-m", "multitracer", "analyze", str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    with process, open(pipe, "wb"):
        time.sleep(2)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, err
    assert out == b""
    assert len(err.strip().splitlines()) == 1


def test_what_is_to_be_done_at_the_end_is_done() -> None:
    code = (
        "import atexit, sys\n"
        "from multitracer.cli import main\n"
        "atexit.register(print, 'at the end')\n"
        "sys.argv = ['multitracer', 'analyze', '/nowhere/at/all']\n"
        "main.program()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert done.stdout == b"at the end\n"
