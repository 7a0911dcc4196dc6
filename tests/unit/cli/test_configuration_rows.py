"""What `pgfooting show` tells of a run's configuration."""

from __future__ import annotations

from collections.abc import Mapping

from app.cli.commands.runs.show import configuration_rows
from app.domain.json_value import Json
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import read_metadata


def rows(values: Mapping[str, Json]) -> dict[str, str]:
    return dict(configuration_rows(read_metadata(values), read_environment_facts({})))


def test_server_settings_that_a_filesystem_gave_are_shown_and_no_others() -> None:
    described: dict[str, Json] = {
        "settings": [
            {"name": "work_mem", "value": "5MB", "origin": "user"},
            {"name": "full_page_writes", "value": "off", "origin": "filesystem"},
            {"name": "wal_recycle", "value": "off", "origin": "filesystem"},
            "not a setting",
        ]
    }
    assert rows(described)["by the filesystem"] == "full_page_writes=off, wal_recycle=off"


def test_a_run_without_such_settings_says_nothing_of_them() -> None:
    for described in (
        {},
        {"settings": None},
        {"settings": [{"name": "a", "value": "b", "origin": "preset"}]},
    ):
        assert rows(described)["by the filesystem"] == ""


def test_what_a_file_does_not_tell_has_no_words() -> None:
    assert set(rows({}).values()) == {""}
