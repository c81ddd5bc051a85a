"""The command line. click and rich stay in here; each command is one small file, loaded when it is used."""

import gc

# What is loaded stays: to search it for cycles, once for each 700 objects, takes 3 ms of a start.
gc.set_threshold(100_000, 50, 50)
