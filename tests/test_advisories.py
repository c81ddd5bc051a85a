"""scripts/advisories.py: versions against advisories, by Cargo's rules and those of OSV."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_release import script


@pytest.fixture(scope="module")
def advisories() -> ModuleType:
    return script("advisories")


@pytest.mark.parametrize(
    ("version", "requirement", "holds"),
    [
        ("1.2.3", ">= 1.2.3", True),
        ("1.2.3", "> 1.2.3", False),
        ("0.4.19", "^0.4.20", False),
        ("0.4.25", "^0.4.20", True),
        ("0.5.0", "^0.4.20", False),
        ("1.9.0", "1.2", True),
        ("2.0.0", "1.2", False),
        ("0.0.4", "^0.0.3", False),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.3.0", "~1", True),
        ("0.2.5", ">= 0.2.1, < 0.2.6", True),
        ("0.2.6", ">= 0.2.1, < 0.2.6", False),
        ("1.0.0-rc.1", "< 1.0.0", True),
        ("1.0.0-rc.10", "> 1.0.0-rc.9", True),
        ("1.0.0-alpha", "< 1.0.0-alpha.1", True),
        ("2.0.0-rc.1", "^1.5", False),
        ("1.0.0+build", "=1.0.0", True),
        ("3.1.4", "*", True),
    ],
)
def test_requirements_of_cargo(advisories: ModuleType, version: str, requirement: str, holds: bool) -> None:
    assert advisories.rust_matches(version, requirement) is holds


def commit(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    return folder


def test_a_lock_file_against_rustsec(advisories: ModuleType, tmp_path: Path) -> None:
    def advisory(number: int, lines: str, versions: str = 'patched = [">= 2.0.0"]') -> str:
        head = f'[advisory]\nid = "R-{number}"\npackage = "used"\n{lines}\n'
        return f"```toml\n{head}[versions]\n{versions}\n```\n"

    clone = commit(
        tmp_path / "db",
        {
            "crates/used/R-1.md": advisory(1, ""),
            "crates/used/R-2.md": advisory(2, 'informational = "unmaintained"', "patched = []"),
            "crates/used/R-3.md": advisory(3, "", 'patched = []\nunaffected = ["< 1.5"]'),
            "crates/used/R-4.md": advisory(4, 'withdrawn = "2024-01-01"'),
        },
    )
    lock = tmp_path / "Cargo.lock"
    lock.write_text(
        '[[package]]\nname = "used"\nversion = "1.4.2"\nsource = "registry"\n'
        '[[package]]\nname = "own"\nversion = "0.1.0"\n',
        encoding="utf-8",
    )
    outcome = advisories.check_rust(lock, advisories.rust(clone))
    assert (outcome.packages, outcome.named) == (1, 3)
    assert [(one.advisory, one.informs) for one in outcome.found] == [("R-1", False), ("R-2", True)]


def test_pins_against_pypa(advisories: ModuleType, tmp_path: Path) -> None:
    def advisory(number: int, affected: str) -> str:
        return f"id: P-{number}\naffected:\n- package: {{ecosystem: PyPI, name: A_Package}}\n{affected}"

    span = "  ranges:\n  - type: ECOSYSTEM\n    events: [{introduced: '0'}, {%s}]\n"
    clone = commit(
        tmp_path / "db",
        {
            "vulns/a/P-1.yaml": advisory(1, "  versions: ['1.0', '1.1']\n"),
            "vulns/a/P-2.yaml": advisory(2, span % "fixed: '1.1'"),
            "vulns/a/P-3.yaml": advisory(3, span % "last_affected: '1.1'"),
            "vulns/a/P-4.yaml": advisory(4, span % "last_affected: '1.0'"),
        },
    )
    pins = tmp_path / "constraints.txt"
    pins.write_text("# pinned\na-package==1.1\nother==3\n", encoding="utf-8")
    outcome = advisories.check_python(pins, advisories.python(clone))
    assert (outcome.packages, outcome.named) == (2, 4)
    assert sorted(one.advisory for one in outcome.found) == ["P-1", "P-3"]


def test_pypi_answers_for_the_version_asked_for(advisories: ModuleType) -> None:
    newest = {"info": {"version": "2.0"}, "vulnerabilities": [{"id": "P-9", "withdrawn": None}]}

    def ask(url: str) -> dict[str, Any] | None:
        return newest if url.endswith("/a/json") else None

    assert advisories.pypi("a", "2.0", ask) == ["P-9"]
    assert advisories.pypi("a", "1.0", ask) is None
    assert advisories.pypi("b", "1.0", ask) is None


def test_something_has_to_be_asked_for(advisories: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        advisories.main([])
    assert ended.value.code == 2
    assert "give --rust, --python or --pypi" in capsys.readouterr().err
