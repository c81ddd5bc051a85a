"""What is public and takes three parameters or more says what each of them means."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

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


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    found = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    starred = [argument for argument in (node.args.vararg, node.args.kwarg) if argument]
    return tuple(argument.arg for argument in [*found, *starred] if argument.arg not in ("self", "cls"))


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


def section(doc: str, title: str) -> str:
    """The text below a title of numpydoc, up to the next one; empty if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


WANTED = [method for method in public() if wants(method) and not of_an_interface(method)]


def test_there_are_many() -> None:
    assert len(WANTED) > 200


@pytest.mark.parametrize("method", WANTED, ids=[method.place for method in WANTED])
def test_each_parameter_is_described(method: Method) -> None:
    told = section(method.doc, "Parameters")
    named = {
        name.strip().lstrip("*")
        for line in re.findall(r"^[\w*].*$", told, re.MULTILINE)
        for name in line.partition(" : ")[0].split(",")
    }
    missing = [name for name in method.parameters if name not in named and not name.startswith("_")]
    assert not missing, f"{method.place}: no description of {', '.join(missing)}"
