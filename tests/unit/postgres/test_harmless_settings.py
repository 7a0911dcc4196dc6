"""Settings that a campaign file may have unasked, held against what servers say of their settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.campaign_file.trust import HARMLESS, is_harmless
from app.postgres.presets import PRESETS
from app.postgres.settings import OWNED

RECORDED = sorted(Path("tests/data/postgres").glob("describe-config-*.txt"))
TEXTS = {"datestyle", "timezone", "log_connections"}
"""Harmless settings whose values are texts: read as words, and never as a command or a place."""


def _known() -> dict[str, str]:
    """The kind of each setting by its name in lower case."""
    rows = [line.split("\t") for path in RECORDED for line in path.read_text(encoding="utf-8").splitlines()]
    return {row[0].lower(): row[3] for row in rows if len(row) >= 8}


@pytest.mark.parametrize(
    "name",
    [
        *("archive_command", "archive_cleanup_command", "archive_library", "archive_mode", "restore_command"),
        *("recovery_end_command", "recovery_target_action", "recovery_init_sync_method", "primary_conninfo"),
        *("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries", "jit_provider"),
        *("dynamic_library_path", "extension_control_path", "oauth_validator_libraries", "jit_dump_bitcode"),
        *("ssl_passphrase_command", "ssl", "ssl_key_file", "krb_server_keyfile", "promote_trigger_file"),
        *("unix_socket_directories", "unix_socket_permissions", "listen_addresses", "port", "hba_file"),
        *("log_directory", "log_filename", "log_destination", "log_file_mode", "logging_collector"),
        *("data_directory", "external_pid_file", "stats_temp_directory", "temp_tablespaces", "event_source"),
        *("allow_system_table_mods", "lo_compat_privileges", "password_encryption", "db_user_namespace"),
        *("auto_explain.log_min_duration", "plperl.on_init", "a_setting_of_postgresql_30", ""),
        *("ARCHIVE_COMMAND", "Shared_Preload_Libraries"),
    ],
)
def test_dangerous_and_unknown_never_harmless(name: str) -> None:
    assert not is_harmless(name)


def test_no_harmless_name_suggests_commands() -> None:
    telling = re.compile(
        r"command|librar|path|director|_file\b|filename|provider|socket|address|conninfo|recovery_(?!conflict)"
    )
    assert {name for name in HARMLESS if telling.search(name)} == {"log_replication_commands"}


def test_harmless_values_are_plain() -> None:
    known = _known()
    assert len(known) > 300
    assert {name for name in HARMLESS & known.keys() if known[name] == "STRING"} == TEXTS
    assert len(HARMLESS & known.keys()) > 180


def test_names_in_any_case_listed_once() -> None:
    assert is_harmless("Work_Mem")
    assert {name.lower() for name in HARMLESS} == HARMLESS


def test_preset_settings_harmless_owned_ones_not() -> None:
    assert {rule.name for preset in PRESETS.values() for rule in preset.rules} <= HARMLESS
    assert HARMLESS & OWNED.keys() == {"log_checkpoints"}
