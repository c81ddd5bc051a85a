"""Recoveries that nothing in front of or on the link explains, in columns: most captures have no others."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.diagnosis.chains.chain import MOST_EVENTS
from multitracer.diagnosis.chains.episodes import Episodes
from multitracer.diagnosis.chains.evidence import Evidence
from multitracer.diagnosis.chains.recovery import LOST_BETWEEN, SENT, repeated, timeout_rule
from multitracer.model.arrays.group_by import last_places
from multitracer.model.arrays.unique import among, sorted_unique
from multitracer.model.schema.chains import CHAIN_EVENTS
from multitracer.model.table import Array, Table

_WHAT = {"timeout": "timeout_retransmission"}


class Unexplained:
    """Chains that begin with data that was lost, one for each of some episodes.

    Parameters
    ----------
    evidence : Evidence
    places : array of int64
        The episodes, as `Episodes` numbers them.

    Attributes
    ----------
    conn, t_ns, duplicate, silence_ns : array of int64
        As in `multitracer.diagnosis.chains.chain.Chain`.
    idle_ns : array of int64
        Nothing, before `idle` adds to it.
    """

    def __init__(self, evidence: Evidence, places: Array) -> None:
        episodes = evidence.episodes
        self.conn: Array = episodes.conn[places]
        self.t_ns: Array = episodes.copy_ns[places]
        self.silence_ns: Array = np.zeros(len(places), dtype=np.int64)
        self.idle_ns: Array = np.zeros(len(places), dtype=np.int64)
        self.duplicate: Array = np.zeros(len(places), dtype=np.int64)
        self._count: Array = np.zeros(len(places), dtype=np.int64)
        self._events: list[Table] = []
        self._idle: list[tuple[int, int, int, int, int, str, int, int]] = []
        if len(places):
            self._sent(episodes, places)
            self._lost(evidence, places)
            self._timeouts(evidence, places)
            self._retransmissions(episodes, places)

    def __len__(self) -> int:
        return len(self.t_ns)

    def columns(self) -> dict[str, Array]:
        """Their columns of `CHAINS`; others are 0."""
        names = ("t_ns", "conn", "idle_ns", "duplicate", "silence_ns")
        return {name: getattr(self, name) for name in names}

    def take_events(self, numbers: Array) -> Table:
        """Their events as `CHAIN_EVENTS`, in no order: handed over, they are held here no longer.

        Parameters
        ----------
        numbers : array of int64
            The number of each chain.
        """
        found, self._events = self.recoveries, []
        if self._idle:
            names = ("chain", "event", "t_ns", "end_ns", "conn", "rule", "source", "record")
            columns: dict[str, Any] = dict(zip(names, zip(*self._idle, strict=True), strict=True))
            columns["rule"] = _texts(columns["rule"])
            columns["parent"] = np.array(columns["event"]) - 1
            columns["what"] = _same("idle", len(self._idle))
            columns["number"] = np.ones(len(self._idle), dtype=np.int64)
            idle = Table.filled(CHAIN_EVENTS, len(self._idle), columns)
            found = Table.concat(CHAIN_EVENTS, [found, idle])
        return found.replace(chain=numbers[found["chain"]])

    @property
    def recoveries(self) -> Table:
        """Their events but idle phases; ``chain`` is the place among these chains."""
        if len(self._events) != 1:
            self._events = [Table.concat(CHAIN_EVENTS, self._events)]
        return self._events[0]

    def idle(self, place: int, start: int, end: int, rule: str, source: int, record: int, conn: int) -> None:
        """Charge an idle phase to one of them.

        Parameters
        ----------
        place : int
            The chain.
        start, end : int
            The phase.
        rule : str
            Why it belongs there.
        source, record, conn : int
            What shows it.
        """
        self._count[place] += 1
        self.idle_ns[place] += end - start
        self._idle.append((place, int(self._count[place]), start, end, conn, rule, source, record))

    def _add(
        self, chain: Array, rank: Array, what: Array, rule: Array, parent: Array, **columns: Array
    ) -> None:
        """Events after the existing ones; `rank` is the place of each in its chain among the new ones."""
        given = {"number": np.ones(len(chain), dtype=np.int64), "record": np.zeros(len(chain), np.int64)}
        given |= {"chain": chain, "event": self._count[chain] + rank + 1, "what": what, "rule": rule}
        given |= {"parent": parent, "conn": self.conn[chain], **columns}
        self._events.append(Table.filled(CHAIN_EVENTS, len(chain), given))
        self._count += np.bincount(chain, minlength=len(self))

    def _sent(self, episodes: Episodes, places: Array) -> None:
        every, first, table = np.arange(len(places)), episodes.begin[places], episodes.of.table
        none = np.zeros_like(every)
        self._add(
            every,
            none,
            _same("sent", len(every)),
            _same(SENT, len(every)),
            none,
            t_ns=self.t_ns,
            seq=table["seq"][first],
            length=table["length"][first],
        )

    def _lost(self, evidence: Evidence, places: Array) -> None:
        """Segments of an episode that passed the sender's capture and never the receiver's."""
        episodes, given = evidence.episodes, self.conn
        order = np.argsort(given, kind="stable")
        conns = sorted_unique(given)
        bounds = np.append(np.searchsorted(given[order], conns), len(order)).tolist()
        for at, conn in enumerate(conns.tolist()):
            lost = evidence.lost(conn)
            if lost is None:
                continue
            mine = order[bounds[at] : bounds[at + 1]]
            low = np.searchsorted(lost["t_ns"], self.t_ns[mine])
            high = np.searchsorted(lost["t_ns"], episodes.end_ns[places[mine]], side="right")
            some = np.flatnonzero(low < high)
            chain, row = [], []
            for chosen, begin, end in zip(
                mine[some].tolist(), low[some].tolist(), high[some].tolist(), strict=True
            ):
                rows = slice(int(episodes.begin[places[chosen]]), int(episodes.end[places[chosen]]))
                sent_again = np.flatnonzero(among(lost["seq"][begin:end], episodes.of.table["seq"][rows]))
                row.append(begin + sent_again[:MOST_EVENTS])
                chain.append(np.full(len(row[-1]), chosen))
            if not chain or not sum(map(len, chain)):
                continue
            of, picked = np.concatenate(chain), np.concatenate(row)
            self._add(
                of,
                _ranks(of),
                _same("segment_lost", len(of)),
                _same(LOST_BETWEEN, len(of)),
                np.ones(len(of), dtype=np.int64),
                **{name: lost[name][picked] for name in ("t_ns", "source", "record", "seq", "length")},
            )

    def _timeouts(self, evidence: Evidence, places: Array) -> None:
        rows = evidence.rows("timeouts")
        if rows is None:
            return
        pairs = rows["conn"], rows["record"]
        place = evidence.episodes.having(*pairs)
        of = np.full(len(evidence.episodes), -1, dtype=np.int64)
        of[places] = np.arange(len(places))
        chain = np.where(place >= 0, of[place], -1)
        last = last_places(pairs, pairs) == np.arange(len(rows))  # of the same packet the last
        row = np.flatnonzero((chain >= 0) & last)
        row = row[np.argsort(chain[row], kind="stable")]
        row = row[_ranks(chain[row]) < MOST_EVENTS]
        if not len(row):
            return
        mine, chain = rows.where(row), chain[row]
        rank, verdicts, silence = _ranks(chain), mine.words("verdict"), mine["silence_ns"]
        values = (one.tolist() for one in (verdicts, silence, mine["rto_ns"], mine["backoff"]))
        self._add(
            chain,
            rank,
            _same("timeout", len(row)),
            _texts(list(map(timeout_rule, *values))),
            self._count[chain] + rank,
            wait_ns=silence,
            cause=verdicts,
            **{name: mine[name] for name in ("t_ns", "source", "record", "seq", "length")},
        )
        np.maximum.at(self.silence_ns, chain, silence)

    def _retransmissions(self, episodes: Episodes, places: Array) -> None:
        """What was retransmitted in each episode, by its cause."""
        table = episodes.of.table
        rows, of = episodes.rows(places)
        key = of * len(table.schema.by_name["cause"].categories or ()) + table["cause"][rows]
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        number = np.diff(np.append(starts, len(order)))
        seq = np.minimum.reduceat(table["seq"][rows[order]], starts)
        length = np.add.reduceat(table["duplicate"][rows[order]].astype(np.int64), starts)
        first, last = order[starts], order[starts + number - 1]
        groups = np.argsort(first)  # episode by episode, and the cause that came first first
        first, last, number = first[groups], last[groups], number[groups]
        chain = of[first]
        words = np.array([_WHAT.get(word, word) for word in table.schema.by_name["cause"].categories or ()])
        counted = sorted_unique(number)
        rules = _texts([repeated(one) for one in counted.tolist()])
        first, last = rows[first], rows[last]
        self._add(
            chain,
            _ranks(chain),
            words.astype(object)[table["cause"][first]],
            rules[np.searchsorted(counted, number)],
            self._count[chain],
            end_ns=table["t_ns"][last],
            seq=seq[groups],
            length=length[groups],
            number=number,
            **{name: table[name][first] for name in ("t_ns", "source", "record")},
        )
        np.add.at(self.duplicate, chain, length[groups])


def _ranks(chain: Array) -> Array:
    """The place of each among those of the same chain, which are adjacent."""
    first = np.flatnonzero(np.diff(chain, prepend=-1))
    return np.arange(len(chain)) - np.repeat(first, np.diff(np.append(first, len(chain))))


def _same(text: str, number: int) -> Array:
    found = np.empty(number, dtype=object)
    found.fill(text)  # `np.full` makes as many texts
    return found


def _texts(texts: list[str] | tuple[str, ...]) -> Array:
    return np.array(texts, dtype=object)
