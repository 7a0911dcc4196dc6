"""Measure the raw performance of a campaign's storage: fio and pg_test_fsync on temporary storage.

Once for each storage of a campaign, not for each run. Both programs run as the account of server and pgbench,
under the server's conditions: in the session's control group if there is one, within its memory limit, unable
to gain privileges; they end with the runner. Root starts neither. Failures of the programs are reported and
leave the run as it is; failures of the storage are errors of the run. While a program runs, the disks below
its folder are counted as for a run's charts.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.disk_answers import played_by
from app.domain.errors import FootingError, ProgramError
from app.domain.io_baseline import (
    CACHED_WRITE_SECONDS,
    FIO_JOBS,
    FROM_CACHE,
    FSYNC_METHODS,
    FSYNC_SECONDS,
    LEAST_FILE_BYTES,
    LIMITED,
    MOST_FILE_BYTES,
    SHARE_OF_FREE,
    BaselineDevice,
    DeviceRates,
    FioJob,
    IoBaseline,
    JobResult,
    SyncMethod,
)
from app.domain.run import Phase
from app.domain.text import MIB, format_size, tr
from app.execution.children import end_child, outcome_of
from app.execution.control import Cancellable
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.baseline_storage import BaselineStorage
from app.hosts.server_under_test import Host
from app.io_baseline import fio
from app.io_baseline.fio import FioAnswer, FioError, FioTask
from app.postgres.installations.installation import Installation
from app.postgres.settings import read_machine
from app.probes.base.backing_devices import mount_of, resolve_backing
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources, ask_program
from app.probes.sources.block_devices import BlockDevicesProbe
from app.process.account import SEARCH_PATH
from app.process.starter import spawn
from app.recording.events import CampaignListener
from app.recording.recorder import OUTPUT_LIMIT, Recorder
from app.runfile.metadata.run_metadata import RunMetadata, RunningCommand
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile

_SECOND_S: Final = 1.0


class DeviceCounters:
    """The series ``storage.*`` of one folder; empty if its disks cannot be seen or do not count."""

    def __init__(self, sources: ServerSources) -> None:
        self._probe = BlockDevicesProbe()
        self._read_s = 0.0
        self._fastest: dict[str, float] = {}
        try:
            self._probe.open(ProbeContext(sources))
        except (ProbeUnavailable, OSError):
            self._is_open = False
        else:
            self._is_open = True
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._fastest = {}
        self._step()

    def look(self) -> None:
        """Record the rates of the past second, at most once a second."""
        if time.monotonic() - self._read_s >= _SECOND_S:
            rates, _ = self._step()
            self._fastest = {name: max(rate, self._fastest.get(name, 0.0)) for name, rate in rates.items()}

    def fastest_second(self) -> DeviceRates:
        """Return the highest rate of any second since `begin`, separately for each series."""
        return DeviceRates(**self._fastest)

    def mean(self, seconds: float) -> DeviceRates:
        """Return the activity since the last look, as rates over a program's working time.

        Args:
            seconds: how long it worked; starting and ending it are not counted.
        """
        rates, passed_s = self._step()
        if seconds <= 0:
            return DeviceRates()
        return DeviceRates(**{name: rate * passed_s / seconds for name, rate in rates.items()})

    def close(self) -> None:
        """Release the files."""
        self._probe.close()

    def _step(self) -> tuple[dict[str, float], float]:
        """Return the rates since the last step, by attribute of `DeviceRates`, and its seconds."""
        if not self._is_open:
            return {}, 0.0
        try:
            samples = self._probe.read()
        except OSError:  # a disk is gone: the check of the target reports it
            self._is_open = False
            return {}, 0.0
        now_s = time.monotonic()
        passed_s, self._read_s = now_s - self._read_s, now_s
        return {LIMITED[each.metric]: each.value for each in samples if each.metric in LIMITED}, passed_s


def disks_below(folder: str, sys: Path = Path("/sys")) -> tuple[BaselineDevice, ...]:
    """Return the disks below a folder; empty if there are none, or they cannot be seen."""
    try:
        disks = resolve_backing(folder).counted
    except ProbeUnavailable:
        return ()
    return tuple(_device(each.name, each.kind, sys) for each in disks)


def _device(name: str, kind: str, sys: Path) -> BaselineDevice:
    queue, identity = sys / "block" / name / "queue", sys / "block" / name / "device"
    rotational = _text(queue / "rotational")
    return BaselineDevice(
        name=name,
        kind=kind,
        is_rotating=None if rotational not in {"0", "1"} else rotational == "1",
        write_cache=_text(queue / "write_cache"),
        played_by=played_by(name, _text(identity / "vendor"), _text(identity / "model")),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


PATIENCE_S: Final = 30.0
"""Allowance for a program to start, write buffered data and end, in addition to its planned time."""
_LOOK_S: Final = 0.2
_FILE: Final = "baseline-file"
_APPENDED: Final = "baseline-appended"
_SYNCED: Final = "baseline-synced"
_MOST_APPENDED_BYTES: Final = 1024 * MIB
_ANSWERS_FROM_ARC: Final = frozenset({"zfs"})
"""Filesystems that accept direct I/O but may answer from their own cache (ZFS before 2.3 always)."""


@dataclass(slots=True)
class BaselineMeasurement:
    """One measurement, recorded in a run's file.

    Attributes:
        storage: created for it, and removed afterwards.
        installation: its pg_test_fsync is used.
        memory_bytes: of the machine, or the limit in force.
        recorder: of that run.
        step: called with the current activity and the progress, 0 to 1.
        left_over: called with a sentence for everything that could not be removed.
        switch: polled often for the user's request to stop.
        keep_writing: called often while the storage is being created.
    """

    storage: BaselineStorage
    installation: Installation
    memory_bytes: int
    recorder: Recorder
    step: Callable[[str, float | None], None]
    left_over: Callable[[str], None]
    switch: Cancellable
    keep_writing: Callable[[], None]
    _problems: list[str] = field(default_factory=list, init=False)
    _started: int = field(default=0, init=False)
    _is_direct_refused: bool = field(default=False, init=False)

    def measure(self) -> IoBaseline:
        """Create the storage, measure it, and always remove it.

        Raises:
            StopRequestedError: the user stops.
            FootingError: the storage cannot be created, vanished or filled up.
            RunFileError: the run file cannot be written.
        """
        try:
            self.storage.prepare(self.keep_writing)
            return self._ask()
        finally:
            for sentence in self.storage.release():
                self.left_over(sentence)

    def _ask(self) -> IoBaseline:
        started_s = time.monotonic()
        found = IoBaseline(
            measured_epoch_s=time.time(),
            memory_bytes=self.memory_bytes,
            devices=disks_below(self.storage.wal_folder),
            virtual_machine=_virtual_machine(),
        )
        room = self.storage.room_bytes // SHARE_OF_FREE // MIB * MIB
        if room < LEAST_FILE_BYTES:
            sentence = tr("Not enough space for fio: its share is {size}, and it needs {least}.")
            self._problems.append(
                sentence.format(size=format_size(room), least=format_size(LEAST_FILE_BYTES))
            )
        else:
            found = self._ask_fio(found, room)
        methods, device = self._ask_pg_test_fsync()
        return replace(
            found,
            seconds=time.monotonic() - started_s,
            sync_methods=methods,
            sync_device=device,
            problems=(*self._problems, *_answers_from_cache(found.jobs)),
        )

    # --- fio

    def _ask_fio(self, found: IoBaseline, room: int) -> IoBaseline:
        program = shutil.which(fio.FIO, path=SEARCH_PATH)
        if program is None:
            sentence = tr("fio is not installed, so reads and writes of the raw storage are not measured.")
            self._problems.append(sentence)
            return found
        first, *others = FIO_JOBS
        written = self._write_file(program, first, room)
        results = [] if written is None else [written.result]
        file_bytes = 0 if written is None else written.size_bytes // MIB * MIB
        for number, job in enumerate(others, start=1):
            self.step(job.label, number / (len(FIO_JOBS) + 1))
            if job.syncs:
                path = f"{self.storage.wal_folder}/{_APPENDED}"
                task = FioTask(
                    job, path, min(room, _MOST_APPENDED_BYTES), is_direct=False, seconds=job.seconds
                )
            elif written is None or not file_bytes:
                continue
            else:
                path = f"{self.storage.data_folder}/{_FILE}"
                task = FioTask(job, path, file_bytes, written.result.is_direct, job.seconds)
            measured = self._run_fio(program, task)
            if measured is not None:
                results.append(measured.result)
        version = written.version if written is not None else ""
        return replace(found, jobs=tuple(results), file_bytes=file_bytes, fio_version=version)

    def _write_file(self, program: str, job: FioJob, room: int) -> FioAnswer | None:
        """Write the file for the other jobs, by direct I/O or else larger than the page cache can be."""
        self.step(job.label, 0.0)
        path = f"{self.storage.data_folder}/{_FILE}"
        if mount_of(self.storage.data_folder).filesystem not in _ANSWERS_FROM_ARC:
            task = FioTask(job, path, min(room, MOST_FILE_BYTES), is_direct=True, seconds=job.seconds)
            measured = self._run_fio(program, task)
            if measured is not None or not self._is_direct_refused:
                return measured
            self._problems.pop()
        self._problems.append(tr("fio did not use direct I/O, which this filesystem may not honour."))
        wanted = 2 * self.memory_bytes
        task = FioTask(job, path, min(2 * room, wanted), is_direct=False, seconds=CACHED_WRITE_SECONDS)
        measured = self._run_fio(program, task)
        if measured is not None and measured.size_bytes < wanted // MIB * MIB:
            sentence = tr(
                "fio wrote only {size} (limits: {seconds} s, free space), less than twice the memory "
                "({memory}). Reads may come from the cache."
            )
            size, memory = format_size(measured.size_bytes), format_size(self.memory_bytes)
            remark = sentence.format(seconds=CACHED_WRITE_SECONDS, size=size, memory=memory)
            self._problems.append(remark)
        return measured

    def _run_fio(self, program: str, task: FioTask) -> FioAnswer | None:
        """Return fio's result; on failure None, and record the problem."""
        self._is_direct_refused = False
        counters = DeviceCounters(self.storage.sources(task.path.rpartition("/")[0]))
        try:
            ended = self._run(fio.fio_argv(program, task), task.job.id.value, task.seconds)
            answer = _answer(ended, task)
            device = counters.mean(answer.result.seconds)
        except (FioError, ProgramError) as error:
            self._problems.append(f"{task.job.label}: {error.message}")
            self._is_direct_refused = isinstance(error, FioError) and error.is_direct_refused
            return None
        finally:
            counters.close()
        return replace(answer, result=replace(answer.result, device=device))

    # --- pg_test_fsync

    def _ask_pg_test_fsync(self) -> tuple[tuple[SyncMethod, ...], DeviceRates]:
        program = self.installation.program(fio.PG_TEST_FSYNC)
        self.step("pg_test_fsync", len(FIO_JOBS) / (len(FIO_JOBS) + 1))
        if not os.access(program, os.X_OK):
            sentence = tr("{program} is missing, so durable writes per second were not measured.")
            self._problems.append(sentence.format(program=program))
            return (), DeviceRates()
        synced = self.storage.wal_folder
        argv = fio.pg_test_fsync_argv(program, f"{synced}/{_SYNCED}")
        planned_s = len(FSYNC_METHODS) * FSYNC_SECONDS
        counters = DeviceCounters(self.storage.sources(synced))
        try:
            ended = self._run(argv, fio.PG_TEST_FSYNC, planned_s, counters.look, fio.has_all_methods)
        except ProgramError as error:
            self._problems.append(error.message)
            return (), DeviceRates()
        finally:
            counters.close()
        methods = fio.parse_pg_test_fsync(ended.stdout)
        if len(methods) < len(FSYNC_METHODS):
            sentence = tr("pg_test_fsync measured {count} of {all} methods: {reason}")
            reason = _last_line(ended.stderr) or (
                tr("it did not finish in time") if ended.is_late else tr("it reported nothing for the others")
            )
            words = sentence.format(count=len(methods), all=len(FSYNC_METHODS), reason=reason)
            self._problems.append(words)
        return methods, counters.fastest_second()

    # --- either

    def _run(
        self,
        argv: tuple[str, ...],
        name: str,
        planned_s: float,
        look: Callable[[], None] = lambda: None,
        is_enough: Callable[[str], bool] = lambda _text: False,
    ) -> _Ended:
        """Run a program until it ends, has printed enough, or its time is up; it has ended on return.

        Args:
            argv: its command.
            name: of its output.
            planned_s: expected duration.
            look: called often while it runs, for counting by the second.
            is_enough: whether its output so far is complete.

        Raises:
            StopRequestedError: the user stops.
            TargetLostError: the storage vanished or filled up.
            RunFileError: the run file cannot be written.
            ProgramError: it could not be started.
        """
        private = self.storage.private
        metadata = RunMetadata(running_command=RunningCommand(phase=Phase.BASELINE.value, argv=argv))
        self.recorder.set_run(metadata)
        self._started += 1  # keeps the output of a first try
        output = Path(private.path, f"{self._started}-{name}.stdout")
        errors = Path(private.path, f"{self._started}-{name}.stderr")
        started_s = time.monotonic()
        child = spawn(
            argv,
            account=private.account,
            death_signal=signal.SIGKILL,
            stdout=output,
            stderr=errors,
            cwd=private.path,
            hold=self.storage.hold,
        )
        ended = os.pidfd_open(child.pid)
        is_late = False
        try:
            while child.poll() is None:
                self.switch.wait(time.monotonic() + _LOOK_S, ended)
                look()
                self._look_after()
                is_late = time.monotonic() > started_s + planned_s + PATIENCE_S
                if is_late or is_enough(self._text(output.name)):
                    break
        finally:
            end_child(child)
            os.close(ended)
            found = _Ended(self._text(output.name), self._text(errors.name), is_late)
            outcome = outcome_of(private.account, argv, child, started_s, stderr=found.stderr)
            self.recorder.command(replace(outcome, stdout=found.stdout))
        return found

    def _look_after(self) -> None:
        """Once a second: write new data, and check that the storage is still there."""
        if time.monotonic() >= self.recorder.next_flush_s:
            self.recorder.flush()
            self.storage.check()

    def _text(self, name: str) -> str:
        """Return a program's output so far, at most 1 MiB."""
        try:
            with self.storage.open_output(name) as file:
                return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
        except (OSError, FootingError):  # not there yet, or replaced by something else: no output
            return ""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A program's output, and whether it was ended because its time was up."""

    stdout: str
    stderr: str
    is_late: bool


def _answer(ended: _Ended, task: FioTask) -> FioAnswer:
    """Return fio's result.

    Raises:
        FioError: there is none.
    """
    if ended.is_late:
        sentence = tr("fio did not finish within {seconds:.0f} s; pgFooting stopped it.")
        raise FioError(sentence.format(seconds=task.seconds + PATIENCE_S))
    return fio.parse_fio(ended.stdout, task)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else ""


def _virtual_machine() -> str:
    try:
        machine = ask_program(("systemd-detect-virt", "--vm")).strip()
    except ProgramError:
        return ""
    return "" if machine == "none" else machine


def _answers_from_cache(jobs: tuple[JobResult, ...]) -> list[str]:
    """Return a sentence for each read job that a cache answered, by the disks' own counters."""
    labels = {job.id.value: job.label for job in FIO_JOBS}
    sentence = tr("{job}: only {share:.0f} % of the bytes came from the disks, the rest from a cache.")
    return [
        sentence.format(job=labels.get(each.job, each.job), share=100 * each.from_devices)
        for each in jobs
        if each.from_devices is not None and each.from_devices < FROM_CACHE
    ]


@dataclass(slots=True)
class CampaignBaselines:
    """Baselines of a campaign's storages.

    Attributes:
        campaign: decides which storages are measured.
    """

    campaign: Campaign
    _found: dict[Hashable, IoBaseline] = field(default_factory=dict, init=False)

    def recall(self, resolved: ResolvedConfiguration, path: str) -> None:
        """Take over the baseline from a run file of the same storage, when a campaign is resumed."""
        with suppress(FootingError), RunFile(Path(path)) as run:
            found = or_none(run.metadata.io_baseline)
            if found is not None:
                self.keep(resolved, found)

    def of(self, resolved: ResolvedConfiguration) -> IoBaseline | None:
        """Return a storage's baseline; None if it was not measured."""
        return self._found.get(_storage(resolved))

    def is_open(self, resolved: ResolvedConfiguration) -> bool:
        """Whether a storage is still to be measured."""
        return self.campaign.wants_baseline(resolved.configuration.target) and self.of(resolved) is None

    def keep(self, resolved: ResolvedConfiguration, found: IoBaseline) -> None:
        """Remember a storage's baseline."""
        self._found[_storage(resolved)] = found


@dataclass(slots=True)
class StorageBaseline:
    """Measurement of one storage, in the first run on it.

    Attributes:
        baselines: of the campaign.
        resolved: the run's configuration.
        host: provides the storage to measure.
        listener: receives progress and notes.
        switch: polled often for the user's request to stop.
    """

    baselines: CampaignBaselines
    resolved: ResolvedConfiguration
    host: Host
    listener: CampaignListener
    switch: Cancellable

    def measure(
        self, recorder: Recorder, keep_writing: Callable[[], None], left_over: Callable[[str], None]
    ) -> None:
        """Measure, and write the result into the run file; see `BaselineMeasurement.measure`."""
        target = self.resolved.configuration.target
        limit = target.memory_limit_bytes if isinstance(target, DiskTarget) else None
        usable = read_machine().usable_ram_bytes
        found = BaselineMeasurement(
            storage=BaselineStorage(self.host, target, self.resolved.need_bytes),
            installation=self.resolved.installation,
            memory_bytes=min(usable, limit or usable),
            recorder=recorder,
            step=self.listener.step,
            left_over=left_over,
            switch=self.switch,
            keep_writing=keep_writing,
        ).measure()
        self.baselines.keep(self.resolved, found)
        recorder.set_run(RunMetadata(io_baseline=found))
        for problem in found.problems:
            recorder.event("baseline", problem)
            self.listener.reported("note", problem)


def storages_to_ask(resolved: ResolvedCampaign) -> tuple[ResolvedConfiguration, ...]:
    """Return one configuration for each storage of a campaign that is to be measured."""
    found: dict[Hashable, ResolvedConfiguration] = {}
    for each in resolved.configurations.values():
        if resolved.campaign.wants_baseline(each.configuration.target):
            found.setdefault(_storage(each), each)
    return tuple(found.values())


def _storage(resolved: ResolvedConfiguration) -> Hashable:
    """Return a key that configurations on the same storage share: the plan, else the folder."""
    return resolved.target.plan or resolved.target.path
