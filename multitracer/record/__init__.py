"""Recording every layer of a Linux host in one command: ``multitracer record``.

Nothing here reads traces: the room knows errors and the kernel's interfaces only.
"""
