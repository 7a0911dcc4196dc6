"""What an execution asks and tells: hooks, and the report of what was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.step_progress import StepProgress
from app.storage.layout.steps import Step
from app.storage.system.time_limits import Patience


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step that was executed, for the run file and the system journal.

    Attributes:
        text: the step in words or as a command.
        exit_code: of a command; None where no program ran.
        seconds: of the whole step.
        program_seconds: of it in programs and waiting for the kernel.
        output: what the program said.
        skipped: why it was left out; empty where it was not.
    """

    text: str
    exit_code: int | None
    seconds: float
    program_seconds: float
    output: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """What an execution did.

    Attributes:
        steps: in order.
        seconds: from beginning to end.
        facts: what became known on the way, such as the pool's GUID.
    """

    steps: tuple[StepResult, ...]
    seconds: float
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who uses a disk or an array.

    Attributes:
        message: how, a sentence.
        evidence: what was seen.
        remedy: what would end it; may be empty.
        only_reads: whether it has it open for reading and nothing else.
        is_claim: whether it is told by nothing but that the kernel does not give the disk exclusively: who
            has claimed it is told besides, or is who asks.
    """

    message: str
    evidence: str
    remedy: str = ""
    only_reads: bool = False
    is_claim: bool = False


@dataclass(frozen=True, slots=True)
class Hooks:
    """What an execution asks and tells.

    Attributes:
        identify: returns who the disk of a node is, read afresh; raises OSError where it is gone.
        refusals: returns why disks (identity by node) are not spare, decided now, by node; empty where all
            are.
        journal: called before a step changes anything, with the step and what would undo it; returns when
            that is on disk. A step that is refused or left out was never begun.
        release: called with disks (identity by node) that are blank again; returns when that is on disk.
        facts: called with what only became known on the way, by name; returns when that is on disk.
        users: returns who uses a disk (its node and identity), or an array that holds it.
        hiding: returns the processes that hold descriptors of which nothing tells what they are, in words.
        save: called with a name, an offset and the bytes that are about to be zeroed there; returns when a
            copy is on disk.
        progress: called when a step begins, and while long ones run.
        done: called when a step has ended: one that was executed or left out, and one whose program ran and
            which failed, while making, undoing and unmaking alike.
        is_cancelled: asked often; ignored while undoing.
        patience: what may be waited for others in all.
        other_boot: whether the machine was started anew since what is unmade was made.
        since: why disks, by node, are not as they were when that was made, though they are here: the machine
            was started anew, they came anew, or are larger or smaller. Nothing of them is undone unasked.
        held: descriptors of disks, by node, on which a shared lock is held for longer than one step.
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
    patience: Patience = field(default_factory=Patience)
    other_boot: bool = False
    since: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
