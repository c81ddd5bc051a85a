"""SECURITY.md tells the truth: no unsafe code, nothing of a trace is executed, no page of it is missing."""

from __future__ import annotations

import ast
import re
import socket
import tomllib
from pathlib import Path

import pytest
from support_samples import ROOT, SAMPLES

from multitracer.cli import main as program

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PYTHON = sorted((ROOT / "multitracer").rglob("*.py"))
EXECUTING = {"eval", "exec", "compile", "__import__", "system", "popen"}
UNPICKLING = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
STARTING = {"lab", "record", "batch"}  # rooms that start programs: of the user's choosing, or workers of ours


def test_no_unsafe_rust() -> None:
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["lints"]["rust"]
    assert lints["unsafe_code"] == "forbid"
    for crate in ("core", "python"):
        manifest = tomllib.loads((ROOT / "rust" / crate / "Cargo.toml").read_text(encoding="utf-8"))
        assert manifest["lints"] == {"workspace": True}
    for path in (ROOT / "rust").glob("*/**/*.rs"):
        if "target" not in path.parts:
            assert not re.search(r"\bunsafe\b", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_executed(path: Path) -> None:
    room = path.relative_to(ROOT / "multitracer").parts[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.name.split(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]}
            assert not names & UNPICKLING, ast.unparse(node)
            assert "subprocess" not in names or room in STARTING, ast.unparse(node)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in EXECUTING, ast.unparse(node)
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                assert not (called.value.id in ("os", "builtins") and called.attr in EXECUTING), ast.unparse(
                    node
                )
            shell = [word for word in node.keywords if word.arg == "shell"]
            assert not shell or ast.unparse(shell[0].value) == "False", ast.unparse(node)


def test_the_libraries_with_unsafe_code_are_linked() -> None:
    section = PAGE.partition("## Unsafe code")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z][\w-]*)`", section.partition("Linked on Linux")[2]))
    licences = (ROOT / "THIRD-PARTY-LICENCES.txt").read_text(encoding="utf-8")
    linked = dict(re.findall(r"^([\w-]+) (\d\S*): \S", licences, re.MULTILINE))
    assert {"zlib-rs", "liblzma-sys", "pyo3"} <= named
    assert named - {"poll"} <= set(linked)
    assert f"Of the {len(linked)} crates" in section


def test_what_the_page_names_exists() -> None:
    for name in re.findall(r"`((?:tests|multitracer|rust|docs|\.ci)/[^`*]*)`", PAGE) + re.findall(
        r"\]\(([^)]+)\)", PAGE
    ):
        assert (ROOT / name.partition("#")[0]).exists(), name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", PAGE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("words", [("info",), ("analyze", "--json"), ("events", "--from", "1", "--to", "2")])
def test_no_network(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert program.main([words[0], str(SAMPLES / "backoff"), *words[1:]]) == 0
