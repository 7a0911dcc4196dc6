"""A setting that nobody chose is what the server has, never “none”."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.comparison.differences import find_differences
from app.runfile.metadata.run_metadata import SettingMetadata
from app.runfile.writer import SERVER_DEFAULTS, Json
from tests.known_runs import FACTS, WHOLE, write_known

DEFAULTS: dict[str, Json] = {"full_page_writes": "on", "max_connections": "100", "shared_buffers": "128MB"}


def run(folder: Path, name: str, chosen: dict[str, str], defaults: dict[str, Json]) -> RunFacts:
    settings = tuple(SettingMetadata(name=key, value=value, origin="user") for key, value in chosen.items())
    told: Json = {key: {"value": value, "source": "configuration file"} for key, value in chosen.items()}
    others: Json = {key: value for key, value in defaults.items() if key not in chosen}
    facts = FACTS | {"server": {"settings": told}, SERVER_DEFAULTS: others}
    path = folder / f"{name}.footing"
    write_known(path, replace(WHOLE, id=name * 16, settings=settings), facts)
    return read_run_facts(path)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"full_page_writes": "on", "max_connections": "100"}, []),
        ({"full_page_writes": "off"}, [("full_page_writes", ["off", "on"])]),
        ({"shared_buffers": "8GB"}, [("shared_buffers", ["8GB", "128MB"])]),
        ({"work_mem": "4MB"}, [("work_mem", ["4MB", "none"])]),
    ],
)
def test_unchosen_is_the_servers_default(
    tmp_path: Path, chosen: dict[str, str], told: list[tuple[str, list[str]]]
) -> None:
    found = find_differences([run(tmp_path, "a", chosen, DEFAULTS), run(tmp_path, "b", {}, DEFAULTS)])
    assert [(each.name, [variant.value for variant in each.variants]) for each in found] == told


def test_defaults_are_no_differences_of_their_own(tmp_path: Path) -> None:
    other = DEFAULTS | {"shared_buffers": "1GB"}  # as another version of PostgreSQL has it
    found = find_differences([run(tmp_path, "a", {}, DEFAULTS), run(tmp_path, "b", {}, other)])
    assert found == ()
