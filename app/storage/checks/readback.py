"""What was made is read back and compared with what was asked, option by option.

Kernels drop mount options silently and tools round sizes: what is measured afterwards would be something
else than its label says. The tokens of each place are described in `app.domain.options.filesystem_spec`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.messages.message import joined, say
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option import Stage
from app.domain.options.tokens import ReadbackToken, ShownBy
from app.storage.layout import stripe_geometry as alignment
from app.storage.layout.steps import ReadBack
from app.storage.system import state
from app.storage.system.programs import CompletedProgram

Run = Callable[[Sequence[str]], CompletedProgram]

_EXT: frozenset[str] = frozenset({"ext3", "ext4"})


@dataclass(frozen=True, slots=True)
class ReadbackDifference:
    """One thing that is not as it was asked.

    Attributes:
        option: id of the option, or what else was asked (``type``, ``alignment``, ``profile``).
        asked: in words or as token.
        found: what contradicts.
    """

    option: str
    asked: str
    found: str


class ReadBackError(StorageError):
    """A filesystem has not what was asked for.

    Attributes:
        differences: all of them.
    """

    code = "read-back"

    def __init__(self, differences: Sequence[ReadbackDifference]) -> None:
        self.differences = tuple(differences)
        texts = (
            say("readback-option", option=each.option, asked=each.asked, found=each.found)
            for each in self.differences
        )
        super().__init__(
            say("readback-differs", differences=joined("; ", texts)),
            hint=say("readback-leave-out"),
        )


def read_back(step: ReadBack, run: Run) -> None:
    """Compare a mounted filesystem with what was asked.

    Raises:
        ReadBackError: something differs; names every option.
        StorageError: a program that shows it failed.
        OSError: mountinfo cannot be read.
    """
    spec = filesystem(step.filesystem)
    mounts = state.mounts_on(step.folder)
    if not mounts or mounts[-1].filesystem != spec.id:
        found = mounts[-1].filesystem if mounts else say("nothing-mounted")
        raise ReadBackError((ReadbackDifference("type", spec.id, found),))
    tokens: dict[ShownBy, frozenset[str]] = {ShownBy.MOUNTINFO: frozenset(mounts[-1].options)}
    wanted = list(_wanted(step, spec))
    for place in {place for place, _, _ in wanted} - {ShownBy.MOUNTINFO}:
        tokens[place] = frozenset(_tokens(place, step, run))
    differences = [
        ReadbackDifference(
            option,
            ", ".join(seen.present) or say("none-of-tokens", tokens=", ".join(seen.absent)),
            found,
        )
        for place, option, seen in wanted
        if (found := _contradiction(seen, tokens[place]))
    ]
    if step.profiles:
        differences += _profile_differences(step, run)
    if differences:
        raise ReadBackError(differences)


def _wanted(step: ReadBack, spec: FilesystemSpec) -> Iterator[tuple[ShownBy, str, ReadbackToken]]:
    """Yield where it is shown, the option's id, and what must be seen."""
    for always in spec.always:
        if always.seen:
            yield _place_of(always.stage), always.item, always.seen
    for option_id, value in step.options:
        option = spec.option(option_id)
        seen = option.seen(value)
        if seen:
            yield option.shown_by, option_id, seen
    if step.alignment and spec.id in _EXT:
        yield (
            ShownBy.SUPERBLOCK,
            "alignment",
            ReadbackToken(alignment.ext_tokens(step.alignment, step.block_bytes)),
        )
    if step.alignment and spec.id == "xfs":
        yield (
            ShownBy.SUPERBLOCK,
            "alignment",
            ReadbackToken(alignment.xfs_tokens(step.alignment, step.block_bytes)),
        )


def _place_of(stage: Stage) -> ShownBy:
    places = {
        Stage.MKFS: ShownBy.SUPERBLOCK,
        Stage.POOL: ShownBy.PROPERTIES,
        Stage.DATASET: ShownBy.PROPERTIES,
        Stage.ATTRIBUTE: ShownBy.ATTRIBUTES,
    }
    return places.get(stage, ShownBy.MOUNTINFO)


def _contradiction(seen: ReadbackToken, tokens: frozenset[str]) -> str:
    """Return what is there instead; empty where all is as wanted."""
    if not seen.contradictions(tokens):
        return ""
    names = {token.partition("=")[0].partition(":")[0] for token in (*seen.present, *seen.absent)}
    near = sorted(token for token in tokens if token.partition("=")[0].partition(":")[0] in names)
    return ", ".join(near) or say("nothing-of-it")


def _tokens(place: ShownBy, step: ReadBack, run: Run) -> Iterator[str]:
    if place is ShownBy.ATTRIBUTES:
        yield from _output(run, "lsattr", "-d", step.folder).split(" ", 1)[0].replace("-", "")
    elif place is ShownBy.PROPERTIES:
        for program in ("zpool", "zfs"):
            text = _output(run, program, "get", "-H", "-p", "-o", "property,value", "all", step.node)
            yield from parse_properties(text)
    elif step.filesystem in _EXT:
        yield from parse_dumpe2fs(_output(run, "dumpe2fs", "-h", step.node))
    elif step.filesystem == "xfs":
        yield from parse_xfs_info(_output(run, "xfs_info", step.folder))
    elif step.filesystem == "btrfs":
        yield from parse_dump_super(_output(run, "btrfs", "inspect-internal", "dump-super", "-f", step.node))
    elif step.filesystem == "f2fs":
        yield from parse_dump_f2fs(_output(run, "dump.f2fs", step.node))


def _output(run: Run, *argv: str) -> str:
    ended = run(argv)
    if ended.exit_code != 0:
        raise StorageError(
            say("command-failed", command=" ".join(argv), code=ended.exit_code, said=ended.complaint())
        )
    return ended.stdout


def _profile_differences(step: ReadBack, run: Run) -> Iterator[ReadbackDifference]:
    wanted = dict(zip(("Data", "Metadata"), step.profiles, strict=True))
    found = parse_btrfs_df(_output(run, "btrfs", "filesystem", "df", "--raw", step.folder))
    for kind, profile in wanted.items():
        if found.get(kind, frozenset()) != {profile}:
            shown = ", ".join(sorted(found.get(kind, ()))) or say("nothing-of-it")
            yield ReadbackDifference(f"{kind.lower()} profile", profile, shown)


def parse_dumpe2fs(text: str) -> Iterator[str]:
    """Yield the tokens of ``dumpe2fs -h``: features one by one, other lines with single spaces."""
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if key == "Filesystem features":
            yield from value.split()
        elif colon:
            yield f"{key}: {' '.join(value.split())}"


def parse_xfs_info(text: str) -> Iterator[str]:
    """Yield ``section.key=value`` of ``xfs_info``; a line that begins with ``=`` continues its section."""
    section = ""
    for line in text.splitlines():
        section = (re.match(r"([a-z-]+)", line) or [section])[0]
        for key, value in re.findall(r"([a-z0-9-]+)\s*=(\S+)", line.partition("=")[2] if line else ""):
            yield f"{section}.{key}={value.rstrip(',')}"


def parse_dump_super(text: str) -> Iterator[str]:
    """Yield ``key=value`` of ``btrfs inspect-internal dump-super -f``, and the names of flags alone."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and not line.startswith((" ", "\t")):
            value = words[2].strip("()") if words[0] == "csum_type" and len(words) > 2 else words[1]
            yield f"{words[0]}={value}"
        else:
            yield from re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", line)


def parse_dump_f2fs(text: str) -> Iterator[str]:
    """Yield the features of ``dump.f2fs``."""
    for line in text.splitlines():
        if "superblock features" in line:
            yield from re.findall(r"[a-z_]+[a-z0-9_]*", line.rpartition(":")[2])


def parse_properties(text: str) -> Iterator[str]:
    """Yield ``name=value`` of the tab-separated lines of ``zpool get`` and ``zfs get``."""
    for line in text.splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            yield f"{name}={value}"


def parse_btrfs_df(text: str) -> dict[str, frozenset[str]]:
    """Return the profiles of each kind of ``btrfs filesystem df``, in lower case as mkfs.btrfs takes them."""
    found: dict[str, frozenset[str]] = {}
    for kind, profile in re.findall(r"^(\w+), (\w+):", text, re.MULTILINE):
        found[kind] = found.get(kind, frozenset()) | {profile.lower()}
    return found
