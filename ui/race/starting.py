"""Start a race of chosen runs: read them in the background, show them on the full screen, report problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSettings
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.domain.errors import FootingError
from app.live.snapshot import SPEEDS
from ui.background import BackgroundOp
from ui.race.content import RaceContent, load_race
from ui.race.window import RaceWindow
from ui.theme import Theme

_USUAL_LENGTH_S: Final = 90.0
"""Approximate length of a race in real seconds, unless a speed is given."""


@dataclass(frozen=True, slots=True)
class RaceChoice:
    """The chosen runs and settings of a race.

    Attributes:
        paths: of their files.
        colours: number of each run's colour, by path; None: by configuration, in this order.
        library: with repeats that show the variation of runs; None for none.
        speed: recorded seconds per real second; None for a race of about a minute.
    """

    paths: Sequence[Path]
    colours: Mapping[str, int] | None = None
    library: Path | None = field(default=None)
    speed: float | None = None


def usual_speed(length_s: float) -> float:
    """Return the default speed of a race with `length_s` recorded seconds."""
    return next((speed for speed in SPEEDS if speed >= 1 and length_s / speed <= _USUAL_LENGTH_S), SPEEDS[-1])


class RaceStarter(QObject):
    """Start races for one main window; the current one ends with it.

    Attributes:
        window: of the current race; None for none.
    """

    def __init__(self, window: QWidget, theme: Theme, notify: Callable[[str], object]) -> None:
        super().__init__(window)
        self._theme = theme
        self._notify = notify
        self._op: BackgroundOp[RaceContent] | None = None
        self.window: RaceWindow | None = None
        window.installEventFilter(self)

    def start(self, choice: RaceChoice, charts: Sequence[str] = ()) -> None:
        """Read these runs and show their race; problems are reported.

        Args:
            choice: runs and settings.
            charts: ids of the first charts.
        """
        self.stop()
        self._op = BackgroundOp(
            lambda: load_race(choice.paths, choice.colours, choice.library, charts),
            lambda content: self._show(content, choice.speed),
            self._fail,
        ).start()

    def stop(self) -> None:
        """Cancel reading, and close the race."""
        if self._op is not None:
            self._op.cancel()
            self._op = None
        if self.window is not None:
            self.window.close()

    def _show(self, content: RaceContent, speed: float | None) -> None:
        self._op = None
        chosen = usual_speed(content.race.end_s) if speed is None else speed
        self.window = RaceWindow(self._theme.scheme, content, speed=chosen)
        self.window.closed.connect(self._forget)
        self.window.showFullScreen()

    def _fail(self, error: FootingError) -> None:
        self._op = None
        self._notify(" ".join(part for part in (error.message, error.hint) if part))

    def _forget(self) -> None:
        self.window = None

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Hide and not event.spontaneous():
            self.stop()  # the main window was closed
        return super().eventFilter(watched, event)


def start_race(
    window: QWidget, theme: Theme, settings: QSettings, notify: Callable[[str], object], choice: RaceChoice
) -> RaceStarter:
    """Start a race from a main window; charts come in the order of its live page."""
    starter = window.findChild(RaceStarter) or RaceStarter(window, theme, notify)
    stored = settings.value("live/charts")
    names = [stored] if isinstance(stored, str) else stored
    starter.start(choice, [str(name) for name in names] if isinstance(names, list) else ())
    return starter
