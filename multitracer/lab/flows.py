"""The flows of a scenario as processes inside the namespaces, and what they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from multitracer.lab.children import Process, spawn, stop, wait_for_text
from multitracer.lab.counters import Counters
from multitracer.lab.netns import Namespace
from multitracer.lab.requirements import LabError
from multitracer.lab.scenario import Flow, Scenario
from multitracer.linux.interrupt import Interrupt


@dataclass
class FlowResult:
    """What became of one flow, as its two ends report it.

    Attributes
    ----------
    kind : str
    port : int
        The server's.
    from_side : int
        End of the link that sends the data.
    sent, received : int
        Bytes that the applications wrote and read.
    intact : bool or None
        The receiver got exactly the bytes that were sent; None if it is unknown (iperf3, unfinished).
    connect_s, seconds : float or None
        Time until connected, and until both directions were closed, at the client.
    error : str
        Why it failed; "" if it did not.
    tcp_info : dict
        What the client's kernel reported of the connection at its end; empty if it did not.
    """

    kind: str
    port: int
    from_side: int
    sent: int = 0
    received: int = 0
    intact: bool | None = None
    connect_s: float | None = None
    seconds: float | None = None
    error: str = ""
    tcp_info: dict[str, int] = field(default_factory=dict)
    client_done: bool = False
    server_done: bool = False

    @property
    def done(self) -> bool:
        """Nothing more will come of it."""
        return self.client_done and (self.server_done or bool(self.error))

    def to_dict(self) -> dict[str, Any]:
        """For ``truth.json``."""
        return {key: value for key, value in asdict(self).items() if not key.endswith("_done")}


class Traffic:
    """All flows of a run.

    Parameters
    ----------
    scenario : Scenario
    namespaces, addresses : tuple
        Of side 0 and side 1.
    first_port : int
        Flow i is served on ``first_port + i``.
    seed : int
        Of the bytes sent.
    folder : str
        Where iperf3's results go.
    """

    def __init__(
        self,
        scenario: Scenario,
        namespaces: tuple[Namespace, Namespace],
        addresses: tuple[str, str],
        first_port: int,
        seed: int,
        folder: str,
    ) -> None:
        self._namespaces, self._addresses, self._folder = namespaces, addresses, folder
        self.results: list[FlowResult] = []
        self.files: list[str] = []
        self._peers: list[Process] = []
        self._iperf: list[_Iperf] = []
        self._pending: dict[IO[bytes], bytes] = {}
        self._began = 0.0
        parts: tuple[list[Any], list[Any]] = ([], [])
        control = {end: scenario.congestion_control(end) for end in ("sender", "receiver")}
        for index, flow in enumerate(scenario.flows):
            side = scenario.network.sender_side ^ flow.reverse
            result = FlowResult(flow.kind, first_port + index, side)
            self.results.append(result)
            if flow.kind == "iperf3":
                self._iperf.append(
                    _Iperf(flow, result, index, control["receiver" if flow.reverse else "sender"])
                )
                continue
            client = "receiver" if flow.reverse else "sender"
            server = "sender" if flow.reverse else "receiver"
            common = {
                **asdict(flow),
                "address": addresses[1 - side],
                "port": result.port,
                "seed": seed + index,
            }
            parts[side].append((index, {**common, "role": "client", "congestion_control": control[client]}))
            parts[1 - side].append(
                (index, {**common, "role": "server", "congestion_control": control[server]})
            )
        self._parts = parts

    def prepare(self, counters: Sequence[Counters], interrupt: Interrupt) -> None:
        """Start the processes and wait until every server listens.

        Raises
        ------
        LabError
            One of them does not come up.
        """
        script = str(Path(__file__).with_name("traffic.py"))
        for side in (0, 1):
            if not self._parts[side]:
                continue
            argv = [sys.executable, "-I", script, json.dumps(self._parts[side])]
            process = spawn(
                argv,
                self._namespaces[side],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            self._peers.append(process)
            assert process.stdout is not None
            said = wait_for_text(process, process.stdout, b"\n", interrupt)
            if b'"ready"' not in said:
                raise LabError(f"the traffic program does not start: {said.decode(errors='replace').strip()}")
            self._pending[process.stdout] = b""
        for item in self._iperf:
            item.serve(
                self._namespaces[1 - item.result.from_side], self._addresses[1 - item.result.from_side]
            )
            deadline = time.monotonic() + 10
            while not counters[1 - item.result.from_side].listening(item.result.port):
                if time.monotonic() > deadline:
                    raise LabError("iperf3 -s does not listen")
                interrupt.sleep(0.05)

    def go(self) -> None:
        """Let the senders start."""
        self._began = time.monotonic()
        for process in self._peers:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()

    @property
    def watched(self) -> list[IO[bytes]]:
        """Streams to select on."""
        return list(self._pending)

    def take(self, stream: IO[bytes]) -> None:
        """Read reports from a stream that is readable.

        Raises
        ------
        LabError
            If the program that makes the traffic reports anything else.
        """
        part = os.read(stream.fileno(), 65_536)
        if not part:
            del self._pending[stream]
            self._lost()
            return
        lines = (self._pending[stream] + part).split(b"\n")
        self._pending[stream] = lines.pop()
        for line in lines:
            try:
                self._note(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise LabError(f"the traffic program failed: {line.decode(errors='replace')}") from error

    def done(self) -> bool:
        """Whether all flows have ended; it also starts and collects iperf3 (call it repeatedly)."""
        for item in self._iperf:
            item.attend(
                time.monotonic() - self._began,
                self._namespaces[item.result.from_side],
                self._addresses[1 - item.result.from_side],
                self._folder,
                self.files,
            )
        return all(result.done for result in self.results)

    def stop(self) -> None:
        """End every process that is still there."""
        for process in self._peers:
            stop(process)
        for item in self._iperf:
            item.stop()

    def _note(self, facts: dict[str, Any]) -> None:
        result = self.results[facts["flow"]]
        if "received" in facts:
            result.received = facts["received"]
        if not facts.get("done"):
            return
        if facts["error"]:
            result.error = f"{facts['role']}: {facts['error']}"
        if facts["role"] == "client":
            result.client_done, result.sent = True, facts["sent"]
            result.tcp_info = facts["tcp_info"]
            result.connect_s, result.seconds = round(facts["connect_s"], 6), round(facts["seconds"], 6)
        else:
            result.server_done, result.intact = True, facts["intact"]

    def _lost(self) -> None:
        """A program closed its output: what its flows did not report will not come any more."""
        for result in self.results:
            if result.kind != "iperf3" and not self._pending and not result.done:
                result.error = result.error or "the traffic program ended early"
                result.client_done = True


class _Iperf:
    """One flow by iperf3."""

    def __init__(self, flow: Flow, result: FlowResult, index: int, control: str) -> None:
        self.flow, self.result, self.index, self.control = flow, result, index, control
        self._server: Process | None = None
        self._client: Process | None = None
        self._output = ""

    def serve(self, namespace: Namespace, address: str) -> None:
        port = str(self.result.port)
        self._server = spawn(["iperf3", "-s", "-1", "-B", address, "-p", port], namespace)

    def attend(
        self, elapsed_s: float, namespace: Namespace, address: str, folder: str, files: list[str]
    ) -> None:
        if self._client is None:
            if elapsed_s < self.flow.start_s:
                return
            name = f"iperf3-{self.index}.json" if self.index else "iperf3.json"
            files.append(name)
            self._output = os.path.join(folder, name)
            argv = [
                "iperf3",
                "-c",
                address,
                "-p",
                str(self.result.port),
                "-n",
                str(self.flow.bytes),
                "-J",
                "-C",
                self.control,
            ]
            with open(self._output, "wb") as out:
                self._client = spawn(argv, namespace, stdout=out, stderr=subprocess.STDOUT)
        elif not self.result.done and self._client.poll() is not None:
            self._collect()

    def _collect(self) -> None:
        self.result.client_done = self.result.server_done = True
        try:
            with open(self._output, encoding="utf-8") as file:
                report = json.load(file)
            self.result.error = str(report.get("error", ""))
            end = report.get("end", {})
            self.result.sent = int(end.get("sum_sent", {}).get("bytes", 0))
            self.result.received = int(end.get("sum_received", {}).get("bytes", 0))
        except (OSError, ValueError, AttributeError) as error:
            self.result.error = f"iperf3 left no result: {error}"

    def stop(self) -> None:
        for process in (self._client, self._server):
            if process is not None:
                stop(process)
