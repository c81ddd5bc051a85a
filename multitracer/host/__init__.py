"""The layers of a recorded host around TCP: the way of each packet, the calls of applications."""

from __future__ import annotations

from multitracer.host.calls import calls as calls
from multitracer.host.packets import Elsewhere as Elsewhere, ways as ways
from multitracer.host.segments import join as join
