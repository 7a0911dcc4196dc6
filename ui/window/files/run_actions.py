"""Actions on the files of the library: rename, tag, move to the trash, import."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QTextCursor
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.domain.errors import FootingError
from app.domain.text import quoted, tr, trn
from app.library.entries import find_examples
from app.library.files import (
    Annotations,
    CopiedFiles,
    TrashedFile,
    TrashError,
    annotate,
    clean_name,
    clean_note,
    copy_into_library,
    move_to_trash,
    read_tags,
    restore,
)
from app.library.scan import ListedRun
from app.runfile.metadata.run_metadata import moment_words
from app.runfile.writer import SUFFIX
from ui.background import BackgroundOp
from ui.theme import MEDIUM, Theme
from ui.widgets.fields import plain
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import Text, mnemonic_label, one_line, run_name
from ui.window.library.reader import LibraryReader
from ui.window.pages.runs_page import RunsPage
from ui.window.pages.window_settings import WindowSettings

_NOTE_LINES = 5


class RunDetails(QDialog):
    """Dialog for the annotations of a run, or for name and additional tags of a campaign; not modal.

    Attributes:
        name: of the run or campaign.
        tags: separated by commas.
        note: of a single run.
        problem: why it cannot be stored.
    """

    def __init__(
        self, runs: Sequence[ListedRun], theme: Theme, done: Callable[[], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self._runs = tuple(runs)
        self._done = done
        self._op: BackgroundOp[None] | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = tr("Name, ta&gs, note …") if self._single else tr("Campaign &name and tags …")
        self.setWindowTitle(plain(title).removesuffix(" …"))
        entry = self._runs[0].entry
        self.name = QLineEdit(run_name(runs[0]) if self._single else one_line(entry.campaign or ""), self)
        self.tags = QLineEdit(", ".join(entry.tags) if self._single else "", self)
        self.tags.setPlaceholderText(tr("baseline, old disks"))
        self.note = QPlainTextEdit(entry.note if self._single else "", self)
        self.note.setTabChangesFocus(True)
        self.note.setPlaceholderText(tr("A line such as “[0:12:30] backup started” is shown in charts."))
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
        tags = tr("&Tags, separated by commas:") if self._single else tr("Add &tags to all its runs:")
        fields: list[tuple[str, QWidget]] = [(tr("&Name:"), self.name), (tags, self.tags)]
        if self._single:
            fields.append((tr("N&ote:"), self.note))
        else:
            self.note.hide()
        for text, control in fields:
            label = mnemonic_label(text, self)
            label.setBuddy(control)
            control.setAccessibleName(plain(text))
            layout.addWidget(label)
            layout.addWidget(control)
        layout.addWidget(self.problem)
        buttons = QDialogButtonBox(self)
        self.save = buttons.addButton(tr("&Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(plain(tr("&Cancel")), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self._save)
        buttons.rejected.connect(self.reject)
        layout.addStretch(1)
        layout.addWidget(buttons)

    def begin_note(self, words: str) -> None:
        """Begin a line of the note; the user ends it."""
        self.note.appendPlainText(words)
        self.note.moveCursor(QTextCursor.MoveOperation.End)
        self.note.setFocus()

    def _save(self) -> None:
        try:
            wanted = self._wanted()
        except FootingError as error:
            self._show_error(error)
            return
        self.save.setEnabled(False)
        self._op = BackgroundOp(lambda: _annotate_all(wanted), self._saved, self._show_error).start()

    def _wanted(self) -> list[tuple[Path, Annotations]]:
        """Return the annotations for each file.

        Raises:
            UsageError: a name or tag is invalid.
        """
        name, tags = clean_name(self.name.text()), read_tags(self.tags.text())
        if self._single:
            output = Annotations(name=name, tags=tags, note=clean_note(self.note.toPlainText()))
            return [(Path(self._runs[0].entry.path), output)]
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

    def _show_error(self, error: FootingError) -> None:
        self.save.setEnabled(True)
        self.problem.setText(f"{error.message} {error.hint}".strip())
        self.problem.show()
        self._grow()

    def _grow(self) -> None:
        """Grow to the height of the contents: Qt reserves only one line for wrapped text."""
        layout = self.layout()
        if layout is not None:
            self.resize(self.width(), max(self.height(), layout.totalHeightForWidth(self.width())))


def _annotate_all(wanted: Sequence[tuple[Path, Annotations]]) -> None:
    for path, chosen in wanted:
        annotate(path, chosen)


ShowNotice = Callable[..., None]


class RunFileActions(QObject):
    """Runs file actions for one window, in the background; actions with an undo need no confirmation.

    Attributes:
        details: the open dialog for name, tags and note; None once it is closed.
    """

    def __init__(
        self, window: QWidget, theme: Theme, page: RunsPage, reader: LibraryReader, notify: ShowNotice
    ) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._page = page
        self._model = page.model
        self._reader = reader
        self._notify = notify
        self._undos: list[Callable[[], None]] = []
        self.details: RunDetails | None = None

    # Names, tags, notes

    def edit(self, paths: Sequence[str], moment_s: float | None = None) -> None:
        """Let the user annotate a run, also a moment of it, or all runs of a campaign."""
        runs = [run for path in paths if (run := self._model.run(path)) is not None]
        if not runs:
            return
        if self.details is not None:
            self.details.close()
        self.details = RunDetails(runs, self._theme, self._reader.refresh, self._window)
        self.details.finished.connect(self._forget)
        self.details.show()
        if moment_s is not None:
            self.details.begin_note(moment_words(moment_s))

    def _forget(self) -> None:
        self.details = None

    # Trash

    def remove(self, paths: Sequence[str]) -> None:
        """Move runs of the library to the trash; those from elsewhere only leave the list."""
        inside = [path for path in map(Path, paths) if path.is_relative_to(self._reader.library)]
        outside = [path for path in map(Path, paths) if path not in inside]
        if not paths:
            return
        name = self._name_of(paths)
        gone = {str(path) for path in (*inside, *outside)}
        ticked = [path for path in self._model.chosen if path in gone]
        self._model.choose([path for path in self._model.chosen if path not in gone])
        if outside:
            self._reader.forget(outside)
            self._notify(tr("{name}: removed from the list, but the file was not moved.").format(name=name))
        if inside:
            BackgroundOp(
                lambda: _move_all(inside), lambda moved: self._moved(name, ticked, *moved), self._failed
            ).start()

    def _name_of(self, paths: Sequence[str]) -> str:
        run = self._model.run(paths[0])
        if len(paths) > 1 or run is None:
            return trn("{count} run", "{count} runs", len(paths)).format(count=len(paths))
        return quoted(run_name(run))

    def _moved(
        self, name: str, ticked: Sequence[str], trashed: Sequence[TrashedFile], problems: Sequence[str]
    ) -> None:
        self._reader.refresh()
        if not trashed:
            self._notify(" ".join(problems))
            return
        sentences = [tr("{name}: moved to the trash.").format(name=name), *problems]
        self._undos.append(lambda: self._restore(trashed, ticked))
        self._notify(" ".join(sentences), tr("&Undo"), self.undo)

    def remember_ticks(self) -> None:
        """Let `undo` tick the runs again that are ticked now, and no others."""
        ticked = tuple(self._model.chosen)
        self._undos.append(lambda: self._page.choose(ticked))

    def undo(self) -> None:
        """Undo the last change of the ticks or of the files; no effect if there is none."""
        if self._undos:
            self._undos.pop()()

    def _restore(self, trashed: Sequence[TrashedFile], ticked: Sequence[str]) -> None:
        def back(_none: None) -> None:
            self._notify("")
            self._page.choose([*self._model.chosen, *ticked])
            self._reader.refresh()

        BackgroundOp(lambda: restore(trashed), back, self._failed).start()

    def _failed(self, error: FootingError) -> None:
        self._reader.refresh()
        self._notify(f"{error.message} {error.hint}".strip())

    # Runs from elsewhere

    def offer_copy(self, files: Sequence[Path]) -> None:
        """Offer to copy files from elsewhere into the library."""
        library, known = self._reader.library, self._model.run
        outside = [path for path in files if not path.is_relative_to(library) and known(str(path)) is None]
        if not outside:
            return
        where = str(outside[0].parent)
        message = tr("Shown from {folder}, not copied into the library.").format(folder=where)
        self._notify(message, tr("Cop&y into the library"), lambda: self._copy(outside))

    def _copy(self, files: Sequence[Path]) -> None:
        library = self._reader.library
        BackgroundOp(lambda: copy_into_library(files, library), self._copied, self._failed).start()

    def _copied(self, result: CopiedFiles) -> None:
        sentences = []
        if result.copies:
            count = len(result.copies)
            sentences.append(
                trn(
                    "{count} run was copied into the library.",
                    "{count} runs were copied into the library.",
                    count,
                ).format(count=count)
            )
        if result.known:
            sentences.append(tr("{count} are already in the library.").format(count=len(result.known)))
        self._notify(" ".join([*sentences, *result.problems]))
        self._reader.forget(result.known)
        self._reader.refresh()


def _move_all(paths: Sequence[Path]) -> tuple[list[TrashedFile], list[str]]:
    trashed, problems = [], []
    for path in paths:
        try:
            trashed.append(move_to_trash(path))
        except TrashError as error:
            problems.append(error.message)
    return trashed, problems


# Open run files from elsewhere: file dialog, folders, examples.


_MOST_RECENT: Final = 8


class RunOpener(QObject):
    """Opens run files for one window.

    Attributes:
        recent: menu of files and folders that were opened last.

    Signals:
        opened: absolute paths of run files to show.
        elsewhere: the same paths, except for the examples.
        notified: why nothing is opened.
    """

    opened = Signal(list)
    elsewhere = Signal(list)
    notified = Signal(str)

    def __init__(self, window: QWidget, settings: WindowSettings, library: Path) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._library = library
        self.recent = QMenu(tr("Opened recently"), window)
        self.recent.aboutToShow.connect(self._fill_recent)

    def open_files(self, paths: Iterable[Path]) -> None:
        """Open these run files; a folder means the run files in it."""
        if files := self._open(paths):
            self.elsewhere.emit(files)
            opened = str(files[0] if len(files) == 1 else files[0].parent)
            self._settings.recent = tuple(dict.fromkeys((opened, *self._settings.recent)))[:_MOST_RECENT]

    def _fill_recent(self) -> None:
        self.recent.clear()
        for path in self._settings.recent:
            action = self.recent.addAction(one_line(path).replace("&", "&&"))
            action.triggered.connect(partial(self.open_files, [Path(path)]))
        if self.recent.isEmpty():
            self.recent.addAction(tr("Nothing yet")).setEnabled(False)

    def _open(self, paths: Iterable[Path]) -> list[Path]:
        files = [file.absolute() for path in paths for file in _run_files(path)]
        if files:
            self.opened.emit(files)
        else:
            self.notified.emit(tr("There is no run file (*{suffix}) there.").format(suffix=SUFFIX))
        return files

    def open_example(self) -> None:
        """Open the runs that ship with the program."""
        try:
            self._open(find_examples())
        except FootingError as error:
            self.notified.emit(error.message)

    def why_no_example(self) -> str:
        """Return why there is no example; empty if there is one."""
        try:
            find_examples()
        except FootingError as error:
            return error.message
        return ""

    def choose_files(self) -> None:
        """Let the user choose run files; never blocks."""
        folder = self._settings.open_folder or str(self._library)
        dialog = QFileDialog(self._window, plain(tr("&Open runs …")).removesuffix(" …"), folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([tr("Run files (*{suffix})").format(suffix=SUFFIX), tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._take_files)
        dialog.open()

    def _take_files(self, names: list[str]) -> None:
        if names:
            self._settings.open_folder = str(Path(names[0]).parent)
            self.open_files(map(Path, names))


def _run_files(path: Path) -> list[Path]:
    return sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]


def holds_runs(path: Path) -> bool:
    """Return whether a dropped path is a run file, or a folder with some."""
    return path.suffix == SUFFIX or (path.is_dir() and next(path.rglob(f"*{SUFFIX}"), None) is not None)


def open_file(path: Path) -> None:
    """Open a file or folder with the desktop's program for it."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def open_folder_of(path: str) -> None:
    """Show the folder of a file in the desktop's file manager."""
    open_file(Path(path).parent)
