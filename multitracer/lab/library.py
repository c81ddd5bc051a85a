"""Finding scenarios: built-in ones by name, one's own by path."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from multitracer.lab.scenario import Scenario, assign, from_table
from multitracer.model.errors import UnreadableFile, UsageError

_DEPTH = 8


def names() -> list[str]:
    """Names of the built-in scenarios, sorted."""
    folder = resources.files("multitracer.lab.scenarios")
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(scenario: str, settings: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Scenario:
    """A checked scenario.

    Parameters
    ----------
    scenario : str
        A built-in name, or the path of a TOML file.
    settings : sequence of str
        Changes, ``key=value``.
    values : mapping, optional
        Changes as values by dotted key.

    Raises
    ------
    UsageError
        No such scenario, or one that makes no sense.
    """
    from multitracer.lab.scenario import set_value

    name, table = _table(scenario, 0)
    for key, value in (values or {}).items():
        set_value(table, key, value)
    for setting in settings:
        assign(table, setting)
    return from_table(name, table)


def _table(scenario: str, depth: int) -> tuple[str, dict[str, Any]]:
    if depth > _DEPTH:
        raise UsageError(f"scenario {scenario}: more than {_DEPTH} steps of extends; a circle?")
    name, text = _text(scenario)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"scenario {scenario}: not valid TOML: {error}") from error
    base = table.pop("extends", None)
    if base is None:
        return name, table
    if not isinstance(base, str):
        raise UsageError(f"scenario {scenario}: extends: the name of a scenario is needed")
    if base.endswith(".toml") and not os.path.isabs(base):
        base = os.path.join(os.path.dirname(scenario), base)
    return name, merge(_table(base, depth + 1)[1], table)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` changed by `over`, tables key by key; lists (the flows) are replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _text(scenario: str) -> tuple[str, str]:
    if scenario.endswith(".toml") or os.sep in scenario:
        try:
            with open(scenario, encoding="utf-8") as file:
                return os.path.basename(scenario).removesuffix(".toml"), file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{scenario}: {getattr(error, 'strerror', None) or error}") from error
    if scenario not in names():
        raise UsageError(f"no scenario {scenario!r}; `multitracer lab list` shows them all")
    file_name = f"{scenario}.toml"
    return scenario, resources.files("multitracer.lab.scenarios").joinpath(file_name).read_text("utf-8")
