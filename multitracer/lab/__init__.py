"""The measurement platform: real TCP over a user-space link between network namespaces."""
