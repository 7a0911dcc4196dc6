"""A draft survives the window: what was typed comes back, what was confirmed does not; damage is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from app.campaign_file.kinds import toml
from app.campaign_file.reader import load_campaign
from app.campaign_file.recipes.head import list_recipes
from app.domain.campaign.matrix import Change, DimensionValue, MatrixDimension
from app.domain.options.raid import Level
from app.draft.draft import CampaignDraft
from app.draft.fields.state import (
    ConfigurationDraft,
    DisksDraft,
    DraftParts,
    GroupDraft,
    MadeDraft,
    PhaseDraft,
    Place,
    ScriptDraft,
    put,
)
from app.draft.from_campaign import (
    FILE_NAME,
    DamagedDraftError,
    draft_text,
    first_parts,
    forget_draft,
    keep_draft,
    read_draft_text,
    read_kept_draft,
)
from app.hosts.folders import own_folders
from app.hosts.folders.own_folders import create_state_folder

pytestmark = pytest.mark.usefixtures("own_state_folder")


@pytest.fixture
def own_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test alone, for root as well."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(own_folders, "ROOT_FOLDER", str(tmp_path / "root"))
    return create_state_folder()


def full() -> DraftParts:
    """A draft in which every field says something else than a new one."""
    made = MadeDraft(Level.MIRROR, "xfs", {"xfs": "recommended"}, {"xfs": {"noatime": "true"}})
    disks = DisksDraft(
        GroupDraft(["S1", "S2"], made, {"partition_size": "20 GiB"}), GroupDraft(["S3"]), ["S4"], "2 GiB"
    )
    parts = first_parts()
    parts.values |= {"name": "Tücke “x”\n", "workload.clients": "no number", "time_budget": "8h"}
    parts.seeds, parts.order_seed = (7, 8), 9
    for key in ("workload.scale", "workload.transactions"):
        put(parts.values, key, "7")
    parts.scripts = [ScriptDraft("", "/x.sql", "3")]
    parts.phases = [PhaseDraft({"name": "ü", "rate": "no rate"}, [ScriptDraft("select-only")]), PhaseDraft()]
    parts.disks = disks
    other = parts.configurations[0]
    other.place, other.from_where = Place.OTHER_FOLDER, False
    other.disks, other.made, other.wal_apart = DisksDraft(), made.copy(), False
    other.texts = {
        "target.folder.path": "/srv",
        "postgresql.settings": "a = 1",
        "workload.clients": "8",
    }
    return parts


def test_all_fields_round_trip() -> None:
    parts = full()
    back = read_draft_text(draft_text(parts))
    assert [each for each in back.configurations if each.from_where and each.place is Place.FOLDER]
    back.configurations = back.configurations[: len(parts.configurations)]
    assert back == parts


@pytest.mark.parametrize("recipe", list_recipes(), ids=lambda recipe: recipe.name)
def test_every_recipe_can_be_kept(recipe: object) -> None:
    parts = CampaignDraft.of(load_campaign(recipe.path)).parts  # type: ignore[attr-defined]
    assert read_draft_text(draft_text(parts)) == parts


def test_confirmations_never_kept() -> None:
    parts = full()
    parts.disks.confirmed, parts.agreed = {"S1": "SECRET-TAIL"}, "SECRET-DIGEST"
    text = draft_text(parts)
    assert "SECRET" not in text
    document = json.loads(text)
    document["parts"]["agreed"] = "SECRET-DIGEST"
    document["parts"]["disks"]["confirmed"] = {"S1": "SECRET-TAIL"}
    back = read_draft_text(json.dumps(document))
    assert (back.agreed, back.disks.confirmed) == ("", {})


def test_missing_fields_default_unknown_ignored() -> None:
    text = json.dumps({"format": 1, "parts": {"values": {"name": "x", "later.key": "y"}, "later": 3}})
    parts = read_draft_text(text)
    assert parts.values["name"] == "x"
    assert "later.key" not in parts.values
    assert parts.values.keys() == first_parts().values.keys()
    assert CampaignDraft(parts).configuration_of(Place.MEMORY).from_where


@pytest.mark.parametrize("raw", [4, True, "xfs", 0.5, ["S1"], {"file": "/x.sql", "weight": 2}])
def test_earlier_values_of_dimensions(raw: object) -> None:
    parts = first_parts()
    parts.dimensions = [MatrixDimension("d", (DimensionValue("v", (Change(("a", "b"), raw),)),), "a.b")]
    now = json.dumps({"key": ["a", "b"], "value": raw})
    earlier = json.dumps({"key": ["a", "b"], "text": toml(raw)})
    assert now in draft_text(parts)
    assert read_draft_text(draft_text(parts).replace(now, earlier)) == parts


@pytest.mark.parametrize(
    ("place", "own", "texts"),
    [
        ("other-folder", {"text": "/srv"}, {"target.folder.path": "/srv"}),
        ("other-memory", {"text": "2 GiB", "room": ""}, {"target.memory.size": "2 GiB"}),
        (
            "other-server",
            {"text": "host=a", "room": "1 GiB", "ssh": "b"},
            {"target.server.connection": "host=a", "target.server.room": "1 GiB", "target.server.ssh": "b"},
        ),
        (
            "disks",
            {
                "text": "/srv",
                "settings": "a = 1",
                "changes": [{"key": "workload.rate", "text": ""}, {"key": "later.key", "text": "8"}],
            },
            {"postgresql.settings": "a = 1", "workload.rate": ""},
        ),
        ("folder", {"text": "", "changes": []}, {}),
    ],
)
def test_configuration_of_format_1(place: str, own: dict[str, object], texts: dict[str, str]) -> None:
    configuration = {"name": "c", "place": place, **own}
    parts = read_draft_text(json.dumps({"format": 1, "parts": {"configurations": [configuration]}}))
    assert parts.configurations[0] == ConfigurationDraft("c", Place(place), texts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": 1}',
        '{"format": 4, "parts": {}}',
        '{"format": 1, "parts": []}',
        '{"format": 1, "parts": {"values": []}}',
        '{"format": 1, "parts": {"values": {"name": 3}}}',
        '{"format": 1, "parts": {"order_seed": true}}',
        '{"format": 1, "parts": {"seeds": ["1"]}}',
        '{"format": 1, "parts": {"size_choice": "huge"}}',
        '{"format": 1, "parts": {"configurations": [{"place": "memory"}]}}',
        '{"format": 1, "parts": {"configurations": [{"name": "c", "place": []}]}}',
        '{"format": 1, "parts": {"configurations": [{"name": "c", "place": "folder", "room": 3}]}}',
        '{"format": 1, "parts": {"configurations": [{"name": "c", "place": "folder", "changes": "a"}]}}',
        '{"format": 1, "parts": {"disks": {"data": {"made": {"level": "raid99"}}}}}',
        '{"format": 1, "parts": {"dimensions": [{"key": ["a"], "text": "{"}]}}',
        '{"format": 1, "parts": {"scripts": ' + "[" * 100_000,
    ],
)
def test_invalid_draft_reported_and_removed(text: str) -> None:
    keep_draft(text)
    with pytest.raises(DamagedDraftError):
        read_kept_draft()
    assert read_kept_draft() is None


def test_draft_atomic_private_and_forgotten(own_state_folder: Path) -> None:
    assert read_kept_draft() is None
    forget_draft()
    for parts in (first_parts(), full()):
        keep_draft(draft_text(parts))
    assert [path.name for path in own_state_folder.iterdir()] == [FILE_NAME]
    assert (own_state_folder / FILE_NAME).stat().st_mode & 0o777 == 0o600
    kept = read_kept_draft()
    assert kept is not None
    assert kept.values == full().values
    forget_draft()
    assert read_kept_draft() is None


def test_unwritable_state_is_silent(own_state_folder: Path) -> None:
    if os.geteuid() != 0:  # the mode of root's folder is set again
        own_state_folder.chmod(0o777)  # others could write there
        keep_draft(draft_text(full()))
        assert not (own_state_folder / FILE_NAME).exists()
        assert read_kept_draft() is None
        own_state_folder.chmod(0o700)
    os.mkfifo(own_state_folder / f".{FILE_NAME}.other")
    (own_state_folder / FILE_NAME).mkdir()
    keep_draft(draft_text(full()))
    assert read_kept_draft() is None
