"""The software bill of materials of the package, as CycloneDX JSON: `make sbom`.

One component for each crate that is linked into the core, with the SHA-256 of its source from Cargo.lock, and
one for each Python package that pip brings, in the version of this environment; extras are marked optional.

    python scripts/sbom.py dist/multitracer-0.1.0.cdx.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

import licences
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import canonicalize_name
from release import version


def bill() -> Bom:
    """The package, its dependencies and theirs."""
    named = LicenseFactory()
    bom = Bom()
    bom.metadata.component = root = Component(
        type=ComponentType.APPLICATION,
        name="multitracer",
        version=version(),
        purl=PackageURL("pypi", None, "multitracer", version()),
        bom_ref="multitracer",
        licenses=[named.make_from_string("Apache-2.0")],
    )
    crates, packages = licences.rust(), licences.python()
    always = {package.name for package in licences.python(extras=())}
    found: dict[tuple[str, str], Component] = {}
    for package in crates + packages:
        optional = package.ecosystem == "pypi" and package.name not in always
        component = Component(
            type=ComponentType.LIBRARY,
            name=package.name,
            version=package.version,
            purl=PackageURL(package.ecosystem, None, package.name, package.version),
            bom_ref=f"{package.ecosystem}:{package.name}@{package.version}",
            scope=ComponentScope.OPTIONAL if optional else ComponentScope.REQUIRED,
            licenses=[named.make_from_string(package.licence)],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=package.checksum)]
            if package.checksum
            else [],
        )
        bom.components.add(component)
        found[package.ecosystem, package.name] = component
    for package in crates + packages:
        needs = (found.get((package.ecosystem, canonicalize_name(need))) for need in package.needs)
        if package.ecosystem == "cargo":
            needs = (found.get(("cargo", need)) for need in package.needs)
        bom.register_dependency(found[package.ecosystem, package.name], [need for need in needs if need])
    bom.register_dependency(root, found.values())
    return bom


def main() -> None:
    """Write it, checked against the schema."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("output", type=Path)
    output: Path = parser.parse_args().output
    text = make_outputter(bill(), OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        raise SystemExit(f"sbom: not as the schema wants it: {wrong}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text + "\n", encoding="utf-8")
    print(f"sbom: {output}, {text.count('bom-ref') - 1} components")


if __name__ == "__main__":
    main()
