"""What several modules of the storage's tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.storage.inspect.sources import SourceFolders
from tests.unit.storage.fake_machine import fake_machine


@pytest.fixture
def places(tmp_path: Path) -> SourceFolders:
    return fake_machine(tmp_path)
