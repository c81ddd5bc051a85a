"""The link models by name: settings in, a link out.

========  =====================================================  =====================
model     what it is                                             settings
========  =====================================================  =====================
rlp       a GSM data call: PPP, L2R, RLP                         `RlpSettings`
arq       stop-and-wait per packet, as Wi-Fi does                `ArqSettings`
rlc_am    radio bearer in acknowledged mode (PDUs, reports)      `RlcAmSettings`
plain     rate, delay, jitter, loss, reordering, ...             `PlainDirection` twice
path      plain links in series, captures between them           `PathSettings`
========  =====================================================  =====================

"interfaces" (`InterfacesSettings`) is no model: the kernel itself carries the packets between real devices.

In ``truth.counts`` frames, queue drops, resets and flushed bytes are counted at the side of the entity that
sent, dropped or flushed; packets (in, out, lost, corrupted, tossed) at the side where they entered the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from multitracer.lab.link import Link
from multitracer.lab.settings import (
    ArqSettings,
    InterfacesSettings,
    RlcAmSettings,
    RlpSettings,
    from_mapping,
    path_settings,
    plain_settings,
)
from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.lab.interfaces import RealLink

MODELS = ("rlp", "arq", "rlc_am", "plain", "path")
INTERFACES = "interfaces"


def build_link(settings: Mapping[str, Any], seed: int) -> Link | RealLink:
    """Make a link; `RealLink` stands for the kernel's own devices.

    Parameters
    ----------
    settings : mapping
        "model" (one of `MODELS`) and any settings of that model; absent ones take their defaults.
    seed : int
        Everything random on the link follows from it: the same seed and the same input repeat a run exactly.

    Raises
    ------
    UsageError
        For an unknown model or setting, or a value that makes no sense; the message names it.
    """
    model = settings.get("model")
    rest = {key: value for key, value in settings.items() if key != "model"}
    if model == "rlp":
        from multitracer.lab.rlp_link import RlpLink

        return RlpLink(from_mapping(RlpSettings, rest), seed)
    if model == "arq":
        from multitracer.lab.arq import ArqLink

        return ArqLink(from_mapping(ArqSettings, rest), seed)
    if model == "rlc_am":
        from multitracer.lab.rlc_am import RlcAmLink

        return RlcAmLink(from_mapping(RlcAmSettings, rest), seed)
    if model == "plain":
        from multitracer.lab.plain import PlainLink

        return PlainLink(plain_settings(rest), seed)
    if model == "path":
        from multitracer.lab.path import PathLink

        return PathLink(path_settings(rest), seed)
    if model == INTERFACES:
        from multitracer.lab.interfaces import RealLink

        return RealLink(from_mapping(InterfacesSettings, rest))
    raise UsageError(f"model: {model!r} is not one of {', '.join((*MODELS, INTERFACES))}")
