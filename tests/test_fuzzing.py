"""The fuzzer itself: its faults damage, its judgement finds what is wrong, a mutant can be made again."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from support_samples import SAMPLES

sys.path.append(str(Path(__file__).parent.parent / "scripts"))

from fuzzing import captures, outcomes, raw, texts, workers
from fuzzing.mutants import mutant
from support_every_format import as_pcapng

CAPTURE = (SAMPLES / "backoff" / "snd.pcap").read_bytes()
TEXT = b"t_s,rtt_ms\n" + b"".join(b"17000000%02d.125000,%d\n" % (at, at) for at in range(60))
DATED = b"2023-03-15T18:29:25.100000 a\n" * 30
JSON = b'{"intervals": [{"sum": {"bytes": 1, "seconds": 1.0}}], "end": {"x": null}}'
FAULTS = [
    *((fault, TEXT) for fault in dict.fromkeys([*raw.ANY, *texts.TEXT]) if fault is not texts.years),
    (texts.years, DATED),
    (texts.structured, JSON),
    (captures.packets, CAPTURE),
    (captures.record_field, CAPTURE),
    (captures.blocks, as_pcapng(CAPTURE)),
]


@pytest.mark.parametrize(("fault", "content"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_a_fault_damages(fault: raw.Fault, content: bytes) -> None:
    found = set()
    for seed in range(40):
        data = bytearray(content)
        fault(data, random.Random(seed))
        found.add(bytes(data))
    assert len(found - {content}) > 1


@pytest.mark.parametrize("fault", tuple(dict.fromkeys(captures.FAULTS)), ids=lambda fault: fault.__name__)
def test_a_fault_of_records_leaves_a_capture(fault: captures.RecordFault) -> None:
    whole = captures.read(CAPTURE)
    assert captures.written(CAPTURE[:24], whole) == CAPTURE
    made = [captures.written(CAPTURE[:24], fault(list(whole), 16, random.Random(seed))) for seed in range(20)]
    assert any(one != CAPTURE for one in made)
    assert all(one[:24] == CAPTURE[:24] for one in made)


def test_a_mutant_can_be_made_again() -> None:
    made = [mutant(CAPTURE, random.Random("7 3")) for _ in range(2)]
    assert made[0] == made[1] != CAPTURE


PASSED = (0, '{"a": 1}\n', "")


@pytest.mark.parametrize(
    ("status", "out", "err", "wrong"),
    [
        (*PASSED, ""),
        (1, "", "", "status 1"),
        (2, "", "multitracer: error: x\n", ""),
        (2, '{"events": [', "multitracer: error: x\n", "status 2"),
        (2, "", "one\ntwo\n", "in 2 lines"),
        (0, '{"a": NaN}', "", "no JSON"),
        (0, '{"a": 1}', "\x1b[2J", "control character"),
    ],
)
def test_what_is_judged_as_wrong(status: int, out: str, err: str, wrong: str, tmp_path: Path) -> None:
    found = outcomes._judged("info", ["info", "x", "--json"], status, out, err, tmp_path)
    assert bool(found) == bool(wrong)
    assert wrong in (found or "")


def test_a_fault_of_a_worker_is_one_of_the_batch(tmp_path: Path) -> None:
    out = '{"failed": [{"name": "a", "error": {"kind": "fault", "text": "KeyError: 1"}}]}'
    assert outcomes._judged("batch", ["batch", "x", "--json"], 3, out, "", tmp_path)


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "out.csv").touch()
    assert outcomes._judged("export", ["export", "x"], 2, "", "multitracer: error: x\n", tmp_path)
    assert not outcomes._judged("export", ["export", "x"], 0, "", "", tmp_path)


def test_a_command_is_watched(tmp_path: Path) -> None:
    """Answers, errors, and what would be a traceback."""
    path = tmp_path / "run" / "snd.pcap"
    path.parent.mkdir()
    path.write_bytes(CAPTURE)
    made = tmp_path / "made"
    made.mkdir()
    assert outcomes.fault_of(["info", str(path), "--json"], made) is None
    assert outcomes.fault_of(["follow", str(path), "--follow", "--interval", "0.1", "--json"], made) is None
    assert outcomes.fault_of(["info", str(tmp_path / "nothing")], made) is None
    assert "TypeError" in (outcomes.fault_of(["info", None], made) or "")  # type: ignore[list-item]


def test_values_of_a_text_are_never_inside_themselves() -> None:
    for seed in range(400):
        data = bytearray(b'{"a": [[1], [2, {"b": []}]]}')
        for _ in range(4):
            texts.structured(data, random.Random(seed))


def _made(number: int, run: Path, _made: Path) -> workers.Mutant:
    (run / "mutant").write_text(str(number))
    return workers.Mutant(number, "x", ("info", str(run)))


def _judged(mutant: workers.Mutant, _made: Path) -> str | None:
    if mutant.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if mutant.number == 5:
        time.sleep(3600)
    return "wrong" if mutant.number == 6 else None


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_that_dies_or_hangs_is_a_fault(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "HANGS_S", 1.0)
    monkeypatch.setattr(workers, "ONE_WORKER", 2)
    found = {}
    for one, fault, run in workers.each(range(9), jobs, tmp_path, 600.0, _made, _judged):
        assert (run / "mutant").read_text() == str(one.number)
        found[one.number] = fault
    faults = {number: fault for number, fault in found.items() if fault}
    assert sorted(found) == list(range(9))
    assert faults == {3: "worker: SIGKILL", 5: "worker: nothing for 1 s", 6: "wrong"}


def test_a_mutant_that_cannot_be_made_ends_the_run(tmp_path: Path) -> None:
    def begin(number: int, run: Path, made: Path) -> workers.Mutant:
        raise SystemExit(4)

    with pytest.raises(RuntimeError, match="mutant 0 could not be made"):
        list(workers.each(range(2), 1, tmp_path, 600.0, begin, _judged))
