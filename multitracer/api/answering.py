"""The answers to questions: what each needs, in which order they are asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from multitracer import registry
from multitracer.analyzers._needs import QUESTIONS, Question
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.errors import MultiTracerError, UsageError
from multitracer.model.timeline import Timeline
from multitracer.native import memory

FULL_KEEPS = "; --full keeps them"
"""How the issue ends of connections that are too many only where the caller leaves it open."""

_PROVIDERS = {
    "link_frames|link_events": "a link log",
    "link_frames|link_events|segments": "a link log, or a capture at the data sender",
    "segments": "a packet capture with TCP segments (pcap, pcapng)",
    "arrivals": "a packet capture with TCP segments",
    "retransmissions": "a packet capture with retransmissions",
    "timeouts": "a packet capture",
    "tcp_states": "a kernel log of TCP state (tcp_probe, ss, siftr, iperf3)",
    "conditions": "a log of numbers of the link over time (RSRP, SNR ...)",
    "logged": "a log of TCP state or of a speed test, of a transfer that no capture holds",
    "kernel_events": "a kernel event log (ftrace)",
    "link_frames": "a link log (rlpdump, GSMTAP)",
    "link_events": "a link log with signals (rlpdump)",
    "rlc_pdus": "a capture or log of RLC PDUs",
    "dccp_packets": "a capture of DCCP",
    "energy": "a simulation's trace with the energy of its nodes (ns-2)",
    "flow_totals": "totals of flows that a simulator counted (FlowMonitor)",
    "packet_drops": "a simulation's trace with its drops (ns-2)",
    "snd": "a capture next to the data sender",
    "rcv": "a capture next to the data receiver",
    "mid": "a capture taken between both ends",
}


def answer(
    known: Mapping[str, Analyzer], name: str, measurement: Timeline, results: Mapping[str, Result]
) -> Result:
    """The answer to a question, or why there is none; an analyzer that cannot answer is not loaded.

    Parameters
    ----------
    known : mapping of str to Analyzer
        Analyzers by name: built-in ones, those of plug-ins and those that the caller gives.
    name : str
        The analyzer to ask.
    measurement : Timeline
    results : mapping of str to Result
        What analyzers that were asked before have answered, by name.

    Returns
    -------
    Result
        With `inconclusive` set where the measurement lacks what the question needs.
    """
    question = registry.question(known, name)
    found = _answered(known, name, question, measurement, results)
    key = question.key if isinstance(question, Analyzer) else ""
    return replace(found, key=key) if key else found


def _answered(
    known: Mapping[str, Analyzer],
    name: str,
    question: Question | Analyzer,
    measurement: Timeline,
    results: Mapping[str, Result],
) -> Result:
    reason = missing(question, measurement, results)
    if reason is not None:
        # What another answer lacks is passed on in its own words.
        said = {result.inconclusive for result in results.values()}
        return Result(name, inconclusive=reason if reason in said else f"needs {reason}")
    analyzer = known[name]
    try:
        return analyzer.run(measurement, results)
    except MultiTracerError as error:
        return Result(name, inconclusive=str(error))
    except Exception as error:
        # A fault in a built-in analyzer must be seen; a plug-in's must not take the other answers with it.
        if name in registry.ANALYZERS:
            raise
        warnings.warn(f"analyzer {name!r} failed: {error!r}", stacklevel=3)
        return Result(name, inconclusive=f"the analyzer failed: {error!r}")


def arises(known: Mapping[str, Analyzer], name: str, measurement: Timeline) -> bool:
    """Whether a question is to be asked at all: one about a special kind of trace only where there is one.

    Parameters
    ----------
    known : mapping of str to Analyzer
        Analyzers by name.
    name : str
        The analyzer.
    measurement : Timeline
    """
    question = registry.question(known, name)
    return not question.specific or missing(question, measurement, {}) is None


def modules(without: Container[str] = ()) -> list[str]:
    """The modules of the built-in analyzers that answer what is asked of any capture.

    Parameters
    ----------
    without : container of str
        Names that are not asked for.
    """
    asked = [name for name in registry.ANALYZERS if name in QUESTIONS and name not in without]
    return [registry.ANALYZERS[name].partition(":")[0] for name in asked if _of_a_capture(QUESTIONS[name])]


def _of_a_capture(question: Question) -> bool:
    return all(need.startswith("result:") or "segments" in need.split("|") for need in question.needs)


def missing(
    question: Question | Analyzer, measurement: Timeline, results: Mapping[str, Result]
) -> str | None:
    """What a question lacks, in words; None if it can be answered.

    Parameters
    ----------
    question : Question | Analyzer
        Its `needs` are tables, observation points, and results of other analyzers (``result:<name>``).
    measurement : Timeline
    results : mapping of str to Result
        What was answered before, by name.
    """
    for need in question.needs:
        if need.startswith("result:"):
            names = needed(need)
            for name in names:
                if name not in results:
                    return f"the analyzer {name}, which does not exist"
            reason = results[names[0]].inconclusive
            if reason is not None and all(results[name].inconclusive is not None for name in names):
                return reason.removeprefix("needs ")
        elif need in ("snd", "rcv"):
            if getattr(measurement, need) is None:
                return _PROVIDERS[need]
        elif need == "logged":
            if not _logged(measurement):
                return _PROVIDERS[need]
        elif need == "conditions":
            if not _conditions(measurement):
                return _PROVIDERS[need]
        elif need == "mid":
            if not any(source.point == "mid" for source in measurement.sources):
                return _PROVIDERS[need]
        elif measurement.summarised and need in ("segments", "arrivals", "retransmissions", "timeouts"):
            found = [one for trace in measurement.traces for one in trace.issues]
            many = [one for one in found if one.code == "too-many-connections"]
            if any(one.detail.endswith(FULL_KEEPS) for one in many):
                return "single segments, which are not kept for so many connections: use --full"
            if many:
                return "single segments, which are not kept for so many connections: take some packets out"
            return "single segments, which a summary does not keep (large capture): use --full"
        elif not measurement.rows(*need.split("|")):
            return _PROVIDERS.get(need, f"rows in the table {need}")
    if {"segments", "link_frames"} <= set(question.needs) and measurement.link_is_apart:
        return "a link log on the timeline of the captures: state its clock_offset_s in measurement.toml"
    return None


def _logged(measurement: Timeline) -> bool:
    """Whether a log reports a transfer that no capture holds."""
    if not measurement.rows("tcp_states", "series"):
        return False
    from multitracer.layers.logged import uncaptured

    return bool(uncaptured(measurement))


def _conditions(measurement: Timeline) -> bool:
    """Whether a log has numbers of a link over time."""
    if not measurement.rows("series"):
        return False
    from multitracer.layers.logged import conditions

    return bool(conditions(measurement))


def needed(need: str) -> list[str]:
    """Analyzers of a need for results: of those joined by "|", one that answers is enough."""
    return need.removeprefix("result:").split("|")


def order(known: Mapping[str, Analyzer], wanted: list[str], measurement: Timeline) -> list[str]:
    """Names of the analyzers to run, what is needed first.

    Parameters
    ----------
    known : mapping of str to Analyzer
        Analyzers by name.
    wanted : list of str
        Those to run.
    measurement : Timeline
        Some results are used only where it has a log of the link.

    Returns
    -------
    list of str
        Those wanted, and what they need or use.

    Raises
    ------
    UsageError
        If analyzers need each other in a circle.
    """
    graph: dict[str, list[str]] = {}
    todo = list(wanted)
    along_the_link = measurement.rows("link_frames", "link_events") > 0
    while todo:
        name = todo.pop()
        if name in graph:
            continue
        question = registry.question(known, name)
        before = [name for need in question.needs if need.startswith("result:") for name in needed(need)]
        uses = question.uses + (question.link_uses if along_the_link else ())
        before += [use.removeprefix("result:") for use in uses]
        graph[name] = [other for other in before if other in known and other != name]
        todo += graph[name]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise UsageError(f"analyzers need each other in a circle: {' -> '.join(error.args[1])}") from error


def answers(
    measurement: Timeline,
    only: Iterable[str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    without: Container[str] = (),
) -> dict[str, Result]:
    """Results of all analyzers, or of some and what they need.

    Parameters
    ----------
    measurement : Timeline
    only : iterable of str, optional
        Names; None: all that arise.
    progress : callable, optional
        ``progress(done, total, name)``, called before each.
    without : container of str
        Of all that arise, names that are not asked for; what others need of them is answered nevertheless.

    Returns
    -------
    dict of str to Result
        Of those that were asked for.

    Raises
    ------
    UsageError
        An unknown name.
    """
    known = registry.analyzers()
    if only is None:
        wanted = [name for name in known if name not in without and arises(known, name, measurement)]
    else:
        wanted = list(only)
    for name in wanted:
        if name not in known:
            raise UsageError(f"unknown analyzer {name!r}; known are {', '.join(known)}")
    steps = order(known, wanted, measurement)
    results: dict[str, Result] = {}
    many = measurement.rows("segments") >= memory.MANY
    for done, name in enumerate(steps):
        if progress:
            progress(done, len(steps), name)
        results[name] = answer(known, name, measurement, results)
        if many:
            memory.give_back()
    return {name: results[name] for name in known if name in wanted}


class WhenAsked(registry.OnDemand[Result]):
    """The results of all analyzers that arise, each made when it is looked up, and what it needs before it.

    A figure looks up a few of them: it does not wait for the others.

    Parameters
    ----------
    measurement : Timeline
    """

    def __init__(self, measurement: Timeline) -> None:
        self._measurement = measurement
        self._known = registry.analyzers()
        super().__init__([name for name in self._known if arises(self._known, name, measurement)], {})

    def make(self, name: str) -> Result:
        """Answer it, after what it needs."""
        for step in order(self._known, [name], self._measurement):
            if step not in self._made:
                self._made[step] = answer(self._known, step, self._measurement, self._made)
        return self._made[name]
