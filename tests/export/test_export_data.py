"""Tables, packets and link traces, read back by others: pandas, dpkt, tshark, the lab."""

from __future__ import annotations

import functools
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import dpkt
import numpy as np
import pandas as pd
import pytest
from support_samples import PATIENCE_S, SAMPLES

import multitracer as mt
from multitracer.export import emulation, pcap, tables
from multitracer.lab.air import Air
from multitracer.lab.library import load as load_scenario
from multitracer.lab.settings import AirSettings, from_mapping
from multitracer.layers.link.path import link_path
from multitracer.model.errors import UsageError

VJ = SAMPLES / "link-resets-vj"


@functools.cache
def analysis(name: str):
    return mt.analyze(mt.read(SAMPLES / name))


def test_csv_and_parquet_hold_the_table(tmp_path):
    found = analysis("link-resets-vj")
    for kind, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        if kind == "parquet":
            pytest.importorskip("pyarrow")
        target = str(tmp_path / f"t.{kind}")
        assert tables.write(found, target, kind, "timeouts") == [target]
        rows, told = read(target), tables.table(found, "timeouts")
        assert list(rows.columns) == list(told)
        assert rows["t_ns"].tolist() == told["t_ns"].tolist()
        assert rows["verdict"].tolist() == told.words("verdict").tolist()


def test_a_directory_gets_every_table_that_has_rows(tmp_path):
    found = analysis("link-resets-vj")
    paths = tables.write(found, str(tmp_path / "all"), "csv")
    rows = {Path(path).stem: len(pd.read_csv(path)) for path in paths}
    assert rows["segments"] == len(found.measurement.table("segments"))
    assert rows["link_resets"] == 3
    assert rows["events"] == len(found.measurement.events_table())
    with pytest.raises(UsageError, match="no table 'nonsense'; there are events, "):
        tables.write(found, str(tmp_path / "x.csv"), "csv", "nonsense")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_connections_are_a_table_of_one_row_each(tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    found = analysis("link-resets-vj")
    target = str(tmp_path / f"c.{kind}")
    assert tables.write(found, target, kind, "connections") == [target]
    (row,) = (pd.read_csv if kind == "csv" else pd.read_parquet)(target).to_dict("records")
    (told,) = found.contract(1)["connections"]
    assert [row["from"], row["to"]] == list(told["endpoints"])
    for name in ("bytes.unique", "rtt_ms.mean", "limits.application", "timeouts.total", "goodput_bps"):
        outer, _, inner = name.partition(".")
        assert row[name] == (told[outer][inner] if inner else told[outer]), name


def test_no_directory_of_this_machine_leaves_it(tmp_path):
    found = mt.analyze(mt.read(SAMPLES.resolve() / "flow-control"))
    assert os.path.isabs(found.contract(1)["connections"][0]["source"])
    (written, *others) = tables.write(found, str(tmp_path / "all"), "csv")
    names = [Path(one).name for one in (written, *others)]
    assert "connections.csv" in names
    for one in (written, *others):
        assert str(SAMPLES.resolve()) not in Path(one).read_text(encoding="utf-8"), one
    assert "snd.pcap" in (tmp_path / "all" / "connections.csv").read_text(encoding="utf-8")


def read_pcap(path: Path) -> list[tuple[float, bytes]]:
    with path.open("rb") as file:
        return [(float(t), data) for t, data in dpkt.pcap.Reader(file)]


def test_pcap_holds_the_selected_packets_unchanged(tmp_path):
    found = analysis("link-resets-vj")
    m = found.measurement
    target = tmp_path / "s.pcap"
    window = (m.t0_ns + 20 * 10**9, m.t0_ns + 60 * 10**9)
    count = pcap.write(found, str(target), conn=0, window_ns=window)
    segments = m.table("segments")
    mine = segments.where(
        (segments["source"] == m.snd) & (segments["t_ns"] >= window[0]) & (segments["t_ns"] < window[1])
    )
    packets = read_pcap(target)
    assert count == len(packets) == len(mine)
    originals = read_pcap(VJ / "snd.pcap")
    order = np.argsort(mine["record"])
    for (t, data), record in zip(packets, mine["record"][order].tolist(), strict=True):
        assert data == originals[record - 1][1]
        assert t == pytest.approx(originals[record - 1][0], abs=1e-6)


@pytest.mark.parametrize(
    ("verdict", "sample", "expected"),
    [
        ("damaged", "link-resets-vj", 22),
        ("spurious", "spurious-timeouts", 1),
        ("genuine", "link-resets-vj", 3),
        ("retransmitted", "local-drops", 10),
    ],
)
def test_pcap_by_verdict_is_what_tshark_sees(tmp_path, verdict, sample, expected):
    target = tmp_path / "v.pcap"
    point = "rcv" if verdict == "damaged" else "snd"
    assert pcap.write(analysis(sample), str(target), point=point, verdict=verdict) == expected
    if not shutil.which("tshark"):
        pytest.skip("needs tshark")
    words = ["tshark", "-n", "-r", str(target), "-o", "tcp.check_checksum:TRUE", "-T", "fields"]
    words += ["-e", "tcp.checksum.status", "-e", "frame.len", "-e", "frame.cap_len"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == expected
    if verdict == "damaged":
        assert all(row[0] == "0" for row in rows)  # 0: bad
    if sample == "local-drops":  # 96 bytes of each were captured: the length on the wire is kept
        assert all(int(row[1]) > int(row[2]) == 96 for row in rows)


def test_pcap_from_compressed_captures_and_refusals(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "snd.pcap.gz").write_bytes(gzip.compress((VJ / "snd.pcap").read_bytes()))
    found = mt.analyze(mt.read(folder))
    total = len(found.measurement.table("segments"))
    assert pcap.write(found, str(tmp_path / "a.pcap")) == total
    with pytest.raises(UsageError, match="no packet fits"):
        pcap.write(found, str(tmp_path / "b.pcap"), window_ns=(0, 1))
    with pytest.raises(UsageError, match="connection 7 does not exist"):
        pcap.write(found, str(tmp_path / "b.pcap"), conn=7)
    with pytest.raises(UsageError, match="no capture at point rcv"):
        pcap.write(found, str(tmp_path / "b.pcap"), point="rcv")
    assert not (tmp_path / "b.pcap").exists()


def test_a_name_that_ends_in_gz_is_written_compressed(tmp_path):
    found = mt.analyze(mt.read(VJ))
    for name in ("a.pcap", "a.pcap.gz"):
        pcap.write(found, str(tmp_path / name))
    assert gzip.decompress((tmp_path / "a.pcap.gz").read_bytes()) == (tmp_path / "a.pcap").read_bytes()
    for name in ("a.csv", "a.csv.gz"):
        assert tables.write(found, str(tmp_path / name), "csv", "segments") == [str(tmp_path / name)]
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "a.csv").read_bytes()


def rlp_log(lost: set[int], slots: int, path: Path) -> None:
    """A link that sends a new frame in every slot, never again, and loses some."""
    lines = ["# rlpdump 1 clock=realtime slot_ms=20 payload_bytes=24 window=61 t1_ms=480 n2=6"]
    for slot in range(slots):
        frame = f"I ns={slot % 64} off={24 * slot} len=24"
        lines.append(f"{1000 + slot * 0.02:.6f} ms snd {frame}")
        if slot not in lost:
            lines.append(f"{1000 + slot * 0.02 + 0.18:.6f} iwf rcv {frame}")
    lines[1:] = sorted(lines[1:])
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def test_the_lab_replays_an_exported_error_trace(tmp_path):
    lost = {3, 4, 5, 40, 77, 78, 150, 180}
    folder = tmp_path / "m"
    folder.mkdir()
    rlp_log(lost, 200, folder / "rlp.log")
    m = mt.read(folder)
    target = tmp_path / "replay.toml"
    assert emulation.write_errors(m, str(target))["air_up"] == len(lost)
    # As `multitracer lab run replay.toml` reads it.
    settings = load_scenario(str(target)).link["air_up"]
    air = Air(from_mapping(AirSettings, settings, "link.air_up"), "seed")
    assert {slot for slot in range(250) if air.lost(slot)} == lost


def test_a_replayed_sample_loses_the_slots_of_the_sample(tmp_path):
    m = analysis("local-drops").measurement
    target = tmp_path / "replay.toml"
    told = emulation.write_errors(m, str(target))
    link = load_scenario(str(target)).link
    expected = emulation.errors(m, link_path(m).sender)
    air = Air(from_mapping(AirSettings, link["air_up"], "link.air_up"), "seed")
    assert [air.lost(slot) for slot in range(len(expected))] == [one == 1 for one in expected]
    # The link's own record says how many frames the air took from the sender.
    truth = json.loads((SAMPLES / "local-drops" / "truth.json").read_text())
    assert told["air_up"] == sum(expected) == truth["frames_lost_on_air"][0] == 3


def test_a_copy_received_twice_was_not_lost(tmp_path):
    """A log names a copy by N(S) alone; frames of the same number come again after 64 slots."""
    folder = tmp_path / "m"
    folder.mkdir()
    rlp_log(set(), 200, folder / "rlp.log")
    again = ["1002.010000 ms snd I ns=30 off=720 len=24 try=1", "1002.190000 iwf rcv I ns=30 dup=1"]
    lines = (folder / "rlp.log").read_text().splitlines()
    (folder / "rlp.log").write_text("\n".join([lines[0], *sorted([*lines[1:], *again])]) + "\n")
    assert sum(emulation.errors(mt.read(folder), 0)) == 0


def test_mahimahi_capacity_is_what_the_link_carried(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    rlp_log({10, 11}, 640, folder / "rlp.log")
    found = emulation.opportunities(mt.read(folder))
    # 638 slots of 24 bytes are ten times 1500 bytes; each takes 62.5 slots of 20 ms, the first two more.
    assert len(found) == 638 * 24 // 1500
    assert found[0] == 65 * 20
    assert found[-1] == (10 * 1500 // 24 + 2) * 20
    target = tmp_path / "m.trace"
    emulation.write_mahimahi(mt.read(folder), str(target))
    assert [int(line) for line in target.read_text().splitlines()] == found


def test_mahimahi_leaves_out_what_flow_control_held_back():
    m = analysis("flow-control").measurement
    found = emulation.opportunities(m)
    rate = 1500 * len(found) / (found[-1] / 1e3)
    # Of 1200 bytes/s the drain leaves 960; what XOFF takes shows in whole slots.
    assert 900 < rate < 980


def test_link_traces_need_a_link_log():
    m = mt.read(VJ / "snd.pcap", VJ / "rcv.pcap")
    for export in (emulation.opportunities, lambda m: emulation.write_errors(m, "unused")):
        with pytest.raises(UsageError, match="needs a link log"):
            export(m)


@pytest.mark.parametrize(
    "target", ["xplot", "xgraph", "gnuplot", "csv", "pcap", "perfetto", "mahimahi", "errors"]
)
def test_every_format_by_command_line(run, tmp_path, target):
    ending = {"xplot": ".xpl", "csv": ".csv", "pcap": ".pcap", "perfetto": ".json"}.get(target, "")
    out = tmp_path / f"out{ending}"
    done = run("export", VJ, "--to", target, "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["export"]
    assert told["format"] == target
    assert all(Path(path).stat().st_size > 0 for path in told["paths"])
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".multitracer-")]


@pytest.mark.parametrize("target", ["xgraph", "gnuplot", "csv"])
def test_a_directory_may_be_written_with_a_slash(run, tmp_path, target):
    done = run("export", VJ, "--to", target, "-o", f"{tmp_path / 'out'}/")
    assert done.returncode == 0, done.stderr
    assert any(path.is_file() for path in (tmp_path / "out").iterdir())


def test_wrong_requests_are_refused(run, tmp_path):
    for words in (
        ["--to", "xplot", "-k", "nonsense", "-o", tmp_path / "x"],
        ["--to", "csv", "--table", "nonsense", "-o", tmp_path / "x.csv"],
        ["--to", "pcap", "--from", "9", "--until", "3", "-o", tmp_path / "x.pcap"],
        ["--to", "csv", "-o", tmp_path / "no" / "x.csv"],
        ["--to", "fax", "-o", tmp_path / "x"],
    ):
        done = run("export", VJ, *words)
        assert done.returncode == 2, (words, done.stderr)
    assert not [*tmp_path.iterdir()]
