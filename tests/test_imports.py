"""The import rules, held by reading the source: one direction, and heavy libraries in their places."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from support_samples import PATIENCE_S

PACKAGE = Path(__file__).resolve().parent.parent / "multitracer"

# Every room, from the ground up. A module may import from its own room and from rooms of lower floors,
# whether at the top, inside a function or for type checkers only; rooms of one floor do not know each other.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("model", "linux"),
    ("native", "lab", "record", "anonymize"),
    ("parsers", "layers", "output"),
    ("alignment", "diagnosis", "plots"),
    ("analyzers", "export"),
    ("registry",),
    ("reading", "report"),
    ("api",),
    ("batch",),
    ("cli",),
    ("__init__", "__main__"),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
HOMES = {"matplotlib": "plots", "click": "cli", "rich": "cli", "multitracer._core": "native"}
LAZY_ONLY = ("pandas", "matplotlib", "pyarrow", "rich", "bokeh")
SIBLINGS = ("parsers", "analyzers")


class Import(NamedTuple):
    """One import of one module."""

    importer: str
    imported: str
    lazy: bool
    typing: bool
    line: int

    def __str__(self) -> str:
        return f"multitracer/{self.importer}:{self.line} imports {self.imported}"


def imports_of(tree: ast.Module, importer: str) -> Iterator[Import]:
    """All imports, wherever they stand."""

    def walk(node: ast.AST, lazy: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(importer, alias.name, lazy, typing, child.lineno)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{importer}:{child.lineno}: relative import"
                for alias in child.names:
                    yield Import(importer, f"{child.module}.{alias.name}", lazy, typing, child.lineno)
            checked = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside, typing or checked)

    yield from walk(tree, False, False)


@functools.cache
def every_import() -> list[Import]:
    """Of the whole package; found by the first test that asks, not by every process that collects tests."""
    found: list[Import] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        found += imports_of(ast.parse(path.read_text(encoding="utf-8")), name)
    return found


def module_of(imported: str) -> str | None:
    """``multitracer.parsers.pcap.PARSER`` to ``parsers.pcap``; None for what is not ours."""
    parts = imported.split(".")
    if parts[0] != "multitracer":
        return None
    while len(parts) > 1:
        path = PACKAGE.joinpath(*parts[1:])
        if path.with_suffix(".py").is_file() or (path.is_dir() and (path / "__init__.py").is_file()):
            return ".".join(parts[1:])
        parts.pop()
    return None


def room_of(module: str) -> str:
    return module.split(".")[0]


def inner_imports() -> Iterator[tuple[Import, str]]:
    """Imports of one module of ours by another."""
    for found in every_import():
        module = module_of(found.imported)
        if module is not None and module != found.importer.removesuffix(".__init__"):
            yield found, module


def belongs_to(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


def test_every_module_is_read() -> None:
    assert {"api.pipeline", "cli.main", "registry"} <= {found.importer for found in every_import()}


def test_every_room_has_its_floor() -> None:
    rooms = {
        path.stem if path.suffix == ".py" else path.name
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    }
    assert rooms == set(FLOOR)


def test_few_files_are_loose() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "registry"}


def test_one_direction() -> None:
    wrong = [
        str(found)
        for found, module in inner_imports()
        if room_of(module) != room_of(found.importer)
        and FLOOR[room_of(module)] >= FLOOR[room_of(found.importer)]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_circles() -> None:
    graph: dict[str, set[str]] = {}
    for found, module in inner_imports():
        graph.setdefault(found.importer.removesuffix(".__init__"), set()).add(module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_lab_knows_the_model_and_the_system_only() -> None:
    wrong = [
        str(found)
        for found, module in inner_imports()
        if room_of(found.importer) == "lab" and room_of(module) not in ("lab", "linux", "model")
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", SIBLINGS)
def test_siblings_do_not_know_each_other(package: str) -> None:
    modules = [path for path in (PACKAGE / package).glob("*.py") if path.stem != "__init__"]
    assert modules, f"multitracer/{package} is empty"
    wrong = [
        str(found)
        for found in every_import()
        if belongs_to(found.importer, package)
        and (module := module_of(found.imported)) is not None
        and belongs_to(module, package)
        and module != found.importer
        # what stands under a name that begins with an underscore is what siblings share
        and not any(part.startswith("_") for part in module.split("."))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("library", "home"), HOMES.items())
def test_library_stays_at_home(library: str, home: str) -> None:
    users = [f for f in every_import() if belongs_to(f.imported, library) or f.imported == library]
    wrong = [str(found) for found in users if not belongs_to(found.importer, home)]
    assert users, f"nothing imports {library}: is its name still right?"
    assert not wrong, "\n".join(wrong)


def test_analyzers_see_tables_only() -> None:
    blind_to = ("parsers", "plots", "native", "registry", "alignment", "api")
    wrong = [
        str(found)
        for found in every_import()
        if belongs_to(found.importer, "analyzers")
        and (module := module_of(found.imported)) is not None
        and any(belongs_to(module, other) for other in blind_to)
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_libraries_are_loaded_when_used() -> None:
    wrong = [
        str(found)
        for found in every_import()
        if not (found.lazy or found.typing)
        and found.imported.split(".")[0] in LAZY_ONLY
        and not belongs_to(found.importer, "plots")
        and found.importer
        not in (
            "cli.files",
            "cli.render",
            "cli.live",
            "cli.lines",
            "cli.many",
            "cli.difference",
            "cli.terminal",
        )  # when a table is printed
    ]
    assert not wrong, "\n".join(wrong)


def loaded_after(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter has loaded after some code."""
    code += "\nimport sys; sys.stderr.write(' '.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return {name.split(".")[0] for name in done.stderr.split()}


def test_import_is_light() -> None:
    assert not loaded_after("import multitracer") & {"numpy", "pandas", "matplotlib", "click", "rich"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["analyze", "--help"], ["plot", "--help"]])
def test_help_is_light(words: list[str]) -> None:
    loaded = loaded_after(f"from multitracer.cli.main import main\nassert main({words!r}) == 0")
    assert "click" in loaded
    assert not loaded & {"numpy", "pandas", "matplotlib", "rich"}


def test_analysis_needs_no_pandas(samples: Path) -> None:
    words = ["analyze", "--json", str(samples / "flow-control" / "snd.pcap")]
    loaded = loaded_after(f"from multitracer.cli.main import main\nassert main({words!r}) == 0")
    assert "numpy" in loaded
    assert not loaded & {"pandas", "matplotlib", "rich", "pyarrow"}


def test_unknown_name_is_an_attribute_error() -> None:
    import multitracer

    assert {"read", "analyze", "plot"} <= set(dir(multitracer))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = multitracer.nonsense
