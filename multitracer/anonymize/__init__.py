"""Captures and recordings without real addresses or payload, so that they can be given away.

Addresses keep their prefixes in common (Crypto-PAn), ports stay, checksums stay right or wrong as they were.
"""
