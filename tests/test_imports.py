"""The import rules, held by reading the source: one direction, and heavy libraries in their places."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support_samples import PATIENCE_S

PACKAGE = Path(__file__).resolve().parent.parent / "multitracer"

# A module may import, at the top or inside functions, from its own rank or a lower one. What is not listed is
# a helper that analyzers share, of their rank. Lazy imports obey the same direction, but for LAZY_UPWARDS.
RANKS: tuple[tuple[str, int], ...] = (
    ("errors", 0),
    ("lazy", 0),
    ("schema", 0),
    ("link", 4),
    ("transfer", 4),
    ("intervals", 0),
    ("words", 0),
    ("table", 1),
    ("grouped", 2),
    ("native", 1),
    ("derived", 0),
    ("digest", 1),
    ("parts", 0),
    ("remote", 4),
    ("rotation", 4),
    ("regression", 1),
    ("linktype", 1),
    ("trace", 2),
    ("tcptables", 1),
    ("questions", 0),
    ("registry", 3),
    ("measurement", 3),
    ("analysis", 3),
    ("packet", 2),
    ("rawpackets", 2),
    ("ppp", 1),
    ("record", 1),
    ("host", 4),
    ("framemap", 4),
    ("clocks", 4),
    ("eventtable", 4),
    ("alignment", 4),
    ("parsers", 4),
    ("analyzers", 4),
    ("plots", 5),
    ("discovery", 4),
    ("contract", 6),
    ("results", 6),
    ("explain", 6),
    ("opening", 5),
    ("answering", 5),
    ("pipeline", 6),
    ("follow", 6),
    ("inventory", 6),
    ("lab", 6),
    ("report", 6),
    ("export", 6),
    ("notebook", 6),
    ("batch", 7),
    ("cli", 8),
    ("__main__", 9),
    ("__init__", 9),
)
LAZY_UPWARDS = {
    ("measurement", "eventtable"),  # Measurement.events_table builds its table at the first call
    ("measurement", "framemap"),  # Measurement.frame_map builds the map at the first call
    ("measurement", "notebook"),  # Measurement._repr_html_
    ("measurement", "packet"),  # Measurement.packet decodes one packet at the first call
}
HOMES = {"matplotlib": "plots", "click": "cli", "rich": "cli", "multitracer._core": "native"}
LAZY_ONLY = ("pandas", "matplotlib", "pyarrow", "rich", "bokeh")
SIBLINGS = ("parsers", "analyzers")


class Import(NamedTuple):
    """One import of one module."""

    importer: str
    imported: str
    lazy: bool
    line: int

    def __str__(self) -> str:
        return f"multitracer/{self.importer}:{self.line} imports {self.imported}"


def imports_of(tree: ast.Module, importer: str) -> Iterator[Import]:
    """All imports but those for type checkers only."""

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(importer, alias.name, lazy, child.lineno)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{importer}:{child.lineno}: relative import"
                for alias in child.names:
                    yield Import(importer, f"{child.module}.{alias.name}", lazy, child.lineno)
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside)

    yield from walk(tree, False)


def every_import() -> list[Import]:
    found: list[Import] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        found += imports_of(ast.parse(path.read_text(encoding="utf-8")), name)
    return found


IMPORTS = every_import()


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


def rank(module: str) -> int:
    top = module.split(".")[0]
    ranks = dict(RANKS)
    return ranks.get(top, ranks["analyzers"])


def belongs_to(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


def test_every_module_is_read() -> None:
    assert {"pipeline", "cli.main", "registry"} <= {found.importer for found in IMPORTS}


def test_one_direction() -> None:
    wrong = []
    for found in IMPORTS:
        module = module_of(found.imported)
        if module is None or rank(module) <= rank(found.importer):
            continue
        if found.lazy and (found.importer, module.split(".")[0]) in LAZY_UPWARDS:
            continue
        wrong.append(str(found))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", SIBLINGS)
def test_siblings_do_not_know_each_other(package: str) -> None:
    modules = [path for path in (PACKAGE / package).glob("*.py") if path.stem != "__init__"]
    assert modules, f"multitracer/{package} is empty"
    wrong = [
        str(found)
        for found in IMPORTS
        if belongs_to(found.importer, package)
        and (module := module_of(found.imported)) is not None
        and belongs_to(module, package)
        and module != found.importer
        # a module whose name begins with an underscore is what siblings share
        and not module.rpartition(".")[2].startswith("_")
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("library", "home"), HOMES.items())
def test_library_stays_at_home(library: str, home: str) -> None:
    users = [f for f in IMPORTS if belongs_to(f.imported, library) or f.imported == library]
    wrong = [str(found) for found in users if not belongs_to(found.importer, home)]
    assert users, f"nothing imports {library}: is its name still right?"
    assert not wrong, "\n".join(wrong)


def test_analyzers_see_tables_only() -> None:
    blind_to = ("parsers", "plots", "native", "registry", "alignment", "pipeline")
    wrong = [
        str(found)
        for found in IMPORTS
        if belongs_to(found.importer, "analyzers")
        and (module := module_of(found.imported)) is not None
        and any(belongs_to(module, other) for other in blind_to)
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_libraries_are_loaded_when_used() -> None:
    wrong = [
        str(found)
        for found in IMPORTS
        if not found.lazy
        and found.imported.split(".")[0] in LAZY_ONLY
        and not belongs_to(found.importer, "plots")
        and found.importer
        not in ("cli.render", "cli.live", "cli.lines", "cli.many")  # loaded only when a table is printed
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
