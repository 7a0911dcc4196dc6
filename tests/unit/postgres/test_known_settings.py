from __future__ import annotations

from pathlib import Path

import pytest

from app.postgres.presets import PRESETS

DATA = Path(__file__).parents[2] / "data/postgres"


@pytest.mark.parametrize("version", ["15.18", "18.4"])
def test_every_setting_of_every_preset_exists(version: str) -> None:
    text = (DATA / f"describe-config-{version}.txt").read_text()
    known = {line.partition("\t")[0] for line in text.splitlines()}
    for preset in PRESETS.values():
        assert {rule.name for rule in preset.rules} <= known
