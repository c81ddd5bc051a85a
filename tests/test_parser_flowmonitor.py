"""FlowMonitor: its totals are those of the captures and of the ascii trace; hostile XML is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.api.measurement import Measurement
from multitracer.model.errors import CorruptTrace

DATA = Path(__file__).parent / "data"
TOTALS = DATA / "formats" / "flowmonitor" / "flows.flowmonitor"
CAPTURES = [DATA / "ns3" / f"{host}.pcap.gz" for host in ("h0", "h1", "h4")]
ASCII = DATA / "formats" / "ns3-ascii" / "all.tr.gz"
HOSTS = {"10.1.0.1": "h0", "10.1.1.1": "h1", "10.1.3.2": "h4"}
PARSER = registry.parsers()["flowmonitor"]
FLOW = (
    '<Flow flowId="1" timeFirstTxPacket="+1e+09ns" timeFirstRxPacket="+2.5ms" timeLastTxPacket="3s" '
    'timeLastRxPacket="+4000000.0ns" delaySum="+5us" jitterSum="6ns" txBytes="7" rxBytes="8" txPackets="9" '
    'rxPackets="10" lostPackets="11" timesForwarded="12">'
)


def document(*flows: str, head: str = '<?xml version="1.0" ?>') -> str:
    return (
        f"{head}\n<FlowMonitor>\n<FlowStats>\n"
        + "\n</Flow>\n".join([*flows, ""])
        + "</FlowStats>\n</FlowMonitor>\n"
    )


def seen(m: Measurement, host: str, source: str, destination: str) -> tuple[int, int]:
    """Packets and bytes of a flow at a host's capture."""
    (index,) = [at for at, one in enumerate(m.sources) if host in Path(one.path).name]
    segments = m.table("segments")
    packets = total = 0
    for one in m.connections:
        ends = [address for address, _ in one.endpoints]
        if {source, destination} == set(ends):
            mine = (segments["conn"] == one.index) & (segments["source"] == index)
            mine &= segments["dir"] == ends.index(source)
            packets, total = int(mine.sum()), int(segments["ip_length"][mine].sum())
    return packets, total


def test_totals_are_those_of_the_captures() -> None:
    m = mt.read(*CAPTURES, TOTALS)
    totals = m.table("flow_totals")
    trace = m.traces[-1]
    assert len(totals) == 4
    for row in range(len(totals)):
        flow = trace.flows[int(totals["flow"][row])]
        ends = (flow.local_address, flow.remote_address)
        assert (totals["tx_packets"][row], totals["tx_bytes"][row]) == seen(m, HOSTS[ends[0]], *ends)
        assert (totals["rx_packets"][row], totals["rx_bytes"][row]) == seen(m, HOSTS[ends[1]], *ends)
        one = m.connections[int(totals["conn"][row])]
        assert one.endpoints[int(totals["dir"][row])] == (flow.local_address, flow.local_port)
    assert {clock.offset_ns for clock in m.clocks} == {0}


def test_totals_are_those_of_the_ascii_trace() -> None:
    m = mt.read(ASCII, TOTALS)
    totals, segments = m.table("flow_totals"), m.table("segments")
    for row in range(len(totals)):
        one = m.connections[int(totals["conn"][row])]
        direction = int(totals["dir"][row])
        near, far = (m.snd, m.rcv) if direction == one.data_dir else (m.rcv, m.snd)
        for name, source, first in (("tx", near, "t_ns"), ("rx", far, "first_rx_ns")):
            mine = (segments["conn"] == one.index) & (segments["dir"] == direction)
            mine &= segments["source"] == source
            assert totals[f"{name}_packets"][row] == mine.sum() > 100
            assert totals[f"{name}_bytes"][row] == segments["ip_length"][mine].sum()
            assert abs(totals[first][row] - segments["t_ns"][mine].min()) <= 10_000


def test_the_answer_says_that_captures_agree(tmp_path: Path) -> None:
    for files, compared in (((*CAPTURES, TOTALS), 4), ((ASCII, TOTALS), 4), ((CAPTURES[0], TOTALS), 2)):
        answer = mt.analyze(mt.read(*files)).results["flow_totals"].summary
        assert (answer["compared"], answer["agree"]) == (compared, compared), files
    flow = answer["flows"][0]
    assert flow["delay_ms"] == pytest.approx(32829.3 / 280, rel=1e-5)
    assert flow["throughput_bps"] == round(163572 * 8 / (11.9914 - 8.0))
    other = tmp_path / "other.flowmonitor"
    other.write_text(TOTALS.read_text().replace('txPackets="326"', 'txPackets="327"'))
    answer = mt.analyze(mt.read(*CAPTURES, other)).results["flow_totals"].summary
    assert [one["agrees"] for one in answer["flows"]] == [False, True, True, True]
    alone = mt.analyze(mt.read(TOTALS)).results["flow_totals"].summary
    assert (alone["compared"], alone["flows"][0]["seen"]) == (0, None)


def test_what_a_flow_says(tmp_path: Path) -> None:
    file = tmp_path / "f.xml"
    dropped = '<packetsDropped reasonCode="3" number="2" /><packetsDropped reasonCode="4" number="5" />'
    file.write_text(document(FLOW + dropped))
    trace = PARSER.parse(str(file))
    table = trace.tables["flow_totals"]
    row = {name: table[name].tolist()[0] for name in table}
    assert row | {"source": 0} == {
        "t_ns": 1_000_000_000,
        "source": 0,
        "record": 4,
        "conn": -1,
        "dir": 0,
        "flow": 0,
        "number": 1,
        "protocol": -1,
        "tx_packets": 9,
        "tx_bytes": 7,
        "rx_packets": 10,
        "rx_bytes": 8,
        "lost_packets": 11,
        "dropped_packets": 7,
        "forwarded": 12,
        "last_tx_ns": 3_000_000_000,
        "first_rx_ns": 2_500_000,
        "last_rx_ns": 4_000_000,
        "delay_sum_ns": 5000,
        "jitter_sum_ns": 6,
    }
    assert trace.source.details["drops_by_reason"] == {"3": 2, "4": 5}
    assert trace.source.details["flows_without_addresses"] == 1


def test_entities_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.xml"
    entities = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">' for at in range(1, 12))
    for declaration in (
        f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
    ):
        file.write_text(document(FLOW, head=declaration).replace("<FlowStats>", "<FlowStats>&a11;"))
        with pytest.raises(CorruptTrace, match=r"bomb\.xml: line 1 declares the document type 'x'"):
            PARSER.parse(str(file))


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (document(FLOW).replace("</FlowMonitor>\n", ""), ["truncated-file"]),
        (document(FLOW)[:-1], ["truncated-file"]),
        (document(FLOW).replace("</FlowStats>", "</FlowStat>"), ["bad-record"]),
        (document(FLOW, FLOW.replace('txPackets="9"', f'txPackets="{"9" * 5000}"')), ["bad-number"]),
        (document(FLOW, FLOW.replace("+1e+09ns", "+1e+99ns")), ["bad-number"]),
        (document(FLOW, FLOW.replace("+1e+09ns", "nan")), ["bad-number"]),
        (document(FLOW).replace("</FlowStats>", "</FlowStats>" + "<a>" * 9000), ["bad-record"]),
        (document(FLOW).replace("</FlowStats>", "</FlowStats>" + "\n" + "<x/>" * 500_000), ["line-too-long"]),
        (document(FLOW) + '<x y="' + ("z" * 999 + "\n") * 5000, ["bad-record"]),
    ],
    ids=["no-end", "cut", "mismatch", "digits", "exponent", "nan", "deep", "long", "tag"],
)
def test_damage_is_told(text: str, codes: list[str], tmp_path: Path) -> None:
    file = tmp_path / "f.xml"
    file.write_text(text)
    trace = PARSER.parse(str(file))
    assert [issue.code for issue in trace.issues] == codes
    assert len(trace.tables["flow_totals"]) == 1


def test_nothing_of_it_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "f.xml"
    file.write_text(document())
    with pytest.raises(CorruptTrace, match=r"f\.xml"):
        PARSER.parse(str(file))


def test_public_totals(shared: Path) -> None:
    path = shared / "samples" / "ns3" / "TcpVariantsComparison.flowmonitor"
    trace = PARSER.parse(str(path))
    totals = trace.tables["flow_totals"]
    assert not trace.issues
    assert np.array_equal(totals["dropped_packets"], totals["lost_packets"])
    assert len(totals) == path.read_text().count(" delaySum=") == 6
    assert totals["tx_bytes"][0] == 2680660
