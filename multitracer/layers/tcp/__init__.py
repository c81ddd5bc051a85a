"""Segments of a transfer: where they went, what the sender was doing, what the bottleneck held."""
