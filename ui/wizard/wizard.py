"""The wizard's shell: steps at the left, the page, the help panel, and the buttons with their reason.

All decisions are in `app.draft.draft`; the shell shows them. Nothing here waits: answers of the machine
arrive later, and an early Enter is remembered. Recipes and campaign files can be loaded, and the draft saved
as one.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSettings, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.head import Recipe
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import FootingError, Problem, UsageError
from app.domain.text import titled, tr
from app.draft.draft import CampaignDraft, DraftFlow
from app.draft.fields.state import Step
from app.draft.servers import keep_agreement, refuse_programs
from app.runfile.output_file import slug
from ui.background import BackgroundOp
from ui.icons import set_icon
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.fields import describe_button, plain, push_button
from ui.widgets.layouts import fill, screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import Rule, ScrollingTexts, Text, one_line, show_tip, tooltip
from ui.wizard.background.disk_feed import (
    BackgroundValidation,
    DiskFeed,
    MakeWatch,
    RootAnswers,
    WholeRead,
    follow_disks,
)
from ui.wizard.base.help_panel import HelpPanel
from ui.wizard.base.page import Page
from ui.wizard.editors.confirmations import ReleaseDialog
from ui.wizard.pages.configurations_page import MorePage
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.filesystem_page import FilesystemPage
from ui.wizard.pages.postgres_page import PostgresPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.pages.target_page import WherePage
from ui.wizard.pages.workload_page import WorkloadPage

_PATTERN = "*.toml"


class CampaignFiles(QObject):
    """Two buttons of the shell: from a recipe or file, and save.

    Attributes:
        buttons: from a recipe or file, and save.

    Signals:
        loaded: a `CampaignDraft` with the fields of a file.
        failed: a sentence why a file could not be read or written.
        saved: path of the written file.
    """

    loaded = Signal(object)
    failed = Signal(str)
    saved = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._draft: CampaignDraft | None = None
        self._recipes: tuple[Recipe, ...] = ()
        self.recipe = push_button(tr("F&rom a recipe"), "recipe")
        self.save = push_button(tr("Sa&ve as file …"), "save")
        self.menu = QMenu(self.recipe)
        self.menu.setToolTipsVisible(True)
        self.recipe.setMenu(self.menu)
        self.save.clicked.connect(self._ask_where)

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """The buttons, in order."""
        return self.recipe, self.save

    def show_draft(self, draft: CampaignDraft) -> None:
        """Offer the recipes of its machine, and saving if it is a valid campaign."""
        self._draft = draft
        self.save.setEnabled(draft.built.campaign is not None)
        recipes = draft.environment.recipes if draft.environment else ()
        if recipes == self._recipes and not self.menu.isEmpty():
            return
        self._recipes = recipes
        self.menu.clear()
        for recipe in recipes:
            action = self.menu.addAction(recipe.summary)
            action.setToolTip(tooltip(recipe.head.question, recipe.name))
            action.triggered.connect(partial(self.load, recipe.path))
        self.menu.addSeparator()
        self.menu.addAction(tr("A campaign file …")).triggered.connect(self._ask_which)

    def load(self, path: Path | str) -> None:
        """Fill the wizard from a file, read in the background."""
        BackgroundOp(partial(_read, path), self._on_loaded, self._on_failed).start()

    def store(self, path: str) -> None:
        """Save the campaign as a file."""
        if self._draft is None:
            return
        try:
            campaign = self._draft.to_campaign()
        except FootingError as error:
            self._on_failed(error)
            return
        agreed = self._draft.agreed_digest()
        BackgroundOp(partial(_write, campaign, Path(path), agreed), self.saved.emit, self._on_failed).start()

    def _on_loaded(self, campaign: Campaign) -> None:
        try:
            draft = CampaignDraft.of(campaign)
        except FootingError as error:
            self._on_failed(error)
            return
        self.loaded.emit(draft)

    def _on_failed(self, error: FootingError) -> None:
        self.failed.emit(f"{error.message} {error.hint}".strip())

    def _ask_which(self) -> None:
        dialog = QFileDialog(self._window, tr("Open a campaign file"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Campaign files ({pattern})").format(pattern=_PATTERN)])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.load)
        dialog.open()

    def _ask_where(self) -> None:
        if self._draft is None:
            return
        dialog = QFileDialog(self._window, tr("Save the campaign as a file"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("toml")
        dialog.setNameFilters([tr("Campaign files ({pattern})").format(pattern=_PATTERN)])
        dialog.selectFile(f"{slug(self._draft.automatic_name())}.toml")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.store)
        dialog.open()


def _read(path: Path | str) -> Campaign:
    """Read a campaign file.

    Raises:
        CampaignError: it cannot be read, or has problems.
        RefusedError: it names programs that other users could have placed.
    """
    file = read_campaign_file(path)
    refuse_programs(file)
    return file.campaign


def _write(campaign: Campaign, path: Path, agreed: str) -> str:
    """Write a campaign file and return its path; the `agreed` digest is stored too.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.write_text(format_campaign(campaign), encoding="utf-8")
    except OSError as err:
        message = tr("The campaign file {path} could not be written: {reason}.")
        raise UsageError(message.format(path=path, reason=err.strerror)) from err
    keep_agreement(agreed)
    return str(path)


_LABELS: Final = {
    Step.WHERE: tr("Where"),
    Step.DISKS: tr("Disks and RAID"),
    Step.FILESYSTEM: titled(tr("filesystem")),
    Step.POSTGRESQL: "PostgreSQL",
    Step.WORKLOAD: tr("Workload"),
    Step.MORE: tr("More to compare"),
    Step.REVIEW: tr("Review"),
}


_ICONS: Final = {
    Step.WHERE: "map-pin",
    Step.DISKS: "hard-drive",
    Step.FILESYSTEM: "folder-tree",
    Step.POSTGRESQL: "database",
    Step.WORKLOAD: "gauge",
    Step.MORE: "layers",
    Step.REVIEW: "clipboard-check",
}


class StepList(QWidget):
    """One button per step.

    Signals:
        chosen: a step that can be jumped to.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._buttons: dict[Step, QToolButton] = {}
        layout = fill(QVBoxLayout(self), spacing=SMALL, margins=MEDIUM)
        for step in _LABELS:
            button = QToolButton()
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.clicked.connect(partial(self.chosen.emit, step))
            layout.addWidget(button)
            self._buttons[step] = button
        layout.addStretch(1)

    def show_flow(self, flow: DraftFlow) -> None:
        """Show check marks, the open step, and the steps that can be jumped to."""
        for step, button in self._buttons.items():
            button.setVisible(step in flow.steps)
            if step not in flow.steps:
                continue
            is_open = step is flow.step
            complete = flow.is_complete(step)
            button.setText(_LABELS[step])
            is_done = complete and not is_open
            colour = "accent" if is_open else "good" if is_done else "muted"
            set_icon(button, "check" if is_done else _ICONS[step], self._theme, colour=colour)
            state = tr("open") if is_open else tr("complete") if complete else tr("incomplete")
            name = tr("Step {number}, {name}: {state}")
            button.setAccessibleName(
                name.format(number=flow.number(step), name=plain(_LABELS[step]), state=state)
            )
            font = QFont(button.font())
            font.setBold(is_open)
            button.setFont(font)
            button.setEnabled(flow.may_jump(step))


_GEOMETRY: Final = "wizard/geometry"
_STEPS_EMS: Final = 115
_HELP_EMS: Final = 105
"""Below these widths in characters the steps are hidden, and the panel is under the page."""
_LOW_LINES: Final = 44
"""Below this height in lines of text pages are compact, and there is no panel under them."""


class Wizard(QDialog):
    """Edit a campaign, one question per page.

    Attributes:
        draft: outlives the window: it can be given to another wizard.
        flow: position in it.

    Signals:
        accepted_campaign: a `Campaign` that this machine can run; the window closes.
        draft_changed: the draft was changed.
    """

    accepted_campaign = Signal(object)
    draft_changed = Signal()

    def __init__(
        self,
        theme: Theme,
        draft: CampaignDraft | None = None,
        parent: QWidget | None = None,
        *,
        settings: QSettings | None = None,
        library: Path | None = None,
        make_watch: MakeWatch = follow_disks,
    ) -> None:
        """Create the window for a draft.

        Args:
            theme: colours and fonts.
            draft: to edit; None for a new one.
            parent: Qt's.
            settings: for the geometry; None for the program's own.
            library: folder for the runs.
            make_watch: creates the watcher of this machine's disks.
        """
        super().__init__(parent)
        set_reading_tab_order(self)
        self._settings = settings if settings is not None else QSettings()
        self._library = library
        self.setWindowTitle(plain(tr("&New benchmark")))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.theme = theme
        self.draft = draft or CampaignDraft()
        self.flow = DraftFlow(self.draft)
        self.asking = BackgroundValidation(self.draft, self)
        self.feed = DiskFeed(self.draft, make_watch, self)
        self.roots = RootAnswers(self.draft, self)
        self.whole_read = WholeRead(self)
        self._advance_wanted = False
        self._trouble = ""
        self._running = ""
        self._make_widgets()
        self._make_pages()
        self._lay_out()
        self._connect()
        self._restore_geometry()
        self._open_page()

    # --- creation

    def _make_widgets(self) -> None:
        self.steps = StepList(self.theme)
        self.title = Text(self.theme)
        self.help = HelpPanel(self.theme)
        self.reason = Text(self.theme, role="muted")
        self.back = QPushButton(tr("&Back"))
        self.next = QPushButton()
        self.cancel = QPushButton(plain(tr("&Cancel")))
        self.files = CampaignFiles(self)
        self.stack = QStackedWidget()
        for button in (self.back, self.cancel):
            button.setAutoDefault(False)
            describe_button(button, "")
        self.next.setDefault(True)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * 1.35)
        font.setBold(True)
        self.title.setFont(font)

    def _make_pages(self) -> None:
        kinds = (WherePage, DisksPage, FilesystemPage, PostgresPage, WorkloadPage, MorePage, ReviewPage)
        self.pages: dict[Step, Page] = {}
        self._cells: dict[Step, QWidget] = {}
        for kind in kinds:
            page = kind(self.draft, self.theme)
            self.pages[page.step] = page
            if isinstance(page, WherePage):
                page.recipes.loaded.connect(self._on_loaded)
                page.recipes.failed.connect(self._on_failed)
            if isinstance(page, ReviewPage):
                self._disturbances = page.disturbances
                page.disturbances.library = self._library
                self.finished.connect(page.stop)
            if isinstance(page, DisksPage):
                page.root_wanted.connect(self.roots.ask)
                page.release_wanted.connect(self.roots.release)
                self.roots.asking.connect(page.show_asking)
                self.roots.progressed.connect(page.show_progress)
                page.read_wanted.connect(self._on_read_wanted)
                self.whole_read.progressed.connect(page.show_reading)
            area = QScrollArea()
            area.setWidgetResizable(True)
            area.setFrameShape(QFrame.Shape.NoFrame)
            area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
            if page.footer is not None:  # appearing later, a bar would change the width of the page
                area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
            area.setWidget(page)
            self._cells[page.step] = _cell(area, page.footer)
            self.stack.addWidget(self._cells[page.step])
            page.changed.connect(self._on_changed)

    def _lay_out(self) -> None:
        self._middle = fill(
            QBoxLayout(QBoxLayout.Direction.LeftToRight), (self.stack, 3), (self.help, 1), spacing=LARGE
        )
        right = fill(
            QVBoxLayout(),
            self.title,
            (self._middle, 1),
            spacing=MEDIUM,
            margins=(LARGE, MEDIUM, MEDIUM, MEDIUM),
        )
        upper = fill(QHBoxLayout(), self.steps, (right, 1), spacing=0)
        self._buttons = fill(
            QBoxLayout(QBoxLayout.Direction.LeftToRight),
            *self.files.buttons,
            spacing=SMALL,
            margins=(MEDIUM, SMALL, MEDIUM, MEDIUM),
        )
        self.reason.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._buttons.addWidget(ScrollingTexts(2, self.reason), 1)  # never higher than that
        for button in (self.cancel, self.back, self.next):
            self._buttons.addWidget(button)
        fill(QVBoxLayout(self), (upper, 1), Rule(self.theme), self._buttons, spacing=0, margins=0)

    def _connect(self) -> None:
        self.next.clicked.connect(self._on_next)
        self.back.clicked.connect(self._on_back)
        self.cancel.clicked.connect(self.reject)
        self.steps.chosen.connect(self._on_step)
        self.asking.answered.connect(self._on_answered)
        self.asking.failed.connect(self._on_failed)
        self.feed.changed.connect(self._on_answered)
        self.roots.answered.connect(self._on_answered)
        self.roots.failed.connect(self._on_failed)
        self.roots.kept.connect(self._on_kept)
        self.whole_read.ended.connect(self.roots.ask_about)
        self.whole_read.failed.connect(self._on_failed)
        self.files.loaded.connect(self._on_loaded)
        self.files.failed.connect(self._on_failed)
        self.finished.connect(self._on_finished)

    # --- navigation

    def _on_next(self) -> None:
        if self.flow.is_last:
            if self.flow.obstacle() is None:
                self._start()
            return
        self._advance_wanted = not self.flow.advance()
        if self._advance_wanted:
            self._show_state()
        else:
            self._open_page()

    def _on_back(self) -> None:
        if self.flow.retreat():
            self._open_page()

    def _on_step(self, step: Step) -> None:
        if self.flow.jump(step):
            self._open_page()

    def _start(self) -> None:
        campaign: Campaign = self.draft.to_campaign()
        try:
            keep_agreement(self.draft.agreed_digest())
        except FootingError as error:
            self._on_failed(f"{error.message} {error.hint}".strip())
            return
        self.accept()
        self.accepted_campaign.emit(campaign)

    def forget_confirmations(self) -> None:
        """Require confirmations again: the confirmed campaign has started."""
        self.draft.forget_confirmations()
        self._on_changed()

    def _open_page(self) -> None:
        """Show the open step's page, and ask again what was refused."""
        self._advance_wanted = False
        page = self.pages[self.flow.step]
        self.draft.forget_refusals()
        page.load()
        cell = self._cells[self.flow.step]
        self.stack.setCurrentWidget(cell)
        self.help.watch(cell)
        page.first_control().setFocus()
        self.help.explain(page.first_control())
        self._show_state()
        self.asking.ask_now(self.flow.step)

    # --- display

    def _on_changed(self) -> None:
        self._advance_wanted = False
        self.draft_changed.emit()
        self.pages[self.flow.step].refresh()
        self.help.watch(self._cells[self.flow.step])
        self._show_state()
        self.asking.ask_soon(self.flow.step)

    def _on_answered(self) -> None:
        self._trouble = ""
        self.pages[self.flow.step].refresh()
        self._show_state()
        if self._advance_wanted and self.flow.advance():
            self._open_page()

    def _on_read_wanted(self, key: str) -> None:
        disk = self.draft.storage.disk(key) if key else None
        if disk is None:
            self.whole_read.stop()
        else:
            self.whole_read.start(disk)

    def _on_kept(self, key: str) -> None:
        """Let the user decide about a disk that a session left."""
        disk = self.draft.storage.disk(key)
        if disk is not None:
            dialog = ReleaseDialog(self.theme, disk, self)
            dialog.released.connect(partial(self.roots.ask_about, key))
            dialog.open()

    def _on_failed(self, sentence: str) -> None:
        self._trouble = sentence
        self._show_state()

    def _show_state(self) -> None:
        """Derive everything around the page from the flow."""
        page, flow = self.pages[self.flow.step], self.flow
        obstacle = flow.obstacle()
        number = tr("{number} of {count}").format(number=flow.number(flow.step), count=len(flow.steps))
        if self.draft.parts.on_disks() and self.isVisible():
            self.feed.begin()
        self.title.setText(page.title if self.steps.isVisibleTo(self) else f"{number}: {page.title}")
        self.steps.show_flow(flow)
        self.back.setEnabled(flow.step is not Step.WHERE)
        self.next.setText(tr("&Start") if flow.is_last else tr("&Next"))
        # An early Enter is remembered except on the last page: nothing starts that the user has not seen.
        waits = obstacle is not None and obstacle.pending and not flow.is_last
        busy = flow.is_last and obstacle is None and bool(self._running)
        self.next.setEnabled((obstacle is None or waits) and not busy)
        wrong = obstacle is not None and not obstacle.pending
        self.reason.set_role("warning" if wrong or self._trouble else "muted")
        reason = self._trouble or self._shown_reason(obstacle)
        if busy and not reason:
            sentence = tr("“{name}” is still running. Start this campaign when it has ended.")
            reason = sentence.format(name=one_line(self._running))
        self.reason.setText(reason)
        show_tip(self.reason, *reason.splitlines())
        describe_button(self.next, "")
        self.next.setAccessibleDescription(reason if self._trouble or busy else flow.reason())
        self.files.show_draft(self.draft)

    def _shown_reason(self, obstacle: Problem | None) -> str:
        """Return the reason; only the name of the field if that is on the open page and says the rest."""
        flow = self.flow
        if obstacle is None or flow.page_of(obstacle) is not flow.step:
            return flow.reason()
        page = self.pages[flow.step]
        label = "" if obstacle.pending else page.label_of(obstacle.path)
        named = page.named(obstacle)
        whole = f"{named.message} {named.hint}".strip()
        return tr("Correct this first: {field}").format(field=label) if label else whole

    def _on_loaded(self, draft: CampaignDraft) -> None:
        """Replace the draft's fields with those of a recipe or file."""
        draft.environment = draft.environment or self.draft.environment
        self.draft.parts = draft.parts
        self.flow.step = self.flow.furthest = Step.WHERE
        self.draft_changed.emit()
        self._open_page()

    @property
    def waits(self) -> bool:
        """Whether the campaign waits for one of another user."""
        return self._disturbances.wait.isChecked()

    def show_running(self, name: str) -> None:
        """Disable the start while the campaign of this name is measured; an empty name enables it."""
        if name != self._running:
            self._running = name
            self._show_state()

    # --- the window

    def _restore_geometry(self) -> None:
        geometry = self._settings.value(_GEOMETRY)
        if not (geometry and self.restoreGeometry(geometry)):
            self.resize(screen_room(self))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.asking.begin()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        ems = event.size().width() // max(1, self.fontMetrics().averageCharWidth())
        self.steps.setVisible(ems >= _STEPS_EMS)
        wide = ems >= _HELP_EMS
        direction = QBoxLayout.Direction
        self._middle.setDirection(direction.LeftToRight if wide else direction.TopToBottom)
        is_low = event.size().height() < _LOW_LINES * self.fontMetrics().lineSpacing()
        self.help.setVisible(wide or not is_low)
        for page in self.pages.values():
            page.make_compact(is_low)
        self._show_state()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self._look_after_absence()

    def _look_after_absence(self) -> None:
        """Ask again what was refused: a folder or package may have appeared since."""
        environment = self.draft.environment
        if environment is not None and (environment.newest is None or environment.account is None):
            self.asking.look_again()
        else:
            self.draft.forget_refusals()
            self.asking.look_for_helper()
            self.asking.ask_now(self.flow.step)

    def _on_finished(self) -> None:
        self.asking.stop()
        self.feed.stop()
        self.roots.stop()
        self.whole_read.stop()
        self._settings.setValue(_GEOMETRY, self.saveGeometry())


def _cell(area: QScrollArea, footer: QWidget | None) -> QWidget:
    """Return a page's widget in the stack: it scrolls, its footer stays."""
    if footer is None:
        return area
    cell = QWidget()
    fill(QVBoxLayout(cell), (area, 1), footer, spacing=0, margins=0)
    return cell
