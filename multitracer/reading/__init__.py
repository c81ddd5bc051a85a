"""From the paths that a user gives to traces: discovery, remote files, rotated captures, recognition."""
