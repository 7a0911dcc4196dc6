"""Words that people try as commands, and what they mean by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MEANT: Final[Mapping[str, str]] = {
    "bench": "run",
    "benchmark": "run",
    "check": "doctor",
    "diff": "compare",
    "gate": "compare BASE NEW --worse-than 3%",
    "--headless": "run quick",
    "gui": "open",
    "ls": "list",
    "measure": "run",
    "pdf": "report",
    "resume": "run --resume",
    "window": "open",
}
"""What to type instead, by the word; each begins with a command that there is."""
