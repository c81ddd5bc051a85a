"""Pairs of lab runs that differ in one cause: what was gained without it."""
