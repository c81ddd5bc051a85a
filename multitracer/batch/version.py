"""Which program a result comes from: a changed program recomputes."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import entry_points


@cache
def program() -> str:
    """Version, digest of the package's own files, and the plug-ins that take part.

    The digest distinguishes development states of one version.
    """
    import multitracer

    here = os.path.dirname(multitracer.__file__)
    digest = hashlib.sha256()
    for directory, folders, files in sorted(os.walk(here)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        # Commands and the lab have no part in a result.
        if os.path.relpath(directory, here).split(os.sep)[0] in ("cli", "lab"):
            continue
        for name in sorted(files):
            if name.endswith((".py", ".so", ".pyd", ".js", ".css")):
                path = os.path.join(directory, name)
                digest.update(os.path.relpath(path, here).encode())
                with open(path, "rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    plugins = sorted(
        f"{entry.name}={entry.value}@{entry.dist.version if entry.dist else ''}"
        for group in ("multitracer.parsers", "multitracer.analyzers", "multitracer.plots")
        for entry in entry_points(group=group)
    )
    return " ".join([multitracer.__version__, digest.hexdigest()[:16], *plugins])
