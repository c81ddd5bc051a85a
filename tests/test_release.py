"""What a release consists of: version, workflows, licences, manual page; what other systems are told."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support_samples import ROOT

import multitracer
from multitracer.cli import main as program

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = [
    pytest.param(path, name, job, id=f"{path.stem}-{name}")
    for path in WORKFLOWS
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"script_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def targets() -> set[str]:
    """Targets of the Makefile; that of the site only where there is a site."""
    found = set(
        re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    return found if (ROOT / "docs" / "conf.py").exists() else found | {"docs"}


def commands(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job.get("steps", []))


def test_one_version() -> None:
    wanted = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert multitracer.__version__ == wanted
    assert f"\nversion: {wanted}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("path", "name", "job"), JOBS)
def test_a_job_calls_what_exists(path: Path, name: str, job: dict[str, Any]) -> None:
    for line in commands(job).splitlines():
        for call in re.findall(r"\bmake ([^|&;]*)", line):
            goals = {word for word in call.split() if "=" not in word}
            assert goals, line
            assert goals <= targets(), line
        for file in re.findall(r"(?:bash|python3?) (\S+)", line):
            assert (ROOT / file).exists(), line
    if "uses" in job:
        assert (ROOT / job["uses"].removeprefix("./")).exists()


@pytest.mark.parametrize(("path", "name", "job"), JOBS)
def test_the_steps_of_a_job_are_valid_shell_with_every_variable_set(
    path: Path, name: str, job: dict[str, Any]
) -> None:
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    given = {**whole.get("env", {}), **job.get("env", {})}
    given = {"PWD", "HOME", "PATH", *given}
    for step in job.get("steps", []):
        if "run" not in step:
            assert "uses" in step
            continue
        subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
        used = set(re.findall(r"\$\{?([A-Z_]+)", step["run"]))
        assert used <= given | set(step.get("env", {})), step["run"]
    # What an expression takes from the matrix is in every row of it.
    matrix = job.get("strategy", {}).get("matrix", {})
    rows = matrix.get("include") or [matrix]
    for key in re.findall(r"matrix\.([a-z_]+)", json.dumps(job)):
        assert all(key in row for row in rows), key


def test_a_workflow_that_waits_for_changes_waits_for_files_that_exist() -> None:
    for path in WORKFLOWS:
        # YAML reads the key "on" as true.
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        for event in (whole[True] if isinstance(whole[True], dict) else {}).values():
            for file in (event or {}).get("paths", []) if isinstance(event, dict) else []:
                assert (ROOT / file).exists(), file


@pytest.mark.parametrize(("path", "name", "job"), JOBS)
def test_what_a_job_needs_is_a_job(path: Path, name: str, job: dict[str, Any]) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    needs = job.get("needs", [])
    assert {needs} <= set(jobs) if isinstance(needs, str) else set(needs) <= set(jobs)


@pytest.mark.parametrize(("path", "name", "job"), JOBS)
def test_a_job_has_no_more_rights_than_it_needs(path: Path, name: str, job: dict[str, Any]) -> None:
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert whole["permissions"] == {}
    assert job.get("timeout-minutes") or "uses" in job
    writes = {right for right, kind in job.get("permissions", {}).items() if kind == "write"}
    allowed = {
        "release-publish": {"id-token"},
        "release-page": {"contents"},
        "docs-publish": {"pages", "id-token"},
    }
    assert writes <= allowed.get(f"{path.stem}-{name}", set())
    # Words of a stranger (branch names, titles) reach a shell through the environment only.
    assert "${{" not in commands(job)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.stem))
def test_actions_are_pinned(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    assert all(name.startswith("./") or re.search(r"@[0-9a-f]{40}$", name) for name in used), used


def test_every_fuzz_target_runs_at_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))
    declared = tomllib.loads((ROOT / "rust/fuzz/Cargo.toml").read_text(encoding="utf-8"))["bin"]
    matrix = nightly["jobs"]["fuzz-core"]["strategy"]["matrix"]["target"]
    assert sorted(matrix) == sorted(target["name"] for target in declared)


def test_tested_versions_are_those_promised() -> None:
    checks = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    tested = checks["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={tested[0]}"
    assert "abi3-py" + tested[0].replace(".", "") in (ROOT / "rust/python/Cargo.toml").read_text(
        encoding="utf-8"
    )
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "rust-version"
    ]
    assert f"rustup override set {rust}" in commands(checks["jobs"]["oldest"])


def test_the_lock_file_covers_what_is_declared() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        canonicalize_name(need.name): next(iter(need.specifier)).version
        for need in (Requirement(line) for line in lines if line and not line.startswith("#"))
    }
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    wanted = [*project["dependencies"], *declared["dependency-groups"]["dev"]]
    wanted += [line for extra in project["optional-dependencies"].values() for line in extra]
    for need in map(Requirement, wanted):
        version = pinned[canonicalize_name(need.name)]
        assert need.specifier.contains(version), need


def test_the_licences_of_every_extra_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(script("licences").EXTRAS) == sorted(project["optional-dependencies"])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository that could be released."""
    for name in ("Cargo.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    wanted = multitracer.__version__
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{wanted}] - 2026-12-01\n- All of it.\n")
    (tmp_path / ".gitignore").write_text("/target/\n")
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, stdout=subprocess.PIPE
    ).stdout
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "checks-passed").write_bytes(head)
    return tmp_path


def unready(clone: Path, monkeypatch: pytest.MonkeyPatch, tag: str | None = None) -> list[str]:
    release = script("release")
    monkeypatch.setattr(release, "ROOT", clone)
    monkeypatch.setattr(release, "PASSED", clone / "target" / "checks-passed")
    found: list[str] = release.unready(tag)
    return found


def test_ready(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unready(clone, monkeypatch) == []
    assert unready(clone, monkeypatch, f"v{multitracer.__version__}") == []


@pytest.mark.parametrize("what", ["changed", "untested", "unsaid", "uncited", "tagged", "other tag"])
def test_not_ready(what: str, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = None
    if what == "changed":
        (clone / "new").touch()
    elif what == "untested":
        (clone / "target" / "checks-passed").write_text("0" * 40)
    elif what == "tagged":
        subprocess.run(["git", "tag", f"v{multitracer.__version__}"], cwd=clone, check=True)
    elif what == "other tag":
        tag = "v9.9.9"
    else:
        (clone / {"unsaid": "CHANGELOG.md", "uncited": "CITATION.cff"}[what]).write_text("nothing\n")
    words = {
        "changed": "not committed",
        "untested": "checks did not pass",
        "unsaid": "no section",
        "uncited": "does not name",
        "tagged": "already",
        "other tag": "the tag is v9.9.9",
    }
    assert any(words[what] in line for line in unready(clone, monkeypatch, tag))


def test_a_wheel_holds_the_package_alone(tmp_path: Path) -> None:
    release = script("release")
    path = tmp_path / "multitracer-1.0-cp311-abi3-any.whl"
    inside = ["multitracer/py.typed", "multitracer/_core.abi3.so"]
    inside += [
        f"multitracer-1.0.dist-info/licenses/{name}" for name in ("LICENSE", "THIRD-PARTY-LICENCES.txt")
    ]
    share = script("man").SHARE
    inside += [
        f"multitracer-1.0.data/data/share/{path.relative_to(share)}"
        for path in sorted(share.rglob("*"))
        if path.is_file()
    ]
    for extra, sound in ([], True), (["tests/test_x.py"], False):
        with zipfile.ZipFile(path, "w") as archive:
            for name in inside + extra:
                archive.writestr(name, "")
        if sound:
            release.held(path)
        else:
            with pytest.raises(SystemExit):
                release.held(path)


def test_a_source_distribution_holds_what_a_wheel_is_built_of(tmp_path: Path) -> None:
    release = script("release")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    assert {"path": f"{project['data']}/**/*", "format": "sdist"} in project["include"]
    data = [path for path in (ROOT / project["data"]).rglob("*") if path.is_file()]
    inside = [ROOT / name for name in ("Cargo.lock", "LICENSE", "README.md", "THIRD-PARTY-LICENCES.txt")]
    inside += [ROOT / "multitracer" / "py.typed"]
    path = tmp_path / "multitracer-1.0.tar.gz"
    for files, sound in ([*inside, *data], True), (inside, False):
        with tarfile.open(path, "w:gz") as packed:
            for file in files:
                packed.add(file, f"multitracer-1.0/{file.relative_to(ROOT)}")
        if sound:
            release.whole(path)
        else:
            with pytest.raises(SystemExit, match="lacking"):
                release.whole(path)


@pytest.mark.parametrize(
    ("asked", "sound"),
    [({"libc.so": None}, True), ({"libc.musl-x86_64.so.1": None}, True), ({}, True)]
    + [({"libc.so": None, name: None}, False) for name in ("libgcc_s.so.1", "libc.so.6", "libm.so")],
)
def test_a_wheel_for_musl_asks_for_musl_alone(
    asked: dict[str, None], sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = script("release")
    told = subprocess.CompletedProcess([], 0, json.dumps({"external_libs": asked}))
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: told)
    if sound:
        release.links_only_musl(Path("m.whl"))
    else:
        with pytest.raises(SystemExit, match="not of musl"):
            release.links_only_musl(Path("m.whl"))


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("LGPL-2.1-or-later", False),
        ("BSD", False),
        ("", False),
    ],
)
def test_licence_policy(licence: str, fine: bool) -> None:
    assert script("licences").allowed(licence) is fine


def test_texts_cover_what_is_linked() -> None:
    text = (ROOT / "THIRD-PARTY-LICENCES.txt").read_text(encoding="utf-8")
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    versions = {(entry["name"], entry["version"]) for entry in locked}
    named = re.findall(r"^([\w-]+) (\d\S*): \S", text, re.MULTILINE)
    assert set(named) <= versions, "make licences WRITE=1"
    direct = tomllib.loads((ROOT / "rust/core/Cargo.toml").read_text(encoding="utf-8"))["dependencies"]
    assert set(direct) <= {name for name, _ in named}, "make licences WRITE=1"


def test_what_wheels_install_is_up_to_date() -> None:
    pinned = re.search(
        r"^click==(\S+)$", (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8"), re.M
    )
    assert pinned
    if metadata.version("click") != pinned[1]:
        pytest.skip(f"other versions of click than {pinned[1]} word usages and completions otherwise")
    man = script("man")
    wanted = man.files(program.group, multitracer.__version__)
    assert {path for path in man.SHARE.rglob("*") if path.is_file()} == set(wanted)
    for path, text in wanted.items():
        assert path.read_text(encoding="utf-8") == text, "make man"
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    assert ROOT / maturin["data"] / "data" / "share" == man.SHARE


def test_the_manual_page_names_every_command() -> None:
    page = script("man").page(program.group, "1.2.3")
    for name in program.COMMANDS:
        assert f"\n.SS multitracer {name}\n" in page
    ctx = click.Context(program.group)
    analyze = program.group.get_command(ctx, "analyze")
    assert analyze is not None
    for parameter in analyze.params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert option.replace("-", "\\-") in page
    # Roff's requests are those that the script writes.
    assert set(re.findall(r"^\.(\w+)", page, re.MULTILINE)) <= {
        "TH",
        "SH",
        "SS",
        "PP",
        "TP",
        "B",
        "BR",
        "nf",
        "fi",
        "RS",
        "RE",
    }


@pytest.mark.parametrize(
    "words", [("record", "-o", "x"), ("doctor",), ("lab", "run", "plain-cubic", "-o", "x")]
)
def test_what_needs_linux_says_so(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert program.main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "works on Linux only" in line
