"""The fields in which a report is made one's own: title, author, purpose, conclusion, names, sections."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFormLayout,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.domain.errors import UsageError
from app.domain.text import tr
from app.report.report import MOST_TITLE
from app.report.wishes import DEFAULT_SECTIONS, ReportWishes, Section, read_sections
from ui.report.section_list import SectionList

_GROUP: Final = "report"
_LINES: Final = 3


class WishesForm(QWidget):
    """What is wanted of a report; the last words about the same runs come back.

    Signals:
        changed: something was typed, ticked or moved.

    Attributes:
        fields: where they stand, for what else is asked.

    Args:
        about: what the runs are called: words are kept for it.
        settings: where they are kept.
    """

    changed = Signal()

    def __init__(self, about: str, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._about, self._settings = about, settings
        self.title = QLineEdit()
        self.title.setPlaceholderText(about)
        self.author = QLineEdit()
        self.purpose = _text(tr("Why it was measured: one or two sentences"))
        self.conclusion = _text(tr("What follows: what whoever decides or pays should do"))
        self.named = QRadioButton(tr("As they are, with serial numbers, &host, user and folders"))
        self.anonymous = QRadioButton(tr("Rep&laced, to be passed on"))
        self.named.setChecked(True)
        self._lay_out()
        self._take_last()
        for edit in (self.title, self.author):
            edit.setMaxLength(MOST_TITLE)
            edit.textChanged.connect(self.changed)
        for box in (self.purpose, self.conclusion):
            box.textChanged.connect(self.changed)
        self.anonymous.toggled.connect(self.changed)
        self.sections.changed.connect(self.changed)

    def _lay_out(self) -> None:
        self.sections = SectionList(self._last_sections())
        names = QVBoxLayout()
        names.setSpacing(2)
        group = QButtonGroup(self)
        for button in (self.named, self.anonymous):
            group.addButton(button)
            names.addWidget(button)
        self.fields = form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        rows: tuple[tuple[str, QWidget], ...] = (
            (tr("&Title"), self.title),
            (tr("&Author"), self.author),
            (tr("Pur&pose"), self.purpose),
            (tr("&Conclusion"), self.conclusion),
        )
        for label, widget in rows:
            widget.setAccessibleName(label.replace("&", ""))
            form.addRow(label, widget)
        form.addRow(tr("Names"), names)
        form.addRow(tr("&Sections"), self.sections)

    @property
    def wishes(self) -> ReportWishes:
        """What is asked for."""
        return ReportWishes(
            title=self.title.text(),
            author=self.author.text(),
            purpose=self.purpose.toPlainText(),
            conclusion=self.conclusion.toPlainText(),
            sections=self.sections.sections,
            anonymous=self.anonymous.isChecked(),
        )

    def set_for_report(self, *, is_report: bool) -> None:
        """Let only names be chosen where it is no report but a picture."""
        for widget in (self.title, self.author, self.purpose, self.conclusion, self.sections):
            widget.setEnabled(is_report)

    def keep(self) -> None:
        """Keep everything for the next report; the words only for one of the same runs."""
        wishes = self.wishes
        self._settings.beginGroup(_GROUP)
        for name in ("author", "anonymous"):
            self._settings.setValue(name, getattr(wishes, name))
        self._settings.setValue("sections", ",".join(wishes.sections))
        self._settings.setValue("about", self._about)
        for name in ("title", "purpose", "conclusion"):
            self._settings.setValue(name, getattr(wishes, name))
        self._settings.endGroup()

    def _last_sections(self) -> tuple[Section, ...]:
        stored = str(self._settings.value(f"{_GROUP}/sections", "") or "")
        try:
            return read_sections(stored.split(",")) if stored else DEFAULT_SECTIONS
        except UsageError:  # of another version
            return DEFAULT_SECTIONS

    def _take_last(self) -> None:
        def last(name: str) -> str:
            return str(self._settings.value(f"{_GROUP}/{name}", "") or "")

        self.author.setText(last("author")[:MOST_TITLE])
        if last("anonymous").lower() == "true":
            self.anonymous.setChecked(True)
        if last("about") == self._about:
            self.title.setText(last("title")[:MOST_TITLE])
            self.purpose.setPlainText(last("purpose"))
            self.conclusion.setPlainText(last("conclusion"))


def _text(placeholder: str) -> QPlainTextEdit:
    """Return a box for a few sentences; Tab leaves it."""
    box = QPlainTextEdit()
    box.setPlaceholderText(placeholder)
    box.setTabChangesFocus(True)
    box.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    box.setFixedHeight(box.fontMetrics().lineSpacing() * _LINES + 14)
    return box
