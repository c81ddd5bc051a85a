"""One number, one place: what sentences, tables and JSON say of the same thing is the same."""

from __future__ import annotations

import html
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support_samples import ROOT, SAMPLES

import multitracer as mt
from multitracer.cli import diagnosis, loss_words, render
from multitracer.cli.terminal import Console
from multitracer.diagnosis.field import lost
from multitracer.diagnosis.field.carried import carried_s
from multitracer.diagnosis.field.entries import flow
from multitracer.diagnosis.field.phrases import percent, percent_at_least, percent_at_most
from multitracer.model.quantities import duration, rate
from multitracer.output.digest import LIMITS
from multitracer.output.losses import loss_bounds
from multitracer.report import sections
from multitracer.report.facts import facts

Object = dict[str, Any]
EVERY = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def shown(contract: Object) -> str:
    """What the terminal shows of it."""
    printed = io.StringIO()
    console = Console(file=printed, width=4000)
    diagnosis.answer(contract, console)
    render.summary(contract, console)
    diagnosis.evidence(contract, console)
    return printed.getvalue()


def line(text: str, label: str) -> str:
    """The first line with a label; empty without one."""
    found = re.search(rf"^{label} +(.*?) *$", text, re.MULTILINE)
    return found[1] if found else ""


def first_number(text: str) -> int:
    """The number that a text begins with; ``no segments`` is none."""
    return 0 if text.startswith("no ") else int(NUMBER.match(text)[0].replace(",", ""))  # type: ignore[index]


@pytest.fixture(scope="module")
def contracts() -> Callable[[str], Object]:
    """Analyses of the samples, made once."""
    known: dict[str, Object] = {}

    def of(name: str) -> Object:
        if name not in known:
            known[name] = json.loads(mt.analyze(mt.read(SAMPLES / name)).to_json())
        return known[name]

    return of


@pytest.mark.parametrize("name", EVERY)
def test_timeouts_are_judged_once(name: str) -> None:
    """The sender's capture alone knows nothing of the five timeouts of backoff; both together do."""
    analysis = mt.analyze(mt.read(SAMPLES / name), only=["connections"])
    (only,) = analysis["connections"].summary["connections"]
    judged = mt.analyze(analysis.measurement, only=["timeouts"])["timeouts"].summary
    mine = [one["verdict"] for one in judged["timeouts"] if one["direction"] == only["data_direction"]]
    assert only["timeouts"] == {"total": len(mine)} | {
        verdict: mine.count(verdict) for verdict in ("spurious", "genuine", "inconclusive")
    }


@pytest.mark.parametrize("name", EVERY)
def test_counts_of_one_connection(name: str, contracts: Callable[[str], Object]) -> None:
    contract = contracts(name)
    text = shown(contract)
    (only,) = contract["connections"]
    again, timeouts = only["retransmissions"], only["timeouts"]
    causes = ("timeout", "fast", "slow_start", "tail_loss_probe", "unknown", "handshake")
    assert again["total"] == sum(again[cause] for cause in causes)
    assert first_number(line(text, "Retransmitted").removeprefix("at least ")) == again["total"]
    assert timeouts["total"] == len(timeouts["events"])
    if only["point"] != "rcv" or timeouts["total"]:
        assert first_number(line(text, "Timeouts")) == timeouts["total"]
    assert timeouts["total"] == sum(timeouts[verdict] for verdict in ("spurious", "genuine", "inconclusive"))
    assert only["bytes"]["sent"] == only["bytes"]["unique"] + only["bytes"]["duplicate"]
    for key in ("unique", "duplicate"):
        assert f"{only['bytes'][key]:,}".replace("0", "no", only["bytes"][key] == 0) in line(text, "Data")
    acked = "all" if only["bytes"]["acked"] == only["bytes"]["unique"] else f"{only['bytes']['acked']:,}"
    assert f"{acked} acknowledged" in line(text, "Data")
    said = line(text, "Rate")
    assert rate(only["goodput_bps"]) in said
    # The time that is named is that by which the bytes were divided.
    assert f"over {duration(only['data_s'])} from the first data segment to the last ACK" in said
    assert only["goodput_bps"] * only["data_s"] / 8 == pytest.approx(only["bytes"]["acked"], rel=0.001)
    used = contract["utilization"]
    if used["value"] is not None:
        assert used["duplicate_bytes"] == only["bytes"]["duplicate"]
        assert used["sent_bytes"] == only["bytes"]["sent"]
    if contract["idle_losses"] is not None:
        # Those whose first copy never reached the capture are inferred, and not among its segments.
        assert contract["idle_losses"]["retransmissions"] == again["total"] - again["inferred"]
    limits = contract["other"].get("limits", {}).get("connections", [])
    for entry in limits:
        assert entry["limits"] in (None, only["limits"])


@pytest.mark.parametrize("name", EVERY)
def test_sentences_and_tables(name: str, contracts: Callable[[str], Object]) -> None:
    contract = contracts(name)
    text = shown(contract)
    told = {sentence["kind"]: sentence["text"] for sentence in contract["diagnosis"]}
    assert len(told) == len(contract["diagnosis"]), "no kind is said twice"
    used = contract["utilization"]["value"]
    for kind in ("utilization", "well"):
        if kind in told:
            exact = contract["utilization"]["basis"] == "link log"
            assert (f"{used:.1%}" if exact else f"{used:.0%}") in told[kind]
            assert (f"Utilization: {used:.1%}" if exact else f"Utilization: about {used:.0%}") in text
    if "link_reset" in told:
        assert first_number(told["link_reset"]) == len(contract["link"]["resets"])
    if "local_drop" in told:
        number = re.search(r"dropped ([\d,]+) (segment|packet)", told["local_drop"])
        assert number is not None
        dropped = int(number[1].replace(",", ""))
        if number[2] == "packet":  # as the recorded host counted them
            assert dropped == contract["host"]["qdisc"]["dropped"]
            assert f"QDISC_DROP; the queue's own count: {dropped}" in text
        else:
            assert dropped == len(contract["link"]["local_drops"])
    if contract["idle_losses"] is not None and "bottleneck" in told:
        # What is told to be full for all of the time cannot have been idle for a third of it.
        full = contract["connections"][0]["bottleneck"]["full_share"]
        assert contract["idle_losses"]["value"] <= 1 - full + 0.1
    for sentence in contract["diagnosis"]:
        said = f"{sentence['text'][:1].upper()}{sentence['text'][1:]}."
        assert text.count(said) == 1, "the diagnosis is printed once"


LONGEST = 60
"""Words of a sentence that people read to its end."""


@pytest.mark.parametrize("name", EVERY)
def test_sentences_have_an_end(name: str, contracts: Callable[[str], Object]) -> None:
    for sentence in contracts(name)["diagnosis"]:
        for one in re.split(r"[.] (?=[A-Z0-9])", sentence["text"]):
            assert len(one.split()) < LONGEST, one


@pytest.mark.parametrize("name", EVERY)
def test_costs_timers_and_times_of_one_transfer(name: str, contracts: Callable[[str], Object]) -> None:
    contract = contracts(name)
    (only,) = contract["connections"]
    # What a timer sent again is no more than the timers that are told, or the text says which count it is.
    said = line(shown(contract), "Timeouts")
    assert only["retransmissions"]["timeout"] <= only["timeouts"]["total"] or "by their retr" in said
    loss = contract["loss"]
    assert loss["bounds_s"][0] <= loss["s"] <= loss["bounds_s"][1] <= loss["transfer_s"] + 0.001
    assert loss["transfer_s"] <= only["limits"]["seconds"] + 0.001
    shares = [one["cost_s"] for one in contract["diagnosis"] if one["kind"] != "utilization"]
    assert sum(shares) <= loss["s"] + 0.01
    for one in contract["diagnosis"]:
        assert one["cost_bounds_s"][0] - 0.001 <= one["cost_s"] <= one["cost_bounds_s"][1] + 0.001
    # What the link waited for is told under the same name by the table and by the sentence.
    waits = {phase["because"] for phase in contract["idle_phases"] if phase["cause"] == "application"}
    if waits and all(because.startswith("all data was sent") for because in waits):
        assert not re.search(r"^application +\d", shown(contract), re.MULTILINE)


@pytest.mark.parametrize("name", sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.pcap*")))
def test_every_number_of_a_sentence_stands_in_the_json(name: str) -> None:
    capture = SAMPLES / name
    numbers_agree(json.loads(mt.analyze(mt.read(capture)).to_json()))


def test_everyday_captures(shared: Path) -> None:
    captures = [*(shared / "everyday").glob("*/*.pcap.gz"), *(shared / "random").glob("*/*.pcap*")]
    for capture in sorted(captures):
        numbers_agree(json.loads(mt.analyze(mt.read(capture)).to_json()))


def numbers_agree(contract: Object) -> None:
    """Each number of what is said of a connection is one of its entry, or a sum of some of them."""
    for entry in contract["connections"]:
        slowest = (entry["bottleneck"] or {}).get("rate_bps")
        # No link on the way is slower than what came over it.
        assert slowest is None or slowest >= 0.999 * (entry["goodput_bps"] or 0)
    known = set(written(contract["connections"]))
    kinds = ("bottleneck", "queue", "idle_receiver_window", "idle_application", "loss", "spurious")
    for sentence in contract["diagnosis"]:
        if sentence["kind"] not in kinds or len(contract["connections"]) > 1:
            continue
        # Cents of a share or a second are those of the table; a number of one digit is no evidence.
        found = [number for number in NUMBER.findall(sentence["text"]) if len(number) > 1]
        assert set(found) - known <= {"95"}, (sentence["text"], set(found) - known)


def written(entries: list[Object]) -> Iterator[str]:
    """Numbers of entries, in the ways in which sentences write them."""
    for entry in entries:
        for value in leaves(entry):
            yield from NUMBER.findall(f"{value:,} {value:.1f} {value:.0%} {value:.1%} {rate(value)}")
            if abs(value) < 1e12:
                yield from NUMBER.findall(f"{duration(abs(value))} {duration(abs(value) / 1e3)}")
        limits, lost = entry.get("limits"), entry["losses"]["upstream"] + entry["losses"]["downstream"]
        lost += 0 if entry["observation"]["point"] == "snd" else entry["damaged_segments"]
        bounds = loss_bounds(entry)
        sent = max(bounds.sent, 1)
        again = entry["retransmissions"]
        for number in (
            lost,
            bounds.upstream,
            bounds.downstream,
            again["total"],
            again["total"] + again["unseen"],
        ):
            yield from NUMBER.findall(f"{number:,} {sent:,} {number / sent:.1%} {number / sent:.0%}")
            yield from NUMBER.findall(f"{percent_at_most(number / sent)} {percent_at_least(number / sent)}")
        # What a link surely carried needs so much of its time.
        if (known := flow(entry)) is not None and known.busy_s > 0:
            yield from (
                part
                for took_s in carried_s(known)
                for part in NUMBER.findall(f"{min(took_s / known.busy_s, 1.0):.0%}")
            )
        if limits:
            shares = {name: limits[name] * limits["seconds"] for name in LIMITS}
            before = limits["congestion_window_before_loss"] * limits["seconds"]
            after = limits["congestion_window_after_data"] * limits["seconds"]
            parts = [*shares.values(), before, after]
            parts[LIMITS.index("congestion_window")] -= before + after
            # Slow start takes no longer than its doublings need; the rest of that time is the loss's, too.
            one = flow(entry)
            beyond = max(before - one.slow_start_s, 0.0) if one is not None else 0.0
            parts += [beyond] if beyond else []
            parts[len(shares)] -= beyond
            for name in ("receiver_window_in_recovery", "receiver_window_paced", "congestion_window_paced"):
                yield from NUMBER.findall(duration(limits[name] * limits["seconds"]))
            # The link was full beside a full window: that time is not the link's own.
            full = (entry.get("bottleneck") or {}).get("full_share") or 0.0
            away = shares["application"] + shares["handshake"] + shares["unknown"]
            beside = full * (limits["seconds"] - away) - shares["bandwidth"]
            yield from NUMBER.findall(duration(min(max(beside, 0.0), shares["receiver_window"])))
            sums = [
                sum(parts[at] for at in range(len(parts)) if mask >> at & 1)
                for mask in range(1 << len(parts))
            ]
            # The pace of a sender is no time of its congestion window.
            paced = limits["congestion_window_paced"] * limits["seconds"]
            sums += [whole - paced for whole in sums] if paced else []
            # A standstill is taken from what is unknown, then from what the sender seemed to wait for.
            still = sum(one["length_s"] for one in entry["standstills"] or ())
            for taken in {0.0, still, max(still - shares["unknown"], 0.0)}:
                for seconds in (*sums, 2 * still):
                    yield from NUMBER.findall(f"{seconds - taken:,.1f} {duration(max(seconds - taken, 0))}")


def leaves(value: Any) -> Iterator[float]:
    """All numbers inside."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def test_the_samples_are_there() -> None:
    assert len(EVERY) >= 8
    assert os.path.isdir(ROOT)


@pytest.mark.parametrize("name", EVERY)
def test_the_page_says_what_the_terminal_says(name: str, contracts: Callable[[str], Object]) -> None:
    """All sentences in the same order, and as the heading the first that names a cause."""
    contract = contracts(name)
    # Without spaces and signs: the terminal breaks lines, and writes the cost behind a sentence.
    printed = re.sub(r"\W", "", shown(contract))
    found = facts(contract)
    places = [printed.find(re.sub(r"\W", "", fact.text)) for fact in found]
    assert min(places) >= 0
    assert places == sorted(places)
    page = html.unescape(re.sub(r"<[^>]*>", "", str(sections.diagnosis(contract, found))))
    said = re.sub(r"\W", "", page)
    assert all(re.sub(r"\W", "", fact.text) in said for fact in found)
    cause = next(fact for fact in found if fact.kind not in sections.NO_CAUSE)
    assert said.startswith("Maincause" + re.sub(r"\W", "", cause.title))


def test_a_bound_of_next_to_nothing_is_not_nothing() -> None:
    used: Object = {"value": 0.99, "basis": "estimate from captures", "idle_share": 0.0002, "span_s": 10.0}
    used |= {"idle_low": 0.0, "idle_high": 0.0002, "low": 0.98, "high": 1.0, "idle_s": 0.002}
    used |= {"duplicate_share": 0.0, "duplicate_bytes": 0, "sent_bytes": 1_000_000}
    printed = io.StringIO()
    render._utilization(
        Console(file=printed, width=4000), {"utilization": used, "idle_phases": [], "connections": []}
    )
    assert line(printed.getvalue(), "Link idle") == "at most 0.02% of the time in which it could have sent"


def test_a_share_beside_its_counts_is_rounded_as_others() -> None:
    assert lost._beside_counts(40 / 2_803) == percent(40 / 2_803) == "1.4%"
    assert lost._beside_counts(1 / 90_000) == "0.01%"


def test_losses_between_the_ends_name_the_ends() -> None:
    (only,) = mt.analyze(mt.read(SAMPLES / "bbr")).contract(9)["connections"]
    assert loss_words.losses(only, {"data_lost": 3}).startswith(
        "3 segments between the captures of both ends"
    )
