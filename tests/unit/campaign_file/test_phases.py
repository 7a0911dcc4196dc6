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
from app.domain.text import MIB

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
