"""What everything is made of: tables and their schemas, traces, the timeline, results, errors and issues."""
