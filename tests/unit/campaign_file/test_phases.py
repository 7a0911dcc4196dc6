"""Phases of a workload in a campaign file: read, written again, refused with the place and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.campaign_file.reader import load_campaign, parse_campaign, parse_stored_campaign
from app.campaign_file.trust import campaign_digest, find_concerns
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Protocol,
    RateShare,
    Script,
    WorkloadPhase,
)
from app.domain.errors import CampaignError
from app.domain.units import MIB

BASE = 'name = "x"\n[target.folder]\n'
READS = (Script(BuiltinScript.SELECT_ONLY),)
WHOLE = """
[workload]
clients = 8
[[workload.phase]]
name = "cold start"
script = "select-only"
times = 3
counts = false
[[workload.phase]]
name = "reads"
script = "select-only"
clients = 16
threads = 2
duration = "30s"
protocol = "simple"
latency_limit = "50ms"
[[workload.phase]]
name = "writes"
transactions = 1000
rate = 300
maintenance = ["checkpoint", "vacuum"]
[[workload.phase]]
name = "half"
rate = "50.5 % of reads"
"""


def read(text: str) -> Campaign:
    return parse_campaign(text, base_directory="/", source_name="x")


def test_phases_are_read_and_written_again() -> None:
    campaign = read(BASE + WHOLE)
    assert campaign.configurations[0].workload.phases == (
        WorkloadPhase("cold start", times=3, counts=False, scripts=READS),
        WorkloadPhase(
            "reads",
            scripts=READS,
            clients=16,
            threads=2,
            duration_s=30,
            protocol=Protocol.SIMPLE,
            latency_limit_ms=50,
        ),
        WorkloadPhase("writes", transactions=1000, rate=300, maintenance=("checkpoint", "vacuum")),
        WorkloadPhase("half", rate=RateShare(50.5, "reads")),
    )
    assert read(format_campaign(campaign)) == campaign


def test_activities_beside_phases_round_trip() -> None:
    text = BASE + '[[workload.phase]]\nname = "a"\nbackground = "pg_basebackup"\nmax_rate = "10 MiB"\n'
    campaign = read(text)
    expected = WorkloadPhase("a", background="pg_basebackup", max_rate_bytes=10 * MIB)
    assert campaign.configurations[0].workload.phases == (expected,)
    assert read(format_campaign(campaign)) == campaign
    for work in ("scrub", "snapshot"):
        every = 'every = "5 min"' if work == "snapshot" else ""
        campaign = read(on_disks("btrfs") + f'background = "{work}"\n{every}\n')
        (phase,) = campaign.configurations[0].workload.phases
        assert (phase.background, phase.every_s) == (work, 300 if every else None)
        assert read(format_campaign(campaign)) == campaign


def test_no_phases_writes_unchanged_file() -> None:
    assert "phase" not in format_campaign(read(BASE + "[workload]\nclients = 8"))


def test_phase_scripts_reported_and_watched(tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text("\\shell touch /tmp/x\n")
    text = BASE + '[[workload.phase]]\nname = "a"\nscript = {file = "own.sql"}\n'
    (tmp_path / "c.toml").write_text(text)
    campaign = load_campaign(tmp_path / "c.toml")
    assert [concern.text for concern in find_concerns(campaign)] == ["\\shell touch /tmp/x\n"]
    stated, digest = state_campaign(campaign), campaign_digest(text, campaign)
    script.write_text("SELECT 1;\n")
    changed = load_campaign(tmp_path / "c.toml")
    assert campaign_digest(text, changed) != digest
    assert changed_scripts(stated, changed) == (str(script),)
    script.unlink()
    (stored,) = parse_stored_campaign(format_campaign(campaign)).configurations
    assert [phase.name for phase in stored.workload.phases] == ["a"]


def phases(*tables: str, workload: str = "") -> str:
    return BASE + f"[workload]\n{workload}\n" + "".join(f"[[workload.phase]]\n{each}\n" for each in tables)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (BASE + "[workload]\nphase = 3", "workload.phase", "1 to 20 tables"),
        (BASE + "[workload]\nphase = []", "workload.phase", "1 to 20 tables"),
        (BASE + '[workload]\nphase = ["a"]', "workload.phase[1]", "a table with the keys name, times"),
        (phases('name = "a"\n' * 0), "workload.phase[1].name", "is missing"),
        (phases('name = " "'), "workload.phase[1].name", "no blank at either end"),
        (phases('name = "a"', 'name = "a"'), "workload.phase[2].name", "of more than one phase"),
        (phases('name = "a"\ntimes = 0'), "workload.phase[1].times", "from 1 to 100"),
        (
            phases('name = "a"\ntimes = 100', 'name = "b"'),
            "workload.phase",
            "101 phases, each of its times counted, are more than the 100",
        ),
        (phases('name = "a"\ncounts = false'), "workload.phase", "none of the phases counts"),
        (phases('name = "a"\ncounts = 1'), "workload.phase[1].counts", "true or false"),
        (phases('name = "a"\nscripts = "select-only"'), "workload.phase[1].scripts", "Did you mean “script”"),
        (phases('name = "a"\nscale = 3'), "workload.phase[1].scale", "no known key of a phase"),
        (phases('name = "a"\nwarmup = 3'), "workload.phase[1].warmup", "not a known key of a phase"),
        (phases('name = "a"\nscript = "select"'), "workload.phase[1].script", "Did you mean “select-only”"),
        (
            phases('name = "a"\nduration = 3\ntransactions = 4'),
            "workload.phase[1]",
            "“duration” and “transactions” exclude each other",
        ),
        (
            phases('name = "a"\nrate = 0'),
            "workload.phase[1].rate",
            "a share of what an earlier phase reached",
        ),
        (phases('name = "a"\nrate = "70 %"'), "workload.phase[1].rate", "70 % of reads"),
        (phases('name = "a"\nrate = "0 % of a"'), "workload.phase[1].rate", "70 % of reads"),
        (phases('name = "a"\nrate = "1001 % of a"'), "workload.phase[1].rate", "70 % of reads"),
        (phases('name = "a"\nrate = "70 % of a"'), "workload.phase[1].rate", "“a” is no phase before"),
        (
            phases('name = "a"\nrate = "70 % of b"', 'name = "b"'),
            "workload.phase[1].rate",
            "“b” is no phase before this one",
        ),
        (
            phases('name = "a"\nrate = 5', 'name = "b"\nrate = "70 % of a"'),
            "workload.phase[2].rate",
            "“a” has a rate itself",
        ),
        (phases('name = "a"\nmaintenance = ["rm -rf /"]'), "workload.phase[1].maintenance[1]", "one of"),
        (phases('name = "a"\nmaintenance = "vacuum"'), "workload.phase[1].maintenance", "a list of"),
        (
            phases('name = "a"\nmaintenance = ["vacuum", "vacuum"]'),
            "workload.phase[1].maintenance",
            "a list of",
        ),
        (
            phases('name = "a"\nmaintenance = ["base-backup"]'),
            "workload.phase[1].maintenance[1]",
            "one of",
        ),
        (
            phases('name = "a"', 'name = "b"\nmaintenance = ["checkpoint", "fstrim"]'),
            "workload.phase[2].maintenance[2]",
            "“fstrim” is done by root, on spare disks only: this target has none",
        ),
        (phases('name = "a"\nbackground = "vacuum"'), "workload.phase[1].background", "one of"),
        (
            phases('name = "a"\nbackground = "snapshot"'),
            "workload.phase[1].every",
            'is missing: say from one “snapshot” to the next, such as every = "5 min"',
        ),
        (
            phases('name = "a"\nbackground = "scrub"\nevery = "5 min"'),
            "workload.phase[1].every",
            'goes with background = "snapshot" only',
        ),
        (phases('name = "a"\nevery = 60'), "workload.phase[1].every", 'background = "snapshot" only'),
        (
            phases('name = "a"\nmax_rate = "1 MiB"'),
            "workload.phase[1].max_rate",
            'goes with background = "pg_basebackup" only',
        ),
        (
            phases('name = "a"\nbackground = "pg_basebackup"\nmax_rate = "1 KiB"'),
            "workload.phase[1].max_rate",
            "from 32 KiB to 1 GiB",
        ),
        (
            phases('name = "a"\nbackground = "scrub"'),
            "workload.phase[1].background",
            "“scrub” is done by root, on spare disks only: this target has none",
        ),
        (
            phases('name = "a"\nbackground = "pg_basebackup"')
            + '[postgresql.settings]\nmax_wal_senders = 0\nwal_level = "minimal"\n',
            "postgresql.settings.wal_level",
            "found “minimal”, with which no base backup can be made",
        ),
        (
            phases('name = "a"\nbackground = "pg_basebackup"')
            + "[postgresql.settings]\nmax_wal_senders = 0\n",
            "postgresql.settings.max_wal_senders",
            "found “0”, with which no base backup can be made",
        ),
        (phases('name = "a"\nclients = 2\nthreads = 3'), "workload.phase[1].threads", "which is 2"),
        (phases('name = "a"\nthreads = 5'), "workload.phase[1].threads", "which is 4"),
        (
            phases('name = "a"\nclients = 70') + "[postgresql.settings]\nmax_connections = 50",
            "postgresql.settings.max_connections",
            "at least the number of clients, which is 70",
        ),
        (
            phases('name = "a"', workload='caches = "cold"'),
            "workload.caches",
            "only the first of several phases",
        ),
        (
            BASE
            + '[[configuration]]\nname = "a"\n[[configuration.workload.phase]]\nname = "p"\n'
            + '[[configuration]]\nname = "b"\n[[configuration.workload.phase]]\nname = "q"\n',
            "configuration[2].workload.phase",
            "the same in all configurations",
        ),
    ],
)
def test_phase_errors_carry_location(text: str, place: str, words: str) -> None:
    with pytest.raises(CampaignError) as caught:
        read(text)
    assert f"{place}: " in caught.value.message or f"{place} (" in caught.value.message
    assert words.replace("no known", "not a known") in caught.value.message


def test_phase_threads_capped_by_clients() -> None:
    workload = "clients = 8\nthreads = 8"
    campaign = read(phases('name = "few"\nclients = 2', 'name = "all"', workload=workload))
    assert campaign.configurations[0].workload.phases[0].threads is None


MATRIX = '[[dimension]]\nkey = "target.disks.filesystem"\nvalues = ["btrfs", "xfs"]\n'


def on_disks(filesystem: str, *more: str, maintenance: str = "btrfs-balance") -> str:
    return (
        f'name = "x"\n[target.disks]\ndata = ["S1"]\nfilesystem = "{filesystem}"\n'
        + "\n".join(more)
        + f'\n[[workload.phase]]\nname = "a"\nmaintenance = ["{maintenance}"]\n'
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (on_disks("ext4"), "“btrfs-balance” exists on btrfs only; this target has ext4."),
        (on_disks("xfs", maintenance="snapshot"), "exists on btrfs, zfs only; this target has xfs."),
        (on_disks("zfs", maintenance="fstrim"), "“fstrim” exists on ext4, xfs, btrfs, f2fs, ext3 only"),
        (
            on_disks("xfs", maintenance="fstrim") + 'background = "snapshot"\nevery = 60\n',
            "“snapshot” exists on btrfs, zfs only; this target has xfs.",
        ),
        (
            on_disks("btrfs") + MATRIX,
            "“btrfs-balance” exists on btrfs only; this target has xfs.",
        ),
    ],
)
def test_root_action_refused_without_filesystem_support(text: str, words: str) -> None:
    with pytest.raises(CampaignError) as caught:
        read(text)
    place = "background" if "background" in text else "maintenance[1]"
    assert f"workload.phase[1].{place}" in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        on_disks("btrfs"),
        on_disks("ext4", 'wal = {data = ["S2"], filesystem = "btrfs"}'),
        on_disks("zfs", maintenance="zpool-scrub"),
        on_disks("btrfs", maintenance="fstrim") + MATRIX,
    ],
)
def test_root_action_accepted_by_one_filesystem(text: str) -> None:
    for configuration in read(text).configurations:
        (phase,) = configuration.workload.phases
        assert len(phase.maintenance) == 1
