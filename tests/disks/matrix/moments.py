"""When something can happen to a disk of a session: the registry, and what comes next at each moment."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, Protocol

from tests.disks.matrix.disks import run
from tests.disks.matrix.helper import MAINTAIN, Death, Helper, Said
from tests.disks.matrix.stage import NO_NEED, RUN, Given, Stage


class Play(Protocol):
    """What a moment needs of the combination that it is part of."""

    stage: Stage

    @property
    def upkeep(self) -> tuple[str, ...]:
        """Every maintenance that its filesystem has, the snapshot last."""

    def session(self, death: Death | None = None) -> Helper:
        """Start a helper with a session."""

    def happen(self) -> None:
        """Let happen what happens.

        Raises:
            NotApplicableError: it cannot happen now.
        """

    def recovered(self) -> Said:
        """Let the next helper recover."""

    def boot(self) -> None:
        """Let the machine boot again."""


class UnexpectedError(Exception):
    """The session did not come to the moment."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When it happens.

    Attributes:
        title: names it in results.
        group: no crash, stuck, killed while making, killed while unmaking, another boot.
        play: brings the session there, lets it happen, goes on, and returns what was said of it.
        is_made: whether all of the session was made, and nothing of it unmade.
        keeps: whether the session has something on the disk that the journal names afterwards.
        unmounts: whether pgFooting itself unmounts what nobody else has unmounted.
        given: what there is when it happens, on a layout of one disk.
    """

    title: str
    group: str
    play: Callable[[Play], list[Said]]
    is_made: bool = True
    keeps: bool = True
    unmounts: bool = False
    given: Given = Given.MADE


def _asked(helper: Helper, what: str, *wanted: str) -> Said:
    helper.ask(what)
    said, _ = helper.wait(*wanted)
    return said


def _begun(play: Play, death: Death | None = None) -> Helper:
    helper = play.session(death)
    said, _ = helper.wait("claimed", "refused")
    if said.what != "claimed":
        raise UnexpectedError(said.words)
    play.stage.is_held = True
    return helper


def _made(helper: Helper) -> None:
    said = _asked(helper, "make", "ready", "unmade", "ended")
    if said.what != "ready":
        raise UnexpectedError(f"{said.what} {said.words}")


def _released(helper: Helper) -> list[Said]:
    """Release the session; what is said only then counts, too."""
    said = _asked(helper, "release", "ended")
    helper.reap()
    return [said]


def _ready(play: Play) -> list[Said]:
    helper = _begun(play)
    _made(helper)
    play.happen()
    said = _asked(helper, "unmake", "unmade", "ended")
    return [said, *_released(helper)]


def _between(play: Play) -> list[Said]:
    helper = _begun(play)
    _made(helper)
    said = _asked(helper, "unmake", "unmade")
    if said.words:
        raise UnexpectedError(said.words)
    play.happen()
    said = _asked(helper, "make", "ready", "unmade", "ended")
    first = [said] if said.what != "ready" else [_asked(helper, "unmake", "unmade", "ended")]
    return [*first, *_released(helper)]


def _stuck(play: Play) -> list[Said]:
    helper = _begun(play)
    _made(helper)
    (mounted,) = play.stage.mounts()
    with subprocess.Popen(("sleep", "600"), cwd=mounted.folder) as busy:
        try:
            said = _asked(helper, "unmake", "unmade", "ended")
        finally:
            busy.kill()
    if not said.left:
        raise UnexpectedError("it is not stuck")
    play.happen()
    said = _asked(helper, "unmake", "unmade", "ended")
    return [said, *_released(helper)]


def _dead(play: Play, death: Death | None) -> None:
    """Bring a helper to its death; without one it is killed where everything is ready."""
    helper = _begun(play, death)
    said = _asked(helper, "make", "ready", "unmade", "ended")
    if said.what == "ready" and death is not None:
        said = _asked(helper, "unmake", "unmade", "ended")
    if death is None and said.what == "ready":
        helper.kill()
    elif said.what != "died" or said.text:
        raise UnexpectedError(f"it lives: {said.what} {said.words}")
    play.stage.is_held = False


def _killed(play: Play, death: Death | None) -> list[Said]:
    _dead(play, death)
    play.happen()
    return [play.recovered()]


def _booted(play: Play, death: Death | None) -> list[Said]:
    _dead(play, death)
    play.boot()
    play.happen()
    return [play.recovered()]


def _upkept(play: Play, helper: Helper) -> None:
    """Make storage, and have everything done to it that its filesystem has; a snapshot stays."""
    _made(helper)
    for name in play.upkeep:
        said = _asked(helper, f"{MAINTAIN}{name}", "maintained")
        if "'done'" not in said.text:
            raise UnexpectedError(f"{name}: {said.text}")


def _ready_upkept(play: Play) -> list[Said]:
    helper = _begun(play)
    _upkept(play, helper)
    play.happen()
    said = _asked(helper, "unmake", "unmade", "ended")
    return [said, *_released(helper)]


def _killed_upkept(play: Play) -> list[Said]:
    helper = _begun(play)
    _upkept(play, helper)
    helper.kill()
    play.stage.is_held = False
    play.happen()
    return [play.recovered()]


def _killed_in_upkeep(play: Play, death: Death, *, again: bool) -> list[Said]:
    """Kill it where it writes that it begins a maintenance, or that it has ended.

    Args:
        again: the machine boots before anything happens.
    """
    helper = _begun(play, death)
    _made(helper)
    said = _asked(helper, f"{MAINTAIN}{play.upkeep[0]}", "maintained")
    if said.what != "died" or said.text:
        raise UnexpectedError(f"it lives: {said.what} {said.words}")
    play.stage.is_held = False
    if again:
        play.boot()
    play.happen()
    return [play.recovered()]


_LEFT: Final = Given.MADE | Given.DEAD
"""What a helper leaves that dies where everything was made."""
_BOOTED: Final = ~Given.MOUNTED
"""What a boot leaves of it."""

ALIVE: Final = (
    Moment("while ready, before Unmake", "no crash", _ready, unmounts=True),
    Moment("between two runs", "no crash", _between, keeps=False, unmounts=True, given=NO_NEED),
    Moment("after maintenance and with snapshots, before Unmake", "no crash", _ready_upkept, unmounts=True),
    Moment("stuck, before Unmake again", "stuck", _stuck, unmounts=True),
    Moment(
        "killed while ready",
        "killed",
        partial(_killed, death=None),
        unmounts=True,
        given=_LEFT,
    ),
    Moment(
        "killed while ready, after maintenance and with snapshots",
        "killed",
        _killed_upkept,
        unmounts=True,
        given=_LEFT,
    ),
    Moment(
        "another boot after it was ready", "another boot", partial(_booted, death=None), given=_LEFT & _BOOTED
    ),
)


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is to die at in the life of a layout.

    Attributes:
        making: writes of the journal until it is ready.
        writes: what there is at each write of the journal until it is unmade.
        steps: the same at each step of unmaking before which the journal is not written, by its number.
    """

    making: int
    writes: tuple[Given, ...]
    steps: Mapping[int, Given]

    def given(self, death: Death) -> Given:
        """Return what there is where a helper has died."""
        return self.steps[death.number] if death.when == "step" else self.writes[death.number - 1]


def moments(counts: Counts) -> tuple[Moment, ...]:
    """Return every moment of a layout."""
    writes = len(counts.writes)
    deaths = [Death(number, when) for number in range(1, writes + 1) for when in ("before", "after")]
    deaths += [Death(number, "step") for number in counts.steps]
    killed = tuple(
        Moment(
            f"killed {_named(death)}",
            f"killed while {_where(death, counts)}",
            partial(_killed, death=death),
            is_made=False,
            given=counts.given(death),
        )
        for death in deaths
    )
    unmaking = (counts.making + writes + 1) // 2
    halves = Death((counts.making * 3) // 4, "after"), Death(unmaking, "after")
    booted = tuple(
        Moment(
            f"another boot, killed {_named(death)}",
            "another boot",
            partial(_booted, death=death),
            is_made=False,
            given=counts.given(death) & _BOOTED,
        )
        for death in halves
    )
    upkeep = tuple(
        Moment(
            f"{'another boot, ' if again else ''}killed in a maintenance, {when} its write {number}",
            "another boot" if again else "killed in a maintenance",
            partial(_killed_in_upkeep, death=Death(counts.making + number, when), again=again),
            given=_LEFT & _BOOTED if again else _LEFT,
        )
        for number, when, again in _IN_UPKEEP
    )
    return (*ALIVE, *upkeep, *booted, *killed)


_IN_UPKEEP: Final[tuple[tuple[int, Literal["before", "after"], bool], ...]] = (
    (1, "before", False),
    (1, "after", False),
    (1, "after", True),
    (2, "before", False),
    (2, "after", False),
)
"""Which write of the journal: a maintenance begins with one and ends with one; whether it boots."""


def _named(death: Death) -> str:
    if death.when == "step":
        return f"at step {death.number} of unmaking"
    return f"{death.when} write {death.number} of the journal"


def _where(death: Death, counts: Counts) -> str:
    return "making" if death.when != "step" and death.number <= counts.making else "unmaking"


def unmount_all() -> None:
    """Unmount everything in the folders of sessions, as the end of a system does."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        place = line.split()[4]
        if place.startswith(f"{RUN}/"):
            run("umount", place)
