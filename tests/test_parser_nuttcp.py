"""nuttcp's text: both forms, whole tests, several of them, and what is not told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from multitracer.model.errors import CorruptTrace
from multitracer.model.trace import Trace
from multitracer.parsers import nuttcp

FOLDER = Path(__file__).parent / "data" / "formats" / "nuttcp"
MB = 1 << 20


def values(trace: Trace, name: str) -> list[float]:
    series = trace.tables["series"]
    return series["value"][series["name"] == name].tolist()


def parsed(folder: Path, text: str) -> Trace:
    path = folder / "log"
    path.write_text(text)
    assert nuttcp.sniff(text.encode())
    return nuttcp.parse(str(path))


def test_both_forms_say_the_same() -> None:
    printed, parse = (nuttcp.parse(str(FOLDER / name)) for name in ("intervals.txt", "parse.txt"))
    for name in ("throughput_bps", "retransmissions", "cwnd_bytes"):
        assert values(printed, name) == values(parse, name)
        assert len(values(printed, name)) == 10
    first, second = (trace.tables["series"]["t_ns"] for trace in (printed, parse))
    assert np.array_equal(first, second)
    assert sum(values(printed, "retransmissions")) == printed.source.details["retransmissions"] == 12
    assert values(printed, "cwnd_bytes")[0] == 87 * 1024
    assert printed.source.details["rtt_ms"] == 0.31
    assert printed.source.details["settings"]["mss"] == "1448"
    assert [issue.code for issue in printed.issues] == ["no-date"]


def test_without_intervals_the_test_is_one(tmp_path: Path) -> None:
    trace = parsed(tmp_path, " 1125.0000 MB /  10.00 sec =  943.7184 Mbps 5 %TX 9 %RX 0 retrans 0.20 msRTT\n")
    assert (trace.source.records, trace.source.last_ns) == (1, 10_000_000_000)
    assert values(trace, "throughput_bps") == [943_718_400.0]
    assert values(trace, "cwnd_bytes") == []


def test_of_several_tests_the_first_is_read(tmp_path: Path) -> None:
    text = (FOLDER / "parse.txt").read_text()
    trace = parsed(tmp_path, text + text)
    assert len(values(trace, "throughput_bps")) == 10
    told = {issue.code: issue for issue in trace.issues}["unparsed-line"]
    assert (told.count, told.detail) == (
        1,
        "1 more tests in the file; their starting times are not in the file",
    )


def test_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("nuttcp-t: v8.1.4: Error: connect: Connection refused\n")
    assert not nuttcp.sniff(path.read_bytes())
    with pytest.raises(CorruptTrace):
        nuttcp.parse(str(path))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    intervals=st.lists(
        st.tuples(st.floats(0.1, 5000), st.floats(0.2, 3), st.integers(0, 999)), min_size=1, max_size=50
    ),
    is_parse=st.booleans(),
)
def test_times_do_not_drift(
    intervals: list[tuple[float, float, int]], is_parse: bool, tmp_path: Path
) -> None:
    """What nuttcp rounds to 10 ms is known better: the end of each interval within the digits of its rate."""
    lines, ends_s, bounds_s = [], [], []
    for size, seconds, again in intervals:
        rate = size * MB * 8 / seconds / 1e6
        lines.append(
            f"megabytes={size:.4f} real_sec={seconds:.2f} rate_Mbps={rate:.4f} retrans={again}"
            if is_parse
            else f"{size:10.4f} MB / {seconds:6.2f} sec = {rate:9.4f} Mbps {again:5d} retrans"
        )
        ends_s.append(sum(ends_s[-1:]) + seconds)
        bounds_s.append(sum(bounds_s[-1:]) + seconds * (5e-5 / size + 5e-5 / rate) * 1.01 + 2e-9)
    trace = parsed(tmp_path, "\n".join(lines) + "\n")
    series = trace.tables["series"]
    found_s = series["t_ns"][series["name"] == "throughput_bps"] / 1e9
    assert np.all(np.abs(found_s - ends_s) <= bounds_s)
    assert sorted(values(trace, "retransmissions")) == sorted(again for *_, again in intervals)
