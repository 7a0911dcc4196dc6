"""A spare-disk rule: a named object with its sources and its check.

A rule's check sees everything that was read, even in part, and yields reasons against the disk. Anything that
could not be read is judged here, for all rules alike, so that no rule can forget it: unreadable refuses,
"needs root" leaves a question, absent refuses unless the rule says that the source may be absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.messages.message import say
from app.storage.inspect.snapshot import (
    DiskFacts,
    MachineSnapshot,
    Policy,
    Reading,
    Snapshot,
    SourceKnowledge,
)


@dataclass(frozen=True, slots=True)
class View:
    """Input of a rule.

    Attributes:
        machine: facts of the machine.
        disk: facts of the disk in question.
        policy: the caller's.
        chosen: the disk that was shown and chosen earlier; None while there is no choice.
    """

    machine: MachineSnapshot
    disk: DiskFacts
    policy: Policy
    chosen: DiskIdentity | None = None

    @property
    def path(self) -> str:
        """Device node for sentences and commands."""
        return f"/dev/{self.disk.name}"


@dataclass(frozen=True, slots=True)
class DiskFinding:
    """A reason against a disk.

    Attributes:
        evidence: the observation and its source.
        remedy: may be empty.
        message: a better sentence than the rule's own; empty for the rule's.
        user: of the disk, in words for the list of disks; empty for none.
    """

    evidence: str
    remedy: str = ""
    message: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class SpareRule:
    """One spare-disk rule.

    Attributes:
        id: ``D01`` to ``D17``, as in the specification.
        message: the sentence when it refuses.
        unknown: what stays unknown when a source is missing, continuing "It cannot be told ...".
        sources: names of the readings, such as ``machine.mounts`` and ``disk.holders``.
        check: yields reasons against the disk.
        may_be_absent: sources that some machines do not have.
        in_use: a refusal means that something works with the disk, so that its content is left unread.
    """

    id: str
    message: str
    unknown: str
    sources: tuple[str, ...]
    check: Callable[[View], Iterable[DiskFinding]]
    may_be_absent: frozenset[str] = frozenset()
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Verdict of one rule on one disk.

    Attributes:
        refusals: reasons against it.
        questions: that only root can answer.
        passed_over: a source was left unread because the disk is in use.
        users: of the disk, in words.
    """

    refusals: tuple[DiskRefusal, ...] = ()
    questions: tuple[DiskRefusal, ...] = ()
    passed_over: bool = False
    users: tuple[str, ...] = ()


def reading_of(view: View | Snapshot, source: str) -> Reading[Any]:
    """Return the reading of a source by its name.

    Raises:
        AttributeError: no such source.
    """
    owner, _, field = source.partition(".")
    reading: Reading[Any] = getattr(getattr(view, owner), field)
    return reading


def judge(rule: SpareRule, view: View) -> RuleVerdict:
    """Apply one rule: its findings first, then the missing sources."""
    findings = tuple(rule.check(view))
    refusals = [
        DiskRefusal(rule.id, finding.message or rule.message, finding.evidence, finding.remedy)
        for finding in findings
    ]
    users = tuple(dict.fromkeys(finding.user for finding in findings if finding.user))
    if refusals:
        return RuleVerdict(tuple(refusals), users=users)
    gaps = tuple(_gaps(rule, view))
    return RuleVerdict(
        refusals=tuple(
            gap for state, gap in gaps if state in {SourceKnowledge.UNREADABLE, SourceKnowledge.ABSENT}
        ),
        questions=tuple(gap for state, gap in gaps if state is SourceKnowledge.NEEDS_ROOT),
        passed_over=any(state is SourceKnowledge.PASSED_OVER for state, _ in gaps),
    )


def _gaps(rule: SpareRule, view: View) -> Iterator[tuple[SourceKnowledge, DiskRefusal]]:
    """Yield every source that the rule needs and lacks."""
    for source in rule.sources:
        reading = reading_of(view, source)
        if reading.state is SourceKnowledge.READ or (
            reading.state is SourceKnowledge.ABSENT and source in rule.may_be_absent
        ):
            continue
        message = say("cannot-be-told", unknown=rule.unknown)
        remedy = say("root-can-tell") if reading.state is SourceKnowledge.NEEDS_ROOT else ""
        yield (
            reading.state,
            DiskRefusal(rule.id, message, say("of-source", source=source, what=reading.reason), remedy),
        )
