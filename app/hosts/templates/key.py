"""What determines the bytes of a data set: with any difference in it another template is made. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from app.domain.units import MIB

LAYOUT: Final = 1
"""Number of the way in which templates are made and kept; another one makes all anew."""
WAL_SEGMENT_BYTES: Final = 16 * MIB
"""Of initdb, which is never told another one (``--wal-segsize``)."""
_ID_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateKey:
    """What a data set is made of.

    Attributes:
        server: SHA-256 of the program postgres: its build has the sizes and versions of all formats.
        initdb: likewise of initdb.
        pgbench: likewise of pgbench.
        version: of the server, for people.
        page_bytes: of a data page.
        wal_segment_bytes: of a file of the WAL.
        checksums: whether data pages have checksums.
        scale: pgbench scale factor.
        compressibility: of the rows; None for pgbench's own.
        superuser: whether pgbench's role is one.
        recipe: SHA-256 of arguments, settings, statements and script with which it is made.
        layout: see `LAYOUT`.
    """

    server: str
    initdb: str
    pgbench: str
    version: str
    page_bytes: int
    wal_segment_bytes: int = WAL_SEGMENT_BYTES
    checksums: bool
    scale: int
    compressibility: float | None
    superuser: bool
    recipe: str
    layout: int = LAYOUT

    @property
    def id(self) -> str:
        """What tells it from every other one; hexadecimal."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]


def key_as_mapping(key: TemplateKey) -> dict[str, Any]:
    """Return a key as JSON values."""
    return asdict(key)


def read_key(values: Mapping[str, Any]) -> TemplateKey:
    """Return the key that JSON values tell.

    Raises:
        ValueError: they are not those of a key of this version.
    """
    kinds = {
        **dict.fromkeys(("server", "initdb", "pgbench", "version", "recipe"), str),
        **dict.fromkeys(("page_bytes", "wal_segment_bytes", "scale", "layout"), int),
        **dict.fromkeys(("checksums", "superuser"), bool),
    }
    names = {each.name for each in fields(TemplateKey)}
    if set(values) != names:
        raise ValueError("other fields")
    wrong = [name for name, kind in kinds.items() if type(values[name]) is not kind]
    if wrong or not isinstance(values["compressibility"], float | int | None):
        raise ValueError(wrong)
    return TemplateKey(**values)
