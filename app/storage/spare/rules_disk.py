"""The form of a spare-disk rule, and the rules about the disk itself: D01, D02, D10 and D15 to D17."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.messages.message import joined, say
from app.domain.text import format_size
from app.storage.inspect.snapshot import (
    DiskFacts,
    KnownDisk,
    MachineSnapshot,
    Policy,
    Reading,
    Snapshot,
    SourceKnowledge,
)

# A spare-disk rule: a named object with its sources and its check.
#
# A rule's check sees everything that was read, even in part, and yields reasons against the disk. Anything
# that could not be read is judged here, for all rules alike, so that no rule can forget it: unreadable
# refuses, "needs root" leaves a question, absent refuses unless the rule says that the source may be absent.


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


# Name of a whole disk and the subsystems of such a disk. mmcblk is excluded on purpose: eMMC and SD cards
# hold the system or pictures, and servers keep no database on them.
DISK_KINDS: Final = (
    (re.compile(r"sd[a-z]+"), frozenset({"scsi"})),
    (re.compile(r"nvme\d+n\d+"), frozenset({"nvme", "nvme-subsystem"})),
    (re.compile(r"vd[a-z]+"), frozenset({"virtio"})),
    (re.compile(r"xvd[a-z]+"), frozenset({"xen"})),
)
LOOP: Final = re.compile(r"loop\d+")

_SCSI_DISK: Final = 0
_MEANINGLESS: Final = re.compile(r"[0\s._-]*")


def is_loop(name: str) -> bool:
    """Return whether a kernel name is that of a loop device."""
    return LOOP.fullmatch(name) is not None


def _check_kind(view: View) -> Iterator[DiskFinding]:
    hardware = view.disk.hardware.known(None)
    if hardware is None:
        return
    if hardware.hidden:
        yield DiskFinding(say("hidden", name=view.disk.name))
    if is_loop(view.disk.name):
        if not view.policy.accept_loop_devices:
            yield DiskFinding(
                say("loop-device"),
                say("allow-loop-devices"),
            )
        return
    subsystem = hardware.subsystem or say("none")
    if not any(
        name.fullmatch(view.disk.name) and hardware.subsystem in subsystems for name, subsystems in DISK_KINDS
    ):
        yield DiskFinding(say("disk-kind", name=view.disk.name, subsystem=subsystem))
    elif hardware.scsi_type not in {None, _SCSI_DISK}:
        yield DiskFinding(say("scsi-type", type=hardware.scsi_type))


def _check_medium(view: View) -> Iterator[DiskFinding]:
    medium = view.disk.medium.known(None)
    if medium is None:
        return
    if medium.size_bytes <= 0:
        yield DiskFinding(say("size-zero"), message=say("no-medium"))
    elif medium.size_bytes < view.policy.minimum_bytes:
        evidence = say(
            "size-at-least",
            size=format_size(medium.size_bytes),
            minimum=format_size(view.policy.minimum_bytes),
        )
        yield DiskFinding(evidence, message=say("too-small"))
    if medium.read_only:
        remedy = say("make-writable", path=view.path)
        yield DiskFinding(say("ro-is-1"), remedy, message=say("read-only"))
    if medium.removable:
        yield DiskFinding(say("removable-is-1"), message=say("removable"))
    if medium.zoned not in {"none", ""}:
        evidence = say("zoned-is", zoned=medium.zoned)
        yield DiskFinding(evidence, message=say("zoned"))


def same_disk(one: KnownDisk, other: KnownDisk) -> bool:
    """Return whether two disks are indistinguishable: by WWN if both have one, else by serial."""
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return bool(one.serial) and one.serial == other.serial


def _check_doubles(view: View) -> Iterator[DiskFinding]:
    known = view.machine.identities.known(())
    mine = next((entry for entry in known if entry.name == view.disk.name), None)
    for other in known:
        if mine is not None and other.name != mine.name and same_disk(mine, other):
            evidence = say("same-identity", name=other.name, key=other.wwn or other.serial)
            remedy = say("two-paths")
            yield DiskFinding(evidence, remedy)
    for record in view.disk.udev.known(()):
        if record.properties.get("DM_MULTIPATH_DEVICE_PATH") == "1":
            yield DiskFinding(say("udev-multipath"), message=say("multipath"))


def _check_identity(view: View) -> Iterator[DiskFinding]:
    identity = view.disk.identity.known(None)
    if identity is None:
        return
    if _MEANINGLESS.fullmatch(identity.serial) and not identity.wwn:
        without = say("serial-without-wwn", serial=identity.serial)
        yield DiskFinding(without, say("give-virtual-serial"), message=say("no-identity"))
    if view.chosen is None:
        return
    changed = view.chosen.differs_from(identity)
    if changed:
        evidence = joined(
            "; ",
            [
                say("field-changed", field=name, then=getattr(view.chosen, name), now=getattr(identity, name))
                for name in changed
            ],
        )
        yield DiskFinding(
            evidence,
            say("choose-anew"),
            say("rule-other-disk"),
        )


def _check_health(view: View) -> Iterator[DiskFinding]:
    for warning in view.disk.health.known(()):
        yield DiskFinding(warning, say("replace-disk"))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D16")


def _check_hints(view: View) -> Iterator[DiskFinding]:
    for record in view.disk.udev.known(()):
        if record.properties.get("UDISKS_IGNORE") == "1":
            yield DiskFinding(say("udisks-ignore", number=record.number))
    yield from (DiskFinding(text) for rule, text in view.disk.udisks.known(()) if rule == "D17")


DISK_RULES: Final = (
    SpareRule(
        "D01",
        say("rule-kind"),
        say("unknown-kind"),
        ("disk.hardware",),
        _check_kind,
        in_use=True,
    ),
    SpareRule(
        "D02",
        say("rule-medium"),
        say("unknown-medium"),
        ("disk.medium",),
        _check_medium,
        in_use=True,
    ),
    SpareRule(
        "D10",
        say("rule-same-identity"),
        say("unknown-same-identity"),
        ("machine.identities", "disk.udev"),
        _check_doubles,
        frozenset({"disk.udev"}),
    ),
    SpareRule(
        "D15",
        say("no-identity"),
        say("unknown-identity"),
        ("disk.identity",),
        _check_identity,
    ),
    SpareRule(
        "D16",
        say("rule-warns"),
        say("unknown-warns"),
        ("disk.health", "disk.udisks"),
        _check_health,
        frozenset({"disk.health", "disk.udisks"}),
    ),
    SpareRule(
        "D17",
        say("rule-hands-off"),
        say("unknown-hands-off"),
        ("disk.udev", "disk.udisks"),
        _check_hints,
        frozenset({"disk.udev", "disk.udisks"}),
    ),
)
