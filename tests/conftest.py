"""What every test session does: loads the fixtures of fix_*.py.

No test fails because the machine is busy: what Hypothesis generates may take as long as it takes.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins: list[str] = [f"tests.{path.stem}" for path in sorted(Path(__file__).parent.glob("fix_*.py"))]
# Some import others, and what is imported before pytest knows of it would be an error.
pytest.register_assert_rewrite(*pytest_plugins, "tests.machine.disk_keys")

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("any machine"), max_examples=20)  # packaging/tiers.sh
settings.load_profile("any machine")

# A test of a window needs no display: Qt would abort the whole session where it finds none.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Programs that tests start find `app` and `ui` as pytest does, whatever PYTHONPATH is.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")))
)
# Debian gives an ordinary user no folder of wipefs, sfdisk or mkfs, which tests start by name.
os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def pytest_collection_finish() -> None:
    """Look no more for rubbish among the tests themselves, which live until the end."""
    gc.collect()
    gc.freeze()
