"""What an expert would say about a transfer: sentences with numbers, evidence and pictures."""
