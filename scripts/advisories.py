"""Known vulnerabilities in dependencies, from clones of the advisory databases: needs no network.

`make advisories` queries the databases (cargo-audit, pip-audit). Where they cannot be reached, this script
reads clones of them: github.com/rustsec/advisory-db and github.com/pypa/advisory-database.

    python scripts/advisories.py --rust CLONE --python CLONE
    python scripts/advisories.py --pypi numpy --pypi pandas     single packages, by PyPI's JSON

The exit status is 1 if an advisory affects a locked version. Informational advisories (of unmaintained
crates, for example) are printed, and count with ``--strict`` only.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LOCKS = (ROOT / "Cargo.lock", ROOT / "rust" / "fuzz" / "Cargo.lock")
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"

Rust = tuple[int, int, int, tuple[tuple[int, int | str], ...]]
"""A version of a crate, so that tuples compare as SemVer orders them (section 11)."""

RELEASED: tuple[tuple[int, int | str], ...] = ((2, 0),)
"""Sorts after every pre-release, whose parts are (0, number) or (1, word)."""


class Found(NamedTuple):
    """An advisory that affects a locked version."""

    advisory: str
    package: str
    version: str
    informs: bool


class Outcome(NamedTuple):
    """The result for one lock file.

    Attributes
    ----------
    packages : int
        Packages in the lock file.
    named : int
        Advisories about one of them, for any version.
    found : list of Found
        Those that affect the locked version.
    """

    packages: int
    named: int
    found: list[Found]


def rust_version(text: str) -> Rust:
    """A version of a crate; missing parts are 0, build metadata is ignored."""
    core, _, pre = text.strip().partition("+")[0].partition("-")
    numbers = [int(part) for part in core.split(".")]
    numbers += [0] * (3 - len(numbers))
    words = tuple((0, int(one)) if one.isdigit() else (1, one) for one in pre.split(".")) if pre else RELEASED
    return numbers[0], numbers[1], numbers[2], words


def _bounds(comparator: str) -> tuple[Rust, Rust | None]:
    """The half-open interval of a caret, tilde or bare version (Cargo's rules)."""
    operator = comparator[0] if comparator[0] in "^~" else "^"
    text = comparator.lstrip("^~").strip()
    low = rust_version(text)
    given = text.partition("-")[0].count(".") + 1
    if operator == "~":
        at = min(given, 2) - 1
    else:
        at = next((place for place in range(given) if low[place]), given - 1)
    high = [low[0], low[1], low[2]]
    high[at] += 1
    high[at + 1 :] = [0] * (2 - at)
    return low, (high[0], high[1], high[2], ((-1, 0),))


def rust_matches(version: str, requirement: str) -> bool:
    """Whether a version satisfies a requirement of Cargo: comparators separated by commas."""
    own = rust_version(version)
    for comparator in (part.strip() for part in requirement.split(",")):
        match = re.fullmatch(r"(>=|<=|>|<|=)\s*(\S+)", comparator)
        if comparator == "*":
            continue
        if match:
            other = rust_version(match[2])
            holds = {
                ">=": own >= other,
                "<=": own <= other,
                ">": own > other,
                "<": own < other,
                "=": own == other,
            }[match[1]]
        else:
            low, high = _bounds(comparator)
            holds = own >= low and (high is None or own < high)
        if not holds:
            return False
    return True


def files(clone: Path, folder: str, ending: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the files below a folder, in the newest commit of a clone (bare or not)."""
    packed = subprocess.run(
        ["git", "-C", clone, "archive", "HEAD", folder], check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(ending) else None
            if content:
                yield member.name, content.read().decode()


def rust(clone: Path) -> dict[str, list[dict[str, Any]]]:
    """RustSec's advisories by crate."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, text in files(clone, "crates", ".md"):
        parts = text.split("```")
        if len(parts) < 3 or not parts[1].startswith("toml"):
            raise SystemExit(f"advisories: {name}: not an advisory of RustSec")
        advisory = tomllib.loads(parts[1].removeprefix("toml"))
        if "withdrawn" not in advisory["advisory"]:
            found.setdefault(advisory["advisory"]["package"], []).append(advisory)
    return found


def rust_covers(advisory: dict[str, Any], version: str) -> bool:
    """Whether an advisory affects a version: it is neither patched nor unaffected."""
    versions = advisory.get("versions", {})
    safe = [*versions.get("patched", []), *versions.get("unaffected", [])]
    return not any(rust_matches(version, one) for one in safe)


def check_rust(lock: Path, known: dict[str, list[dict[str, Any]]]) -> Outcome:
    """A Cargo.lock against RustSec."""
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    outside = [one for one in packages if "source" in one]
    named, found = 0, []
    for package in outside:
        for advisory in known.get(package["name"], []):
            named += 1
            if rust_covers(advisory, package["version"]):
                about = advisory["advisory"]
                found.append(
                    Found(about["id"], package["name"], package["version"], "informational" in about)
                )
    return Outcome(len(outside), named, found)


def python(clone: Path) -> dict[str, list[dict[str, Any]]]:
    """PyPA's advisories by package; an advisory can be about several."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, list[dict[str, Any]]] = {}
    for _, text in files(clone, "vulns", ".yaml"):
        advisory = yaml.load(text, Loader=loader)
        if "withdrawn" not in advisory:
            for name in {canonicalize_name(one["package"]["name"]) for one in advisory["affected"]}:
                found.setdefault(name, []).append(advisory)
    return found


def python_covers(advisory: dict[str, Any], name: str, version: str) -> bool:
    """Whether an OSV entry affects a version: it is listed, or in a range of versions (OSV schema 1.6)."""
    own = Version(version)
    for affected in advisory["affected"]:
        if canonicalize_name(affected["package"]["name"]) != name:
            continue
        if version in map(str, affected.get("versions", [])):
            return True
        for span in affected.get("ranges", []):
            if span["type"] == "ECOSYSTEM" and _within(own, span["events"]):
                return True
    return False


def _within(version: Version, events: list[dict[str, Any]]) -> bool:
    inside = False
    for event in sorted(events, key=_at):
        if "introduced" in event and version >= _at(event):
            inside = True
        elif ("fixed" in event and version >= _at(event)) or (
            "last_affected" in event and version > _at(event)
        ):
            inside = False
    return inside


def _at(event: dict[str, Any]) -> Version:
    """The version at which a range begins or ends."""
    return Version(str(next(iter(event.values()))))


def check_python(constraints: Path, known: dict[str, list[dict[str, Any]]]) -> Outcome:
    """Pinned packages against PyPA's database."""
    versions = pinned(constraints)
    named, found = 0, []
    for name, version in versions.items():
        for advisory in known.get(name, []):
            named += 1
            if python_covers(advisory, name, version):
                found.append(Found(advisory["id"], name, version, informs=False))
    return Outcome(len(versions), named, found)


def pinned(constraints: Path) -> dict[str, str]:
    """The version of each package of a constraints file."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", constraints.read_text(encoding="utf-8"), re.M)
    return {canonicalize_name(name): version for name, version in lines}


def pypi(name: str, version: str, ask: Callable[[str], dict[str, Any] | None]) -> list[str] | None:
    """Advisories of one version by PyPI's JSON; ``None`` if the index does not say.

    An index mirror may have the JSON of the newest version only: it counts if that is the one asked for.
    """
    found = ask(f"https://pypi.org/pypi/{name}/{version}/json") or ask(f"https://pypi.org/pypi/{name}/json")
    if found is None or found["info"]["version"] != version or found.get("vulnerabilities") is None:
        return None
    return sorted(one["id"] for one in found["vulnerabilities"] if not one.get("withdrawn"))


def fetched(url: str) -> dict[str, Any] | None:
    """A JSON document of the index; ``None`` if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            document: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError:
        return None
    return document


def state(clone: Path) -> str:
    """The date of the newest commit of a clone."""
    return subprocess.run(
        ["git", "-C", clone, "log", "-1", "--format=%cs"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Run the checks asked for; print a line for each lock file and each advisory that affects it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rust", type=Path, metavar="CLONE", help="clone of rustsec/advisory-db")
    parser.add_argument("--python", type=Path, metavar="CLONE", help="clone of pypa/advisory-database")
    parser.add_argument("--strict", action="store_true", help="informational advisories count too")
    parser.add_argument(
        "--pypi", action="append", default=[], metavar="NAME", help="ask PyPI about a package"
    )
    wanted = parser.parse_args(arguments)
    if not (wanted.rust or wanted.python or wanted.pypi):
        parser.error("nothing to check: give --rust, --python or --pypi")
    outcomes = []
    if wanted.rust:
        known, day = rust(wanted.rust), state(wanted.rust)
        outcomes += [(lock, "RustSec", day, check_rust(lock, known)) for lock in LOCKS]
    if wanted.python:
        outcomes.append(
            (CONSTRAINTS, "PyPA", state(wanted.python), check_python(CONSTRAINTS, python(wanted.python)))
        )
    bad = False
    for lock, database, day, outcome in outcomes:
        print(
            f"advisories: {lock.relative_to(ROOT)}: {outcome.packages} packages; {database} as of {day} has "
            f"{outcome.named} advisories about them, {len(outcome.found)} affect a locked version"
        )
        for one in outcome.found:
            kind = " (informational)" if one.informs else ""
            print(f"advisories: {one.advisory}: {one.package} {one.version}{kind}")
        bad |= any(wanted.strict or not one.informs for one in outcome.found)
    for name in wanted.pypi:
        version = pinned(CONSTRAINTS)[canonicalize_name(name)]
        ids = pypi(name, version, fetched)
        what = "unknown: PyPI has no advisories of this version" if ids is None else ", ".join(ids) or "none"
        print(f"advisories: {name} {version}: {what}")
        bad |= bool(ids)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
