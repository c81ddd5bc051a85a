"""What figures share of their content: series of each layer, marks, titles, selections."""
