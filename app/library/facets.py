"""What runs can be searched by besides their names: options, keys of the campaign file. Pure; foreign values.

The words follow the declarations (keys of campaign files, fields of the plan), spelled as in a campaign file
without quotes and blanks: ``chunk_size=64KiB``, ``wal.options.noatime=true``, ``clients=16``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from app.campaign_file.disks import DISK_FIELDS, GROUP_FIELDS
from app.campaign_file.fields import POSTGRESQL_FIELDS, WORKLOAD_FIELDS
from app.campaign_file.kinds import CampaignField
from app.domain.storage_plan.plan import Group, StoragePlan
from app.runfile.metadata.environment import EnvironmentFacts
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known

_PLAIN: Final = frozenset({"rw"})
"""Mount options that every mount under test has."""

_CHOSEN: Final = frozenset({"user", "filesystem"})
"""Origins of the server settings that somebody chose."""

_KEYS: Final = {each.attribute: each for each in GROUP_FIELDS} | {
    "partition_bytes": next(each for each in GROUP_FIELDS if each.attribute == "partition")
}
"""Keys of a campaign file by field of a group."""


def option_words(run: RunMetadata, environment: EnvironmentFacts) -> tuple[str, ...]:
    """Return mount options, the whole storage plan, and the settings that somebody chose, each once."""
    found = list(environment.mount_options)
    plan = run.target.plan
    if isinstance(plan, StoragePlan):
        found += _plan_words(plan)
    for field in DISK_FIELDS:
        value = getattr(run.target, field.attribute, None)
        if not isinstance(value, NotKnown | None) and field.name != "preset":
            found.append(_word(field, value))
    presets = {"filesystem_preset": run.target.preset, "wal.filesystem_preset": run.target.wal_preset}
    found += [f"{name}={value}" for name, value in presets.items() if isinstance(value, str)]
    for field in POSTGRESQL_FIELDS:
        value = getattr(run.postgresql, field.attribute, None)
        if isinstance(value, bool):
            found.append(f"{field.name}={'on' if value else 'off'}")
        elif not isinstance(value, NotKnown | None):
            found.append(f"{field.name}={value}")
    found += [f"{each.name}={each.value}" for each in known(run.settings, ()) if each.origin in _CHOSEN]
    return tuple(option for option in dict.fromkeys(found) if option not in _PLAIN)


def workload_words(run: RunMetadata) -> tuple[str, ...]:
    """Return the keys of the workload that are known, with scale and scripts."""
    found = []
    for field in WORKLOAD_FIELDS:
        if field.name == "script":
            scripts = known(run.workload.scripts, ())
            found += [
                f"script={each.label}{'' if each.weight == 1 else f'@{each.weight}'}" for each in scripts
            ]
            continue
        value = run.scale if field.name == "scale" else getattr(run.workload, field.attribute, None)
        if not isinstance(value, NotKnown | None):
            found.append(_word(field, value))
    return tuple(found)


def _word(field: CampaignField, value: object) -> str:
    try:
        written = field.kind.write(value)
    except (TypeError, ValueError, AttributeError):  # of a later version
        written = str(value)
    return f"{field.name}={written.replace(' ', '').strip(chr(34))}"


def _plan_words(plan: StoragePlan) -> Iterator[str]:
    for part in fields(plan):
        held = getattr(plan, part.name)
        if isinstance(held, Group):
            yield from _group_words(held, "" if part.name == "data" else f"{part.name}.")
        elif held:
            yield from (f"{part.name}={disk.serial or disk.wwn}" for disk in held)


def _group_words(group: Group, prefix: str) -> Iterator[str]:
    for each in fields(group):
        value = getattr(group, each.name)
        if each.name == "disks":
            yield from (f"{prefix}disk={disk.serial or disk.wwn}" for disk in value)
        elif each.name == "options":
            yield from (f"{prefix}{name}={_option_text(item)}" for name, item in value)
        elif value is not None:
            field = _KEYS.get(each.name)
            yield f"{prefix}{_word(field, value) if field is not None else f'{each.name}={value}'}"


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
