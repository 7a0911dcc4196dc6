"""Tools that other packages add to the window: one entry each, imported on first use.

A tool gets the current state of the window (`ToolContext`), and shows a page in it or its own dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QWidget

from app.domain.campaign.configuration import Campaign
from app.domain.text import tr
from app.library.scan import ListedRun
from ui.theme import Theme
from ui.window.files.run_actions import open_file, open_folder_of


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """The runs shown on a page, on which commands act.

    Attributes:
        runs: readable ones, in order. In the library the ticked ones.
        colours: number of each one's colour, by the path of its file.
    """

    runs: tuple[ListedRun, ...] = ()
    colours: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The window at the time of a tool's command.

    Attributes:
        window: parent of dialogs.
        theme: colours and fonts.
        settings: storage for the tool, below a group with its name.
        library: folder of the runs.
        runs: shown in the window, see `ShownRuns`.
        colours: number of each run's colour, by the path of its file.
        focus: path of the run in focus, empty for none.
        page: the tool's last page in this window; None before.
        show_page: shows a page in the window, which from then on belongs to this tool; the command “Runs”
            leaves it.
        notify: shows a sentence, see `ui.widgets.message_bar.Notice.show_message`.
        open_files: lists and shows run files from anywhere; a folder means the run files in it.
        refresh: reads the library again.
        files: dropped on the window for this tool.
        ask_campaign: opens the wizard with the fields of a campaign.
    """

    window: QWidget
    theme: Theme
    settings: QSettings
    library: Path
    runs: tuple[ListedRun, ...]
    colours: Mapping[str, int]
    focus: str
    page: QWidget | None
    show_page: Callable[[QWidget], None]
    notify: Callable[..., None]
    open_files: Callable[[Iterable[Path]], None]
    refresh: Callable[[], None]
    files: tuple[Path, ...] = ()
    ask_campaign: Callable[[Campaign], None] = lambda _campaign: None


@dataclass(frozen=True, slots=True)
class Tool:
    """One entry.

    Attributes:
        use: runs it.
        least_runs: its command is disabled while fewer runs are shown.
    """

    use: Callable[[ToolContext], None]
    least_runs: int = 0


def _compare(context: ToolContext) -> None:
    """Show the runs on the compare page, which is created once."""
    from ui.compare.page import ComparePage  # noqa: PLC0415 - imported when first used

    page = context.page
    if not isinstance(page, ComparePage):
        page = ComparePage(context.theme)
        page.notified.connect(context.notify)
        page.again_asked.connect(context.ask_campaign)
    page.library = context.library
    page.go_back = partial(context.open_files, [Path(run.entry.path) for run in context.runs])
    context.show_page(page)
    page.show_runs(context.runs, context.colours, context.focus)


def _report(context: ToolContext) -> None:
    """Ask for a report of the runs; show its path when it is written."""
    from ui.report.dialog import ReportDialog, ReportRequest, title_of  # noqa: PLC0415 - imported when first used

    paths = tuple(Path(run.entry.path) for run in context.runs)
    asked = ReportRequest(paths, title_of([run.entry.campaign for run in context.runs]))
    dialog = ReportDialog(asked, context.settings, context.window)

    def show_saved(path: Path) -> None:
        sentence = tr("Written: {path}").format(path=path)
        folder = partial(open_folder_of, str(path))
        context.notify(sentence, tr("&Open"), lambda: open_file(path), tr("Show in &folder"), folder)

    dialog.written.connect(show_saved)
    dialog.open()


def _race(context: ToolContext) -> None:
    """Let the runs race on the full screen."""
    from ui.race.starting import RaceChoice, start_race  # noqa: PLC0415 - imported when first used

    paths = tuple(Path(run.entry.path) for run in context.runs)
    choice = RaceChoice(paths, context.colours, context.library)
    start_race(context.window, context.theme, context.settings, context.notify, choice)


def _import(context: ToolContext) -> None:
    from ui.window.files.import_window import ImportWindow  # noqa: PLC0415 - imported when first used

    window = context.window.findChild(ImportWindow)
    if window is None:

        def done(paths: Sequence[Path]) -> None:
            context.refresh()
            context.open_files(paths)

        window = ImportWindow(context.library, context.theme, done, context.window)
    window.show()
    window.activateWindow()
    window.take(context.files)


def _preferences(context: ToolContext) -> None:
    """Open the preferences; the theme follows at once."""
    from ui.window.commands.preferences_dialog import PreferencesDialog  # noqa: PLC0415 - imported when first used

    dialog = PreferencesDialog(context.theme, context.library, context.window)
    dialog.notified.connect(context.notify)
    dialog.open()


def _manual(context: ToolContext) -> None:
    """Show the manual's window; at most one."""
    from ui.window.commands.manual_window import ManualWindow  # noqa: PLC0415 - imported when first used

    window = context.window.findChild(ManualWindow)
    if window is None:
        window = ManualWindow(context.theme, context.window)
    window.show()
    window.activateWindow()


TOOLS: Final = {
    "compare": Tool(_compare, least_runs=2),
    "report": Tool(_report, least_runs=1),
    "race": Tool(_race, least_runs=1),
    "import": Tool(_import),
    "preferences": Tool(_preferences),
    "manual": Tool(_manual),
}
"""By the id of the command, see `ui.window.commands.commands`."""


class ToolUser(QObject):
    """Uses the tools in one window, and keeps the page of each.

    Signals:
        page_made: a new page for the window's stack.
        page_wanted: a page to show.
    """

    page_made = Signal(QWidget)
    page_wanted = Signal(QWidget)

    def __init__(self, window: QWidget, make_context: Callable[..., ToolContext]) -> None:
        """Create the object.

        Args:
            window: the parent.
            make_context: gets `page` and `show_page`, adds the rest.
        """
        super().__init__(window)
        self._make_context = make_context
        self._pages: dict[str, QWidget] = {}
        self._shown: dict[QWidget, ShownRuns] = {}

    def deeds(self) -> dict[str, Callable[[], None]]:
        """Return the function of each tool's command."""
        return {command: partial(self.use, command) for command in TOOLS}

    def use(self, command: str, files: Sequence[Path] = ()) -> None:
        """Use the tool of a command for the shown runs, or for dropped files."""
        context = self._make_context(page=self._pages.get(command), show_page=_show_nothing)
        show = partial(self._show_page, command, ShownRuns(context.runs, context.colours))
        TOOLS[command].use(replace(context, show_page=show, files=tuple(files)))

    def shown_by(self, page: QWidget | None) -> ShownRuns:
        """Return the runs that a page of a tool shows; none for any other page."""
        return self._shown.get(page, ShownRuns()) if page is not None else ShownRuns()

    def _show_page(self, command: str, shown: ShownRuns, page: QWidget) -> None:
        self._shown[page] = shown
        if page is not self._pages.get(command):
            self._pages[command] = page
            self.page_made.emit(page)
        self.page_wanted.emit(page)


def _show_nothing(_page: QWidget) -> None:
    """Placeholder in a context before a tool is chosen."""
