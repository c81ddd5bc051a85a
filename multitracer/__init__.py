"""MultiTracer: packet captures, kernel TCP logs and link-layer logs of one transfer on one timeline.

>>> import multitracer as mt
>>> m = mt.read("sample_traces/flow-control")
>>> a = mt.analyze(m)
>>> round(a.utilization.value, 2) > 0.9
True

Importing this package loads nothing heavy: each name below is loaded when it is first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitracer.api.analysis import Analysis as Analysis
    from multitracer.api.measurement import Measurement as Measurement, align as align
    from multitracer.api.pipeline import analyze as analyze, plot as plot, read as read
    from multitracer.batch import Batch as Batch, batch as batch
    from multitracer.batch.difference import Difference as Difference
    from multitracer.batch.sides import compare as compare
    from multitracer.model import errors as errors
    from multitracer.reading.opening import open_trace as open_trace

    __version__: str

_LAZY = {
    "batch": "multitracer.batch",
    "Batch": "multitracer.batch",
    "compare": "multitracer.batch.sides",
    "Difference": "multitracer.batch.difference",
    "read": "multitracer.api.pipeline",
    "open_trace": "multitracer.reading.opening",
    "align": "multitracer.api.measurement",
    "analyze": "multitracer.api.pipeline",
    "plot": "multitracer.api.pipeline",
    "Measurement": "multitracer.api.measurement",
    "Analysis": "multitracer.api.analysis",
}

_MODULES = {"errors": "multitracer.model.errors"}

__all__ = [
    "Analysis",
    "Batch",
    "Difference",
    "Measurement",
    "__version__",
    "align",
    "analyze",
    "batch",
    "compare",
    "errors",
    "open_trace",
    "plot",
    "read",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # importlib.metadata would return the same, and takes longer to load than a capture to read.
        from multitracer.native import VERSION

        value: Any = VERSION
    elif name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(_LAZY[name]), name)
    elif name in _MODULES:
        from importlib import import_module

        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
