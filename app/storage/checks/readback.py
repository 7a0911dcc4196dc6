"""What was made is read back and compared with what was asked, option by option.

Kernels drop mount options silently and tools round sizes: what is measured afterwards would be something
else than its label says. Which programs show it, and their parsers, stand in the filesystem's own file
(`FilesystemSpec.readers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.messages.message import joined, say
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option import Stage
from app.domain.options.tokens import ExpectedToken, ReadbackToken, ReadFrom, ShownBy
from app.storage.layout.steps import ReadBack
from app.storage.system import state
from app.storage.system.programs import CompletedProgram

Run = Callable[[Sequence[str]], CompletedProgram]


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
        StorageError: a program that shows it failed, or showed nothing that is understood.
        OSError: mountinfo cannot be read.
    """
    spec = filesystem(step.filesystem)
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
    """Compare what must be shown with what is.

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


def _wanted(step: ReadBack, spec: FilesystemSpec) -> Iterator[ExpectedToken]:
    """Yield everything that must be seen."""
    for always in spec.always:
        if always.seen:
            yield ExpectedToken(always.item, _place_of(always.stage), always.seen)
    for option_id, value in step.options:
        option = spec.option(option_id)
        seen = option.seen(value)
        if seen:
            yield ExpectedToken(option_id, option.shown_by, seen)
    yield from step.expected


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


def _tokens(place: ShownBy, step: ReadBack, spec: FilesystemSpec, run: Run) -> Iterator[str]:
    """Yield what the readers of a place show.

    Raises:
        StorageError: one failed, or showed nothing that is understood: what must be absent would pass then.
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
