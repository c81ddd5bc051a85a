"""`_core.pyi` is what the compiled core offers: names, parameters, defaults (`make lint` runs stubtest)."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from multitracer import _core, native
from multitracer.model.errors import MultiTracerError

STUB = ast.parse((Path(str(native.__file__)).parent.parent / "_core.pyi").read_text(encoding="utf-8"))
PUBLIC = {name for name in dir(_core) if not name.startswith("__") or name == "__version__"}
Signature = list[tuple[str, bool]]
"""Parameters in order, each with whether it may be left out."""


def stated(function: ast.FunctionDef) -> Signature:
    given = [*function.args.posonlyargs, *function.args.args]
    required = len(given) - len(function.args.defaults)
    found = [(one.arg, place >= required) for place, one in enumerate(given)]
    return [one for one in found if one[0] not in ("self", "cls")]


def offered(function: Any) -> Signature:
    parameters = inspect.signature(function).parameters.values()
    found = [(one.name, one.default is not inspect.Parameter.empty) for one in parameters]
    return [one for one in found if one[0] not in ("self", "cls")]


def of_stub(kind: type[ast.stmt]) -> dict[str, Any]:
    return {node.name: node for node in STUB.body if isinstance(node, kind)}  # type: ignore[attr-defined]


FUNCTIONS, CLASSES = of_stub(ast.FunctionDef), of_stub(ast.ClassDef)
VALUES = {
    node.target.id
    for node in STUB.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None
}


def test_every_name_is_there_on_both_sides() -> None:
    assert {*FUNCTIONS, *CLASSES, *VALUES} == PUBLIC


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_of(name: str) -> None:
    assert stated(FUNCTIONS[name]) == offered(getattr(_core, name))


@pytest.mark.parametrize("name", CLASSES)
def test_methods_of(name: str) -> None:
    made = getattr(_core, name)
    methods = {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    public = {method for method in vars(made) if not method.startswith("_")}
    assert {method for method in methods if not method.startswith("_")} == public
    for method in public:
        assert stated(methods[method]) == offered(getattr(made, method)), method
    if "__new__" in methods:
        assert stated(methods["__new__"]) == offered(made)


def test_scanners_are_those_of_the_table(tmp_path: Path) -> None:
    assert len(set(native.SCANNERS)) == len(native.SCANNERS)
    empty = tmp_path / "log"
    empty.write_bytes(b"\n\n")
    for name in native.SCANNERS:
        tables = native.scan(name, str(empty)).tables.values()
        assert not any(len(column) for table in tables for column in table.values())
    with pytest.raises(ValueError, match="nuttcp"):
        native.scan("nonsense", str(empty))
    with pytest.raises(MultiTracerError):
        native.scan("nuttcp", str(tmp_path / "gone"))
