"""The rules of the diagnosis: when each kind of sentence is used, how it is measured, where it is defined."""

from __future__ import annotations

from typing import NamedTuple

from multitracer.diagnosis.chains.recovery import CONVERGED
from multitracer.diagnosis.field.causes import LOSS_SHARE
from multitracer.diagnosis.field.facts import FULL, QUEUE_MS, QUEUE_TIMES
from multitracer.diagnosis.field.groups import WORTH
from multitracer.diagnosis.findings import airtime, bearers, hosts, logs, outage, silence, too_large
from multitracer.diagnosis.findings.whole import GOOD
from multitracer.layers.logged import relations
from multitracer.layers.logged.limits import FULL as FULL_WINDOW
from multitracer.layers.tcp.bottleneck import STILL_NS


class SentenceRule(NamedTuple):
    """One kind of sentence.

    Attributes
    ----------
    title : str
        A heading of a few words.
    when : str
        The condition for its use.
    measured : str
        How its numbers come about.
    source : str
        Where its terms are defined.
    """

    title: str
    when: str
    measured: str
    source: str


def _percent(value: float) -> str:
    return f"{value:.0%}"


_CHAIN = "chains: `multitracer analyze --explain` prints them event by event"
_PAPER = "Ludwig and others, SIGMETRICS 1999"
_STILL_MS = f"{bearers.STILL_NS / 1e6:g} ms"

_IDLE = {
    "receiver_window": ("receiver window", "the advertised receive window had no room"),
    "application": (
        "application",
        "all data handed over was sent and acknowledged, or only its ACK was awaited",
    ),
    "handshake_slow_start": ("handshake, slow start or pace", "cwnd still below the BDP"),
    "timeout_wait": ("timeout wait", "the sender waited for its retransmission timer"),
    "recovery_stall": (
        "recovery stall",
        "the sender was in recovery from a loss, or its window still small after it",
    ),
    "local_drop": ("local drop", "the sender was in recovery from a drop in front of the link"),
    "power_save": ("power save", "the station slept while the ACK that it awaited was at its access point"),
    "probe_rtt": (
        "ProbeRTT of BBR",
        "the kernel held cwnd at four segments, far below what it had been and without a loss, to measure "
        "the min RTT",
    ),
    "pacing": (
        "pacing",
        "by the kernel data was waiting and cwnd had room, and no ACK released what was sent",
    ),
    "stalled_path": (
        "stalled path",
        "what was in flight stalled, by one capture, for half of the phase or more",
    ),
    "unknown": ("unknown", "no capture shows why"),
}

_LIMITED = {
    cause: f"; from captures alone: {why} for the largest part of the transfer, or {_percent(WORTH)} of it"
    for cause, why in (
        ("receiver_window", "less than a segment fitted into the advertised window"),
        ("application", "all that it had handed over was sent"),
        (
            "handshake_slow_start",
            "the handshake, a congestion window that no loss had reduced, or its own pace limited the sender",
        ),
    )
}

RULES = {
    "utilization": SentenceRule(
        "Use of the link",
        f"utilization is {_percent(GOOD)} or less, or something was found that cost time; without a link log "
        "only where the captures show the rate of the bottleneck",
        "(1 - idle time / available time) x (1 - duplicate bytes / bytes carried; bytes that were "
        "dropped in front of the link count as neither), between the first data segment and the last "
        "ACK: handshake and close, which the paper counts, are left out, so that short transfers compare "
        "with long ones; without a link log estimated, with bounds, and of a transfer that broke off "
        "until its last timeout",
        f"{_PAPER}, section 4.3",
    ),
    "well": SentenceRule(
        "All is well",
        f"a log of the link shows that utilization is above {_percent(GOOD)}, there was no standing queue, "
        "and no sentence names a cost; captures alone are no proof: then the limit is named, or unknown",
        "as utilization, by the log of the link",
        f"{_PAPER}, section 4.3",
    ),
    "arrivals": SentenceRule(
        "What arrived",
        "there is no capture at the data sender, and segments arrived damaged or duplicated, or none arrived "
        "for long",
        "TCP checksums, sequence numbers and the spacing of segments at the capture",
        "RFC 9293",
    ),
    "call_dropped": SentenceRule(
        "The call was dropped",
        "the link log reports the end of the call while data was in flight",
        _CHAIN,
        f"{_PAPER}, section 5.3",
    ),
    "unfinished": SentenceRule(
        "The transfer broke off",
        "bytes were never acknowledged, and a timer fired for them, or the first of them was sent a second "
        "and twice the longest RTT before the capture ends, and no FIN of both ends was seen; reported "
        "first if they are most of the connections, or most of the bytes, else after the main cause",
        "sequence numbers of the last ACK and of the last byte sent",
        "RFC 6298",
    ),
    "silence": SentenceRule(
        "No response, or data that stopped",
        f"nothing was delivered for a second and {_percent(silence.LEAST_SHARE)} of the transfer, then an "
        "end closed or reset the connection: a request was acknowledged and not answered, the last segment "
        "was full and without PSH, later sequence numbers are those of more data, or nothing answered a FIN; "
        "not where a zero window or timeouts without an answer explain it; reported first if it is longer "
        f"than the transfer or {silence.LONG_S:g} s, of most connections, and more than one FIN shows it",
        "silence of connections[]",
        "RFC 9293, sections 3.6, 3.9.1.2",
    ),
    "outage": SentenceRule(
        "An outage",
        f"from captures alone: {outage.IN_A_ROW} timeouts in a row, of which only the last was answered, or "
        "one after an equally long time without any packet, and nothing from the other end meanwhile, for "
        f"{outage.LEAST_S:g} s or more; reported first from {_percent(outage.MAIN_SHARE)} of the transfer on",
        "timeouts of connections[]: from the last segment before them to the last but one, which is shorter "
        "than the outage",
        "RFC 6298, section 5",
    ),
    "reset": SentenceRule(
        "A RST cut the transfer short",
        "a RST came before all data that had been sent was acknowledged, and no timer had expired for what "
        "was left; reported after the main cause",
        "sequence numbers of the last ACK and of the last byte sent",
        "RFC 9293, section 3.10.7.4; RFC 2525, section 2.17",
    ),
    "other_direction": SentenceRule(
        "The other direction",
        "from captures alone: the other direction of a connection has a tenth of its data or more, more than "
        "an initial window, and its ends do not take turns; what limited that direction most is reported "
        "after the main cause, which then names its own direction",
        "reverse of connections[], by the rules of the other sentences",
        "docs/json.md",
    ),
    "too_large": SentenceRule(
        "Segments too large for the path",
        f"{too_large.LEAST_LOST} segments or more above a size were lost, all of them, and "
        f"{too_large.LEAST_ARRIVED} or more up to that size got through; reported first",
        "sizes and copies of the segments at a capture before the loss",
        "RFC 2923, section 2.1; RFC 4821 (path MTU discovery without ICMP)",
    ),
    "sack_blocks": SentenceRule(
        "SACK blocks outside the data",
        "three ACKs or more, and half of those with SACK blocks, have blocks beyond the highest byte that "
        "was sent, or before the first",
        "SACK blocks and the highest sequence number at one capture",
        "RFC 2018, section 3",
    ),
    "link_reset": SentenceRule(
        "Link resets",
        "the link was reset, re-established, handed over, or left and rejoined",
        f"reset and gap in the link log, segments lost in both captures; {_CHAIN}",
        f"{_PAPER}, section 5.3",
    ),
    "local_drop": SentenceRule(
        "Dropped in front of the link",
        "segments in the sender's capture were never on the link, or the queue's log reports drops; from a "
        "capture at the sender alone: its own queue (qdisc) dropped segments, which never reached the "
        "capture, and the network limited it most; from any capture: far more IP identifications "
        "are missing than segments were lost, or a timer sent one segment at a time",
        "segment by segment: the map of segments to frames; from a capture alone by gaps in sequence numbers "
        "and IP identifications (losses.upstream at the sender; losses.refused), and by the kernel's counter",
        f"{_PAPER}, section 5.2",
    ),
    "link_loss": SentenceRule(
        "Given up by the link",
        "the link transmitted a segment's frames as often as its limit allows, and the segment did "
        "not arrive",
        f"attempts in the link log, arrival in the receiver's capture; {_CHAIN}",
        "IEEE 802.11-2020 section 10.3 (retry limits); 3GPP TS 38.322 (maxRetxThreshold)",
    ),
    "link_burst": SentenceRule(
        "The link's recovery against TCP's timer",
        "a timer of TCP fired for data that the link was still retransmitting, or in a gap that link "
        "retransmissions left (if the data had arrived, and its ACK was late: ack_loss, too)",
        "gap in in-order delivery (1 s and three times the usual gap, or 200 ms and twenty times) with "
        "mostly retransmitted frames in it, or ended by a segment that was being retransmitted for half of "
        f"it; {_CHAIN}",
        f"{_PAPER}, section 5.4",
    ),
    "link_burst_harmless": SentenceRule(
        "Bursts of link retransmissions",
        "link retransmissions left a gap in delivery, and no RTO fired",
        f"as link_burst; {_CHAIN}",
        f"{_PAPER}, section 5.4, Figure 11",
    ),
    "loss": SentenceRule(
        "Packet loss",
        "TCP recovered from a loss that no log of the link explains; from captures alone: loss recovery and "
        "the congestion window that a loss left small limited the sender, and the link was full for less "
        f"than {_percent(FULL)} of that time",
        f"recovery episodes of the sender's capture; {_CHAIN}; from captures alone by limits and losses of "
        "connections[]",
        "RFC 5681, RFC 6675, RFC 8985",
    ),
    "congestion_marks": SentenceRule(
        "Congestion marks (ECN)",
        "from captures alone: the sender reduced its congestion window for packets that a router had marked, "
        "more often than segments were lost; the small window limited it, and the link was full for less "
        f"than {_percent(FULL)} of that time",
        "CWR of data segments, ECE of ACKs and CE of packets (ecn of connections[]); not where both ends "
        "count marks (RFC 9768)",
        "RFC 3168, section 6.1",
    ),
    "spurious": SentenceRule(
        "Retransmissions, no loss seen",
        "TCP spent time in loss recovery, and no loss shows; with fewer than "
        f"{CONVERGED} RTT samples before it, the RTO had not converged",
        "as loss; timeouts with the verdict of the Eifel algorithm, DSACK or ACKs",
        "RFC 3522, RFC 3708, RFC 5682",
    ),
    "bottleneck": SentenceRule(
        "The link was full",
        f"the bottleneck was full for {_percent(FULL)} or more of the time in which the network limited "
        "the sender; what it lost is part of the sentence. Connections that share it have one sentence",
        "bottleneck of connections[]: a constant rate of delivery, or a standing queue; of several "
        "connections the payload of all over the time from the first to the last",
        "Zhang, Breslau, Paxson, Shenker: On the characteristics and origins of Internet flow rates, "
        "SIGCOMM 2002",
    ),
    "unknown": SentenceRule(
        "Not known",
        "what limited the sender is unknown for most of the time, or no data was sent",
        "limits.unknown of connections[]; the sentence names the capture or the log that would show it",
        "docs/limits.md",
    ),
    "kernel_count": SentenceRule(
        "The kernel's own count",
        "the kernel counted more retransmissions than the capture shows",
        "total_retrans of tcp_info (ss -i, tcp_probe): it overrules the capture's count",
        "RFC 4898 (tcpEStatsPerfSegsRetrans)",
    ),
    "ack_loss": SentenceRule(
        "Acknowledgements lost or late",
        "data was retransmitted although it had arrived, as its ACKs were lost or late",
        f"ACKs in both captures; {_CHAIN}",
        f"{_PAPER}, section 5.3",
    ),
    "standstill": SentenceRule(
        "The path stalled",
        f"nothing in flight arrived at either end for {STILL_NS / 1e6:g} ms and more (a delay "
        f"spike). By both captures: before what limited the sender if it took {_percent(WORTH)} of the "
        "transfer. By one capture: no ACK came, and then one for data that had been in flight all the time; "
        "or no data came, and then what its sender had stamped before or during that; or, without "
        "timestamps, what was to be sent came at once and in order, and none of it was lost. Its time is "
        "taken from what the sender seemed to wait for",
        "departures and arrivals in both captures, without a log of the link; by one capture, ACKs and "
        "retransmissions, timestamps (RFC 7323, section 5.4), or PSH and IP identifications (RFC 9293, "
        f"section 3.9.1.2; RFC 6864); {_CHAIN}",
        "Gurtov, Ludwig: Responding to spurious timeouts in TCP, INFOCOM 2003",
    ),
    "ack_queue": SentenceRule(
        "ACKs wait in a queue",
        "from captures alone: of what queues added to the RTT, ACKs waited 40% or more of it between the "
        "receiver and the capture, or data waited less than 20% and the rest was behind the capture; and it "
        "is 5 ms and a quarter of the base RTT, or more. The link of the data need not be full then",
        "acks_share and data_share of bottleneck of connections[]: how much later than at their best ACKs "
        "and data pass by the clocks of their timestamps, in the RTTs that they measure",
        "RFC 7323, section 5.4; RFC 3449, section 2 (asymmetric paths)",
    ),
    "late_data": SentenceRule(
        "Late data",
        "from captures alone: a second and more, and a quarter of the transfer after it, passed between the "
        "handshake and the first data of either end; reported first if that is longer than the transfer",
        "limits.seconds_before_data of connections[]",
        "RFC 9293, section 3.5 (handshake)",
    ),
    "other_traffic": SentenceRule(
        "Other traffic in the bottleneck",
        "from captures alone: the queue added 10 ms and half of the base RTT, or more, to the median RTT, "
        "data and not ACKs waited in it, and the connection, of 20 RTTs or more, neither filled the link for "
        "40% of its time nor was limited by application, receiver's window or loss recovery for 30%; no "
        "connection of the capture queues with it, nor brings data from or to the same host meanwhile",
        "bottleneck and limits of connections[]",
        "Zhang, Breslau, Paxson, Shenker: On the characteristics and origins of Internet flow rates, "
        "SIGCOMM 2002",
    ),
    "ack_compression": SentenceRule(
        "ACK compression",
        "four and more ACKs in a row came closer than half of the spacing in which they left the receiver",
        "departure of each ACK in the receiver's capture, its arrival in the sender's",
        "Zhang, Shenker, Clark: Observations on the Dynamics of a Congestion Control Algorithm, SIGCOMM 1991",
    ),
    "xoff": SentenceRule(
        "Link flow control",
        "the peer stopped the link's sender (XOFF) while data was in flight",
        "XOFF and XON, power save, in the link log",
        f"{_PAPER}, section 5.5",
    ),
    "queue": SentenceRule(
        "A standing queue (bufferbloat)",
        f"the link was full, fewer than {LOSS_SHARE:.1%} of the segments were lost, and the queue added "
        f"{QUEUE_MS:g} ms and more (median) and made the RTT {QUEUE_TIMES:g} times the base RTT; with a log "
        "of the link: the same delay, twice the BDP in flight, and no advertised window that left the link "
        "idle",
        "RTT less the base RTT of a full segment, median and 95th percentile (bottleneck of connections[]); "
        "with a log of the link, bytes in flight against the BDP, and the SYN timers that expired",
        f"{_PAPER}, section 5.2",
    ),
    **{
        f"idle_{cause}": SentenceRule(
            f"{'Limited by' if cause in _LIMITED else 'Link idle'}: {title}",
            f"idle, in no chain, for 1% of the transfer: {why}" + _LIMITED.get(cause, ""),
            "phases in which the link could have sent and had nothing to send"
            + ("; from captures alone by limits of connections[]" if cause in _LIMITED else ""),
            f"{_PAPER}, section 4.3",
        )
        for cause, (title, why) in _IDLE.items()
    },
    "bearer_repeats": SentenceRule(
        "Radio bearer: retransmissions",
        f"missing PDUs held data back for {_STILL_MS} at once or for {_percent(bearers.STILL_SHARE)} of the "
        f"transfer; without a log at the receiver: {_percent(bearers.AGAIN_SHARE)} of the PDUs were "
        f"retransmitted. A poll is reported if it waited {bearers.POLL_NS / 1e6:g} ms, "
        f"{bearers.POLL_TIMES:g} times the median",
        "held back: from the first PDU after a missing one until the missing one is complete, "
        "overlapping times counted once; poll: until a status report on all PDUs transmitted by then",
        "3GPP TS 36.322, 38.322, section 5.2",
    ),
    "bearer_repeats_back": SentenceRule(
        "Radio bearer: ACKs held back",
        f"the same against the data, if ACKs were held back for {_STILL_MS} at once",
        "as bearer_repeats",
        "3GPP TS 36.322, 38.322, section 5.2",
    ),
    "bearer_discards": SentenceRule(
        "Radio bearer: given up",
        "the bearer gave packets of data up for certain: PDCP numbers that RLC never sent, or packets not "
        "confirmed when the bearer was re-established, and not submitted again",
        "PDCP numbers and PDUs in the capture of the sender; left out where the log may have gaps",
        "3GPP TS 36.323, 38.323, sections 5.2 and 5.3",
    ),
    "multipath": SentenceRule(
        "One transfer over several paths",
        "connections are subflows of one Multipath TCP transfer, and it carried data",
        "grouped by keys and tokens of the SYNs; bytes and reinjections by data sequence numbers, at the "
        "capture nearest to the sender",
        "RFC 8684 sections 3.1 to 3.3",
    ),
    **{
        f"log_{limit}": SentenceRule(
            f"By a log alone: {title}",
            f"there is no capture, and by the log {why} for {_percent(logs.MAIN)} of the time or more",
            "the kernel's clocks (tcp_info: busy, rwnd_limited, sndbuf_limited; ss, tcp-info, NDT7); without "
            "them the rate of each interval times the RTT against the smaller of cwnd and the peer's window, "
            f"which is full from {_percent(FULL_WINDOW)} on: other.logs of the JSON object has the shares",
            "RFC 4898 (tcpEStatsPerfSndLim)",
        )
        for limit, title, why in (
            ("application", "application", "the sender had nothing to send"),
            ("receiver_window", "receiver window", "the peer's window was full"),
            ("send_buffer", "send buffer", "the sender's socket buffer was full"),
            ("congestion_window", "congestion window", "the congestion window was full"),
        )
    },
    "condition": SentenceRule(
        "Throughput correlated with a link metric",
        f"of {relations.LEAST_INTERVALS} intervals or more the rank correlation is "
        f"{relations.LEAST_CORRELATION:g} or more, and throughput (median) was "
        f"{relations.LEAST_RATIO:g} times as high on one side of a value, whose other side has "
        f"{relations.LEAST_STRETCHES} separate stretches",
        "values of a log of the link (a column map of csv, MobileInsight) at the end of each interval; the "
        "threshold divides throughput most clearly; a coincidence in time, no proof",
        "Spearman's rank correlation",
    ),
    "log_mixed": SentenceRule(
        "By a log alone: several limits",
        f"as log_application and its neighbours, and no limit has {_percent(logs.MAIN)} of the time",
        "as log_application",
        "RFC 4898 (tcpEStatsPerfSndLim)",
    ),
    "log_unknown": SentenceRule(
        "By a log alone: not known",
        "there is no capture, and the log has neither the kernel's clocks nor windows with RTT; the sentence "
        "names what would show it",
        "throughput, retransmissions and RTT as reported by the log",
        "docs/limits.md",
    ),
    "log_stall": SentenceRule(
        "By a log alone: nothing moved",
        "there is no capture, and no byte moved in whole intervals of the log between others with data",
        "intervals of the log whose counter did not grow",
        "docs/formats/README.md",
    ),
    "log_queue": SentenceRule(
        "By a log alone: a queue",
        f"there is no capture, and the median RTT is {logs.QUEUE_MS:g} ms longer than the smallest, and "
        f"{logs.QUEUE_TIMES:g} times as long",
        "smoothed RTTs of the kernel, or RTTs of single probes (ping), against the smallest",
        f"{_PAPER}, section 5.2",
    ),
    "host_drops": SentenceRule(
        "Dropped by the host itself",
        "the kernel's log of a host has drops of packets of the recorded interface",
        "each kfree_skb of a packet that the interface queued or received, by the kernel's reason; held "
        "against `tc -s`",
        "Linux include/net/dropreason-core.h",
    ),
    "host_queue": SentenceRule(
        "The host's own queue",
        f"half of the packets waited {hosts.QUEUE_S * 1e3:g} ms or more in the queueing discipline",
        "from qdisc_enqueue to qdisc_dequeue of each packet",
        "Linux include/trace/events/qdisc.h",
    ),
    "host_busy": SentenceRule(
        "The driver was busy",
        f"the driver took no packet for {_percent(hosts.AWAY_SHARE)} of the transfer",
        "from each refusal (net_dev_xmit with an error) to the next packet that it took",
        "Linux include/trace/events/net.h",
    ),
    "host_receiving": SentenceRule(
        "Dropped before the receive queue",
        "counters of a host show packets dropped because the input queue of a CPU, the backlog of a "
        "socket or its receive queue was full; a busy CPU is named where receiving also stopped with packets "
        "left",
        "growth of dropped and time_squeeze of each CPU (/proc/net/softnet_stat): certain if both grew "
        "between the same two samples, likely if at other times; growth of TCPBacklogDrop and TCPRcvQDrop",
        "Linux net/core/net-procfs.c, net/core/dev.c",
    ),
    "host_writer": SentenceRule(
        "A slow writer",
        f"for {_percent(hosts.AWAY_SHARE)} of the transfer all that was written had been sent, and the "
        "application wrote no more",
        "from the sending of the last byte written to the next write, where that is 10 ms or more",
        "Linux include/trace/events/sock.h",
    ),
    "host_reader": SentenceRule(
        "A slow reader",
        f"for {_percent(hosts.AWAY_SHARE)} of the transfer data lay in the socket, in order and unread",
        "bytes acknowledged by the host against bytes read, where no read came for 10 ms or more",
        "Linux include/trace/events/sock.h",
    ),
    "air_busy": SentenceRule(
        "Wi-Fi channel: other traffic",
        f"the air was busy for {_percent(airtime.BUSY_SHARE)} of the transfer and others had "
        f"{_percent(airtime.OTHERS_SHARE)} of it, by the monitor's capture",
        "airtime of every captured frame, from its length, rate and preamble; left out where that is "
        f"missing of more than {_percent(1 - airtime.KNOWN_SHARE)} of the frames",
        "IEEE 802.11-2020 section 9.4.2.27 (channel load)",
    ),
    "air_retries": SentenceRule(
        "Wi-Fi channel: retries",
        f"{_percent(airtime.RETRY_SHARE)} of the data sender's airtime and {_percent(airtime.SPAN_SHARE)} of "
        "the transfer went into retries",
        "airtime of the data sender's frames with the retry bit, or with a repeated sequence number",
        "IEEE 802.11-2020 sections 9.2.4.1.7, 10.3",
    ),
    "air_slow": SentenceRule(
        "Wi-Fi channel: low rates",
        f"{_percent(airtime.SLOW_SHARE)} of the data sender's airtime and {_percent(airtime.SPAN_SHARE)} of "
        f"the transfer were spent at 1/{airtime.SLOWER} of its best rate or less",
        "rate of every frame in the radio header",
        "radiotap fields Rate, MCS, VHT, HE",
    ),
}
