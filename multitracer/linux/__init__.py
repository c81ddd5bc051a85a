"""What both the lab and the recorder ask of the system: signals, processes, counters."""
