"""The capture of a recording: tcpdump where it is installed, else a packet socket of our own."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from multitracer.record.system import Process, RecordError, spawn, stop

FLUSH_S = 1.1
"""tcpdump's kernel buffer hands packets over after at most a second: wait this long before stopping it."""


class Capturing:
    """A running capture.

    Parameters
    ----------
    folder : str
        Where the capture goes.
    interface : str
    filter : str
        In tcpdump's language; "" for all.
    snaplen : int
        Bytes kept of each packet; 0: all.
    buffer_kib : int
        Kernel buffer.
    comment : str
        About host and kernel, where the format holds any.

    Raises
    ------
    RecordError
        It does not start; the message has the capturing program's own words.
    """

    def __init__(
        self, folder: str, interface: str, filter: str, snaplen: int, buffer_kib: int, comment: str
    ) -> None:
        self.tcpdump = shutil.which("tcpdump")
        self.dropped: int | None = None
        if self.tcpdump is not None:
            self.name = "capture.pcap"
            argv = [self.tcpdump, "-i", interface, "-n", "-s", str(snaplen), "-B", str(buffer_kib)]
            argv += ["--time-stamp-precision=nano", "-U", "-w", os.path.join(folder, self.name)]
            if os.geteuid() == 0 and _drops_privileges(self.tcpdump):
                # It would write as another user, and changing users also cancels the parent-death signal.
                argv += ["-Z", "root"]
            argv += [filter] if filter else []
        else:
            if filter:
                raise RecordError("--filter needs tcpdump, which is not installed")
            self.name = "capture.pcapng"
            argv = [sys.executable, "-m", "multitracer.record.packetsocket", interface]
            argv += [os.path.join(folder, self.name), str(snaplen), str(buffer_kib), comment]
        self.path = os.path.join(folder, self.name)
        self._process: Process = spawn(argv, stderr=subprocess.PIPE)
        self._said = b""
        self._await()

    def _await(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        deadline = time.monotonic() + 10.0
        while b"listening on" not in self._said:
            ready, _, _ = select.select([stream], [], [], max(deadline - time.monotonic(), 0))
            part = os.read(stream.fileno(), 65_536) if ready else b""
            if not part:
                stop(self._process)
                words = self._said.decode(errors="replace").strip().splitlines()
                raise RecordError(f"the capture does not start: {words[-1] if words else 'no message'}")
            self._said += part

    @property
    def running(self) -> bool:
        """Whether it still captures (a full disk or a removed interface ends it)."""
        return self._process.poll() is None

    def finish(self) -> str:
        """Stop it; why it had ended before, or ""."""
        early = not self.running
        if not early:
            time.sleep(FLUSH_S)
            self._process.send_signal(signal.SIGINT)
        try:
            _, said = self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            stop(self._process)
            return "the capture did not stop"
        words = (self._said + said).decode(errors="replace")
        match = re.search(r"(\d+) packets? dropped by kernel", words)
        if match:
            self.dropped = int(match[1])
        if not early:
            return ""
        lines = [line for line in words.splitlines() if "listening on" not in line and not line[:1].isdigit()]
        return "the capture ended by itself: " + (lines[-1].strip() if lines else "no word")

    def abort(self) -> None:
        """Stop it in any state."""
        stop(self._process)


def _drops_privileges(tcpdump: str) -> bool:
    said = subprocess.run([tcpdump, "--help"], capture_output=True, text=True)
    return "-Z" in said.stdout + said.stderr
