"""Disks that hang, fail and lie from one moment on; nothing foreign is on them."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.disks.matrix.stage import NO_NEED, Certainty, Foreign, Given, Kind, Stage
from tests.disks.stalling import Answers


def _fails(stage: Stage, how: Answers) -> Foreign:
    """The subject answers in another way, until it is well again."""
    disk = stage.subject
    well = partial(disk.answer, Answers.WELL)
    stage.stack.callback(well)
    certainty = Certainty.UNCHANGED if how is Answers.LATE else Certainty.FAILING
    words = ("has not answered",) if how is Answers.NEVER else ()
    return Foreign(certainty, disk, None, words, begin=partial(disk.answer, how), end=well)


FAILING: Final = tuple(
    Kind(f"failing: {title}", "failing", partial(_fails, how=how), needs, can_fail=True)
    for title, how, needs in (
        ("hangs for a while", Answers.LATE, NO_NEED),
        # An unmounting that has begun waits for the disk, by design.
        ("hangs", Answers.NEVER, Given.DEAD),
        ("reads and writes are errors", Answers.ERRORS, NO_NEED),
        ("writes are errors", Answers.ERRORS_TO_WRITES, NO_NEED),
        ("writes are lost", Answers.LOSES_WRITES, NO_NEED),
        ("reads are changed", Answers.CHANGES_READS, NO_NEED),
    )
)
