from __future__ import annotations

import pytest

from app.postgres.configuration_text import (
    BACKUP_ROLE,
    format_configuration,
    format_hba,
    format_ident,
    initdb_arguments,
)
from app.postgres.settings import Origin, Setting


def test_settings_quoted_below_their_reasons() -> None:
    settings = [
        Setting("shared_buffers", "1GB", "a quarter\nof RAM", "manual", Origin.PRESET),
        Setting("search_path", "it's \\ odd", "", "", Origin.USER),
    ]
    assert format_configuration(settings, "/run/pg footing").splitlines()[1:] == [
        "# a quarter of RAM",
        "shared_buffers = '1GB'",
        "search_path = 'it''s \\\\ odd'",
        "unix_socket_directories = '\"/run/pg footing\"'",
    ]


def test_two_roles_over_socket_only() -> None:
    lines = [line for line in format_hba().splitlines() if not line.startswith("#")]
    assert lines == [
        "local all pgfooting scram-sha-256",
        "local pgbench pgfooting_bench peer map=footing",
    ]


@pytest.mark.parametrize(
    ("account", "line"),
    [
        ("postgres", 'footing "postgres" pgfooting_bench'),
        ("/.*", 'footing "/.*" pgfooting_bench'),
        ('odd "name', 'footing "odd ""name" pgfooting_bench'),
    ],
)
def test_system_user_quoted(account: str, line: str) -> None:
    assert format_ident(account).splitlines()[1:] == [line]


@pytest.mark.parametrize(
    ("major", "checksums", "expected"),
    [
        (13, True, ["--data-checksums"]),
        (17, False, []),
        (18, True, ["--data-checksums"]),
        (18, False, ["--no-data-checksums"]),
    ],
)
def test_checksums_by_version(*, major: int, checksums: bool, expected: list[str]) -> None:
    arguments = initdb_arguments("/data", major, checksums=checksums)
    assert [argument for argument in arguments if "checksums" in argument] == expected
    assert arguments[:4] == ("--pgdata", "/data", "--username", "pgfooting")


def test_base_backup_role_only_with_backups() -> None:
    assert "replication" not in format_hba()
    assert BACKUP_ROLE not in format_ident("postgres")
    lines = format_hba(backups=True).splitlines()
    assert lines[-1] == f"local replication {BACKUP_ROLE} peer map=footing"
    assert format_hba(backups=True).startswith(format_hba())
    assert format_ident('a"b', backups=True).splitlines()[-1] == f'footing "a""b" {BACKUP_ROLE}'
