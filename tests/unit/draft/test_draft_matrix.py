"""A matrix in the draft: opened and saved without a change, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from app.campaign_file.reader import parse_campaign
from app.campaign_file.recipes.head import Recipe, list_recipes
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import BuiltinScript, Campaign
from app.domain.campaign.matrix import Matrix
from app.domain.errors import CampaignError
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.kinds import Choice, Toggle
from app.domain.options.option_spec import OptionSpec
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, DraftParts
from app.draft.from_campaign import draft_text, parts_of, read_draft_text
from app.draft.machine_answers import answer
from app.postgres.settings import Machine
from app.process.starter import current_account

HERE = DraftEnvironment(Machine(8 << 30, None, 4), current_account())
WITH_MATRIX = [each for each in list_recipes() if "\n[[dimension]]" in each.path.read_text(encoding="utf-8")]


def parse(text: str, folder: Path | str = "/") -> Campaign:
    return parse_campaign(text, base_directory=folder, source_name="trial")


def campaign_of(parts: DraftParts) -> Campaign:
    draft = CampaignDraft(parts, HERE)
    while draft.built.questions:
        draft.take(answer(draft.built.questions[0], HERE))
    assert draft.built.problems == ()
    assert draft.built.campaign is not None
    return draft.built.campaign


def matrix_of(campaign: Campaign) -> Matrix:
    assert campaign.matrix is not None
    return campaign.matrix


def keeps(campaign: Campaign) -> None:
    """A campaign is the same through draft, kept draft and file."""
    parts = parts_of(campaign)
    saved = campaign_of(parts)
    assert matrix_of(saved).dimensions == matrix_of(campaign).dimensions
    assert matrix_of(saved).exclusions == matrix_of(campaign).exclusions
    assert matrix_of(saved).cells == matrix_of(campaign).cells
    assert saved.configurations == campaign.configurations
    assert parse(format_campaign(saved)) == saved
    assert campaign_of(read_draft_text(draft_text(parts))) == saved
    assert campaign_of(parts_of(saved)) == saved


@pytest.mark.parametrize("recipe", WITH_MATRIX, ids=lambda each: each.name)
def test_recipe_dimensions_survive_save(recipe: Recipe) -> None:
    text = recipe.path.read_text(encoding="utf-8")
    keeps(parse(text, recipe.path.parent))


# --- matrices drawn from the declarations


def _values(option: OptionSpec) -> list[str]:
    match option.kind:
        case Toggle():
            return ["true", "false"]
        case Choice(ids=ids):
            return [f'"{each}"' for each in ids]
        case number:
            powers = (1 << power for power in range(40))
            found = [*number.also, number.minimum, number.maximum, *powers]
            return [str(each) for each in dict.fromkeys(found) if number.accepts(each)][:6]


OF_OPTIONS = {
    f"target.disks.options.{option.id}": _values(option) for spec in FILESYSTEMS for option in spec.options
}
OF_DISKS = {
    "target.disks.level": ['"mirror"', '"stripe"', '"raid10"'],
    "target.disks.preset": [
        f'"{preset}"' for preset in dict.fromkeys(each.id for spec in FILESYSTEMS for each in spec.presets)
    ],
    "target.disks.scheduler": ['"none"', '"mq-deadline"'],
    "target.disks.read_ahead": ["0", '"128 KiB"', '"4 MiB"'],
    "target.disks.bitmap": ['"none"', '"internal"'],
    "target.disks.partition_size": ['"20 GiB"', '"whole"'],
}
ELSEWHERE = {
    "postgresql.checksums": ["true", "false"],
    "postgresql.preset": ['"machine"', '"defaults"'],
    "postgresql.settings.work_mem": ['"1MB"', '"64MB"'],
    "postgresql.settings.full_page_writes": ['"on"', '"off"'],
    "workload.clients": ["4", "8", "16"],
    "workload.scale": ["1", "20", "300"],
    "workload.rate": ["10", "1000"],
    "workload.caches": ['"warm"', '"cold"'],
    "workload.script": [f'"{each.value}"' for each in BuiltinScript],
}
NAMES = [spec.id for spec in FILESYSTEMS if spec.levels]


@st.composite
def campaigns(draw: st.DrawFn) -> str:
    """Draw a file on four disks with dimensions, some of which are tables, and what is left out."""
    lines = ['name = "trial"', "[target.disks]", 'data = ["S1", "S2", "S3", "S4"]']
    listed: dict[str, list[str]] = {}
    if draw(st.booleans()):
        lines.append(f'filesystem = "{draw(st.sampled_from(NAMES))}"')
    if draw(st.booleans()):
        lines.append('level = "mirror"')
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    listed["target.disks.filesystem"] = [f'"{each}"' for each in names]
    specs = [spec for spec in FILESYSTEMS if spec.id in names]
    own = [f"target.disks.options.{each.id}" for spec in specs for each in spec.options]
    for keys, most in ((own, 2), (sorted(OF_DISKS), 1), (sorted(ELSEWHERE), 2)):
        for key in draw(st.lists(st.sampled_from(keys), max_size=most, unique=True)):
            values = (OF_OPTIONS | OF_DISKS | ELSEWHERE)[key]
            listed[key] = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
    for number, (key, values) in enumerate(listed.items()):
        lines += ["[[dimension]]", f'name = "d {number}"']
        if draw(st.booleans()):
            lines += [f'key = "{key}"', f"values = [{', '.join(values)}]"]
            continue
        for place, value in enumerate(values):
            lines += ["[[dimension.value]]", f'name = "v{place}"', f"{key} = {value}"]
        if draw(st.booleans()):
            lines += ["[[dimension.value]]", 'name = "as it is"']
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("start", "other", "key", "values"),
    [
        ("btrfs", "ext4", "target.disks.options.commit", "3600"),
        ("btrfs", "ext4", "target.disks.options.commit", "3600, 60"),
        ("ext4", "btrfs", "postgresql.settings.full_page_writes", '"off"'),
    ],
)
def test_value_for_one_dimension_filesystem_kept(start: str, other: str, key: str, values: str) -> None:
    text = (
        f'name = "trial"\n[target.disks]\ndata = ["S1", "S2"]\nfilesystem = "{start}"\nlevel = "mirror"\n'
        f'[[dimension]]\nname = "filesystem"\nkey = "target.disks.filesystem"\nvalues = ["{other}"]\n'
        f'[[dimension]]\nname = "more"\nkey = "{key}"\nvalues = [{values}]\n'
    )
    keeps(parse(text))


@settings(deadline=None, max_examples=40)
@given(campaigns(), st.data())
def test_matrices_round_trip(text: str, data: st.DataObject) -> None:
    try:
        campaign = parse(text)
    except CampaignError:  # what does not go together
        reject()
    cells = matrix_of(campaign).cells
    if len(cells) > 1 and data.draw(st.booleans()):
        gone = data.draw(st.sampled_from(cells))
        words = [
            f'"{each.name}" = "{each.values[value].name}"'
            for each, value in zip(matrix_of(campaign).dimensions, gone, strict=True)
            if value is not None
        ]
        campaign = parse("\n".join([text, "[[exclude]]", *words]))
    keeps(campaign)
