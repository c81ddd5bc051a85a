"""What `make fuzz` found, as small files: each ended in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support_samples import PATIENCE_S, SAMPLES, Run

import multitracer as mt
from multitracer.alignment.clocks.skew import slope_of_centre
from multitracer.batch.guard import _line
from multitracer.cli.main import group
from multitracer.diagnosis.chains.found import Chains, Columns
from multitracer.diagnosis.findings import logs as findings
from multitracer.layers.link import path as linkpath
from multitracer.model.errors import UsageError
from multitracer.model.schema.chains import CHAIN_EVENTS, CHAINS
from multitracer.model.table import Table

PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
[1700000000.100000] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1.00 ms
[1700000001.100000] 64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time={0} ms
[1700000002.100000] 64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time={0} ms
[1700000003.100000] 64 bytes from 10.0.0.2: icmp_seq=4 ttl=64 time=2.00 ms
"""


@pytest.mark.parametrize("number", ["1e308", "9" * 300 + ".0", "9" * 25, "0"])
def test_round_trips_of_any_length(number: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "ping.log"
    path.write_text(PING.format(number), encoding="ascii")
    for words in (("analyze",), ("analyze", "--json")):
        with np.errstate(all="raise"):
            done = run(words[0], path, *words[1:])
        assert done.returncode in (0, 2, 3), done.stderr
        assert "Traceback" not in done.stderr
        if words[-1] == "--json" and not done.returncode:
            json.loads(done.stdout)


def test_a_smallest_round_trip_of_nothing_says_nothing_of_a_queue() -> None:
    rtt = {"kind": "rtt", "min": 0.0, "median": 500.0, "p95": 600.0, "kernel_min": None, "samples": 100}
    one = {"rtt_ms": rtt, "name": "ping"}
    assert not findings._queued(one)
    assert not findings._queued({"rtt_ms": rtt | {"min": 20.0, "kernel_min": 0.0}})


TIMELESS = [
    ("ping.log", "{0} packets transmitted, 4 received, 0% packet loss, time 3003ms\n"),
    ("ping.log", "4 packets transmitted, 4 received, 0% packet loss, time {0}ms\n"),
    ("mm.log", "# mahimahi mm-link (uplink) [up] > up.log\n# base timestamp: {0}\n0 # 1504\n120 # 1504\n"),
]


@pytest.mark.parametrize("number", ["9" * 13, "9" * 15, "9" * 400, "9" * 5000])
@pytest.mark.parametrize(("name", "text"), TIMELESS, ids=["sent", "time", "base"])
def test_totals_of_any_length(name: str, text: str, number: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / name
    head = PING.format("1.0").replace("[1700000000.100000] ", "") if name == "ping.log" else ""
    path.write_text(head + text.format(number), encoding="ascii")
    for words in (("analyze", "--json"), ("events",)):
        done = run(words[0], path, *words[1:])
        assert done.returncode in (0, 2, 3), done.stderr
        assert "Traceback" not in done.stderr


def test_replies_of_no_time_at_all(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "windows.txt"
    path.write_text(f"Reply from 10.0.0.2: bytes=32 time={'9' * 30}ms TTL=54\r\n" * 3, encoding="ascii")
    done = run("analyze", path)
    assert done.returncode in (0, 3), done.stderr
    assert len(done.stderr.splitlines()) <= 1


IPERF = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 42244 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   600 KBytes  {0} Mbits/sec    5   16.7 KBytes
[  5]   1.00-2.00   sec   600 KBytes  4.91 Mbits/sec    5   16.7 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  {0} KBytes  4.91 Mbits/sec   10             sender
"""


@pytest.mark.parametrize("number", ["9" * 13, "9" * 400, "1" + "0" * 307])
def test_rates_of_any_length(number: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "iperf.txt"
    path.write_text(IPERF.format(number), encoding="ascii")
    for command in ("analyze", "info"):
        done = run(command, path, "--json")
        assert done.returncode == 0, done.stderr
        codes = [one["code"] for one in _issues(json.loads(done.stdout))]
        assert "bad-number" in codes


def _issues(contract: dict[str, list[dict[str, object]]]) -> list[dict[str, object]]:
    own = contract.get("issues") or []
    return [*own, *(issue for one in contract["sources"] for issue in one.get("issues", []))]  # type: ignore[misc, attr-defined]


def test_a_wait_that_is_unknown_is_not_told() -> None:
    """A timeout of a damaged trace has no time since the segment before it."""
    from multitracer.diagnosis.findings import behind_chains

    def chain(*waits: float | None) -> Chains:
        waits_ns = [-1 if wait is None else round(wait * 1e9) for wait in waits]
        what, cause = (np.full(len(waits), word, dtype=object) for word in ("timeout", "genuine"))
        given = {"wait_ns": waits_ns, "what": what, "cause": cause, "record": range(len(waits))}
        events = Table.filled(CHAIN_EVENTS, len(waits), given | {"chain": np.ones(len(waits))})
        table = Table.filled(CHAINS, 1, {"kind": [CHAINS.code("kind", "loss")], "events": [len(waits)]})
        return Chains(Columns([], 0, table, events, np.zeros(1, dtype=np.int64)))

    told = {
        waits: behind_chains._waits(None, chain(*waits), chain(*waits))  # type: ignore[arg-type]
        for waits in ((None,), (None, 2.0))
    }
    assert "timeout" in told[(None,)]
    assert "wait of" not in told[(None,)]
    assert "2 timeouts after a wait of 2.0 s" in told[(None, 2.0)]


COUNTERS = '1700000000.0\n{"kernel": {"TcpInSegs": 1}}\n9223372036.9\n{"kernel": {"TcpInSegs": 2}}\n'


def test_a_time_beyond_every_column_is_none(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "counters.log"
    path.write_text(COUNTERS, encoding="ascii")
    done = run("analyze", path, "--json")
    assert done.returncode == 0, done.stderr
    issues = {one["code"]: (one["count"], one["first_record"]) for one in json.loads(done.stdout)["issues"]}
    assert issues["bad-number"] == (1, 3)
    assert issues["no-timestamp"] == (1, 4)


STATES = """time,local,remote,cwnd_bytes,srtt_ms,ssthresh,mss
1795249751.5,10.0.0.1:1000,10.0.0.2:80,14480,1e308,,1448
1795249752.5,10.0.0.1:1000,10.0.0.2:80,14480,40,,1448
"""


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_every_number_is_left_out(tmp_path: Path) -> None:
    """A time of 1e308 ms is no number in nanoseconds."""
    import multitracer as mt

    path = tmp_path / "states.csv"
    path.write_text(STATES, encoding="ascii")
    table = mt.open_trace(str(path)).tables["tcp_states"]
    assert table["srtt_ns"].tolist() == [-1, 40_000_000]


EVENTS = (("--name", "x"), ("--until", "nan"), ("--from", "2", "--until", "1"))


@pytest.mark.parametrize("words", EVENTS, ids=" ".join)
@pytest.mark.parametrize("form", ["--json", "--layer=tcp"])
def test_events_that_are_refused_print_nothing(words: tuple[str, ...], form: str, run: Run) -> None:
    done = run("events", SAMPLES / "backoff", *words, form)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("first", "last", "is_all"), [("-1e308", "1e308", True), ("1e300", "1e308", False)])
def test_times_beyond_every_time(first: str, last: str, is_all: bool, run: Run) -> None:
    found = [
        run("events", SAMPLES / "backoff", *words) for words in ((), (f"--from={first}", f"--until={last}"))
    ]
    assert [done.returncode for done in found] == [0, 0], found[1].stderr
    assert found[1].stdout == (found[0].stdout if is_all else found[0].stdout.partition("\n")[0] + "\n")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e9 / 7, 0.1, 1.7e9 / 3])
def test_a_slope_of_points_at_one_time_is_none(value: float) -> None:
    """The mean of equal numbers is not always that number."""
    slope, _ = slope_of_centre(np.full(7, value), np.arange(7.0))
    assert slope == 0.0


def test_rates_of_logs_alone_are_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "mm.log"
    path.write_text(TIMELESS[2][1].format("1700000000000"), encoding="ascii")
    done = run("plot", path, "-k", "layer-rates", "-o", tmp_path / "figure.png")
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1


NO_NUMBERS = (
    ("report", "--fold", "nan", "-o", "page.html"),
    ("plot", "--fold", "inf", "-o", "figure.png"),
    ("plot", "--offset", "9" * 30, "-o", "figure.png"),
    ("explain", "--conn", "0", "--at", "1e308"),
    ("analyze", "--min-utilization", "nan"),
    ("analyze", "--follow", "--interval", "nan"),
    ("analyze", "--follow", "--interval", "1e308"),
    ("batch", "--time-limit", "nan", "-o", "out"),
    ("batch", "--fail-on", "utilization<nan", "-o", "out"),
)


@pytest.mark.parametrize("words", NO_NUMBERS, ids=" ".join)
def test_options_that_are_no_sensible_number(words: tuple[str, ...], tmp_path: Path) -> None:
    """Such a threshold would never be missed, such a length takes no place in a figure."""
    done = CliRunner().invoke(group, [words[0], str(SAMPLES / "backoff" / "snd.pcap"), *words[1:]])
    assert isinstance(done.exception, UsageError) or (done.exit_code == 2 and "is not" in done.output), (
        done.exception
    )


def test_a_fold_of_the_shortest_time_is_a_figure(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "figure.svg"
    done = run("plot", SAMPLES / "backoff", "--fold", "1e-300", "-o", path)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size


def test_any_number_of_connections_is_kept() -> None:
    with open(SAMPLES / "backoff" / "snd.pcap", "rb") as capture:
        done = subprocess.run(
            [sys.executable, "-m", "multitracer", "analyze", "-", "--follow", "--max-connections", "9" * 30],
            stdin=capture,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr


def test_a_wait_of_months_is_one_wait() -> None:
    """More milliseconds than 32 bits count are no time for the system."""
    reading, writing = os.pipe()
    os.write(writing, b"{}\n")
    with open(reading, "rb", buffering=0) as pipe:
        assert _line(pipe, 1e8) == b"{}\n"
    os.close(writing)


FRAMES = """\
time,entity,action,kind,seq,offset,length
1795249751.000,ue,snd,,0,0,1000
1795249751.010,bs,rcv,,0,0,1000
-1.000,ue,evt,reset,,,
1795249752.020,ue,evt,connected,,,
1795249752.030,ue,snd,,1,1000,1000
"""


@pytest.mark.parametrize("words", [("analyze",), ("analyze", "--json"), ("report", "-o", "page.html")])
def test_a_reset_before_the_epoch_has_a_time(words: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    path = tmp_path / "frames.csv"
    path.write_text(FRAMES, encoding="ascii")
    options = [tmp_path / word if word == "page.html" else word for word in words[1:]]
    done = run(words[0], path, *options)
    assert done.returncode == 0, done.stderr
    if words[-1] == "--json":
        (reset,) = json.loads(done.stdout)["link"]["resets"]
        assert isinstance(reset["t"], float)


def test_a_slot_as_long_as_time_ends_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Times of a damaged log in both halves of 64 bits: their median step is no time that can be added."""
    monkeypatch.setattr(linkpath, "_usual_step", lambda times: 2**63)
    path = tmp_path / "frames.csv"
    path.write_text(FRAMES, encoding="ascii")
    found = linkpath.link_path(mt.read(path))
    assert found is not None
    last = np.iinfo(np.int64).max
    slots = found.slots(np.array([-last, 0, last - 5]))
    assert (slots[:, 1] > slots[:, 0]).all()
    assert slots[2, 1] == last


@pytest.mark.filterwarnings("error")
def test_the_label_of_a_time_beyond_all_products(samples: Path, tmp_path: Path) -> None:
    """A time of 1e308 s, times the 10^9 by which a label was rounded, is no number of NumPy's."""
    from multitracer.cli.main import main

    picture = tmp_path / "one.png"
    words = ["plot", str(samples / "flow-control"), "-k", "sender", "-o", str(picture), "--until", "1e308"]
    assert main(words) == 0
    assert picture.stat().st_size > 0
