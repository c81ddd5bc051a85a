"""A batch run again makes anew what is no longer whole, and takes every name for a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support_samples import SAMPLES

import multitracer as mt
from multitracer.batch.naming import page_file, record_file
from multitracer.model.errors import UsageError

NAME = "run"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root") / "runs"
    (folder / NAME).mkdir(parents=True)
    (folder / NAME / "snd.pcap").write_bytes((SAMPLES / "backoff" / "snd.pcap").read_bytes())
    return folder


def without(key: str) -> Callable[[bytes], bytes]:
    def damage(content: bytes) -> bytes:
        record = json.loads(content)
        del record[key]
        return json.dumps(record).encode()

    return damage


def failed(content: bytes) -> bytes:
    return json.dumps(json.loads(content) | {"status": "failed"}).encode()


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (record_file, without("utilization")),
        (record_file, without("status")),
        (record_file, without("seal")),
        (record_file, failed),
        (record_file, lambda _: b"{}"),
        (record_file, lambda _: b"[" * 100_000),
        (record_file, lambda content: content[: len(content) // 2]),
        (page_file, lambda _: b""),
        (page_file, lambda content: content[:-100]),
    ],
)
def test_what_is_not_whole_is_made_anew(
    file: Callable[[str], str], damage: Callable[[bytes], bytes], root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    mt.batch(root, out, processes=1)
    places = [out / one(NAME) for one in (record_file, page_file)]
    whole = [place.read_bytes() for place in places]
    assert mt.batch(root, out, processes=1).cached == 1
    place = out / file(NAME)
    place.write_bytes(damage(place.read_bytes()))
    again = mt.batch(root, out, processes=1)
    assert (again.cached, len(again.done)) == (0, 1)
    assert [place.read_bytes() for place in places] == whole


SUMMARIES = ("batch.json", "index.html", "junit.xml", "summary.csv", "summary.md", "summary.parquet")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "empty"])
def test_summaries_come_back_as_they_were(
    damage: Callable[[Path], object], root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    mt.batch(root, out, processes=1)
    whole = {name: (out / name).read_bytes() for name in SUMMARIES}
    for name in SUMMARIES:
        damage(out / name)
    assert mt.batch(root, out, processes=1).cached == 1
    assert {name: (out / name).read_bytes() for name in SUMMARIES} == whole


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b"[1]",
        b'{"files": [1, null], "measurements": {"a": 1}}',
        b'{"files": ["studies/a\\u0000b", "studies/\\ud800"], "measurements": ["a\\u0000", "\\ud800"]}',
        b'{"files": ["studies/../../keep", "../keep", "notes.txt"], "measurements": ["../keep", ".."]}',
    ],
    ids=["deep", "list", "types", "no names", "elsewhere"],
)
def test_whatever_batch_json_says_and_foreign_files(content: bytes, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mt.batch(root, out, processes=1, pages="none")
    foreign = [
        tmp_path / "keep",
        out / "notes.txt",
        out / "studies" / "mine.csv",
        out / "measurements" / "mine" / "notes.txt",
    ]
    for path in foreign:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    (out / "batch.json").write_bytes(content)
    assert mt.batch(root, out, processes=1, pages="none").cached == 1
    assert json.loads((out / "batch.json").read_bytes())["measurements"] == [NAME]
    assert [path.read_text(encoding="utf-8") for path in foreign] == ["mine"] * len(foreign)


@pytest.mark.parametrize("content", [b'"' + b"a" * 200_000, bytes(range(256)) * 10, b"x,y\n1,2\n"])
def test_a_baseline_that_is_none_is_refused(content: bytes, root: Path, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "summary.csv").write_bytes(content)
    with pytest.raises(UsageError, match=r"its summary\.csv is not that of a batch"):
        mt.batch(root, tmp_path / "out", processes=1, pages="none", baseline=tmp_path / "base")


def test_a_baseline_with_more_cells_than_columns(root: Path, tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    mt.batch(root, base, processes=1, pages="none")
    summary = base / "summary.csv"
    summary.write_bytes(summary.read_bytes().rstrip() + b",1,2,3\n")
    assert len(mt.batch(root, out, processes=1, pages="none", baseline=base).done) == 1


def test_names_that_are_signs_elsewhere(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, sample in (("-", "backoff"), ("=1+1.pcap", "bbr"), ("-x.pcap", "local-drops")):
        (runs / name).write_bytes((SAMPLES / sample / "snd.pcap").read_bytes())
    found = mt.batch(runs, tmp_path / "out", processes=1, pages="none")
    assert {record["name"] for record in found.done} == {"-", "=1+1.pcap", "-x.pcap"}
    with (tmp_path / "out" / "summary.csv").open(encoding="utf-8", newline="") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    assert names == {"'-", "'=1+1.pcap", "'-x.pcap"}
    compared = mt.batch(runs, tmp_path / "more", processes=1, pages="none", baseline=tmp_path / "out")
    assert {record["name"] for record in compared.done} == {"-", "=1+1.pcap", "-x.pcap"}
