"""Times in which a path was stalled, as one capture shows: what was in flight waited, then arrived."""
