"""Parts of ``benchmarks/record.py``: random recordings, their truth, and the score."""
