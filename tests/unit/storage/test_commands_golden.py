"""The commands of every filesystem, level and preset are exactly those that were looked through."""

from __future__ import annotations

import pytest

from app.domain.filesystems import FILESYSTEMS
from tests.unit.storage.golden_files import GOLDEN, golden_texts

TEXTS = dict(golden_texts())


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_commands_are_byte_for_byte_those_that_were_reviewed(name: str) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert golden == TEXTS[name], "look through it: python -m tests.unit.storage.golden_files, then git diff"


def test_there_is_a_golden_file_for_every_filesystem_and_level_and_none_more() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(TEXTS)
    for spec in FILESYSTEMS:
        for level in spec.levels:
            text = TEXTS[f"{spec.id}-{level.value}.txt"]
            for preset in spec.presets:
                assert f"== {spec.id}, {level.value}, {preset.id}\n" in text
