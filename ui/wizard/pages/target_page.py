"""First page: location of PostgreSQL's data."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.domain.units import format_size
from app.draft.draft import CampaignDraft
from app.draft.fields.fields import ON_FIRST_PAGE
from app.draft.fields.state import Place, Step
from app.hosts.folders.targets import CheckedTarget
from ui.theme import Theme
from ui.widgets.fields import Choice, Field, push_button
from ui.widgets.texts import Text
from ui.wizard.base.controls import Form
from ui.wizard.base.page import Page
from ui.wizard.editors.recipe_chooser import RecipeChooser

_PATH: Final = "target.folder.path"
_PLACES: Final = {
    Place.FOLDER: (
        tr("A &folder on this machine"),
        tr("On the filesystem and disks as they are. Nothing is formatted, and no root is needed."),
        "folder",
    ),
    Place.MEMORY: (
        tr("&Memory"),
        tr("What no storage could exceed: shows how much the folder costs."),
        "memory",
    ),
    Place.DISKS: (
        tr("&Spare disks: arrays and filesystems made anew"),
        tr("They are erased, formatted for each run and free again afterwards. Asks for authorisation."),
        "spare",
    ),
    Place.SERVER: (
        tr("An &existing server: PostgreSQL that already runs, wherever"),
        tr(
            "pgFooting creates, loads, measures and drops one database; nothing else is touched. You "
            "review what it finds on the server and type its name to confirm."
        ),
        "server",
    ),
}
"""Label, meaning and explanation of each place."""


class WherePage(Page):
    """Check boxes for the folder, memory, spare disks and a server that already runs, with their fields."""

    step = Step.WHERE
    title = tr("Where should PostgreSQL's data live?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.choose = push_button(tr("C&hoose …"), _PATH)
        self.choose.setAccessibleDescription(tr("Opens a dialog to choose the folder."))
        self.bind(Form(theme, ON_FIRST_PAGE, beside={_PATH: (self.choose,)}))
        self.boxes: dict[Place, QCheckBox] = {}
        self._choices: dict[Place, Choice] = {}
        for place, (label, meaning, key) in _PLACES.items():
            self.boxes[place] = box = QCheckBox(label)
            self._choices[place] = Choice(theme, box, meaning, key, self._fields_of(place))
            box.toggled.connect(partial(self._tick, place))
        self.recipes = RecipeChooser(draft, theme)
        hint = Text(theme, tr("What is ticked is compared."), role="muted")
        for widget in (self.recipes, hint, *self._choices.values(), self.recipes.steps):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        self.choose.clicked.connect(self._choose_folder)

    def _fields_of(self, place: Place) -> list[Field]:
        return [field for key, field in self.fields.items() if key.startswith(f"target.{place.kind}.")]

    @override
    def first_control(self) -> QWidget:
        return self.boxes[Place.FOLDER]

    @override
    def fill(self) -> None:
        self._show_ticks()
        super().fill()

    @override
    def refresh(self) -> None:
        environment = self.draft.environment
        self.recipes.refresh()
        if environment is not None:
            self.path.setPlaceholderText(environment.folder_path)
        for place, choice in self._choices.items():
            ticked = self.draft.configuration_of(place).chosen
            for field in self._fields_of(place):
                field.setEnabled(ticked)
            choice.set_state(self._state(place, ticked=ticked))
            if place is Place.DISKS:  # an existing tick can always be removed
                choice.button.setEnabled(ticked or (environment is not None and environment.disks is None))
        super().refresh()

    def _state(self, place: Place, *, ticked: bool) -> str:
        """Return the known facts about a place: its path and free space."""
        if place is Place.SERVER:
            return tr("It is looked at on the last page.") if ticked else ""
        environment = self.draft.environment
        if environment is None:
            return tr("Looking at this machine …")
        if place is Place.DISKS:
            return environment.disks.sentence if environment.disks and not ticked else ""
        state = environment.folder if place is Place.FOLDER else environment.memory
        checked = self.draft.checked_target(place) if ticked else None
        if ticked and checked is None:
            return ""  # check pending, or reported as a problem
        known = checked or state
        if not isinstance(known, CheckedTarget):
            return known.sentence if known else ""
        return tr("{path}: {free} free").format(path=known.path, free=format_size(known.free_bytes))

    def _tick(self, place: Place, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self.is_loading:
            self.draft.choose_place(place, ticked=ticked)
            self._loading = True
            self._show_ticks()
            self._loading = False
            self.report_change()

    def _show_ticks(self) -> None:
        for place, box in self.boxes.items():
            box.setChecked(self.draft.configuration_of(place).chosen)

    @property
    def path(self) -> QLineEdit:
        """The line for the folder."""
        return cast("QLineEdit", self.fields[_PATH].control)

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self, tr("Folder for PostgreSQL's data"), self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.open()

    def _on_folder_chosen(self, path: str) -> None:
        self.path.setText(path)
        self.put(_PATH, path)
