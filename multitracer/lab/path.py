"""Several plain links in series; a tap can be placed between any two of them."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from multitracer.lab.link import Delivery, Truth
from multitracer.lab.plain import PlainLink
from multitracer.lab.settings import PathSettings

Tap = Callable[[int, int, bytes], None]
"""Called with the tap's number (0 behind the first hop), time and packet."""


class PathLink:
    """A path without a log; each hop loses, delays and reorders by itself.

    Parameters
    ----------
    settings : PathSettings
    seed : int
        Of everything random.

    Attributes
    ----------
    on_tap : callable or None
        Hears every packet that passes from one hop to the next, in time order.
    truth : Truth
        ``packets_in`` and ``packets_out`` of the whole path; all else summed over the hops. Events name the
        hop (``hop``, from 0 at side 0).
    """

    def __init__(self, settings: PathSettings, seed: int) -> None:
        self.settings = settings
        self.truth = Truth()
        self.on_tap: Tap | None = None
        self.hops = [PlainLink(hop, seed * 64 + number) for number, hop in enumerate(settings.hops)]

    def send(self, side: int, packet: bytes, t_ns: int) -> bool:
        """Hand the path a packet that enters at `side`; False if the first hop's queue dropped it."""
        accepted = self.hops[-side].send(side, packet, t_ns)
        self._collect()
        return accepted

    def advance(self, t_ns: int) -> list[Delivery]:
        """Let time pass up to and including `t_ns`, event by event; packets that came out, in time order."""
        out: list[Delivery] = []
        while (due_ns := self.next_ns()) is not None and due_ns <= t_ns:
            out += self._step(due_ns)
        out += self._step(t_ns)
        self._collect()
        return out

    def next_ns(self) -> int | None:
        """Return the next time at which something happens by itself, if any."""
        return min((due for hop in self.hops if (due := hop.next_ns()) is not None), default=None)

    def drain_log(self) -> list[str]:
        """Nothing: a path keeps no log."""
        return []

    def log_header(self) -> str | None:
        """Nothing: a path keeps no log."""
        return None

    def _step(self, t_ns: int) -> list[Delivery]:
        out = []
        for number, hop in enumerate(self.hops):
            for delivery in hop.advance(t_ns):
                following = number + (1 if delivery.side else -1)
                if not 0 <= following < len(self.hops):
                    out.append(delivery)
                    continue
                if self.on_tap is not None:
                    self.on_tap(min(number, following), delivery.t_ns, delivery.packet)
                self.hops[following].send(1 - delivery.side, delivery.packet, delivery.t_ns)
        return out

    def _collect(self) -> None:
        """Bring the hops' truths together."""
        fresh = [
            {**event, "hop": number} for number, hop in enumerate(self.hops) for event in hop.truth.events
        ]
        if fresh:
            for hop in self.hops:
                hop.truth.events.clear()
            self.truth.events += sorted(fresh, key=itemgetter("t_ns"))
        counts = self.truth.counts
        for name in {name for hop in self.hops for name in hop.truth.counts}:
            each = [hop.truth.counts.get(name, [0, 0]) for hop in self.hops]
            if name == "packets_in":
                counts[name] = [each[0][0], each[-1][1]]
            elif name == "packets_out":
                counts[name] = [each[-1][0], each[0][1]]
            else:
                counts[name] = [sum(sides[0] for sides in each), sum(sides[1] for sides in each)]
