"""The order in which people read the sentences of a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitracer.output.used import is_logged

Object = Mapping[str, Any]


def reading_order(contract: Object) -> list[Object]:
    """The sentences of ``diagnosis`` (docs/json.md), the main cause before an estimate of the utilization.

    Utilization measured with a log of the link stays where it is: it is the result. An estimate from captures
    is no cause, and follows the sentence that names one, and what the kernel's counters have against that.

    Parameters
    ----------
    contract : mapping
    """
    said = list(contract["diagnosis"])
    place = next((at for at, one in enumerate(said) if one["kind"] == "utilization"), None)
    if place is None or place + 1 == len(said) or is_logged(contract["utilization"]):
        return said
    after = place + 2
    while after < len(said) and said[after]["kind"] == "kernel_count":
        after += 1
    return [*said[:place], *said[place + 1 : after], said[place], *said[after:]]
