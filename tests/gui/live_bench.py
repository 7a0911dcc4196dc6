"""Campaign folders that a test lets grow, for tests of the live page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.json_value import Json
from app.domain.run import Phase, RunState
from app.library.entries import CAMPAIGN_NAME, CampaignLock
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import RunFileWriter
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run

CAMPAIGN = """
name = "{name}"
repeats = 2
[workload]
scale = 13
clients = 4
warmup = "10s"
duration = "60s"
[[configuration]]
name = "ext4"
[configuration.target.folder]
path = "/srv/ext4"
[[configuration]]
name = "xfs"
[configuration.target.folder]
path = "/srv/xfs"
"""
ORDER = (("ext4", 0), ("xfs", 0), ("xfs", 1), ("ext4", 1))
SECONDS = 60


@dataclass(slots=True)
class LiveBench:
    """A campaign of four runs; its lock is held until `release`.

    Attributes:
        folder: of the campaign.
        shape: of its runs.
    """

    folder: Path
    shape: Shape = field(default_factory=lambda: Shape(seconds=SECONDS, checkpoint_every_s=25, seed=4))
    lock: CampaignLock | None = None
    writers: list[RunFileWriter] = field(default_factory=list)

    @classmethod
    def create(cls, base: Path, name: str = "Disks of db7") -> LiveBench:
        folder = base / "20261120-1200-disks"
        folder.mkdir()
        (folder / CAMPAIGN_NAME).write_text(CAMPAIGN.format(name=name))
        return cls(folder, lock=CampaignLock(folder))

    def path(self, number: int) -> Path:
        configuration, repeat = ORDER[number - 1]
        return self.folder / f"{number:02}-{configuration}-r{repeat + 1}.footing"

    def begin(self, number: int, **more: Json) -> RunFileWriter:
        """Begin a run; its first second is now."""
        configuration, repeat = ORDER[number - 1]
        name = f"{configuration} #{repeat + 1}"
        writer = begin_run(self.path(number), self.shape, name)
        self.writers.append(writer)
        values: dict[str, Json] = {
            "id": f"{number:016x}",
            "number": number,
            "configuration": configuration,
            "repeat": repeat,
            "campaign": "Disks of db7",
            "scale": 13,
            "started_epoch_s": time.time(),
            "target": {"kind": "folder", "path": f"/srv/{configuration}"},
            "installation": {"version": "15.18"},
            "workload": {
                "label": "tpcb-like",
                "clients": 4,
                "threads": 2,
                "protocol": "prepared",
                "duration_s": SECONDS,
                "warmup_s": WARM_UP_S,
            },
        }
        with writer.transaction():
            writer.set_run({**values, **more})
        return writer

    def grow(self, writer: RunFileWriter, begin: int, end: int) -> None:
        """Append seconds; the run's clock is moved so that the last of them is now."""
        add_seconds(writer, self.shape, begin, end)
        with writer.transaction():
            writer.set_run({"started_epoch_s": time.time() - end})

    def finish(
        self, writer: RunFileWriter, state: RunState = RunState.DONE, end_s: int = WARM_UP_S + SECONDS
    ) -> None:
        """End a run as the runner does."""
        with writer.transaction():
            writer.end_phase(1000 * end_s)
            writer.set_run({"ended_epoch_s": time.time()})
        writer.close()
        with RunFile(writer.path) as run:
            summary = summarise(run)
        finish_run_file(writer.path, state, summary)

    def add_done(self, number: int) -> None:
        """Write a run from its begin to its end."""
        writer = self.begin(number)
        self.grow(writer, 0, WARM_UP_S + SECONDS)
        self.finish(writer)

    def begin_phases(self, writer: RunFileWriter, *phases: Phase) -> None:
        """Make a run that has not come to its warm-up yet: these phases, three seconds each."""
        with writer.transaction():
            writer._connection.execute("DELETE FROM phase")
            for number, phase in enumerate(phases):
                writer.begin_phase(phase, 3000 * number)

    def release(self) -> None:
        """The runner ends, or dies."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def close(self) -> None:
        """Clean up."""
        for writer in self.writers:
            writer.close()
        self.release()
