"""List the fields of campaign files for a draft: by dotted name, with the page of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.campaign_file.disks import GROUP_FIELDS
from app.campaign_file.fields import ALIKE, CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField
from app.domain.campaign.configuration import Workload
from app.domain.storage_plan.plan import FURTHER_ROLES
from app.domain.text import tr
from app.draft.fields.state import Step

NAME_LIMIT: Final = 80
SETTINGS: Final = "postgresql.settings"
SCRIPT: Final = "workload.script"
CONNECTION: Final = "target.server.connection"
PHASES: Final = "workload.phase"

FIELDS: Final[dict[str, CampaignField]] = (
    {field.name: field for field in CAMPAIGN_FIELDS}
    | {f"{section}.{field.name}": field for section, fields in SECTIONS.items() for field in fields}
    | {f"target.{target.kind}.{field.name}": field for target in TARGETS for field in target.fields}
)
"""Every field of a campaign file by its dotted name."""

_MADE: Final = frozenset({"data", "level", "filesystem", "preset", "options"})
TYPED_FIELDS: Final = tuple(field for field in GROUP_FIELDS if field.name not in _MADE)
"""Keys of a group besides its disks, level, filesystem and options; `GroupDraft.texts` has their texts."""

_GROUPS: Final = frozenset(role.value for role in FURTHER_ROLES)
_OF_FILESYSTEM: Final = frozenset(
    {"filesystem", "preset", "options", "chunk_size", "bitmap", "initial_sync", "scheduler", "read_ahead"}
)

OF_PAGES: Final = tuple(
    key for key in FIELDS if key.split(".")[0] in SECTIONS and key not in {SETTINGS, PHASES}
)
"""Keys of the pages about PostgreSQL and the workload; settings have their own text, phases a list."""

ON_FIRST_PAGE: Final = tuple(key for key in FIELDS if key.startswith("target.") and "target.disks" not in key)
"""Keys of targets other than spare disks, which have pages of their own."""

CHANGEABLE: Final = tuple(key for key in OF_PAGES if key not in ALIKE)
"""Keys of these that a configuration may change."""

OPTIONAL: Final = tuple(
    field
    for field in SECTIONS["workload"]
    if not field.instead_of and getattr(Workload(), field.attribute) is None
)
"""Fields that may be empty: pgbench or pgFooting then decides."""


_PAGES: Final = {
    **{each.name: Step.WORKLOAD for each in CAMPAIGN_FIELDS},
    "name": Step.MORE,
    "io_baseline": Step.REVIEW,
    "zfs_arc_max": Step.REVIEW,
    "target": Step.WHERE,
    "postgresql": Step.POSTGRESQL,
    "workload": Step.WORKLOAD,
}
"""Pages of keys that are not about disks."""


def step_of(path: str) -> Step:
    """Return the page of a field."""
    if path.startswith("target.disks"):
        keys = path.replace("[", ".").split(".")[2:]
        key = next((key for key in keys if key not in _GROUPS), "")
        return Step.FILESYSTEM if key in _OF_FILESYSTEM else Step.DISKS
    head = path.partition(".")[0].partition("[")[0]
    return _PAGES.get(head, Step.MORE)


def automatic_name(names: Sequence[str]) -> str:
    """Return a name for a campaign from the names it compares."""
    if not names:
        return tr("Benchmark")
    for name in (
        tr(" against ").join(names),
        tr("{first} and {count} others").format(first=names[0], count=len(names) - 1),
    ):
        if len(name) <= NAME_LIMIT:
            return name[:1].upper() + name[1:]
    return tr("Comparison of {count} configurations").format(count=len(names))
