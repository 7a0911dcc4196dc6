"""What btrfs tells of itself: its superblock, and which profiles its data and metadata have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.domain.filesystems.common import LSATTR
from app.domain.options.tokens import ReadbackProgram, ReadFrom, ShownBy


def parse_dump_super(text: str) -> Iterator[str]:
    """Yield the tokens of ``btrfs inspect-internal dump-super -f``.

    ``key=value`` with the first word of the value (``nodesize=16384``), ``csum_type=NAME`` with the name in
    brackets, and the names of flags alone (``NO_HOLES``).
    """
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 2 and not line.startswith((" ", "\t")):
            value = fields[2].strip("()") if fields[0] == "csum_type" and len(fields) > 2 else fields[1]
            yield f"{fields[0]}={value}"
        else:
            yield from re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", line)


def parse_df(text: str) -> Iterator[str]:
    """Yield ``kind=profile`` of ``btrfs filesystem df``; one of several profiles as ``Data=raid5+single``.

    Profiles are in lower case as mkfs.btrfs takes them.
    """
    found: dict[str, set[str]] = {}
    for kind, profile in re.findall(r"^(\w+), (\w+):", text, re.MULTILINE):
        found.setdefault(kind, set()).add(profile.lower())
    for kind, names in found.items():
        yield f"{kind}={'+'.join(sorted(names))}"


_DUMP_SUPER: Final = ("btrfs", "inspect-internal", "dump-super", "-f")
_DF: Final = ("btrfs", "filesystem", "df", "--raw")

READERS: Final = (
    ReadbackProgram(ShownBy.SUPERBLOCK, _DUMP_SUPER, parse_dump_super),
    ReadbackProgram(ShownBy.ALLOCATION, _DF, parse_df, ReadFrom.FOLDER),
    LSATTR,
)
