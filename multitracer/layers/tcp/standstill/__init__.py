"""Times in which a path stood still, as one capture shows them: what was in flight waited, and then came."""
