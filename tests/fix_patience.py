"""What is waited for in a window may take as long as it takes: a busy machine makes no test fail."""

from __future__ import annotations

import inspect

from pytestqt.qtbot import QtBot

PATIENCE_MS = 60_000
"""For what happens; only what does not happen lasts that long, and a test ends after 300 s."""


def _wait_longer() -> None:
    """Replace pytest-qt's 5 s, which nothing else can change, wherever a test names no time of its own."""
    for _, method in inspect.getmembers(QtBot, inspect.isfunction):
        defaults = method.__kwdefaults__
        if defaults is not None and defaults.get("timeout") == 5_000:
            defaults["timeout"] = PATIENCE_MS


_wait_longer()
