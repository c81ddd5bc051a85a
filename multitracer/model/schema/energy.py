"""The table of energy: what nodes of a simulation have left."""

from __future__ import annotations

from multitracer.model.schema.columns import RECORD, SOURCE, TIME, Column, Schema

ENERGY = Schema(
    "energy",
    "Remaining energy of nodes, one row per change.",
    (
        TIME,
        SOURCE,
        RECORD,
        Column("node", "int32", "", "number of the node"),
        Column("left", "float64", "J", "energy left"),
    ),
)
