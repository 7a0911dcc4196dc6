"""A small window for what people write about a run or a campaign: name, tags, note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.domain.errors import FootingError
from app.domain.text import tr
from app.library.annotations import Annotations, annotate, clean_name, clean_note, read_tags
from app.library.scan import ListedRun
from ui.background import BackgroundOp
from ui.theme import MEDIUM, Theme
from ui.widgets.formatting import one_line, run_name
from ui.widgets.plain_label import mnemonic_label
from ui.widgets.texts import Text

_NOTE_LINES = 5


class RunDetails(QDialog):
    """Not modal. Several runs are a campaign: its name, and tags that all of them get besides their own.

    Attributes:
        name: of the run or campaign.
        tags: parted by commas.
        note: of a single run.
        problem: why it cannot be stored.
    """

    def __init__(
        self, runs: Sequence[ListedRun], theme: Theme, done: Callable[[], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._runs = tuple(runs)
        self._done = done
        self._op: BackgroundOp[None] | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Name, tags, note") if self._single else tr("Name and tags of the campaign"))
        entry = self._runs[0].entry
        self.name = QLineEdit(run_name(runs[0]) if self._single else one_line(entry.campaign or ""), self)
        self.tags = QLineEdit(", ".join(entry.tags) if self._single else "", self)
        self.tags.setPlaceholderText(tr("baseline, old disks"))
        self.note = QPlainTextEdit(entry.note if self._single else "", self)
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(self.note.fontMetrics().lineSpacing() * _NOTE_LINES + 2 * MEDIUM)
        self.problem = Text(theme, role="warning")
        self.problem.hide()
        self._lay_out()
        em = self.fontMetrics().averageCharWidth()
        self.resize(em * 70, self.sizeHint().height())
        self.name.selectAll()

    @property
    def _single(self) -> bool:
        return len(self._runs) == 1

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        tags = tr("&Tags, parted by commas:") if self._single else tr("Add &tags to all its runs:")
        fields: list[tuple[str, QWidget]] = [(tr("&Name:"), self.name), (tags, self.tags)]
        if self._single:
            fields.append((tr("N&ote:"), self.note))
        else:
            self.note.hide()
        for text, control in fields:
            label = mnemonic_label(text, self)
            label.setBuddy(control)
            control.setAccessibleName(text.replace("&", "").rstrip(":"))
            layout.addWidget(label)
            layout.addWidget(control)
        layout.addWidget(self.problem)
        buttons = QDialogButtonBox(self)
        self.save = buttons.addButton(tr("&Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self._save)
        buttons.rejected.connect(self.reject)
        layout.addStretch(1)
        layout.addWidget(buttons)

    def _save(self) -> None:
        try:
            wanted = self._wanted()
        except FootingError as error:
            self._tell(error)
            return
        self.save.setEnabled(False)
        self._op = BackgroundOp(lambda: _annotate_all(wanted), self._saved, self._tell).start()

    def _wanted(self) -> list[tuple[Path, Annotations]]:
        """Return what each file shall hold.

        Raises:
            UsageError: a name or tag that cannot be.
        """
        name, tags = clean_name(self.name.text()), read_tags(self.tags.text())
        if self._single:
            told = Annotations(name=name, tags=tags, note=clean_note(self.note.toPlainText()))
            return [(Path(self._runs[0].entry.path), told)]
        return [
            (
                Path(run.entry.path),
                Annotations(campaign=name, tags=read_tags(",".join((*run.entry.tags, *tags)))),
            )
            for run in self._runs
        ]

    def _saved(self, _none: None) -> None:
        self._done()
        self.accept()

    def _tell(self, error: FootingError) -> None:
        self.save.setEnabled(True)
        self.problem.setText(f"{error.message} {error.hint}".strip())
        self.problem.show()


def _annotate_all(wanted: Sequence[tuple[Path, Annotations]]) -> None:
    for path, told in wanted:
        annotate(path, told)
