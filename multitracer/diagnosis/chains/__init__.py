"""Chains of cause and effect across the layers: rules that join events, before words."""
