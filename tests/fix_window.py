"""Libraries of small run files, written by the program's own writer, for tests of the window."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.runfile.disturbance import DISTURBED
from app.runfile.finalize import finish_run_file
from app.runfile.writer import RunFileWriter
from tests.quiet_machine import write_quiet

LONG_NAME = "ext4 on four NVMe disks, RAID 10, chunk 64 KiB, noatime, wal on its own pair of disks"
assert len(LONG_NAME) >= 80


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of a test's library.

    Attributes:
        name: of the run.
        configuration: of the run.
        repeat: 0-based.
        tps: mean of the seconds.
        seconds: length of the measured phase.
        state: how it ended.
        filesystem: of its target.
        marks: (kind, reason) labels.
        settings: (name, value) pairs that were chosen.
        started: seconds since the epoch.
        more: further keys of table `run`.
        is_quiet: its file says that others did nothing; else nothing is known of them.
    """

    name: str = "ext4 #1"
    configuration: str = "ext4"
    repeat: int = 0
    tps: float = 1000.0
    seconds: int = 5
    state: RunState = RunState.DONE
    filesystem: str = "ext4"
    marks: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    started: float = 1.8e9
    campaign: str = "Trial"
    more: dict[str, Json] = field(default_factory=dict)
    is_quiet: bool = True


def _values(path: Path, trial: Trial) -> dict[str, Json]:
    settings: list[Json] = [
        {"name": name, "value": value, "why": "", "source": "", "origin": "user"}
        for name, value in trial.settings
    ]
    return {
        "id": f"{abs(hash(str(path))):016x}",
        "name": trial.name,
        "campaign": trial.campaign,
        "campaign_folder": path.parent.name,
        "configuration": trial.configuration,
        "repeat": trial.repeat,
        "state": trial.state.value,
        "started_epoch_s": trial.started,
        "scale": 13,
        "data_bytes": 200_000_000,
        "target": {"kind": "folder", "path": "/srv/bench", "raid": None},
        "workload": {"label": "tpcb-like", "clients": 4, "threads": 1, "duration_s": trial.seconds},
        "installation": {"version": "15.18", "folder": "/usr/lib/postgresql/15/bin"},
        "postgresql": {"preset": "machine", "checksums": True},
        "settings": settings,
        **trial.more,
    }


def begin_trial(path: Path, trial: Trial, *, loading_s: int = 0) -> RunFileWriter:
    """Write a run as it grows, measured after so long: it says running until somebody finishes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    mount: Json = {"filesystem": trial.filesystem, "options": ["rw"], "super_options": ["noatime"]}
    with writer.transaction():
        if trial.is_quiet and DISTURBED not in dict(trial.marks):
            write_quiet(writer)
        writer.set_run(_values(path, trial))
        writer.add_facts("before", {"storage": {"mount": mount}, "kernel": {"release": "6.1"}})
        for kind, reason in trial.marks:
            writer.add_mark(kind, reason)
        if loading_s:
            writer.begin_phase(Phase.LOAD, 0)
        writer.begin_phase(Phase.MEASURE, 1000 * loading_s)
    with writer.transaction():
        for second in range(trial.seconds):
            t_ms = 1000 * (loading_s + second + 1)
            sample = Sample("pgbench.tps", trial.tps * (1 + 0.01 * (second % 3 - 1)))
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=[(t_ms, sample)])
    return writer


def write_trial(path: Path, trial: Trial) -> Path:
    """Write a run that ended."""
    writer = begin_trial(path, trial)
    with writer.transaction():
        writer.end_phase(1000 * trial.seconds)
    writer.close()
    summary = {"tps": trial.tps, "latency_p99_ms": 4.25, "jitter_cv": 0.05, "tps_error": trial.tps / 100}
    finish_run_file(path, trial.state, summary, is_durable=False)
    return path


def write_campaign(
    library: Path, folder: str = "one", *, repeats: int = 3, started: float = 1.8e9
) -> list[Path]:
    """Write a campaign of two filesystems, interleaved, xfs a tenth faster."""
    paths = []
    for number in range(2 * repeats):
        repeat, filesystem = divmod(number, 2)
        name = ("ext4", "xfs")[filesystem]
        trial = Trial(
            name=f"{name} #{repeat + 1}",
            configuration=name,
            repeat=repeat,
            filesystem=name,
            tps=1000 + 100 * filesystem + repeat,
            started=started + 60 * number,
        )
        paths.append(write_trial(library / folder / f"{number:02}-{name}.footing", trial))
    return paths


def write_matrix(library: Path, folder: str = "matrix", *, scales: bool = False) -> list[Path]:
    """Write single runs of two filesystems with four settings, or scales, btrfs about a fifth slower."""
    paths = []
    for number in range(8):
        cell, filesystem = divmod(number, 2)
        name = f"{('ext4', 'btrfs')[filesystem]} at {10 * 2**cell}"
        trial = Trial(
            name=f"{name} #1",
            configuration=name,
            filesystem=name.split(maxsplit=1)[0],
            tps=(1000 - 200 * filesystem) * (4 - cell / 2) * (1 + 0.01 * (number % 3)),
            started=1.8e9 + 60 * number,
            more={"scale": 10 * 2**cell}
            if scales
            else {"settings": [{"name": "max_wal_size", "value": f"{10 * 2**cell}GB", "origin": "user"}]},
        )
        paths.append(write_trial(library / folder / f"{number:02}.footing", trial))
    return paths


def write_bad_files(folder: Path) -> dict[str, Path]:
    """Write what may lie among good files: a text, a cut one, a newer one, one of a dead runner."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "text.footing"
    text.write_text("no run file " * 20)
    cut = write_trial(folder / "cut.footing", Trial(name="cut", seconds=300))
    cut.write_bytes(cut.read_bytes()[:9000])
    newer = write_trial(folder / "newer.footing", Trial(name="newer"))
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    left = folder / "left.footing"
    begin_trial(left, Trial(name="left", state=RunState.RUNNING)).close()
    return {"text": text, "cut": cut, "newer": newer, "left": left}
