"""Write campaign files: keys common to all configurations at the top, the others with each of them.

``parse_campaign(format_campaign(campaign))`` equals the campaign; the wizard and the run folder use it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from app.campaign_file.fields import CAMPAIGN_FIELDS, SECTIONS, TARGETS, attributes
from app.campaign_file.kinds import CampaignField, Key, bare_key, quote, toml
from app.campaign_file.partial import SETTINGS, TARGET, alike
from app.domain.campaign.configuration import Campaign, Configuration
from app.domain.campaign.matrix import Matrix, RunOrder
from app.domain.campaign.phases import all_scripts

_NEVER_SAID: Final = frozenset({"repeat_disturbed = 0", 'design = "fixed"'})
_WARM: Final = 'caches = "warm"'
_ORDER_KEYS: Final = frozenset({"order", "order_seed"})
_OF_NO_CONSEQUENCE: Final = frozenset({"time_budget", "remarks", "question", "figures"})
"""Keys that do not change the measurement: a campaign may be continued with other values."""


def format_campaign(campaign: Campaign) -> str:
    """Return TOML that parses back to an equal campaign.

    Script files are given by absolute path, without their text.

    Args:
        campaign: valid, as from `app.campaign_file.reader`.
    """
    lines = _lines(_plain(attributes(campaign), CAMPAIGN_FIELDS))
    if campaign.matrix is not None:
        return "\n".join([*lines, *_matrix(campaign.matrix)]) + "\n"
    made = [_keys_of(configuration) for configuration in campaign.configurations]
    shared = alike(made)
    lines += _tables(shared)
    if len(made) > 1 or campaign.configurations[0].name != campaign.name:
        for configuration, keys in zip(campaign.configurations, made, strict=True):
            own = {("configuration", *key): raw for key, raw in keys.items() if key not in shared}
            lines += ["", "[[configuration]]", f"name = {quote(configuration.name)}", *_tables(own)]
    return "\n".join(lines) + "\n"


def _keys_of(configuration: Configuration) -> dict[Key, Any]:
    """Return the plain value of each key; a target is one table, because it is replaced as a whole."""
    target = next(target for target in TARGETS if target.kind == configuration.target.kind)
    keys: dict[Key, Any] = {(TARGET, target.kind): _plain(target.values(configuration.target), target.fields)}
    for section, fields in SECTIONS.items():
        values = attributes(getattr(configuration, section))
        keys |= {(section, key): raw for key, raw in _plain(values, fields).items()}
    settings = keys.pop(SETTINGS, {})
    return keys | {(*SETTINGS, name): text for name, text in settings.items()}


def _plain(values: Mapping[str, Any], fields: Iterable[CampaignField]) -> dict[str, Any]:
    """Return the plain value of each given attribute by its key."""
    given = ((field, values[field.attribute]) for field in fields)
    return {
        field.name: field.kind.plain(value) for field, value in given if value is not None and value != ()
    }


def _tables(keys: Mapping[Key, Any]) -> list[str]:
    """Return the lines of the tables that have these keys, each table after a blank line."""
    tables: dict[Key, dict[str, Any]] = {}
    for key, raw in keys.items():
        is_target = key[-2:-1] == (TARGET,)
        path, table = (key, raw) if is_target else (key[:-1], {key[-1]: raw})
        tables.setdefault(path, {}).update(table)
    return [line for path, table in tables.items() for line in ("", f"[{_dotted(path)}]", *_lines(table))]


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{bare_key(key)} = {toml(raw)}" for key, raw in table.items()]


def _dotted(path: Key) -> str:
    return ".".join(map(bare_key, path))


def _matrix(matrix: Matrix) -> list[str]:
    """Return the lines of the common start, of the dimensions, and of the exclusions."""
    lines = _tables({change.key: change.value for change in matrix.shared})
    for each in matrix.dimensions:
        lines += ["", "[[dimension]]", f"name = {quote(each.name)}"]
        if each.key:
            values = ", ".join(toml(value.changes[0].value) for value in each.values)
            lines += [f"key = {quote(each.key)}", f"values = [{values}]"]
            continue
        for value in each.values:
            lines += ["", "[[dimension.value]]", f"name = {quote(value.name)}"]
            lines += [f"{_dotted(change.key)} = {toml(change.value)}" for change in value.changes]
    for exclusion in matrix.exclusions:
        lines += ["", "[[exclude]]"]
        for place, left_out in exclusion:
            dimension = matrix.dimensions[place]
            names = toml([dimension.values[value].name for value in left_out])
            lines.append(f"{quote(dimension.name)} = {names}")
    return lines


# --- Text of a campaign in its folder: the file, and digests of its scripts.
# The file gives scripts by path, and a changed script changes the measurement. So the digests follow the
# campaign as TOML comments, and `--resume` compares them with the current scripts.


_BEGIN: Final = "# script SHA-256 "


def state_campaign(campaign: Campaign) -> str:
    """Return a campaign file that parses back to an equal campaign and has digests of its scripts."""
    lines = [f"{_BEGIN}{digest} {path}\n" for path, digest in sorted(_digests(campaign).items())]
    return format_campaign(campaign) + "".join(lines)


def changed_scripts(stated: str, campaign: Campaign) -> tuple[str, ...] | None:
    """Return the paths of changed scripts; None if it is another campaign.

    Args:
        stated: earlier result of `state_campaign`; without digests, as from old versions, every script counts
            as changed.
        campaign: as it is now; if its order is not drawn yet, any drawn order matches.
    """
    before: dict[str, str] = {}
    rest = []
    for line in stated.splitlines(keepends=True):
        if line.startswith(_BEGIN):
            digest, _, path = line.removeprefix(_BEGIN).rstrip("\n").partition(" ")
            before[path] = digest
        else:
            rest.append(line)
    if _without_order("".join(rest)) != _without_order(format_campaign(campaign)):
        return None
    if not _has_order(tomllib.loads(stated), campaign):
        return None
    return tuple(path for path, digest in sorted(_digests(campaign).items()) if before.get(path) != digest)


def _without_order(text: str) -> list[str]:
    """Return the lines of a campaign's text without order, time, remarks and keys that old versions lack."""
    lines = text.splitlines()
    tables = next((place for place, line in enumerate(lines) if line.startswith("[")), len(lines))
    top = [line for line in lines[:tables] if line.partition(" = ")[0] not in _ORDER_KEYS]
    top = [
        line for line in top if line not in _NEVER_SAID and line.partition(" = ")[0] not in _OF_NO_CONSEQUENCE
    ]
    return top + [line for line in lines[tables:] if line != _WARM]


def _has_order(stated: Mapping[str, Any], campaign: Campaign) -> bool:
    """Whether a started campaign has the requested order.

    Earlier versions stored none and used AB BA: such a campaign continues that way.
    """
    order, seed = stated.get("order"), stated.get("order_seed")
    if not campaign.is_order_known:
        return order in {None, RunOrder.RANDOM.value}
    return (order or RunOrder.ALTERNATING.value, seed) == (campaign.order.value, campaign.order_seed)


def _digests(campaign: Campaign) -> dict[str, str]:
    scripts = {script for each in campaign.configurations for script in all_scripts(each.workload)}
    return {
        script.path: hashlib.sha256(script.text.encode("utf-8", "surrogatepass")).hexdigest()
        for script in scripts
        if script.path is not None
    }
