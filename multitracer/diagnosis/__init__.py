"""From results to sentences: chains of cause and effect, findings, explanations of single packets."""
