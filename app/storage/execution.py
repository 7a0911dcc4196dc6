"""Execute the steps of a layout as root: checked before, recorded, verified after, undone on failure.

Standard library and `app.domain` only, so that the root helper runs exactly this. A disk's identity and
whether it may be used are checked right before each step that writes to it; the undo steps of a step are in
the journal before the step begins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.errors import CancelledError, FootingError, RefusedError, StorageError
from app.domain.messages.message import error_text, joined, say
from app.domain.step_progress import Operation, StepProgress
from app.storage.checks.disk_checks import (
    LOOKING_S,
    ConditionResult,
    ExecutionReport,
    Hooks,
    StepResult,
    check,
    check_spare,
    locked,
    pool_guid,
    probe,
)
from app.storage.checks.queue_settings import QueueSettings, read_back_queue, set_read_ahead
from app.storage.checks.readback import read_back, read_back_array, read_back_pool
from app.storage.layout.conditions import Condition, MountIs, OwnMember, SignedPlace
from app.storage.layout.steps import (
    QUICK_S,
    AwaitNode,
    AwaitSync,
    CheckScheduler,
    ClaimDisks,
    Command,
    MakeFolder,
    Mark,
    ReadBack,
    ReadBackArray,
    ReadBackPool,
    ReadBackQueue,
    RecordPool,
    RemoveFolder,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Settle,
    Step,
    Wipe,
    WipeTable,
    describe,
    look_fact,
    mark_fact,
    mark_of,
    mount_fact,
    operation_of,
    pool_fact,
    table_fact,
    undo_of,
    written_fact,
)
from app.storage.system import programs, state
from app.storage.system.device import content_digest, equalise, exclusive, reading, table_digest
from app.storage.system.programs import CompletedProgram, InterruptedProgramError, kernel_log, run_program
from app.storage.wiping.wipe import KeptError, Wiper

__all__ = ["Execution", "ExecutionReport", "Hooks", "StepResult"]

AFTER_S: Final = 60.0
"""How long the kernel may take to release devices after a program that unmakes something has ended."""
_AGAIN_S: Final = 0.1
_LATER_S: Final = 1.0


@dataclass(slots=True)
class Execution:
    """One execution over the disks of one plan.

    Attributes:
        disks: identity of each chosen disk, by its node.
        hooks: of the execution.
        facts: found out on the way; passed in again when another process undoes.
        patience_s: for how long failed unmaking is repeated: a program started by a killed process may still
            run.
        kept: why disks could not be released, by node: something is not ours, in use, or cannot be wiped.
        agreed: content of disks that the user saw and agreed to release (`Wiper.agreed`), by node.
        ours: places whose content this execution may undo (`Wiper.ours`). It is in no journal: after another
            process made or unmounted something, it is unknown who used it since.
    """

    disks: Mapping[str, DiskIdentity]
    hooks: Hooks
    facts: dict[str, str] = field(default_factory=dict)
    patience_s: float = 0.0
    kept: dict[str, KeptError] = field(default_factory=dict)
    agreed: Mapping[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)
    _done: list[StepResult] = field(default_factory=list)
    _begun: list[Step] = field(default_factory=list)
    _mounted: dict[str, str] = field(default_factory=dict)
    _undoing: bool = False
    _ended: CompletedProgram | None = None
    _output: str = ""
    _program_s: float = 0.0
    _where: tuple[int, int] = (0, 0)

    def make(self, steps: Sequence[Step]) -> ExecutionReport:
        """Execute steps; if one fails, undo it and all before it.

        Raises:
            RefusedError: a disk is another one or not spare; nothing was written to it.
            CancelledError: it was cancelled and undone.
            StorageError: a step failed; reports which steps were undone and which were not.
        """
        started_s = time.monotonic()
        self._done, self._begun = [], []
        for number, step in enumerate(steps, 1):
            try:
                self._one(step, number, len(steps))
            except BaseException as err:
                self._take_back(err, tuple(self._begun))
                raise
        return ExecutionReport(tuple(self._done), time.monotonic() - started_s, dict(self.facts))

    def unmake(self, undo: Sequence[Step]) -> ExecutionReport:
        """Execute the steps of `undo_of`; may be repeated, and continues after failed steps.

        Raises:
            StorageError: some step failed; names it, and counts the others.
        """
        started_s = time.monotonic()
        self._done = []
        while failures := self._unmake(undo):
            is_over = time.monotonic() >= started_s + self.patience_s
            is_foreign = all(type(err) is KeptError for _, err in failures)
            if is_over or is_foreign or not self.hooks.patience.pause(_LATER_S):
                raise _unmaking_failed(failures)
        return ExecutionReport(tuple(self._done), time.monotonic() - started_s, dict(self.facts))

    def _take_back(self, err: BaseException, steps: Sequence[Step]) -> None:
        failures = self._unmake(undo_of(steps))
        if not isinstance(err, FootingError):
            return
        if failures:
            failed = _unmaking_failed(failures)
            err.hint = joined(" ", (err.hint, joined("\n", (failed.message, failed.hint))))
        else:
            err.hint = joined(" ", (err.hint, say("was-undone")))

    def _unmake(self, undo: Sequence[Step]) -> list[tuple[Step, Exception]]:
        failures: list[tuple[Step, Exception]] = []
        blocked: set[str] = set()
        self.kept.clear()
        self._undoing = True
        try:
            for number, step in enumerate(undo, 1):
                if blocked & _written(step):
                    continue  # SECURITY: its content was not proven to be ours
                try:
                    self._one(step, number, len(undo))
                except (FootingError, OSError) as err:
                    failures.append((step, err))
                    if isinstance(step, Wipe | WipeTable):
                        blocked |= _written(step)
                    if isinstance(err, KeptError):
                        self.kept.setdefault(err.disk, err)
                    elif isinstance(step, Wipe | WipeTable) and isinstance(err, FootingError):
                        for disk in _written(step):
                            self.kept.setdefault(disk, KeptError(disk, err.message, ""))
        finally:
            self._undoing = False
            # SECURITY: a pool that is not destroyed now may be used before the next attempt.
            destroys = [step for step in undo if isinstance(step, Command) and step.owned and step.looks]
            self.ours -= {place.name for step in destroys for place in step.owned}
        return failures

    def _one(self, step: Step, number: int, count: int) -> None:
        if self._is_cancelled():
            raise CancelledError(say("cancelled-before", step=step.why))
        text, started_s, before_s = describe(step), time.monotonic(), self._program_s
        self._where = (number, count)
        self._ended, self._output, skipped, is_done = None, "", "", False
        self.hooks.progress(StepProgress(operation_of(step), number, count, text))
        try:
            skipped, is_done = self._execute(step), True
        except OSError as err:
            raise StorageError(say("step-failed", step=text, reason=error_text(err))) from err
        finally:
            if is_done or self._ended:
                now_s = time.monotonic()
                self._report_done(text, now_s - started_s, self._program_s - before_s, skipped)

    def _report_done(self, text: str, seconds: float, program_s: float, skipped: str) -> None:
        ended = self._ended
        code, said = (ended.exit_code, f"{ended.stdout}{ended.stderr}") if ended else (None, self._output)
        self._done.append(StepResult(text, code, seconds, program_s, said, skipped))
        self.hooks.done(self._done[-1])

    def _execute(self, step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 - one case each
        """Execute a step; return why it was skipped, empty if it was not."""
        match step:
            case Command():
                return self._command(step)
            case Wipe():
                return self._wiper().wipe(step)
            case WipeTable():
                return self._wiper().wipe_table(step)
            case ClaimDisks(disks):
                check_spare(disks, self.disks, self.hooks)
            case MakeFolder(path):
                self._make_folder(step, path)
            case RemoveFolder():
                return self._remove_folder(step)
            case Settle(nodes):
                self._ended = programs.await_udevd(nodes, self._probe)
                return "" if self._ended else say("skipped-no-udevd")
            case AwaitNode(node, size_bytes):
                with self._counted():
                    programs.await_node(node, size_bytes, self._is_cancelled)
            case AwaitSync(node):
                with self._counted():
                    programs.await_sync(node, self._report_sync, self._is_cancelled)
            case RecordPool():
                self._record_pool(step)
            case ReadBack():
                read_back(step, self._probe)
            case ReadBackArray():
                read_back_array(step)
            case ReadBackPool():
                read_back_pool(step, self._probe)
            case CheckScheduler():
                self._queue().check(step)
            case SetQueue():
                return self._queue().set(step)
            case RestoreQueue():
                skipped, self._output = self._queue().restore(step)
                return skipped
            case SetReadAhead():
                set_read_ahead(step)
            case ReadBackQueue():
                read_back_queue(step)
        return ""

    def _make_folder(self, step: MakeFolder, path: str) -> None:
        if os.path.lexists(path):  # not ours, so not ours to remove
            raise StorageError(say("path-exists", path=path))
        self._begin(step)
        Path(path).mkdir(mode=0o755)
        Path(path).chmod(0o755)  # regardless of the umask: the user has to reach the mount point

    def _remove_folder(self, step: RemoveFolder) -> str:
        if not os.path.lexists(step.path):
            return say("skipped-not-there")
        deadline_s = time.monotonic() + LOOKING_S
        for table in step.tables:
            is_others = mark_of(self.facts, table.name) is Mark.RELEASED
            if not is_others and not self._is_let_go(table.node, deadline_s):
                raise StorageError(say("folder-stays", path=step.path, disk=table.node))
        Path(step.path).rmdir()
        return ""

    def _command(self, command: Command) -> str:
        renamed: dict[str, str] = {}
        for condition in command.when:
            seen = self._check(condition)
            if not seen.holds:
                return seen.evidence
            if seen.renamed:
                renamed[getattr(condition, "node", "")] = seen.renamed
        if why := self._not_undone(command):
            return why
        gone = self._gone(command)
        with ExitStack() as locks:
            for node in sorted({*command.claims, *(each.disk for each in command.writes)} - gone):
                with self._counted():
                    locks.enter_context(locked(node, self.disks[node], self.hooks))
            check_spare(command.claims, self.disks, self.hooks)
            self._require([each for each in command.writes if each.disk not in gone], command)
            self._require(command.before, command)
            self._begin(command)
            self._sign(command.signs)
            try:
                for place in command.equalises:
                    node = os.path.realpath(place.node)
                    with exclusive(node, state.device_number(node), self.hooks.patience.pause) as device:
                        equalise(device)
                self._run_command(command, renamed)
            except BaseException:
                self._see_what_is_left(command.signs)
                raise
        return ""

    def _run_command(self, command: Command, renamed: Mapping[str, str]) -> None:
        argv = tuple(renamed.get(word, word) for word in command.argv)
        freed = self._freed_by(command)
        if self._undoing and (command.writes or command.frees):
            written = (*(each.place for each in command.writes), *(each.name for each in command.frees))
            self.know({written_fact(place): "" for place in written})
        with kernel_log() as messages:
            try:
                ended = self._ended = self._run_until_not_busy(argv, command)
            except InterruptedProgramError as err:
                self._ended = err.ended
                raise
            said = messages.lines() if ended.exit_code else ()
        if ended.exit_code != 0 and not any(text in ended.stderr for text in command.forgives):
            raise StorageError(
                say(
                    "command-failed", command=describe(command), code=ended.exit_code, said=ended.complaint()
                ),
                hint=say("kernel-says", lines=" / ".join(said)) if said else "",
            )
        # SECURITY: others may unmount it and use its content: only our own unmounting grants it again.
        self.ours -= {
            place.name for each in command.undo if isinstance(each, Command) for place in each.frees
        }
        made = self._seen(command.signs)  # before its owner is checked
        self._hold(command.after, describe(command))
        made |= {mark_fact(place.name): Mark.MADE.value for place in command.signs}
        if command.mounts:
            self._mounted[command.mounts] = state.mount_of(command.mounts)
            made[mount_fact(command.mounts)] = self._mounted[command.mounts]
        self.ours |= freed
        if made:
            self.know(made)
        looks = [place for place in command.looks if place.name in self.ours]
        deadline_s = time.monotonic() + LOOKING_S
        for place in looks:
            with suppress(OSError):  # a disk that was pulled
                self._is_let_go(place.node, deadline_s)
        self._see_what_is_left(looks)

    def _sign(self, places: Sequence[SignedPlace]) -> None:
        """Record the start of making something in places, which from now on belong to this execution."""
        if places:
            self.know({mark_fact(place.name): Mark.BEGUN.value for place in places})
            self.ours.update(place.name for place in places)

    def _seen(self, places: Sequence[SignedPlace]) -> dict[str, str]:
        """Return digests of the content of places, under their names in the journal."""
        found = {}
        for place in places:
            with reading(os.path.realpath(place.node)) as device:  # an array's node is a link
                if place.is_table:
                    found[table_fact(place.name)] = table_digest(device)
                else:
                    found[look_fact(place.name)] = content_digest(device)
        return found

    def _is_let_go(self, node: str, deadline_s: float) -> bool:
        """Return whether the kernel releases a device in time, or has none of that name.

        Raises:
            OSError: it cannot be opened.
        """
        while state.size_bytes(node) and state.is_claimed(node):
            if time.monotonic() >= deadline_s or not self.hooks.patience.pause(_AGAIN_S):
                return False
        return True

    def _see_what_is_left(self, places: Sequence[SignedPlace]) -> None:
        """Record what a program left, each place separately; what cannot be read is not undone."""
        for place in places:
            with suppress(OSError):
                self.know(self._seen((place,)))

    def _not_undone(self, command: Command) -> str:
        """Return why an undoing command is skipped, empty if it is not."""
        if not self._undoing:
            return ""
        if not all(place.name in self.ours for place in command.owned):
            return say("skipped-not-ours")
        apart = {each.disk for each in command.writes} & self.hooks.since.keys() - self.agreed.keys()
        for disk in sorted(apart):
            return say("skipped-since", disk=disk, why=self.hooks.since[disk])
        return ""

    def _freed_by(self, command: Command) -> frozenset[str]:
        """Return the places that belong to this execution once a command has unmounted the current mounts.

        SECURITY: the mount has to be the journal's own, over disks that have been here ever since; if its
        number may be given to a later mount, it must be one that this execution has made.
        """
        folders = [each.folder for each in command.when if isinstance(each, MountIs)]
        is_own = [
            self.facts.get(mount_fact(folder)) == (mount := state.mount_of(folder))
            and (state.is_unique(mount) or self._mounted.get(folder) == mount)
            for folder in folders
        ]
        if not command.frees or not is_own or not all(is_own):
            return frozenset()
        if self.hooks.since.keys() & {each.node for each in command.frees if each.is_table}:
            return frozenset()
        return frozenset(each.name for each in command.frees)

    def _gone(self, command: Command) -> frozenset[str]:
        """Return the disks of an undoing command that hold nothing of its object any more, if others do.

        An array must come apart even if a disk was pulled, or if it was assembled from the remaining disks
        after another was wiped and released, or overwritten by another program. Nothing can be written to an
        absent disk or a former member; the present ones must still be ours. Another disk under the same name
        is not gone, and is refused.
        """
        if not self._undoing or command.claims:
            return frozenset()
        gone = frozenset(
            each.disk
            for each in command.writes
            if not state.size_bytes(each.disk)
            or mark_of(self.facts, each.place) is Mark.WIPED
            or (isinstance(each, OwnMember) and not _is_held(each.partition.node))
        )
        return gone if gone < {each.disk for each in command.writes} else frozenset()

    def _wiper(self) -> Wiper:
        functions = self.know, self._begin, self._probe, self._check
        return Wiper(self.disks, self.hooks, self.facts, *functions, self.ours, self.agreed)

    def _queue(self) -> QueueSettings:
        return QueueSettings(self.disks, self.hooks, self.facts, self.know, self._begin)

    def know(self, facts: Mapping[str, str]) -> None:
        """Record facts in the journal; returns when they are on disk."""
        self.hooks.facts(facts)
        self.facts.update(facts)

    def holds(self, condition: Condition) -> bool:
        """Return whether a condition holds now."""
        return self._check(condition).holds

    def _begin(self, step: Step) -> None:
        self.hooks.journal(step, step.undo)
        self._begun.append(step)

    def _run_until_not_busy(self, argv: Sequence[str], command: Command) -> CompletedProgram:
        deadline_s = time.monotonic() + LOOKING_S
        while True:
            with self._counted():
                ended = run_program(
                    argv,
                    timeout_s=command.timeout_s,
                    input_text=command.input,
                    is_cancelled=self._is_cancelled,
                    only_disks=_disks_of(argv) if command.only_its_disks else (),
                )
            is_busy = ended.exit_code != 0 and any(text in ended.stderr for text in command.busy)
            if not is_busy or time.monotonic() >= deadline_s:
                return ended
            with self._counted():
                if not self.hooks.patience.pause(_AGAIN_S):
                    return ended

    def _check(self, condition: Condition) -> ConditionResult:
        return check(condition, self.facts, self._probe)

    def _probe(self, argv: Sequence[str]) -> CompletedProgram:
        with self._counted():
            return run_program(argv, timeout_s=QUICK_S, is_cancelled=self._is_cancelled)

    def _require(self, conditions: Sequence[Condition], command: Command) -> None:
        for condition in conditions:
            seen = self._check(condition)
            if not seen.holds:
                raise RefusedError(say("step-refused", command=describe(command), evidence=seen.evidence))

    def _hold(self, conditions: Sequence[Condition], what: str) -> None:
        """Wait until conditions hold: the kernel lets go a little after a program has ended."""
        deadline_s, pause_s = time.monotonic() + self.hooks.patience.limit(AFTER_S), 0.005
        for condition in conditions:
            while not (seen := self._check(condition)).holds:
                if time.monotonic() >= deadline_s:
                    raise StorageError(say("step-without-effect", step=what, evidence=seen.evidence))
                time.sleep(pause_s)
                self.hooks.patience.spent(pause_s)
                pause_s = min(2 * pause_s, 0.5)

    def _record_pool(self, step: RecordPool) -> None:
        guid = ""
        if state.pool_is_imported(step.pool):
            guid = pool_guid(step.pool, self._probe)
        for member in step.members:
            if not guid and state.size_bytes(member):
                found = probe(member, self._probe)
                if found.get("TYPE") == "zfs_member" and found.get("LABEL") == step.pool:
                    guid = found.get("UUID", "")
        name = pool_fact(step.pool)
        if guid.isdigit() and self.facts.get(name, guid) != guid:
            raise RefusedError(say("pool-not-ours", pool=step.pool, found=guid, known=self.facts[name]))
        if guid.isdigit():
            self.know({name: guid})
        elif step.required:
            raise StorageError(say("pool-guid-unreadable", pool=step.pool))

    def _is_cancelled(self) -> bool:
        return not self._undoing and self.hooks.is_cancelled()

    def _report_sync(self, text: str, fraction: float | None, left_s: float | None) -> None:
        self.hooks.progress(StepProgress(Operation.SYNCHRONISE, *self._where, text, fraction, left_s))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the time inside as spent by programs and the kernel."""
        started_s = time.monotonic()
        try:
            yield
        finally:
            self._program_s += time.monotonic() - started_s


def _is_held(node: str) -> bool:
    """Return whether an array or a pool may hold a partition: nothing is written to a free one."""
    return bool(state.size_bytes(node)) and state.is_claimed(node)


def _disks_of(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of the disks named in a command."""
    return tuple({state.disk_folder(word): None for word in argv if word.startswith("/dev/")})


def _written(step: Step) -> frozenset[str]:
    """Return the disks that an undoing step writes to."""
    match step:
        case Wipe():
            return frozenset(each.disk for each in step.partitions)
        case WipeTable():
            return frozenset((step.partition.disk,))
        case Command():
            return frozenset(each.disk for each in step.writes)
        case _:
            return frozenset()


def _unmaking_failed(failures: Sequence[tuple[Step, Exception]]) -> StorageError:
    """Return one error for all: kept disks (not ours or in use) in full, of the other failures the first."""
    kept = [err for _, err in failures if isinstance(err, KeptError)]
    others = [(step, err) for step, err in failures if not isinstance(err, KeptError)]
    texts: list[str] = [say("not-all-undone")]
    texts += dict.fromkeys(err.message for err in kept)
    for step, err in others[:1]:
        texts.append(say("undo-failed", step=describe(step), reason=error_text(err)))
    if len(others) > 1:
        texts.append(say("more-steps-failed", count=len(others) - 1))
    return StorageError(joined(" ", texts), hint=joined(" ", dict.fromkeys(err.hint for err in kept)))
