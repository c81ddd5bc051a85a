"""Variables of ns-3: what the file says, and the connection that their times belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import multitracer as mt
from multitracer import registry
from multitracer.model.errors import CorruptTrace, UnknownFormat, UsageError

DATA = Path(__file__).parent / "data"
SERIES = DATA / "formats" / "ns3-series"
CAPTURES = DATA / "ns3"
MSS = 536
PARSER = registry.parsers()["ns3-series"]


def rows(name: str) -> list[list[float]]:
    return [[float(word) for word in line.split()] for line in (SERIES / name).read_text().splitlines()]


def changes(name: str) -> list[list[float]]:
    """Without the first row of those that begin with what was before, at time 0."""
    return [row for row in rows(name) if row[0] > 0]


@pytest.mark.parametrize("path", sorted(SERIES.iterdir()), ids=lambda path: path.name)
def test_series_are_the_file(path: Path) -> None:
    trace = PARSER.parse(str(path))
    series = trace.tables["series"]
    told = rows(path.name)
    assert series["value"].tolist() == [row[-1] for row in told]
    assert (series["t_ns"] / 1e9).tolist() == pytest.approx([row[0] for row in told], abs=1e-9)
    assert trace.source.clock == "simulation"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("TcpVariantsComparison-cwnd.data", "cwnd"),
        ("run1_CWND.txt", "cwnd"),
        ("x-ssth.data", "ssthresh"),
        ("ssthresh.tr", "ssthresh"),
        ("node0.rtt", "srtt"),
        ("tcp-rto.data", "rto"),
        ("a-inflight.data", "inflight"),
        ("a-next-tx.data", "snd_nxt"),
        ("next-rx.data", "rcv_nxt"),
        ("queue.dat", None),
        ("cwnd-and-rtt.dat", None),
    ],
)
def test_names_of_files_name_variables(name: str, variable: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text("1 2\n2 3\n")
    trace = PARSER.parse(str(tmp_path / name))
    assert trace.source.details["variable"] == variable
    assert set(trace.tables["series"]["name"]) == {variable or name.partition(".")[0]}


def test_connections_are_found_by_the_times() -> None:
    m = mt.read(*(CAPTURES / f"{host}.pcap.gz" for host in ("h0", "h4")), *sorted(SERIES.iterdir()))
    assert {clock.offset_ns for clock in m.clocks} == {0}
    senders = {one.index: one.endpoints[one.data_dir] for one in m.connections}
    states = m.table("tcp_states")
    for index, source in enumerate(m.sources):
        if source.format == "ns3-series":
            mine = states.where(states["source"] == index)
            address = "10.1.3.2" if "server" in source.path else "10.1.0.1"
            assert {senders[conn][0] for conn in np.unique(mine["conn"]).tolist()} == {address}
            assert set(mine["mss"]) == {MSS}


def test_states_are_in_our_units() -> None:
    m = mt.read(CAPTURES / "h0.pcap.gz", *sorted(SERIES.iterdir()))
    states = m.table("tcp_states")

    def column(name: str, file: str) -> list[int]:
        (source,) = [at for at, one in enumerate(m.sources) if Path(one.path).name == file]
        found: list[int] = states[name][states["source"] == source].tolist()
        return found

    assert column("cwnd", "cwnd.data") == [int(row[2] // MSS) for row in changes("cwnd.data")]
    assert column("ssthresh", "ssth.data") == [
        -1 if row[1] == 2**32 - 1 else int(row[1] // MSS) for row in changes("ssth.data")
    ]
    assert column("rto_ns", "rto.data") == [1_000_000_000]
    assert column("srtt_ns", "rtt.data") == [round(row[1] * 1e9) for row in changes("rtt.data")]
    assert column("unacked", "inflight.data") == [-int(-row[1] // MSS) for row in changes("inflight.data")]
    assert column("snd_nxt", "next-tx.data") == [int(row[1]) for row in changes("next-tx.data")]
    # ACKs move what is in flight: their times, to six digits, are times of changes.
    segments = m.table("segments")
    acks = segments["t_ns"][
        (segments["dir"] == 1) & (segments["ack_kind"] == segments.code("ack_kind", "advance"))
    ]
    times = {f"{row[0]:.6g}" for row in changes("inflight.data")}
    assert {f"{t_ns / 1e9:.6g}" for t_ns in acks.tolist()[1:-1]} <= times
    # That of the server belongs to a connection that this capture has not.
    assert not any("server" in m.sources[at].path for at in np.unique(states["source"]).tolist())


def test_variables_of_another_run_stay_apart(tmp_path: Path) -> None:
    other = tmp_path / "cwnd.data"
    other.write_text("".join(f"{8 + at * 0.0171:.5f} {536 * at}\n" for at in range(1, 200)))
    m = mt.read(CAPTURES / "h4.pcap.gz", other)
    assert len(m.table("tcp_states")) == 0
    assert len(m.table("series")) == 199
    assert "state local and remote" in m.sources[1].details["connection_by"]
    (tmp_path / "measurement.toml").write_text(
        '[sources."cwnd.data"]\nlocal = "10.1.3.2:49153"\nremote = "10.1.1.1:9000"\n'
        'unit = "packets"\nmss = 100\n'
    )
    (tmp_path / "h4.pcap.gz").write_bytes((CAPTURES / "h4.pcap.gz").read_bytes())
    m = mt.read(tmp_path)
    states = m.table("tcp_states")
    assert states["cwnd"][0] == 536
    assert states["mss"][0] == 100
    assert m.connections[int(states["conn"][0])].endpoints[0] == ("10.1.3.2", 49153)


@pytest.mark.parametrize(
    "settings",
    [
        {"variable": "size"},
        {"unit": "ms"},
        {"mss": 0},
        {"mss": True},
        {"local": "10.0.0.1:1"},
        {"variable": "rto", "unit": "bytes"},
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"cwnd\.data"):
        PARSER.read(str(SERIES / "cwnd.data"), settings)


@pytest.mark.parametrize(
    "head", [b"1 2\n", b"2 1\n1 1\n", b"1,2\n2,3\n", b"1 2 3 4\n2 3 4 5\n", b"a b\nc d\n", b"1\n2\n3\n", b""]
)
def test_what_is_not_a_series(head: bytes, tmp_path: Path) -> None:
    assert not PARSER.sniff(head)
    file = tmp_path / "x.data"
    file.write_text("nothing\n")
    with pytest.raises(CorruptTrace, match=r"x\.data"):
        PARSER.parse(str(file))


def test_numbers_alone_are_no_series(tmp_path: Path) -> None:
    numbers = "1 2\n2 3\n3 5\n"
    for name in ("table.txt", "results.dat", "counts", "cwndfoo.dat"):
        (tmp_path / name).write_text(numbers)
        with pytest.raises(UnknownFormat, match="--format"):
            mt.open_trace(tmp_path / name)
        trace = mt.open_trace(tmp_path / name, format="ns3-series")
        assert trace.tables["series"]["value"].tolist() == [2, 3, 5]
    for name in ("a.cwnd", "cwnd-and-rtt.dat", "run7-ssth.data.gz"):
        (tmp_path / name).write_text(numbers)
        assert mt.open_trace(tmp_path / name).source.format == "ns3-series"


def test_public_series(shared: Path) -> None:
    folder = shared / "samples" / "ns3"
    for path in [*folder.glob("*.data"), folder / "sixth.cwnd"]:
        trace = PARSER.parse(str(path))
        # One was cut: its last line has no end.
        cut = not path.read_text().endswith("\n")
        assert trace.source.records == len(path.read_text().splitlines()) - cut
        assert trace.source.details["variable"] is not None
        assert [issue.code for issue in trace.issues] == ["truncated-file"] * cut
    m = mt.read(folder / "sixth.pcap", folder / "sixth.cwnd")
    # That capture is of the receiving host, and holds only what the error model dropped there.
    assert m.sources[1].clock == "simulation"
