"""Which process it is whose number the bus tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.helper.storage import ownership
from app.helper.storage.ownership import Process


def test_process_identified_by_number_and_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_PROC", tmp_path)
    process = tmp_path / "7"
    process.mkdir()
    for name in ("x", "a) b (c) R 1"):
        fields = " ".join(map(str, range(3, 53)))
        (process / "stat").write_text(f"7 ({name}) {fields}\n")
        assert Process.of(7) == Process(7, "22")
    assert Process.of(8) is None
