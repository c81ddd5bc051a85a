"""What an expert would report about a transfer: sentences with numbers, evidence and pictures."""
