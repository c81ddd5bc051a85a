"""Settings of the link models: one documented dataclass per model, units in the names, values checked."""

from __future__ import annotations

from multitracer.lab.settings.air import (
    AirSettings as AirSettings,
)
from multitracer.lab.settings.arq import (
    ArqSettings as ArqSettings,
)
from multitracer.lab.settings.interfaces import (
    InterfacesSettings as InterfacesSettings,
    QdiscSettings as QdiscSettings,
)
from multitracer.lab.settings.path import (
    PathSettings as PathSettings,
    path_settings as path_settings,
)
from multitracer.lab.settings.plain import (
    PlainDirection as PlainDirection,
    PlainSettings as PlainSettings,
    plain_settings as plain_settings,
)
from multitracer.lab.settings.queue import (
    QueueSettings as QueueSettings,
)
from multitracer.lab.settings.rlc_am import (
    RlcAmSettings as RlcAmSettings,
)
from multitracer.lab.settings.rlp import (
    RlpSettings as RlpSettings,
)
from multitracer.lab.settings.values import (
    from_mapping as from_mapping,
    one_of as one_of,
    within as within,
)
