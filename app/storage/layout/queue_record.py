"""The journal's record of a disk setting changed by a session: the old and the new value.

It is on disk before anything is changed, and empty once the value was restored or is no longer ours to
restore.
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
"""Values that may be written back: never anything else, even if a journal contains it."""
_PREFIX: Final = "queue "


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """One setting of one disk.

    Attributes:
        before: old value; is restored.
        chosen: the session's value.
        diskseq: appearance of the disk; 0 if the kernel does not count them.
    """

    before: str
    chosen: str
    diskseq: int

    def text(self) -> str:
        """Return it for the journal; `parse_record` reads it."""
        return f"{self.before} {self.chosen} {self.diskseq}"


def queue_fact(setting: QueueSetting, place: str) -> str:
    """Return the journal's name for a setting of the disk of a place."""
    return f"{_PREFIX}{setting.value} of {place}"


def fits(setting: QueueSetting, value: str) -> bool:
    """Return whether a text can be a value of a setting."""
    return _VALUES[setting].fullmatch(value) is not None


def parse_record(setting: QueueSetting, text: str) -> QueueRecord | None:
    """Parse a record of the journal; None if nothing is to be restored.

    Raises:
        ValueError: it has another format.
    """
    if not text:
        return None
    before, chosen, sequence = text.split(" ")
    if not fits(setting, before) or not fits(setting, chosen) or not re.fullmatch(r"[0-9]{1,20}", sequence):
        raise ValueError(text)
    return QueueRecord(before, chosen, int(sequence))


def check_queue_facts(facts: Mapping[str, str]) -> None:
    """Make sure that all records of this kind in a journal can be parsed.

    Raises:
        ValueError: one cannot.
    """
    for name, text in facts.items():
        if name.startswith(_PREFIX):
            setting, _, place = name.removeprefix(_PREFIX).partition(" of ")
            if not place:
                raise ValueError(name)
            parse_record(QueueSetting(setting), text)
