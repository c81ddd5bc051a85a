"""How a command ended, and what of that is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import threading
import time
import traceback
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

STATUSES = {"analyze": {0, 2, 3, 4}, "follow": {0, 2, 3, 4}}
USUAL = {0, 2, 3}
TIME_S = 60
"""Of the processor: a busy machine is no fault."""
WAITING_S = 600
"""On the clock: what waits so long hangs."""
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_NO_NUMBER = re.compile(r"(?<![\w.-])(?:nan|-?inf)(?= ?(?:%|[mun]?s\b|min\b|[kMG]?(?:bit/s|B|bytes)\b))")
_ISSUES = re.compile(r"^(?:error|warning|note): ", re.MULTILINE)
"""Where lines of the traces begin to be quoted."""
_FAULT = re.compile(r'"kind": ?"(?:fault|worker-died|time-limit|output)"')
PARTS = 7
"""In which a followed capture is written."""


class TooLongError(BaseException):
    """A command took more than its time."""


def _late(_number: int, _frame: object) -> NoReturn:
    raise TooLongError


def listen() -> None:
    """Let a command that takes too long end in `TooLongError`."""
    signal.signal(signal.SIGALRM, _late)
    signal.signal(signal.SIGPROF, _late)


def fault_of(words: list[str], made: Path) -> str | None:
    """What is wrong with how a command ended; None if nothing is.

    Parameters
    ----------
    words : list of str
        Command and arguments. `follow` is `analyze` of a pipe into which the file is written meanwhile.
    made : Path
        The directory where its output goes.
    """
    from multitracer.cli.main import main

    name = words[0]
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace"), io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, TIME_S)
    signal.alarm(WAITING_S)
    try:
        with contextlib.ExitStack() as stack:
            if name == "follow":
                words = ["analyze", stack.enter_context(_piped(words[1], made, err)), *words[2:]]
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("error")
            status = main(words)
    except TooLongError:
        return f"more than {TIME_S} s of work or {WAITING_S} s"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    out.flush()
    text = out.buffer.getvalue().decode("utf-8", "backslashreplace")  # type: ignore[attr-defined]
    return _judged(name, words, status, text, err.getvalue(), made)


def _judged(name: str, words: list[str], status: int, out: str, err: str, made: Path) -> str | None:
    told = [line for line in err.splitlines() if not line.startswith("multitracer: http://127.0.0.1:")]
    if status not in STATUSES.get(name, USUAL):
        return f"status {status}: {err}"
    if err.startswith("Usage: multitracer") and status == 2:
        return None
    # `info` and `batch` list what cannot be read on standard output.
    if status and len(told) != (0 if name in ("info", "batch") and out else 1):
        return f"status {status} in {len(told)} lines: {err}"
    if found := _STEERING.search(err) or (name != "events" and _STEERING.search(out)):
        return f"control character {found[0]!r} in the output"
    if "--json" in words and (out or not status) and (wrong := _not_json(out, name == "follow")):
        return f"no JSON: {wrong}"
    if name in ("batch", "compare") and (lost := _FAULT.search(out)):
        return f"{lost[0]}: {out[lost.start() :][:300]}"
    if (
        "--json" not in words
        and name in ("analyze", "explain", "compare")
        and (found := _NO_NUMBER.search(_ISSUES.split(out)[0]))
    ):
        return f"{found[0]!r} in the text: {out[max(found.start() - 60, 0) :][:120]}"
    left = [one.name for one in made.iterdir() if one.name.startswith(".multitracer-")]
    if left or (status in (2, 3) and name not in ("batch", "follow") and any(made.iterdir())):
        return f"status {status} left files: {sorted(one.name for one in made.iterdir())}"
    return None


def _not_json(text: str, is_lines: bool) -> str:
    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no number of JSON")

    try:
        for one in text.splitlines() if is_lines else [text]:
            json.loads(one, parse_constant=refuse)
    except ValueError as error:
        return str(error)
    return ""


@contextlib.contextmanager
def _piped(path: str, made: Path, err: io.StringIO) -> Iterator[str]:
    """A pipe into which the file is written in parts; a page that is served is asked for meanwhile."""
    pipe = made / "pipe"
    os.mkfifo(pipe)
    content = Path(path).read_bytes()
    size = len(content) // PARTS + 1

    def write() -> None:
        with contextlib.suppress(OSError), open(pipe, "wb", buffering=0) as stream:
            for at in range(0, len(content), size):
                stream.write(content[at : at + size])
                _asked(err.getvalue())
                time.sleep(0.03)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield str(pipe)
    finally:
        with contextlib.suppress(OSError):  # a command that never opened it leaves the writer waiting
            os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        writer.join(WAITING_S)
        pipe.unlink()


def _asked(told: str) -> None:
    found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", told)
    if found:
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(found[0] + "state", timeout=5) as answer:
                state = answer.read()
            assert isinstance(json.loads(state), dict)
