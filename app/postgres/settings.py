"""Compute the server settings of a run: preset, filesystem, the user's own, and pgFooting's.

Pure: no server is asked. `app.postgres.known_settings` checks whether an installation accepts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import PostgresChoice, Workload
from app.domain.campaign.phases import most_clients, wants_backup
from app.domain.campaign.server_options import ServerOption, SettingStatus
from app.domain.errors import CampaignError
from app.domain.options.filesystem_spec import parse_switch
from app.domain.text import tr, trn
from app.domain.units import GIB, KIB, MIB, TIB
from app.postgres.machine import Machine
from app.postgres.presets import DATA_GROWTH, PRESETS, RESERVE_BYTES, Sizing

RESERVED_CONNECTIONS: Final = 6
"""In addition to pgbench's clients: the runner, the sampler's two, vacuum, facts, one for manual
inspection.
"""
SUPERUSER_RESERVED: Final = 3
"""Default of superuser_reserved_connections; no loss, because pgFooting's own connections are a
superuser's.
"""
INITDB_MAX_CONNECTIONS: Final = 100
"""initdb's choice if the kernel allows it (initdb.c, test_config_settings)."""


class Origin(StrEnum):
    """Where a setting comes from."""

    PRESET = "preset"
    FILESYSTEM = "filesystem"
    """From the filesystem's preset or options."""
    USER = "user"
    PGFOOTING = "pgfooting"


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the server's configuration.

    Attributes:
        name: parameter.
        value: as in postgresql.conf, not quoted.
        why: one sentence; empty for the user's own.
        source: of formula and reason.
        origin: an `Origin`; a run file may have another word.
    """

    name: str
    value: str
    why: str = ""
    source: str = ""
    origin: str = ""


_REPORTED: Final = (("log_autovacuum_min_duration", "0", tr("autovacuum becomes an event of the run")),)
"""Set by pgFooting, but presets and users may override it."""

_FOR_BACKUPS: Final = (
    ("wal_level", "replica", tr("a base backup beside a phase needs it")),
    ("max_wal_senders", "2", tr("pg_basebackup reads over one, and another while it is being ended")),
)
"""Only if base backups are made during a measurement; users may override it."""

_OWN: Final = (
    ("listen_addresses", "", tr("no TCP: nobody else can connect")),
    ("port", "5432", tr("only names the private socket")),
    ("unix_socket_permissions", "0700", tr("only this user can connect")),
    ("unix_socket_group", "", tr("only this user can connect")),
    ("cluster_name", "pgfooting", tr("seen in process titles")),
    ("logging_collector", "off", tr("the log goes to a private file that the runner reads")),
    ("log_destination", "stderr", tr("the log goes to a private file that the runner reads")),
    ("log_line_prefix", "%n [%p] ", tr("time and process of each log line, read by the runner")),
    ("log_error_verbosity", "default", tr("the log is read by the runner")),
    ("log_min_messages", "warning", tr("the log is read by the runner")),
    ("log_checkpoints", "on", tr("checkpoints become events of the run")),
    ("lc_messages", "C", tr("the log is read by the runner")),
    ("restart_after_crash", "off", tr("a crash of one process ends the run and is not hidden by a restart")),
)

_ELSEWHERE: Final = {
    "data_directory": tr("follows from the target"),
    "config_file": tr("is written into the data directory"),
    "hba_file": tr("is written into the data directory"),
    "ident_file": tr("is written into the data directory"),
    "external_pid_file": tr("is not needed"),
    "unix_socket_directories": tr("is a private folder"),
    "include": tr("is a directive and not a setting"),
    "include_dir": tr("is a directive and not a setting"),
    "include_if_exists": tr("is a directive and not a setting"),
}
OWNED: Final = {name: why for name, _, why in _OWN} | _ELSEWHERE
"""Names that a campaign may not set, with the reason."""

_MEMORY: Final = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(B|kB|MB|GB|TB)?\s*", re.ASCII)
_MEMORY_UNITS: Final = {"B": 1, "kB": KIB, "MB": MIB, "GB": GIB, "TB": TIB}


def parse_memory(value: str, default_unit_bytes: int) -> int | None:
    """Return bytes of a memory setting such as ``16GB`` (binary, case matters, manual 19.1.1), or None.

    Args:
        value: as in postgresql.conf.
        default_unit_bytes: unit of a plain number.
    """
    match = _MEMORY.fullmatch(value)
    if match is None:
        return None
    return round(float(match[1]) * (_MEMORY_UNITS[match[2]] if match[2] else default_unit_bytes))


def quote_value(value: str) -> str:
    """Quote a value for postgresql.conf: in single quotes, quotes and backslashes doubled."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def user_settings(choice: PostgresChoice) -> dict[str, str]:
    """Return the user's settings by lower-case name, as the campaign file's reader has checked them.

    Raises:
        CampaignError: pgFooting decides one of them.
    """
    for name, _ in choice.settings:
        if name.lower() in OWNED:
            field = f"postgresql.settings.{name}"
            raise CampaignError(
                tr("{field} cannot be set by a campaign: pgFooting decides it ({why}).").format(
                    field=field, why=OWNED[name.lower()]
                ),
                field=field,
                hint=tr("Remove it from the campaign."),
            )
    return {name.lower(): value for name, value in choice.settings}


def _stated(user: dict[str, str], name: str, default: int) -> int:
    """Return a user's number; the default if it is not one, which the server's own check rejects later."""
    text = user.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() else default


def _max_connections(user: dict[str, str], clients: int) -> int:
    """Return the required value of max_connections.

    Raises:
        CampaignError: the user's own value is too small for the clients.
    """
    kept = _stated(user, "superuser_reserved_connections", SUPERUSER_RESERVED) - SUPERUSER_RESERVED
    kept += _stated(user, "reserved_connections", 0)
    reserved = RESERVED_CONNECTIONS + max(0, kept)
    needed = clients + reserved
    stated = user.get("max_connections", "").strip()
    if not (stated.isascii() and stated.isdigit()):  # not given, or refused later by the server's own check
        return max(INITDB_MAX_CONNECTIONS, needed)
    if int(stated) < needed:
        raise CampaignError(
            tr(
                "postgresql.settings.max_connections is {stated}, but workload.clients is {clients} and "
                "pgFooting itself needs {reserved} connections."
            ).format(stated=int(stated), clients=clients, reserved=reserved),
            field="postgresql.settings.max_connections",
            hint=tr("Set at least {needed}, or leave it out and let pgFooting choose.").format(needed=needed),
        )
    return int(stated)


def server_settings(
    choice: PostgresChoice,
    machine: Machine,
    workload: Workload,
    *,
    target_free_bytes: int | None = None,
    data_bytes: int = 0,
    filesystem: Sequence[ServerOption] = (),
) -> tuple[Setting, ...]:
    """Return the settings of a run with unique names: preset, filesystem, the user's, pgFooting's own.

    Args:
        choice: preset and the user's settings.
        machine: input of the presets' formulas.
        workload: for the number of connections.
        target_free_bytes: free space before anything is written, for max_wal_size. Pass the smallest of a
            campaign's targets, so that all configurations get the same.
        data_bytes: expected size of the data set.
        filesystem: options of the target's filesystems that are server settings.

    Raises:
        CampaignError: a name that is reserved for pgFooting; max_connections below the need of the clients.
    """
    user = user_settings(choice)
    clients = most_clients(workload)
    connections = _max_connections(user, clients)
    sizing = Sizing(machine.usable_ram_bytes, connections, target_free_bytes, data_bytes)

    wanted = [Setting(name, value, why, "", Origin.PGFOOTING) for name, value, why in _REPORTED]
    if connections > INITDB_MAX_CONNECTIONS:
        why = trn(
            "{clients} client and {reserved} of pgFooting's own",
            "{clients} clients and {reserved} of pgFooting's own",
            clients,
        ).format(clients=clients, reserved=connections - clients)
        wanted.append(Setting("max_connections", str(connections), why, "", Origin.PGFOOTING))
    wanted += [
        Setting(rule.name, rule.value(sizing), rule.why, rule.source, Origin.PRESET)
        for rule in PRESETS[choice.preset].rules
    ]
    wanted += [
        Setting(option.name, option.text, option.why, option.source, Origin.FILESYSTEM)
        for option in filesystem
        if option.fate is SettingStatus.APPLIED
    ]
    if wants_backup(workload):
        wanted += [Setting(name, value, why, "", Origin.PGFOOTING) for name, value, why in _FOR_BACKUPS]
    wanted += [Setting(name, value, "", "", Origin.USER) for name, value in user.items()]
    wanted += [Setting(name, value, why, "", Origin.PGFOOTING) for name, value, why in _OWN]
    return tuple({setting.name: setting for setting in wanted}.values())


def bytes_needed(data_bytes: int, settings: Iterable[Setting]) -> int:
    """Return the free space that a target needs for data of this size under these settings.

    Data with room to grow, WAL up to max_wal_size (default: PostgreSQL's 1 GB), a reserve.
    """
    values = {setting.name: setting.value for setting in settings}
    wal_bytes = parse_memory(values.get("max_wal_size", "1GB"), MIB)
    return round(DATA_GROWTH * data_bytes) + (GIB if wal_bytes is None else wal_bytes) + RESERVE_BYTES


_UNSAFE: Final = (
    (
        "fsync",
        True,
        tr("a crash of the machine can destroy the database: nothing is forced to disk"),
    ),
    (
        "full_page_writes",
        True,
        tr(
            "a crash of the machine can leave half-written pages beyond repair, unless the filesystem never "
            "writes half a page (ZFS)"
        ),
    ),
    (
        "synchronous_commit",
        True,
        tr("a crash loses the last committed transactions: commit does not wait for the disk"),
    ),
    (
        "data_sync_retry",
        False,
        tr("a failed write to disk can be lost unnoticed: the server goes on and trusts the kernel's cache"),
    ),
    (
        "zero_damaged_pages",
        False,
        tr("damaged pages are emptied and not reported"),
    ),
    (
        "ignore_checksum_failure",
        False,
        tr("damaged pages are read and not reported"),
    ),
)
"""(name, whether *off* is the unsafe value, sentence); manual 19.5.1, 19.14, 19.17, 30.2."""


def unsafe_settings(settings: Iterable[tuple[str, str]]) -> tuple[tuple[str, str, str], ...]:
    """Return (name, value, sentence) for every setting that risks data loss; a run with any is marked.

    Args:
        settings: (name, value) as in a campaign, or as the server reports them in pg_settings.
    """
    values = {name.lower(): value for name, value in settings}
    return tuple(
        (name, values[name], sentence)
        for name, off_is_unsafe, sentence in _UNSAFE
        if name in values and (parse_switch(values[name]) is False) is off_is_unsafe
    )
