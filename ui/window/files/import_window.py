"""Import foreign results: choose or drop files or a folder, and show the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import number_text, titled, tr, trn
from app.importers.importing import ImportedRun, ImportReport, import_paths
from ui.background import BackgroundOp
from ui.theme import Theme
from ui.widgets.layouts import fill, screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import Text

_MOST_LINES = 40


class ImportWindow(QDialog):
    """The import window; not modal, one import at a time.

    Attributes:
        files: chooses files.
        folder: chooses a folder.
        state: current activity or outcome.
        report: every run with its unknown values, and every unreadable file.
        show_runs: shows the runs of the last import.
    """

    _progressed = Signal(int, int, str)

    def __init__(
        self,
        library: Path,
        theme: Theme,
        done: Callable[[Sequence[Path]], None],
        parent: QWidget | None = None,
    ) -> None:
        """Create an empty window.

        Args:
            library: receives the runs.
            theme: colours and fonts.
            done: called with the new run files.
            parent: Qt's.
        """
        super().__init__(parent)
        set_reading_tab_order(self)
        self._library = library
        self._done = done
        self._op: BackgroundOp[ImportReport] | None = None
        self._made: tuple[Path, ...] = ()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Import results"))
        sentence = tr(
            "Imports pgbench output and logs, folders and archives of them, and CSV files with per-second "
            "TPS. Values they do not contain stay unknown."
        )
        self.intro = Text(theme, sentence)
        self.files = QPushButton(tr("&Files …"), self)
        self.folder = QPushButton(tr("F&older …"), self)
        self.show_runs = QPushButton(tr("S&how the runs"), self)
        self.state = Text(theme)
        self.report = QPlainTextEdit(self)
        self.report.setReadOnly(True)
        self.report.setAccessibleName(tr("Import result"))
        self.report.setPlaceholderText(tr("Files and folders can also be dropped on the main window."))
        self._lay_out()
        self.files.clicked.connect(lambda: self._choose(QFileDialog.FileMode.ExistingFiles))
        self.folder.clicked.connect(lambda: self._choose(QFileDialog.FileMode.Directory))
        self.show_runs.clicked.connect(lambda: self._done(self._made))
        self._progressed.connect(self._show_progress)

    def _lay_out(self) -> None:
        choices = fill(QHBoxLayout(), self.files, self.folder, 1)
        close = QPushButton(tr("&Close"), self)
        close.clicked.connect(self.reject)
        foot = fill(QHBoxLayout(), 1, self.show_runs, close)
        fill(QVBoxLayout(self), self.intro, choices, self.state, (self.report, 1), foot)
        self.show_runs.hide()
        em = self.fontMetrics().averageCharWidth()
        self.resize(QSize(em * 100, em * 70).boundedTo(screen_room(self)))

    def _choose(self, mode: QFileDialog.FileMode) -> None:
        dialog = QFileDialog(self, tr("Import results"))
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(lambda names: self.take(map(Path, names)))
        dialog.open()

    def take(self, paths: Iterable[Path]) -> None:
        """Import these; ignored during another import."""
        wanted = tuple(paths)
        if self._op is not None or not wanted:
            return
        self.state.setText(tr("Checking …"))
        self.report.clear()
        self.show_runs.hide()
        for button in (self.files, self.folder):
            button.setEnabled(False)
        library, report = self._library, self._progressed.emit
        self._op = BackgroundOp(lambda: import_paths(wanted, library, report), self._show, self._fail).start()

    def _show_progress(self, done: int, total: int, what: str) -> None:
        if self._op is not None:
            head = (
                titled(tr("run {number} of {total}").format(number=done + 1, total=total)) + ": "
                if total
                else ""
            )
            self.state.setText(f"{head}{what}")

    def _ended(self) -> None:
        self._op = None
        for button in (self.files, self.folder):
            button.setEnabled(True)

    def _show(self, report: ImportReport) -> None:
        self._ended()
        self.state.setText(summary_of(report))
        self.report.setPlainText("\n".join(report_lines(report)))
        self._made = tuple(each.path for each in report.imported)
        self.show_runs.setVisible(bool(self._made))
        if self._made:
            self.show_runs.setDefault(True)

    def _fail(self, error: FootingError) -> None:
        self._ended()
        self.state.setText(f"{error.message} {error.hint}".strip())

    @override
    def done(self, result: int) -> None:
        if self._op is not None:
            self._op.cancel()
        super().done(result)


def summary_of(report: ImportReport) -> str:
    """Return the outcome of an import in one line."""
    parts = []
    if count := len(report.imported):
        sentence = trn("{count} run was imported.", "{count} runs were imported.", count)
        parts.append(sentence.format(count=count))
    if report.present:
        parts.append(tr("{count} are already in the library.").format(count=len(report.present)))
    if report.problems:
        count = len(report.problems)
        sentence = trn("{count} file could not be read.", "{count} files could not be read.", count)
        parts.append(sentence.format(count=count))
    return " ".join(parts) or tr("Nothing was imported: no readable pgbench results were found.")


def report_lines(report: ImportReport) -> list[str]:
    """Return every run with its unknown values, and every unused file with the reason."""
    lines = [line for run in report.imported for line in _run_lines(run)]
    lines += [tr("in the library already") + f": {name}" for name, _ in report.present]
    ordered = sorted(report.left, key=lambda each: not each.is_problem)
    lines += [f"{each.path}: {each.reason}" for each in ordered[:_MOST_LINES]]
    if len(ordered) > _MOST_LINES:
        more = len(ordered) - _MOST_LINES
        lines.append(tr("and {count} more").format(count=more))
    return lines


def _run_lines(run: ImportedRun) -> list[str]:
    tps = f"{number_text(run.tps, ',.1f')} TPS" if run.tps is not None else "TPS " + tr("not known")
    lines = [f"{run.name}: {tps}"]
    lines += ["    " + tr("not known: {reason}").format(reason=f"{what}: {why}") for what, why in run.missing]
    return lines + [f"    {note}" for note in run.notes]
