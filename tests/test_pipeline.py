"""Finding files, choosing parsers, ordering analyzers: with parsers and analyzers made up here."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support_samples import PATIENCE_S, ROOT

import multitracer as mt
from multitracer import registry
from multitracer.analyzers._needs import QUESTIONS
from multitracer.api import answering, pipeline
from multitracer.api.analysis import Analysis
from multitracer.api.measurement import Measurement
from multitracer.model.analysis import Analyzer, Result
from multitracer.model.errors import (
    CorruptTrace,
    NothingToRead,
    UnknownFormat,
    UnreadableFile,
    UsageError,
)
from multitracer.model.parser import Parser
from multitracer.model.trace import Source, Trace
from multitracer.reading.discovery import discover


def parser(name: str, magic: bytes) -> Parser:
    def parse(path: str) -> Trace:
        if b"broken" in Path(path).read_bytes():
            raise CorruptTrace(f"{path}: broken")
        return Trace(Source(path, name, "link"))

    return Parser(name, f"made up {name}", "link", lambda head: head.startswith(magic), parse)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, Any]]]:
    """Two parsers, and an alignment that only notes what it was given."""
    known = {"aa": parser("aa", b"A"), "ab": parser("ab", b"AB")}
    seen: list[tuple[list[str], dict[str, Any]]] = []

    def align(traces: list[Trace], settings: dict[str, Any]) -> Measurement:
        seen.append(([trace.source.path for trace in traces], settings))
        return Measurement(traces, [], [], [], {}, None, None, 0, settings=settings)

    monkeypatch.setattr(registry, "parsers", lambda: known)
    monkeypatch.setattr("multitracer.alignment.align", align)
    return seen


Seen = list[tuple[list[str], dict[str, Any]]]


def test_directory_is_taken_one_level_deep(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "one").write_text("A1")
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / ".hidden").write_text("A2")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "two").write_text("A3")
    measurement = pipeline.read(tmp_path)
    assert made_up[0][0] == [str(tmp_path / "one")]
    assert [(issue.code, os.path.basename(issue.path)) for issue in measurement.issues] == [
        ("skipped-file", "notes.txt")
    ]
    assert "not a trace of a known format" in measurement.issues[0].detail


def test_settings_are_read(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "one").write_text("A1")
    (tmp_path / "measurement.toml").write_text("[link]\nrate_bps = 9600\n")
    pipeline.read(tmp_path)
    assert made_up[0][1] == {"link": {"rate_bps": 9600}}


@pytest.mark.parametrize("content", [b"[link", b"a = \xff"])
def test_bad_settings_are_named(tmp_path: Path, made_up: Seen, content: bytes) -> None:
    (tmp_path / "one").write_text("A1")
    (tmp_path / "measurement.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"measurement\.toml: not valid TOML"):
        pipeline.read(tmp_path)


def test_two_settings_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "measurement.toml").write_text("")
    with pytest.raises(UsageError, match=r"two measurement\.toml"):
        discover([tmp_path / "a", tmp_path / "b"])


def test_directory_and_a_file_in_it_count_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("A1")
    files = discover([tmp_path, tmp_path / "one"])
    assert files.named + files.found == [str(tmp_path / "one")]


def test_same_file_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("A1")
    with pytest.raises(UsageError, match="named twice"):
        discover([tmp_path / "one", tmp_path / "." / "one"])


def test_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"gone\.pcap: no such file"):
        pipeline.read(tmp_path / "gone.pcap")


def test_two_claims_are_an_error_with_both_names(tmp_path: Path, made_up: Seen) -> None:
    path = tmp_path / "one"
    path.write_text("AB")
    with pytest.raises(UnknownFormat, match="aa and ab"):
        pipeline.read(path)
    assert pipeline.read(path, format="ab").sources[0].format == "ab"
    assert pipeline.read(path, format={"one": "aa"}).sources[0].format == "aa"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"PERFILE2" + bytes(64), "perf script --ns -i "),
        (b"PK\x03\x04" + bytes(64), "unpack it"),
        (b"a.pcap".ljust(257, b"\0") + b"ustar\x0000", "unpack it"),
        (b"\x17\x08\x44tracin", "not a trace of a known format"),
    ],
)
def test_files_of_other_programs_are_named(tmp_path: Path, head: bytes, words: str) -> None:
    path = tmp_path / "one.dat"
    path.write_bytes(head)
    with pytest.raises(UnknownFormat, match=words):
        pipeline.read(path)


def test_named_file_must_be_a_trace(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "one").write_text("A1")
    (tmp_path / "notes").write_text("nothing")
    with pytest.raises(UnknownFormat, match="notes: not a trace of a known format"):
        pipeline.read(tmp_path / "one", tmp_path / "notes")


def test_empty_file_is_corrupt_not_unknown(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(CorruptTrace, match="empty: the file is empty"):
        pipeline.read(tmp_path / "empty")


def test_broken_file_in_a_directory_is_an_issue(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "one").write_text("A1")
    (tmp_path / "two").write_text("A broken")
    measurement = pipeline.read(tmp_path)
    assert [(issue.code, issue.detail) for issue in measurement.issues] == [("unreadable-file", "broken")]


def test_nothing_readable_says_what_was_there(tmp_path: Path, made_up: Seen) -> None:
    with pytest.raises(NothingToRead, match="no files here"):
        pipeline.read(tmp_path)
    (tmp_path / "notes").write_text("nothing")
    with pytest.raises(NothingToRead, match="no readable trace among 1 file "):
        pipeline.read(tmp_path)


@pytest.mark.parametrize("format", ["zz", {"one": "zz"}, {"other": "aa"}])
def test_bad_format_is_a_usage_error(tmp_path: Path, made_up: Seen, format: Any) -> None:
    (tmp_path / "one").write_text("A1")
    with pytest.raises(UsageError):
        pipeline.read(tmp_path, format=format)


def test_progress_is_told(tmp_path: Path, made_up: Seen) -> None:
    (tmp_path / "one").write_text("A1")
    steps: list[tuple[int, int, str]] = []
    pipeline.read(tmp_path, progress=lambda *step: steps.append(step))
    assert steps == [(0, 2, str(tmp_path / "one")), (1, 2, "timeline")]


EMPTY = Measurement([], [], [], [], {}, None, None, 0)


def analyzer(name: str, needs: tuple[str, ...] = (), uses: tuple[str, ...] = (), value: Any = 1) -> Analyzer:
    def run(_measurement: Measurement, results: Mapping[str, Result]) -> Result:
        if isinstance(value, Exception):
            raise value
        return Result(name, {"value": value, "after": sorted(results)})

    return Analyzer(name, f"is it {name}?", run, needs, uses)


def analyze(monkeypatch: pytest.MonkeyPatch, *analyzers: Analyzer, **options: Any) -> Analysis:
    monkeypatch.setattr(registry, "analyzers", lambda: {a.name: a for a in analyzers})
    return pipeline.analyze(EMPTY, **options)


def test_order_follows_needs_and_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(
        monkeypatch,
        analyzer("c", needs=("result:b",)),
        analyzer("b", uses=("result:a", "result:elsewhere")),
        analyzer("a"),
    )
    assert list(analysis.results) == ["c", "b", "a"]
    assert analysis.c["after"] == ["a", "b"]
    assert float(analysis.c) == 1.0


def test_only_runs_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(
        monkeypatch,
        analyzer("b", needs=("result:a",)),
        analyzer("a"),
        analyzer("z", value=ZeroDivisionError("must not run")),
        only=["b"],
    )
    assert list(analysis.results) == ["b"]
    with pytest.raises(UsageError, match="unknown analyzer 'y'"):
        analyze(monkeypatch, analyzer("a"), only=["y"])


@pytest.mark.parametrize(
    ("need", "words"), [("link_frames", "link log"), ("snd", "capture next to the data sender")]
)
def test_missing_input_is_inconclusive(monkeypatch: pytest.MonkeyPatch, need: str, words: str) -> None:
    analysis = analyze(monkeypatch, analyzer("b", needs=("result:a",)), analyzer("a", needs=(need,)))
    for answer in (analysis.a, analysis.b):
        assert answer.inconclusive is not None
        assert answer.inconclusive.startswith("needs a ")
        assert words in answer.inconclusive
        assert answer.value is None
        assert "inconclusive" in repr(answer)
        with pytest.raises(UsageError):
            float(answer)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_known_without_loading_is_what_the_analyzer_says(name: str) -> None:
    known = registry.analyzers()
    loaded = known[name]
    said = (loaded.needs, loaded.uses, loaded.specific, loaded.link_uses)
    assert registry.question(known, name) == said


@pytest.mark.parametrize(("sample", "asked"), [("bbr", False), ("flow-control", True)])
def test_the_queue_is_asked_about_only_where_a_log_of_the_link_says_what_it_held(
    sample: str, asked: bool
) -> None:
    measurement = mt.read(ROOT / "sample_traces" / sample)
    steps = answering.order(registry.analyzers(), ["diagnosis"], measurement)
    assert ("queueing" in steps) == asked


def test_one_of_several_tables_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(monkeypatch, analyzer("a", needs=("link_frames|link_events",)))
    assert analysis.a.inconclusive == "needs a link log"


def test_refusal_is_inconclusive_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(monkeypatch, analyzer("a", value=UsageError("no data there")), analyzer("b"))
    assert analysis.a.inconclusive == "no data there"
    assert analysis.b.value == 1


def test_plugin_failure_warns_and_fault_of_ours_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning, match="analyzer 'plugin' failed"):
        analysis = analyze(monkeypatch, analyzer("plugin", value=ZeroDivisionError("oops")), analyzer("b"))
    assert "oops" in str(analysis.plugin.inconclusive)
    assert analysis.b.value == 1
    with pytest.raises(ZeroDivisionError):
        analyze(monkeypatch, analyzer("timeouts", value=ZeroDivisionError("oops")))


def test_circle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="circle"):
        analyze(monkeypatch, analyzer("a", needs=("result:b",)), analyzer("b", uses=("result:a",)))


def test_representations(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(monkeypatch, analyzer("a<b>", value=0.123456789), analyzer("b", needs=("snd",)))
    assert "value=0.123457" in repr(analysis)
    assert "inconclusive" in repr(analysis)
    page = analysis._repr_html_()
    assert "a&lt;b&gt;" in page
    assert "0.123457" in page
    assert "a<b>" not in page
    assert "value=0.123457" in repr(analysis["a<b>"])
    assert {"b", "to_dict"} <= set(dir(analysis))
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = analysis.nothing_like_it
    with pytest.raises(UsageError, match="no table"):
        analysis.b.frame()


def test_an_analysis_shows_its_sentences_first_and_draws(samples: Path, tmp_path: Path) -> None:
    found = mt.analyze(samples / "backoff")
    first = found["diagnosis"]["sentences"][0]["text"][1:]
    assert first in repr(found).splitlines()[1]
    assert found._repr_html_().index("<ol>") < found._repr_html_().index("<table>")
    found.plot("rtt", tmp_path / "rtt.svg")
    assert (tmp_path / "rtt.svg").stat().st_size


def test_text_in_packets_makes_no_other_format_of_a_capture(tmp_path: Path) -> None:
    """An ns-2 trace that somebody copied over the network, in the clear."""
    line = b"\n+ 1.84375 0 2 cbr 210 ------- 0 0.0 3.1 225 610\n"
    assert registry.parsers()["ns2"].sniff(line)
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    path = tmp_path / "a.pcap"
    path.write_bytes(header + struct.pack("<IIII", 0, 0, len(line), len(line)) + line)
    assert pipeline.read(path).sources[0].format == "pcap"


def test_of_a_capture_few_parsers_are_loaded(samples: Path) -> None:
    code = (
        "import sys, multitracer as mt\n"
        f"mt.read({str(samples / 'flow-control' / 'snd.pcap')!r})\n"
        "print([name for name in sys.modules if name.startswith('multitracer.parsers.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert "multitracer.parsers.pcap" in done.stdout
    assert "multitracer.parsers.ns2" not in done.stdout


def test_analyze_reads_paths_and_takes_traces() -> None:
    folder = ROOT / "sample_traces" / "flow-control"
    read = mt.analyze(mt.read(folder), only=["connections"]).connections.summary
    assert mt.analyze(folder, only=["connections"]).connections.summary == read
    assert mt.analyze(str(folder / "snd.pcap"), folder / "rcv.pcap", only=["connections"]).results
    trace = mt.open_trace(folder / "snd.pcap")
    assert len(mt.analyze(trace, only=["connections"]).connections["connections"]) == 1
    with pytest.raises(UsageError, match="not both"):
        mt.analyze(mt.read(folder), folder)


def test_every_result_has_a_frame() -> None:
    analysis = mt.analyze(ROOT / "sample_traces" / "link-resets-vj")
    for name in analysis.results:
        if analysis[name].inconclusive is None:
            assert len(analysis[name].frame().columns) or not analysis[name].summary, name
    connections = analysis.connections.frame()
    assert connections["bytes.unique"].tolist() == [100_000]
    assert analysis.utilization.frame()["value"].tolist() == [analysis.utilization.value]


def test_the_package_shows_its_public_names_only() -> None:
    assert dir(mt) == sorted(mt.__all__)
    for name in mt.__all__:
        assert name == "__version__" or getattr(mt, name).__doc__, name


def test_a_table_that_does_not_exist_is_answered_with_those_that_do() -> None:
    m = mt.read(ROOT / "sample_traces" / "flow-control")
    with pytest.raises(UsageError, match=r"no table 'segment'; there are .*segments"):
        m.table("segment")


def test_a_figure_that_does_not_exist_is_answered_with_the_nearest() -> None:
    assert registry.no_plot("time-sequence").endswith("did you mean multilayer or sender or tsg?")
    expected = {name for names in registry._EXPECTED_PLOTS.values() for name in names}
    assert expected <= set(registry.PLOTS)
    assert registry.no_plot("tgs") == "unknown plot 'tgs'; did you mean tsg?"
    assert "known are" in registry.no_plot("zzzzzzzz")


@pytest.mark.parametrize("paths", [(["a.pcap", "b.pcap"],), (("a.pcap",),), (7,), (b"a.pcap",)])
def test_what_is_no_path_is_said(paths: tuple[object, ...]) -> None:
    with pytest.raises(UsageError, match="a path must be a str or a Path"):
        mt.read(*paths)  # type: ignore[arg-type]
