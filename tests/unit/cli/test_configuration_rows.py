"""What `pgfooting show` tells of a run's configuration."""

from __future__ import annotations

from collections.abc import Mapping

from app.cli.commands.runs.show import configuration_rows
from app.domain.json_value import Json
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import read_metadata


def rows(values: Mapping[str, Json]) -> dict[str, str]:
    return dict(configuration_rows(read_metadata(values), read_environment_facts({})))


def test_only_filesystem_settings_shown() -> None:
    described: dict[str, Json] = {
        "settings": [
            {"name": "work_mem", "value": "5MB", "origin": "user"},
            {"name": "full_page_writes", "value": "off", "origin": "filesystem"},
            {"name": "wal_recycle", "value": "off", "origin": "filesystem"},
            "not a setting",
        ]
    }
    assert rows(described)["Settings for the filesystem"] == "full_page_writes=off, wal_recycle=off"


def test_no_filesystem_settings_no_row() -> None:
    for described in (
        {},
        {"settings": None},
        {"settings": [{"name": "a", "value": "b", "origin": "preset"}]},
    ):
        assert rows(described)["Settings for the filesystem"] == ""


def test_unknown_values_have_no_words() -> None:
    assert set(rows({}).values()) == {""}
