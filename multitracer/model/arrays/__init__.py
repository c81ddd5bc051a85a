"""Arithmetic on arrays: intervals, groups, distinct values, straight lines, statistics."""
