"""Questions: one file each. They never see a path, a format or matplotlib."""
