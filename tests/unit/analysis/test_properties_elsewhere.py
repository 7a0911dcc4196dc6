"""What a server that was not started here is: as it says, and told wherever runs are compared."""

from __future__ import annotations

import pytest

from app.analysis.properties import (
    MACHINE,
    PGBENCH_MACHINE,
    POSTGRESQL,
    SETTING,
    TARGET,
    Property,
    properties_of,
)
from app.comparison.differences import compare_properties
from app.domain.campaign.configuration import ServerTarget
from app.domain.json_value import Json
from app.probes.base.probe import Facts
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import (
    InstallationMetadata,
    RunMetadata,
    ServerMetadata,
    TargetMetadata,
)

SETTINGS: dict[str, tuple[str, str]] = {
    "shared_buffers": ("128MB", "configuration file"),
    "max_wal_size": ("1GB", "command line"),
    "work_mem": ("4MB", "default"),
    "data_checksums": ("on", "default"),
    "block_size": ("8192", "default"),
    "port": ("5432", "command line"),
    "lc_messages": ("C", "configuration file"),
    "config_file": ("/pg/postgresql.conf", "override"),
    "ssl_key_file": ("/pg/key", "configuration file"),
    "application_name": ("pgfooting", "client"),
}


def properties_there(
    *, identifier: str = "73", trip: float = 0.05, filesystem: str = "ufs", **settings: tuple[str, str]
) -> list[Property]:
    """Return the properties of a run on a server elsewhere."""
    server = ServerMetadata(host_name="db:5432", system_identifier=identifier, round_trip_ms=trip)
    metadata = RunMetadata(
        target=TargetMetadata(kind=ServerTarget.kind, server=server),
        installation=InstallationMetadata(version="16.4"),
        settings=(),
    )
    given: dict[str, Json] = {
        name: {"value": value, "source": source} for name, (value, source) in (SETTINGS | settings).items()
    }
    facts: Facts = {
        "reached": {"over": "ssh", "system": "FreeBSD", "tried": False},
        "storage": {"mount": {"filesystem": filesystem, "options": ["noatime"]}},
        "server": {"version": "PostgreSQL 16.4 on amd64-portbld-freebsd14.0", "settings": given},
    }
    return list(properties_of(metadata, read_environment_facts(facts)))


def values(properties: list[Property], topic: str) -> dict[str, str]:
    return {each.name: each.value for each in properties if each.topic == topic and each.is_known}


def test_server_build_pages_and_settings() -> None:
    found = properties_there()
    of_server = values(found, POSTGRESQL)
    assert of_server["version"] == "16.4"
    assert of_server["build"] == "PostgreSQL 16.4 on amd64-portbld-freebsd14.0"
    assert (of_server["block size"], of_server["checksums"]) == ("8 KiB", "yes")
    assert values(found, SETTING) == {"shared_buffers": "128MB", "max_wal_size": "1GB"}
    assert values(found, TARGET)["filesystem"] == "ufs"
    unknown = {each.name for each in found if not each.is_known and each.topic == POSTGRESQL}
    assert "installation" not in unknown, "nobody chose where its programs are"


def test_same_server_differing_network() -> None:
    found = compare_properties([properties_there(), properties_there(trip=0.09)])
    assert found.differences == ()


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (properties_there(shared_buffers=("512MB", "configuration file")), "shared_buffers"),
        (properties_there(wal_level=("minimal", "configuration file")), "wal_level"),
        (properties_there(data_checksums=("off", "default")), "checksums"),
        (properties_there(identifier="74"), "system identifier"),
        (properties_there(filesystem="zfs"), "filesystem"),
        (properties_there(trip=5.0), "network round trip"),
    ],
)
def test_owner_change_is_difference(other: list[Property], name: str) -> None:
    assert [each.name for each in compare_properties([properties_there(), other]).differences] == [name]


def test_unknown_identifier_not_same() -> None:
    found = compare_properties([properties_there(identifier=""), properties_there(identifier="")])
    assert "system identifier" in {each.name for each in found.not_known}
    assert not found.are_repeats


def on_machine(processor: str, *, asked: bool = True) -> list[Property]:
    """Return the properties of a run on a server whose machine was asked over ssh, or was not."""
    metadata = RunMetadata(target=TargetMetadata(kind=ServerTarget.kind, server=ServerMetadata()))
    facts: Facts = {"processor": {"info": {"model_name": processor}}, "kernel": {"release": "6.1"}}
    if asked:
        facts["reached"] = {"over": "ssh", "system": "Linux"}
    return list(properties_of(metadata, read_environment_facts(facts)))


def test_unqueried_machine_not_known() -> None:
    found = compare_properties([on_machine("EPYC"), on_machine("Xeon", asked=False)])
    assert not [each for each in found.differences if each.topic in {MACHINE, PGBENCH_MACHINE}]
    assert {"processor", "kernel"} <= {each.name for each in found.not_known if each.topic == MACHINE}
    three = [on_machine("EPYC"), on_machine("Xeon", asked=False), on_machine("Xeon")]
    (processor,) = (each for each in compare_properties(three).differences if each.topic == MACHINE)
    assert [variant.value for variant in processor.variants] == ["EPYC", "not known", "Xeon"]
