"""Progress of root in creating or removing storage: a typed job, the same at both ends of the bus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.messages.message import WireMessage, message_from_wire, message_to_wire

ROOT_STEP: Final = "storage"
"""Kind of the events for a step of root without a program, such as wiping a signature."""

_NOT_KNOWN = -1.0


class Operation(StrEnum):
    """Kinds of steps, one word."""

    COMMAND = "command"
    WIPE = "wipe"
    WIPE_TABLE = "wipe-table"
    CLAIM_DISKS = "claim-disks"
    MAKE_FOLDER = "make-folder"
    REMOVE_FOLDER = "remove-folder"
    SETTLE = "settle"
    AWAIT_DEVICE = "await-device"
    SYNCHRONISE = "synchronise"
    RECORD_POOL = "record-pool"
    READ_BACK = "read-back"
    SET_QUEUE = "set-queue"
    MAINTAIN = "maintain"


@dataclass(frozen=True, slots=True)
class StepProgress:
    """Progress of creating or removing storage.

    Attributes:
        operation: an `Operation`; another word of a newer helper.
        number: of the step, from 1.
        count: of all steps.
        text: the step, as in the description of the plan, or its current state.
        fraction: of the step, 0 to 1; None if unknown.
        left_s: remaining seconds of the step; None if unknown.
    """

    operation: str
    number: int
    count: int
    text: str
    fraction: float | None = None
    left_s: float | None = None


def progress_to_wire(progress: StepProgress) -> tuple[str, int, int, WireMessage, float, float]:
    """Return it as it crosses the bus."""
    return (
        str(progress.operation),
        progress.number,
        progress.count,
        message_to_wire(progress.text),
        _NOT_KNOWN if progress.fraction is None else progress.fraction,
        _NOT_KNOWN if progress.left_s is None else progress.left_s,
    )


def progress_from_wire(wire: Sequence[Any]) -> StepProgress:
    """Restore it from the bus."""
    operation, number, count, text, fraction, left_s = wire
    return StepProgress(
        operation,
        number,
        count,
        message_from_wire(text),
        fraction if fraction >= 0 else None,
        left_s if left_s >= 0 else None,
    )
