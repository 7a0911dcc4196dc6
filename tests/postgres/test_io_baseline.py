"""The I/O baseline with the real fio and pg_test_fsync, and with programs that fail in every way they can."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from app import TOP
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.errors import TargetLostError
from app.domain.io_baseline import FIO_JOBS, FSYNC_METHODS, IoBaseline, JobId
from app.domain.run import Phase
from app.domain.text import MIB
from app.execution.baseline import measurement
from app.execution.baseline.measurement import BaselineMeasurement
from app.execution.control import Cancellable, Request, StopRequestedError
from app.hosts.baseline_storage import BaselineStorage
from app.hosts.local import LocalHost
from app.hosts.recovery.resource_journal import ResourceJournal
from app.postgres.installations.installation import Installation
from app.process.starter import Account
from app.recording.recorder import Recorder
from app.runfile.reader import RunFile
from app.runfile.writer import RunFileWriter
from tests.fix_campaign import CampaignBench, campaign_text
from tests.fix_postgres import give

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is needed"),
]
DATA = TOP / "tests" / "data" / "io_baseline"


@dataclass(slots=True)
class Asked:
    """A measurement, what it told while it lasted, and where.

    Attributes:
        measurement: itself.
        folder: the target; empty before and after.
        steps: what it said that it does.
        left: what it said that it left.
        programs: folder in which its fio is looked for.
    """

    measurement: BaselineMeasurement
    folder: Path
    steps: list[str]
    left: list[str]
    programs: Path

    def __call__(self) -> IoBaseline:
        return self.measurement.measure()

    def stand_in(self, script: str) -> None:
        """Let a shell script be fio."""
        path = self.programs / "fio"
        path.unlink()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def commands(self) -> list[str]:
        """Return the names of the programs that the run file tells of."""
        with RunFile(self.measurement.recorder.writer.path) as run:
            names = [Path(each.argv[0]).name for each in run.commands()]
        return [name for name in names if name in {"fio", "pg_test_fsync"}]

    def nothing_is_left(self) -> None:
        assert list(self.folder.iterdir()) == []
        assert self.left == []
        words = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
        assert [each for each in words if str(self.folder) in each] == []


@pytest.fixture
def asked(
    open_folder: Path,
    tmp_path: Path,
    database_account: Account,
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Asked]:
    monkeypatch.setattr(measurement, "FIO_JOBS", tuple(replace(job, seconds=1) for job in FIO_JOBS))
    monkeypatch.setattr(measurement, "MOST_FILE_BYTES", 64 * MIB)
    monkeypatch.setattr(measurement, "PATIENCE_S", 600.0)  # on a busy machine one job takes its time
    fio = shutil.which("fio")
    assert fio is not None
    programs = open_folder / "programs"
    programs.mkdir()
    (programs / "fio").symlink_to(fio)
    monkeypatch.setattr(measurement, "SEARCH_PATH", str(programs))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    folder = give(open_folder / "target", database_account)
    recorder = Recorder(RunFileWriter(tmp_path / "a.footing", is_durable=False))
    recorder.begin_phase(Phase.BASELINE)
    switch = Cancellable()
    steps: list[str] = []
    left: list[str] = []
    with ResourceJournal.create(str(tmp_path), "a campaign", database_account, state_folder=state) as journal:
        host = LocalHost(database_account, journal, recorder.command)
        storage = BaselineStorage(host, FolderTarget(str(folder)), 256 * MIB)
        yield Asked(
            BaselineMeasurement(
                storage=storage,
                installation=installation,
                memory_bytes=8 * MIB,
                recorder=recorder,
                step=lambda text, _fraction: steps.append(text),
                left_over=left.append,
                switch=switch,
                keep_writing=lambda: None,
            ),
            folder,
            steps,
            left,
            programs,
        )
    switch.close()
    recorder.writer.close()


def test_every_job_and_method_measured(asked: Asked) -> None:
    found = asked()
    assert found.problems == ()
    assert [each.job for each in found.jobs] == [job.id.value for job in FIO_JOBS]
    assert all(each.operations_per_s > 0 and each.bytes_per_s > 0 for each in found.jobs)
    assert all(each.latency_mean_us and each.latency_p99_us for each in found.jobs)
    assert {each.method for each in found.sync_methods} == set(FSYNC_METHODS)
    assert all(each.per_s > 0 for each in found.sync_methods)
    assert found.fio_version.startswith("fio-")
    assert 0 < found.file_bytes <= 64 * MIB
    assert asked.commands() == ["fio"] * len(FIO_JOBS) + ["pg_test_fsync"]
    account = asked.measurement.storage.host.account.name
    with RunFile(asked.measurement.recorder.writer.path) as run:
        assert {each.account for each in run.commands()} == {account}
    asked.nothing_is_left()


def test_direct_reads_reach_disks(asked: Asked) -> None:
    found = asked()
    if not found.devices:
        pytest.skip("the disks below are not to be seen here")
    (random,) = (each for each in found.jobs if each.job == JobId.RANDOM_READ.value)
    assert random.is_direct
    # The counters are those of the whole disk, from which other programs read, too.
    assert random.from_devices is not None
    assert random.from_devices > 0.5


@pytest.mark.parametrize("target", [MemoryTarget(256 * MIB)])
def test_memory_has_no_disks(asked: Asked, target: Target) -> None:
    asked.measurement.storage.target = target
    found = asked()
    assert found.devices == ()
    assert len(found.sync_methods) == len(FSYNC_METHODS)
    asked.nothing_is_left()


def test_without_fio(asked: Asked) -> None:
    (asked.programs / "fio").unlink()
    found = asked()
    assert found.problems == (
        "fio is not installed, so reads and writes of the raw storage are not measured.",
    )
    assert found.jobs == ()
    assert len(found.sync_methods) == len(FSYNC_METHODS)
    asked.nothing_is_left()


def test_without_pg_test_fsync(asked: Asked) -> None:
    asked.measurement.installation = replace(asked.measurement.installation, bin_directory="/nonexistent")
    found = asked()
    assert found.problems == (
        ("/nonexistent/pg_test_fsync is missing, so durable writes per second were not measured."),
    )
    assert len(found.jobs) == len(FIO_JOBS)
    assert found.sync_methods == ()


def test_fio_fills_disk(asked: Asked) -> None:
    asked.stand_in(f"cat {shlex.quote(str(_reachable(asked, 'no-space.txt')))}; exit 1")
    found = asked()
    assert found.jobs == ()
    first, last = (job.label for job in (FIO_JOBS[0], FIO_JOBS[-1]))
    words = "fio failed: No space left on device"
    assert found.problems == (f"{first}: {words}", f"{last}: {words}")  # no file: nothing to read
    assert len(found.sync_methods) == len(FSYNC_METHODS)
    asked.nothing_is_left()


def test_fio_says_nothing_or_nonsense(asked: Asked) -> None:
    asked.stand_in("echo 'Segmentation fault' >&2; kill -SEGV $$")
    found = asked()
    assert {each.partition(": ")[2] for each in found.problems} == {"fio printed no result."}
    asked.nothing_is_left()


def test_a_fio_that_never_ends_is_ended(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "PATIENCE_S", 0.5)
    asked.stand_in(f"trap '' INT TERM; while :; do sleep 1; done # {asked.folder}")
    found = asked()
    assert [each for each in found.problems if "fio did not finish within" in each]
    assert found.jobs == ()
    asked.nothing_is_left()


@pytest.mark.longest
def test_larger_file_without_direct_io(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    real = (asked.programs / "fio").resolve()
    refusal = _reachable(asked, "no-direct.txt")
    asked.stand_in(
        f'case " $* " in *" --direct=1 "*) cat {shlex.quote(str(refusal))}; exit 1 ;; esac\nexec {real} "$@"'
    )
    found = asked()
    assert found.problems[0] == "fio did not use direct I/O, which this filesystem may not honour."
    assert not any("less than twice the memory" in each for each in found.problems)
    assert found.file_bytes == 2 * asked.measurement.memory_bytes
    assert len(found.jobs) == len(FIO_JOBS)
    assert not any(each.is_direct for each in found.jobs)
    asked.measurement.memory_bytes = 1 << 50
    monkeypatch.setattr(measurement, "CACHED_WRITE_SECONDS", 1)
    assert any("less than twice the memory" in each for each in asked().problems)
    asked.nothing_is_left()


@pytest.mark.parametrize(
    ("when", "request_"),
    [
        (FIO_JOBS[2].label, Request.STOP),
        ("pg_test_fsync", Request.DISCARD),
        pytest.param(FIO_JOBS[0].label, Request.STOP, marks=pytest.mark.longest),
        pytest.param(FIO_JOBS[0].label, Request.DISCARD, marks=pytest.mark.longest),
        pytest.param(FIO_JOBS[2].label, Request.DISCARD, marks=pytest.mark.longest),
        pytest.param("pg_test_fsync", Request.STOP, marks=pytest.mark.longest),
    ],
)
def test_who_stops_in_the_middle_leaves_nothing(asked: Asked, when: str, request_: Request) -> None:
    def step(text: str, _fraction: float | None) -> None:
        if text == when:
            asked.measurement.switch.request(request_)

    asked.measurement.step = step
    with pytest.raises(StopRequestedError):
        asked()
    asked.nothing_is_left()


def test_vanished_storage_is_run_error(asked: Asked) -> None:
    def step(text: str, _fraction: float | None) -> None:
        if text == FIO_JOBS[2].label:
            (root,) = asked.folder.iterdir()
            root.rename(asked.folder.parent / "elsewhere")

    asked.measurement.step = step
    with pytest.raises(TargetLostError):
        asked()
    shutil.rmtree(asked.folder.parent / "elsewhere")


def test_a_full_disk_is_not_filled_further(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BaselineStorage, "room_bytes", 100 * MIB)
    found = asked()
    assert len(found.problems) == 1
    assert "Not enough space for fio" in found.problems[0]
    assert found.jobs == ()
    assert asked.commands() == ["pg_test_fsync"]


def _reachable(asked: Asked, name: str) -> Path:
    """Return a copy of a recorded output that the account can read."""
    copy = asked.programs / name
    shutil.copy(DATA / name, copy)
    os.chmod(copy, 0o644)  # noqa: PTH101 - whatever the umask is
    return copy


@pytest.mark.longest
def test_one_baseline_per_storage(campaign_bench: CampaignBench) -> None:
    workload = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "1s"'
    text = campaign_text(folder=campaign_bench.target, workload=workload, repeats=2)
    campaign_bench.run(text.replace("repeats", "io_baseline = true\nrepeats", 1), status=0)
    found = []
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            found.append((run.phase(Phase.BASELINE) is not None, run.metadata.io_baseline))
    (first, result), (second, again) = found
    assert (first, second) == (True, False)
    assert isinstance(result, IoBaseline)
    assert result == again
    assert len(result.jobs) == len(FIO_JOBS)
    shown = campaign_bench.command("show", str(campaign_bench.run_files()[1])).stdout
    assert "Raw storage benchmarks" in shown
