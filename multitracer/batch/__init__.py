"""Many measurements: found, analysed in processes or on a cluster, kept, summed up, compared.

- `run`: the whole of it. `find`, `pairing`: which measurements there are.
- `guard`, `worker`, `work`: one measurement in a process of its own; its record is its cache.
- `executors`: where. `storage`: where to, a directory or a path of fsspec.
- `rows`, `outcome`, `summary`, `output`: tables and files. `parameters`, `study`, `comparison`: studies.
- `index`: the page over all.
- `sides`, `budget`, `difference`, `difference_page`: what is compared, its time by cause, how much differs.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from multitracer.batch.comparison import compare
from multitracer.batch.outcome import Batch
from multitracer.batch.run import batch
from multitracer.batch.study import pivot

__all__ = ["Batch", "batch", "compare", "pivot"]


class _Called(ModuleType):
    """`multitracer.batch` names this package and the function: the package can be called as well."""

    def __call__(self, *arguments: Any, **options: Any) -> Batch:
        return batch(*arguments, **options)


sys.modules[__name__].__class__ = _Called
