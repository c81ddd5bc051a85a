"""Every command over a file of every format: an answer, or one line that says why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support_every_format import FORMATS, samples

import multitracer as mt
from multitracer import registry
from multitracer.cli.export import FORMATS as TARGETS
from multitracer.cli.main import main
from multitracer.model.errors import UsageError
from multitracer.plots.plot import Subject, build

CAPTURES = ("pcap", "pcapng", "gsmtap", "wifi", "rlc", "dccp")
ALWAYS: dict[str, tuple[str, ...]] = {
    "info": (),
    "info --json": ("--json",),
    "analyze": (),
    "analyze --full": ("--full",),
    "analyze --json": ("--full", "--json"),
    "events": (),
    "events --json": ("--json",),
    "report": ("-o", "{}/report.html"),
    "export csv": ("--to", "csv", "-o", "{}/tables"),
    "export parquet": ("--to", "parquet", "-o", "{}/tables"),
}
"""What any file of any format has an answer to."""

IF_THERE_IS: dict[str, tuple[str, ...]] = {
    "explain": ("--conn", "0", "--at", "0"),
    "plot": ("-o", "{}/figure.png"),
    **{f"export {one}": ("--to", one, "-o", "{}/out") for one in TARGETS if one not in ("csv", "parquet")},
}
"""What needs a capture, a link log or a connection: status 2 and one line where there is none."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    return list(samples(tmp_path_factory.mktemp("formats")))


def run(command: str, path: Path, folder: Path, more: tuple[str, ...]) -> int:
    name = command.split()[0]
    return main([name, str(path), *(word.format(folder) for word in more)])


def of_format(files: list[tuple[str, Path]], wanted: str) -> Iterator[Path]:
    yield from (path for name, path in files if name == wanted)


def test_every_format_has_a_sample(files: list[tuple[str, Path]]) -> None:
    assert {name for name, _ in files} == set(registry.PARSERS)
    assert FORMATS.is_dir()


@pytest.mark.parametrize("command", ALWAYS)
@pytest.mark.parametrize("name", registry.PARSERS)
def test_an_answer(
    name: str,
    command: str,
    files: list[tuple[str, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, path in enumerate(of_format(files, name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        status = run(command, path, folder, ALWAYS[command])
        out, err = capsys.readouterr()
        assert status == 0, (path, err)
        if "--json" in ALWAYS[command]:
            json.loads(out)
        elif "-o" in ALWAYS[command]:
            assert list(folder.iterdir()), path
        else:
            assert out.strip(), path


@pytest.mark.parametrize("command", IF_THERE_IS)
@pytest.mark.parametrize("name", registry.PARSERS)
def test_an_answer_or_a_reason(
    name: str,
    command: str,
    files: list[tuple[str, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, path in enumerate(of_format(files, name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        status = run(command, path, folder, IF_THERE_IS[command])
        _, err = capsys.readouterr()
        assert status in (0, 2), (path, err)
        if status:
            assert err.startswith("multitracer: error: "), path
            assert len(err.splitlines()) == 1, path
        if command == "explain" and name in ("pcap", "pcapng"):
            assert status == 0, (path, err)


@pytest.mark.parametrize("name", registry.PARSERS)
def test_every_kind_of_figure_or_a_reason(name: str, files: list[tuple[str, Path]]) -> None:
    for path in of_format(files, name):
        analysis = mt.analyze(mt.read(path))
        subject = Subject(path.name, analysis.measurement, analysis.results)
        for kind, plot in registry.plots().items():
            with suppress(UsageError):
                assert build(plot, [subject]).panels, (path, kind)


@pytest.mark.parametrize("name", registry.PARSERS)
def test_a_batch_of_one(
    name: str,
    files: list[tuple[str, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "runs"
    for path in of_format(files, name):
        folder = root / path.name
        folder.mkdir(parents=True)
        (folder / path.name).write_bytes(path.read_bytes())
    status = main(["batch", str(root), "-o", str(tmp_path / "out"), "-j", "1", "--pages", "none", "--json"])
    out, err = capsys.readouterr()
    assert status == 0, err
    assert json.loads(out)
