"""The renderer for print, on matplotlib."""
