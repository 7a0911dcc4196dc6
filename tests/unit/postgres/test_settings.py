from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.campaign.configuration import PostgresChoice, Workload, WorkloadPhase
from app.domain.errors import CampaignError
from app.domain.text import GIB, MIB
from app.postgres.presets import PRESETS, Sizing
from app.postgres.settings import (
    OWNED,
    RESERVED_CONNECTIONS,
    Origin,
    Setting,
    bytes_needed,
    parse_memory,
    quote_value,
    server_settings,
    unsafe_settings,
)
from tests.fix_postgres import SMALL_MACHINE


def _values(
    preset: str, *user: tuple[str, str], ram_bytes: int = 8 * GIB, free: int | None = None
) -> dict[str, str]:
    machine = replace(SMALL_MACHINE, ram_bytes=ram_bytes)
    choice = PostgresChoice(preset=preset, settings=user)
    settings = server_settings(choice, machine, Workload(), target_free_bytes=free)
    return {setting.name: setting.value for setting in settings}


def test_defaults_set_only_what_is_needed() -> None:
    settings = server_settings(PostgresChoice(preset="defaults"), SMALL_MACHINE, Workload())
    assert {setting.origin for setting in settings} == {Origin.PGFOOTING}
    assert "shared_buffers" not in {setting.name for setting in settings}


@pytest.mark.parametrize(
    ("ram_bytes", "shared_buffers"),
    [(256 * MIB, "128MB"), (8 * GIB, "2048MB"), (64 * GIB, "16384MB"), (1024 * GIB, "16384MB")],
)
def test_shared_buffers_quarter_of_ram(ram_bytes: int, shared_buffers: str) -> None:
    assert _values("machine", ram_bytes=ram_bytes)["shared_buffers"] == shared_buffers


def test_sizes_follow_memory_limit() -> None:
    machine = replace(SMALL_MACHINE, ram_bytes=64 * GIB, memory_limit_bytes=4 * GIB)
    settings = server_settings(PostgresChoice(), machine, Workload())
    assert {"shared_buffers": "1024MB", "effective_cache_size": "3072MB"}.items() <= {
        setting.name: setting.value for setting in settings
    }.items()


def test_seeds_preset_matches_published_machines() -> None:
    i5 = _values("seeds", ram_bytes=8 * GIB)
    xeon = _values("seeds", ram_bytes=64 * GIB)
    assert (i5["shared_buffers"], i5["max_wal_size"], i5["min_wal_size"]) == ("1024MB", "65536MB", "8192MB")
    assert (xeon["shared_buffers"], xeon["max_wal_size"]) == ("8192MB", "131072MB")
    assert i5["checkpoint_timeout"] == xeon["checkpoint_timeout"] == "15min"
    assert i5["work_mem"] == "128MB"


def test_zfs_tuning_of_seeds_is_unsafe() -> None:
    values = _values("seeds-zfs")
    assert [name for name, _, _ in unsafe_settings(values.items())] == ["full_page_writes"]
    assert values["wal_init_zero"] == values["wal_recycle"] == "off"
    assert unsafe_settings(_values("seeds").items()) == ()


def test_max_wal_size_leaves_half_free() -> None:
    assert _values("machine")["max_wal_size"] == "16384MB"
    values = _values("machine", free=10 * GIB + 256 * MIB)
    assert values["max_wal_size"] == "5120MB"
    assert values["min_wal_size"] == "1280MB"


@given(
    st.integers(min_value=64 * MIB, max_value=4096 * GIB),
    st.integers(min_value=0, max_value=4096 * GIB),
    st.integers(min_value=0, max_value=4096 * GIB),
)
def test_every_preset_gives_sizes_that_postgresql_accepts(ram_bytes: int, free: int, data: int) -> None:
    sizing = Sizing(ram_bytes, 100, free, data)
    for preset in PRESETS.values():
        values = {rule.name: rule.value(sizing) for rule in preset.rules}
        if not values:
            continue
        sizes = {name: parse_memory(values[name], MIB) or 0 for name in ("max_wal_size", "min_wal_size")}
        assert sizes["max_wal_size"] >= 2 * 16 * MIB  # the server's own limit: two segments
        assert 2 * 16 * MIB <= sizes["min_wal_size"] <= sizes["max_wal_size"]
        assert (parse_memory(values["shared_buffers"], 8192) or 0) >= 128 * MIB


def test_preset_rules_have_reason_and_source() -> None:
    for key, preset in PRESETS.items():
        assert key == preset.id
        assert preset.label
        assert preset.description
        assert preset.source
        names = [rule.name for rule in preset.rules]
        assert len(names) == len(set(names))
        for rule in preset.rules:
            assert rule.why
            assert rule.source
            assert rule.name not in OWNED


def test_the_users_settings_win_over_the_preset() -> None:
    settings = server_settings(
        PostgresChoice(settings=(("Shared_Buffers", "77MB"),)), SMALL_MACHINE, Workload()
    )
    [found] = [setting for setting in settings if setting.name == "shared_buffers"]
    assert (found.value, found.origin) == ("77MB", Origin.USER)


def test_base_backup_settings_yield_to_user() -> None:
    beside = Workload(phases=(WorkloadPhase("a", background="pg_basebackup"),))
    choice = PostgresChoice("newest", "defaults", (("max_wal_senders", "5"),))
    found = {each.name: each for each in server_settings(choice, SMALL_MACHINE, beside)}
    assert (found["wal_level"].value, found["wal_level"].origin) == ("replica", Origin.PGFOOTING)
    assert (found["max_wal_senders"].value, found["max_wal_senders"].origin) == ("5", Origin.USER)
    alone = Workload(phases=(WorkloadPhase("a"),))
    assert "wal_level" not in {each.name for each in server_settings(choice, SMALL_MACHINE, alone)}


def test_setting_names_unique_and_complete() -> None:
    settings = server_settings(PostgresChoice(preset="seeds"), SMALL_MACHINE, Workload())
    names = [setting.name for setting in settings]
    assert len(names) == len(set(names))
    values = {setting.name: setting.value for setting in settings}
    assert values["listen_addresses"] == ""
    assert values["log_line_prefix"] == "%n [%p] "
    assert values["log_autovacuum_min_duration"] == "100ms"  # the preset's, not pgFooting's wish


@pytest.mark.parametrize("name", [*sorted(OWNED), "Listen_Addresses"])
def test_refuses_what_pgfooting_decides(name: str) -> None:
    with pytest.raises(CampaignError, match="pgFooting controls it") as caught:
        _values("machine", (name, "x"))
    assert caught.value.field == f"postgresql.settings.{name}"


def test_max_connections_grows_with_the_clients() -> None:
    def connections(clients: int) -> str | None:
        settings = server_settings(PostgresChoice(), SMALL_MACHINE, Workload(clients=clients))
        return {setting.name: setting.value for setting in settings}.get("max_connections")

    assert connections(100 - RESERVED_CONNECTIONS) is None  # the 100 of initdb will do
    assert connections(101 - RESERVED_CONNECTIONS) == "101"
    assert connections(1000) == str(1000 + RESERVED_CONNECTIONS)


def test_refuses_clients_over_the_users_max_connections() -> None:
    choice = PostgresChoice(settings=(("max_connections", "50"),))
    with pytest.raises(CampaignError, match="max_connections is 50, but workload.clients is 50") as caught:
        server_settings(choice, SMALL_MACHINE, Workload(clients=50))
    assert str(50 + RESERVED_CONNECTIONS) in caught.value.hint
    server_settings(choice, SMALL_MACHINE, Workload(clients=50 - RESERVED_CONNECTIONS))


def test_superuser_connections_not_for_pgbench() -> None:
    def connections(*settings: tuple[str, str]) -> str:
        found = server_settings(PostgresChoice(settings=settings), SMALL_MACHINE, Workload(clients=200))
        return {setting.name: setting.value for setting in found}["max_connections"]

    needed = 200 + RESERVED_CONNECTIONS
    assert connections(("superuser_reserved_connections", "3")) == str(needed)
    assert connections(("superuser_reserved_connections", "20")) == str(needed + 17)
    assert connections(("reserved_connections", "5")) == str(needed + 5)
    assert connections(("superuser_reserved_connections", "0")) == str(needed)
    kept = (("superuser_reserved_connections", "20"), ("max_connections", str(needed + 16)))
    with pytest.raises(CampaignError, match=f"max_connections is {needed + 16}"):
        connections(*kept)


def test_space_needed_holds_data_and_wal() -> None:
    settings = [Setting("max_wal_size", "2GB", "", "", Origin.USER)]
    assert bytes_needed(4 * GIB, settings) == 5 * GIB + 2 * GIB + 256 * MIB
    assert bytes_needed(0, []) == GIB + 256 * MIB


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("16GB", 16 * GIB),
        ("64", 64 * MIB),
        ("1.5 GB", round(1.5 * GIB)),
        (" 8kB ", 8192),
        ("2TB", 2048 * GIB),
    ],
)
def test_memory_parsed_like_server(value: str, expected: int) -> None:
    assert parse_memory(value, MIB) == expected


@pytest.mark.parametrize("value", ["", "GB", "1gb", "-1", "1,5GB", "٣GB", "1" * 30])
def test_memory_refused_by_server(value: str) -> None:
    assert parse_memory(value, MIB) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "off"),
        ("fsync", "OFF"),
        ("fsync", "0"),
        ("fsync", "f"),
        ("fsync", "n"),
        ("Full_Page_Writes", "no"),
        ("full_page_writes", "false"),
        ("synchronous_commit", "off"),
        ("synchronous_commit", "of"),
        ("data_sync_retry", "on"),
        ("zero_damaged_pages", "1"),
        ("ignore_checksum_failure", "yes"),
    ],
)
def test_settings_that_trade_safety_away_are_found(name: str, value: str) -> None:
    [(found, shown, sentence)] = unsafe_settings([(name, value)])
    assert found == name.lower()
    assert shown == value
    assert sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "on"),
        ("fsync", "1"),
        ("synchronous_commit", "local"),
        ("synchronous_commit", "remote_apply"),
        ("data_sync_retry", "off"),
        ("zero_damaged_pages", "fal"),
        ("wal_level", "minimal"),
        ("autovacuum", "off"),
    ],
)
def test_safe_settings_not_marked(name: str, value: str) -> None:
    assert unsafe_settings([(name, value)]) == ()


def _unquote(text: str) -> str:
    """Undo quoting as guc-file.l does (DeescapeQuotedString)."""
    inner, result, place = text[1:-1], [], 0
    while place < len(inner):
        if inner[place] in "\\'":
            place += 1
        result.append(inner[place])
        place += 1
    return "".join(result)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"])))
def test_every_value_survives_quoting(value: str) -> None:
    quoted = quote_value(value)
    assert quoted[0] == quoted[-1] == "'"
    assert _unquote(quoted) == value
