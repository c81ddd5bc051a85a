"""Of requests and responses, which end let the other wait."""

from __future__ import annotations

from multitracer.diagnosis.field.facts import Flow
from multitracer.model.frozen import frozen
from multitracer.model.quantities import count, duration
from multitracer.output.rtt import HOST_MS

NOTABLE = 0.01
"""What Nagle's algorithm held is a sentence from this part of the transfer on."""
SEVERAL = 3
"""From so many requests on they are reported for an end that sends more in them than it receives."""


@frozen
class Turns:
    """Where the time between requests and responses went, in seconds.

    Attributes
    ----------
    requests, responses : int
        Responses after the last data of the transfer are not part of it.
    client, server : str
        Addresses.
    client_s, server_s : float
        What the client took before its next requests, and the server before its responses.
    paths_s : float
        RTTs between them.
    client_at_most, server_at_most : bool
        Whether the path from this capture to that end is in it, beyond its least: jitter and queues of each
        RTT.
    """

    requests: int
    responses: int
    client: str
    server: str
    client_s: float
    server_s: float
    paths_s: float
    client_at_most: bool = False
    server_at_most: bool = False


def turns_of(flow: Flow) -> Turns | None:
    """None without requests and responses, or if the way to one of the ends was not measured.

    Nor where a timer expired: the time of an end and its wait for the timer cannot be distinguished.
    """
    found = flow.exchanges
    if found is None or None in flow.halves_ms or flow.timeouts or flow.rto:
        return None
    to_receiver_s, to_sender_s = ((half or 0.0) / 1e3 for half in flow.halves_ms)
    client, server = flow.receiver, flow.sender
    to_client_s, to_server_s = to_receiver_s, to_sender_s
    if found["client_sends_data"]:
        client, server, to_client_s, to_server_s = server, client, to_server_s, to_client_s
    asked_s, answered_s = float(found["request_wait_s"]), float(found["response_wait_s"])
    client_s = max(asked_s - (found["requests"] - 1) * to_client_s, 0.0)
    server_s = max(answered_s - found["count"] * to_server_s, 0.0)
    # What floats leave over is nothing.
    paths_s = max(round(asked_s + answered_s - client_s - server_s, 9), 0.0)
    # Next to an end, what it takes is seen as it is.
    beside = None if flow.guessed else {"snd": flow.sender, "rcv": flow.receiver}.get(flow.point or "")
    client_away = _is_away(to_client_s, client == beside)
    server_away = _is_away(to_server_s, server == beside)
    return Turns(
        found["requests"],
        found["count"],
        client,
        server,
        client_s,
        server_s,
        paths_s,
        client_at_most=client_away and client_s > 0,
        server_at_most=server_away and server_s > 0,
    )


def _is_away(way_s: float, beside: bool) -> bool:
    """Whether a path is between a capture and an end; a host that captures both of its ends has none."""
    return 1e3 * way_s > HOST_MS or (way_s > 0 and not beside)


def turns_of_path(flow: Flow, seconds: float) -> bool:
    """Whether the RTTs between requests and responses took more of so much time than both ends did.

    Parameters
    ----------
    flow : Flow
    seconds : float
        In which nothing was there to send.
    """
    turns = turns_of(flow)
    return turns is not None and turns.paths_s > max(seconds / 2, turns.client_s + turns.server_s)


def turn_words(flow: Flow) -> str:
    """``; 15 requests, one at a time: ...``; empty without them."""
    turns = turns_of(flow)
    if turns is None:
        return ""
    if flow.exchanges is not None and flow.exchanges["client_sends_data"] and turns.requests < SEVERAL:
        return ""
    most = {False: "", True: "at most "}
    least = "at least " if turns.client_at_most or turns.server_at_most else ""
    if turns.requests == 1:
        # Next to the end that answers no path is between a request and its response.
        path = f", the path {least}{duration(turns.paths_s)}" if 1e3 * turns.paths_s > HOST_MS else ""
        return (
            f"; one request: the server ({turns.server}) took {most[turns.server_at_most]}"
            f"{duration(turns.server_s)} to respond{path}"
        )
    between = turns.requests - turns.responses
    responses = f"and the {count(turns.responses, 'response')} between them" if between else "and responses"
    return (
        f"; {count(turns.requests, 'request')} {responses}, one at a time: in all, from the first request "
        f"on, the client ({turns.client}) took {most[turns.client_at_most]}{duration(turns.client_s)} "
        "between responses and its next requests, the server "
        f"{most[turns.server_at_most]}{duration(turns.server_s)} to respond, the path {least}"
        f"{duration(turns.paths_s)}"
    )


def held_by_nagle_s(flow: Flow) -> float:
    """Seconds for which Nagle's algorithm held the ends of requests and responses, at least."""
    return sum(held_s for _, _, held_s in _held(flow))


def held_words(flow: Flow) -> str:
    """``Nagle's algorithm held the end of at least 15 requests ...``; empty where that took little time."""
    seconds = held_by_nagle_s(flow)
    if seconds < NOTABLE * (flow.seconds or 0.0) or not seconds:
        return ""
    each = [(f"{count(number, what)}", held_s) for what, number, held_s in _held(flow) if number]
    if len(each) > 1:
        many = " and ".join(f"{some} ({duration(held_s)})" for some, held_s in each)
    else:
        many = each[0][0]
    return (
        f"Nagle's algorithm held the end of at least {many} until what was before it was acknowledged, "
        f"at least {duration(seconds)} in all (TCP_NODELAY, or one write, avoids it)"
    )


def nagle_took_most(flow: Flow) -> bool:
    """Whether Nagle's algorithm held requests and responses for longer than either end or the path took."""
    turns = turns_of(flow)
    if turns is None or not held_words(flow) or not turn_words(flow):
        return False
    return held_by_nagle_s(flow) > max(turns.client_s, turns.server_s, turns.paths_s)


def _held(flow: Flow) -> list[tuple[str, int, float]]:
    found = flow.exchanges
    if found is None:
        return []
    return [
        (what, int(found[f"{what}s_held"]), float(found[f"{what}s_held_s"]))
        for what in ("request", "response")
    ]
