"""tcpdump on one end of the link."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import asdict, dataclass

from multitracer.lab.children import Process, spawn, stop, wait_for_text
from multitracer.lab.netns import DEVICE, Namespace
from multitracer.lab.requirements import LabError
from multitracer.linux.interrupt import Interrupt

FLUSH_S = 1.2
"""tcpdump's kernel buffer hands packets over after at most a second: wait this long before stopping it."""


@dataclass(frozen=True)
class CaptureCounts:
    """What tcpdump reported at its end; `dropped` packets were lost to a full buffer."""

    captured: int
    received: int
    dropped: int

    def to_dict(self) -> dict[str, int]:
        """For ``truth.json``."""
        return asdict(self)


class Capture:
    """A running tcpdump.

    Parameters
    ----------
    namespace : Namespace
    path : str
        The pcap file to write.
    snaplen : int
        Bytes kept of each packet; 0: all.
    buffer_kib : int
        Kernel buffer.
    device : str
        Of the namespace.
    """

    def __init__(
        self, namespace: Namespace, path: str, snaplen: int, buffer_kib: int, device: str = DEVICE
    ) -> None:
        argv = ["tcpdump", "-i", device, "-n", "-s", str(snaplen), "-B", str(buffer_kib), "-w", path]
        if _drops_privileges():
            # It would write as another user, and changing users also cancels the parent-death signal.
            argv += ["-Z", "root"]
        self._process: Process = spawn(argv, namespace, stderr=subprocess.PIPE)

    def wait_ready(self, interrupt: Interrupt) -> None:
        """Return once packets are really being captured.

        Raises
        ------
        LabError
            tcpdump ended, with its own words.
        """
        assert self._process.stderr is not None
        said = wait_for_text(self._process, self._process.stderr, b"listening on", interrupt)
        if b"listening on" not in said:
            self.abort()
            raise LabError(
                f"tcpdump does not capture: {said.decode(errors='replace').strip() or 'no message'}"
            )

    def check(self) -> None:
        """Raise LabError if it has ended before its time."""
        if self._process.poll() is not None:
            self.abort()
            status = self._process.returncode
            raise LabError(f"tcpdump ended by itself during the run (status {status})")

    def finish(self) -> CaptureCounts:
        """Stop it and read its counts.

        Raises
        ------
        LabError
            It had ended before its time.
        """
        self.check()
        process = self._process
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=10)
        except subprocess.TimeoutExpired as error:
            self.abort()
            raise LabError("tcpdump does not stop") from error
        numbers = [
            int(match[1]) if (match := re.search(rf"(\d+) packets? {words}", said.decode())) else 0
            for words in ("captured", "received by filter", "dropped by kernel")
        ]
        return CaptureCounts(*numbers)

    def abort(self) -> None:
        """Stop it in any state; nothing if it has ended."""
        stop(self._process)


def _drops_privileges() -> bool:
    said = subprocess.run(["tcpdump", "--help"], capture_output=True, text=True)
    return "-Z" in said.stdout + said.stderr
