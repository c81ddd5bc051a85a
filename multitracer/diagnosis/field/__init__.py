"""What one capture, taken anywhere, shows of its connections: causes by share of the time.

It works on the entries of ``connections`` (docs/json.md) alone, so that captures read whole, captures
only summed up, and several captures of one transfer get the same answer.
"""
