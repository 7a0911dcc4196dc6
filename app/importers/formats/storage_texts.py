"""Parse filesystem and RAID from outputs of mount, findmnt, lsblk, df, mkfs, btrfs, zfs, zpool, mdadm.

Every function returns facts from a text, or nothing. A tool's output is recognised by its whole format: its
heading, and every line below it. A word such as zfs, or a heading that several tools have, proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain import filesystems
from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.members import BadLines

_MOUNT_LINES: Final = (
    re.compile(
        r"(?P<device>\S+) on (?P<target>/.*) type (?P<type>[\w.]+) \((?P<options>[^()]*)\)(?: \[.*\])?"
    ),
    re.compile(r"(?P<device>\S+) (?P<target>/\S*) (?P<type>[\w.]+) (?P<options>\S+) \d \d"),
)
"""Lines of mount, and of /proc/mounts."""
_TABLES: Final = (
    (  # df -T
        re.compile(r"Filesystem +Type +\S+ +Used +Avail\w* +(?:Use%|Capacity) +Mounted on"),
        re.compile(
            r"(?P<device>\S+) +(?P<type>[\w.]+) +[\d.]+\w* +[\d.]+\w* +[\d.]+\w* +(?:\d+%|-) +(?P<target>/.*)"
        ),
    ),
    (
        re.compile(r"TARGET +SOURCE +FSTYPE +OPTIONS"),  # findmnt
        re.compile(
            r"[ |`├└│─-]*(?P<target>/\S*) +(?P<device>\S+) +(?P<type>[\w.]+) +(?P<options>\S+=?\S*)",
        ),
    ),
)
"""Pairs of a heading and a pattern of the lines."""
_TRACED_MOUNT: Final = re.compile(r"^\++ (?:sudo )?mount (?:.* )?(?P<device>/dev/\S+) /\S*$", re.MULTILINE)
"""A mount command in the trace of a shell (bash -x)."""
_PLAIN_DISK: Final = re.compile(r"/dev/(?:(?:sd|vd|xvd|hd)[a-z]+\d*|(?:nvme\d+n|mmcblk)\d+(?:p\d+)?)")
_IN_MEMORY: Final = "tmpfs"
_SYSTEM: Final = re.compile(r"/(?:run|dev|sys)\b")
"""Folders where every machine has its own filesystems in memory."""
_LSBLK: Final = re.compile(r"NAME +(?:[A-Z%:-]+ +)*FSTYPE +(?:[A-Z%:-]+ +)*MOUNTPOINTS?")
_LSBLK_NAME: Final = re.compile(r"[ |`├└│─-]*[\w!.-]+ *")
_PROPERTIES: Final = re.compile(r"NAME +PROPERTY +VALUE +SOURCE")
_PROPERTY: Final = re.compile(
    r"(\S+)\s+([\w.:@-]+)\s+(\S.*?)\s+(-|local|default|received|inherited.*|temporary)"
)
_BTRFS_PROFILE: Final = re.compile(
    r"^(?:"
    r"(?P<kind>Data|Metadata), ?(?P<profile>single|dup|raid\d+c?\d?): "
    r"(?:total=\S+, used=\S+|Size:\S+, Used:\S+(?: \([\d.]+%\))?)"  # of btrfs filesystem
    r"|  (?P<made>Data|Metadata):\s+(?P<as>single|dup|raid\d+c?\d?)\s+[\d.]+\w+"  # of mkfs.btrfs
    r")\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_BTRFS_LINE: Final = re.compile(
    r"\s.*|(?:Overall|Unallocated|Devices|Block group profiles):|Label: .* uuid: \S+|[A-Z][A-Za-z ]*:  +\S.*"
    r"|(?:Data|System|Metadata|Data\+Metadata|GlobalReserve), ?\w+: (?:total=|Size:)\S+ (?:used=|Used:)\S+.*"
    r"|btrfs-progs v\S+|See http\S+ for .*|Performing full device TRIM .*|(?:NOTE|WARNING): .*"
)
_BTRFS_DEVICES: Final = re.compile(r"^(?:Number of devices:\s+|\s*Total devices )(\d{1,9})\b", re.MULTILINE)
_MDSTAT: Final = re.compile(r"^md\w+ : active (?:\([^)]*\) )?(raid\d+|linear) (.+)$", re.MULTILINE)
_MDSTAT_LINE: Final = re.compile(r"\s.*|Personalities :.*|md\w+ : (?:in)?active .*|unused devices: .*")
_MDADM_LINE: Final = re.compile(r"\s.*|/dev/md\S*:|[A-Z][A-Za-z ]* : .*")
_MDADM: Final = re.compile(r"^\s*Raid Level : (\S+)\s*$", re.MULTILINE)
_MDADM_DISKS: Final = re.compile(r"^\s*Raid Devices : (\d{1,9})\s*$", re.MULTILINE)
_ZPOOL_LINE: Final = re.compile(r"\s.*|(?:config|status|action|errors|remove|checkpoint):.*")
_VDEV: Final = re.compile(r"^\t( *)(\S+)", re.MULTILINE)
_TOP: Final = 2
"""Blanks before a group or disk directly below the pool."""
_GROUP: Final = re.compile(r"(mirror|raidz[123]?|draid\S*)(?:-\d+)?")

_RECORD_SIZE: Final = "recordsize"
"""Always reported: it decides whether full_page_writes=off is safe."""

LEVELS: Final = {
    "raid0": "stripe",
    "stripe": "stripe",
    "striping": "stripe",
    "raid1": "mirror",
    "mirror": "mirror",
    "raid10": "raid10",
    "raid4": "raid4",
    "raid5": "raid5",
    "raid6": "raid6",
    "raidz": "raidz1",
    "raidz1": "raidz1",
    "raidz2": "raidz2",
    "raidz3": "raidz3",
    "single": "single",
}
"""This program's level by the names of tools and users."""
MD_NUMBERS: Final = {"0": "stripe", "1": "mirror", "10": "raid10", "4": "raid4", "5": "raid5", "6": "raid6"}
NAMES: Final = frozenset(
    {"ext2", "jfs", "bcachefs", "nilfs2", "ufs", *(spec.id for spec in filesystems.FILESYSTEMS)}
)
"""Filesystems in published results: those that pgFooting can create, and others."""


@dataclass(frozen=True, slots=True)
class StorageInfo:
    """Facts from one text.

    Attributes:
        filesystem: empty if unknown.
        options: mount options.
        properties: of a ZFS dataset, those that are not the default, and the record size.
        level: a value of `LEVELS`.
        assembler: md, btrfs or zfs.
        devices: their number.
        detail: such as profiles of btrfs.
        device: the mounted one; empty if unknown.
    """

    filesystem: str = ""
    options: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    level: str = ""
    assembler: str = ""
    devices: int | None = None
    detail: str = ""
    device: str = ""

    @property
    def is_beside_md(self) -> bool:
        """Whether the md facts concern other disks: the data was on its own disk or partition."""
        return self.assembler == "md" and _PLAIN_DISK.fullmatch(self.device) is not None


def read_storage(text: str) -> StorageInfo | None:
    """Return the facts from any of these tools' outputs; None for another text."""
    for reader in (_zpool, _zfs, _btrfs, _mdadm, _mdstat, _mounted, _traced):
        storage_read = reader(text)
        if storage_read is not None:
            return storage_read
    return None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _mounted(text: str) -> StorageInfo | None:
    """Return the only mounted filesystem that can contain data; None for several of them."""
    lines = _lines(text)
    rows = _mount_rows(lines) or _table_rows(lines) or _lsblk_rows(lines)
    found = [
        (type_, options, device)
        for type_, options, target, device in rows
        if type_ in NAMES and not (type_ == _IN_MEMORY and _SYSTEM.match(target))
    ]
    if len(found) != 1:
        return None
    type_, options, device = found[0]
    return StorageInfo(type_, tuple(options.split(",")) if options else (), device=device)


def _traced(text: str) -> StorageInfo | None:
    """Return the only device that a traced script mounted."""
    devices = {match["device"] for match in _TRACED_MOUNT.finditer(text)}
    if not text.startswith("+ ") or len(devices) != 1:
        return None
    return StorageInfo(device=devices.pop())


def _all(pattern: re.Pattern[str], lines: list[str]) -> list[re.Match[str]]:
    """Return the matches of all lines; empty if one does not match."""
    found = [match for line in lines if (match := pattern.fullmatch(line))]
    return found if len(found) == len(lines) else []


def _mount_rows(lines: list[str]) -> list[tuple[str, str, str, str]]:
    """Return (type, options, mount point, device) of every line of mount or /proc/mounts."""
    found = next((found for pattern in _MOUNT_LINES if (found := _all(pattern, lines))), [])
    return [(match["type"], match["options"], match["target"], match["device"]) for match in found]


def _table_rows(lines: list[str]) -> list[tuple[str, str, str, str]]:
    """Return (type, options, mount point, device) of every line of df or findmnt; df has no options."""
    for heading, line in _TABLES:
        if lines and heading.fullmatch(lines[0]):
            rows = [{"options": "", **each.groupdict()} for each in _all(line, lines[1:])]
            return [(each["type"], each["options"], each["target"], each["device"]) for each in rows]
    return []


def _lsblk_rows(lines: list[str]) -> list[tuple[str, str, str, str]]:
    """Return (type, "", mount point, "") of the mounted devices of ``lsblk -f``; its columns may be empty."""
    if not lines or not _LSBLK.fullmatch(lines[0]):
        return []
    begin = lines[0].index("FSTYPE")
    end = begin + len(re.match(r"FSTYPE +", lines[0][begin:])[0])  # type: ignore[index]  # it is there
    name_end = len(re.match(r"NAME +", lines[0])[0])  # type: ignore[index]  # likewise
    mounted = lines[0].index("MOUNTPOINT")
    rows = []
    for line in lines[1:]:
        type_ = line[begin:end].strip()
        is_whole = line[begin - 1 : begin] in {"", " "} and line[mounted - 1 : mounted] in {"", " "}
        if not (is_whole and _LSBLK_NAME.fullmatch(line[:name_end]) and re.fullmatch(r"[\w.]*", type_)):
            return []
        if line[mounted:].startswith("/"):
            rows.append((type_, "", line[mounted:], ""))
    return rows


def _zfs(text: str) -> StorageInfo | None:
    lines = _lines(text)
    if not lines or not _PROPERTIES.fullmatch(lines[0]):
        return None
    rows = _all(_PROPERTY, [line for line in lines if not _PROPERTIES.fullmatch(line)])
    if not rows:
        return None
    found = [
        (match[2], match[3]) for match in rows if match[4] not in {"-", "default"} or match[2] == _RECORD_SIZE
    ]
    return StorageInfo("zfs", properties=tuple(found))


def _zpool(text: str) -> StorageInfo | None:
    if not re.match(r"\s*pool: \S+\n\s*state: \w+\n", text) or not _all(_ZPOOL_LINE, _lines(text)):
        return None
    groups, disks, pool = [], 0, ""
    once = text.split("\n  pool:", maxsplit=1)[0]  # the status before and after may be in one file
    for match in _VDEV.finditer(once.partition("\tNAME")[2]):
        depth, name = len(match[1]), match[2]
        if depth == 0:
            if pool:  # logs, cache, spares ...: no data there
                break
            pool = name
        elif depth == _TOP:
            group = _GROUP.fullmatch(name)
            groups.append(LEVELS.get(group[1], group[1]) if group else "")
            disks += not group
        else:
            disks += 1
    kinds = set(groups)
    level = groups[0] if len(kinds) == 1 else ""
    if kinds == {""}:
        level = "stripe" if len(groups) > 1 else "single"
    elif kinds == {"mirror"} and len(groups) > 1:
        level = "raid10"
    return StorageInfo("zfs", level=level, assembler="zfs", devices=disks or None)


def _btrfs(text: str) -> StorageInfo | None:
    profiles = {
        (match["kind"] or match["made"]).lower(): (match["profile"] or match["as"]).lower()
        for match in _BTRFS_PROFILE.finditer(text)
    }
    count = _BTRFS_DEVICES.search(text)
    if "data" not in profiles or not _all(_BTRFS_LINE, _lines(text)):
        return None
    detail = ", ".join(f"{kind} {profile}" for kind, profile in profiles.items())
    devices = int(count[1]) if count else None
    return StorageInfo(
        "btrfs", level=LEVELS.get(profiles["data"], ""), assembler="btrfs", devices=devices, detail=detail
    )


def _mdadm(text: str) -> StorageInfo | None:
    level, disks = _MDADM.search(text), _MDADM_DISKS.search(text)
    if level is None or not text.lstrip().startswith("/dev/md") or not _all(_MDADM_LINE, _lines(text)):
        return None
    return StorageInfo(
        level=LEVELS.get(level[1], ""), assembler="md", devices=int(disks[1]) if disks else None
    )


def _mdstat(text: str) -> StorageInfo | None:
    found = list(_MDSTAT.finditer(text))
    if not text.startswith("Personalities :") or len(found) != 1 or not _all(_MDSTAT_LINE, _lines(text)):
        return None
    return StorageInfo(level=LEVELS.get(found[0][1], ""), assembler="md", devices=len(found[0][2].split()))


# Facts about a run from names of folders, and from labels in a table of results.
#
# Only names without another meaning are understood: filesystems, RAID levels, ``run-rw-1``, a machine
# described in a README. All others are kept as the name of the configuration. Every word of a campaign's name
# must be understood: ``20220903-zfs`` is of ZFS, the filesystem of ``not-on-zfs`` is unknown.
#
# Tables of results in the folders above the runs, as T. Vondra's scripts write them, have no header; a row is
# ``begin;end;LABELS;scale;mode;tps;seconds;wal_bytes``: begin and end in seconds since 1970, labels such as
# RAID level, configuration and filesystem, mode ro or rw, TPS as pgbench printed it.


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
            message = tr("{file} has more than {count} entries, too many for a benchmark.")
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
