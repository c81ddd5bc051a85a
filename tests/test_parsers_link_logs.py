"""Captures of RLP frames, held against the log of the same simulated call, and link logs as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_rlp_capture import Call, call

import multitracer as mt
from multitracer import native, registry
from multitracer.model import schema
from multitracer.model.errors import CorruptTrace, UnknownFormat, UsageError
from multitracer.model.table import Table
from multitracer.model.trace import Trace

FADES = {"kind": "gilbert_elliott", "p_good_to_bad": 0.02, "p_bad_to_good": 0.05, "loss_bad": 0.9}
DEEP_FADES = {"kind": "gilbert_elliott", "p_good_to_bad": 0.02, "p_bad_to_good": 0.03, "loss_bad": 1.0}
COLUMNS = ("t_ns", "ns", "offset", "length", "attempt", "nr", "poll")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    folder = tmp_path_factory.mktemp("calls")
    made: dict[str, dict[str, Any]] = {
        "clean": {},
        "fades": {"air": FADES},
        "resets": {"air": DEEP_FADES, "n2": 3},
    }
    return {name: call(folder / name, 40, **settings) for name, settings in made.items()}


def sent(trace: Trace, entity: str) -> Table:
    frames = trace.tables["link_frames"]
    mine = (frames["action"] == 0) & (frames["entity"] == trace.entities.index(entity))
    return frames.where(mine)


def resets(trace: Trace) -> list[tuple[int, str]]:
    events = trace.tables["link_events"]
    rows = np.flatnonzero(events["kind"] == events.code("kind", "reset"))
    return [(int(events["t_ns"][row]), trace.entities[int(events["entity"][row])]) for row in rows]


@pytest.mark.parametrize("name", ["clean", "fades", "resets"])
def test_capture_gives_what_the_log_says(name: str, calls: dict[str, Call]) -> None:
    made = calls[name]
    log, capture = mt.open_trace(made.log), mt.open_trace(made.frames)
    assert not capture.issues
    assert capture.source.records == made.sent
    for entity in capture.entities:
        known, found = sent(log, entity), sent(capture, entity)
        for column in COLUMNS:
            if column != "offset" or name != "resets":
                assert np.array_equal(known[column], found[column]), (entity, column)
    assert resets(capture) == resets(log)
    assert bool(resets(capture)) == (name == "resets")


def test_offsets_run_on_across_resets(calls: dict[str, Call]) -> None:
    made = calls["resets"]
    known, found = sent(mt.open_trace(made.log), "ms"), sent(mt.open_trace(made.frames), "ms")
    new = found.where(found["attempt"] == 0)
    assert np.all(np.diff(new["offset"]) == new["length"][:-1])
    # what a reset flushed unsent is in no frame: the log is ahead by it
    ahead = np.unique(known["offset"] - found["offset"])
    assert ahead[0] == 0
    assert len(ahead) <= 1 + len(resets(mt.open_trace(made.frames)))


def test_signals_are_those_of_the_log(calls: dict[str, Call]) -> None:
    made = calls["resets"]
    tables = [mt.open_trace(path).tables["link_events"] for path in (made.log, made.frames)]
    for word in ("SREJ", "SABM", "UA"):
        known, found = (
            table["t_ns"][(table["action"] == 0) & (table["kind"] == table.code("kind", word))]
            for table in tables
        )
        assert len(known)
        assert np.array_equal(known, found), word


def test_capture_of_frames_joins_the_capture_of_packets(calls: dict[str, Call]) -> None:
    for name in ("clean", "fades"):
        m = mt.read(calls[name].packets, calls[name].frames)
        assert m.sources[1].format == "gsmtap"
        assert m.clocks[1].grade != "unjoined"
        assert abs(m.clocks[1].offset_ns) < 30_000_000
        assert len(m.table("link_frames"))


def test_direction_and_n2_by_the_user(calls: dict[str, Call], tmp_path: Path) -> None:
    toml = tmp_path / "measurement.toml"
    toml.write_text('[sources."rlp.pcap"]\nuplink_from = "iwf"\nn2 = 3\n')
    turned = mt.read(calls["resets"].frames, toml).traces[0]
    plain = mt.open_trace(calls["resets"].frames)
    assert len(sent(turned, "iwf")) == len(sent(plain, "ms"))
    causes = turned.tables["link_events"].words("cause")
    assert "n2" in set(causes)
    for wrong in ('uplink_from = "me"', "n2 = 0", 'n2 = "x"'):
        toml.write_text(f'[sources."rlp.pcap"]\n{wrong}\n')
        with pytest.raises(UsageError, match=r"measurement\.toml"):
            mt.read(calls["resets"].frames, toml)


def test_damaged_frames_are_counted(calls: dict[str, Call], tmp_path: Path) -> None:
    data = bytearray(calls["clean"].frames.read_bytes())
    size = 16 + 20 + 8 + 16 + 30
    for at in (5, 9):
        data[24 + at * size + size - 8] ^= 0xFF
    path = tmp_path / "rlp.pcap"
    path.write_bytes(data)
    trace = mt.open_trace(path)
    found = {issue.code: (issue.count, issue.first_record) for issue in trace.issues}
    assert found["bad-frame"] == (2, 6)
    assert trace.source.records == calls["clean"].sent


def test_missing_frames_are_noticed(calls: dict[str, Call], tmp_path: Path) -> None:
    data = calls["clean"].frames.read_bytes()
    size = 16 + 20 + 8 + 16 + 30
    frames = sent(mt.open_trace(calls["clean"].frames), "ms")
    record = int(frames["record"][100])
    path = tmp_path / "rlp.pcap"
    path.write_bytes(data[: 24 + (record - 1) * size] + data[24 + record * size :])
    trace = mt.open_trace(path)
    assert {issue.code: issue.count for issue in trace.issues} == {"lost-events": 1}
    later = sent(trace, "ms")
    # a full frame is assumed in its place
    assert abs(int(later["offset"][-1]) - int(frames["offset"][-1])) <= 24


def test_captures_and_frames_are_told_apart(calls: dict[str, Call]) -> None:
    known = registry.parsers()
    for path, name in ((calls["clean"].frames, "gsmtap"), (calls["clean"].packets, "pcap")):
        head = native.head(str(path), 1 << 16)
        assert [parser.name for parser in known.values() if parser.sniff(head)] == [name]
    with pytest.raises(CorruptTrace, match="no undamaged RLP frame"):
        mt.open_trace(calls["clean"].packets, format="gsmtap")


def test_public_vectors(shared: Path) -> None:
    trace = mt.open_trace(shared / "samples" / "gsm_rlp" / "constructed_gsmtap_rlp.pcap")
    assert list(trace.tables["link_events"].words("kind")) == ["XID", "XID", "SABM", "UA", "DISC"]
    assert trace.tables["link_frames"]["length"].tolist() == [0, 1]
    assert not resets(trace)


# comma-separated values


def csv(folder: Path, text: str, settings: str = "") -> Trace:
    (folder / "log.csv").write_text(text)
    (folder / "measurement.toml").write_text(f'[sources."log.csv"]\nformat = "csv"\n{settings}\n')
    return mt.read(folder).traces[0]


def test_values_of_any_name_become_events(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,name,value\n1795249751.5,signal,-71\n1795249752,signal,\n")
    m = mt.read(tmp_path / "log.csv")
    assert m.sources[0].format == "csv"
    assert m.table("series")["value"].tolist() == [-71.0]
    events = m.events
    assert (events["name"].tolist(), events["value"].tolist()) == (["signal"], [-71.0])


def test_columns_names_and_units_by_the_user(tmp_path: Path) -> None:
    text = "stamp;what;much\n100;Cwnd;14480\n200;Signal;3\n200;Srtt;25\n"
    settings = (
        'columns = { time = "stamp", name = "what", value = "much" }\n'
        'units = { time = "ms", cwnd = "bytes", srtt = "ms" }\nnames = { Cwnd = "cwnd", Srtt = "srtt" }\n'
        'local = "10.0.0.1:1"\nremote = "[2001:db8::1]:2"\nmss = 1448\nclock = "monotonic"\n'
    )
    trace = csv(tmp_path, text, settings)
    states = trace.tables["tcp_states"]
    assert states["t_ns"].tolist() == [100_000_000, 200_000_000]
    assert states["cwnd"].tolist() == [10, -1]
    assert states["srtt_ns"].tolist() == [-1, 25_000_000]
    assert trace.tables["series"]["name"].tolist() == ["Signal"]
    assert trace.source.clock == "monotonic"


def test_columns_by_number_without_titles(tmp_path: Path) -> None:
    trace = csv(
        tmp_path, "1.5 7\n2.5 8\n", 'header = false\ncolumns = { time = "1", queue = "2" }\nlayer = "link"\n'
    )
    assert trace.tables["series"]["value"].tolist() == [7, 8]
    assert set(trace.tables["series"]["name"].tolist()) == {"queue"}
    assert trace.source.layer == "link"


@pytest.mark.parametrize(
    "settings",
    [
        'columns = { time = "nowhere" }',
        "columns = 5",
        'separator = "ab"',
        'units = { time = "weeks" }',
        'clock = "sundial"',
        'local = "x"\nremote = "y"',
        "mss = -1",
    ],
)
def test_settings_that_contradict_the_file(settings: str, tmp_path: Path) -> None:
    (tmp_path / "measurement.toml").write_text(f'[sources."log.csv"]\nformat = "csv"\n{settings}\n')
    path = tmp_path / "log.csv"
    path.write_text("time,name,value\n1,a,2\n")
    with pytest.raises(UsageError, match=r"measurement\.toml"):
        mt.read(path, tmp_path / "measurement.toml")


def test_frames_as_csv_are_frames(calls: dict[str, Call], tmp_path: Path) -> None:
    log = mt.open_trace(calls["fades"].log)
    frames = log.tables["link_frames"]
    lines = ["time,entity,action,seq,offset,length,attempt,duplicate"]
    for row in range(len(frames)):
        value = {name: int(frames[name][row]) for name in frames}
        action = schema.LINK_ACTIONS[value["action"]]
        lines.append(
            f"{value['t_ns'] // 10**9}.{value['t_ns'] % 10**9:09d},{log.entities[value['entity']]},{action},"
            f"{value['ns']},{value['offset']},{value['length']},{value['attempt']},{value['duplicate']}"
        )
    path = tmp_path / "frames.csv"
    path.write_text("\n".join([*lines, ""]))
    trace = mt.open_trace(path)
    found = trace.tables["link_frames"]
    for column in ("t_ns", "ns", "offset", "length", "attempt", "duplicate"):
        assert np.array_equal(found[column], frames[column]), column
    assert trace.source.layer == "link"


def test_titles_of_others_are_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time,temperature\n1,2\n")
    with pytest.raises(UnknownFormat):
        mt.open_trace(path)
    assert mt.open_trace(path, format="csv").tables["series"]["value"].tolist() == [2.0]
    path.write_text("when,what\n1,2\n")
    with pytest.raises(CorruptTrace, match="no column of times"):
        mt.open_trace(path, format="csv")
