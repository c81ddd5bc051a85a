"""Licences of everything that a user of the package gets, held against an allow-list: `make licences`.

Rust: what is linked into the core, by `cargo metadata`. Python: what `pip install multitracer` and its extras
bring, by the metadata of this environment. The texts of what is linked go along with every wheel, in
THIRD-PARTY-LICENCES.txt.

    python scripts/licences.py            # check; exit status 1 if something is not allowed or out of date
    python scripts/licences.py --write    # write THIRD-PARTY-LICENCES.txt anew
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from license_expression import LicenseWithExceptionSymbol, get_spdx_licensing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "THIRD-PARTY-LICENCES.txt"
EXTRAS = ("anonymize", "parquet", "cluster")

ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "bzip2-1.0.6",
        "CC0-1.0",
        "HPND",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Python-2.0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    }
)
"""Permissive licences: with their notice kept, they ask nothing of who passes the package on."""

CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}

READ_BY_HAND = {
    "cycler": "BSD-3-Clause",
    "dpkt": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "contourpy": "BSD-3-Clause",
    "zict": "BSD-3-Clause",
    "partd": "BSD-3-Clause",
}
"""What the licence file says of packages whose metadata has no SPDX expression, or a word like "BSD" only."""


@dataclass(frozen=True)
class Package:
    """A dependency: where it is from, what its metadata says of its licence, and the licence's files."""

    ecosystem: str  # cargo or pypi, as in package URLs
    name: str
    version: str
    licence: str
    checksum: str = ""  # SHA-256 of the crate
    needs: tuple[str, ...] = ()
    files: tuple[Path, ...] = field(default=(), compare=False)


def rust() -> list[Package]:
    """The crates that are linked into the core, or run while it is built; not those of tests alone."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    (start,) = (key for key, package in packages.items() if package["name"] == "multitracer-python")
    seen, wanted = set(), [start]
    while wanted:
        key = wanted.pop()
        if key not in seen:
            seen.add(key)
            wanted += _linked(nodes[key])
    sums = _checksums()
    return sorted(
        (
            _crate(packages[key], sums, [packages[need]["name"] for need in _linked(nodes[key])])
            for key in seen
            if packages[key]["source"]
        ),
        key=lambda crate: (crate.name, crate.version),
    )


def _linked(node: dict[str, Any]) -> list[str]:
    return [
        edge["pkg"]
        for edge in node["deps"]
        if any(kind["kind"] in (None, "build") for kind in edge["dep_kinds"])
    ]


def _crate(package: dict[str, Any], sums: dict[tuple[str, str], str], needs: list[str]) -> Package:
    name, version = package["name"], package["version"]
    folder = Path(package["manifest_path"]).parent
    files = tuple(sorted(path for path in folder.iterdir() if _is_licence(path)))
    licence = (package["license"] or "").replace("/", " OR ")  # the old way of crates to say "or"
    return Package("cargo", name, version, licence, sums[name, version], tuple(sorted(needs)), files)


def _is_licence(path: Path) -> bool:
    return path.is_file() and re.match(r"(?i)(un)?licen[cs]e|copying|notice", path.name) is not None


def _checksums() -> dict[tuple[str, str], str]:
    import tomllib

    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    return {(entry["name"], entry["version"]): entry.get("checksum", "") for entry in locked}


def python(extras: tuple[str, ...] = EXTRAS) -> list[Package]:
    """What pip brings for the package and its extras, as installed here."""
    seen: dict[str, Package] = {}
    wanted = list(_requirements(metadata.distribution("multitracer"), extras))
    while wanted:
        need = wanted.pop()
        name = canonicalize_name(need.name)
        if name in seen:
            continue
        have = metadata.distribution(name)
        needs = _requirements(have, tuple(need.extras))
        seen[name] = Package(
            "pypi", name, have.version, _stated(have), needs=tuple(sorted({n.name for n in needs}))
        )
        wanted += needs
    return sorted(seen.values(), key=lambda package: package.name)


def _requirements(have: metadata.Distribution, extras: tuple[str, ...]) -> list[Requirement]:
    every = [Requirement(text) for text in have.requires or ()]
    return [
        need
        for need in every
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def _stated(have: metadata.Distribution) -> str:
    name = canonicalize_name(have.metadata["Name"])
    if expression := have.metadata.get("License-Expression"):
        return expression
    if name in READ_BY_HAND:
        return READ_BY_HAND[name]
    named = [CLASSIFIERS[line] for line in have.metadata.get_all("Classifier", []) if line in CLASSIFIERS]
    # Several classifiers do not say whether all or one of them holds: all, to be sure.
    return " AND ".join(named) or (have.metadata.get("License") or "").strip().split("\n")[0]


def allowed(licence: str) -> bool:
    """Whether an SPDX expression can be satisfied by allowed licences alone; False if it is none."""
    licensing = get_spdx_licensing()
    try:
        tree = licensing.parse(licence, validate=True, strict=True)
    except Exception:  # the library has many of its own, with no common base
        return False
    return tree is not None and _holds(tree)


def _holds(tree: Any) -> bool:
    if isinstance(tree, LicenseWithExceptionSymbol) or not getattr(tree, "args", ()):
        return str(tree) in ALLOWED
    parts = [_holds(part) for part in tree.args]
    return any(parts) if "OR" in str(tree.operator) else all(parts)


def refused(packages: list[Package]) -> list[str]:
    """A line for each package whose licence is not allowed or not known."""
    return [
        f"{package.ecosystem} {package.name} {package.version}: {package.licence or 'no licence stated'}"
        for package in packages
        if not allowed(package.licence)
    ]


def texts(crates: list[Package]) -> str:
    """The texts of the licences of all crates, each text once, with the crates that it covers."""
    covered: dict[str, list[str]] = {}
    for crate in crates:
        for file in crate.files:
            text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
            covered.setdefault(re.sub(r"[ \t]+\n", "\n", text), []).append(f"{crate.name} {crate.version}")
    parts = [
        "Licences of the crates that are linked into MultiTracer's core. MultiTracer itself: see LICENSE.\n"
        "Written by scripts/licences.py --write.\n\n"
        + "\n".join(f"{crate.name} {crate.version}: {crate.licence}" for crate in crates)
    ]
    for text, names in sorted(covered.items(), key=lambda pair: (pair[1], pair[0])):
        parts.append(f"Of {', '.join(dict.fromkeys(names))}:\n\n{text}")
    return ("\n\n" + "=" * 78 + "\n\n").join(parts) + "\n"


def main() -> int:
    """Check, or write the texts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write THIRD-PARTY-LICENCES.txt")
    wanted = parser.parse_args()
    crates, packages = rust(), python()
    bad = refused(crates + packages)
    for line in bad:
        print(f"licences: not allowed: {line}", file=sys.stderr)
    if wanted.write:
        TEXTS.write_text(texts(crates), encoding="utf-8")
    elif not TEXTS.exists() or TEXTS.read_text(encoding="utf-8") != texts(crates):
        bad.append(TEXTS.name)
        print(f"licences: {TEXTS.name} is out of date: make licences WRITE=1", file=sys.stderr)
    print(f"licences: {len(crates)} crates, {len(packages)} Python packages, {len(bad)} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
