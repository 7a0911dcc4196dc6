"""Settings of a server of others in which its owner may have written a secret are not kept."""

from __future__ import annotations

import pytest

from app.postgres.facts import ServerFacts, SettingInEffect, without_secrets

SECRET = "open-sesame"  # noqa: S105 - of nothing


@pytest.mark.parametrize(
    "name",
    [
        "primary_conninfo",
        "archive_command",
        "restore_command",
        "ssl_passphrase_command",
        "citus.node_conninfo",
        "app.jwt_key",
        "myext.anything",
    ],
)
def test_possible_secrets_not_kept(name: str) -> None:
    facts = ServerFacts("PostgreSQL 16", "", (SettingInEffect(name, SECRET, "configuration file"),))
    (found,) = without_secrets(facts).settings
    assert (found.name, found.value, found.source) == (name, "(not kept)", "configuration file")


@pytest.mark.parametrize("name", ["shared_buffers", "synchronous_commit", "wal_level", "max_wal_size"])
def test_performance_settings_kept(name: str) -> None:
    facts = ServerFacts("PostgreSQL 16", "", (SettingInEffect(name, "1", "configuration file"),))
    assert without_secrets(facts) == facts


def test_what_is_empty_is_told_as_empty() -> None:
    facts = ServerFacts("PostgreSQL 16", "", (SettingInEffect("archive_command", "", "configuration file"),))
    assert without_secrets(facts) == facts
