"""Progress is drawn on a terminal only, and only of what takes a while."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from multitracer.cli import progress as module
from multitracer.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", found := Terminal())
    return found


def test_no_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("reading") as step:
        assert step is None


def test_what_ends_soon_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(module, "WAIT_S", 3600)
    with progress("reading") as step:
        assert step is not None
        step(0, 1, "a.pcap")
    assert terminal.getvalue() == ""
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_what_lasts_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(module, "WAIT_S", 0)
    seen = threading.Event()
    write = terminal.write

    def watched(text: str) -> int:
        if "timeline" in text:
            seen.set()
        return write(text)

    monkeypatch.setattr(terminal, "write", watched)
    with progress("reading") as step:
        assert step is not None
        step(0, 2, "no-such-file.pcap")
        step(1, 2, "timeline")
        assert seen.wait(60)
    assert "reading" in terminal.getvalue()
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())
