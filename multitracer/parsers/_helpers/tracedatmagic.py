"""How a trace.dat begins: known without what reads one, as each log is asked for it."""

from __future__ import annotations

MAGIC = b"\x17\x08\x44tracing"
