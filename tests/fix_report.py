"""Run files with everything that a report shows, of any length, for tests and benches of reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.domain.json_value import Json
from app.domain.run import RunState
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run

UNSAFE = ("unsafe", "fsync = off: a crash of the machine loses the database")


@dataclass(frozen=True, slots=True)
class Case:
    """A run of a report.

    Attributes:
        configuration: its name.
        repeat: 0-based.
        shape: its seconds.
        filesystem: of its target.
        campaign: its name.
        state: how it ended.
        marks: (kind, reason) labels.
        values: further keys of table `run`.
    """

    configuration: str = "ext4"
    repeat: int = 0
    shape: Shape = field(default_factory=Shape)
    filesystem: str = "ext4"
    campaign: str = "Trial"
    state: RunState = RunState.DONE
    marks: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, Json], ...] = ()


def _values(case: Case) -> dict[str, Json]:
    return {
        "id": f"{case.shape.seed:04x}{abs(hash(case.configuration)) % 16**8:08x}0000",
        "name": f"{case.configuration} #{case.repeat + 1}",
        "campaign": case.campaign,
        "campaign_folder": case.campaign,
        "configuration": case.configuration,
        "repeat": case.repeat,
        "started_epoch_s": 1.79e9 + 100 * case.shape.seed,
        "scale": 1000,
        "data_bytes": 15_000_000_000,
        "target": {"kind": "folder", "path": "/srv/bench of jo", "raid": None},
        "installation": {"version": "17.2", "folder": "/usr/lib/postgresql/17/bin", "sha256": "ab" * 32},
        "postgresql": {"preset": "machine", "checksums": True},
        "settings": [{"name": "shared_buffers", "value": "8GB", "origin": "user"}],
        **dict(case.values),
    }


def _facts(case: Case) -> dict[str, Json]:
    mount: Json = {"filesystem": case.filesystem, "options": ["rw"], "super_options": ["noatime"]}
    return {
        "storage": {"mount": mount, "devices": {"sda": {"kind": "disk", "serial": "S3CRET0815"}}},
        "kernel": {"release": "6.1.0-26-amd64", "hostname": "db-of-jo"},
        "processor": {"online": 16, "info": {"model_name": "Example CPU E5"}},
        "memory": {"info": {"MemTotal": 68719476736}},
        "load": {"average": [0.1 * case.shape.seed, 0.2, 0.3]},
    }


def write_case(path: Path, case: Case) -> Path:
    """Write a run that ended, however it did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = begin_run(path, case.shape, case.configuration)
    with writer.transaction():
        writer.set_run(_values(case))
        for name, value in _facts(case).items():
            writer.add_facts("before", {name: value})
        for kind, reason in case.marks:
            writer.add_mark(kind, reason)
        argv = ("pgbench", "--client=4", f"--random-seed={case.shape.seed}", "--host=/srv/bench of jo/socket")
        writer.add_command(CommandOutcome(argv, "jo", 0.1, 1.5, 0, "", ""))
    add_seconds(writer, case.shape, 0, WARM_UP_S + case.shape.seconds)
    with writer.transaction():
        writer.end_phase(1000 * (WARM_UP_S + case.shape.seconds))
        writer.set_run({"state": case.state.value})
    writer.close()
    with RunFile(path) as run:
        summary = summarise(run)
    finish_run_file(path, case.state, summary, is_durable=False)
    return path


def write_cases(folder: Path, cases: Sequence[Case]) -> list[Path]:
    """Write several runs; each gets noise of its own."""
    return [
        write_case(
            folder / f"{number:02}.footing",
            replace(case, shape=replace(case.shape, seed=case.shape.seed + number)),
        )
        for number, case in enumerate(cases)
    ]
