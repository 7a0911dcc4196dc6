from __future__ import annotations

from pathlib import Path

import pytest

from app.postgres.known_settings import parse_known_settings
from app.postgres.presets import PRESETS

DATA = Path(__file__).parents[2] / "data/postgres"


def _known(version: str) -> dict[str, str]:
    text = (DATA / f"describe-config-{version}.txt").read_text()
    return {setting.name: setting.kind for setting in parse_known_settings(text)}


@pytest.mark.parametrize(("version", "count"), [("15.18", 307), ("18.4", 347)])
def test_every_line_is_a_setting(version: str, count: int) -> None:
    known = _known(version)
    assert len(known) == count
    assert set(known.values()) == {"BOOLEAN", "INTEGER", "REAL", "STRING", "ENUM"}


def test_a_setting_is_read_in_full() -> None:
    text = (DATA / "describe-config-15.18.txt").read_text()
    [found] = [setting for setting in parse_known_settings(text) if setting.name == "archive_timeout"]
    assert (found.context, found.category) == ("sighup", "Write-Ahead Log / Archiving")
    assert (found.default, found.minimum, found.maximum) == ("0", "0", "1073741823")
    assert found.description.startswith("Sets the amount of time to wait")


@pytest.mark.parametrize("version", ["15.18", "18.4"])
def test_every_setting_of_every_preset_exists(version: str) -> None:
    known = _known(version)
    for preset in PRESETS.values():
        assert {rule.name for rule in preset.rules} <= set(known)


def test_a_cut_line_is_left_out() -> None:
    assert parse_known_settings("fsync\tsighup\tWrite-Ahead\n") == ()
