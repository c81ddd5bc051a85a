"""Figures as panels of series (data), and their renderers."""
