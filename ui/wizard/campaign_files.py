"""Recipes and campaign files: fill the wizard from one, or save what it holds as one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QPushButton, QWidget

from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.find import Recipe
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import FootingError, UsageError
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.trust import keep_agreement, refuse_programs
from app.runfile.filenames import slug
from ui.background import BackgroundOp
from ui.widgets.fields import push_button

_PATTERN = "*.toml"


class CampaignFiles(QObject):
    """Two buttons of the shell.

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
        """Offer the recipes of its machine, and saving where it is a campaign."""
        self._draft = draft
        self.save.setEnabled(draft.built.campaign is not None)
        recipes = draft.environment.recipes if draft.environment else ()
        if recipes == self._recipes and not self.menu.isEmpty():
            return
        self._recipes = recipes
        self.menu.clear()
        for recipe in recipes:
            action = self.menu.addAction(f"{recipe.name}: {recipe.summary}")
            action.triggered.connect(partial(self.load, recipe.path))
        self.menu.addSeparator()
        self.menu.addAction(tr("A campaign file …")).triggered.connect(self._ask_which)

    def load(self, path: Path | str) -> None:
        """Fill the wizard from a file, read in the background."""
        BackgroundOp(partial(_read, path), self._on_loaded, self._on_failed).start()

    def store(self, path: str) -> None:
        """Write the campaign as a file."""
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
        CampaignError: it cannot be read, or something in it is wrong.
        RefusedError: it names programs that a stranger could have put there.
    """
    file = read_campaign_file(path)
    refuse_programs(file)
    return file.campaign


def _write(campaign: Campaign, path: Path, agreed: str) -> str:
    """Write a campaign file and return its path; what a person `agreed` to is kept with it.

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
