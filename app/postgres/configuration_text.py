"""The texts that make a data directory ours: settings, authentication, and initdb's arguments. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.postgres.connection import ROLE
from app.postgres.settings import Setting, quote_value

CHECKSUM_SWITCH_MAJOR: Final = 18
"""Since 18 initdb makes checksums unless told not to (release notes 18); before, the switch is unknown."""
_IDENT_MAP: Final = "footing"


def format_configuration(settings: Iterable[Setting], socket_directory: str) -> str:
    """Return the text of pgfooting.conf: one setting a line, with its reason above it."""
    lines = ["# Written by pgFooting; read after postgresql.conf, so these lines win."]
    for setting in settings:
        if setting.why:
            lines.append("# " + " ".join(setting.why.split()))
        lines.append(f"{setting.name} = {quote_value(setting.value)}")
    folder = '"' + socket_directory.replace('"', '""') + '"'
    lines.append(f"unix_socket_directories = {quote_value(folder)}")
    return "\n".join(lines) + "\n"


def format_hba() -> str:
    """Return pg_hba.conf: one role over the Unix socket, known by the kernel's word, nobody else."""
    return f"# Written by pgFooting.\nlocal all {ROLE} peer map={_IDENT_MAP}\n"


def format_ident(accounts: Iterable[str]) -> str:
    """Return pg_ident.conf: the system users that may be the one role."""
    quoted = ('"' + name.replace('"', '""') + '"' for name in sorted(set(accounts)))
    lines = [f"{_IDENT_MAP} {name} {ROLE}" for name in quoted]
    return "\n".join(["# Written by pgFooting.", *lines]) + "\n"


def initdb_arguments(
    data_directory: str, major: int, *, checksums: bool, wal_directory: str = ""
) -> tuple[str, ...]:
    """Return the arguments of initdb; `wal_directory` is empty where the WAL stays in the data directory.

    The locale is C with UTF8: it exists on every machine and sorts alike with every C library, and pgbench's
    keys are integers. ``--no-sync``, because initdb would sync about a thousand files one by one; the caller
    syncs the filesystem once instead, so that nothing of the load is left to be written during the run.
    """
    arguments = ["--pgdata", data_directory, "--username", ROLE, "--encoding", "UTF8", "--locale", "C"]
    arguments += ["--auth-local", "peer", "--auth-host", "reject", "--no-sync"]
    if checksums:
        arguments.append("--data-checksums")
    elif major >= CHECKSUM_SWITCH_MAJOR:
        arguments.append("--no-data-checksums")
    if wal_directory:
        arguments += ["--waldir", wal_directory]
    return tuple(arguments)
