"""A setting that nobody chose is what the server has, never “none”."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import SETTING, SETTINGS, Property
from app.comparison.comparison import compare_runs
from app.comparison.differences import find_differences
from app.domain.json_value import Json
from app.postgres.settings import Setting
from app.runfile.writer import SERVER_DEFAULTS
from tests.known_runs import FACTS, WHOLE, write_known

SETTINGS_UNKNOWN = Property(SETTING, SETTINGS, "", is_shown=False, is_known=False)
DEFAULTS: dict[str, Json] = {"full_page_writes": "on", "max_connections": "100", "shared_buffers": "128MB"}


def run(folder: Path, name: str, chosen: dict[str, str], defaults: dict[str, Json]) -> RunFacts:
    settings = tuple(Setting(name=key, value=value, origin="user") for key, value in chosen.items())
    values: Json = {key: {"value": value, "source": "configuration file"} for key, value in chosen.items()}
    others: Json = {key: value for key, value in defaults.items() if key not in chosen}
    facts = FACTS | {"server": {"settings": values}, SERVER_DEFAULTS: others}
    path = folder / f"{name}.footing"
    write_known(path, replace(WHOLE, id=name.ljust(16, "0"), settings=settings), facts)
    return read_run_facts(path)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"full_page_writes": "on", "max_connections": "100"}, []),
        ({"full_page_writes": "off"}, [("full_page_writes", ["off", "on"])]),
        ({"shared_buffers": "8GB"}, [("shared_buffers", ["8GB", "128MB"])]),
        ({"work_mem": "4MB"}, [("work_mem", ["4MB", "not set"])]),
    ],
)
def test_unchosen_is_the_servers_default(
    tmp_path: Path, chosen: dict[str, str], expected: list[tuple[str, list[str]]]
) -> None:
    found = find_differences([run(tmp_path, "a", chosen, DEFAULTS), run(tmp_path, "b", {}, DEFAULTS)])
    assert [(each.name, [variant.value for variant in each.variants]) for each in found] == expected


def test_defaults_are_no_differences_of_their_own(tmp_path: Path) -> None:
    other = DEFAULTS | {"shared_buffers": "1GB"}  # as another version of PostgreSQL has it
    found = find_differences([run(tmp_path, "a", {}, DEFAULTS), run(tmp_path, "b", {}, other)])
    assert found == ()


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"shared_buffers": "128MB"}, {"shared_buffers": "8GB"}, ["128MB", "8GB"]),
        ({"shared_buffers": "8GB"}, {}, ["8GB", "128MB"]),
        ({"shared_buffers": "8GB"}, {"shared_buffers": "8GB"}, []),
        ({}, {"max_connections": "100"}, []),
    ],
)
def test_settings_under_one_name_are_two_configurations(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], names: list[str]
) -> None:
    runs = [
        replace(run(tmp_path, f"{number}{repeat}", chosen, DEFAULTS), repeat=repeat)
        for repeat in range(3)
        for number, chosen in enumerate((first, second))
    ]
    found = compare_runs(runs)
    assert [group.name for group in found.groups] == (
        [f"{runs[0].configuration}, shared_buffers {value}" for value in names] or [runs[0].configuration]
    )
    assert len(found.rows) == max(1, len(names))


def test_unknown_settings_same_group(tmp_path: Path) -> None:
    found = run(tmp_path, "a", {"shared_buffers": "8GB"}, DEFAULTS)
    kept = [
        tuple(item for item in items if item.topic != SETTING) for items in (found.properties, found.others)
    ]
    unlisted = replace(found, id="b", repeat=1, properties=kept[0], others=(*kept[1], SETTINGS_UNKNOWN))
    assert len(compare_runs([found, unlisted]).groups) == len(compare_runs([unlisted, found]).groups) == 1
