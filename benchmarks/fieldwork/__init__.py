"""Parts of ``benchmarks/field.py``: random measurements, their truth, and the score."""
