"""Of what a ZFS pool consists, compared with what was asked, before anything is written to it.

Source: zpool-list(8) (-v, -H, -P), zpoolconcepts(7): data comes first, other classes of devices begin with a
line of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.domain.errors import StorageError
from app.domain.messages.message import say
from app.domain.options.tokens import ShownBy
from app.storage.checks.readback import Run, compare
from app.storage.layout.steps import ReadBackPool

_LIST: Final = ("zpool", "list", "-v", "-H", "-P")
_GROUP: Final = re.compile(r"(mirror|raidz[123])-\d+", re.ASCII)
_DISK: Final = "disk"


def read_back_pool(step: ReadBackPool, run: Run) -> None:
    """Compare an imported pool with what was asked.

    Raises:
        ReadBackError: something differs; names everything with both values.
        StorageError: the program failed, or showed nothing that is understood.
    """
    argv = (*_LIST, step.pool)
    ended = run(argv)
    if ended.exit_code != 0:
        said = ended.complaint()
        raise StorageError(say("command-failed", command=" ".join(argv), code=ended.exit_code, said=said))
    tokens = frozenset(parse_vdevs(ended.stdout))
    if not tokens:
        raise StorageError(say("readback-shows-nothing", command=" ".join(argv)))
    compare(step.expected, {ShownBy.VDEVS: tokens})


def parse_vdevs(text: str) -> Iterator[str]:
    """Yield ``class=vdevs`` of every class of devices, such as ``data=raidz1*3`` and ``logs=disk``.

    A disk that stands alone is ``disk``; one vdev follows the other after a comma.
    """
    lines = [line.split("\t") for line in text.splitlines() if line.strip()]
    classes: dict[str, list[list[str]]] = {}
    at = ""
    for number, fields in enumerate(lines):
        name = next((field for field in fields if field), "")
        if number == 0:
            at = "data"  # the line of the pool itself
        elif group := _GROUP.fullmatch(name):
            classes.setdefault(at, []).append([group[1]])
        elif name.startswith("/"):
            found = classes.setdefault(at, [])
            if found and found[-1][0] != _DISK:
                found[-1].append(name)
            else:
                found.append([_DISK, name])
        else:
            at = name.split(" ")[0]  # of 2.1 in columns, whatever -H says
    for name, vdevs in classes.items():
        words = (word if word == _DISK else f"{word}*{len(members)}" for word, *members in vdevs)
        yield f"{name}={','.join(words)}"
