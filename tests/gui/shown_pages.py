"""Pages that several tests go through: those of the wizard with spare disks, and the runs of a library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from app.draft.draft import CampaignDraft
from app.library.entries import read_entry
from app.library.scan import ListedRun
from tests.gui.test_wizard_disks import Machinery
from ui.theme import Theme
from ui.wizard.wizard import Wizard

SIZE = (1280, 800)


def wizard_pages(
    qtbot: QtBot, theme: Theme, draft: CampaignDraft, folder: Path
) -> Iterator[tuple[str, Wizard]]:
    """Open a wizard and yield the name of each of its pages, with the wizard that shows it."""
    settings = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
    wizard = Wizard(theme, draft, settings=settings, make_watch=Machinery())
    qtbot.addWidget(wizard)
    wizard.resize(*SIZE)
    wizard.show()
    for step in wizard.flow.steps:
        wizard.flow.step = wizard.flow.furthest = step
        wizard._open_page()
        yield step.name, wizard
    wizard.asking.stop()
    wizard.close()


def runs_of(library: Path) -> list[ListedRun]:
    """Return the runs of campaigns in a library."""
    return [ListedRun(read_entry(path), ()) for path in sorted(library.rglob("0*.footing"))]
