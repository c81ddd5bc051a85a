"""A reliable link's log: its path, its resets, when it was idle and why."""
