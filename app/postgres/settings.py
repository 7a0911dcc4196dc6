"""Compute the server settings of a run: preset, filesystem, the user's own, and pgFooting's.

What an installation accepts is asked of its own server program, further down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from app.domain.campaign.configuration import PostgresChoice, Workload
from app.domain.campaign.disk_target import ServerOption, SettingStatus
from app.domain.campaign.phases import most_clients, wants_backup
from app.domain.errors import CampaignError, SettingError, did_you_mean
from app.domain.options.filesystem_spec import parse_switch
from app.domain.text import GIB, KIB, MIB, TIB, tr, trn
from app.postgres.installations.installation import Installation
from app.postgres.presets import DATA_GROWTH, PRESETS, RESERVE_BYTES, Sizing
from app.process.memory import memory_limits, parse_meminfo
from app.process.starter import TIMED_OUT, Account, Recorder, run_command

# Facts of the machine for computing server settings and data sizes: memory and CPUs.


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of this machine.

    Attributes:
        ram_bytes: MemTotal.
        memory_limit_bytes: the lowest limit of this process's control groups; None without one.
        cpus: CPUs this process may run on.
    """

    ram_bytes: int
    memory_limit_bytes: int | None
    cpus: int

    @property
    def usable_ram_bytes(self) -> int:
        """RAM, or the memory limit if that is lower; settings are sized by it."""
        return min(self.ram_bytes, self.memory_limit_bytes or self.ram_bytes)


def read_machine(root: Path = Path("/")) -> Machine:
    """Return the facts of this machine.

    Args:
        root: contains proc and sys; replaced in tests.
    """
    try:
        ram_bytes = parse_meminfo((root / "proc/meminfo").read_bytes())["MemTotal"]
    except (OSError, KeyError):
        ram_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = memory_limits(root / "proc", root / "sys")
    return Machine(ram_bytes, limits[0].size_bytes if limits else None, len(os.sched_getaffinity(0)))


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


_PRIVATE: Final = tr("pgFooting's server is private")
_LOG: Final = tr("pgFooting reads the server's log")
_BACKUP: Final = tr("needed for a base backup during a phase")
_WRITTEN: Final = tr("is written into the data directory")
_DIRECTIVE: Final = tr("is a directive and not a setting")

_REPORTED: Final = (("log_autovacuum_min_duration", "0", _LOG),)
"""Set by pgFooting, but presets and users may override it."""

_FOR_BACKUPS: Final = (
    ("wal_level", "replica", _BACKUP),
    ("max_wal_senders", "2", _BACKUP),
)
"""Only if base backups are made during a measurement; users may override it."""

_OWN: Final = (
    ("listen_addresses", "", _PRIVATE),
    ("port", "5432", _PRIVATE),
    ("unix_socket_permissions", "0700", _PRIVATE),
    ("unix_socket_group", "", _PRIVATE),
    ("cluster_name", "pgfooting", tr("shown in process titles")),
    ("logging_collector", "off", _LOG),
    ("log_destination", "stderr", _LOG),
    ("log_line_prefix", "%n [%p] ", _LOG),
    ("log_error_verbosity", "default", _LOG),
    ("log_min_messages", "warning", _LOG),
    ("log_checkpoints", "on", _LOG),
    ("lc_messages", "C", _LOG),
    (
        "restart_after_crash",
        "off",
        tr("a crash of one process ends the run instead of being hidden by a restart"),
    ),
)

_ELSEWHERE: Final = {
    "data_directory": tr("follows from the target"),
    "config_file": _WRITTEN,
    "hba_file": _WRITTEN,
    "ident_file": _WRITTEN,
    "external_pid_file": tr("is not needed"),
    "unix_socket_directories": _PRIVATE,
    "include": _DIRECTIVE,
    "include_dir": _DIRECTIVE,
    "include_if_exists": _DIRECTIVE,
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
                tr("{field} cannot be set in a campaign: pgFooting controls it ({why}).").format(
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
            hint=tr("Set at least {needed}, or omit it and let pgFooting choose.").format(needed=needed),
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
            "{clients} client and {reserved} connections for pgFooting",
            "{clients} clients and {reserved} connections for pgFooting",
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
        tr("a crash of the machine can destroy the database: nothing is flushed to disk"),
    ),
    (
        "full_page_writes",
        True,
        tr(
            "a crash of the machine can leave torn pages beyond repair, unless the filesystem never "
            "tears pages (ZFS)"
        ),
    ),
    (
        "synchronous_commit",
        True,
        tr("a crash can lose the last committed transactions: commit does not wait for the disk"),
    ),
    (
        "data_sync_retry",
        False,
        tr("a failed write to disk can go unnoticed: the server continues and trusts the kernel's cache"),
    ),
    (
        "zero_damaged_pages",
        False,
        tr("damaged pages are zeroed without an error"),
    ),
    (
        "ignore_checksum_failure",
        False,
        tr("damaged pages are read without an error"),
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


# Check a campaign's settings with the server's own program before any start, and explain its refusals.
#
# No data directory is needed: ``--describe-config`` lists the parameters of the sample file (help_config.c:
# without those marked as internal or for developers), and ``-C`` reads an empty configuration file and then
# every ``-c`` of the command line (postmaster.c).
#
# Refusals of a server or of initdb are parsed from standard error or the log. They are in English, because
# every child runs with LC_ALL=C and lc_messages is C. Message texts are those of guc.c, guc-file.l, initdb.c
# and the postmaster of 13 to 18; severities of elog.c. Before the configuration has been read, lines have the
# default prefix and not ours.


_LINE: Final = re.compile(
    r"^(?P<prefix>.*?)\b(?P<severity>PANIC|FATAL|ERROR|LOG|error|fatal|HINT|hint|DETAIL|detail):\s+(?P<text>.*\S)\s*$"
)
_PLAIN: Final = re.compile(
    r"^(?:(?:postgres|initdb): (?!removing |\w+ directory .* not removed)(?=(?P<text>.*\S))"
    r"|(?=(?P<child>child process (?:exited|was terminated) .*\S))).*$"
)
"""Output of a program that cannot log yet (write_stderr), and initdb's about the server that it starts."""
_PROCESS: Final = re.compile(r"\[(\d+)(?:-\d+)?\]")
_RANK: Final = {"PANIC": 4, "FATAL": 3, "fatal": 3, "ERROR": 2, "error": 2, "LOG": 1}
_SEVERE: Final = 2
_UNKNOWN: Final = re.compile(r'unrecognized configuration parameter "(?P<name>[^"]+)"')
_VALUE: Final = re.compile(
    r"(?:invalid value for|outside the valid range for|cannot be changed|requires a .* value).*?"
    r'parameter "(?P<name>[^"]+)"|parameter "(?P<other>[^"]+)" (?:cannot be|requires a )'
)
_IN_FILE: Final = re.compile(r'(?: in file "[^"]*" line \d+)(?P<rest>.*)$')


@dataclass(frozen=True, slots=True)
class StartupFailure:
    """Why a server did not start.

    Attributes:
        text: its own sentence without the prefix; empty if there was none.
        hint: the server's detail and hint that follow; may be empty.
        setting: the parameter that caused it; empty if it was no setting.
        is_unknown: this version does not have the setting.
    """

    text: str
    hint: str = ""
    setting: str = ""
    is_unknown: bool = False


def _advice(lines: list[str], after: int) -> str:
    """Return the details and hints that follow line number `after`, up to the next message."""
    found: list[str] = []
    for line in lines[after + 1 :]:
        match = _LINE.match(line)
        if match is None:
            continue
        if match["severity"].upper() not in {"HINT", "DETAIL"}:
            break
        found.append(match["text"])
    return " ".join(found)


class _Complaint(NamedTuple):
    """An error line and its number."""

    number: int
    text: str


def parse_refusal(output: str) -> StartupFailure:
    """Return the most important line in the output of a program that refused to start.

    A line about a setting comes first (configuration errors are logged before a FATAL line that only says
    that the file has errors). Then, of the process that wrote the last line of the highest severity, the
    first of the errors with which it ended: later ones are mostly consequences, such as a PANIC during
    cleanup. Then the last line of all.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    best: _Complaint | None = None
    highest = 0
    running: dict[str, _Complaint] = {}
    for number, line in enumerate(lines):
        match = _LINE.match(line) or _PLAIN.match(line)
        groups = match.groupdict() if match else {}
        severity = groups.get("severity", "ERROR")
        if match is None or severity not in _RANK:
            continue
        text = groups["text"] or groups["child"]
        process = (_PROCESS.findall(groups.get("prefix", "")) or [""])[-1]
        unknown, value = _UNKNOWN.search(text), _VALUE.search(text)
        if unknown or value:
            name = unknown["name"] if unknown else (value["name"] or value["other"] if value else "")
            return StartupFailure(
                _IN_FILE.sub(r"\g<rest>", text), _advice(lines, number), name, bool(unknown)
            )
        rank = _RANK[severity]
        first = running.get(process) if rank >= _SEVERE else None
        cause = first or _Complaint(number, text)
        if rank >= _SEVERE:
            running[process] = cause
        else:
            running.pop(process, None)  # it continued
        if rank >= highest:
            best, highest = cause, rank
    if best is not None:
        return StartupFailure(best.text, _advice(lines, best.number))
    return StartupFailure(lines[-1].strip() if lines else "")


def setting_error(refusal: StartupFailure, version: str, nearest: str = "") -> SettingError | None:
    """Return the error for a refused setting, or None if no setting caused it.

    Args:
        refusal: of the server.
        version: of the server.
        nearest: sentence naming an existing setting, for an unknown one.
    """
    if not refusal.setting:
        return None
    if refusal.is_unknown:
        message = tr("postgresql.settings.{name}: PostgreSQL {version} has no such setting.")
    else:
        message = tr("postgresql.settings.{name}: PostgreSQL {version} answered: {text}.")
    return SettingError(
        message.format(name=refusal.setting, version=version, text=refusal.text.rstrip(".")),
        hint=nearest or refusal.hint,
    )


CHECK_TIMEOUT_S: Final = 120.0


def known_settings(installation: Installation, account: Account, record: Recorder) -> tuple[str, ...]:
    """Return the names of the parameters that ``postgres --describe-config`` lists, one a line.

    Raises:
        SettingError: the program failed.
        ProgramError: the program could not be started.
    """
    argv = (installation.program("postgres"), "--describe-config")
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    names = tuple(line.partition("\t")[0] for line in outcome.stdout.splitlines() if "\t" in line)
    if not outcome.succeeded or not names:
        raise SettingError(
            tr("The settings of PostgreSQL {version} could not be listed: {outcome}").format(
                version=installation.version, outcome=outcome.describe()
            )
        )
    return names


def check_settings(
    settings: Sequence[Setting], installation: Installation, account: Account, record: Recorder
) -> None:
    """Make the server parse all settings; nothing is started or written.

    A value can still fail at the start, when the server requests memory or compares settings with each other.

    Raises:
        SettingError: this version does not know a setting, or rejects its value; names it. Or a timeout,
            which says nothing about the settings.
        ProgramError: the server's program cannot be started.
    """
    argv = [installation.program("postgres"), "-C", "server_version", "-D", installation.bin_directory]
    argv += ["-c", "config_file=/dev/null"]
    for setting in settings:
        argv += ["-c", f"{setting.name}={setting.value}"]
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    if outcome.succeeded:
        return
    if outcome.exit_code == TIMED_OUT:
        message = tr("PostgreSQL {version} did not finish checking these settings in time: {outcome}")
        raise SettingError(
            message.format(version=installation.version, outcome=outcome.describe()),
            hint=tr("Something is keeping this machine busy; check again when it has finished."),
        )
    refusal = parse_refusal(outcome.stderr)
    nearest = ""
    if refusal.is_unknown:
        nearest = did_you_mean(refusal.setting, known_settings(installation, account, record))
    raise setting_error(refusal, installation.version, nearest) or SettingError(
        tr("PostgreSQL {version} does not accept these settings: {text}").format(
            version=installation.version, text=refusal.text or outcome.describe()
        ),
        hint=refusal.hint,
    )
