"""What the tools of other systems tell of a filesystem: how it was made, what it is set to. Pure.

Read from the sources of these tools and from output that others recorded; tried on none of these systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from app.probes.base.fact_tree import Fact, Facts

_DEVICE_NUMBER: Final = "dev="
_MADE: Final = "newfs "
_SIZE_AND_DEVICE: Final = re.compile(r"(?: -s \d+)? (?:/\S+)$")
_HAMMER_VERSION: Final = re.compile(r"\s*HAMMER Version\s+(\d{1,4})")
_STAT_HEADING: Final = ("PATH", "ncp", "data-use", "inode-use", "comp", "check")
_LONGEST: Final = 300


def told_of_filesystem(output: Mapping[str, Sequence[str]]) -> Facts:
    """Return what tools told, by a word each: made_with, format_version, compression, check.

    Args:
        output: lines by program, as `machine.sh` names them.
    """
    facts: Facts = {}
    made = _made_with(output.get("dumpfs", ()))
    if made:
        facts["made_with"] = made
    facts |= _of_hammer2(output.get("hammer2-stat", ()))
    for line in output.get("hammer-info", ()):
        if matched := _HAMMER_VERSION.fullmatch(line):
            facts["format_version"] = matched[1]
    return facts


def _made_with(lines: Iterable[str]) -> str:
    """Return the newfs(8) that would make a UFS again (``dumpfs -m``), without size and device.

    These are of its disk; the same filesystem on another one differs in nothing else.
    """
    line = next((each for each in lines if each.startswith(_MADE)), "").rstrip()
    return _SIZE_AND_DEVICE.sub("", line)[:_LONGEST]


def _of_hammer2(lines: Sequence[str]) -> Facts:
    """Return what ``hammer2 stat`` tells of a folder: how new files in it are compressed and checked."""
    if (
        len(lines) < 2
        or not lines[1].strip()
        or tuple(lines[0].split())[: len(_STAT_HEADING)] != _STAT_HEADING
    ):
        return {}
    words = lines[1].split()
    if "/" in words[-1]:  # a quota of bytes and inodes
        words.pop()
    return dict(zip(("compression", "check"), words[-2:], strict=True)) if len(words) >= 6 else {}


def mounts_of_mnttab(lines: Iterable[str]) -> list[Facts]:
    """Return the mounts of mnttab(5): source, point, type, options, time; one with a blank does not fit."""
    found: list[Facts] = []
    for line in lines:
        words = line.split()
        if len(words) == 5 and words[1].startswith("/"):
            found.append(mount_of(words[0], words[1], words[2], words[3].split(",")))
    return found


def mount_of(source: str, point: str, kind: str, options: Iterable[str]) -> Facts:
    """Return a mount; the number of its device is no option of it."""
    kept: list[Fact] = [
        word for each in options if (word := each.strip()) and not word.startswith(_DEVICE_NUMBER)
    ]
    return {"source": source, "mount_point": point, "filesystem": kind, "options": kept}
