"""The largest size of ZFS's cache is a property of the machine where ZFS is used, and nothing elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.analysis.properties import properties_of
from app.comparison.differences import compare_properties
from app.domain.json_value import Json
from app.domain.text import GIB
from app.runfile.metadata.environment import read_environment_facts
from tests.known_runs import FACTS, WHOLE

NAME = "ZFS cache limit (zfs_arc_max)"


def facts_with(value: Json, place: str = "storage") -> Mapping[str, Json]:
    parameters: Json = {"filesystem": {"parameters": {"zfs_arc_max": value}}}
    return {**FACTS, place: {**_dict(FACTS.get(place)), **_dict(parameters)}}


def _dict(value: Json | None) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}


@pytest.mark.parametrize("place", ["storage", "wal_storage"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4 * GIB, "4 GiB"),
        (0, "chosen by ZFS (0)"),
        ("4 GiB", ""),
        (True, ""),
        (None, ""),
        ({"unreadable": "no"}, ""),
    ],
)
def test_it_is_told_as_zfs_has_it(value: Json, words: str, place: str) -> None:
    environment = read_environment_facts(facts_with(value, place))
    values = {each.name: each.value for each in properties_of(WHOLE, environment)}
    assert values.get(NAME, "") == words
    assert (environment.arc_max_bytes is None) == (not words)


def test_without_zfs_nothing_is_told() -> None:
    assert NAME not in {each.name for each in properties_of(WHOLE, read_environment_facts(FACTS))}


def test_arc_max_difference() -> None:
    both = [read_environment_facts(facts_with(value)) for value in (4 * GIB, 0)]
    found = compare_properties([tuple(properties_of(WHOLE, each)) for each in both])
    assert [each.name for each in found.differences] == [NAME]
    same = [both[0], replace(both[0])]
    assert compare_properties([tuple(properties_of(WHOLE, each)) for each in same]).differences == ()
