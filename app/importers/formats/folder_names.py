"""Facts about a run from names of folders, and from labels in a table of results.

Only names without another meaning are understood: filesystems, RAID levels, ``run-rw-1``, a machine described
in a README. All others are kept as the name of the configuration. Every word of a campaign's name must be
understood: ``20220903-zfs`` is of ZFS, the filesystem of ``not-on-zfs`` is unknown.

Tables of results in the folders above the runs, as T. Vondra's scripts write them, have no header; a row is
``begin;end;LABELS;scale;mode;tps;seconds;wal_bytes``: begin and end in seconds since 1970, labels such as
RAID level, configuration and filesystem, mode ro or rw, TPS as pgbench printed it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.lines import BadLines
from app.importers.formats.storage_texts import LEVELS, MD_NUMBERS, NAMES

_RUN: Final = re.compile(r"run[-_ ]?(?:(ro|rw)[-_ ])?(\d{1,4})")
_TOKEN: Final = re.compile(r"[a-z0-9]+")
_MD: Final = frozenset({"md", "mdraid", "mdadm"})
_MODES: Final = frozenset({"ro", "rw"})
_NEUTRAL: Final = frozenset(
    {
        *("bench", "benchmark", "benchmarks", "data", "disk", "disks", "large", "limit", "medium"),
        *("nvme", "pgbench", "postgres", "postgresql", "result", "results", "run", "runs", "sata"),
        *("scale", "small", "ssd", "test", "tests"),
    }
)
"""Words that do not change the meaning of a filesystem's name next to them."""
_WORDED: Final = re.compile(
    r"(.*?)[-_. ]*\b(?:run|rep|repeat|iter|iteration|try|pass|round|attempt)[-_. ]?(\d{1,3})", re.IGNORECASE
)
_NUMBERED: Final = re.compile(r"(.*?[^-_. (])(?:[-_. ]+| ?\()(\d{1,3})\)?")
_COUNTED: Final = frozenset(
    {
        *("c", "client", "clients", "compression", "connections", "copies", "core", "cores", "cpu"),
        *("cpus", "cs", "depth", "device", "devices", "disk", "disks", "drive", "drives", "file", "gb"),
        *("host", "huge_pages", "io", "j", "job", "jobs", "kernel", "level", "linux", "lz4", "machine"),
        *("mb", "md", "mem", "memory", "node", "numa", "pg", "pool", "postgres", "postgresql", "qd"),
        *("queue", "raid", "raidz", "ram", "rate", "s", "scale", "server", "sf", "size", "socket", "t"),
        *("thread", "threads", "v", "version", "vm", "wal", "worker", "workers", "zstd"),
    }
)
"""Words with a number that is a property, not a repeat."""
_LAST_WORD: Final = re.compile(r"[^-_. ]+$")


def numbered(names: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return the common name and the 0-based number of those names that are numbered repeats.

    They are repeats if a word says so (``xfs-run2``), or if they are numbered from 1 without a gap, or from 0
    with three or more: ``wal-1`` and ``wal-16`` are two configurations, ``jit-0`` and ``jit-1`` too.

    Args:
        names: of all files or folders in the same place, without endings.
    """
    found: dict[str, tuple[str, int]] = {}
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        if _RUN.fullmatch(name.lower()):
            continue  # understood as a whole
        if match := _WORDED.fullmatch(name):
            found[name] = match[1], max(0, int(match[2]) - 1)
        elif (match := _NUMBERED.fullmatch(name)) and not _is_counted(match[1]):
            groups.setdefault(match[1], {})[int(match[2])] = name
    for base, members in groups.items():
        first, count = min(members), len(members)
        if max(members) - first == count - 1 and ((first == 1 and count > 1) or (first == 0 and count > 2)):
            found |= {name: (base, number - first) for number, name in members.items()}
    return found


def _is_counted(base: str) -> bool:
    match = _LAST_WORD.search(base.lower())
    return match is not None and match[0] in _COUNTED


@dataclass(frozen=True, slots=True)
class FolderNameFacts:
    """Facts from names.

    Attributes:
        filesystem: empty if unknown.
        level: a value of `LEVELS`.
        assembler: md if named.
        machine: described in a README.
        configuration: all other names, in order.
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


def _strange(tokens: frozenset[str]) -> frozenset[str]:
    """Return the words of a name that are not understood."""
    known = NAMES | LEVELS.keys() | _MD | _MODES | _NEUTRAL
    return frozenset(token for token in tokens - known if not token.isdecimal())


def read_place(
    campaign: Sequence[str], inner: Sequence[str], *, machines: Collection[str], scale: int | None
) -> FolderNameFacts:
    """Return the facts from names.

    Args:
        campaign: folders down to the one of the campaign.
        inner: folders below it down to the run, or labels of a table of results.
        machines: names of described machines.
        scale: of pgbench: a folder with this name is not a configuration.
    """
    words = [frozenset(_TOKEN.findall(name.lower())) for name in campaign]
    weak = sorted({each for tokens in words if not _strange(tokens) for each in tokens & NAMES})
    is_md = any(tokens & _MD for tokens in words)
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
        elif name != str(scale):
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


_ROW: Final = re.compile(
    r"(\d{9,10});(\d{9,10});((?:[\w .+-]+;)+)(\d{1,9});(ro|rw);"
    r"(\d{1,12}(?:\.\d{1,12})?);(\d{1,9}(?:\.\d{1,12})?);(\d{1,18})",
    re.ASCII,
)
MOST_ROWS: Final = 10_000
_FIRST: Final = re.compile(rb"\d{9,10};\d{9,10};[^\n]*;(?:ro|rw);\d")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One run.

    Attributes:
        line: number of the line, from 1.
        begin_s: since the epoch, whole seconds.
        end_s: since the epoch, whole seconds.
        labels: the cells between the times and the scale.
        scale: of pgbench.
        mode: ro or rw.
        tps: as pgbench printed it.
        seconds: from before the start of pgbench to after its end.
        wal_bytes: written in that time.
    """

    line: int
    begin_s: int
    end_s: int
    labels: tuple[str, ...]
    scale: int
    mode: str
    tps: float
    seconds: float
    wal_bytes: int


def is_results(head: bytes) -> bool:
    """Return whether a file starts like such a table."""
    return _FIRST.match(head) is not None


def parse_results(text: str, shown_path: str, bad: BadLines) -> tuple[ResultRow, ...]:
    """Return the rows of a table.

    Raises:
        ForeignDataError: too many rows, or too many invalid lines.
    """
    rows: list[ResultRow] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ROW.fullmatch(line.strip())
        if match is None:
            if line.strip():
                bad.add(shown_path, number, line)
            continue
        if len(rows) >= MOST_ROWS:
            message = tr("{file} has more than {count} rows: no benchmark has as many runs.")
            raise ForeignDataError(message.format(file=shown_path, count=MOST_ROWS))
        rows.append(
            ResultRow(
                line=number,
                begin_s=int(match[1]),
                end_s=int(match[2]),
                labels=tuple(match[3].rstrip(";").split(";")),
                scale=int(match[4]),
                mode=match[5],
                tps=float(match[6]),
                seconds=float(match[7]),
                wal_bytes=int(match[8]),
            )
        )
    return tuple(rows)
