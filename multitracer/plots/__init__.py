"""Figures as data, and their renderers.

A plot is built in two steps that know nothing of each other. `Plot.build` turns a measurement and its
results into a `Figure`: panels of series, marks and spans in NumPy arrays, with units, and *roles* in the
place of colours. A renderer (`mpl` for print) then decides what a role looks like. So the panels are tested
as data, and every renderer shows the same.

- `panel`: what a figure is made of.
- `plot`: the contract of a plot and its options.
- `multilayer`: the multi-layer time/sequence plot of the paper's Figure 5.
- `decimate`: fewer points, same picture.
- `mpl`: matplotlib; PNG, SVG, PDF.
"""
