"""Read back what was created and compare it with the request, option by option.

Kernels drop mount options silently and tools round sizes; the measurement would then carry a wrong label. The
programs that show options, and their parsers, are in the filesystem's own file (`FormatSpec.readers`).

An md array is compared before anything is created on it: mdadm rounds, and its versions have different
defaults, so that another chunk or bitmap would be measured under a wrong name. Source: Linux,
Documentation/admin-guide/md.rst.

The vdevs of a ZFS pool are compared before anything is written to it. Source: zpool-list(8) (-v, -H, -P),
zpoolconcepts(7): data comes first, other classes of devices begin with a line of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import StorageError
from app.domain.formats import format_of
from app.domain.messages.message import joined, say
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import ExpectedToken, ReadbackToken, ReadFrom, ShownBy
from app.storage.layout.steps import ReadBack, ReadBackArray, ReadBackPool
from app.storage.system import state
from app.storage.system.programs import CompletedProgram

Run = Callable[[Sequence[str]], CompletedProgram]


@dataclass(frozen=True, slots=True)
class ReadbackDifference:
    """A difference between request and result.

    Attributes:
        option: id of the option, or another requested thing (``type``, ``alignment``, ``profile``).
        asked: in words or as token.
        found: the contradicting value.
    """

    option: str
    asked: str
    found: str


class ReadBackError(StorageError):
    """A filesystem, array or pool differs from the request.

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
    """Compare a mounted filesystem with the request.

    Raises:
        ReadBackError: something differs; names every option.
        StorageError: a program that shows options failed, or its output was not understood.
        OSError: mountinfo cannot be read.
    """
    spec = format_of(step.filesystem)
    mounts = state.mounts_on(step.folder)
    if not mounts or mounts[-1].filesystem != spec.id:
        found = mounts[-1].filesystem if mounts else say("nothing-mounted")
        raise ReadBackError((ReadbackDifference("type", spec.id, found),))
    tokens: dict[ShownBy, frozenset[str]] = {ShownBy.MOUNTINFO: frozenset(mounts[-1].options)}
    wanted = list(_wanted(step, spec))
    for place in {each.shown_by for each in wanted} - {ShownBy.MOUNTINFO}:
        tokens[place] = frozenset(_tokens(place, step, spec, run))
    compare(wanted, tokens)


def compare(wanted: Sequence[ExpectedToken], tokens: Mapping[ShownBy, frozenset[str]]) -> None:
    """Compare expected tokens with the tokens shown.

    Raises:
        ReadBackError: something differs; names everything with both values.
    """
    differences = [
        ReadbackDifference(
            each.name,
            ", ".join(each.token.present) or say("none-of-tokens", tokens=", ".join(each.token.absent)),
            found,
        )
        for each in wanted
        if (found := _contradiction(each.token, tokens[each.shown_by]))
    ]
    if differences:
        raise ReadBackError(differences)


def _wanted(step: ReadBack, spec: FormatSpec) -> Iterator[ExpectedToken]:
    """Yield every expected token."""
    for always in spec.always:
        if always.seen:
            yield ExpectedToken(always.item, always.stage.shown_by, always.seen)
    for option_id, value in step.options:
        option = spec.option(option_id)
        seen = option.seen(value)
        if seen:
            yield ExpectedToken(option_id, option.stage.shown_by, seen)
    yield from step.expected


def _contradiction(seen: ReadbackToken, tokens: frozenset[str]) -> str:
    """Return the contradicting tokens; empty if everything is as expected."""
    if not seen.contradictions(tokens):
        return ""
    names = {token.partition("=")[0].partition(":")[0] for token in (*seen.present, *seen.absent)}
    near = sorted(token for token in tokens if token.partition("=")[0].partition(":")[0] in names)
    return ", ".join(near) or say("nothing-of-it")


def _tokens(place: ShownBy, step: ReadBack, spec: FormatSpec, run: Run) -> Iterator[str]:
    """Yield the tokens that the readers of a place show.

    Raises:
        StorageError: one failed, or its output was not understood: absent tokens would pass the check then.
    """
    for reader in spec.readers:
        if reader.shown_by is place:
            given = step.folder if reader.given is ReadFrom.FOLDER else step.node
            text = _output(run, *reader.argv, given)
            tokens = tuple(reader.parse(text))
            if not text.strip() or not (tokens or place is ShownBy.ATTRIBUTES):  # a folder may have none
                raise StorageError(say("readback-shows-nothing", command=" ".join((*reader.argv, given))))
            yield from tokens


def _output(run: Run, *argv: str) -> str:
    ended = run(argv)
    if ended.exit_code != 0:
        raise StorageError(
            say("command-failed", command=" ".join(argv), code=ended.exit_code, said=ended.complaint())
        )
    return ended.stdout


_ATTRIBUTES: Final = ("level", "raid_disks", "chunk_size", "layout")
_NO_BITMAP: Final = "none"


def read_back_array(step: ReadBackArray) -> None:
    """Compare a running array with the request.

    Raises:
        ReadBackError: something differs; names everything with both values.
        StorageError: the node is not an array.
        OSError: the kernel's attributes cannot be read.
    """
    folder = state.sysfs_folder(step.node) / "md"
    if not folder.is_dir():
        raise StorageError(say("readback-no-array", node=step.node))
    compare(step.expected, {ShownBy.ARRAY: frozenset(_array_tokens(folder))})


def _array_tokens(folder: Path) -> Iterator[str]:
    """Yield ``name=value`` of every attribute that records how an array was created."""
    for name in _ATTRIBUTES:
        words = (folder / name).read_text(encoding="ascii", errors="replace").split()
        yield f"{name}={words[0] if words else ''}"  # during a change the old value follows
    yield f"bitmap={_bitmap(folder)}"


def _bitmap(folder: Path) -> str:
    """Return ``internal``, ``none``, or the kernel's other text about the place of the bitmap."""
    try:
        location = (folder / "bitmap/location").read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:  # newer kernels omit the file if there is no bitmap
        return _NO_BITMAP
    return "internal" if location[:1] in {"+", "-"} and location[1:].isdecimal() else location


_LIST: Final = ("zpool", "list", "-v", "-H", "-P")
_GROUP: Final = re.compile(r"(mirror|raidz[123])-\d+", re.ASCII)
_DISK: Final = "disk"


def read_back_pool(step: ReadBackPool, run: Run) -> None:
    """Compare an imported pool with the request.

    Raises:
        ReadBackError: something differs; names everything with both values.
        StorageError: the program failed, or its output was not understood.
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

    A single disk is ``disk``; several vdevs are separated by commas.
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
            at = name.split(" ")[0]  # 2.1 prints columns, despite -H
    for name, vdevs in classes.items():
        words = (word if word == _DISK else f"{word}*{len(members)}" for word, *members in vdevs)
        yield f"{name}={','.join(words)}"
