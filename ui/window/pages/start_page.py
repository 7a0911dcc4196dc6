"""The first page: three choices, and obstacles on this machine.

Below them the interrupted campaigns and the stored draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.errors import Problem
from app.domain.text import tr
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.fields import ChoiceButton, plain
from ui.widgets.layouts import empty, fill
from ui.widgets.texts import one_line, plain_label, show_tip, tint, wrapped_label

if TYPE_CHECKING:
    from app.draft.fields.state import DraftEnvironment
    from app.execution.resume.begun import UnfinishedCampaign


MOST_SHOWN: Final = 3


class WaitingList(QFrame):
    """Hidden if nothing waits; shows the newest few campaigns.

    Attributes:
        go_on: a button for each shown campaign, by its folder; the draft's under None.
        put_away: buttons with the same keys.

    Signals:
        go_on_asked: folder of a campaign to resume.
        put_away_asked: folder of a campaign that is not to be offered any more.
        draft_asked: the draft is to be opened.
        draft_put_away: the draft is not to be offered any more.
    """

    go_on_asked = Signal(Path)
    put_away_asked = Signal(Path)
    draft_asked = Signal()
    draft_put_away = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.go_on: dict[Path | None, QPushButton] = {}
        self.put_away: dict[Path | None, QPushButton] = {}
        self._found: Sequence[UnfinishedCampaign] = ()
        self._draft = ""
        self._layout = QGridLayout(self)
        self._layout.setHorizontalSpacing(MEDIUM)
        self._layout.setColumnStretch(0, 1)
        self.hide()

    def show_waiting(self, found: Sequence[UnfinishedCampaign]) -> None:
        """Show these campaigns, the newest first."""
        self._found = found[:MOST_SHOWN]
        self._show()

    def show_draft(self, sentence: str) -> None:
        """Show that there is a draft; nothing if the sentence is empty."""
        self._draft = sentence
        self._show()

    def _show(self) -> None:
        empty(self._layout)
        self.go_on, self.put_away = {}, {}
        for each in self._found:
            tip = tr("Its runs stay in the library; “Resume” in the menu there still works.")
            asked = (
                partial(_emit, self.go_on_asked, each.folder),
                partial(_emit, self.put_away_asked, each.folder),
            )
            self._add_row(each.folder, each.sentence, tr("Re&sume"), tip, asked)
        if self._draft:
            deeds = self.draft_asked.emit, self.draft_put_away.emit
            self._add_row(None, self._draft, tr("Continue ed&iting …"), "", deeds)
        self.setVisible(bool(self.go_on))

    def _add_row(
        self,
        key: Path | None,
        sentence: str,
        word: str,
        tip: str,
        deeds: tuple[Callable[[], None], ...],
    ) -> None:
        row = len(self.go_on)
        words = wrapped_label(one_line(sentence), self)
        go_on, away = QPushButton(word, self), QPushButton(plain(tr("&Close")), self)
        show_tip(away, tip)
        for button, deed in zip((go_on, away), deeds, strict=True):
            button.setAccessibleDescription(sentence)
            button.clicked.connect(lambda _checked=False, deed=deed: deed())
        for column, widget in enumerate((words, go_on, away)):
            self._layout.addWidget(widget, row, column)
        self.go_on[key], self.put_away[key] = go_on, away


def _emit(signal: SignalInstance, folder: Path) -> None:
    signal.emit(folder)


_WIDEST_EMS = 150


class StartPage(QScrollArea):
    """Three choices: try it here, spare disks, a real comparison; below them open work, and runs to open.

    Attributes:
        waiting: the interrupted campaigns.

    Signals:
        new_asked: start the wizard.
        disks_asked: start it with spare disks.
        open_asked: choose run files.
        example_asked: show the runs that ship with the program.
        look_again_asked: look at the machine again.
        library_asked: show the library.
    """

    new_asked = Signal()
    disks_asked = Signal()
    open_asked = Signal()
    example_asked = Signal()
    look_again_asked = Signal()
    library_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.title = plain_label("pgFooting")
        self.question = wrapped_label(
            tr("On which disks, filesystem and options does PostgreSQL run best on this hardware?")
        )
        self.new = ChoiceButton(
            tr("Try it h&ere"),
            tr("Compares a folder with memory. Nothing is formatted, no root is needed. Live in a minute."),
            theme,
            icon="plus",
        )
        self.disks = ChoiceButton(
            tr("My spare &disks"),
            tr(
                "Compares filesystems, arrays and options on disks that you choose. These are erased, but "
                "only after you type the end of each serial number."
            ),
            theme,
            icon="hard-drive",
        )
        self.example = ChoiceButton(
            tr("Look at a real &comparison"),
            tr("Shows ext4, XFS, btrfs and ZFS in common charts, as Tomas Vondra measured them in 2022."),
            theme,
            icon="lightbulb",
        )
        self.open = QPushButton(tr("&Open runs …"))
        runs = tr("Opens run files (*.footing) from this or another machine in the same charts.")
        show_tip(self.open, runs)
        self.library = QPushButton(tr("&Library"))
        self.library.setVisible(False)
        self._choices = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._choices.setSpacing(MEDIUM)
        for button in (self.new, self.disks, self.example):
            self._choices.addWidget(button, 1)
        self.findings = _Findings(theme)
        self.waiting = WaitingList()
        self._lay_out()
        self.new.clicked.connect(self.new_asked)
        self.disks.clicked.connect(self.disks_asked)
        self.open.clicked.connect(self.open_asked)
        self.example.clicked.connect(self.example_asked)
        self.library.clicked.connect(self.library_asked)
        self.findings.again.clicked.connect(self.look_again_asked)
        self.setFocusProxy(self.new)
        self._fit_fonts()
        theme.changed.connect(self._fit_fonts)

    def _lay_out(self) -> None:
        page = QWidget()
        middle = fill(QVBoxLayout(), 2, self.title, self.question)
        middle.addSpacing(LARGE)
        middle.addLayout(self._choices)
        middle.addSpacing(MEDIUM)
        middle.addWidget(self.waiting)
        middle.addWidget(self.findings)
        others = fill(QHBoxLayout(), self.open, self.library, 1, spacing=MEDIUM)
        middle.addLayout(others)
        middle.addStretch(3)
        self._column = QWidget(page)
        self._column.setLayout(middle)
        fill(QHBoxLayout(page), 1, (self._column, 1000), 1, margins=LARGE)
        self.setWidget(page)

    # What is found out in the background

    def show_environment(self, environment: DraftEnvironment) -> None:
        """Show what prevents a benchmark on this machine."""
        problem, hint = "", ""
        if environment.account is None:
            problem = environment.account_sentence
        elif environment.newest is None:
            problem = tr("No usable PostgreSQL was found on this machine.")
            unusable = [
                f"{found.bin_directory}: {' '.join(found.unusable)}" for found in environment.installations
            ]
            hint = "\n".join([environment.install_hint, *map(one_line, unusable)])
        elif isinstance(environment.folder, Problem) and isinstance(environment.memory, Problem):
            problem, hint = environment.folder.message, environment.folder.hint
        self.findings.show_finding(problem, hint)
        for door in (self.new, self.disks):
            door.refuse(problem) if problem else door.allow()
        if environment.newest is not None and environment.account is not None:  # disks need no folder
            why = environment.disks.sentence if environment.disks is not None else ""
            self.disks.refuse(why) if why else self.disks.allow()

    def show_problem(self, message: str) -> None:
        """Show that the machine could not be inspected; the wizard shows more."""
        self.findings.show_finding(message, "")
        self.new.allow()
        self.disks.allow()

    def show_example(self, reason: str) -> None:
        """Enable the example, or show the reason why there is none."""
        if reason:
            self.example.refuse(reason)
        else:
            self.example.allow()

    def show_library_size(self, runs: int) -> None:
        """Offer the library if it has runs."""
        self.library.setVisible(runs > 0)

    # Sizes

    def _fit_fonts(self) -> None:
        self.title.setFont(self._theme.font(2.0, bold=True))
        self.question.setFont(self._theme.font(1.25))
        self._column.setMaximumWidth(self.fontMetrics().averageCharWidth() * _WIDEST_EMS)
        self._turn()

    def _turn(self) -> None:
        """Arrange the choices side by side if there is room, else vertically."""
        needed = 3 * self.new.minimumSizeHint().width() + 2 * MEDIUM + 2 * LARGE
        wide = self.viewport().width() >= needed
        direction = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if self._choices.direction() is not direction:
            self._choices.setDirection(direction)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_fonts()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self.new.minimumSizeHint().width() + 4 * LARGE, 10 * self.fontMetrics().height())


class _Findings(QFrame):
    """An obstacle and its remedy."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.message = wrapped_label(parent=self)
        self.hint = wrapped_label(parent=self, selectable=True)
        self.again = QPushButton(tr("Look a&gain"), self)
        layout = fill(QVBoxLayout(self), self.message, self.hint, spacing=SMALL)
        layout.addWidget(self.again, 0, Qt.AlignmentFlag.AlignLeft)
        theme.changed.connect(self._colour)
        self._colour()
        self.hide()

    def show_finding(self, message: str, hint: str) -> None:
        """Show a finding; nothing if the message is empty."""
        self.message.setText(message)
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint))
        self.setVisible(bool(message))

    def _colour(self) -> None:
        tint(self.message, self._theme.colour("warning"))
