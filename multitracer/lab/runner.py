"""One measurement from start to end.

Two network namespaces with a TUN device each, a link model between them, traffic inside, all layers recorded;
or real interfaces and a router in the place of devices and model.
Whatever happens (an error, Ctrl-C, a kill) nothing stays behind: namespaces, devices and the tracefs mount
are nothing but descriptors of this process, helpers die with it, and the trace instance has a guardian.

Reference: Paper 4.2, Figure 3.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any

from multitracer.lab.capture import FLUSH_S, Capture
from multitracer.lab.counters import Counters
from multitracer.lab.cutting import cut
from multitracer.lab.flows import FlowResult, Traffic
from multitracer.lab.interfaces import RealLink, Router, Watch
from multitracer.lab.link import Link
from multitracer.lab.measurement_dir import MeasurementDir
from multitracer.lab.models import build_link
from multitracer.lab.netns import DEVICE, Namespace, Slot
from multitracer.lab.path import PathLink
from multitracer.lab.pump import Pump
from multitracer.lab.qdisc import Qdisc
from multitracer.lab.recorders import open_recorder, replaces_log
from multitracer.lab.requirements import LabError, require
from multitracer.lab.sampling import SsSampler
from multitracer.lab.scenario import TCP_BASELINE, Scenario, SysctlValue
from multitracer.lab.tap import TapWriter
from multitracer.lab.tracepoints import Tracepoints
from multitracer.lab.truth import lab_facts, measurement_toml, truth_json
from multitracer.lab.tun import Tun
from multitracer.linux.interrupt import Interrupt

_TICK_S = 0.25


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    phase : str
        "setting up", "transfer", "closing", "writing".
    elapsed_s : float
        Since the traffic started.
    received_bytes, total_bytes : int
        Of all flows.
    """

    phase: str
    elapsed_s: float = 0.0
    received_bytes: int = 0
    total_bytes: int = 0


@dataclass
class RunResult:
    """A finished run.

    Attributes
    ----------
    path : str
        The measurement directory.
    seconds : float
        Length of the transfer.
    flows : list of FlowResult
    warnings : list of str
        What went wrong without spoiling the measurement as a whole.
    """

    path: str
    seconds: float
    flows: list[FlowResult]
    warnings: list[str] = field(default_factory=list)


def run(
    scenario: Scenario,
    out: str,
    seed: int = 1,
    progress: Callable[[Progress], None] | None = None,
    link: Link | None = None,
) -> RunResult:
    """Make one measurement.

    Parameters
    ----------
    scenario : Scenario
    out : str
        Directory to make; must not exist (or be empty). It appears when the measurement is complete.
    seed : int
        Of everything random on the link.
    progress : callable, optional
        Called some four times a second, in the loop that carries the packets: it must be quick.
    link : Link, optional
        A link of one's own instead of the scenario's.

    Raises
    ------
    LabError
        Something is missing on this machine, or a step failed.
    KeyboardInterrupt
        SIGINT, SIGTERM or SIGHUP came; nothing is left behind.
    """
    require(scenario.programs)
    with Interrupt() as interrupt, ExitStack() as stack:
        directory = MeasurementDir(out)
        stack.callback(directory.discard)
        try:
            return _Run(scenario, seed, directory, interrupt, stack, progress, link).execute()
        except OSError as error:
            raise LabError(f"a step of the run failed: {error}") from error


class _Run:
    """The steps; `stack` undoes them in reverse order."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        directory: MeasurementDir,
        interrupt: Interrupt,
        stack: ExitStack,
        progress: Callable[[Progress], None] | None,
        link: Link | None,
    ) -> None:
        self.scenario, self.seed, self.directory = scenario, seed, directory
        self.interrupt, self.stack, self.progress = interrupt, stack, progress
        self.files = ["snd.pcap", "rcv.pcap"]
        settings = dict(scenario.link)
        if scenario.trace.gsmtap and settings.get("model") == "rlp":
            settings["raw_frames"] = True
        self.link = link or build_link(settings, seed)
        self.total = sum(flow.payload_bytes for flow in scenario.flows)
        self.began_s = time.monotonic()
        self.warnings: list[str] = []

    def execute(self) -> RunResult:
        self._tell("setting up")
        self._network()
        self._observers()
        self._traffic()
        self._transfer()
        self._close()
        self._tell("writing")
        self._write()
        self.directory.complete()
        return RunResult(self.directory.path, round(self.seconds, 3), self.traffic.results, self.warnings)

    def _network(self) -> None:
        scenario, stack = self.scenario, self.stack
        self.sender = scenario.network.sender_side
        self.slot = Slot()
        stack.callback(self.slot.close)
        self.addresses = self.slot.addresses()
        spaces: list[Namespace] = []
        self.tuns: list[Tun] = []
        real = isinstance(self.link, RealLink)
        for side in (0, 1):
            space = Namespace()
            stack.callback(space.close)
            _sysctls(space, scenario.sysctls("sender" if side == self.sender else "receiver"))
            spaces.append(space)
            if not real:
                tun = Tun(space, scenario.network.offload)
                stack.callback(tun.close)
                space.set_up(self.addresses[side], self.addresses[1 - side], scenario.network.mtu_bytes)
                self.tuns.append(tun)
            self.interrupt.check()
        self.namespaces = (spaces[0], spaces[1])
        self.router = self._router(self.link) if isinstance(self.link, RealLink) else None
        self.qdisc = self._qdisc()
        self.counters = (Counters(spaces[0]), Counters(spaces[1]))
        for counters in self.counters:
            stack.callback(counters.close)

    def _router(self, link: RealLink) -> Router:
        network = self.scenario.network
        return Router(
            self.namespaces,
            self.addresses,
            network.mtu_bytes,
            self.sender,
            network.offload,
            link.settings.gro,
            self.stack,
        )

    def _qdisc(self) -> Qdisc | None:
        wanted = self.scenario.network.qdisc
        if not wanted.kind:
            return None
        if wanted.at == "router":
            assert self.router is not None
            return Qdisc(self.router.namespace, self.router.device(1 - self.sender), wanted)
        return Qdisc(self.namespaces[self.sender], DEVICE, wanted)

    def _middle(self) -> list[tuple[str, Namespace, str]]:
        """Start the captures between hops; those that are tcpdump's are yet to be started."""
        self.taps: dict[str, TapWriter] = {}
        if not self.scenario.trace.middle:
            return []
        if isinstance(self.link, PathLink):
            count = len(self.link.hops) - 1
            names = ["mid.pcap"] if count == 1 else [f"mid{number + 1}.pcap" for number in range(count)]
            taps = [TapWriter(self.directory.file(name), self.scenario.trace.snaplen) for name in names]
            for tap in taps:
                self.stack.callback(tap.close)
            self.taps = dict(zip(names, taps, strict=True))
            self.link.on_tap = lambda number, t_ns, packet: taps[number].write(t_ns, packet)
            return []
        assert isinstance(self.link, RealLink)
        assert self.router is not None
        side = self.sender if self.link.settings.tap == "sender" else 1 - self.sender
        return [("mid.pcap", self.router.namespace, self.router.device(side))]

    def _observers(self) -> None:
        scenario, trace = self.scenario, self.scenario.trace
        self.captures: dict[str, Capture] = {}
        ends = [
            ("snd.pcap", self.namespaces[self.sender], DEVICE),
            ("rcv.pcap", self.namespaces[1 - self.sender], DEVICE),
        ]
        for name, space, device in [*ends, *self._middle()]:
            path = self.directory.file(name)
            capture = Capture(space, path, trace.snaplen, trace.capture_buffer_kib, device)
            self.stack.callback(capture.abort)
            self.captures[name] = capture
        for capture in self.captures.values():
            capture.wait_ready(self.interrupt)
        self.tracepoints: Tracepoints | None = None
        if trace.events:
            first = self.slot.port
            self.tracepoints = Tracepoints(
                f"multitracer-{self.slot.number}",
                self.directory.file("tcp_probe.txt"),
                range(first, first + len(scenario.flows)),
                trace.event_names,
                trace.event_clock,
                trace.event_buffer_kib,
            )
            self.stack.callback(self.tracepoints.close)
        self.log: IO[str] | None = None
        header = None if isinstance(self.link, RealLink) else self.link.log_header()
        if header is not None:
            # Two logs of one link would count its frames twice.
            self.log_name = "frames/rlp.log" if replaces_log(self.link) else "rlp.log"
            path = self.directory.file(self.log_name)
            self.log = open(path, "w", encoding="utf-8", buffering=1 << 20)  # noqa: SIM115 - the stack closes it
            self.stack.enter_context(self.log)
            self.log.write(header + "\n")

    def _traffic(self) -> None:
        self.traffic = Traffic(
            self.scenario,
            self.namespaces,
            self.addresses,
            self.slot.port,
            self.seed,
            self.directory.folder,
        )
        self.stack.callback(self.traffic.stop)
        self.traffic.prepare(self.counters, self.interrupt)
        self.sampler: SsSampler | None = None
        if self.scenario.trace.ss:
            path = self.directory.file("ss.log")
            self.sampler = SsSampler(self.namespaces[self.sender], path, self.scenario.trace.ss_interval_s)
            self.stack.callback(self.sampler.stop)
        self.start_ns = time.time_ns()
        self.frames = open_recorder(
            self.link, self.scenario.trace.gsmtap, self.directory.file, self.addresses, self.start_ns
        )
        if self.frames is not None:
            self.stack.callback(self.frames.close)
        self.pump: Pump | Watch
        if isinstance(self.link, RealLink):
            assert self.router is not None
            self.pump = Watch(self.router)
        else:
            self.pump = Pump(self.link, (self.tuns[0], self.tuns[1]), self.log, self.frames)
        self.stack.callback(self.pump.release)

    def _transfer(self) -> None:
        self.began_s = time.monotonic()
        self.traffic.go()
        next_tick = self.began_s
        while True:
            for stream in self.pump.step([*self.traffic.watched, self.interrupt], _TICK_S):
                if stream is not self.interrupt:
                    self.traffic.take(stream)
            self.interrupt.check()
            now = time.monotonic()
            if now < next_tick:
                continue
            next_tick = now + _TICK_S
            self._tell("transfer")
            for capture in self.captures.values():
                capture.check()
            if self.traffic.done():
                break
            if getattr(self.link, "down_cause", ""):
                self.warnings.append(f"the call was dropped after {now - self.began_s:.1f} s")
                break
            if now - self.began_s > self.scenario.limit_s:
                self.warnings.append(f"the transfer was stopped after {self.scenario.limit_s:g} s (limit_s)")
                break
        self.seconds = time.monotonic() - self.began_s
        self.traffic.stop()

    def _close(self) -> None:
        """Let connections finish and packets arrive, and tcpdump's buffers run empty."""
        network = self.scenario.network
        begin = time.monotonic()
        quiet_ns = round(max(network.quiet_s, FLUSH_S) * 1e9)
        next_tick = begin
        left = 1
        while (
            time.monotonic() < begin + network.drain_s or time.time_ns() < self.pump.last_packet_ns + quiet_ns
        ):
            self.pump.step([self.interrupt], _TICK_S / 5)
            self.interrupt.check()
            if time.monotonic() < next_tick:
                continue
            next_tick = time.monotonic() + _TICK_S
            left = sum(counters.open_sockets() for counters in self.counters)
            self._tell("closing")
            if not left and time.time_ns() - self.pump.last_packet_ns >= quiet_ns:
                break
            if time.monotonic() > begin + network.drain_s + 30:
                break
        if left:
            self.warnings.append(f"{left} connection ends were still open after {network.drain_s:g} s")
        self.left_open = left
        self.pump.finish()
        self.pump.release()

    def _write(self) -> None:
        directory = self.directory
        if self.sampler is not None:
            self.sampler.stop()
        counts = {name: capture.finish() for name, capture in self.captures.items()}
        for tap in self.taps.values():
            tap.close()
        self.files.extend(sorted({*self.captures, *self.taps} - {*self.files}))
        self._cut()
        for name, count in counts.items():
            if count.dropped:
                self.warnings.append(
                    f"{name}: tcpdump lost {count.dropped} packets; raise trace.capture_buffer_kib"
                )
        overrun = 0
        last_ss = self.sampler.last() if self.sampler is not None else []
        if self.tracepoints is not None:
            self.tracepoints.finish(self.addresses)
            overrun = self.tracepoints.overrun
            if overrun:
                self.warnings.append(f"{overrun} kernel events were lost; raise trace.event_buffer_kib")
            self.files.append(directory.compress("tcp_probe.txt"))
        if self.sampler is not None:
            self.files.append(directory.compress("ss.log"))
        if self.log is not None:
            self.log.close()
            name = directory.compress(self.log_name)
            self.files.append(replaces_log(self.link) or name)
        if self.frames is not None:
            self.frames.close()
        self.files.extend(self.traffic.files)
        directory.write_json(
            "kernel.json",
            {
                "sender": self.counters[self.sender].tcp(),
                "receiver": self.counters[1 - self.sender].tcp(),
            },
        )
        for flow in self.traffic.results:
            if flow.error:
                self.warnings.append(f"flow on port {flow.port}: {flow.error}")
        lateness = self.pump.lateness
        if lateness.bad:
            share = lateness.late / max(1, lateness.events)
            self.warnings.append(
                f"the machine was too busy: {share:.0%} of the link's events more than 5 ms late, "
                f"up to {lateness.max_ms:.0f} ms; run fewer at a time"
            )
        facts = lab_facts(counts, lateness, [tun.refused for tun in self.tuns], overrun, self.left_open)
        truth = truth_json(self.scenario, self.seed, self.traffic.results, self.link.truth, facts)
        truth["seconds"] = round(self.seconds, 6)
        truth["qdisc"] = self.qdisc.truth() if self.qdisc is not None else None
        truth["last_ss"] = last_ss
        directory.write_json("truth.json", truth)
        toml = measurement_toml(self.scenario, self.seed, self.start_ns, self.files, lateness)
        directory.write_toml("measurement.toml", toml)

    def _cut(self) -> None:
        """Leave of the captures what one that began late or ended early would hold."""
        trace = self.scenario.trace
        if not trace.begin_s and not trace.end_s:
            return
        begin_ns = self.start_ns + round(trace.begin_s * 1e9)
        end_ns = self.start_ns + round(trace.end_s * 1e9) if trace.end_s else 1 << 62
        for name in (*self.captures, *self.taps):
            whole = self.directory.file(f"whole/{name}")
            os.rename(self.directory.file(name), whole)
            cut(whole, self.directory.file(name), begin_ns, end_ns)

    def _tell(self, phase: str) -> None:
        if self.progress is None:
            return
        results: list[Any] = self.traffic.results if hasattr(self, "traffic") else []
        received = sum(result.received for result in results)
        self.progress(Progress(phase, time.monotonic() - self.began_s, received, self.total))


def _sysctls(namespace: Namespace, chosen: dict[str, SysctlValue]) -> None:
    """The baseline where the kernel has it, the scenario's own settings without mercy."""
    wanted = str({**TCP_BASELINE, **chosen}["congestion_control"])
    offered = (namespace.sysctl_value("net.ipv4.tcp_available_congestion_control") or "").split()
    if wanted not in offered:
        raise LabError(
            f"this kernel offers no congestion control {wanted!r}, only {', '.join(offered)}; "
            f"modprobe tcp_{wanted}, or --set tcp.congestion_control={offered[0] if offered else 'reno'}"
        )
    for name, value in {**TCP_BASELINE, **chosen}.items():
        if name == "congestion_control":
            continue  # set on each socket: a namespace may not default to what the machine reserves for root
        full = f"net.ipv4.tcp_{name}"
        if name in chosen or namespace.sysctl_value(full) is not None:
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            namespace.sysctl(full, text)
