"""Times as tables of any make write them: numbers of any unit, calendar times of any form and zone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from multitracer.model.errors import UsageError

NUMBERS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Formats that are numbers: what one is in ns."""
ISO = "iso"
_MOST_NS = 1 << 62
_FEW_BACK = 20
"""Times of a table may go back once in so many rows: real ones do."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CALENDAR = (
    "%Y-%m-%d %H:%M:%S",
    "%Y/%m/%d %H:%M:%S",
    "%Y.%m.%d_%H.%M.%S",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M:%S %p",
    "%d-%m-%Y %H:%M:%S",
    "%m-%d-%Y %H:%M:%S",
    "%d-%b-%Y %H:%M:%S",
    "%d %b %Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
    "%a %b %d %H:%M:%S %Y",
    "%Y%m%d%H%M%S",
    "%Y%m%d_%H%M%S",
    "%Y%m%d %H:%M:%S",
    "%H:%M:%S",
)
"""Forms that are tried for an unknown column, each also with a fraction of a second (``%f``)."""


class Clock:
    """Text to nanoseconds, in one form and zone.

    Parameters
    ----------
    form : str
        ``s``, ``ms``, ``us``, ``ns``, ``iso``, or as for `datetime.strptime`; a fraction of a second may be
        longer there than ``%f`` allows.
    zone : str
        IANA name, or an offset (``+02:00``); of times that do not name theirs.

    Raises
    ------
    UsageError
        An unknown zone.
    """

    def __init__(self, form: str, zone: str = "UTC") -> None:
        self.form = form
        self._zone = zone_of(zone)
        self.has_date = (
            form in NUMBERS or form == ISO or any(part in form for part in ("%d", "%j", "%x", "%c"))
        )
        self._read: Callable[[str], int | None] = self._number if form in NUMBERS else self._calendar

    def ns(self, text: str) -> int | None:
        """Nanoseconds since the epoch (or since the origin of the number); None if it is no time."""
        try:
            return self._read(text.strip())
        except (ValueError, OverflowError, ArithmeticError):
            return None

    def _number(self, text: str) -> int | None:
        whole, _, fraction = text.partition(".")
        unit = NUMBERS[self.form]
        digits = whole.lstrip("+-")
        if (
            digits.isascii()
            and digits.isdigit()
            and (not fraction or fraction.isdigit())
            and len(digits) < 20
        ):
            # Exact: a double holds seconds since the epoch to a quarter of a microsecond only.
            value = int(digits) * unit
            if fraction:
                value += int(fraction[:18]) * unit // 10 ** len(fraction[:18])
            value = -value if whole.startswith("-") else value
        else:
            number = float(text)
            if not math.isfinite(number) or abs(number) * unit > _MOST_NS:
                return None
            value = round(number * unit)
        return value if abs(value) <= _MOST_NS else None

    def _without_zone(self, text: str) -> tuple[str, tzinfo]:
        """A time and its zone: an abbreviation after it does not show which is meant, except UTC."""
        head, _, last = text.rpartition(" ")
        if last in ("UTC", "GMT"):
            return head, UTC
        if 3 <= len(last) <= 4 and last.isascii() and last.isalpha() and last.isupper():
            return head, self._zone
        return text, self._zone

    def _calendar(self, text: str) -> int | None:
        text, zone = self._without_zone(text)
        text, extra_ns = _short_fraction(text)
        moment = datetime.fromisoformat(text) if self.form == ISO else datetime.strptime(text, self.form)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        passed = moment - _EPOCH
        if not self.has_date:
            passed = moment - datetime(1900, 1, 1, tzinfo=self._zone)
        return (passed.days * 86400 + passed.seconds) * 10**9 + passed.microseconds * 1000 + extra_ns


def _short_fraction(text: str) -> tuple[str, int]:
    """A time with at most six decimals, and the nanoseconds of the others."""
    head, mark, rest = text.rpartition(".")
    if not mark or not head or not head[-1].isdigit():
        head, mark, rest = text.rpartition(",")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))] if mark else ""
    if len(digits) <= 6:
        return (f"{head}.{rest}" if mark == "," and digits else text), 0
    return f"{head}.{digits[:6]}{rest[len(digits) :]}", int(digits[6:9].ljust(3, "0"))


def zone_of(name: str) -> tzinfo:
    """A zone by its IANA name or its offset.

    Raises
    ------
    UsageError
    """
    if name.upper() in ("UTC", "Z", "GMT"):
        return UTC
    if name[:1] in "+-" and len(name) in (5, 6):
        digits = name[1:].replace(":", "")
        if digits.isdigit() and len(digits) == 4 and int(digits[:2]) < 24 and int(digits[2:]) < 60:
            passed = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            return timezone(-passed if name[0] == "-" else passed)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"time zone {name!r} is unknown; write it like Europe/Berlin or +02:00") from error


def forms_of(samples: Sequence[str]) -> list[str]:
    """Forms in which most of some texts are times, the likeliest first; empty if they are none."""
    texts = [text.strip() for text in samples if text.strip()]
    numbers = [number for text in texts if (number := _float(text)) is not None]
    compact = "%Y%m%d%H%M%S"
    if texts and all(len(text) == 14 and Clock(compact).ns(text) is not None for text in texts):
        return [compact]
    if numbers and 2 * len(numbers) >= len(texts):
        constant = len(numbers) > 2 and len(set(numbers)) < 2
        back = sum(later < before for before, later in itertools.pairwise(numbers))
        return [] if back * _FEW_BACK > len(numbers) or constant else [_unit(numbers[0])]
    forms = [ISO]
    for form in CALENDAR:
        forms += [form, form.replace("%S", "%S.%f") if "_%H.%M" not in form else form + ".%f"]
    fits = {form: sum(Clock(form).ns(text) is not None for text in texts) for form in forms}
    best = max(fits.values(), default=0)
    return [form for form in forms if fits[form] == best] if best and 2 * best >= len(texts) else []


def _unit(first: float) -> str:
    """The unit of numbers that count from the Unix epoch, by their size; seconds if they do not."""
    for unit, size in (("ns", 1e18), ("us", 1e15), ("ms", 1e12)):
        if abs(first) >= 0.5 * size:
            return unit
    return "s"


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
