"""Takes the README's pictures of start page, wizard, live page, library, comparison and replay.

The window is driven by its own signals and widgets; what it shows is measured while it is shown.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEventLoop, QSettings, QSize, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.domain.run import Phase
from app.draft.fields.state import Step
from app.library.entries import find_examples
from ui.background import finish_background
from ui.live.page import LivePage
from ui.program.program import make_application
from ui.style import apply_theme
from ui.theme import Scheme, Theme
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import WindowSettings
from ui.wizard.pages.review_page import Disturbances
from ui.wizard.wizard import Wizard

SIZE = QSize(1280, 800)
LARGEST_BYTES = 200_000
PATIENCE_S = 120.0
CAMPAIGN_S = 600.0
RUNS = 6
SHOWN_AT_S = 22.0
"""When in a measured phase the live page is taken."""


def wait(seconds: float) -> None:
    """Let the window work for so long."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def wait_until(what: str, done: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Let the window work until something is so."""
    deadline_s = time.monotonic() + patience_s
    while not done():
        if time.monotonic() > deadline_s:
            sys.exit(
                f"packaging/screenshots: waited {patience_s:.0f} s for {what}; pictures so far are kept."
            )
        wait(0.1)


def with_palette(image: QImage) -> QImage:
    """Return a picture of at most 256 colours: the most frequent ones, every other becomes its nearest."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    size = image.height(), image.width()
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(size) & 0xFFFFFF
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(-counts)[:256]]

    def channels(values: NDArray[np.uint32]) -> NDArray[np.int64]:
        return np.stack([(values >> shift) & 255 for shift in (16, 8, 0)], axis=-1).astype(np.int64)

    differences = channels(colours)[:, None, :] - channels(kept)[None, :, :]
    nearest = (differences**2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    indices = np.ascontiguousarray(nearest[places].reshape(size))
    made = QImage(indices.tobytes(), size[1], size[0], size[1], QImage.Format.Format_Indexed8)
    made.setColorTable([0xFF000000 | int(colour) for colour in kept])
    return made.copy()  # the copy owns its pixels


class Photographer:
    """Takes pictures into one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, widget: QWidget, name: str) -> None:
        """Save a picture of a widget; it must be small enough for a README."""
        wait(0.5)
        path = self._folder / f"{name}.png"
        image = with_palette(widget.grab().toImage())
        if not image.save(str(path), quality=0):  # the smallest file
            sys.exit(f"packaging/screenshots: cannot write {path}.")
        size = path.stat().st_size
        print(f"{path}: {image.width()} x {image.height()}, {size / 1000:.0f} kB")
        if size > LARGEST_BYTES:
            sys.exit(f"packaging/screenshots: {path} is larger than {LARGEST_BYTES / 1000:.0f} kB.")


def next_page(wizard: Wizard, step: Step) -> None:
    """Go on to a page of the wizard."""
    free = "the wizard's page before " + step.name
    wait_until(free, lambda: wizard.next.isEnabled() and wizard.flow.obstacle() is None)
    wizard.next.click()
    wait_until(step.name, lambda: wizard.flow.step is step)


def fill(wizard: Wizard, photographer: Photographer) -> None:
    """Go through the questions with the answers that stand there: a folder against memory, three repeats."""
    wizard.resize(SIZE)
    wait_until("this machine", lambda: wizard.draft.environment is not None)
    photographer.take(wizard, "wizard-where")
    next_page(wizard, Step.POSTGRESQL)
    next_page(wizard, Step.WORKLOAD)
    next_page(wizard, Step.MORE)
    next_page(wizard, Step.REVIEW)
    wait_until("the review", wizard.next.isEnabled)
    found = wizard.findChild(Disturbances)
    assert isinstance(found, Disturbances)  # noqa: S101 - the review has it
    wait_until("what would disturb", lambda: not found.notes.text().startswith("Looking"))
    photographer.take(wizard, "wizard-review")
    wizard.next.click()


def measured_s(page: LivePage) -> float:
    """Return how long the fourth run or a later one has measured; the earlier ones lie behind it then."""
    run, status = page.watched.run, page.watched.status
    if run is None or status is None or status.done < RUNS // 2 or run.phase is not Phase.MEASURE:
        return 0.0
    return run.phase_elapsed_s


def take_pictures(folder: Path, scratch: Path) -> None:
    """Drive the window from its first page to the library and take a picture of each step."""
    app = make_application()
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(scratch))
    theme = Theme(Scheme.LIGHT)
    apply_theme(app, theme)
    photographer = Photographer(folder)
    settings = WindowSettings(QSettings(str(scratch / "window.ini"), QSettings.Format.IniFormat))
    library = scratch / "library"
    window = MainWindow(library, theme, settings, lambda: tuple(library.glob("*")))
    window.resize(SIZE)
    window.show()
    window.begin()
    wait(2)
    photographer.take(window, "start")
    window.start_page.new.click()
    wait_until("the wizard", lambda: window.campaigns.wizard is not None)
    if window.campaigns.wizard is not None:
        fill(window.campaigns.wizard, photographer)
    wait_until("the live page", lambda: window.campaigns.live_page is not None)
    page = window.campaigns.live_page
    if page is None:
        return
    wait_until("the fourth run", lambda: measured_s(page) > SHOWN_AT_S, CAMPAIGN_S)
    photographer.take(window, "live")
    theme.set_scheme(Scheme.DARK)
    photographer.take(window, "live-dark")
    theme.set_scheme(Scheme.LIGHT)
    wait_until("the end of the campaign", lambda: page.watched.ended, CAMPAIGN_S)
    page.header.runs.click()
    wait_until("the runs", lambda: len(window.runs_page.model.chosen) == RUNS)
    replayed = next(iter(window.runs_page.model.chosen))
    window.commands["example"].trigger()  # what a comparison is for: filesystems
    wait_until("the example", lambda: len(window.runs_page.model.chosen) == len(find_examples()))
    wait(5)
    window.notice.hide()
    photographer.take(window, "library")
    window.commands["compare"].trigger()
    wait(6)
    photographer.take(window, "compare")
    window.show_runs()
    window.campaigns.replay(replayed, speed=5.0)
    wait_until("the replay", lambda: window.campaigns.replay_page is not None)
    wait(4)
    photographer.take(window, "replay")
    window.close_without_question()
    finish_background()
    settings.qt.sync()  # not when it is deleted: its folder is gone by then


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory(prefix="pgfooting-screenshots-", ignore_cleanup_errors=True) as scratch:
        take_pictures(Path(sys.argv[1]), Path(scratch))


if __name__ == "__main__":
    main()
