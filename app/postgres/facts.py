"""Read version and settings of a running server, and compare them with the chosen ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

import psycopg

from app.domain.errors import SettingError
from app.domain.options.filesystem_spec import parse_switch
from app.domain.text import tr
from app.postgres.configuration_text import connect, refused_as
from app.postgres.data_files import OWN_FILE
from app.postgres.settings import Setting

ALWAYS_REPORTED: Final = (
    "autovacuum",
    "block_size",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "data_checksums",
    "effective_io_concurrency",
    "file_extend_method",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "huge_pages_status",
    "io_method",
    "jit",
    "max_connections",
    "max_wal_size",
    "min_wal_size",
    "server_version",
    "shared_buffers",
    "shared_memory_size",
    "synchronous_commit",
    "wal_block_size",
    "wal_buffers",
    "wal_compression",
    "wal_init_zero",
    "wal_level",
    "wal_recycle",
    "wal_segment_size",
    "wal_sync_method",
)
"""Reported even with their default values, because defaults differ between versions; unknown ones are skipped
(huge_pages_status exists since 17, io_method since 18, shared_memory_size since 15).
"""

_SETTINGS_QUERY: Final = """
    SELECT name, pg_catalog.current_setting(name), source
      FROM pg_catalog.pg_settings
     WHERE name = ANY (%s) OR source NOT IN ('default', 'client', 'session', 'interactive', 'test')
     ORDER BY name
"""
_DEFAULTS_QUERY: Final = """
    SELECT name, pg_catalog.current_setting(name)
      FROM pg_catalog.pg_settings
     WHERE source = 'default'
     ORDER BY name
"""
_MAY_HOLD_SECRETS: Final = re.compile(r"conninfo|command|passphrase|password|secret|token|\.", re.IGNORECASE)
_MOST_SETTINGS: Final = 2000
_LONGEST: Final = 4000
_CONFIGURE_QUERY: Final = "SELECT setting FROM pg_catalog.pg_config WHERE name = 'CONFIGURE'"
_MAY_ASK_QUERY: Final = "SELECT pg_catalog.has_table_privilege('pg_catalog.pg_config', 'SELECT')"
"""Checked first: otherwise a role that is no superuser would cause an error in the log of the server's
owner.
"""


@dataclass(frozen=True, slots=True)
class SettingInEffect:
    """A parameter's current value in the server.

    Attributes:
        name: parameter.
        value: as SHOW prints it, with its unit.
        source: in the words of pg_settings (``configuration file``, ``default`` ...).
    """

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Version, build and settings of a server.

    Attributes:
        version_text: ``SELECT version()``: version, platform, compiler.
        configure: arguments of its build's configure.
        settings: all that differ from the default, and the always reported ones.
        defaults: values of all others by name.
    """

    version_text: str
    configure: str
    settings: tuple[SettingInEffect, ...]
    defaults: tuple[tuple[str, str], ...] = ()


def read_server_facts(conninfo: str) -> ServerFacts:
    """Return version, build and settings of a running server.

    Raises:
        ServerError: it cannot be asked.
    """
    with refused_as(tr("The server does not report its settings: {reason}")), connect(conninfo) as connection:
        return facts_of(connection)


def facts_of(connection: psycopg.Connection[tuple[object, ...]]) -> ServerFacts:
    """Return version, build and settings as far as the role may see them; may raise psycopg.Error."""
    version = connection.execute("SELECT pg_catalog.version()").fetchone()
    configure = None
    if connection.execute(_MAY_ASK_QUERY).fetchone() == (True,):
        with suppress(psycopg.errors.InsufficientPrivilege):  # of the function below the view
            configure = connection.execute(_CONFIGURE_QUERY).fetchone()
    settings = connection.execute(_SETTINGS_QUERY, (list(ALWAYS_REPORTED),)).fetchall()
    defaults = connection.execute(_DEFAULTS_QUERY).fetchall()
    return ServerFacts(
        version_text=_short(version[0]) if version else "",
        configure=_short(configure[0]).strip() if configure else "",
        settings=tuple(SettingInEffect(*map(_short, row)) for row in settings[:_MOST_SETTINGS]),
        defaults=tuple((_short(name), _short(value)) for name, value in defaults[:_MOST_SETTINGS]),
    )


def without_secrets(facts: ServerFacts) -> ServerFacts:
    """Return facts without values in which the owner of a server may have written a secret.

    A role with pg_monitor sees them: passwords of connections to other servers, commands, parameters of
    extensions with unknown contents.
    """
    hidden = tr("(not kept)")
    settings = tuple(
        replace(each, value=hidden) if each.value and _MAY_HOLD_SECRETS.search(each.name) else each
        for each in facts.settings
    )
    return replace(facts, settings=settings)


def _short(value: object) -> str:
    """Limit the length of a server's value: the server may belong to anyone."""
    return str(value)[:_LONGEST]


# --- Whether it has the settings that were chosen, asked before anything counts. A value can be written in
# many ways (``64MB``, ``65536kB``). What does not read the same is still as chosen where the server says that
# it comes from the one file that was written for it, or that it sized itself what was left to it (``-1``).
# What is on or off must be on or off.


_CHOSEN_QUERY: Final = """
    SELECT wanted.name, pg_catalog.current_setting(wanted.name, true), shown.vartype, shown.source,
           shown.sourcefile
      FROM pg_catalog.unnest(%s::text[]) AS wanted(name)
      LEFT JOIN pg_catalog.pg_settings AS shown ON pg_catalog.lower(shown.name) = wanted.name
"""
_OF_CONNECTION: Final = frozenset({"client", "session"})
"""Settings of our own connection (statement_timeout) say nothing about other connections."""
_BY_SERVER: Final = "override"
"""Value of pg_settings.source for computed settings, such as wal_buffers = -1 (guc.h, PGC_S_OVERRIDE)."""


@dataclass(frozen=True, slots=True)
class InEffect:
    """A parameter's current value in the server.

    Attributes:
        name: in lower case.
        value: as SHOW prints it; None if the server has no such parameter.
        kind: pg_settings.vartype, such as ``bool``; empty if not listed.
        source: pg_settings.source; empty if not listed.
        file: where it was read from; empty if it comes from no file.
    """

    name: str
    value: str | None
    kind: str = ""
    source: str = ""
    file: str = ""

    def is_as_chosen(self, text: str) -> bool:
        """Return whether the server uses the value written into `OWN_FILE`."""
        if self.value is None:
            return False
        if self.source in _OF_CONNECTION or self.value.strip().lower() == text.strip().lower():
            return True
        if self.kind == "bool":
            return parse_switch(self.value) is parse_switch(text)
        return self.source == _BY_SERVER or PurePath(self.file).name == OWN_FILE


def check_in_effect(
    conninfo: str, settings: Sequence[Setting], fixed: Mapping[str, str] | None = None
) -> None:
    """Check that a running server has all of these settings.

    Args:
        conninfo: of a superuser's connection.
        settings: as written into its configuration.
        fixed: values of the build and of initdb, which no configuration changes; compared with the first word
            of SHOW.

    Raises:
        SettingError: it has another value; names the setting, both values and the source of the server's.
        ServerError: it cannot be asked.
    """
    chosen = {setting.name.lower(): setting.value for setting in settings}
    wrong = [item for item in _read(conninfo, chosen) if not item.is_as_chosen(chosen[item.name])]
    if fixed:
        made = tr("build and initdb options")
        shown = [replace(item, source=made, file="") for item in _read(conninfo, fixed)]
        wrong += [item for item in shown if (item.value or "").partition(" ")[0] != fixed[item.name]]
        chosen |= fixed
    if not wrong:
        return
    message = tr("The server does not use the specified settings: {settings}. Nothing was measured.")
    words = tr("{name} is {found} instead of {chosen} (from: {source})")
    sentence = "; ".join(
        words.format(
            name=item.name,
            found=item.value or tr("(empty)"),
            chosen=chosen[item.name],
            source=item.file or item.source or tr("not known"),
        )
        for item in wrong
    )
    raise SettingError(message.format(settings=sentence), hint=tr("They are set outside this campaign."))


def _read(conninfo: str, names: Iterable[str]) -> list[InEffect]:
    with refused_as(tr("The server does not report its settings: {reason}")), connect(conninfo) as connection:
        rows = connection.execute(_CHOSEN_QUERY, (list(names),)).fetchall()
    return [
        InEffect(str(name), None if value is None else str(value), *(str(word or "") for word in words))
        for name, value, *words in rows
    ]
