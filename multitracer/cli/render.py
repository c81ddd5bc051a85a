"""Results on the terminal: tables and sentences.

Loaded only when something is printed for people; everything here works on the JSON objects, so that text and
JSON cannot disagree.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text

from multitracer.cli import loss_words, words
from multitracer.cli.lines import heading as _heading, line as _line, more, table as _table
from multitracer.cli.terminal import EVERY, SHOWN, Console
from multitracer.cli.unshown import UNSHOWN
from multitracer.diagnosis.field.entries import is_transfer
from multitracer.diagnosis.field.phrases import percent_at_most
from multitracer.output.losses import has_all_sent, possibly_again, some_missing
from multitracer.output.observed import known_point
from multitracer.output.rtt import idle_before_s
from multitracer.output.unanswered import by_reason, unanswered
from multitracer.output.used import idle_share, is_logged, nearly_all, unplaced_s

Object = Mapping[str, Any]

VERDICT_STYLES = {"spurious": "yellow", "genuine": "red", "inconclusive": "dim"}
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def summary(contract: Object, console: Console | None = None, verbose: bool = False) -> None:
    """Print the JSON object of an analysis for people.

    Parameters
    ----------
    contract : mapping
        As of ``multitracer analyze --json``.
    console : Console, optional
        Where to print; by default standard output.
    verbose : bool
        All rows of all lists, in place of the first of each.
    """
    console = console or Console()
    console.rest = "--verbose shows all"
    if verbose:
        console.rows = EVERY
    if len(contract["connections"]) > SHOWN:
        from multitracer.cli.many import connections

        connections(console, contract["connections"], console.rows)
    else:
        fates = {
            (one["conn"], one["direction"]): one
            for one in contract["other"].get("losses", {}).get("directions", [])
        }
        for connection in contract["connections"]:
            both = fates.get((connection["index"], connection["data_direction"]))
            _connection(console, connection, both)
    for one in contract["other"].get("dccp", {}).get("connections", [])[: console.rows]:
        _dccp(console, contract, one)
    _together(console, contract)
    _totals(console, contract["other"].get("flow_totals", {}).get("flows", []))
    _mptcp(console, contract.get("mptcp"))
    _dropped(console, contract["other"].get("packet_drops"))
    _logs(console, contract["other"].get("logs"))
    _conditions(console, contract["other"].get("conditions"))
    _link(console, contract)
    _air(console, contract["air"])
    _host(console, contract["host"])
    _utilization(console, contract)
    _clocks(console, contract["clocks"])
    _observation(console, contract["other"].get("observation", {}))
    reasons = unanswered(contract)
    _inconclusive(console, {name: why for name, why in reasons.items() if name not in UNSHOWN})
    print_issues(console, contract["issues"])


def _together(console: Console, contract: Object) -> None:
    """What concerns all connections: how they shared the path, what nodes used for them."""
    fairness, energy = contract["fairness"], contract["energy"]
    shared = fairness is not None and fairness["value"] is not None
    if shared or energy is not None:
        _heading(console, "All connections")
    if shared:
        low, high, mean, spread = (
            words.rate(fairness[f"goodput_{name}_bps"]) for name in ("min", "max", "mean", "std")
        )
        _line(
            console,
            "Fairness",
            f"Jain's index {fairness['value']:.3f} over {fairness['flows']} flows{_left_out(fairness)}; "
            f"goodput {low} to {high}, {mean} on average, standard deviation {spread}",
        )
    if energy is not None:
        per_mbit = "" if energy["value"] is None else f", {energy['value']:.3g} J for each Mbit delivered"
        nodes = words.count(len(energy["nodes"]), "node")
        _line(console, "Energy", f"{energy['used_j']:.4g} J used by {nodes}{per_mbit}")


def _left_out(fairness: Object) -> str:
    left_out, shut_out = fairness["left_out"], fairness["shut_out"]
    why = "small, idle, or active when most others were not"
    parts = [f"{words.count(left_out, 'flow')} left out: {why}" if left_out else ""]
    if shut_out:
        parts.append(f"{words.count(shut_out, 'flow')} from the handshake on: all data sent first was lost")
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _totals(console: Console, flows: list[Object]) -> None:
    """What a simulator counted of each flow, and whether captures agree."""
    if flows:
        _heading(console, "Counted by the simulator")
    for number, flow in enumerate(flows[: console.rows], 1):
        parts = [f"{words.count(flow['tx_packets'], 'packet')} sent"]
        for key, word in (("rx_packets", "received"), ("lost_packets", "lost")):
            if flow[key]:
                parts.append(f"{flow[key]:,} {word}")
        text = ", ".join(parts)
        if flow["delay_ms"] is not None:
            text += f"; mean delay {flow['delay_ms']:.3g} ms"
        if flow["agrees"] is not None:
            text += "; equal to the captures" if flow["agrees"] else "; the captures differ"
        _line(console, f"Flow {number}", f"{flow['source']} -> {flow['destination']}: {text}")
    more(console, flows, console.rows, "flow")


def _dropped(console: Console, found: Object | None) -> None:
    """What a simulated network dropped, of any kind."""
    if not found:
        return
    _heading(console, f"Dropped in the simulation: {words.count(found['total'], 'packet')}")
    for one in found["groups"][: console.rows]:
        where = ", ".join(part for part in (one["layer"], one["reason"]) if part)
        _line(console, one["place"], f"{one['count']:,} {one['packet']}" + (f" ({where})" if where else ""))
    more(console, found["groups"], console.rows, "reason")


def _connection(console: Console, found: Object, both: Object | None = None) -> None:
    stream = "" if found["stream"] is None else f" (tcp.stream eq {found['stream']})"
    _heading(console, f"Connection {found['index']}: {words.ends(found)}{stream}")
    if found["closed"] == "reset":
        ended = words.reset(found, missing=some_missing(found))
    else:
        ended = words.silence(found["silence"]) if "silence" in found else ""
    _direction(console, found, both, ended)
    other = found.get("reverse")
    if other is not None and is_transfer(other):
        _heading(console, f"Connection {other['index']}, other direction: {words.ends(other)}")
        _direction(console, other)
    elif other is not None:
        _line(console, "Other way", words.other_way(other))


def _direction(console: Console, found: Object, both: Object | None = None, ended: str = "") -> None:
    """The lines of the data of one direction, with how its connection ended."""
    copied = (found.get("arrivals") or {}).get("network_duplicate") or 0
    # What may be retransmissions did not pass before.
    all_sent = has_all_sent(found) and not possibly_again(found)
    data = words.data(found["bytes"], all_sent=all_sent, copied=copied, packets=found["packets"])
    _line(console, "Data", data)
    if ended:
        _line(console, "Ended", ended)
    _line(console, "Rate", words.rates(found))
    _line(console, "Retransmitted", loss_words.retransmitted(found))
    _line(console, "Timeouts", loss_words.timeouts(found))
    _timeouts(console, found)
    _line(console, "RTT", words.rtt(found))
    if line := loss_words.losses(found, both):
        _line(console, "Losses", line)
    if line := loss_words.needless(found, both=both is not None):
        _line(console, "Needless", line)
    if line := loss_words.arrivals(found):
        _line(console, "Arrivals", line)
    if line := words.limits(found):
        _line(console, "Limited by", line)
    if line := words.bottleneck(found):
        _line(console, "Bottleneck", line)


def _timeouts(console: Console, found: Object) -> None:
    """Their table; the timer itself is known at the sender only.

    A path that stalls before the capture delays what the timer sends: it passes later, and at once.
    """
    events: Sequence[Object] = found["timeouts"].get("events", [])
    if not events:
        return
    rto, stalls = known_point(found) == "snd", found.get("standstills") or ()
    late, held_up = False, any(one["upstream"] for one in stalls)
    timer = ["#RTO"] if rto else []
    table = _table("#at", "=verdict", "#idle before", *timer, "#byte", "#packet", "evidence")
    for event in events[: console.rows]:
        idle_s = idle_before_s(event, at_sender=rto, standstills=stalls)
        late |= held_up and idle_s is None
        table.add_row(
            f"{event['t']:.3f} s",
            Text(event["verdict"], VERDICT_STYLES[event["verdict"]]),
            "unknown" if idle_s is None else words.duration(idle_s),
            *([words.timer(event["backoff"], event["rto_s"])] if rto else []),
            f"{event['seq']:,}" if event["seq"] else "SYN",
            f"{event['record']:,}",
            words.votes(event["votes"]),
        )
    console.print(table)
    if late:
        console.print("at: when the segment passed this capture, delayed by a stalled path")
    if unlisted := loss_words.unlisted_timeouts(found):
        console.print(unlisted)
    more(console, events, console.rows, "timeout")


def _link(console: Console, contract: Object) -> None:
    link = contract["link"]
    if link["frames"] is None:
        return
    _heading(console, "Link")
    share = link["retransmitted"] / link["frames"] if link["frames"] else 0.0
    _line(
        console, "Frames", f"{link['frames']:,} sent, {link['retransmitted']:,} retransmitted ({share:.1%})"
    )
    for entity in link["retransmissions"].get("entities", []):
        _line(console, f"  {entity['entity']}", words.entity(entity))
    _bearer(console, contract["other"].get("bearer", {}))
    if link["flow_control"] is not None:
        _line(console, "Flow control", words.flow_control(link["flow_control"]))
    _line(console, "Resets", words.count(len(link["resets"]), "link reset"))
    if link["resets"]:
        table = _table("#at", "=by", "=cause", "#gap", "effect on TCP")
        for reset in link["resets"][: console.rows]:
            gap = "none" if reset.get("gap_s") is None else words.duration(reset["gap_s"])
            table.add_row(f"{reset['t']:.3f} s", reset["entity"], reset["cause"], gap, words.toll(reset))
        console.print(table)
        more(console, link["resets"], console.rows, "reset")
    if "local_drops" not in contract["inconclusive"]:
        drops = link["local_drops"]
        dropped = words.count(len(drops), "segment") + words.drop_times(drops, console.rows)
        _line(console, "Local drops", dropped)


def _host(console: Console, found: Object | None) -> None:
    if found is None:
        return
    from multitracer.cli import host

    _heading(console, "Hosts" if found["points"] else "Host")
    for label, text in host.lines(found):
        _line(console, label, text)


def _mptcp(console: Console, found: Object | None) -> None:
    if not found:
        return
    from multitracer.cli import mptcp

    _heading(console, "Multipath TCP")
    for label, text in mptcp.lines(found, console.rows):
        _line(console, label, text)


def _logs(console: Console, found: Object | None) -> None:
    if found is None:
        return
    from multitracer.cli import logs

    for number, one in enumerate(found["transfers"][: console.rows], 1):
        _heading(console, logs.heading(one, number))
        for label, text in logs.lines(one):
            _line(console, label, text)
    more(console, found["transfers"], console.rows, "transfer")


def _conditions(console: Console, found: Object | None) -> None:
    if found is None:
        return
    from multitracer.cli import logs

    _heading(console, "Values of the link")
    for one in found["series"][: console.rows]:
        _line(console, one["words"], logs.condition(one))
    more(console, found["series"], console.rows, "value")
    for one in found["changes"][: console.rows]:
        _line(console, f"Changes of {one['words']}", logs.changed(one))


def _air(console: Console, found: Object | None) -> None:
    if found is None:
        return
    from multitracer.cli import air

    _heading(console, "Air")
    for label, text in air.lines(found):
        _line(console, label, text)
    rows = air.rates(found, console.rows)
    if rows:
        table = _table("=from", "#rate", "#MCS", "#sent", "#share", "#retries", "#airtime")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def _bearer(console: Console, found: Object) -> None:
    if found:
        from multitracer.cli import bearer

        name = f"{found['bearer'] or ''}, RLC {found['mode'].upper()}".lstrip(", ")
        _line(console, "Radio bearer", name)
        for label, text in bearer.lines(found):
            _line(console, label, text)


def _dccp(console: Console, contract: Object, found: Object) -> None:
    from multitracer.cli import dccp

    _heading(console, dccp.heading(found))
    _line(console, "Seen in", str(contract["sources"][found["source"]]["path"]))
    for label, text in dccp.lines(found):
        _line(console, label, text)


def _utilization(console: Console, contract: Object) -> None:
    found = contract["utilization"]
    if found["value"] is None:
        return
    logged = is_logged(found)
    _heading(
        console,
        f"Utilization: {found['value']:.1%}" if logged else f"Utilization: about {found['value']:.0%}",
    )
    used = nearly_all(found)
    if used is not None:
        verdict = "used nearly all" if used else "did not use all"
        style = "bold green" if used else "bold red"
        console.print(Text(f"TCP {verdict} of the link's capacity", style))
    about, share = idle_share(found)
    part = percent_at_most(share) if about.startswith("at most") else f"{share:.1%}"
    _line(console, "Link idle", f"{about}{part} of the time in which it could have sent")
    _line(console, "Duplicates", loss_words.duplicated(contract))
    _line(console, "Source", str(found["basis"]).replace("_", " "))
    causes: dict[str, list[float]] = {}
    for phase in contract["idle_phases"]:
        causes.setdefault(words.idle(phase), []).append(phase["end"] - phase["start"])
    if causes:
        table = _table("=idle because of", "#phases", "#total", "#longest")
        for cause, lengths in sorted(causes.items(), key=lambda item: -sum(item[1])):
            table.add_row(
                cause,
                str(len(lengths)),
                words.duration(sum(lengths)),
                words.duration(max(lengths)),
            )
        about, left_s = unplaced_s(found, sum(map(sum, causes.values())))
        if left_s:
            table.add_row("(too short to distinguish)", "", f"{about}{words.duration(left_s)}", "")
        console.print(table)


def _clocks(console: Console, clocks: Sequence[Object]) -> None:
    joined = [clock for clock in clocks if clock["grade"] != "reference"]
    if not joined:
        return
    references = [os.path.basename(clock["source"]) for clock in clocks if clock["grade"] == "reference"]
    _heading(console, f"Clocks, against {references[0]}" if len(references) == 1 else "Clocks")
    skewed = any(clock["skew_ppm"] for clock in joined)
    table = _table("file", "=grade", "#offset", "#bound", *(["#skew"] if skewed else []), "=method")
    rows = []
    known = {clock["source"] for clock in clocks if clock["method"] != "same-file"}
    for clock in joined:
        if clock["method"] == "same-file" and clock["source"] in known:
            continue  # another layer of a file that has its line
        skew = [f"{clock['skew_ppm']:.2f} ppm"] if skewed else []
        offset = words.offset(clock["offset_s"]) if clock["grade"] != "unjoined" else ""
        name, known_to = os.path.basename(clock["source"]), words.uncertainty(clock["uncertainty_s"])
        rows.append((name, clock["grade"], offset, known_to, *skew, clock["method"]))
    # A file with several links has as many clocks: equal ones are printed once.
    for row in dict.fromkeys(rows):
        table.add_row(*row)
    console.print(table)


def _observation(console: Console, found: Object) -> None:
    """The limits of the captures: where they were taken, what they miss."""
    statements = found.get("statements", [])
    if not statements:
        return
    _heading(console, "Limits of these captures")
    of: dict[str, list[Object]] = {}
    for one in statements:
        of.setdefault(one["code"] if one["conn"] is not None else one["text"], []).append(one)
    for alike in list(of.values())[: console.rows]:
        text, conns = alike[0]["text"], {one["conn"] for one in alike}
        where = "all" if None in conns else f"connection {alike[0]['conn']}"
        same = "the same" if all(one["text"] == text for one in alike) else "similar"
        others = f" ({same} for {words.count(len(conns) - 1, 'other connection')})" if len(conns) > 1 else ""
        _line(console, where, text + others)
    more(console, list(of), console.rows, "statement")


def _inconclusive(console: Console, reasons: Object) -> None:
    if not reasons:
        return
    _heading(console, "Not answered")
    for reason, names in by_reason(reasons):
        line = Text(f"{', '.join(name.replace('_', ' ') for name in names)}: ")
        line.append(reason, "dim")
        console.print(line)


def print_issues(console: Console, found: Sequence[Object]) -> None:
    """Print entries of ``issues`` (docs/json.md): where, how often, what to do; no skipped files."""
    shown = _alike([issue for issue in found if issue["code"] != "skipped-file"])
    if not shown:
        return
    _heading(console, "Issues")
    for same in shown[: console.rows]:
        issue = same[0]
        names = [os.path.basename(one["path"]) for one in same]
        counts = [f" ({one['count']:,} times)" if one["count"] > 1 else "" for one in same]
        if len(same) == 1:
            at = f", record {issue['first_record']:,}" if issue["first_record"] else ""
            where, times = f"{names[0]}{at}", counts[0]
        else:
            where, times = ", ".join(name + count for name, count in zip(names, counts, strict=True)), ""
        line = Text(f"{issue['severity']}: ", SEVERITY_STYLES[issue["severity"]])
        line.append(f"{where}{': ' if where else ''}{issue['code']}{times}", "default not bold not dim")
        line.append(f": {issue['detail']}" if issue["detail"] else "", "default not bold not dim")
        console.print(line)
        console.print(Padding(Text(issue["advice"], "dim"), (0, 0, 0, 4), expand=False))
    more(console, shown, console.rows, "issue")


def _alike(issues: Sequence[Object]) -> list[list[Object]]:
    """The same issue of several files, together; in the order of their first."""
    found: dict[tuple[str, str, str], list[Object]] = {}
    for issue in issues:
        found.setdefault((issue["severity"], issue["code"], issue["detail"]), []).append(issue)
    return list(found.values())
