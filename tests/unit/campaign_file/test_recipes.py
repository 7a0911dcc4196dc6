"""The recipes that ship: each loads, and the example holds every key with its explanation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from app.campaign_file.dimensions import DIMENSION_KEYS
from app.campaign_file.fields import CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField
from app.campaign_file.reader import load_campaign, parse_campaign
from app.campaign_file.recipes.head import (
    DEFAULT_RECIPE,
    QUICK_FIELDS,
    RECIPE_FIELDS,
    RECIPES,
    SERVER_FIELDS,
    list_recipes,
)
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import (
    FolderTarget,
    MemoryTarget,
    default_repeats,
    interleaved_order,
    with_drawn_order,
)
from app.domain.filesystems import FILESYSTEMS

EXAMPLE = (RECIPES / "example.toml").read_text(encoding="utf-8")

EVERY_FIELD = [
    *((("",), field) for field in CAMPAIGN_FIELDS),
    *((("target", target.kind), field) for target in TARGETS for field in target.fields),
    *(((section,), field) for section, fields in SECTIONS.items() for field in fields),
    *((("recipe",), field) for field in RECIPE_FIELDS),
    *((("recipe", "quick"), field) for field in QUICK_FIELDS),
    *((("recipe", "server"), field) for field in SERVER_FIELDS),
]
IDS = [".".join((*table, field.name)).lstrip(".") for table, field in EVERY_FIELD]


def given_keys(document: dict[str, object], prefix: tuple[str, ...] = ()) -> set[str]:
    """Return the dotted keys of a TOML document, those of a configuration as if they stood at the top."""
    keys: set[str] = set()
    for key, value in document.items():
        if key == "configuration" and isinstance(value, list):
            keys |= {found for entry in value for found in given_keys(entry)}
            continue
        keys.add(".".join((*prefix, key)))
        if isinstance(value, dict):
            keys |= given_keys(value, (*prefix, key))
    return keys


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_recipes_load_and_write(path: Path) -> None:
    campaign = load_campaign(path)
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="again") == campaign
    assert campaign.repeats >= default_repeats(len(campaign.configurations)) >= 3  # below is no verdict


@pytest.mark.parametrize(("table", "field"), EVERY_FIELD, ids=IDS)
def test_example_keys_have_descriptions(table: tuple[str, ...], field: CampaignField) -> None:
    dotted = ".".join((*table, field.name)).lstrip(".")
    assert dotted in given_keys(tomllib.loads(EXAMPLE))
    key = rf"(?:{field.name} = |\[(?:configuration\.)?{re.escape(dotted)}\])"
    # the comment directly above the key begins with the sentence
    sentence = "(?: |\n# )".join(map(re.escape, field.sentence.split()))
    assert re.search(rf"^# {sentence}\n(?:#.*\n)*{key}", EXAMPLE, re.MULTILINE)


@pytest.mark.parametrize("key", DIMENSION_KEYS)
def test_matrix_example_keys_have_descriptions(key: str) -> None:
    text = (RECIPES / "example-matrix.toml").read_text(encoding="utf-8")
    written = rf"(?:{key} = |\[\[dimension\.{key}\]\])"
    assert re.search(rf"^# {re.escape(DIMENSION_KEYS[key])}\n(?:#.*\n)*{written}", text, re.MULTILINE)


def test_matrix_example_matches_its_comments() -> None:
    campaign = load_campaign(RECIPES / "example-matrix.toml")
    names = [each.name for each in campaign.configurations]
    assert names[0] == "ext4, clients 1, 4 disks"
    assert len(names) == 4 * (
        5 + 3
    )  # ext4, XFS and two record sizes; eight and sixteen clients on four disks
    assert {name.partition(", c")[0] for name in names} == {
        *("ext4", "xfs", "zfs, recordsize 8 KiB", "zfs, recordsize 128 KiB"),
    }


def test_example_states_defaults() -> None:
    workload = load_campaign(RECIPES / "clients.toml").configurations[0].workload
    assert (workload.protocol, workload.threads) == ("prepared", None)
    for words in (
        'default: "small".',
        "default: 4.",
        "default: 60 s",
        "Default: 10 s",
        "Default: 3, or 5 with three or more configurations.",
    ):
        assert words in EXAMPLE


def test_example_names_every_disk_filesystem() -> None:
    (line,) = re.findall(r"^# The filesystem to create on the disks\.\n# (.*)$", EXAMPLE, re.MULTILINE)
    assert re.findall(r'"(\w+)"', line) == [spec.id for spec in FILESYSTEMS if spec.levels]


def test_default_recipe_folder_against_memory() -> None:
    campaign = load_campaign(RECIPES / f"{DEFAULT_RECIPE}.toml")
    assert [each.target for each in campaign.configurations] == [FolderTarget(), MemoryTarget()]
    runs = interleaved_order(with_drawn_order(campaign))
    assert sorted(run.configuration.name for run in runs) == ["folder"] * 3 + ["memory"] * 3
    pgbench_s = sum(
        (run.configuration.workload.duration_s or 0) + run.configuration.workload.warmup_s for run in runs
    )
    assert 60 <= pgbench_s <= 100  # the rest of two minutes goes to initdb and loading


def test_list_starts_with_default_and_answers() -> None:
    recipes = list_recipes()
    assert recipes[0].name == DEFAULT_RECIPE
    assert {"durability", "checksums", "example"} < {recipe.name for recipe in recipes}
    assert all(10 < len(recipe.summary) <= 110 for recipe in recipes)
    assert all(recipe.summary[-1] in ".?" for recipe in recipes)


def test_folder_without_recipes(tmp_path: Path) -> None:
    assert list_recipes(tmp_path) == ()
