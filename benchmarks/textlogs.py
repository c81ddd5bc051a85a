"""Text logs for the benchmarks: every format that is read line by line, of any length, made up line by line.

Usage: python benchmarks/textlogs.py FORMAT LINES FILE

A transfer without much happening in it: what counts is how long lines are and how many words they have, which
is as the tools write them.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

Text = Iterator[str]
START = 1_795_249_751
RATE = 500
"""Lines a second."""


def stamp(number: int, digits: int = 6) -> str:
    """Seconds since the epoch with so many decimals."""
    return f"{START + number // RATE}.{number % RATE * (10**digits // RATE):0{digits}d}"


def calendar(number: int) -> str:
    """The same as date and time with microseconds."""
    when = datetime.fromtimestamp(START + number // RATE, UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{number % RATE * 2000:06d}"


def simulated(number: int) -> str:
    """Seconds of a simulation."""
    return f"{number / RATE:g}" if number < 100_000 else f"{number / RATE:.3f}"


def rlpdump(count: int) -> Text:
    """Frames both ways, a time slot each."""
    yield "# rlpdump 1 clock=realtime slot_ms=20 payload_bytes=24 window=31 t1_ms=620 n2=6\n"
    for at in range(count - 1):
        frame = at // 2
        entity, action = ("ms", "snd") if at % 2 == 0 else ("bs", "rcv")
        yield f"{stamp(at)} {entity} {action} I ns={frame % 62} off={frame * 24} len=24\n"


def ftrace(count: int) -> Text:
    """tcp_probe of Linux 6."""
    yield "# tracer: nop\n"
    for at in range(count - 1):
        yield (
            f" python3-627     [000] b..1. {stamp(at)}: tcp_probe: family=AF_INET src=10.77.33.1:42226 "
            f"dest=10.77.33.2:5001 mark=0x0 data_len=460 snd_nxt=0x{at * 460 & 0xFFFFFFFF:x} "
            f"snd_una=0x{max(at - 9, 0) * 460 & 0xFFFFFFFF:x} snd_cwnd={10 + at % 40} ssthresh=2147483647 "
            f"snd_wnd=8024 srtt={480000 + at % 999} rcv_wnd=7820 sock_cookie=9bb12 "
            f"skbaddr=00000000{at & 0xFFFFFFFF:08x} skaddr=0000000045fdb369\n"
        )


def ss(count: int) -> Text:
    """A stamp, and a socket on a line of its own, as ``ss -tinO`` prints it."""
    for at in range(count // 2):
        yield (
            f"{stamp(at, 9)}\nESTAB 0 19320 10.77.33.1:42226 10.77.33.2:5001 reno rto:1496 "
            f"rtt:497.397/248.698 mss:460 pmtu:512 cwnd:{10 + at % 40} bytes_sent:{4600 + at * 460} "
            f"bytes_acked:{at * 460} segs_out:{12 + at} segs_in:{1 + at} data_segs_out:{10 + at} "
            "send 73985bps lastsnd:368 lastrcv:368 lastack:368 pacing_rate 147968bps delivered:1 unacked:10 "
            "minrtt:497.397\n"
        )


def tcpprobe(count: int) -> Text:
    """Eleven columns, of Linux 4."""
    for at in range(count):
        nxt, una = at * 1448 & 0xFFFFFFFF, max(at - 9, 0) * 1448 & 0xFFFFFFFF
        yield (
            f"{at // RATE}.{at % RATE * 2_000_000:09d} 10.0.0.1:5001 10.0.0.2:80 1448 "
            f"0x{nxt:x} 0x{una:x} {10 + at % 40} 20 65535 {48000 + at % 99} 65535\n"
        )


def dccpprobe(count: int) -> Text:
    """State of CCID 3."""
    for at in range(count):
        yield (
            f"{at // RATE}.{at % RATE * 2_000:06d} 10.0.0.1:5001 10.0.0.2:33 1400 1400 400000 {at % 99} "
            "94125 90000 94125 14873\n"
        )


def siftr(count: int) -> Text:
    """Version 1.2.4, segments in and out."""
    yield (
        f"enable_time_secs={START}\tenable_time_usecs=0\tsiftrver=1.2.4\thz=1000\ttcp_rtt_scale=32\t"
        "sysname=FreeBSD\tsysver=1000000\tipmode=4\n"
    )
    for at in range(count - 1):
        yield (
            f"{'io'[at % 2]},0xbec491a5,{stamp(at)},172.16.7.28,22,172.16.2.5,55931,1073725440,172312,"
            f"{6144 + at % 40 * 1448},66560,66608,8,1,4,1448,936,1,996,255,33304,208,66608,0,208,0,0\n"
        )


def csv_values(count: int) -> Text:
    """A name and a value a line."""
    yield "time,name,value\n"
    for at in range(count - 1):
        name, value = ("signal_dbm", -70 - at % 30 / 10) if at % 2 else ("quality", at % 40)
        yield f"{stamp(at)},{name},{value}\n"


def csv_states(count: int) -> Text:
    """State of TCP by column."""
    yield "time,local,remote,cwnd,srtt_ms,ssthresh,snd_una,snd_nxt,mss\n"
    for at in range(count - 1):
        yield (
            f"{stamp(at)},10.0.0.1:1000,10.0.0.2:80,{10 + at % 40},{20 + at % 90 / 10},,"
            f"{max(at - 9, 0) * 1448},{at * 1448},1448\n"
        )


def csv_frames(count: int) -> Text:
    """Frames of a link, sent and received."""
    yield "time,entity,action,kind,seq,offset,length,attempt\n"
    for at in range(count - 1):
        frame = at // 2
        entity, action = ("bs", "rcv") if at % 2 else ("ue", "snd")
        yield f"{stamp(at)},{entity},{action},,{frame % 1024},{frame * 1000},1000,0\n"


def ns2(count: int) -> Text:
    """A wired link: segments into the queue, out of it, received, and ACKs the other way."""
    for at in range(count // 6):
        time = f"{at * 0.008:.5g}" if at < 10_000 else f"{at * 0.008:.3f}"
        for kind in "+-r":
            yield f"{kind} {time} 0 1 tcp 1040 ------- 1 0.0 1.0 {at} {2 * at}\n"
        for kind in "+-r":
            yield f"{kind} {time} 1 0 ack 40 ------- 1 1.0 0.0 {at} {2 * at + 1}\n"


def ns2_variables(count: int) -> Text:
    """Congestion window and round-trip time of one agent."""
    for at in range(count):
        name, value = ("cwnd_", f"{1 + at % 40}.000") if at % 2 else ("srtt_", f"{0.1 + at % 9 / 100:.3f}")
        yield f"{at / RATE:.5f}  0  0  1  0  {name} {value}\n"


def ns3_ascii(count: int) -> Text:
    """A host that sends: queue, device, and the ACK received."""
    place = "/NodeList/0/DeviceList/0/$ns3::PointToPointNetDevice/"
    ip = (
        "ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id {} protocol 6 offset (bytes) 0 "
        "flags [none] "
    )
    ppp = "ns3::PppHeader (Point-to-Point Protocol: IP (0x0021)) "
    for at in range(count // 3):
        time, seq = f"{at * 0.004:.6g}" if at < 100_000 else f"{at * 0.004:.3f}", 1 + at * 512 & 0xFFFFFFFF
        data = (
            ppp
            + ip.format(at % 65536)
            + (
                f"length: 552 10.1.1.1 > 10.1.1.2) ns3::TcpHeader (49153 > 9 [ ACK ] Seq={seq} Ack=1 "
                "Win=65535) Payload (size=512)"
            )
        )
        yield f"+ {time} {place}TxQueue/Enqueue {data}\n- {time} {place}TxQueue/Dequeue {data}\n"
        yield (
            f"r {time} {place}MacRx {ip.format(at % 65536)}length: 40 10.1.1.2 > 10.1.1.1) ns3::TcpHeader "
            f"(9 > 49153 [ ACK ] Seq=1 Ack={seq + 512 & 0xFFFFFFFF} Win=65535)\n"
        )


def ns3_series(count: int) -> Text:
    """Time, value before, value."""
    for at in range(count):
        yield f"{simulated(at)}\t{536 * (1 + at % 40)}\t{536 * (1 + (at + 1) % 40)}\n"


def ns3_lena(count: int) -> Text:
    """Totals of two bearers by interval."""
    yield (
        "% start\tend\tCellId\tIMSI\tRNTI\tLCID\tnTxPDUs\tTxBytes\tnRxPDUs\tRxBytes\tdelay\tstdDev\tmin\t"
        "max\tPduSize\tstdDev\tmin\tmax\n"
    )
    for at in range(count - 1):
        begin = at // 2 * 0.25
        yield (
            f"{begin:g}\t{begin + 0.25:g}\t1\t{1 + at % 2}\t{1 + at % 2}\t3\t114\t246114\t113\t243918\t"
            "0.003\t0\t0.003\t0.003\t2158.57\t280.116\t81\t2196\t\n"
        )


def flowmonitor(count: int) -> Text:
    """Nine lines a flow: its totals, drops by reason, and its addresses."""
    flows = count // 9
    yield '<?xml version="1.0" ?>\n<FlowMonitor>\n  <FlowStats>\n'
    for at in range(1, flows + 1):
        yield (
            f'    <Flow flowId="{at}" timeFirstTxPacket="+{at}e+03ns" timeFirstRxPacket="+4.52884e+07ns" '
            'timeLastTxPacket="+5.00225e+10ns" timeLastRxPacket="+4.99788e+10ns" delaySum="+1.66528e+12ns" '
            'jitterSum="+1.14166e+10ns" lastDelay="+2.47867e+08ns" txBytes="2680660" rxBytes="2641852" '
            'txPackets="6841" rxPackets="6742" lostPackets="40" timesForwarded="6742">\n'
        )
        for reason in range(3):
            yield f'      <packetsDropped reasonCode="{reason}" number="{reason}" />\n'
            yield f'      <bytesDropped reasonCode="{reason}" bytes="{reason * 40}" />\n'
        yield "    </Flow>\n"
    yield "  </FlowStats>\n  <Ipv4FlowClassifier>\n"
    for at in range(1, flows + 1):
        yield (
            f'    <Flow flowId="{at}" sourceAddress="10.1.{at >> 8 & 255}.{at & 255}" '
            f'destinationAddress="10.2.0.1" protocol="6" '
            f'sourcePort="{1024 + at % 60000}" destinationPort="80">\n    </Flow>\n'
        )
    yield "  </Ipv4FlowClassifier>\n</FlowMonitor>\n"


def omnetpp(count: int) -> Text:
    """A vector of events, times and values."""
    yield "version 2\nrun General-0\nattr network Net\n\n"
    yield "vector 7  Net.client.ppp[0].queue  queueLength:vector  ETV\n"
    for at in range(count - 5):
        yield f"7\t{at}\t{at / RATE:.12f}\t{at % 99}\n"


def iperf3(count: int) -> Text:
    """A stream of events, one interval a line."""
    start = {
        "connected": [
            {"socket": 5, "local_host": "10.77.0.1", "local_port": 42244, "remote_host": "10.77.0.2"}
            | {"remote_port": 5201}
        ],
        "version": "iperf 3.17",
        "timestamp": {"timesecs": START},
        "connecting_to": {"host": "10.77.0.2", "port": 5201},
        "tcp_mss_default": 1448,
        "test_start": {"protocol": "TCP", "blksize": 131072, "duration": count},
    }
    yield json.dumps({"event": "start", "data": start}) + "\n"
    for at in range(count - 2):
        begin, end = at / 10, (at + 1) / 10
        one = (
            f'"start":{begin},"end":{end},"seconds":0.10000002,"bytes":131072,"bits_per_second":10485760.1,'
            f'"retransmits":{at % 2},"snd_cwnd":{14480 + at % 40 * 1448},"snd_wnd":65536,'
            f'"rtt":{20000 + at % 99},"rttvar":1000,"pmtu":1500,"omitted":false,"sender":true'
        )
        yield f'{{"event":"interval","data":{{"streams":[{{"socket":5,{one}}}],"sum":{{{one}}}}}}}\n'
    yield '{"event":"end","data":{"sum_sent":{"bytes":1}}}\n'


def tcpinfo(count: int) -> Text:
    """Snapshots of one connection."""
    hosts = bytes([10, 77, 0, 1]).ljust(16, b"\0") + bytes([10, 77, 0, 2]).ljust(16, b"\0")
    message = base64.b64encode(struct.pack(">BBBBHH", 2, 1, 0, 0, 42244, 5201) + hosts + bytes(32)).decode()
    name = base64.b64encode(b"cubic\0").decode()
    info = bytearray(240)
    for at in range(count):
        struct.pack_into("<I", info, 80, 10 + at % 40)
        struct.pack_into("<Q", info, 120, at * 1448)
        yield (
            f'{{"Timestamp":"{calendar(at)[:-3]}Z","RawIDM":"{message}","Attributes":[null,'
            f'"AAAAAAAAAAAAAAAAAAAAAA==","{base64.b64encode(info).decode()}",null,"{name}","AA==","AA=="]}}\n'
        )


def ndt7(count: int) -> Text:
    """One document, a measurement of the server on each line."""
    yield (
        '{"GitShortCommit":"0","Version":"v0","ServerIP":"10.0.0.1","ServerPort":443,"ClientIP":"10.0.0.2",'
        '"ClientPort":50000,"Download":{"UUID":"u","StartTime":"2026-11-21T08:29:11.5Z","ServerMeasurements":[\n'
    )
    for at in range(count - 2):
        yield (
            '{"ConnectionInfo":{"Client":"10.0.0.2:50000","Server":"10.0.0.1:443","UUID":"u"},"TCPInfo":{"State":1,'
            '"CAState":0,"Retransmits":0,"Backoff":0,"AppLimited":0,"RTO":216000,"ATO":40000,"SndMSS":1440,'
            f'"RcvMSS":1041,"Unacked":93,"RTT":{12565 + at % 99},"RTTVar":2820,"SndSsThresh":104,"SndCwnd":'
            f'{154 + at % 9},"TotalRetrans":0,"BytesAcked":{at * 1448},"BytesReceived":1622,'
            '"NotsentBytes":1775520,"MinRTT":3101,"BusyTime":88000,"RWndLimited":48000,"SndBufLimited":0,"BytesSent":703584,'
            f'"BytesRetrans":0,"SndWnd":132352,"ElapsedTime":{at * 2000}}}}}{"," if at < count - 3 else ""}\n'
        )
    yield "]}}\n"


def bcc(count: int) -> Text:
    """tcpretrans of two sockets."""
    yield "TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE\n"
    for at in range(count - 1):
        seconds = at // RATE % 86400
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        yield f"{clock} 0      4  10.153.223.157:22    R> 69.53.245.{at % 2}:34619   ESTABLISHED\n"


def tcpstates(count: int) -> Text:
    """tcpstates -T -s."""
    yield "TIME,SKADDR,C-PID,C-COMM,LADDR,LPORT,RADDR,RPORT,OLDSTATE,->,NEWSTATE,MS\n"
    for at in range(count - 1):
        seconds = at // RATE % 86400
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        old, new = ("CLOSE", "SYN_SENT") if at % 2 == 0 else ("SYN_SENT", "ESTABLISHED")
        port = 1024 + at // 2 % 999
        yield f"{clock},ffff9fd7e8192000,22384,curl,10.0.0.1,{port},52.33.159.26,80,{old},->,{new},0.1\n"


def mobileinsight(count: int) -> Text:
    """A PDU each on its own line, ten to a message."""

    def pair(key: str, value: object) -> str:
        return f'<pair key="{key}">{value}</pair>'

    def pdu(at: int) -> str:
        words = pair("PDU TYPE", "RLCUL DATA") + pair("rb_cfg_idx", 3) + pair("SN", at % 1024)
        words += pair("pdu_bytes", 502) + pair("logged_bytes", 4) + pair("sys_fn", at // 10 % 1024)
        return words + pair("sub_fn", at % 10) + pair("RF", 0) + pair("P", 0) + pair("E", 0)

    for message in range(count // 12):
        when = datetime.fromtimestamp(START + message // 100, UTC)
        yield (
            '<dm_log_packet><pair key="log_msg_len">86</pair><pair key="type_id">LTE_RLC_UL_AM_All_PDU</pair>'
            + pair("timestamp", f"{when:%Y-%m-%d %H:%M:%S}.{message % 100 * 10000:06d}")
            + '<pair key="Subpackets" type="list"><list><item type="dict"><dict>'
            + pair("RB Cfg Idx", 3)
            + pair("SN Length", "10")
            + '<pair key="RLCUL PDUs" type="list"><list>\n'
        )
        for at in range(10):
            yield f'<item type="dict"><dict>{pdu(10 * message + at)}</dict></item>\n'
        yield "</list></pair></dict></item></list></pair></dm_log_packet>\n"


def srsran(count: int) -> Text:
    """Data PDUs received, of one terminal, between lines of other layers."""
    for at in range(count // 2):
        when = calendar(at)
        yield f"{when} [MAC     ] [I] [  276.14] UL PDU rnti=0x4601 ue=0 subPDUs: [lcid=4: len=1000]\n"
        data = f"pdu_len=1003 dc=data p=0 si=full sn={at % 262144} so=0"
        yield f"{when} [RLC     ] [I] ue=0 DRB1 UL: RX PDU. {data}\n"


KINDS: dict[str, Callable[[int], Text]] = {
    found.__name__.replace("_", "-"): found
    for found in (
        *(
            rlpdump,
            ftrace,
            ss,
            tcpprobe,
            dccpprobe,
            siftr,
            csv_values,
            csv_states,
            csv_frames,
            ns2,
            ns2_variables,
        ),
        *(ns3_ascii, ns3_series, ns3_lena, flowmonitor, omnetpp, iperf3, tcpinfo, ndt7, bcc, tcpstates),
        *(mobileinsight, srsran),
    )
}


def write(path: Path, kind: str, lines: int) -> int:
    """Write a log of about so many lines; how many there are."""
    count = 0
    with path.open("w", encoding="ascii") as file:
        for text in KINDS[kind](lines):
            file.write(text)
            count += text.count("\n")
    return count


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(f"{__doc__}\nFormats: {', '.join(KINDS)}")
    print(f"{write(Path(sys.argv[3]), sys.argv[1], int(sys.argv[2])):,} lines")
