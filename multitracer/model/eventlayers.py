"""The layers of the events table, apart from its schema: the command line names them and loads no table."""

from __future__ import annotations

EVENT_LAYERS = ("tcp", "kernel", "link")
