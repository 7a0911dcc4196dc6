"""The commands of every filesystem, level and preset are exactly those that were looked through."""

from __future__ import annotations

from app.domain.filesystems import FILESYSTEMS
from tests.unit.storage.golden_files import GOLDEN, golden_texts


def test_commands_match_golden_files() -> None:
    texts = dict(golden_texts())  # made here: who takes a check out of the code does it after the import
    golden = {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.iterdir()}
    assert set(golden) == set(texts), "a golden file for every filesystem and level, and none more"
    for name, text in texts.items():
        assert golden[name] == text, (
            f"look through {name}: python -m tests.unit.storage.golden_files, then git diff"
        )


def test_golden_files_are_complete() -> None:
    for spec in FILESYSTEMS:
        for level in spec.levels:
            text = (GOLDEN / f"{spec.id}-{level.value}.txt").read_text(encoding="utf-8")
            for preset in spec.presets:
                assert f"== {spec.id}, {level.value}, {preset.id}\n" in text
