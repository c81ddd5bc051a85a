"""Options of commands that write packets without real addresses and payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.anonymize.mapping import Mapping


def anonymize_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--anonymize`` and ``--anonymize-key``."""
    command = click.option(
        "--anonymize-key",
        metavar="FILE",
        type=click.Path(),
        help="Key file: files written with the same key have the same addresses. Created if missing.",
    )(command)
    return click.option(
        "--anonymize",
        is_flag=True,
        help="Keep headers only and replace addresses, preserving common prefixes; ports are kept.",
    )(command)


def mapping_of(anonymize: bool, key: str | None) -> Mapping | None:
    """The mapping that is asked for; None if none is.

    Raises
    ------
    UsageError
        A key without ``--anonymize``, or one that cannot be used.
    """
    if not anonymize:
        if key is not None:
            raise UsageError("--anonymize-key is for --anonymize")
        return None
    from multitracer.anonymize.mapping import Mapping, key_of

    return Mapping(key_of(key))
