"""What the tables hold of one segment, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitracer.diagnosis.explain.arrived import ARRIVED, arrival_sentence
from multitracer.diagnosis.explain.carried import how_lost, link_sentences
from multitracer.diagnosis.explain.explanation import Explanation
from multitracer.diagnosis.explain.inhost import host_sentences
from multitracer.diagnosis.explain.recovery import episode_sentences, timer_sentence, verdict_sentences
from multitracer.diagnosis.explain.rules import RULES, VOTES, seconds_text, span_text
from multitracer.layers.tcp.fates import Fates, fates
from multitracer.layers.tcp.senderstate import ACK_CLOCK_NS, SenderState, sender_state
from multitracer.model import schema
from multitracer.model.quantities import count, voter
from multitracer.model.schema.results import FATES
from multitracer.model.table import Table
from multitracer.model.timeline import Connection
from multitracer.output.results import Answers

_KERNEL_NS = 5_000_000
_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
_LISTED = 8


class Explainer:
    """Explains one row of the segments of one capture."""

    def __init__(self, analysis: Answers, rows: Table, row: int, source: int) -> None:
        self.m = analysis.measurement
        self.results = analysis.results
        self.rows, self.row, self.source = rows, row, source
        self.t_ns = int(rows["t_ns"][row])
        self.record = int(rows["record"][row])
        self.seq = int(rows["seq"][row])
        self.end = self.seq + int(rows["length"][row])
        self.dir = int(rows["dir"][row])
        index = int(rows["conn"][row])
        self.connection: Connection = self.m.connection(index)
        self.fates: Fates | None = fates(self.m, self.connection, self.dir != self.connection.data_dir)

    def explain(self, stall: bool = False) -> Explanation:
        """The whole explanation; of a segment that ended a stall, why it came so late."""
        cause = schema.CAUSES[int(self.rows["cause"][self.row])]
        length = self.end - self.seq
        kind = "retransmission" if cause else "data" if length else "ack"
        what = f"bytes {self.seq:,} to {self.end - 1:,}" if length else "no data"
        found = self._mine("arrivals")
        arrived = found.where(found["record"] == self.record)
        arrival = schema.ARRIVALS_ARE[int(arrived["verdict"][0])] if len(arrived) else ""
        verb = (
            f"retransmitted ({RULES[cause].name})"
            if cause
            else ARRIVED.get(arrival, "sent for the first time")
        )
        title = f"Packet {self.record:,} at {self._at(self.t_ns)}: {what}" + (
            f", {verb}" if length or cause else ""
        )
        explanation = Explanation(
            "stall" if stall else kind,
            title,
            self.connection.index,
            self.record,
            self.source,
            round(self.m.seconds(self.t_ns), 6),
        )
        self._place(explanation)
        if len(arrived):
            explanation.add("arrival", arrival_sentence(arrived, 0), self.record)
        if stall:
            self._stall(explanation)
        if cause:
            self._retransmission(explanation, cause)
        elif not length:
            self._ack(explanation)
        for text in link_sentences(self.m, self.source, self.record):
            explanation.add("link", text, self.record)
        for text, _ in host_sentences(self.m, self.results, self.source, self.record):
            explanation.add("host", text, self.record)
        if length or cause:
            self._copies(explanation)
            self._kernel(explanation)
            self._answer(explanation)
        return explanation

    def _at(self, t_ns: int) -> str:
        return seconds_text(self.m.seconds(t_ns))

    def _mine(self, name: str) -> Table:
        """Rows of a table of this connection, direction and capture."""
        table = self.m.table(name)
        keep = (table["conn"] == self.connection.index) & (table["dir"] == self.dir)
        return table.where(keep & (table["source"] == self.source))

    def _place(self, explanation: Explanation) -> None:
        point = self.m.sources[self.source].point
        if point != "snd":
            where = {"rcv": "the receiver's capture", "mid": "a capture on the path"}.get(
                point or "", "a capture"
            )
            explanation.add(
                "seen from",
                f"{where}, not the sender's: causes and timers are inferred from what passed here",
            )
        (begin, bport), (end, eport) = self.connection.endpoints[:: -1 if self.dir else 1]
        explanation.add(
            "flow", f"{begin} port {bport} to {end} port {eport}, connection {self.connection.index}"
        )

    def _retransmission(self, explanation: Explanation, cause: str) -> None:
        rule = RULES[cause]
        explanation.add("rule", f"{rule.text} ({rule.reference})")
        table = self._mine("retransmissions")
        found = np.flatnonzero(table["record"] == self.record)
        if len(found):
            self._evidence(explanation, table, int(found[0]))
            if cause != "timeout":
                for about, text, record in verdict_sentences(table, int(found[0])):
                    explanation.add(about, text, record)
        if cause == "timeout":
            self._timeout(explanation)

    def _evidence(self, explanation: Explanation, table: Table, row: int) -> None:
        value = {name: int(table[name][row]) for name in table}
        parts = []
        if value["since_sent_ns"] >= 0:
            parts.append(f"the same byte was last sent {span_text(value['since_sent_ns'])} before")
        if value["since_ack_ns"] >= 0:
            parts.append(f"the peer's last segment arrived {span_text(value['since_ack_ns'])} before")
        parts.append(f"{count(value['dupacks'], 'duplicate ACK')} since the last advance")
        if value["sacked"]:
            parts.append(f"{value['sacked']:,} bytes above it were selectively acknowledged")
        if value["rto_ns"] >= 0:
            parts.append(f"the retransmission timeout was estimated at {span_text(value['rto_ns'])}")
        explanation.add("evidence", "; ".join(parts), self.record)
        episode = table.where(table["episode"] == value["episode"])
        if value["episode"] > 0:
            names = episode.words("cause").tolist()
            counts = ", ".join(f"{names.count(name)} {RULES[name].name}" for name in dict.fromkeys(names))
            begin, end = int(episode["t_ns"].min()), int(episode["t_ns"].max())
            number = int(np.count_nonzero(episode["t_ns"] <= self.t_ns))
            which = f"; this is number {number} of them" if len(episode) > 1 else ""
            when = f"at {self._at(begin)}" if begin == end else f"from {self._at(begin)} to {self._at(end)}"
            explanation.add(
                "episode",
                f"loss recovery {value['episode']} of this direction: {count(len(episode), 'segment')} "
                f"retransmitted ({counts}), {when}{which}",
                int(episode["record"][0]),
                int(episode["record"][-1]),
            )
            for text, record in episode_sentences(self._mine("episodes"), value["episode"]):
                explanation.add("episode", text, record)

    def _timeout(self, explanation: Explanation) -> None:
        timeouts = self.results.get("timeouts")
        table = timeouts.tables.get("timeouts") if timeouts is not None else None
        if table is None or not len(found := np.flatnonzero(table["record"] == self.record)):
            return
        row = int(found[0])
        explanation.add("timer", timer_sentence(table, row))
        verdict = schema.VERDICTS[int(table["verdict"][row])]
        answer = int(table["answer_record"][row])
        decided = f"; the ACK that decided is packet {answer:,}" if answer else ""
        explanation.add("verdict", f"the timeout was {verdict}{decided}", answer)
        for name, meaning in VOTES.items():
            vote = schema.VOTES[int(table[name][row])]
            if vote != "abstains":
                explanation.add("vote", f"{voter(name)}: {vote}; {meaning[vote]}")

    def _copies(self, explanation: Explanation) -> None:
        """Every transmission of the first byte, with what the receiver's capture shows of it."""
        rows = self.rows
        same = (rows["conn"] == self.connection.index) & (rows["dir"] == self.dir) & (rows["length"] > 0)
        same &= (rows["seq"] <= self.seq) & (rows["seq"] + rows["length"] > self.seq)
        copies = np.flatnonzero(same)
        parts = []
        for one in copies[:_LISTED].tolist():
            record = int(rows["record"][one])
            parts.append(f"packet {record:,} at {self._at(int(rows['t_ns'][one]))}{self._fate(record)}")
        more = f"; and {len(copies) - _LISTED} more" if len(copies) > _LISTED else ""
        records = rows["record"][copies[:_LISTED]].tolist()
        times = "once" if len(copies) == 1 else f"{len(copies)} times"
        explanation.add("copies", f"byte {self.seq:,} was sent {times}: {'; '.join(parts)}{more}", *records)
        losses = self.results.get("losses")
        if losses is None or losses.inconclusive is not None:
            explanation.add(
                "receiver", "no capture of the other end: whether earlier copies arrived is inferred"
            )
            return
        repeats = losses.tables["repeats"]
        found = np.flatnonzero(
            (repeats["record"] == self.record)
            & (repeats["conn"] == self.connection.index)
            & (repeats["dir"] == self.dir)
        )
        if len(found):
            one = int(found[0])
            need = str(repeats.words("need")[one])
            earlier = int(repeats["earlier_record"][one])
            words = {
                "spurious": f"needless: the copy in packet {earlier:,} arrived",
                "needed": "needed: no earlier copy arrived",
                "partly": f"needed in part: packet {earlier:,} had brought some of the bytes",
                "inconclusive": "unknown: copies of these bytes look alike",
            }[need]
            sure = "certain, by both captures: " if repeats["certain"][one] else ""
            explanation.add("receiver", f"{sure}this transmission was {words}", earlier)

    def _fate(self, record: int) -> str:
        known = self.fates
        if known is None:
            return ""
        found = np.flatnonzero(known.sent["record"] == record)
        if not len(found):
            return ""
        fate, arrived_ns, _, arrived = known.of_segments()
        word = FATES[int(fate[found[0]])]
        if word == "arrived" and arrived_ns[found[0]] >= 0:
            return f" (arrived at {self._at(int(arrived_ns[found[0]]))})"
        if word == "lost" and arrived[found[0]]:
            return f" (lost in part: {int(arrived[found[0]]):,} bytes arrived)"
        how = how_lost(self.m, self.source, record) if word == "lost" else ""
        return f" ({word}: {how})" if how else f" ({word})"

    def _kernel(self, explanation: Explanation) -> None:
        table = self.m.table("kernel_events")
        keep = (table["conn"] == self.connection.index) & (table["dir"] == self.dir)
        own = table.where(keep).sorted_by("t_ns")
        if not len(own):
            return
        kinds = own.words("kind")
        near = np.abs(own["t_ns"] - self.t_ns) <= _KERNEL_NS
        for one in np.flatnonzero(near & (kinds == "retransmit")).tolist()[:1]:
            when, line = self._at(int(own["t_ns"][one])), int(own["record"][one])
            explanation.add("kernel", f"logged tcp_retransmit_skb at {when} (line {line})")
        states = np.flatnonzero(kinds == "cong_state")
        before = states[own["t_ns"][states] <= self.t_ns + _KERNEL_NS]
        if len(before):
            one = int(before[-1])
            value = int(own["value"][one])
            name = _STATES[value] if 0 <= value < len(_STATES) else str(value)
            explanation.add(
                "kernel",
                f"its congestion state was {name} since {self._at(int(own['t_ns'][one]))} "
                f"(line {int(own['record'][one])})",
            )

    def _answer(self, explanation: Explanation) -> None:
        """The first ACK after it that covers it."""
        rows = self.rows
        back = (rows["conn"] == self.connection.index) & (rows["dir"] != self.dir)
        found = np.flatnonzero(back & (rows["ack"] >= self.end) & (rows["t_ns"] >= self.t_ns))
        if not len(found):
            explanation.add("answer", "it was never acknowledged in this capture")
            return
        one = int(found[0])
        record, t_ns = int(rows["record"][one]), int(rows["t_ns"][one])
        explanation.add(
            "answer",
            f"packet {record:,} acknowledged it {span_text(t_ns - self.t_ns)} later, at {self._at(t_ns)} "
            f"(up to byte {int(rows['ack'][one]) - 1:,})",
            record,
        )

    def _ack(self, explanation: Explanation) -> None:
        kind = schema.ACK_KINDS[int(self.rows["ack_kind"][self.row])]
        says = {
            "advance": "acknowledges new data",
            "duplicate": "is a duplicate ACK: the same number again, no data, data in flight (RFC 5681 2)",
            "window_update": "changes the window only",
            "repeat": "repeats what was known",
            "old": "is older than an ACK that came before",
        }.get(kind, "carries no ACK that could be judged")
        window = int(self.rows["window"][self.row])
        offered = f"; it advertises a window of {window:,} bytes" if window >= 0 else ""
        explanation.add(
            "says", f"acknowledges up to byte {int(self.rows['ack'][self.row]) - 1:,}; {says}{offered}"
        )

    def _stall(self, explanation: Explanation) -> None:
        """Why the sender was idle before this segment."""
        state = sender_state(self.m, self.connection)
        own = (self.rows["conn"] == self.connection.index) & (self.rows["dir"] == self.dir)
        sent = np.flatnonzero(own & (self.rows["length"] > 0) & (self.rows["t_ns"] < self.t_ns))
        last = int(sent[-1])
        begin = int(self.rows["t_ns"][last])
        explanation.add(
            "stall",
            f"nothing was sent for {span_text(self.t_ns - begin)}, from {self._at(begin)} "
            f"to {self._at(self.t_ns)}",
            int(self.rows["record"][last]),
            self.record,
        )
        if state is None or self.dir != self.connection.data_dir:
            explanation.add("why", "the sender's own capture is missing: what it waited for cannot be known")
            return
        explanation.add("why", _why(state, begin, self.t_ns, bool(self.rows["duplicate"][self.row])))
        self._idle(explanation, begin)

    def _idle(self, explanation: Explanation, begin: int) -> None:
        result = self.results.get("idle_phases")
        if result is None or result.inconclusive is not None:
            return
        phases: Sequence[Table] = list(result.tables.values())
        for phase in phases:
            over = np.flatnonzero((phase["t_ns"] < self.t_ns) & (phase["end_ns"] > begin))
            for one in over[:_LISTED].tolist():
                cause, because = phase.words("cause")[one], phase["because"][one]
                begin_text, end_text = (self._at(int(phase[name][one])) for name in ("t_ns", "end_ns"))
                explanation.add(
                    "link",
                    f"idle from {begin_text} to {end_text}: {cause}{f', {because}' if because else ''}",
                )


def _why(state: SenderState, begin: int, end: int, again: bool) -> str:
    """What the sender was waiting for, by its own capture, just before the ACK that released it."""
    since = state.ack_before(end)
    released = since is not None and since <= ACK_CLOCK_NS and end - since > begin
    moment = end - (since or 0) - 1 if released else end - 1
    flight = state.snd_nxt(begin) - state.snd_una(moment)
    edge = state.right_edge(moment)
    size = int(state.data["length"].max())
    if again:
        return (
            f"{max(flight, 0):,} bytes were in flight and the sender waited for ACKs until it retransmitted"
        )
    if flight <= 0:
        return "all data was acknowledged: the application had nothing to send"
    if edge is not None and edge - state.snd_nxt(begin) < size:
        room = max(edge - state.snd_nxt(begin), 0)
        return f"the advertised window was full: {count(flight, 'byte')} in flight and room for {room:,} more"
    if released:
        return (
            f"{count(flight, 'byte')} in flight, the advertised window had room, and an ACK let the sender "
            "go on: its congestion window was full"
        )
    return (
        f"{count(flight, 'byte')} in flight, the advertised window had room and no ACK came: the application "
        "paused"
    )
