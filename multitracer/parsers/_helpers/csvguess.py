"""A first column map for a table of any make, by its titles and first rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence

from multitracer import native
from multitracer.model.errors import CorruptTrace
from multitracer.model.frozen import frozen
from multitracer.parsers._helpers.csvmap import separator_of, table
from multitracer.parsers._helpers.timestamps import ISO, NUMBERS, forms_of

_HEAD_BYTES = 1 << 20
_ROWS = 200
_BINARY_BYTES = 4096
_TIME_WORDS = re.compile(r"time|date|stamp|epoch|utc|clock|^t$|^ts$", re.IGNORECASE)
_LINK_WORDS = re.compile(
    r"rsrp|rsrq|rssi|sinr|snr|cqi|mcs|bler|harq|pci|cell|enb|gnb|band|arfcn|tech|network|signal|handover|handoff|ho_|"
    r"tx.?power|rank|rb[s_ ]|prb|level|qual",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"pci|cell.?id|enb|gnb|tech|network.?(type|mode)|handover|handoff|band|operator|event", re.IGNORECASE
)
_PLACES = re.compile(r"^(lat|lon|latitude|longitude|altitude|index|no\.?|id|unnamed.*|)$", re.IGNORECASE)
_RATE = re.compile(
    r"through?put|bit.?rate|goodput|bandwidth|speed.?test|\b[dmu]l.?(rate|tput)|tput", re.IGNORECASE
)
_RTT = re.compile(r"\brtt|ping|latency|round.?trip", re.IGNORECASE)
_BITS = {
    "kbps": 1e3,
    "kbit/s": 1e3,
    "mbps": 1e6,
    "mbit/s": 1e6,
    "gbps": 1e9,
    "gbit/s": 1e9,
    "bps": 1.0,
    "bit/s": 1.0,
}
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_UNITS = {"rsrp": "dbm", "rssi": "dbm", "rsrq": "db", "sinr": "db", "snr": "db"}


@frozen
class _Guess:
    """A series of the map that is to be printed."""

    name: str
    title: str
    factor: float
    layer: str
    changes: bool
    note: str


def first_map(path: str) -> str:
    """A map as TOML, to be corrected and put into measurement.toml.

    Raises
    ------
    UnreadableFile
    CorruptTrace
        If it is no text, or no column holds times.
    """
    head = native.head(path, _HEAD_BYTES)
    if b"\0" in head[:_BINARY_BYTES]:
        raise CorruptTrace(
            f"{path}: not a text table: a column map is for CSV; `multitracer info` shows the file's format"
        )
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    if len(head) == _HEAD_BYTES:
        text = text[: text.rfind("\n") + 1]  # the last line may be cut
    rows, titles = table(text, {}, path)
    values = [fields for _, (_, fields) in zip(range(_ROWS), rows, strict=False)]
    columns = [[row[at].strip() if at < len(row) else "" for row in values] for at in range(len(titles))]
    time, forms = _time(titles, columns)
    if not time:
        raise CorruptTrace(
            f"{path}: no column holds times in a known form; columns are {', '.join(titles)[:300]}"
        )
    lines = [
        "# A first map of the columns: correct it and put it into measurement.toml beside the file.",
        f"[sources.{_quoted(os.path.basename(path))}]",
        'format = "csv"',
    ]
    separator = separator_of(text)
    if separator != ",":
        lines.append(f"separator = {_quoted(separator)}")
    lines.append(f"time = {_quoted(titles[time[0]]) if len(time) == 1 else _list(titles[at] for at in time)}")
    lines.append(f"time_format = {_quoted(forms[0])}" + _others(forms))
    if forms[0] not in NUMBERS:
        lines.append('zone = "UTC"   # of times without one: Europe/Berlin, +02:00')
    lines += ["", f"[sources.{_quoted(os.path.basename(path))}.series]"]
    taken: set[str] = set()
    for at, title in enumerate(titles):
        if at in time:
            continue
        guess = _guess(title, columns[at], taken)
        if guess is None:
            lines.append(f"# not taken: {title}")
            continue
        taken.add(guess.name)
        lines.append(_line(guess))
    return "\n".join(lines) + "\n"


def _time(titles: Sequence[str], columns: Sequence[Sequence[str]]) -> tuple[list[int], list[str]]:
    """The column of times, or a date and a time, and the forms that fit."""
    order = sorted(range(len(titles)), key=lambda at: (not _TIME_WORDS.search(titles[at]), at))
    found: list[tuple[int, list[str]]] = []
    for at in order:
        forms = forms_of([text for text in columns[at] if text])
        if forms and (_TIME_WORDS.search(titles[at]) or forms[0] not in NUMBERS):
            found.append((at, forms))
    dated = [(at, forms) for at, forms in found if not all(form.startswith("%H") for form in forms)]
    for at, forms in dated:
        return [at], forms
    for one in range(len(titles)):
        for other in range(len(titles)):
            if one != other and _TIME_WORDS.search(titles[one]) and _TIME_WORDS.search(titles[other]):
                joined = [f"{a} {b}" for a, b in zip(columns[one], columns[other], strict=True) if a and b]
                forms = forms_of(joined) if joined and not _numeric(joined) else []
                if forms:
                    return [one, other], forms
    return ([found[0][0]], found[0][1]) if found else ([], [])


def _guess(title: str, texts: Sequence[str], taken: set[str]) -> _Guess | None:
    known = [text for text in texts if text]
    if not known or _PLACES.match(title.strip()):
        return None
    numeric = _numeric(known)
    changes = bool(_CHANGES.search(title)) or (not numeric and len(set(known)) <= max(len(known) // 4, 1))
    if not numeric and not changes:
        return None
    base, unit = _base_and_unit(title)
    layer = "link" if _LINK_WORDS.search(title) or changes else "kernel"
    factor, note = 1.0, ""
    rate = bool(_RATE.search(title))
    if not changes and (rate or unit in _BITS):
        name, factor = f"{base}_bps", _BITS.get(unit, 1.0)
        if unit not in _BITS:
            note = "unit unknown: state the factor to bit/s"
        if rate and "throughput_bps" not in taken and layer == "kernel":
            name = "throughput_bps"
    elif not changes and _RTT.search(title):
        name, factor = ("rtt_ms" if "rtt_ms" not in taken else f"{base}_ms"), _MS.get(unit, 1.0)
        layer = "kernel"
        if unit not in _MS:
            note = "unit unknown: state the factor to ms"
    else:
        usual = next((one for word, one in _UNITS.items() if word in base), "")
        ending = re.sub(r"[^a-z0-9]+", "", unit) or ("" if changes else usual)
        name = f"{base}_{ending}" if ending and not base.endswith(f"_{ending}") else base
    plain, number = name, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    return _Guess(name, title, factor, layer, changes, note)


def _base_and_unit(title: str) -> tuple[str, str]:
    """``RSRP [dBm]`` as ``rsrp`` and ``dbm``."""
    found = re.search(r"[\[(]([^\])]{1,12})[\])]", title)
    unit = found[1].strip().lower() if found else ""
    rest = title[: found.start()] if found else title
    if not found:
        ending = re.search(
            r"[ _](kbps|mbps|gbps|bps|dbm|db|ms|us|s|mbit/s|kbit/s)$", title.strip(), re.IGNORECASE
        )
        if ending:
            unit, rest = ending[1].lower(), title.strip()[: ending.start()]
    base = re.sub(r"[^a-z0-9]+", "_", rest.lower()).strip("_")
    return base or "value", unit


def _numeric(texts: Sequence[str]) -> bool:
    from multitracer.parsers._helpers.csvmap import _ABSENT, _number

    stated = [text for text in texts if text.lower() not in _ABSENT]
    return bool(stated) and sum(_number(text) is not None for text in stated) >= 0.9 * len(stated)


def _line(guess: _Guess) -> str:
    parts = [f"column = {_quoted(guess.title)}"]
    if guess.factor != 1.0:
        parts.append(f"factor = {guess.factor:g}")
    parts.append(f'layer = "{guess.layer}"')
    if guess.changes:
        parts.append("changes = true")
    note = f"   # {guess.note}" if guess.note else ""
    return f"{guess.name} = {{ {', '.join(parts)} }}{note}"


def _others(forms: Sequence[str]) -> str:
    """The other forms that fit as well: day and month cannot be distinguished before the 13th."""
    others = [form for form in forms[1:] if form != ISO and {"%d", "%m"} <= set(re.findall("%.", form))]
    if forms[0] in (ISO, *NUMBERS) or not others:
        return ""
    return f"   # or {' or '.join(others)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(titles: Iterator[str]) -> str:
    return f"[{', '.join(_quoted(title) for title in titles)}]"
