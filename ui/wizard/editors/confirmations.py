"""Confirm disks to be erased and servers to be loaded, and release a disk that a session left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.analysis.labels import one_line
from app.domain.disk_answers import Disk
from app.domain.errors import CancelledError, FootingError
from app.domain.storage_plan.plan import KeptDisk, ReleaseOutcome
from app.domain.storage_plan.words import kept_words, obstacle_words
from app.domain.text import format_size, tr
from app.draft.disks.table import Confirmation, model_of, plain_line, serial_of
from app.draft.machine_answers import inspect_kept, release_kept
from app.draft.servers import LOAD_FIELD, ServerConfirmation, contact_words
from ui.background import BackgroundOp
from ui.theme import MEDIUM, SMALL, TINY, Theme
from ui.widgets.fields import HELP, Field, Section, describe_button, line_edit, plain, set_text
from ui.widgets.layouts import empty, fill, screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ErrorText, Text, breakable, plain_label

_FIELD_EMS: Final = 10


class ConfirmDisks(QWidget):
    """A row for each disk: purpose, model and serial in bold, and four characters to type.

    Signals:
        typed: key of a disk, and the text of its field.
    """

    typed = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._keys: tuple[str, ...] = ()
        self.fields: dict[str, QLineEdit] = {}
        self._signs: dict[str, Text] = {}
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(MEDIUM)
        self._layout.setVerticalSpacing(TINY)
        self._layout.setColumnStretch(1, 3)
        self._layout.setColumnStretch(3, 1)

    def show_disks(self, found: tuple[Confirmation, ...]) -> None:
        """Show disks; fields of the same disks keep their cursor."""
        keys = tuple(each.key for each in found)
        if keys != self._keys:
            self._build(found)
            self._keys = keys
        for each in found:
            field = self.fields[each.key]
            set_text(field, each.typed)
            wrong = len(each.typed.strip()) >= 4 and not each.matches
            sign = tr("✔ confirmed") if each.matches else tr("✘ does not match") if wrong else ""
            self._signs[each.key].setText(sign)
            self._signs[each.key].set_role("good" if each.matches else "warning")
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[Confirmation, ...]) -> None:
        empty(self._layout)
        self.fields, self._signs = {}, {}
        for row, each in enumerate(found):
            self._add(row, each)

    def _add(self, row: int, each: Confirmation) -> None:
        name = Text(self._theme, breakable(_words(each)))
        font = QFont(name.font())
        font.setBold(True)
        name.setFont(font)
        name.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        use = Text(self._theme, each.use, role="muted")
        use.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        use.setWordWrap(False)
        field = line_edit("••••")
        field.setMaxLength(8)
        field.setFixedWidth(_FIELD_EMS * field.fontMetrics().averageCharWidth())
        label = tr("Last four characters of the serial number of {model}, {use}")
        field.setAccessibleName(label.format(model=each.model, use=each.use))
        field.setProperty(HELP, "erase")
        field.textEdited.connect(partial(self.typed.emit, each.key))
        sign = Text(self._theme)
        for column, widget in enumerate((use, name, field, sign)):
            self._layout.addWidget(widget, row, column, Qt.AlignmentFlag.AlignVCenter)
        self.fields[each.key], self._signs[each.key] = field, sign


def _words(each: Confirmation) -> str:
    test = tr("TEST DEVICE") + ": " if each.is_test_device else ""
    return f"{test}{each.model}, {each.serial}, {format_size(each.size_bytes)}"


class ConfirmServers(QWidget):
    """The findings about each server, in rows, and a field for its name.

    Signals:
        typed: connection of a server, and the text of its field.
    """

    typed = Signal(str, str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
        self.fields: dict[str, QLineEdit] = {}
        self.texts: list[QLabel] = []
        self._signs: dict[str, Text] = {}
        self._layout = fill(QVBoxLayout(self), spacing=TINY, margins=0)

    def show_servers(self, found: tuple[ServerConfirmation, ...]) -> None:
        """Show servers; fields of the same servers keep their cursor."""
        shown = tuple((each.connection, each.rows) for each in found)
        if shown != self._shown:
            self._build(found)
            self._shown = shown
        for each in found:
            field = self.fields[each.connection]
            set_text(field, each.typed)
            sign = tr("✔ confirmed") if each.matches else ""
            self._signs[each.connection].setText(sign)
            self._signs[each.connection].setVisible(bool(sign))
            field.setAccessibleDescription(sign)

    def _build(self, found: tuple[ServerConfirmation, ...]) -> None:
        empty(self._layout)
        self.fields, self._signs, self.texts = {}, {}, []
        for each in found:
            self._add(each)

    def _add(self, each: ServerConfirmation) -> None:
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(MEDIUM)
        grid.setVerticalSpacing(TINY)
        grid.setColumnStretch(1, 1)
        for place, (what, value) in enumerate(each.rows):
            cells = plain_label(what), Text(self._theme, one_line(value))
            cells[0].setAlignment(Qt.AlignmentFlag.AlignTop)  # align with the first line of a long value
            for column, cell in enumerate(cells):
                grid.addWidget(cell, place, column)
            cells[1].setAccessibleName(f"{what}: {one_line(value)}")
            self.texts += cells
        text = Text(self._theme, "\n".join(each.sentences), role="muted")
        typed = line_edit(each.name)
        label = tr("Type its name, {name}, to &confirm:").format(name=each.name.replace("&", "&&"))
        field = Field(self._theme, label, typed, LOAD_FIELD)
        typed.textEdited.connect(partial(self.typed.emit, each.connection))
        sign = Text(self._theme, role="good")
        for widget in (rows, text, field, sign):
            self._layout.addWidget(widget)
        self.texts.append(text)
        self.fields[each.connection], self._signs[each.connection] = typed, sign


class LoadedServers(Section):
    """The section of the review about servers to be loaded; hidden if there are none.

    Attributes:
        contact: connections to be made by `look`.
        look: allows to inspect the servers; shown while one is not approved.
        servers: the inspected ones.
    """

    def __init__(self, theme: Theme) -> None:
        servers = ConfirmServers(theme)
        contact = Text(theme)
        look = QPushButton(tr("&Look at the server"))
        describe_button(look, "contact")
        row = QWidget()
        fill(QHBoxLayout(row), look, 1, margins=0)
        super().__init__(theme, tr("Servers that will be put under load"), [contact, row, servers])
        self.servers, self.contact, self.look = servers, contact, look

    def show_servers(self, waiting: Mapping[str, str], found: tuple[ServerConfirmation, ...]) -> None:
        """Show the findings and typed names; for waiting servers only their location.

        Args:
            waiting: connection strings, and the ssh name of each machine; not connected to yet.
            found: the inspected ones.
        """
        self.setVisible(bool(waiting or found))
        for widget in (self.contact, self.look):
            widget.setVisible(bool(waiting))
        if waiting:
            self.contact.setText(contact_words(waiting))
            self.look.setAccessibleDescription(self.contact.text())
        self.servers.show_servers(found)


# Release a disk that a session left: its content, the end of its serial number, and root's answer.


_EMS: Final = (96, 48)


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
        self.setWindowTitle(plain(tr("Release d&isk …")).removesuffix(" …"))
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
    size = format_size(disk.identity.size_bytes)
    return f"{model_of(disk)}, {serial_of(disk)}, {size} ({disk.path})"
