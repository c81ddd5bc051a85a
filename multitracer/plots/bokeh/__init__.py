"""The interactive renderer, on Bokeh."""
