"""Of what kind a reliable link is: what analyses need to know of it, as data.

RLP is a byte stream cut into frames of fixed slots; Wi-Fi acknowledges packets one by one or in blocks and
shares the air; RLC in acknowledged mode cuts packets into PDUs and reports what is missing. The analyses are
the same: they ask the link type what a row means, and what its log could not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from multitracer.model.frozen import frozen

Unit = Literal["stream", "packet", "segment"]
Acknowledgement = Literal["cumulative", "frame", "block", "status", "none"]
Observer = Literal["entities", "sender", "receiver", "monitor"]
Fact = Literal[
    "arrivals", "attempts", "airtime", "flow_control", "flushes", "idle", "offsets", "queue", "resets"
]


@frozen
class LinkType:
    """One kind of link, seen by one kind of log.

    Attributes
    ----------
    name : str
        "rlp", "wifi", "rlc-lte", "rlc-nr", "ns2-mac" ...
    title : str
        For people: "Wi-Fi (IEEE 802.11)".
    unit : {"stream", "packet", "segment"}
        What a data frame carries: bytes of a stream regardless of packets; one packet; a packet or a part of
        one, never parts of two.
    slotted : bool
        Frames of a busy sender leave at equal distances: an empty slot is idle time. Otherwise the time
        between two frames is idle only beyond what the medium takes.
    acknowledgement : {"cumulative", "frame", "block", "status", "none"}
        How the receiver reports to the sender what arrived.
    observer : {"entities", "sender", "receiver", "monitor"}
        Who wrote the log. What a monitor did not see may yet have been sent: it is "not seen", never "lost".
    shared : bool
        Both directions share one medium: while one is busy, the other has to wait.
    power_save : bool
        RNR and RR are a station's that dozes and wakes; its access point holds back what it has for it.
    prefix : str
        Of the names of its series in `Measurement.events` and in figures: ``RlpSnd_data``, ``WifiSnd_data``.
    lacks : frozenset of str
        What the log does not show, of "arrivals" (which frames got through), "attempts", "airtime",
        "flow_control", "flushes" (bytes lost in a reset), "idle", "offsets" (place in the byte stream),
        "queue" (drops before the link), "resets".
    """

    name: str
    title: str
    unit: Unit = "stream"
    slotted: bool = True
    acknowledgement: Acknowledgement = "cumulative"
    observer: Observer = "entities"
    shared: bool = False
    power_save: bool = False
    prefix: str = "Rlp"
    lacks: frozenset[Fact] = frozenset()

    @property
    def short(self) -> str:
        """The title without what follows the name."""
        return self.title.partition(" (")[0].partition(" in ")[0]

    def tells(self, fact: Fact) -> bool:
        """Whether a log of this kind shows anything of it."""
        return fact not in self.lacks


RLP = LinkType("rlp", "RLP (GSM 04.22)", lacks=frozenset({"airtime"}))

WIFI = LinkType(
    "wifi",
    "Wi-Fi (IEEE 802.11)",
    unit="packet",
    slotted=False,
    acknowledgement="frame",
    observer="monitor",
    shared=True,
    power_save=True,
    prefix="Wifi",
    lacks=frozenset({"flushes", "queue"}),
)

RLC_LTE = LinkType(
    "rlc-lte",
    "RLC in acknowledged mode (LTE)",
    unit="stream",
    slotted=False,
    acknowledgement="status",
    prefix="Rlc",
    observer="monitor",
    lacks=frozenset({"arrivals", "flushes", "queue"}),
)
"""PDUs as one observer saw them; what arrived is known where both ends did (`rlc`)."""

RLC_NR = replace(
    RLC_LTE,
    name="rlc-nr",
    title="RLC in acknowledged mode (5G NR)",
    unit="segment",
    lacks=RLC_LTE.lacks | {"airtime"},
)


_UNACKNOWLEDGED = {"um": "unacknowledged", "tm": "transparent"}


def rlc(radio: str, both_ends: bool, mode: str = "am") -> LinkType:
    """The kind of a bearer of "lte" or "nr" in acknowledged, unacknowledged or transparent mode.

    Parameters
    ----------
    radio : str
        "lte" or "nr".
    both_ends : bool
        The log was written at both ends: what arrived is known.
    mode : str
        "am", "um" or "tm" (TS 36.322, TS 38.322).
    """
    kind = RLC_LTE if radio == "lte" else RLC_NR
    if mode != "am":
        title = kind.title.replace("acknowledged", _UNACKNOWLEDGED[mode])
        lacks: frozenset[Fact] = kind.lacks | {"attempts"}
        kind = replace(kind, name=f"{kind.name}-{mode}", title=title, acknowledgement="none", lacks=lacks)
    return replace(kind, observer="entities", lacks=kind.lacks - {"arrivals"}) if both_ends else kind


def seen_by(kind: LinkType, sender: bool) -> LinkType:
    """The same kind where one end alone logs a direction: its sender, or its receiver.

    What arrived is all that a receiver knows: a frame that was lost on the air is not in its log, nor how
    often it was sent.
    """
    if sender:
        return replace(kind, observer="sender")
    return replace(kind, observer="receiver", lacks=kind.lacks - {"arrivals"} | {"attempts"})
