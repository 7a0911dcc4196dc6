"""May a disk be used, as root sees it now? Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.domain.disk import Answer
from app.domain.plan_wire import identity_from_wire
from app.helper.devices import node_of
from app.helper.leftovers import Leftovers
from app.storage.inspect import inspect_machine
from app.storage.rules import decide


def inspected(wire: Sequence[Any], leftovers: Leftovers) -> tuple[str, str, list[tuple[str, str, str, str]]]:
    """Return the answer of Inspect for one identity: device number, answer, reasons."""
    chosen, disks = identity_from_wire(wire), leftovers.disks
    leftovers.retry([chosen])
    try:
        node = node_of(chosen.device_number)
        name = node.rpartition("/")[2]
        snapshot = inspect_machine(disks.policy, disks.places, only=frozenset({name}))
        decision = decide(snapshot, name, disks.policy, chosen=chosen)
        left = leftovers.refusal(node, chosen)
    except (OSError, KeyError):
        return chosen.device_number, Answer.NOT_SPARE.value, [("D15", "It is not here any more.", "", "")]
    reasons = [
        (each.rule, each.message, each.evidence, each.remedy)
        for each in (*((left,) if left else ()), *decision.refusals, *decision.questions)
    ]
    spare = decision.answer is Answer.SPARE and left is None
    return chosen.device_number, (Answer.SPARE if spare else Answer.NOT_SPARE).value, reasons
