"""Write campaign files: keys common to all configurations at the top, the others with each of them.

``parse_campaign(format_campaign(campaign))`` equals the campaign; the wizard and the run folder use it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from app.campaign_file.fields import CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField, Name, bare_key, quote
from app.campaign_file.settings import Settings
from app.domain.campaign.configuration import Campaign, Configuration
from app.domain.campaign.matrix import Change, Matrix, MatrixDimension
from app.domain.campaign.order import RunOrder
from app.domain.campaign.phases import all_scripts

_SETTINGS = "settings"
_NEVER_SAID: Final = frozenset({"repeat_disturbed = 0", 'design = "fixed"'})
_WARM: Final = 'caches = "warm"'
_ORDER_KEYS: Final = frozenset({"order", "order_seed"})
_OF_NO_CONSEQUENCE: Final = frozenset({"time_budget", "remarks"})
"""Keys that do not change the measurement: a campaign may be continued with other values."""


def format_campaign(campaign: Campaign) -> str:
    """Return TOML that parses back to an equal campaign.

    Script files are given by absolute path, without their text.

    Args:
        campaign: valid, as from `app.campaign_file.reader`.
    """
    configurations = campaign.configurations
    values = {field.attribute: getattr(campaign, field.attribute) for field in CAMPAIGN_FIELDS}
    lines = _keys(values, CAMPAIGN_FIELDS)
    if campaign.matrix is not None:
        return "\n".join([*lines, *_matrix(campaign.matrix)]) + "\n"
    lines += _tables("", _common(configurations))
    if len(configurations) == 1 and configurations[0].name == campaign.name:
        return "\n".join(lines) + "\n"
    shared = _common(configurations)
    for configuration in configurations:
        own = {key: text for key, text in _written(configuration).items() if key not in shared}
        lines += ["", "[[configuration]]", f"name = {Name().write(configuration.name)}"]
        lines += _tables("configuration.", own)
    return "\n".join(lines) + "\n"


Written = dict[tuple[str, str], str]
"""TOML of values by (table, key); a target is one entry, because it is replaced as a whole."""


def _written(configuration: Configuration) -> Written:
    """Return all values of a configuration."""
    target = next(target for target in TARGETS if target.kind == configuration.target.kind)
    keys = _keys(target.values(configuration.target), target.fields)
    written = {("target", target.kind): "\n".join(keys)}
    for section, fields in SECTIONS.items():
        part = getattr(configuration, section)
        for field in fields:
            value = getattr(part, field.attribute)
            if field.name != _SETTINGS and value is not None and value != ():
                written[section, field.name] = field.kind.write(value)
    settings: Settings = configuration.postgresql.settings
    return written | {(f"postgresql.{_SETTINGS}", name): quote(value) for name, value in settings}


def _common(configurations: tuple[Configuration, ...]) -> Written:
    """Return the values common to all configurations, in the order of the first."""
    first, *others = [_written(configuration) for configuration in configurations]
    return {key: text for key, text in first.items() if all(other.get(key) == text for other in others)}


def _keys(values: Mapping[str, Any], fields: Iterable[CampaignField]) -> list[str]:
    """Return ``key = value`` for each given attribute."""
    given = ((field, values[field.attribute]) for field in fields)
    return [
        f"{field.name} = {field.kind.write(value)}"
        for field, value in given
        if value is not None and value != ()
    ]


def _tables(prefix: str, written: Written) -> list[str]:
    """Return the lines of the tables, each after a blank line."""
    lines: list[str] = []
    table_before = ""
    for (table, key), text in written.items():
        if table == "target":
            lines += ["", f"[{prefix}target.{key}]", *filter(None, [text])]
        else:
            if table != table_before:
                lines += ["", f"[{prefix}{table}]"]
            lines.append(f"{bare_key(key)} = {text}")
        table_before = table
    return lines


def _matrix(matrix: Matrix) -> list[str]:
    """Return the lines of the common start, of the dimensions, and of the exclusions."""
    lines = [*change_lines(matrix.shared), *dimension_lines(matrix.dimensions)]
    for exclusion in matrix.exclusions:
        lines += ["", "[[exclude]]"]
        for place, left_out in exclusion:
            dimension = matrix.dimensions[place]
            names = ", ".join(quote(dimension.values[value].name) for value in left_out)
            lines.append(f"{quote(dimension.name)} = [{names}]")
    return lines


def change_lines(changes: Iterable[Change]) -> list[str]:
    """Return the lines of tables with these changes, each table after a blank line."""
    tables: dict[tuple[str, ...], list[str]] = {}
    for change in changes:
        path = change.key if change.text == "{}" else change.key[:-1]
        tables.setdefault(path, [])
        if path != change.key:
            tables[path].append(f"{bare_key(change.key[-1])} = {change.text}")
    return [line for path, keys in tables.items() for line in ("", f"[{_dotted(path)}]", *keys)]


def dimension_lines(dimensions: Iterable[MatrixDimension]) -> list[str]:
    """Return the lines of dimensions, each after a blank line."""
    lines: list[str] = []
    for each in dimensions:
        lines += ["", "[[dimension]]", f"name = {quote(each.name)}"]
        if each.key:
            values = ", ".join(value.changes[0].text for value in each.values)
            lines += [f"key = {quote(each.key)}", f"values = [{values}]"]
            continue
        for value in each.values:
            lines += ["", "[[dimension.value]]", f"name = {quote(value.name)}"]
            lines += [f"{_dotted(change.key)} = {change.text}" for change in value.changes]
    return lines


def _dotted(path: Iterable[str]) -> str:
    return ".".join(map(bare_key, path))


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
