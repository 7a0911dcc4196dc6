"""Server settings in a campaign file: any name with a value in the syntax of postgresql.conf."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.campaign_file.kinds import Key, TableKind
from app.campaign_file.problems import InvalidValueError, printable, refusal, unfit
from app.domain.problem import Problem
from app.domain.text import tr

Settings = tuple[tuple[str, str], ...]

SETTING_LIMIT: Final = 500
_VALUE_LIMIT: Final = 1000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")
"""Names as in guc-file.l of PostgreSQL 13 to 18: an identifier, or two with a dot between."""


@dataclass(frozen=True, slots=True)
class SettingsTable(TableKind):
    """A table of settings, sorted by name; in lower case, because PostgreSQL ignores case."""

    @property
    @override
    def allowed(self) -> str:
        sentence = tr(
            'a table of at most {most} server settings, such as {{ work_mem = "64MB", fsync = true }}'
        )
        return sentence.format(most=SETTING_LIMIT)

    @override
    def read(self, value: object, folder: Path) -> Settings:
        if not isinstance(value, dict):
            raise unfit(value, self.allowed)
        flat = _flatten(value)
        if len(flat) > SETTING_LIMIT:
            raise unfit(value, self.allowed)
        settings: dict[str, str] = {}
        faults: list[Problem] = []
        for name, given in flat:
            fault = _fault(name, given, settings)
            if fault:
                faults.append(Problem(f".{printable(name)}", fault))
            else:
                settings[name.lower()] = _spell(given)
        if faults:
            raise InvalidValueError(*faults)
        return tuple(sorted(settings.items()))

    @override
    def join(self, parts: Mapping[Key, str]) -> Settings:
        return tuple(sorted(TableKind.join(self, parts)))


def _flatten(table: dict[str, object]) -> list[tuple[str, object]]:
    """Return (name, value) pairs; unquoted ``auto_explain.log_nested_statements`` is a table in TOML."""
    pairs: list[tuple[str, object]] = []
    for name, value in table.items():
        if isinstance(value, dict) and value:
            pairs += [(f"{name}.{inner}", given) for inner, given in value.items()]
        else:
            pairs.append((name, value))
    return pairs


def _fault(name: str, value: object, before: dict[str, str]) -> str:
    """Return the problem of one setting, or an empty text."""
    if not _NAME.fullmatch(name) or len(name) > 127:
        return tr("is not a valid name of a server setting.")
    if name.lower() in before:
        return tr("is given twice (upper and lower case are the same).")
    allowed = tr('text without control characters, a number, or true or false, such as "64MB"')
    if isinstance(value, float) and not math.isfinite(value):
        return refusal(value, allowed)
    if not isinstance(value, str | int | float):
        return refusal(value, allowed)
    text = _spell(value)
    return "" if len(text) <= _VALUE_LIMIT and all(c.isprintable() for c in text) else refusal(value, allowed)


def _spell(value: object) -> str:
    """Return a value in the syntax of postgresql.conf: on and off instead of true and false."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and abs(value) >= 10**_VALUE_LIMIT:  # Python refuses to print such a number
        return "0" * (_VALUE_LIMIT + 1)
    return str(value)
