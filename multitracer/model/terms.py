"""The terms of all that users read: what each means, and the document that defines it.

Terminal, pages and docs use these words. The glossary of the docs and that of a page are made from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Term(NamedTuple):
    """One term.

    Attributes
    ----------
    name : str
        As it is written; other names of the same after a comma, short ones in brackets.
    meaning : str
        A clause.
    source : str
        The document that defines it, with its section; "Paper" is Ludwig and others, SIGMETRICS 1999.
        Pages of the docs are links of Markdown.
    """

    name: str
    meaning: str
    source: str


TERMS = {
    "TCP: sending and acknowledging": (
        Term(
            "advertised window",
            "the receive window that the receiver reports in its ACKs, scaled",
            "RFC 9293 section 3.8.6, RFC 7323 section 2",
        ),
        Term(
            "bytes in flight, FlightSize",
            "data sent and not yet cumulatively acknowledged",
            "RFC 5681 section 2",
        ),
        Term("congestion window (cwnd)", "the sender's own limit on data in flight", "RFC 5681 section 2"),
        Term(
            "cumulative ACK, snd_una",
            "everything before this sequence number has arrived",
            "RFC 9293 section 3.4",
        ),
        Term(
            "delayed ACK",
            "an ACK that waits for a second segment or a timer",
            "RFC 9293 section 3.8.6.3, RFC 5681 section 4.2",
        ),
        Term(
            "duplicate ACK",
            "an ACK for nothing new while data is in flight; with SACK: one with new SACK information",
            "RFC 5681 section 2, RFC 6675 section 2",
        ),
        Term(
            "duplicate bytes",
            "payload that was transmitted more than once; counted from the second transmission on",
            "RFC 4898 (retransmitted octets)",
        ),
        Term(
            "SYN, FIN, RST", "segments that open, close and reset a connection", "RFC 9293 sections 3.5, 3.6"
        ),
        Term("initial sequence number (ISN)", "the sequence number of the SYN", "RFC 9293 section 3.4.1"),
        Term("limited transmit", "new data sent on the first two duplicate ACKs", "RFC 3042"),
        Term(
            "MSS, SMSS",
            "largest segment; what the sender may send",
            "RFC 9293 section 3.7.1, RFC 5681 section 2",
        ),
        Term("Nagle's algorithm", "small segments wait while data is in flight", "RFC 9293 section 3.7.4"),
        Term("pipe", "the sender's estimate of data in the network", "RFC 6675 sections 2 and 4"),
        Term(
            "policer",
            "a token bucket that drops what exceeds its rate by more than a burst, and queues nothing",
            "RFC 2475 section 2.3.3.3",
        ),
        Term(
            "probe: keep-alive, zero-window",
            "segments that only ask for an ACK",
            "RFC 9293 sections 3.8.4, 3.8.6.1",
        ),
        Term(
            "PSH", "flag on the last segment of what the application handed over", "RFC 9293 section 3.9.1.2"
        ),
        Term(
            "SACK, scoreboard",
            "blocks received beyond the cumulative ACK; the sender's record of them",
            "RFC 2018; RFC 6675 section 3",
        ),
        Term("DSACK", "a SACK block that reports bytes received twice", "RFC 2883"),
        Term(
            "sequence gap",
            "bytes missing below bytes that were seen",
            "RFC 5681 section 3.2 (gap in the sequence space)",
        ),
        Term("slow start, ssthresh", "exponential growth of cwnd up to a threshold", "RFC 5681 section 3.1"),
        Term("TCP Fast Open", "data in the SYN", "RFC 7413"),
        Term("timestamps: TSval, TSecr", "option that echoes the peer's clock", "RFC 7323 section 3"),
        Term("window scale", "shift of the advertised window, agreed in the SYN", "RFC 7323 section 2"),
        Term("window update", "an ACK that only changes the advertised window", "RFC 9293 section 3.8.6.2.2"),
        Term("three-way handshake", "SYN, SYN-ACK and ACK, which open a connection", "RFC 9293 section 3.5"),
        Term(
            "segment, payload",
            "one TCP packet, and the bytes of the application in it",
            "RFC 9293 section 4",
        ),
        Term(
            "zero window",
            "an advertised window of 0: the receiver's buffer is full",
            "RFC 9293 section 3.8.6.1",
        ),
    ),
    "TCP: retransmissions and losses": (
        Term("retransmission", "a segment whose bytes the sender transmitted before", "RFC 9293 section 3.8"),
        Term(
            "fast retransmit",
            "retransmission on duplicate ACKs or SACK, without a timer",
            "RFC 5681 section 3.2, RFC 6675, RFC 8985",
        ),
        Term(
            "go-back-N, slow-start retransmission",
            "segments retransmitted in slow start after an RTO",
            "RFC 5681 section 3.1; Linux `TCPSlowStartRetrans`",
        ),
        Term(
            "loss recovery, recovery episode",
            "from the first retransmission until all data transmitted until then is acknowledged",
            "RFC 6582 section 3, RFC 6675 section 5",
        ),
        Term(
            "proportional rate reduction",
            "how much is sent during fast recovery, so that the data in flight shrinks to ssthresh",
            "RFC 9937 (obsoletes RFC 6937)",
        ),
        Term("RACK", "loss detection by time", "RFC 8985"),
        Term("retransmission timeout (RTO)", "the timer, and its expiry", "RFC 6298"),
        Term("RTO backoff", "the timer doubles with each expiry: x2, x4 ...", "RFC 6298 section 5, step 5.5"),
        Term(
            "idle before RTO",
            "time from the last segment sent to the expiry",
            "[read a report](read-a-report.md#verdicts-on-timeouts)",
        ),
        Term(
            "tail loss probe",
            "new data, or the last segment once more, transmitted ahead of the RTO to get an ACK",
            "RFC 8985 section 7.3",
        ),
        Term(
            "spurious timeout",
            "an RTO that fires although the data, or its ACK, is still in transit",
            "RFC 3522 section 2, RFC 5682 section 1",
        ),
        Term(
            "genuine timeout",
            "an RTO that was needed",
            "[read a report](read-a-report.md#verdicts-on-timeouts)",
        ),
        Term("Eifel detection", "spurious retransmission shown by timestamps", "RFC 3522 section 3"),
        Term("F-RTO", "spurious RTO shown by the ACKs after it", "RFC 5682"),
        Term("undo", "the sender restores cwnd after a spurious recovery", "RFC 4015; Linux `TCPLossUndo`"),
        Term(
            "inferred retransmission",
            "one whose earlier copy this capture never saw",
            "[arrivals](arrivals.md)",
        ),
        Term("out-of-order arrival", "a data segment below the highest byte seen", "RFC 4737 section 3.3"),
        Term(
            "reordering",
            "a segment sent once and overtaken by later ones",
            "RFC 8985 section 1.2; RFC 4737 section 3.3 does not consider retransmissions",
        ),
        Term("network duplicate", "one packet delivered twice", "RFC 5560 section 3"),
        Term(
            "unclassified",
            "a retransmission whose cause the capture does not show",
            "[arrivals](arrivals.md)",
        ),
        Term(
            "upstream, downstream loss",
            "lost before, or after, the observation point",
            "RFC 7011 section 2 (observation point)",
        ),
        Term(
            "inconclusive",
            "a verdict: the sources do not decide between spurious and genuine",
            "[read a report](read-a-report.md#verdicts-on-timeouts)",
        ),
    ),
    "Time and rates": (
        Term("RTT", "time from a segment to its ACK", "RFC 6298 section 3"),
        Term("Karn's algorithm", "retransmitted segments give no RTT sample", "RFC 6298 section 3"),
        Term("SRTT, RTTVAR", "smoothed RTT and its variation", "RFC 6298 section 2"),
        Term(
            "min RTT, base RTT",
            "smallest RTT: the path without queues",
            "RFC 6817 section 3.1.1 (base delay, one-way); [limits](limits.md)",
        ),
        Term(
            "half RTT",
            "the part of the RTT on one side of the observation point",
            "[limits](limits.md#half-rtts)",
        ),
        Term("one-way delay", "from one capture to the other", "RFC 7679 section 3"),
        Term(
            "queueing delay",
            "RTT minus the base RTT of a packet of the same size",
            "RFC 6817 section 3.1.2 (one-way); RFC 2330 section 13 (size); [limits](limits.md)",
        ),
        Term(
            "standing queue (bufferbloat)",
            "a queue that never drains: its delay persists",
            "RFC 8289 sections 1 and 2",
        ),
        Term(
            "bandwidth-delay product (BDP)",
            "bytes that fill the path: rate times base RTT",
            "RFC 7323 section 1.1",
        ),
        Term(
            "throughput", "all payload transmitted, per time", "[read a report](read-a-report.md#connection)"
        ),
        Term("goodput", "payload acknowledged, each byte once, per time", "RFC 5166 section 2.1.1"),
        Term(
            "bottleneck",
            "the link with the least available rate on the path",
            'RFC 5136 section 3.4 ("tight link")',
        ),
        Term(
            "ACK compression",
            "ACKs that arrive closer together than they were sent",
            "Zhang, Shenker, Clark, SIGCOMM 1991; Mogul, SIGCOMM 1992",
        ),
        Term("ECN, Accurate ECN", "congestion marked instead of dropped", "RFC 3168, RFC 9768"),
        Term(
            "Jain's index",
            "fairness of goodputs: 1 if all are equal",
            "Jain, Chiu, Hawe, 1984; RFC 5166 section 2.3.1",
        ),
        Term(
            "utilization",
            "share of the link's capacity that carried new bytes",
            "Paper section 4.3, [read a report](read-a-report.md#utilization)",
        ),
        Term(
            "limited by",
            "what kept the sender from sending: application, receiver window, congestion window, bandwidth, "
            "loss recovery or handshake, in shares of the time",
            "RFC 4898 (tcpEStatsPerfSndLim); [limits](limits.md)",
        ),
        Term(
            "cost",
            "how much sooner the transfer would have been complete without a cause",
            "[diagnosis](diagnosis.md#what-a-cost-is)",
        ),
        Term(
            "ProbeRTT",
            "BBR holds cwnd at four segments for a while to measure the min RTT",
            'draft-ietf-ccwg-bbr, section "ProbeRTT"',
        ),
    ),
    "Captures and hosts": (
        Term(
            "observation point", "where packets were captured: sender, receiver, middle", "RFC 7011 section 2"
        ),
        Term("snap length", "bytes kept of each packet", "pcap file format"),
        Term(
            "super-segment (TSO, GSO)",
            "a segment larger than the MSS that the card splits",
            "[accuracy](accuracy.md)",
        ),
        Term(
            "coalesced segment (GRO, LRO)",
            "segments that the receiving host merged",
            "[accuracy](accuracy.md)",
        ),
        Term(
            "checksum offload",
            "the card fills in the checksum after the capture",
            "[capture](guides/capture.md#offload)",
        ),
        Term("queueing discipline (qdisc)", "the host's queue in front of the device", "tc(8)"),
        Term(
            "local drop",
            "a segment dropped in front of the link by the sender's own queue",
            "Paper section 5.2",
        ),
        Term(
            "clock offset, skew", "constant difference and drift between two clocks", "RFC 2330 section 10.1"
        ),
        Term("bound", "the largest possible error", "[clocks](decisions/0002-clocks.md)"),
    ),
    "Links": (
        Term("ARQ", "retransmission of frames by the link", "RFC 3366"),
        Term("competing error recovery", "TCP and the link retransmit the same bytes", "Paper section 5.4"),
        Term(
            "flow control, XON/XOFF",
            "the link's receiver stops and starts its sender: in RLP by RNR and RR",
            "3GPP TS 24.022 section 5.2.3, Paper section 5.5",
        ),
        Term(
            "link reset (`RlpSnd_rst`)",
            "both entities give up the connection's state; buffers are flushed",
            "3GPP TS 24.022, Paper section 5.3",
        ),
        Term("N2", "retransmissions of a frame before a reset", "3GPP TS 24.022 section 5.5"),
        Term("RLP", "GSM's Radio Link Protocol", "3GPP TS 24.022"),
        Term(
            "SABM, UA, SREJ, REJ, RR, RNR",
            "its frames: open, accept, selective reject, reject, ready, not ready",
            "3GPP TS 24.022 sections 5.2.2, 5.2.3",
        ),
        Term("T1", "its retransmission timer", "3GPP TS 24.022 section 5.5"),
        Term(
            "RLC, acknowledged mode (AM)",
            "the retransmitting layer of LTE and NR",
            "3GPP TS 36.322, TS 38.322",
        ),
        Term(
            "poll, status report, NACK",
            "RLC asks for, and reports, what is missing",
            "TS 36.322 section 5.2, TS 38.322 section 5.3",
        ),
        Term(
            "t-Reordering, t-Reassembly",
            "how long RLC waits before it reports a gap",
            "TS 36.322 section 7.3, TS 38.322 section 7.3",
        ),
        Term("discardTimer", "PDCP gives a packet up", "TS 36.323 section 5.4, TS 38.323 section 5.3"),
        Term(
            "HARQ",
            "retransmission of transport blocks in MAC",
            "TS 36.321 and TS 38.321, sections 5.3.2 (down) and 5.4.2 (up)",
        ),
        Term(
            "handover, re-establishment",
            "the bearer moves to another cell; the connection is restored",
            "TS 36.331 sections 5.3.5.4, 5.3.7; TS 38.331 sections 5.3.5, 5.3.7",
        ),
        Term("C-RNTI", "a terminal's number in a cell", "TS 36.321 section 7.1"),
        Term(
            "retry, retry limit",
            "retransmission of an 802.11 frame, and how many before it is given up",
            "IEEE 802.11-2020 section 10.3.4.4",
        ),
        Term("airtime", "time that a frame takes on the channel", "IEEE 802.11-2020 clauses 15 to 21"),
        Term(
            "block ACK, A-MPDU, A-MSDU",
            "acknowledgement of, and aggregation into, one transmission",
            "IEEE 802.11-2020 sections 10.25, 10.12, 10.11",
        ),
        Term(
            "power save",
            "a station dozes, and its access point holds its frames",
            "IEEE 802.11-2020 section 11.2",
        ),
        Term(
            "header compression",
            "TCP/IP headers sent as differences; a lost frame puts the decompressor out of step",
            "RFC 1144, RFC 5795",
        ),
        Term(
            "corrupted by header decompression",
            "segments that arrive whole, with a wrong header, and fail the TCP checksum",
            "RFC 1144 section 4, Paper section 5.3",
        ),
        Term("layers offset", "bytes by which layers are drawn apart in a figure", "Paper Figure 5"),
        Term(
            "CCID 3, X_calc, loss event rate",
            "DCCP's rate control and its quantities",
            "RFC 4342; RFC 3448 section 4.3 (X_calc), RFC 5348 section 3.1 (there X_Bps) and section 5",
        ),
        Term(
            "idle phase",
            "time in which the link could have sent and had nothing to send",
            "Paper section 4.3",
        ),
        Term(
            "timeout wait, recovery stall, stalled path, pacing",
            "idle phases: the sender waited for its RTO, was in recovery, what was in flight stalled, or the "
            "sender spaced its segments by a timer",
            "Paper section 4.3; [diagnosis](diagnosis.md)",
        ),
    ),
}
"""Terms by the heading under which the glossary has them."""

_PAPER = "Ludwig and others, SIGMETRICS 1999,"


def names(term: Term) -> list[str]:
    """The names of a term, each alone: ``congestion window`` and ``cwnd``."""
    return [part.strip() for part in re.split(r"[,:()]", term.name) if part.strip(" `")]


def plain_source(term: Term) -> str:
    """The source in plain text: ``docs/limits.md`` for a link, the paper by its authors."""
    text = re.sub(r"\[[^]]*\]\(([^)#]+)[^)]*\)", r"docs/\1", term.source)
    return re.sub(r"\bPaper\b", _PAPER, text).replace("`", "")


def every() -> Iterator[Term]:
    """All terms, in the order of the glossary."""
    for group in TERMS.values():
        yield from group


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        name: re.compile(
            rf"(?<![\w-]){re.escape(name)}(?:s|es)?(?![\w-])", re.IGNORECASE if name.islower() else 0
        )
        for term in every()
        for name in (one.strip("`") for one in names(term))
    }


def used_in(text: str) -> list[Term]:
    """The terms that occur in a text under one of their names, singular or plural, as whole words.

    Parameters
    ----------
    text : str
        Without markup. Names that are not all in small letters have to be written as they are here.

    Returns
    -------
    list of Term
        In the order of the glossary.
    """
    words = set(re.findall(r"\w+", text.lower()))

    def occurs(name: str) -> bool:
        # Most are not there: their first letters are looked up before the text is searched.
        parts = re.findall(r"\w+", name.lower())[:-1]
        return words.issuperset(parts) and _patterns()[name].search(text) is not None

    return [term for term in every() if any(occurs(name.strip("`")) for name in names(term))]
