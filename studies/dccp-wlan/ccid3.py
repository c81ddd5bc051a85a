"""The two ends of a DCCP connection with CCID 3: TCP-friendly rate control as RFC 3448 and RFC 4342 have it.

Times are nanoseconds, rates bytes per second, as in the RFCs.
"""

from __future__ import annotations

from collections import deque

from packets import ACK, DATA, numbers, packet, report, told

from multitracer.analyzers._tfrc import throughput_bps

SIZE = 1400
"""s: bytes of data in a packet."""

SLOWEST_S = 64.0
"""t_mbi: at least one packet in that time."""

WEIGHTS = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)
DUPLICATES = 3
INFINITE = 1 << 62


def equation(rtt_s: float, p: float) -> float:
    """X_calc in bytes per second (RFC 3448 section 3.1)."""
    return (throughput_bps(SIZE, rtt_s, p) or 0.0) / 8


class Sender:
    """Sends as fast as it may, or as fast as its application writes.

    Parameters
    ----------
    app_bytes : float
        What the application writes, in bytes per second; infinite for as much as fits. Behind a queue of five
        packets it loses what it writes.
    """

    def __init__(self, app_bytes: float, start_ns: int, first_rtt_s: float) -> None:
        self.seq = 99
        self.sent: dict[int, int] = {}
        self.rtt_s = first_rtt_s
        self.p = 0.0
        self.rate = min(4 * SIZE, max(2 * SIZE, 4380)) / first_rtt_s
        self.doubled_ns = start_ns
        self.next_ns = start_ns
        self.answer_ns = start_ns + 2 * 10**9
        self.counter, self.counted_ns = 0, start_ns
        self.app_bytes, self.written_ns, self.waiting = app_bytes, start_ns, 0.0

    def due_ns(self) -> int:
        """When something is to be done next."""
        return min(max(self.next_ns, self._data_ns()), self.answer_ns)

    def _data_ns(self) -> int:
        """When a whole packet is there to be sent."""
        if self.waiting >= SIZE or self.app_bytes == float("inf"):
            return self.written_ns
        return self.written_ns + 1 + int((SIZE - self.waiting) / self.app_bytes * 1e9)

    def _write(self, t_ns: int) -> None:
        if self.app_bytes != float("inf"):
            more = self.app_bytes * (t_ns - self.written_ns) / 1e9
            self.waiting = min(self.waiting + more, 5.0 * SIZE)
        self.written_ns = t_ns

    def act(self, t_ns: int) -> bytes | None:
        """A data packet if one is due; halves the rate if no report came for too long."""
        self._write(t_ns)
        if t_ns >= self.answer_ns:
            self.rate = max(self.rate / 2, SIZE / SLOWEST_S)
            self._wait(t_ns)
        if t_ns < self.next_ns or (self.waiting < SIZE and self.app_bytes != float("inf")):
            return None
        self.waiting = max(self.waiting - SIZE, 0.0)
        self.next_ns = max(self.next_ns, t_ns - 10**6) + int(SIZE / self.rate * 1e9)
        quarters = int(4 * (t_ns - self.counted_ns) / 1e9 / self.rtt_s)
        if quarters >= 1:
            self.counter, self.counted_ns = (self.counter + min(quarters, 5)) % 16, t_ns
        self.seq += 1
        self.sent[self.seq] = t_ns
        return packet(DATA, self.seq, ccval=self.counter, data=SIZE)

    def hear(self, t_ns: int, raw: bytes) -> None:
        """A report (RFC 3448 section 4.3)."""
        acked, received, self.p, held_ns = told(raw)
        sample_s = (t_ns - self.sent[acked] - held_ns) / 1e9
        for seq in [seq for seq in self.sent if seq < acked]:
            del self.sent[seq]
        self.rtt_s = 0.9 * self.rtt_s + 0.1 * sample_s
        if self.p > 0:
            self.rate = max(min(equation(self.rtt_s, self.p), 2 * received), SIZE / SLOWEST_S)
        elif t_ns - self.doubled_ns >= self.rtt_s * 1e9:
            self.rate = max(min(2 * self.rate, 2 * received), SIZE / self.rtt_s)
            self.doubled_ns = t_ns
        self._wait(t_ns)

    def _wait(self, t_ns: int) -> None:
        self.answer_ns = t_ns + int(max(4 * self.rtt_s, 2 * SIZE / self.rate) * 1e9)


class Receiver:
    """Reports once a round trip, and at once when a loss event begins."""

    def __init__(self) -> None:
        self.seq = 500
        self.highest = 0
        self.missing: dict[int, int] = {}
        self.counter: int | None = None
        self.windows = 0
        self.reported_windows, self.reported_ns = 0, 0
        self.bytes = 0
        self.arrivals: deque[tuple[int, int]] = deque()
        self.events: list[int] = []
        self.event_windows = -10
        self.first_interval = 0.0
        self.last_rate = 0.0

    def hear(self, t_ns: int, raw: bytes) -> bytes | None:
        """A data packet; the report that it brings about, if any."""
        _, seq, ccval = numbers(raw)
        first = self.counter is None
        self.windows += 0 if self.counter is None else (ccval - self.counter) % 16
        self.counter = ccval
        self.bytes += len(raw)
        self.arrivals.append((t_ns, self.windows))
        while self.arrivals[0][1] < self.windows - 4:
            self.arrivals.popleft()
        for lost in range(self.highest + 1, seq) if self.highest else ():
            self.missing[lost] = self.windows
        self.highest = seq
        new = [self._lost(lost, t_ns) for lost in self.missing if seq - lost >= DUPLICATES]
        self.missing = {lost: at for lost, at in self.missing.items() if seq - lost < DUPLICATES}
        if first or any(new) or self.windows - self.reported_windows >= 4:
            return self._report(t_ns)
        return None

    def _lost(self, seq: int, t_ns: int) -> bool:
        """Whether a lost packet begins a loss event: none has begun within a round trip before it."""
        if self.missing[seq] - self.event_windows <= 4:
            return False
        self.event_windows = self.missing[seq]
        if not self.events:
            self.first_interval = 1 / self._first_p(t_ns)
        self.events.append(seq)
        return True

    def _first_p(self, t_ns: int) -> float:
        """The p at which the equation gives the rate received before the first loss (RFC 3448, 6.3.1)."""
        rtt_s = max((t_ns - self.arrivals[0][0]) / 1e9, 1e-4)
        rate = self.last_rate or self.bytes / max((t_ns - self.reported_ns) / 1e9, 1e-6)
        low, high = 1e-9, 1.0
        for _ in range(60):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if equation(rtt_s, middle) > rate else (low, middle)
        return high

    def interval(self) -> float:
        """The mean loss interval, 1 / p (RFC 3448, 5.4); 0 before the first loss event."""
        if not self.events:
            return 0.0
        closed = [b - a for a, b in zip(self.events, self.events[1:], strict=False)][::-1][:8]
        if len(closed) < 8:
            closed.append(round(self.first_interval))
        means = []
        for intervals in ([self.highest - self.events[-1], *closed][:8], closed):
            pairs = list(zip(WEIGHTS, intervals, strict=False))
            means.append(sum(w * i for w, i in pairs) / sum(w for w, _ in pairs))
        return max(means)

    def _report(self, t_ns: int) -> bytes:
        span_s = (t_ns - self.reported_ns) / 1e9
        rate = self.bytes / span_s if self.reported_ns else 0.0
        self.last_rate = rate or self.last_rate
        self.bytes, self.reported_ns, self.reported_windows = 0, t_ns, self.windows
        self.seq += 1
        return report(self.seq, self.highest, rate, self.interval(), 0)


__all__ = ["ACK", "INFINITE", "SIZE", "Receiver", "Sender", "equation"]
