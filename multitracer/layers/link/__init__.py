"""A reliable link by its log: its path, its resets, its waits, what its bearers did."""
