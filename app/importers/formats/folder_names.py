"""What names of folders, and labels in a table of results, say about a run.

Only names that people use for nothing else are understood: filesystems, RAID levels, ``run-rw-1``, a machine
that a README describes. Everything else is kept as the name of the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.importers.formats.storage_texts import LEVELS, MD_NUMBERS, NAMES

_RUN: Final = re.compile(r"run[-_ ]?(?:(ro|rw)[-_ ])?(\d{1,4})")
_TOKEN: Final = re.compile(r"[a-z0-9]+")
_MD: Final = frozenset({"md", "mdraid", "mdadm"})
_MODES: Final = frozenset({"ro", "rw"})


@dataclass(frozen=True, slots=True)
class FolderNameFacts:
    """What names say.

    Attributes:
        filesystem: empty where they do not.
        level: as `LEVELS` has it.
        assembler: md where they say so.
        machine: that a README describes.
        configuration: names that are none of these, in order.
        mode: ro or rw.
        repeat: 0-based.
    """

    filesystem: str = ""
    level: str = ""
    assembler: str = ""
    machine: str = ""
    configuration: tuple[str, ...] = ()
    mode: str = ""
    repeat: int = 0


def read_place(
    campaign: Sequence[str], inner: Sequence[str], *, machines: Collection[str], scale: int | None
) -> FolderNameFacts:
    """Return what names say.

    Args:
        campaign: folders down to the one of the campaign.
        inner: folders below it down to the run, or labels of a table of results.
        machines: names of described machines.
        scale: of pgbench, so that its folder is not taken for a configuration.
    """
    tokens = {token for name in campaign for token in _TOKEN.findall(name.lower())}
    weak, is_md = sorted(tokens & NAMES), bool(tokens & _MD)
    filesystem = level = mode = ""
    repeat, others = 0, []
    for name in inner:
        word = name.lower()
        run = _RUN.fullmatch(word)
        if word in NAMES:
            filesystem = word
        elif word in LEVELS:
            level = LEVELS[word]
        elif is_md and not level and word in MD_NUMBERS:
            level = MD_NUMBERS[word]
        elif run:
            mode, repeat = run[1] or mode, max(0, int(run[2]) - 1)
        elif word in _MODES:
            mode = word
        elif name != str(scale) and name not in machines:
            others.append(name)
    machine = next((name for name in (*campaign, *inner) if name in machines), "")
    return FolderNameFacts(
        filesystem=filesystem or (weak[0] if len(weak) == 1 else ""),
        level=level,
        assembler="md" if is_md else "",
        machine=machine,
        configuration=tuple(others),
        mode=mode,
        repeat=repeat,
    )
