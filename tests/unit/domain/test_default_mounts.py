"""Defaults of mount options, held to what Linux 6.18 said of plain mounts in /proc/mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.filesystems import filesystem
from app.domain.options.kinds import Stage

RECORDED = Path(__file__).resolve().parents[2] / "data" / "readback" / "default-mounts-6.18.txt"
MOUNTS = dict(line.split() for line in RECORDED.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", MOUNTS)
def test_defaults_of_a_plain_mount(name: str) -> None:
    tokens = tuple(MOUNTS[name].split(","))
    options = [each for each in filesystem(name).options if each.stage is Stage.MOUNT]
    seen = {each.id: each.seen(each.default) for each in options if each.default is not None}
    wrong = {key: token.contradictions(tokens) for key, token in seen.items() if token}
    wrong.pop("dax", None)  # off is asked for by a word that the kernel does not say by itself
    assert {key: each for key, each in wrong.items() if each} == {}
