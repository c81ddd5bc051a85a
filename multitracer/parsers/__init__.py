"""File formats: one file each, with sniff and parse."""
