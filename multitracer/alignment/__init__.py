"""Traces of one transfer on one timeline."""

from multitracer.alignment.alone import alone
from multitracer.alignment.assemble import align

__all__ = ["align", "alone"]
