"""What one capture, taken anywhere, says of its connections: causes by their share of the time, in sentences.

It works on the entries of ``connections`` (docs/json.md) alone, so that captures read whole, captures
only summed up, and several captures of one transfer get the same answer.
"""
