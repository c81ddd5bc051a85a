"""What happened to every packet, from captures at all points together.

Identity. A Linux sender counts IP IDs per socket: one ID for each packet that it hands to its queue, data
or not. A packet is the same at two points if ID, sequence number and TSval are the same; the order of IDs
is the order of sending. Captures of one campaign share one clock.

A segment that was sent below the highest sequence number sent before it (in the order of IDs) is a
retransmission. At a capture, of the data segments that arrive below the highest byte seen there:

- a packet that was seen there before is a network duplicate;
- else one that the sender sent as a retransmission is a retransmission;
- else it was sent once, in order, and came late: reordered.

Odd cases, as they were found here (Linux 6.18):

- Segmentation offload: the sender's capture holds super-segments; ID, sequence number and so on of the
  first packet stand for all, the others follow by one ID and one segment each. Expanded here before
  anything is counted. The same holds for what a receiver's device has merged (GRO merges only packets whose
  IDs follow each other).
- The sender's own queue. A tap of Linux sees what leaves the queue. What the queue drops is in no capture,
  and takes an ID along. TCP does not always hear of it. If it does, an original is simply sent again later
  (an ID is missing, no retransmission), and a retransmission that was refused counts in TCPRetransFail, not
  on the wire. If it does not, TCP finds a loss, and its retransmission is the first copy that any capture
  holds.
- The last segment of a transfer lost in the sender's queue: its retransmission is in order everywhere, and
  only the kernel's counter knows that there was another. `Direction.unseen` says how many IDs are missing.
- IDs of SYN and ACK of a server are 0, of its later packets counted from a random start: the order begins
  behind the handshake. What a socket in TIME-WAIT answers has an ID of 0 as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fieldwork.packets import ACK, FIN, SYN, Key, Packet

Identity = tuple[int, int, int | None]
RETRANSMISSION, REORDERED, DUPLICATE = "retransmission", "reordered", "network_duplicate"
_SLACK = 4096


@dataclass(slots=True)
class Sent:
    """One packet as its sender handed it to the network.

    Attributes
    ----------
    order : int
        By IP ID.
    seq : int
        From the start of the stream.
    length : int
        Payload and FIN.
    points : set of str
        Captures that hold it.
    """

    order: int
    seq: int
    length: int
    data: bool
    points: set[str] = field(default_factory=set)
    retransmission: bool = False


@dataclass(slots=True)
class Direction:
    """One direction of a connection.

    Attributes
    ----------
    sent : dict
        All packets with data or FIN that any capture holds, in the order of sending.
    unseen : dict of str to int
        By capture: IDs between the first and the last packet of this direction that this capture does not
        hold.
    """

    key: Key
    isn: int
    unit: int
    first_id: int
    sent: dict[Identity, Sent] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)

    def order(self, ip_id: int) -> int:
        """Place in the order of sending, for transfers of less than some 60,000 packets."""
        return (ip_id - self.first_id + _SLACK) % 65_536 - _SLACK

    def relative(self, seq: int) -> int:
        """Bytes from the start of the stream."""
        return (seq - self.isn + _SLACK) % 2**32 - _SLACK

    def parts(self, packet: Packet) -> list[tuple[Identity, int, int, bool]]:
        """Of each wire packet: identity, relative sequence number, length with FIN, whether it holds data."""
        parts = []
        start = self.relative(packet.seq)
        fin = packet.flags & FIN
        count = max(1, -(-packet.length // self.unit))
        for number in range(count):
            offset = number * self.unit
            length = min(self.unit, packet.length - offset)
            identity = (
                (packet.ip_id + number) % 65_536,
                (packet.seq + offset) % 2**32,
                packet.ts_val,
            )
            last = number == count - 1
            parts.append((identity, start + offset, length + (1 if fin and last else 0), length > 0))
        return parts

    @property
    def with_data(self) -> bool:
        """Whether it carried data at all."""
        return any(sent.data for sent in self.sent.values())

    def lost(self, seen: str, not_seen: str) -> int:
        """Packets with data that one capture holds and another does not."""
        return sum(
            sent.data and seen in sent.points and not_seen not in sent.points for sent in self.sent.values()
        )

    def needless(self, point: str, end: str) -> int:
        """Retransmissions of data at a capture, of all of whose bytes earlier copies reached `end`."""
        arrived: list[tuple[int, int]] = []
        count = 0
        for sent in self.sent.values():
            if sent.data and sent.retransmission and point in sent.points:
                count += _covered(arrived, sent.seq, sent.seq + sent.length)
            if end in sent.points:
                arrived.append((sent.seq, sent.seq + sent.length))
        return count

    def retransmitted(self, point: str) -> int:
        """Retransmissions (with data or FIN) that a capture holds, each once."""
        return sum(sent.retransmission and point in sent.points for sent in self.sent.values())


def _covered(ranges: Iterable[tuple[int, int]], left: int, right: int) -> bool:
    """Whether ranges, in any order, hold every byte from `left` to `right`."""
    for begin, end in sorted(one for one in ranges if one[0] < right and one[1] > left):
        if begin > left:
            return False
        left = max(left, end)
    return left >= right


@dataclass(frozen=True, slots=True)
class Arrival:
    """A data segment below the highest byte seen before it at a capture."""

    record: int
    key: Key
    seq: int
    length: int
    verdict: str


def directions(captures: Mapping[str, Sequence[Packet]]) -> dict[Key, Direction]:
    """Every direction that carried data or a FIN, with the fate of each of its packets.

    Parameters
    ----------
    captures : mapping
        Packets by point; "snd" is where the larger part of the data was sent.
    """
    found: dict[Key, Direction] = {}
    everything = [packet for capture in captures.values() for packet in capture]
    for key in dict.fromkeys(p.key for p in everything if p.length > 0 or p.flags & FIN):
        own = [packet for packet in everything if packet.key == key]
        others = [packet for packet in everything if packet.reverse == key]
        found[key] = _direction(key, own, others)
    for point, capture in captures.items():
        ids: dict[Key, set[int]] = {}
        for packet in capture:
            direction = found.get(packet.key)
            if direction is None or packet.flags & SYN or not (packet.ip_id or packet.length):
                continue
            orders = ids.setdefault(packet.key, set())
            parts = direction.parts(packet)
            orders.update(direction.order(identity[0]) for identity, *_ in parts)
            for identity, seq, length, data in parts:
                if length:
                    sent = direction.sent.setdefault(
                        identity, Sent(direction.order(identity[0]), seq, length, data)
                    )
                    sent.points.add(point)
        for key, orders in ids.items():
            found[key].unseen[point] = max(orders) - min(orders) + 1 - len(orders)
    for direction in found.values():
        direction.sent = dict(sorted(direction.sent.items(), key=lambda item: item[1].order))
        highest = 0
        for sent in direction.sent.values():
            sent.retransmission = sent.seq < highest
            highest = max(highest, sent.seq + sent.length)
    return found


def syns_again(captures: Mapping[str, Sequence[Packet]], point: str) -> tuple[int, int]:
    """SYN segments beyond the first of each direction that a capture holds, at least and at most.

    Kernels count them as retransmissions. Their IDs are all 0 at one end, so that nobody can tell which
    copy it was that never came.
    """
    counts = {
        name: Counter(packet.key for packet in capture if packet.flags & SYN)
        for name, capture in captures.items()
    }
    low = high = 0
    for key, came in counts[point].items():
        sent = max(count[key] for count in counts.values())
        low += came - 1
        high += came - 1 if came == sent else came
    return low, high


def _direction(key: Key, own: Sequence[Packet], others: Sequence[Packet]) -> Direction:
    syn = next((packet for packet in own if packet.flags & SYN), None)
    answer = next((packet for packet in others if packet.flags & SYN), None)
    later = min(
        (packet for packet in own if not packet.flags & SYN),
        key=lambda packet: packet.t_ns,
    )
    largest = max(packet.length for packet in own)
    offered = [packet.mss for packet in (syn, answer) if packet is not None and packet.mss]
    unit = min(offered, default=largest)
    if syn is not None and answer is not None and syn.ts_val is not None and answer.ts_val is not None:
        unit -= 12
    isn = (syn.seq + 1 if syn is not None else min(packet.seq for packet in own)) % 2**32
    return Direction(key, isn, max(1, min(unit, largest or unit)), later.ip_id)


def arrivals(capture: Iterable[Packet], found: Mapping[Key, Direction]) -> list[Arrival]:
    """The truth of each data segment below the highest byte that the capture held before it."""
    highest: dict[Key, int] = {}
    seen: dict[Key, set[Identity]] = {key: set() for key in found}
    out = []
    for packet in capture:
        direction = found.get(packet.key)
        if direction is None or packet.length <= 0 or packet.flags & SYN:
            continue
        parts = direction.parts(packet)
        first, start, *_ = parts[0]
        if start < highest.get(packet.key, start):
            if all(identity in seen[packet.key] for identity, *_ in parts):
                verdict = DUPLICATE
            elif direction.sent[first].retransmission:
                verdict = RETRANSMISSION
            else:
                verdict = REORDERED
            out.append(Arrival(packet.record, packet.key, packet.seq, packet.length, verdict))
        seen[packet.key].update(identity for identity, *_ in parts)
        end = parts[-1][1] + parts[-1][2]
        highest[packet.key] = max(highest.get(packet.key, 0), end)
    return out


@dataclass(frozen=True, slots=True)
class Halves:
    """Delay of a tap's two sides, nanoseconds: of packets that two captures hold, both ways.

    Attributes
    ----------
    smallest, median : int
        Of the way there; and of the way back, added.
    """

    smallest: int
    median: int


def halves(
    captures: Mapping[str, Sequence[Packet]], key: Key, point: str, end: str, from_snd: bool = True
) -> Halves | None:
    """Time from a tap to an end of the path and back, without what the host there adds.

    The data's packets are matched by ID and sequence number; so are the ACKs. A SYN counts where it was
    captured once at both: of copies with the same ID, nobody knows which is which. `from_snd`: packets of
    `key` go from "snd" to "rcv".
    """
    there, back = [], []
    near = {_name(packet): packet.t_ns for packet in reversed(captures[point])}
    syns = [Counter(_name(packet) for packet in captures[at] if packet.flags & SYN) for at in (point, end)]
    for packet in captures[end]:
        name = _name(packet)
        t_ns = near.get(name)
        if t_ns is None or not packet.flags & (SYN | ACK):
            continue
        if packet.flags & SYN and any(count[name] != 1 for count in syns):
            continue
        away = ((packet.key == key) == from_snd) == (end == "rcv")
        if packet.key == key or packet.reverse == key:
            (there if away else back).append(packet.t_ns - t_ns if away else t_ns - packet.t_ns)
    if not there or not back:
        return None
    there.sort()
    back.sort()
    return Halves(there[0] + back[0], there[len(there) // 2] + back[len(back) // 2])


def _name(packet: Packet) -> tuple[Key, int, int, int, bool]:
    # Not its length: a super-segment at one tap is its first segment at the next.
    return packet.key, packet.ip_id, packet.seq, packet.ack, packet.length > 0
