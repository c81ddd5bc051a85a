"""Docstrings of what is public: what goes in, what comes out, which error; and names that the field knows."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "multitracer"

FEWEST = 3
"""Parameters from which on a summary line does not do."""


class Method(NamedTuple):
    """A function or method of the package."""

    place: str
    name: str
    parameters: tuple[str, ...]
    doc: str
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    returns: str
    raises: frozenset[str]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    found = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    starred = [argument for argument in (node.args.vararg, node.args.kwarg) if argument]
    return tuple(argument.arg for argument in [*found, *starred] if argument.arg not in ("self", "cls"))


def raised(node: ast.AST) -> Iterator[str]:
    """Names of errors that a function raises itself, and does not catch."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            yield ast.unparse(child.exc.func).rpartition(".")[2]
        elif isinstance(child, ast.Try) and child.handlers:
            for part in (*child.handlers, *child.orelse, *child.finalbody):
                yield from raised(part)
        elif not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from raised(child)


def methods(path: Path) -> Iterator[Method]:
    place = str(path.relative_to(PACKAGE.parent))

    def walk(node: ast.AST, within: str, bases: tuple[str, ...]) -> Iterator[Method]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Method(
                    f"{place}:{child.lineno} {within}{child.name}",
                    child.name,
                    parameters(child),
                    inspect.cleandoc(ast.get_docstring(child) or ""),
                    tuple(ast.unparse(decorator) for decorator in child.decorator_list),
                    bases,
                    ast.unparse(child.returns) if child.returns else "None",
                    frozenset(raised(child)),
                )
            elif isinstance(child, ast.ClassDef):
                if not child.name.startswith("_"):
                    above = tuple(ast.unparse(base).split("[")[0].split(".")[-1] for base in child.bases)
                    yield from walk(child, f"{within}{child.name}.", above or ("object",))
            elif isinstance(child, ast.If | ast.Try):
                yield from walk(child, within, bases)

    yield from walk(ast.parse(path.read_text()), "", ())


@functools.cache
def public() -> list[Method]:
    """Functions and methods without an underscore, of modules without one."""
    files = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(PACKAGE).parts)
    ]
    found = [method for path in files for method in methods(path)]
    return [method for method in found if not method.name.startswith("_")]


def of_an_interface(method: Method) -> bool:
    """Said once: by the Protocol or base class, by click's options, or by `Plot`."""
    if any(re.match(r"(click\.|\w*command\b|\w+\.command\b|overload$)", mark) for mark in method.decorators):
        return True
    if method.name == "build" and method.place.startswith("multitracer/plots/figures/"):
        return True

    def above(other: Method) -> bool:
        named = any(f" {base}.{method.name}" in other.place for base in method.bases)
        return other is not method and (named or "Protocol" in other.bases)

    same = (other for other in public() if other.name == method.name)
    return any(above(other) for other in same if other.parameters == method.parameters)


def wants(method: Method) -> bool:
    return len(method.parameters) >= FEWEST


MANY = re.compile(
    r"\b(tuple|list|dict|Mapping|Sequence|Iterator|Iterable|bytes|Array|Int|Floats|Flags|Times)\b"
)
"""Types that leave open what their elements are: how many, in which order, in what unit."""


def section(doc: str, title: str) -> str:
    """The text below a title of numpydoc, up to the next one; empty if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@functools.cache
def wanted() -> list[Method]:
    """What describes itself; found by the first test that asks, not by every process that collects tests."""
    return [method for method in public() if wants(method) and not of_an_interface(method)]


def described(method: Method) -> set[str]:
    """Names of parameters that its docstring describes."""
    return {
        name.strip().lstrip("*")
        for line in re.findall(r"^[\w*].*$", section(method.doc, "Parameters"), re.MULTILINE)
        for name in line.partition(" : ")[0].split(",")
    }


def test_each_parameter_is_described() -> None:
    assert len(wanted()) > 200
    wrong = [
        f"{method.place}: no description of {name}"
        for method in wanted()
        for name in method.parameters
        if not name.startswith("_") and name not in described(method)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_comes_out_is_described() -> None:
    wrong = [
        f"{method.place}: no section on the {method.returns} that it returns"
        for method in wanted()
        if "property" not in method.decorators
        and MANY.search(method.returns)
        and not (section(method.doc, "Returns") or section(method.doc, "Yields"))
    ]
    assert not wrong, "\n".join(wrong)


def test_errors_of_the_package_are_named() -> None:
    """Also of functions with fewer parameters; what is "As `parse`" raises what that does."""
    from multitracer.model import errors

    ours = {
        name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)
    }
    wrong = [
        f"{method.place}: {', '.join(sorted(missing))}"
        for method in public()
        if not of_an_interface(method)
        and not method.doc.startswith("As `")
        and (missing := {name for name in method.raises & {*ours, "ValueError"} if name not in method.doc})
    ]
    assert not wrong, "\n".join(wrong)


PRIVATE = {
    *("deaf", "heard", "ruined", "shelf", "shelves", "stories", "story", "telling", "told"),
    *("twin", "twins", "witness", "witnesses"),
}
"""Words that mean something in this house only; RFCs, 3GPP and 802.11 have names for what they meant."""


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """What a module gives a name to: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                yield node.lineno, name


def test_no_private_nouns() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in identifiers(path)
        if set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())) & PRIVATE
    ]
    assert not wrong, "\n".join(wrong)


REFERENCE = re.compile(
    r"(?<![\w./*<{])((?:docs|multitracer|rust|tests|benchmarks|scripts)/[\w./-]*\w\.(?:md|py|rs|toml))\b"
)
SOURCES = [
    path
    for folder, ending in (("multitracer", "*.py"), ("rust/core/src", "*.rs"), ("rust/python/src", "*.rs"))
    for path in sorted((PACKAGE.parent / folder).rglob(ending))
]


def test_files_that_the_source_refers_to_are_there() -> None:
    """A reader can follow every reference: to a file of the repository, or to a publication."""
    root = PACKAGE.parent
    named = [
        (path, found) for path in SOURCES for found in REFERENCE.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 50
    wrong = [f"{path.relative_to(root)}: {found}" for path, found in named if not (root / found).exists()]
    loose = [
        f"{path.relative_to(root)}: {found}"
        for path in SOURCES
        for found in re.findall(r"\b[A-Z]{4,}\.md\b", path.read_text(encoding="utf-8"))
        if not (root / found).exists()
    ]
    assert not wrong + loose, "\n".join(wrong + loose)
