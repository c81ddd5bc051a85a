"""A loop of `ss` during the run: the kernel's view of the sender's connections, once per interval."""

from __future__ import annotations

import signal

from multitracer.lab.children import Process, spawn, stop
from multitracer.lab.netns import Namespace

# The loop ends with its parent even where no parent-death signal reaches it.
_LOOP = 'while kill -0 "$PPID" 2>/dev/null; do date +%s.%N; ss -tinOH; sleep "$1"; done'


class SsSampler:
    """Writes a time stamp and one line per connection, again and again.

    Parameters
    ----------
    namespace : Namespace
    path : str
        The log to write.
    interval_s : float
        Pause between two samples.
    """

    def __init__(self, namespace: Namespace, path: str, interval_s: float) -> None:
        self._path = path
        with open(path, "wb") as log:
            self._process: Process = spawn(
                ["sh", "-c", _LOOP, "sh", f"{interval_s:g}"], namespace, stdout=log, stderr=log
            )

    def last(self) -> list[str]:
        """The last line of each connection that `ss` has shown, in the order of their ports."""
        with open(self._path, encoding="ascii", errors="replace") as log:
            seen = {tuple(words[3:5]): line for line in log if len(words := line.split()) > 5}
        return [seen[ends].strip() for ends in sorted(seen)]

    def stop(self) -> None:
        """End the loop."""
        stop(self._process, signal.SIGTERM)
