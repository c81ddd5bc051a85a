"""A release in one step: `make release`. Nothing is published from here; without --tag, nothing is changed.

The version stands in Cargo.toml only. A release is a tag vX.Y.Z on a commit that passed all checks; the
hosted workflow builds it for every system and publishes it.

    python scripts/release.py ready [--tag v0.1.0]      is this commit fit to be released?
    python scripts/release.py sdist                     dist/*.tar.gz, checked
    python scripts/release.py wheel [--target T] [--platform P]
    python scripts/release.py try                       the wheel in an empty environment, without cargo
    python scripts/release.py all                       all of it for this machine
    python scripts/release.py tag                       ready, then the tag
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PASSED = ROOT / "target" / "checks-passed"
"""Holds the commit that `.ci/run` passed last, if the tree was clean (`.ci/run` writes it)."""

MOST_BYTES = 16 << 20
"""A wheel larger than this has something in it that does not belong there."""


def version() -> str:
    """The one version, as Cargo.toml has it."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    return found


def run(*command: str | Path, **variables: str) -> None:
    """A command of the release; its failure is the release's."""
    # maturin finds zig through the Python that is first on PATH: this one, activated or not.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PATH": path} | variables, check=False)
    if done.returncode:
        raise SystemExit(f"release: failed: {' '.join(map(str, command))}")


def git(*words: str) -> str:
    """What git answers."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def unready(tag: str | None = None) -> list[str]:
    """Everything that stands against releasing this commit."""
    wanted = version()
    against = []
    if git("status", "--porcelain"):
        against.append("the tree has changes that are not committed")
    if not PASSED.exists() or PASSED.read_text(encoding="ascii").strip() != git("rev-parse", "HEAD"):
        against.append("the checks did not pass on this commit: run .ci/run")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## \[{re.escape(wanted)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changes, re.M | re.S
    )
    if not section or not section[1].strip():
        against.append(f'CHANGELOG.md has no section "## [{wanted}] - DATE" with something in it')
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    if not cited or cited[1] != wanted:
        against.append(f"CITATION.cff does not name {wanted}")
    if tag is not None and tag != f"v{wanted}":
        against.append(f"the tag is {tag}, the version {wanted}")
    if tag is None and git("tag", "--list", f"v{wanted}"):
        against.append(f"there is a tag v{wanted} already: raise the version in Cargo.toml")
    return against


def ready(tag: str | None = None) -> bool:
    """Say whether this commit can be released, and what stands against it."""
    against = unready(tag)
    for line in against:
        print(f"release: not ready: {line}", file=sys.stderr)
    if not against:
        print(f"release: {version()} is ready")
    return not against


def sdist() -> Path:
    """The source distribution; what is in it builds (tested by building the wheel of it, `all`)."""
    _clear("*.tar.gz")
    run(sys.executable, "-m", "maturin", "sdist", "--out", DIST)
    (made,) = DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", made)
    whole(made)
    return made


def whole(path: Path) -> None:
    """Say how large a source distribution is; the release ends if it lacks what a wheel is built of."""
    with tarfile.open(path) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {"Cargo.lock", "LICENSE", "README.md", "THIRD-PARTY-LICENCES.txt", "multitracer/py.typed"}
    data = ROOT / "packaging" / "data"
    wanted |= {str(file.relative_to(ROOT)) for file in data.rglob("*") if file.is_file()}
    print(f"release: {path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    if lacking := sorted(wanted - names):
        raise SystemExit(f"release: {path.name}: lacking {lacking}")


def wheel(target: str = "", platform: str = "", source: Path = ROOT) -> Path:
    """The wheel of one system; for Linux linked by zig against the libc that the platform names."""
    _clear("*.whl")
    command: list[str | Path] = [sys.executable, "-m", "maturin", "build", "--release", "--strip", "--locked"]
    command += ["--out", DIST, "--manifest-path", source / "rust" / "python" / "Cargo.toml"]
    command += ["--interpreter", sys.executable]
    command += ["--target", target] if target else []
    linux = sys.platform == "linux"
    if linux:
        command += ["--zig", "--compatibility", platform or "manylinux2014"]
    run(*command)
    (made,) = DIST.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", made)
    if linux and "musl" in target:
        links_only_musl(made)
    elif linux:
        run(sys.executable, "-m", "auditwheel", "show", made)
    held(made)
    return made


def links_only_musl(path: Path) -> None:
    """Say which libraries a wheel for musl asks for; the release ends if one is not musl's own.

    auditwheel looks for musl's ``libc.so`` among the libraries of this system, where glibc has a script of
    that name: it gets an empty directory to look in.
    """
    with tempfile.TemporaryDirectory() as empty:
        words = ["-m", "auditwheel", "show", "--json", "--ldpaths", empty, str(path)]
        done = subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE, text=True)
    asked = sorted(json.loads(done.stdout)["external_libs"])
    print(f"release: {path.name} asks for {', '.join(asked)}")
    if strange := [name for name in asked if not re.fullmatch(r"libc\.(so|musl-\w+\.so\.1)", name)]:
        raise SystemExit(f"release: {path.name}: not of musl: {', '.join(strange)}")


def held(path: Path) -> None:
    """What is in a wheel: the package and its licences, no tests and no data; abi3, and not too large."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    strange = [
        name
        for name in names
        if not re.match(r"multitracer(-[^/]+\.dist-info|\.libs|-[^/]+\.data/data/share)?/", name)
    ]
    lacking = [
        word
        for word in (
            "multitracer/py.typed",
            "/LICENSE",
            "/THIRD-PARTY-LICENCES.txt",
            "multitracer/_core.abi3.so",
            "share/man/man1/multitracer.1",
            "share/bash-completion/completions/multitracer",
            "share/zsh/site-functions/_multitracer",
            "share/fish/vendor_completions.d/multitracer.fish",
        )
        if not any(name.endswith(word) for name in names)
    ]
    size = path.stat().st_size
    print(f"release: {path.name}: {size / 1e6:.1f} MB, {len(names)} files")
    if strange or lacking or "-abi3-" not in path.name or size > MOST_BYTES:
        raise SystemExit(f"release: {path.name}: strange {strange[:5]}, lacking {lacking}, {size} bytes")


def tried(path: Path) -> None:
    """Install a wheel into an empty environment without cargo, and do with it what the README does."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        begin = time.monotonic()
        run(sys.executable, "-m", "venv", place / "venv")
        python = place / "venv" / "bin" / "python"
        bare = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "", "HOME": str(place)}
        run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", path, **bare)
        seconds = time.monotonic() - begin
        size = sum(file.stat().st_size for file in (place / "venv").rglob("*") if file.is_file())
        shutil.copytree(ROOT / "sample_traces", place / "sample_traces")
        program = place / "venv" / "bin" / "multitracer"
        sample = place / "sample_traces" / "link-resets-vj"
        for words in (
            ("--version",),
            ("info", sample),
            ("analyze", sample, "--json"),
            ("explain", sample, "--packet", "167"),
            ("events", sample, "--name", "RlpSnd_data", "--from", "28.70", "--to", "28.75"),
            ("plot", sample, "--from", "25", "--to", "45", "-o", place / "gap.svg"),
            ("report", sample, "-o", place / "page.html"),
            ("batch", place / "sample_traces", "-o", place / "out", "--pages", "none"),
        ):
            with open(place / "printed", "wb") as printed:
                done = subprocess.run([program, *words], cwd=place, env=bare, stdout=printed, check=False)
            if done.returncode:
                raise SystemExit(
                    f"release: {path.name}: status {done.returncode} of {' '.join(map(str, words))}"
                )
        print(f"release: {path.name}: installed in {seconds:.0f} s, {size / 1e6:.0f} MB with all; tour done")


def everything() -> bool:
    """All that can be done on this machine: ready, sdist, the wheel out of the sdist, tried."""
    fit = ready()
    archive = sdist()
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        tried(wheel(source=source))
    run(sys.executable, ROOT / "scripts" / "licences.py")
    shutil.copy(ROOT / "THIRD-PARTY-LICENCES.txt", DIST / "LICENCES.txt")
    run(sys.executable, ROOT / "scripts" / "sbom.py", DIST / f"multitracer-{version()}.cdx.json")
    print(
        f"release: dry run done, in {DIST.name}/: {', '.join(sorted(path.name for path in DIST.iterdir()))}"
    )
    if not fit:
        print("release: this commit cannot be released; see above", file=sys.stderr)
    return fit


def tag() -> bool:
    """Make the tag that the hosted workflow releases; to push it is left to a person."""
    if not ready():
        return False
    run("git", "tag", "--annotate", f"v{version()}", "--message", f"MultiTracer {version()}")
    print(f"release: now: git push origin v{version()}")
    return True


def _clear(pattern: str) -> None:
    DIST.mkdir(exist_ok=True)
    for path in DIST.glob(pattern):
        path.unlink()


def main() -> int:
    """One step of a release."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("step", choices=["ready", "sdist", "wheel", "try", "all", "tag"])
    parser.add_argument("--tag", help="the tag that is being released")
    parser.add_argument("--target", default="", help="Rust's name of the system")
    parser.add_argument("--platform", default="", help="manylinux or musllinux tag")
    wanted = parser.parse_args()
    fit = True
    if wanted.step == "ready":
        fit = ready(wanted.tag or None)
    elif wanted.step == "sdist":
        sdist()
    elif wanted.step == "wheel":
        wheel(wanted.target, wanted.platform)
    elif wanted.step == "try":
        (path,) = DIST.glob("*.whl")
        tried(path)
    elif wanted.step == "all":
        fit = everything()
    else:
        fit = tag()
    return 0 if fit else 1


if __name__ == "__main__":
    sys.exit(main())
