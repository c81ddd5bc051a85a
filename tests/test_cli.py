"""The command line as a user meets it, on good input and bad."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support_samples import PATIENCE_S, Run

from multitracer.cli import main as cli_main
from multitracer.cli.common import parse_formats
from multitracer.cli.main import main
from multitracer.model.errors import UsageError

COMMANDS = ("info", "analyze", "events", "plot", "formats")


def refused(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """The command ended with this status and one clear line on stderr."""
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_or_explains(command: str, run: Run) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: multitracer {command}")
    assert "--json" in done.stdout
    assert command == "formats" or f"multitracer {command} " in done.stdout.split("Options:")[0]


def test_version(run: Run) -> None:
    import multitracer

    assert run("--version").stdout == f"multitracer {multitracer.__version__}\n"


@pytest.mark.parametrize("words", [["nonsense"], ["analyze"], ["analyze", "--nonsense", "x"], ["plot", "x"]])
def test_usage_errors(words: list[str], run: Run) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["analyze", "events"])
class TestBadInput:
    def test_empty_file(self, command: str, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "empty.pcap"
        path.write_bytes(b"")
        refused(run(command, path), 3, str(path), "empty")

    def test_text_file(self, command: str, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "letter.txt"
        path.write_text("Dear reader,\nthis is no trace.\n")
        refused(run(command, path), 3, str(path), "multitracer formats", "--format")

    def test_binary_file(self, command: str, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "noise.bin"
        path.write_bytes(bytes(range(256)) * 40)
        refused(run(command, path), 3, str(path), "multitracer formats")

    def test_directory_without_traces(self, command: str, run: Run, tmp_path: Path) -> None:
        refused(run(command, tmp_path), 3, str(tmp_path), "no files here")
        (tmp_path / "README").write_text("nothing here\n")
        refused(run(command, tmp_path), 3, str(tmp_path), "no readable trace")

    def test_missing_file(self, command: str, run: Run, tmp_path: Path) -> None:
        refused(run(command, tmp_path / "gone.pcap"), 3, "gone.pcap", "no such file")

    def test_capture_without_a_packet(self, command: str, run: Run, tmp_path: Path, samples: Path) -> None:
        path = tmp_path / "cut.pcap"
        path.write_bytes((samples / "flow-control" / "snd.pcap").read_bytes()[:20])
        refused(run(command, path), 3, str(path))

    def test_wrong_format_named(self, command: str, run: Run, samples: Path) -> None:
        path = samples / "flow-control" / "snd.pcap"
        refused(run(command, path, "--format", "zip"), 2, "'zip'", "pcap")
        refused(run(command, path, "--format", "rlpdump"), 3, str(path))

    def test_damaged_gzip(self, command: str, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "log.gz"
        path.write_bytes(gzip.compress(b"x" * 100)[:12] + b"\xff" * 40)
        refused(run(command, path), 3, str(path))


def test_unreadable_file(tmp_path: Path, samples: Path) -> None:
    path = tmp_path / "secret.pcap"
    path.write_bytes((samples / "flow-control" / "snd.pcap").read_bytes())
    path.chmod(0)
    words = [sys.executable, "-m", "multitracer", "analyze", str(path)]
    if os.geteuid() == 0:
        # Permissions do not stop root: give up the capabilities that let it pass.
        if shutil.which("setpriv") is None:
            pytest.skip("running as root, and setpriv is not installed")
        words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    refused(done, 3, str(path), "ermission denied")


def test_truncated_capture_keeps_what_came_before(run: Run, tmp_path: Path, samples: Path) -> None:
    whole = (samples / "flow-control" / "snd.pcap").read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[: len(whole) // 2])
    done = run("analyze", path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    cut = [issue for issue in found["issues"] if issue["code"] == "truncated-file"]
    assert cut
    assert cut[0]["path"] == str(path)
    assert 0 < found["connections"][0]["bytes"]["unique"] < 100_000

    strict = run("analyze", path, "--strict")
    refused(strict, 4, "truncated-file")
    assert "truncated-file" in strict.stdout, "the results are printed all the same"


def test_strict_passes_whole_measurements(run: Run, sample: Path) -> None:
    done = run("analyze", sample, "--strict")
    assert done.returncode == 0, done.stderr


def test_min_utilization(run: Run, samples: Path) -> None:
    path = samples / "link-resets-vj"
    assert run("analyze", path, "--min-utilization", "1").returncode == 0
    refused(run("analyze", path, "--min-utilization", "99"), 5, "utilization is", "99%")
    refused(run("analyze", path / "rlp.log.gz", "--min-utilization", "1"), 5, "is unknown")
    assert run("analyze", path, "--min-utilization", "101").returncode == 2


def test_same_capture_twice(run: Run, tmp_path: Path, samples: Path) -> None:
    path = samples / "flow-control" / "snd.pcap"
    refused(run("analyze", path, path), 2, str(path), "twice")


class TestInfo:
    def test_a_bad_file_does_not_hide_the_others(self, run: Run, tmp_path: Path, samples: Path) -> None:
        good, bad = samples / "flow-control" / "snd.pcap", tmp_path / "bad"
        bad.write_text("nothing\n")
        done = run("info", tmp_path / "gone", good, bad, "--json")
        assert done.returncode == 0, done.stderr
        sources = json.loads(done.stdout)["sources"]
        assert {source["path"] for source in sources} == {str(tmp_path / "gone"), str(good), str(bad)}
        by_path = {source["path"]: source for source in sources}
        assert set(by_path[str(bad)]) == {"path", "error"}
        assert "no such file" in by_path[str(tmp_path / "gone")]["error"]
        assert by_path[str(good)]["records"] == 440
        assert by_path[str(good)]["tcp_segments"] == 440
        assert by_path[str(good)]["format"] == "pcap"
        assert by_path[str(good)]["last_s"] - by_path[str(good)]["first_s"] == pytest.approx(
            124.197113, abs=1e-5
        )

    def test_status_is_3_only_if_nothing_was_readable(self, run: Run, tmp_path: Path) -> None:
        done = run("info", tmp_path / "gone", "--json")
        assert done.returncode == 3
        assert json.loads(done.stdout)["sources"] == [
            {"path": str(tmp_path / "gone"), "error": "no such file or directory; check the path"}
        ]

    def test_directory(self, run: Run, sample: Path) -> None:
        done = run("info", sample, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        formats = {Path(s["path"]).name: (s["format"], s["layer"], s["point"]) for s in found["sources"]}
        assert formats["snd.pcap"] == ("pcap", "tcp", "snd")
        assert formats["rcv.pcap"] == ("pcap", "tcp", "rcv")
        assert formats["tcp_probe.txt.gz"][:2] == ("ftrace", "kernel")
        assert formats["ss.log.gz"][:2] == ("ss", "kernel")
        assert formats["rlp.log.gz"][:2] == ("rlpdump", "link")
        assert {Path(s["path"]).name for s in found["skipped"]} == {"kernel.json", "truth.json"}

    def test_for_people(self, run: Run, samples: Path, tmp_path: Path) -> None:
        done = run("info", samples / "flow-control", tmp_path / "gone", columns=200)
        assert done.returncode == 0
        for word in ("snd.pcap", "rlpdump", "440", "kernel.json", "no such file"):
            assert word in done.stdout


class TestAnalyze:
    def test_where_a_capture_was_taken_is_said_in_words(self, run: Run, samples: Path) -> None:
        text = " ".join(run("info", samples / "link-resets-vj" / "snd.pcap").stdout.split())
        assert "Point snd (likely, by all evidence)" in text
        assert (
            "0 hops from the sender and 0 hops from the receiver (by TTL); of the RTT at least 463 ms" in text
        )
        assert "hops_from" not in text
        assert "False" not in text

    def test_keys_of_the_contract(self, run: Run, sample: Path) -> None:
        done = run("analyze", sample, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        found = json.loads(done.stdout)
        assert {
            "multitracer", "sources", "clocks", "connections", "link", "utilization", "idle_phases", "issues",
        } <= set(found)  # fmt: skip
        (connection,) = found["connections"]
        assert {"sent", "unique", "duplicate", "acked"} <= set(connection["bytes"])
        assert {"total", "timeout", "fast", "slow_start", "tail_loss_probe", "unknown"} <= set(
            connection["retransmissions"]
        )
        assert {"total", "spurious", "genuine", "inconclusive"} <= set(connection["timeouts"])
        assert {"endpoints", "rtt_ms", "throughput_bps", "goodput_bps"} <= set(connection)
        assert {"frames", "retransmitted", "resets", "flow_control"} <= set(found["link"])
        assert {"value", "idle_share", "duplicate_share", "basis"} <= set(found["utilization"])
        for clock in found["clocks"]:
            assert {
                "source", "reference", "offset_s", "skew_ppm", "uncertainty_s", "method", "grade",
            } <= set(clock)  # fmt: skip
        for reset in found["link"]["resets"]:
            assert {"t", "entity", "cause", "gap_s"} <= set(reset)
        for phase in found["idle_phases"]:
            assert {"start", "end", "cause"} <= set(phase)
            assert phase["start"] < phase["end"]

    def test_for_people(self, run: Run, samples: Path) -> None:
        done = run("analyze", samples / "link-resets-vj", columns=100)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        for word in (
            "100,000",
            "16,520",
            "timeout",
            "slow start",
            "Utilization",
            "reset",
            "tcp_probe.txt.gz",
        ):
            assert word in done.stdout
        # Commands to copy are never broken; how long they are depends on where the samples are.
        lines = [line for line in done.stdout.splitlines() if not line.strip().startswith("multitracer ")]
        assert max(map(len, lines)) <= 100

    def test_one_capture_alone(self, run: Run, samples: Path) -> None:
        done = run("analyze", samples / "local-drops" / "snd.pcap", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["connections"][0]["retransmissions"]["total"] == 10
        told = found["utilization"]
        assert told["basis"] == "estimate from captures"
        assert told["low"] <= told["value"] <= told["high"]
        assert "link log" in found["inconclusive"]["link_resets"]

    def test_link_log_alone(self, run: Run, samples: Path) -> None:
        done = run("analyze", samples / "local-drops" / "rlp.log.gz", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["connections"] == []


class TestEvents:
    def test_csv(self, run: Run, samples: Path) -> None:
        done = run("events", samples / "flow-control", "--name", "TcpSnd_data", "--from", "10", "--to", "20")
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert rows
        assert {row["name"] for row in rows} == {"TcpSnd_data"}
        assert {row["file"] for row in rows} == {"snd.pcap"}
        times = [float(row["t_s"]) for row in rows]
        assert times == sorted(times)
        assert times[0] >= 10
        assert times[-1] < 20

    def test_json_is_one_object(self, run: Run, samples: Path) -> None:
        done = run("events", samples / "flow-control", "--layer", "tcp", "--json")
        assert done.returncode == 0, done.stderr
        events = json.loads(done.stdout)["events"]
        assert {event["layer"] for event in events} == {"tcp"}
        assert all(event["record"] >= 1 for event in events)

    def test_parquet_equals_csv(self, run: Run, samples: Path, tmp_path: Path) -> None:
        import pandas as pd

        for name in ("events.parquet", "events.csv"):
            done = run("events", samples / "flow-control", "-o", tmp_path / name)
            assert done.returncode == 0, done.stderr
        parquet = pd.read_parquet(tmp_path / "events.parquet")
        text = pd.read_csv(tmp_path / "events.csv", keep_default_na=False, na_values={"value": [""]})
        assert list(parquet.columns) == list(text.columns)
        assert (parquet["t_ns"].to_numpy() == text["t_ns"].to_numpy()).all()
        assert (parquet["name"].astype(str).to_numpy() == text["name"].astype(str).to_numpy()).all()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["events.csv", "events.parquet"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--name", "Nonsense"], "TcpSnd_data"),
            (["--from", "5", "--to", "5"], "window is empty"),
            (["-o", "events.xls"], ".parquet"),
            (["--from", "nan"], "not a time"),
        ],
    )
    def test_refusals(self, run: Run, samples: Path, words: list[str], said: str) -> None:
        refused(run("events", samples / "flow-control", *words), 2, said)

    def test_failure_leaves_no_file(self, run: Run, samples: Path, tmp_path: Path) -> None:
        output = tmp_path / "gone" / "events.csv"
        refused(run("events", samples / "flow-control", "-o", output), 2, str(output), "cannot be written")

    def test_reader_that_goes_away(self, samples: Path) -> None:
        words = [sys.executable, "-m", "multitracer", "events", str(samples / "flow-control")]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            first = process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read()
        assert (first[:4], said, process.returncode) == ("t_s,", "", 141)


class TestPlot:
    @pytest.mark.parametrize(
        ("ending", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
    )
    def test_files(self, run: Run, samples: Path, tmp_path: Path, ending: str, magic: bytes) -> None:
        path = tmp_path / f"figure{ending}"
        done = run("plot", samples / "flow-control", "-o", path, "--from", "10", "--to", "20")
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{path}\n"
        assert path.read_bytes().startswith(magic)
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]

    def test_list(self, run: Run) -> None:
        assert "multilayer" in run("plot", "--list").stdout
        assert json.loads(run("plot", "--list", "--json").stdout)["kinds"][0]["name"] == "multilayer"

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["-o", "x.gif"], ".png"),
            (["-o", "x.png", "--from", "9", "--to", "3"], "empty"),
            (["-o", "x.png", "--kind", "pie"], "multilayer"),
            (["-o", "x.png", "--conn", "7"], "7"),
        ],
    )
    def test_refusals(self, run: Run, samples: Path, tmp_path: Path, words: list[str], said: str) -> None:
        refused(run("plot", samples / "flow-control", *words, cwd=tmp_path), 2, said)
        assert list(tmp_path.iterdir()) == []


def test_formats(run: Run) -> None:
    formats = json.loads(run("formats", "--json").stdout)["formats"]
    assert {entry["name"] for entry in formats} >= {"pcap", "ftrace", "ss", "rlpdump"}
    shown = run("formats").stdout
    for entry in formats:
        assert entry["name"] in shown


def test_format_option() -> None:
    assert parse_formats([]) is None
    assert parse_formats(["pcap"]) == "pcap"
    assert parse_formats(["a=b.log=ss", "x=pcap"]) == {"a=b.log": "ss", "x": "pcap"}
    for values in (["pcap", "ss"], ["pcap", "a=ss"]):
        with pytest.raises(UsageError):
            parse_formats(values)


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_main.LazyGroup, "get_command", interrupted)
    assert main(["formats"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_bearers_of_a_radio_log_are_lines(run: Run, tmp_path: Path) -> None:
    lines = [
        f"2023-03-15T18:29:25.10{at}000 [RLC] [I] ue=0 {name} DL: TX PDU. dc=data si=full sn=0 pdu_len=102"
        for at, name in enumerate(("DRB1", "DRB2"))
    ]
    log = tmp_path / "gnb.log"
    log.write_text("\n".join(lines) + "\n")
    output = run("info", str(log)).stdout
    assert "{" not in output
    assert sum("bearer drb" in line for line in output.splitlines()) == 2
