"""What was chosen for the server is what real servers say that they have, before anything is measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from app.domain.campaign.configuration import DiskTarget, GroupChoice, PostgresChoice, Workload
from app.domain.campaign.disk_target import ServerOption, server_options
from app.domain.errors import SettingError
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.kinds import Stage, Toggle
from app.domain.options.raid import Level
from app.domain.run import Phase
from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.postgres.settings import Setting, check_settings, known_settings, server_settings
from app.process.starter import Account
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text
from tests.fix_postgres import SMALL_MACHINE, Workbench

pytestmark = pytest.mark.postgres

SMALL = (("shared_buffers", "32MB"), ("max_wal_size", "128MB"), ("min_wal_size", "32MB"))


@dataclass(frozen=True, slots=True)
class Case:
    """What is chosen for a filesystem: a preset, or one option.

    Attributes:
        names: of everything that comes to the same settings.
        options: what it comes to.
    """

    names: tuple[str, ...]
    options: tuple[ServerOption, ...]

    @property
    def wanted(self) -> dict[str, str]:
        return {option.name: option.text for option in self.options}


def every_case() -> Iterator[tuple[str, tuple[ServerOption, ...]]]:
    """Yield every preset of every filesystem, and every option of the server stage with each value."""
    for spec in FILESYSTEMS:
        group = GroupChoice(("A",), Level.SINGLE, spec.id)
        for preset in spec.presets if spec.levels else ():
            chosen = DiskTarget(GroupChoice(("A",), Level.SINGLE, spec.id, preset=preset.id))
            yield f"{spec.id} {preset.id}", server_options(chosen, {})
        for option in spec.options if spec.levels else ():
            for value in (
                (True, False) if isinstance(option.kind, Toggle) and option.stage is Stage.SERVER else ()
            ):
                chosen = DiskTarget(
                    GroupChoice(group.disks, group.level, spec.id, options=((option.id, value),))
                )
                yield f"{spec.id} {option.id}={value}", server_options(chosen, {})


def distinct_cases() -> list[Case]:
    """Return what differs to a server: it does not know which filesystem its settings come from."""
    found: dict[tuple[tuple[str, str], ...], Case] = {}
    for name, options in every_case():
        key = tuple(sorted((option.name, option.text) for option in options))
        found[key] = Case((*(found[key].names if key in found else ()), name), options)
    return list(found.values())


def settings(options: tuple[ServerOption, ...], *own: tuple[str, str]) -> tuple[Setting, ...]:
    choice = PostgresChoice(preset="defaults", settings=(*SMALL, *own))
    return server_settings(choice, SMALL_MACHINE, Workload(), target_free_bytes=1 << 30, filesystem=options)


def shown(server: Server, *names: str) -> dict[str, str]:
    with psycopg.connect(server.conninfo) as connection:
        rows = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    return {name: str(row[0]) for name, row in zip(names, rows, strict=True) if row is not None}


def restart(server: Server, chosen: tuple[Setting, ...]) -> None:
    server.stop()
    server.settings = chosen
    server.write_configuration()
    server.start()


@pytest.mark.long
def test_filesystem_choices_shown_by_server(workbench: Workbench) -> None:
    cases = distinct_cases()
    assert sum(len(case.names) for case in cases) > 30
    assert len(cases) >= 8
    server = workbench.server()
    for case in cases:
        restart(server, settings(case.options))
        server.check_settings()
        assert shown(server, *case.wanted) == case.wanted, case.names


def test_file_growth_read_back_or_refused(
    workbench: Workbench, every_installation: tuple[Installation, ...], database_account: Account
) -> None:
    wanted = "file_extend_method"
    group = GroupChoice(("A",), Level.SINGLE, "btrfs", options=((wanted, "write_zeros"),))
    chosen = settings(server_options(DiskTarget(group), {}))
    for number, installation in enumerate(every_installation):
        names = set(known_settings(installation, database_account, lambda _: None))
        if wanted not in names:
            with pytest.raises(SettingError, match="has no such setting"):
                check_settings(chosen, installation, database_account, lambda _: None)
            continue
        server = workbench.server(name=f"grow{number}", initialise=False)
        server.installation = installation
        server.settings = chosen
        server.initdb(checksums=False)
        server.write_configuration()
        server.start()
        server.check_settings()
        assert shown(server, wanted) == {wanted: "write_zeros"}
        server.stop()


def test_own_settings_in_any_spelling(workbench: Workbench) -> None:
    server = workbench.server()
    own = (
        ("work_mem", "8192kB"),
        ("wal_buffers", "-1"),
        ("checkpoint_timeout", "0.5h"),
        ("TimeZone", "utc"),
        ("synchronous_commit", "TRUE"),
        ("wal_compression", "yes"),
        ("random_page_cost", "11e-1"),
        ("statement_timeout", "5min"),
        ("mine.own", "It's"),
        ("autovacuum", "fal"),
        ("effective_cache_size", "0x100"),
    )
    restart(server, settings((), *own))
    server.check_settings()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER SYSTEM SET full_page_writes = on", "full_page_writes is on instead of off"),
        ("ALTER SYSTEM SET work_mem = '5MB'", "work_mem is 5MB instead of 7MB"),
        ("ALTER DATABASE postgres SET work_mem = '5MB'", "work_mem is 5MB instead of 7MB"),
        ("ALTER ROLE pgfooting SET random_page_cost = 3", "random_page_cost is 3 instead of 1.5"),
    ],
)
def test_mismatch_names_values_and_source(workbench: Workbench, statement: str, expected: str) -> None:
    server = workbench.server()
    (case,) = (case for case in distinct_cases() if "zfs recommended" in case.names)
    restart(server, settings(case.options, ("work_mem", "7MB"), ("random_page_cost", "1.5")))
    server.check_settings()
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute(statement)
    if "SYSTEM" in statement:  # our file is read before postgresql.auto.conf
        server.stop()
        server.start()
    with pytest.raises(SettingError, match=expected) as caught:
        server.check_settings()
    assert "from: " in caught.value.message
    assert "Nothing was measured" in caught.value.message


def script(folder: Path, installation: Installation, name: str, before: str = "", *extra: str) -> None:
    """Put a script in the place of a program: it does something `before`, and may add arguments."""
    (folder / name).unlink()
    real = shlex.quote(installation.program(name))
    (folder / name).write_text(f'#!/bin/sh\n{before}\nexec {real} "$@" {shlex.join(extra)}\n')
    (folder / name).chmod(0o755)


def wrapped(folder: Path, installation: Installation) -> Path:
    """Make a folder with the programs of an installation that is one of its own: the server is a script."""
    folder.mkdir(mode=0o755)
    for program in Path(installation.bin_directory).iterdir():
        (folder / program.name).symlink_to(program)
    script(folder, installation, "postgres")
    return folder


@pytest.mark.long
def test_mismatched_server_not_measured(campaign_bench: CampaignBench, installation: Installation) -> None:
    folder = wrapped(campaign_bench.folder / "bin", installation)
    other = '[ "$1" != -D ] || set -- "$@" -c wal_recycle=off'
    script(folder, installation, "postgres", other)
    text = campaign_text(memory=True, repeats=2).replace(
        "[postgresql]", f'[postgresql]\ninstallation = "{folder}"'
    )
    text = text.replace("[postgresql.settings]", "[postgresql.settings]\nwal_recycle = true")
    ended = campaign_bench.run(text, "--trust", status=1)
    assert "wal_recycle is off instead of on (from: command line)" in ended.stdout
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.values["state"] == "failed"
        assert run.phase(Phase.MEASURE) is None
        assert run.phase(Phase.WARM_UP) is None


@pytest.mark.long
@pytest.mark.parametrize(("chosen", "found"), [("true", "off"), ("false", "on")])
def test_other_checksums_not_measured(
    campaign_bench: CampaignBench, installation: Installation, chosen: str, found: str
) -> None:
    folder = wrapped(campaign_bench.folder / "bin", installation)
    without = 'for word; do shift; [ "$word" = --data-checksums ] || set -- "$@" "$word"; done'
    script(folder, installation, "initdb", without, *(["--data-checksums"] if found == "on" else []))
    text = campaign_text(memory=True).replace("[postgresql]", f'[postgresql]\ninstallation = "{folder}"')
    text = text.replace("checksums = false", f"checksums = {chosen}")
    ended = campaign_bench.run(text, "--trust", status=1)
    asked = "on" if chosen == "true" else "off"
    words = f"data_checksums is {found} instead of {asked} (from: build and initdb options)"
    assert words in ended.stdout
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.values["state"] == "failed"
        assert run.phase(Phase.MEASURE) is None


def test_other_page_size_not_measured(workbench: Workbench) -> None:
    server = workbench.server(initialise=False)
    server.installation = replace(server.installation, block_size=16384)
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    with pytest.raises(SettingError, match="block_size is 8192 instead of 16384"):
        server.check_settings()
