"""``python -m multitracer``: the command line."""

from __future__ import annotations

import sys

from multitracer.cli.main import main

sys.exit(main())
