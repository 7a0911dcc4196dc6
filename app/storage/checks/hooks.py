"""Hooks of an execution, and the report of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.step_progress import StepProgress
from app.storage.layout.steps import Step
from app.storage.system.time_limits import TimeBudget


@dataclass(frozen=True, slots=True)
class StepResult:
    """An executed step, for the run file and the system journal.

    Attributes:
        text: the step in words or as a command.
        exit_code: of a command; None if no program ran.
        seconds: of the whole step.
        program_seconds: part of it spent in programs and waiting for the kernel.
        output: of the program.
        skipped: why it was skipped; empty if it was not.
    """

    text: str
    exit_code: int | None
    seconds: float
    program_seconds: float
    output: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """Report of an execution.

    Attributes:
        steps: in order.
        seconds: from start to end.
        facts: found out during the execution, such as the pool's GUID.
    """

    steps: tuple[StepResult, ...]
    seconds: float
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class User:
    """A user of a disk or an array.

    Attributes:
        message: how it uses the disk, a sentence.
        evidence: where this was seen.
        remedy: how to end the use; may be empty.
        only_reads: whether it only has the disk open for reading.
        is_claim: whether the only evidence is that the kernel does not give the disk exclusively: the
            claimant is reported separately, or is the caller.
    """

    message: str
    evidence: str
    remedy: str = ""
    only_reads: bool = False
    is_claim: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """Questions and reports of an execution.

    Attributes:
        identify: returns the current identity of a node's disk, freshly read; raises OSError if it is gone.
        refusals: returns why disks (identity by node) are not spare, decided now, by node; empty if all are.
        journal: called before a step changes anything, with the step and its undo steps; returns when that is
            on disk. A refused or skipped step never began.
        release: called with disks (identity by node) that are blank again; returns when that is on disk.
        facts: called with facts that only became known on the way, by name; returns when that is on disk.
        users: returns the users of a disk (its node and identity), or of an array that holds it.
        hiding: returns the processes with descriptors that cannot be identified, in words.
        save: called with a name, an offset and the bytes that are about to be zeroed there; returns when a
            copy is on disk.
        progress: called when a step begins, and during long ones.
        done: called when a step ended: after execution, after a skip, and after its program failed, while
            making, undoing and unmaking alike.
        is_cancelled: polled often; ignored while undoing.
        patience: total time for waiting for other programs.
        other_boot: whether the machine was restarted between making and unmaking.
        since: why disks, by node, may have changed since the session made something on them, though they are
            present: the machine was restarted, they reappeared, or their size changed. Nothing on them is
            undone unasked.
        held: descriptors of disks, by node, with a shared lock that is held for longer than one step.
    """

    identify: Callable[[str], DiskIdentity]
    refusals: Callable[[Mapping[str, DiskIdentity]], Mapping[str, Sequence[DiskRefusal]]]
    journal: Callable[[Step, tuple[Step, ...]], None] = lambda _step, _undo: None
    release: Callable[[Mapping[str, DiskIdentity]], None] = lambda _disks: None
    facts: Callable[[Mapping[str, str]], None] = lambda _facts: None
    users: Callable[[str, DiskIdentity], Sequence[User]] = lambda _node, _disk: ()
    hiding: Callable[[], str] = lambda: ""
    save: Callable[[str, int, bytes], None] = lambda _name, _offset, _content: None
    progress: Callable[[StepProgress], None] = lambda _progress: None
    done: Callable[[StepResult], None] = lambda _done: None
    is_cancelled: Callable[[], bool] = lambda: False
    patience: TimeBudget = field(default_factory=TimeBudget)
    other_boot: bool = False
    since: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
