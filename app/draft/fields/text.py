"""Convert typed texts to values of a campaign file and back, through the kinds of the fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.campaign_file.kinds import BoolKind, CampaignField, FloatKind, IntKind, ValueKind
from app.campaign_file.paths import Scripts
from app.campaign_file.phases import RateKind, Settings, SettingsTable, WorkNames
from app.campaign_file.problems import InvalidValueError
from app.domain.campaign.configuration import BuiltinScript, Script
from app.domain.errors import Problem
from app.domain.text import tr

_NUMBER: Final = re.compile(r"-?\d{1,400}(\.\d{1,400})?", re.ASCII)
_SETTING: Final = re.compile(r"([^\s=]+)\s*(?:=\s*|\s+)(.*)")
_WEIGHT: Final = re.compile(r"(.*)@(\d{1,9})", re.ASCII)
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'\s*(?:#.*)?")
_NOWHERE: Final = Path("/")
_SWITCH_WORDS: Final = {"true": True, "on": True, "false": False, "off": False}


def read_text(field: CampaignField, text: str) -> Any:  # noqa: ANN401 - the field's attribute has the type
    """Return the value of a field from its typed text.

    Raises:
        InvalidValueError: not allowed; carries what is.
    """
    return field.kind.read(raw_value(field.kind, text), _NOWHERE)


def words_of_text(field: CampaignField, text: str) -> str:
    """Return a typed text for display in a list of values."""
    try:
        return text if field.words is None else field.words(read_text(field, text))
    except InvalidValueError:
        return text


def raw_value(kind: ValueKind, text: str) -> object:
    """Return the TOML equivalent of a text: a number or a truth value if the kind needs one.

    Raises:
        InvalidValueError: lines that are not settings, if the kind needs settings.
    """
    if isinstance(kind, SettingsTable):
        return _settings_table(text)  # its lines are numbered in errors
    text = text.strip()
    match kind:
        case IntKind() | FloatKind() | RateKind() if _NUMBER.fullmatch(text) and len(text) <= 300:
            return float(text) if "." in text else int(text)
        case BoolKind():
            return _SWITCH_WORDS.get(text.lower(), text)
        case Scripts():
            return parse_scripts(text)
        case WorkNames():
            return [name.strip() for name in text.split(",")]
        case _:
            return text


def write_text(field: CampaignField, value: Any) -> str:  # noqa: ANN401
    """Return the text that `read_text` reads back to `value`; empty for None."""
    if value is None:
        return ""
    if isinstance(field.kind, Scripts):
        return format_scripts(value)
    if isinstance(field.kind, SettingsTable):
        return write_settings(value)
    if isinstance(field.kind, WorkNames):
        return ", ".join(value)
    raw = field.kind.plain(value)
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return str(int(raw)) if isinstance(raw, float) and raw.is_integer() else str(raw)


# --- scripts: names and absolute paths with weights, in the syntax of pgbench's own options


def parse_scripts(text: str) -> list[object]:
    """Return the scripts of a line such as ``tpcb-like@9, ~/mine.sql@1``."""
    found: list[object] = []
    for item in text.split(","):
        match = _WEIGHT.fullmatch(item.strip())
        name = match[1] if match else item.strip()
        weight = {"weight": int(match[2])} if match else {}
        if name.startswith(("/", "~")):
            found.append({"file": name, **weight})
        else:
            found.append({"builtin": name, **weight} if match else name)
    return found


def format_scripts(scripts: Sequence[Script]) -> str:
    """Return the line that `parse_scripts` reads."""
    names = ((script.builtin.value if script.builtin else script.path or "", script) for script in scripts)
    return ", ".join(
        name if script.weight == 1 and script.builtin else f"{name}@{script.weight}" for name, script in names
    )


def builtin_names() -> tuple[str, ...]:
    """Return the names of pgbench's own scripts."""
    return tuple(script.value for script in BuiltinScript)


# --- settings: lines as in postgresql.conf


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting in a text.

    Attributes:
        number: of the line, from 1.
        name: as written.
        value: without quotation marks.
    """

    number: int
    name: str
    value: str


def setting_lines(text: str) -> list[SettingLine]:
    """Return the settings of a text in the syntax of postgresql.conf (manual 19.1.2).

    Raises:
        InvalidValueError: lines that are not settings; lists all, with their numbers.
    """
    found: list[SettingLine] = []
    faults: list[Problem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _SETTING.fullmatch(stripped)
        value = _value_of(match[2]) if match else None
        if match is None or value is None:
            sentence = tr("Line {number} is not a setting. Use the form work_mem = 64MB.")
            faults.append(Problem("", sentence.format(number=number)))
        else:
            found.append(SettingLine(number, match[1], value))
    if faults:
        raise InvalidValueError(*faults)
    return found


def _value_of(text: str) -> str | None:
    """Return a value without quotation marks and comment; None if it is neither quoted nor plain."""
    if text.startswith("'"):
        match = _QUOTED.fullmatch(text)
        return match[1].replace("''", "'") if match else None
    return text.split("#", 1)[0].strip() or None


def _settings_table(text: str) -> Mapping[str, str]:
    """Return the settings of a text as a table of a campaign file.

    Raises:
        InvalidValueError: lines that are not settings, or duplicate names.
    """
    lines = setting_lines(text)
    first: dict[str, int] = {}
    faults: list[Problem] = []
    for line in lines:
        before = first.setdefault(line.name.lower(), line.number)
        if before != line.number:
            sentence = tr("Line {number}: {name} is already set in line {before}.")
            faults.append(Problem("", sentence.format(number=line.number, name=line.name, before=before)))
    if faults:
        raise InvalidValueError(*faults)
    return {line.name: line.value for line in lines}


def write_settings(settings: Settings) -> str:
    """Return settings as lines that `raw_value` reads back."""
    return "\n".join(f"{name} = {_quoted(value)}" for name, value in settings)


def _quoted(value: str) -> str:
    plain = value and value == value.strip() and not set(value) & set("'#")
    return value if plain else "'" + value.replace("'", "''") + "'"
