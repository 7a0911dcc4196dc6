"""Disks that hang, fail and lie from one moment on; nothing foreign is on them."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.disks.matrix.stage import Certainty, Foreign, Kind, Stage
from tests.disks.stalling import Answers


def _fails(stage: Stage, how: Answers) -> Foreign | None:
    """The subject answers in another way, until it is well again."""
    disk = stage.subject
    if how is Answers.NEVER and stage.is_held:
        return None  # an unmounting that has begun waits for the disk, by design
    well = partial(disk.answer, Answers.WELL)
    stage.stack.callback(well)
    certainty = Certainty.UNCHANGED if how is Answers.LATE else Certainty.FAILING
    words = ("does not answer",) if how is Answers.NEVER else ()
    return Foreign(certainty, disk, None, words, begin=partial(disk.answer, how), end=well)


FAILING: Final = tuple(
    Kind(f"failing: {title}", "failing", partial(_fails, how=how), can_fail=True)
    for title, how in (
        ("hangs for a while", Answers.LATE),
        ("hangs", Answers.NEVER),
        ("reads and writes are errors", Answers.ERRORS),
        ("writes are errors", Answers.ERRORS_TO_WRITES),
        ("writes are lost", Answers.LOSES_WRITES),
        ("reads are changed", Answers.CHANGES_READS),
    )
)
