"""How property tests run: anew each time for a developer, always the same where CI judges."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("explore")
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "explore")
