"""The installation of this machine, and what its server says about settings before any start."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import SettingError
from app.postgres.installations.installation import Installation, fingerprint
from app.postgres.settings import check_settings, known_settings
from app.process.starter import Account, CommandOutcome
from tests.fix_postgres import small_settings

pytestmark = pytest.mark.postgres


def _ignore(_outcome: CommandOutcome) -> None:
    """Record nothing."""


def test_this_machines_installations_are_read_in_full(every_installation: tuple[Installation, ...]) -> None:
    assert every_installation
    for found in every_installation:
        assert re.fullmatch(rf"{found.major}(\.\d+|devel|(alpha|beta|rc)\d+)", found.version), found.version
        assert found.version in found.version_text
        assert found.block_size in {1024, 2048, 4096, 8192, 16384, 32768}
        assert len(fingerprint(found)) == 64


def test_known_settings_include_campaign_ones(installation: Installation, database_account: Account) -> None:
    names = set(known_settings(installation, database_account, _ignore))
    assert {"shared_buffers", "max_wal_size", "fsync", "wal_sync_method"} <= names


@pytest.mark.parametrize(
    ("name", "value", "message", "hint"),
    [
        ("shard_buffers", "1GB", "has no such setting", "“shared_buffers”"),
        ("max_wal_sice", "1GB", "has no such setting", "“max_wal_size”"),
        ("zzzz", "1", "has no such setting", ""),
        ("shared_buffers", "1GBB", "invalid value", "Valid units"),
        ("shared_buffers", "", "invalid value", ""),
        ("random_page_cost", "1,5", "invalid value", ""),
        ("wal_sync_method", "hope", "invalid value", "fdatasync"),
        ("fsync", "perhaps", "requires a Boolean value", ""),
        ("block_size", "4096", "cannot be changed", ""),
        ("max_wal_size", "1", "outside the valid range", ""),
    ],
)
def test_refused_setting_named_before_start(
    every_installation: tuple[Installation, ...],
    database_account: Account,
    name: str,
    value: str,
    message: str,
    hint: str,
) -> None:
    for installation in every_installation:
        with pytest.raises(SettingError, match=message) as caught:
            check_settings(small_settings([(name, value)]), installation, database_account, _ignore)
        assert f"postgresql.settings.{name}:" in caught.value.message
        assert hint in caught.value.hint


def test_silent_server_refuses_no_setting(
    open_folder: Path,
    installation: Installation,
    database_account: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = open_folder / "postgres"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr("app.postgres.settings.CHECK_TIMEOUT_S", 0.2)
    silent = replace(installation, bin_directory=str(open_folder))
    with pytest.raises(SettingError) as caught:
        check_settings(small_settings([("work_mem", "8MB")]), silent, database_account, _ignore)
    said = f"PostgreSQL {installation.version} did not finish checking these settings in time: "
    assert caught.value.message.startswith(said)
    assert "Something is keeping this machine busy" in caught.value.hint


def test_settings_for_developers_and_extensions_are_taken(
    installation: Installation, database_account: Account
) -> None:
    extra = [("zero_damaged_pages", "on"), ("pg_stat_statements.max", "100")]
    check_settings(small_settings(extra), installation, database_account, _ignore)


def test_settings_check_loads_no_library(
    every_installation: tuple[Installation, ...], database_account: Account
) -> None:
    names = ("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries")
    for installation in every_installation:
        for name in names:
            settings = small_settings([(name, "no_such_library")])
            check_settings(settings, installation, database_account, _ignore)  # loading it would be refused
