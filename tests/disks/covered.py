"""What a layout stands for in the machine tier, and what of it was proved on loop devices instead."""

from __future__ import annotations

import os
from pathlib import Path

from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.raid import Level

_VARIABLE = "PGFOOTING_COVERED"
"""The file with a line for each word that is proved; packaging/tiers.sh says where it lies."""


def words_of(spec: FilesystemSpec, level: Level, preset: FilesystemPreset) -> tuple[str, ...]:
    """Return the words that tell filesystem, level and preset."""
    return (
        f"filesystem {spec.id}",
        f"level {spec.assembler(level).value} {level.value}",
        f"preset {spec.id} {preset.id}",
    )


def record_covered(words: tuple[str, ...]) -> None:
    """Note, where somebody wants to know, that a layout was made and unmade on this machine's own kernel."""
    if _VARIABLE in os.environ:
        with Path(os.environ[_VARIABLE]).open("a") as file:
            file.writelines(f"{word}\n" for word in words)


def recorded_covered() -> frozenset[str]:
    """Return the words that were noted; none where nobody asked."""
    try:
        return frozenset(Path(os.environ[_VARIABLE]).read_text().splitlines())
    except (KeyError, FileNotFoundError):
        return frozenset()
