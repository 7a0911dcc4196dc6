"""Release a disk that a session left: its content, the end of its serial number, and root's answer."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.domain.disk_answers import Disk
from app.domain.errors import CancelledError, FootingError
from app.domain.storage_plan.kept_disk import KeptDisk, ReleaseOutcome
from app.domain.storage_plan.words import kept_words, obstacle_words
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.table import model_of, plain_line, serial_of
from app.draft.root_answers import inspect_kept, release_kept
from ui.background import BackgroundOp
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import line_edit
from ui.widgets.formatting import breakable
from ui.widgets.layouts import fill
from ui.widgets.screen_room import screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ErrorText, Text

_EMS: Final = (96, 48)
_FIELD_EMS: Final = 10


class ReleaseDialog(QDialog):
    """Show root's findings about a disk, and release it once the end of its serial number is typed.

    Attributes:
        contents: content of the disk, or that root is checking.
        field: for the last characters of the serial number.
        error: why it was not released.
        release: releases it; enabled once the correct characters are typed.

    Signals:
        released: the journal no longer keeps the disk.
    """

    released = Signal()

    def __init__(self, theme: Theme, disk: Disk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self._disk = disk
        self._digest = ""
        self._op: BackgroundOp[tuple[KeptDisk, str]] | BackgroundOp[ReleaseOutcome] | None = None
        self._is_closed = False
        self.setWindowTitle(tr("Release disk"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.contents = Text(theme, tr("Asking root …"))
        self.contents.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.error = ErrorText(theme)
        self.field = line_edit("••••")
        self.field.setMaxLength(8)
        self.field.setFixedWidth(_FIELD_EMS * self.fontMetrics().averageCharWidth())
        self.release = QPushButton(tr("&Release"))
        self._lay_out(theme)
        self._show_field()
        self.field.textEdited.connect(lambda _: self._show_field())
        self.finished.connect(self._stop)
        self._look()

    def _lay_out(self, theme: Theme) -> None:
        name = Text(theme, breakable(_name(self._disk)))
        name.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        font = QFont(name.font())
        font.setBold(True)
        name.setFont(font)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self.contents)
        label = Text(theme, tr("Last four characters of its serial number:"))
        self.field.setAccessibleName(label.text())
        typed = QHBoxLayout()
        typed.setSpacing(SMALL)
        typed.addWidget(label, 1, Qt.AlignmentFlag.AlignVCenter)
        typed.addWidget(self.field)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.release, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._release)
        buttons.rejected.connect(self.reject)
        fill(QVBoxLayout(self), name, (area, 1), self.error, typed, buttons, spacing=MEDIUM)
        em = self.fontMetrics().averageCharWidth()
        self.resize(QSize(_EMS[0] * em, _EMS[1] * em).boundedTo(screen_room(self)))

    def _stop(self) -> None:
        self._is_closed = True
        if self._op is not None:
            self._op.cancel()

    # --- the content

    def _look(self) -> None:
        disk = self._disk
        self._op = BackgroundOp(lambda: inspect_kept(disk), self._take, self._fail).start()

    def _take(self, found: tuple[KeptDisk, str]) -> None:
        self._op = None
        kept, digest = found
        self.contents.setText(breakable("\n".join(map(plain_line, kept_words(kept)))))
        if kept.obstacles:
            self._show_error("\n".join(map(plain_line, obstacle_words(kept))))
        else:
            self._digest = digest
            self._show_field()
            self.field.setFocus()

    # --- the release

    def _show_field(self) -> None:
        self.field.setEnabled(bool(self._digest) and self._op is None)
        tail = self._disk.identity.tail().lower()
        self.release.setEnabled(self.field.isEnabled() and self.field.text().strip().lower() == tail != "")
        self.release.setDefault(self.release.isEnabled())

    def _release(self) -> None:
        disk, digest = self._disk, self._digest

        def watch() -> None:
            if self._is_closed:
                raise CancelledError(tr("The password prompt was cancelled."))

        self.error.hide()
        self._op = BackgroundOp(
            lambda: release_kept(disk, digest, watch), self._take_outcome, self._look_again
        ).start()
        self._show_field()

    def _take_outcome(self, _outcome: ReleaseOutcome) -> None:
        self._op = None
        self.released.emit()
        self.accept()

    def _look_again(self, error: FootingError) -> None:
        """Show why it was not released, and its content, which may differ from what the user agreed to."""
        self._digest = ""
        self.field.clear()
        self._fail(error)
        self._look()

    def _fail(self, error: FootingError) -> None:
        self._op = None
        self._show_error(f"{error.message} {error.hint}".strip())
        self._show_field()

    def _show_error(self, text: str) -> None:
        self.error.setText(text)
        self.error.show()


def _name(disk: Disk) -> str:
    words = tr("{model}, {serial}, {size} ({path})")
    size = format_size(disk.identity.size_bytes)
    return words.format(model=model_of(disk), serial=serial_of(disk), size=size, path=disk.path)
