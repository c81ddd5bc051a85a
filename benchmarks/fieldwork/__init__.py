"""Parts of ``benchmarks/field.py``: random measurements with truth, and what one capture of each is made of."""
