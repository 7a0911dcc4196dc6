"""Decide as root whether a disk may be used now. Reads only: samples of it, or every byte."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer, looked_to_wire, refusal_to_wire
from app.domain.messages.message import WireMessage, error_text, say
from app.domain.storage_plan.wire import identity_from_wire
from app.helper.base import audit
from app.helper.storage.devices import node_of
from app.helper.storage.leftovers import Leftovers
from app.storage.inspect.disk import read_disk
from app.storage.inspect.records import read_every_byte, record_full_read
from app.storage.inspect.snapshot import DiskFacts
from app.storage.spare.content import opened_disk
from app.storage.spare.rules import SpareDecision, decide
from app.storage.spare.spare import SpareDisks

Progress = Callable[[str, int, int], None]
"""Called with a device number, the amount read and the total: places, or bytes if all are read."""
InspectionAnswer = tuple[
    str, str, list[tuple[str, WireMessage, WireMessage, WireMessage]], tuple[int | float, ...]
]
"""An answer on the bus: device number, answer, reasons, extent of the inspection."""

_DATA: Final = "D08b"
_REPORT_S: Final = 0.25


@dataclass(slots=True)
class _Pace:
    """Report the progress on one disk, at limited frequency."""

    number: str
    progress: Progress
    reported_s: float = 0.0

    def __call__(self, done: int, whole: int) -> None:
        now_s = time.monotonic()
        if now_s - self.reported_s >= _REPORT_S:
            self.reported_s = now_s
            self.progress(self.number, done, whole)


def inspected(wire: Sequence[Any], leftovers: Leftovers, progress: Progress) -> InspectionAnswer:
    """Return the answer of Inspect for one identity."""
    chosen = identity_from_wire(wire)
    try:
        return _answer_of(chosen, _seen(chosen, leftovers, progress)[1])
    except (OSError, KeyError):
        return _answer_of(chosen, _GONE)


def read_whole(
    wire: Sequence[Any], leftovers: Leftovers, progress: Progress, is_cancelled: Callable[[], bool]
) -> InspectionAnswer:
    """Read every byte of a disk, record the result, and return the answer of Read.

    Skips a disk that is refused for another reason, and one with data at its ends or in the samples.

    Raises:
        MethodError: Busy: it was called off. Unavailable: the kernel does not count writes to the disk.
    """
    chosen = identity_from_wire(wire)
    try:
        facts, decision = _seen(chosen, leftovers, progress)
        content = facts.content.known(None)
        others = [each for each in (*decision.refusals, *decision.questions) if each.rule != _DATA]
        if content is None or others or content.edges or content.samples:
            return _answer_of(chosen, decision)
        # SECURITY: a record that no write could end would call a disk blank for ever.
        if not facts.marks.appearance:
            raise MethodError("Unavailable", "not-counted")
        found = _read(facts, leftovers.disks, _Pace(chosen.device_number, progress), is_cancelled)
        return _answer_of(chosen, found or _seen(chosen, leftovers, progress)[1])
    except (OSError, KeyError):
        return _answer_of(chosen, _GONE)


def _read(
    facts: DiskFacts, disks: SpareDisks, pace: _Pace, is_cancelled: Callable[[], bool]
) -> SpareDecision | None:
    """Read every byte and record it; return why the result is invalid, None if it is valid.

    Raises:
        MethodError: Busy.
        OSError: the disk is gone, or the record cannot be written.
    """
    identity = facts.identity.value
    assert identity is not None  # noqa: S101 - the rules let nothing else pass

    def progress(done: int, whole: int) -> None:
        if is_cancelled():
            raise MethodError("Busy", "called-off")
        pace(done, whole)

    audit.note("every byte of %s is read", facts.name)
    with opened_disk(disks.places, facts.name, facts.number, os.O_DIRECT) as fd:
        try:
            first = read_every_byte(fd, identity.size_bytes, progress)
        except OSError as err:
            return _refused(say("not-read-to-end"), error_text(err))
    now = read_disk(disks.places, facts.name)
    if now.marks != facts.marks or now.identity != facts.identity:
        return _refused(say("written-while-read"), say("writes-counted"))
    record_full_read(identity, facts.marks, first, disks.places.read_whole)
    audit.note("every byte of %s was read: %s", facts.name, "zeros" if first is None else f"data at {first}")
    return None


def _seen(chosen: DiskIdentity, leftovers: Leftovers, progress: Progress) -> tuple[DiskFacts, SpareDecision]:
    """Return a disk and the rules' decision, after unmaking its leftovers as far as possible.

    Raises:
        OSError, KeyError: it is not here.
    """
    leftovers.retry([chosen])
    disks, node = leftovers.disks, node_of(chosen.device_number)
    name, pace = node.rpartition("/")[2], _Pace(chosen.device_number, progress)
    snapshot = disks.look(frozenset({name}), lambda _name, done, whole: pace(done, whole))
    decision = decide(snapshot, name, disks.policy, chosen=chosen)
    left = leftovers.refusal(node, chosen)
    if left is not None:
        decision = replace(decision, answer=SpareAnswer.NOT_SPARE, refusals=(left, *decision.refusals))
    return snapshot.disk(name), decision


def _answer_of(chosen: DiskIdentity, decision: SpareDecision) -> InspectionAnswer:
    reasons = [refusal_to_wire(each) for each in (*decision.refusals, *decision.questions)]
    answer = SpareAnswer.SPARE if decision.answer is SpareAnswer.SPARE else SpareAnswer.NOT_SPARE
    return chosen.device_number, answer.value, reasons, looked_to_wire(decision.looked)


def _refused(message: str, evidence: str, rule: str = _DATA) -> SpareDecision:
    return SpareDecision(SpareAnswer.NOT_SPARE, (DiskRefusal(rule, message, evidence),), (), ())


_GONE: Final = _refused(say("not-here"), "", "D15")
