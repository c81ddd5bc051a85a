"""What parsers of text logs share: JSON, columns of CSV, tables that several formats fill."""
