"""What the journal holds of a setting of a disk that a session changed: what it was, and what it became.

It is on disk before anything is changed, and empty once it was put back or is nobody's to put back any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class QueueSetting(StrEnum):
    """Settings of the kernel for a disk, by their files in /sys/block/DISK/queue (ABI/stable/sysfs-block)."""

    SCHEDULER = "scheduler"
    READ_AHEAD = "read_ahead_kb"


_VALUES: Final = {
    QueueSetting.SCHEDULER: re.compile(r"[a-z][a-z0-9-]{0,15}"),
    QueueSetting.READ_AHEAD: re.compile(r"[0-9]{1,10}"),
}
"""What may be written back: never anything else, whatever a journal says."""
_PREFIX: Final = "queue "


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """One setting of one disk.

    Attributes:
        before: value that it had; is put back.
        chosen: value that the session gave it.
        diskseq: which appearance of a disk it was; 0 where the kernel does not count them.
    """

    before: str
    chosen: str
    diskseq: int

    def text(self) -> str:
        """Return it for the journal; `parse_record` reads it."""
        return f"{self.before} {self.chosen} {self.diskseq}"


def queue_fact(setting: QueueSetting, place: str) -> str:
    """Return the name under which the journal holds a setting of the disk of a place."""
    return f"{_PREFIX}{setting.value} of {place}"


def fits(setting: QueueSetting, value: str) -> bool:
    """Whether a text can be a value of a setting."""
    return _VALUES[setting].fullmatch(value) is not None


def parse_record(setting: QueueSetting, text: str) -> QueueRecord | None:
    """Return what the journal holds; None where nothing is to be put back.

    Raises:
        ValueError: it is something else.
    """
    if not text:
        return None
    before, chosen, sequence = text.split(" ")
    if not fits(setting, before) or not fits(setting, chosen) or not re.fullmatch(r"[0-9]{1,20}", sequence):
        raise ValueError(text)
    return QueueRecord(before, chosen, int(sequence))


def check_queue_facts(facts: Mapping[str, str]) -> None:
    """Make sure that everything of the kind that a journal holds is understood.

    Raises:
        ValueError: something is not.
    """
    for name, text in facts.items():
        if name.startswith(_PREFIX):
            setting, _, place = name.removeprefix(_PREFIX).partition(" of ")
            if not place:
                raise ValueError(name)
            parse_record(QueueSetting(setting), text)
