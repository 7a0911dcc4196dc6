"""First page: location of PostgreSQL's data."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFileDialog, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.domain.units import format_size
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Place, Step
from app.hosts.folders.targets import CheckedTarget
from ui.theme import Theme
from ui.widgets.fields import Choice, Field, line_edit, push_button, set_text
from ui.widgets.texts import Text
from ui.wizard.base.page import Page
from ui.wizard.editors.configuration_editor import ServerFields
from ui.wizard.editors.recipe_chooser import RecipeChooser

_PATH = "target.folder.path"
_MEMORY = "target.memory.size"


class WherePage(Page):
    """Check boxes for the folder, memory, spare disks and a server that already runs, with their fields."""

    step = Step.WHERE
    title = tr("Where should PostgreSQL's data live?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.folder = QCheckBox(tr("A &folder on this machine"))
        self.path = line_edit()
        self.choose = push_button(tr("C&hoose …"), _PATH)
        self.choose.setAccessibleDescription(tr("Opens a dialog to choose the folder."))
        self.memory = QCheckBox(tr("&Memory"))
        self.memory_size = line_edit(tr("as much as the data needs"))
        self.server = QCheckBox(tr("An &existing server: PostgreSQL that already runs, wherever"))
        self.server_fields = ServerFields(
            theme, tr("&Connection:"), tr("&Room for it:"), tr("Its machine, b&y ssh:")
        )
        self.connection = self.server_fields.connection
        self.fields = {
            _PATH: Field(theme, tr("F&older:"), self.path, _PATH, beside=(self.choose,)),
            _MEMORY: Field(theme, tr("&At most:"), self.memory_size, _MEMORY),
            **self.server_fields.fields,
        }
        self.disks = QCheckBox(tr("&Spare disks: arrays and filesystems made anew"))
        self._disks = Choice(
            theme,
            self.disks,
            tr("They are erased, formatted for each run and free again afterwards. Asks for authorisation."),
            "spare",
        )
        self._folder = Choice(
            theme,
            self.folder,
            tr("On the filesystem and disks as they are. Nothing is formatted, and no root is needed."),
            "folder",
            (self.fields[_PATH],),
        )
        self._memory = Choice(
            theme,
            self.memory,
            tr("What no storage could exceed: shows how much the folder costs."),
            "memory",
            (self.fields[_MEMORY],),
        )
        self._server = Choice(
            theme,
            self.server,
            tr(
                "One database is made there, loaded, measured and dropped; nothing else is touched. What was "
                "found there is shown before the start, and its name is to be typed."
            ),
            "server",
            (self.server_fields,),
        )
        self.recipes = RecipeChooser(draft, theme)
        hint = Text(theme, tr("What is ticked is compared."), role="muted")
        places = (self._folder, self._memory, self._disks, self._server)
        for widget in (self.recipes, hint, *places, self.recipes.steps):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        self._connect()

    def _connect(self) -> None:
        self.folder.toggled.connect(lambda ticked: self._tick(Place.FOLDER, ticked=ticked))
        self.memory.toggled.connect(lambda ticked: self._tick(Place.MEMORY, ticked=ticked))
        self.disks.toggled.connect(lambda ticked: self._tick(Place.DISKS, ticked=ticked))
        self.server.toggled.connect(lambda ticked: self._tick(Place.SERVER, ticked=ticked))
        self.server_fields.edited.connect(self._on_text)
        self.path.textEdited.connect(self._on_path)
        self.memory_size.textEdited.connect(self._on_memory)
        self.choose.clicked.connect(self._choose_folder)

    @override
    def first_control(self) -> QWidget:
        return self.folder

    @override
    def fill(self) -> None:
        self._show_ticks()
        set_text(self.path, self.draft.parts.values["target.folder.path"])
        set_text(self.memory_size, self.draft.parts.values["target.memory.size"])
        self.server_fields.show_texts(self.draft.parts.values)

    @override
    def refresh(self) -> None:
        environment = self.draft.environment
        self.recipes.refresh()
        if environment is not None:
            self.path.setPlaceholderText(environment.folder_path)
        for place, choice, key in (
            (Place.FOLDER, self._folder, _PATH),
            (Place.MEMORY, self._memory, _MEMORY),
        ):
            ticked = self.draft.configuration_of(place).chosen
            self.fields[key].setEnabled(ticked)
            choice.set_state(self._state(place, ticked=ticked))
        self._show_disks()
        on_server = self.draft.configuration_of(Place.SERVER).chosen
        for field in self.server_fields.fields.values():
            field.setEnabled(on_server)
        self._server.set_state(tr("It is looked at on the last page.") if on_server else "")
        super().refresh()

    def _show_disks(self) -> None:
        """Show whether spare disks can be used; an existing tick can always be removed."""
        environment = self.draft.environment
        ticked = self.draft.configuration_of(Place.DISKS).chosen
        self.disks.setEnabled(ticked or (environment is not None and environment.disks is None))
        if environment is None:
            self._disks.set_state(tr("Looking at this machine …"))
        else:
            self._disks.set_state(environment.disks.sentence if environment.disks and not ticked else "")

    def _state(self, place: Place, *, ticked: bool) -> str:
        """Return the known facts about a place: its path and free space."""
        environment = self.draft.environment
        if environment is None:
            return tr("Looking at this machine …")
        state = environment.folder if place is Place.FOLDER else environment.memory
        checked = self.draft.checked_target(place) if ticked else None
        if ticked and checked is None:
            return ""  # check pending, or reported as a problem
        known = checked or state
        if not isinstance(known, CheckedTarget):
            return known.sentence if known else ""
        return tr("{path}: {free} free").format(path=known.path, free=format_size(known.free_bytes))

    def _tick(self, place: Place, *, ticked: bool) -> None:
        if not self.is_loading:
            self.draft.choose_place(place, ticked=ticked)
            self._loading = True
            self._show_ticks()
            self._loading = False
            self.report_change()

    def _show_ticks(self) -> None:
        for place, box in (
            (Place.FOLDER, self.folder),
            (Place.MEMORY, self.memory),
            (Place.DISKS, self.disks),
            (Place.SERVER, self.server),
        ):
            box.setChecked(self.draft.configuration_of(place).chosen)

    def _on_text(self, key: str, text: str) -> None:
        self.draft.parts.values[key] = text
        self.report_change()

    def _on_path(self, text: str) -> None:
        self._on_text(_PATH, text)

    def _on_memory(self, text: str) -> None:
        self._on_text(_MEMORY, text)

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self, tr("Folder for PostgreSQL's data"), self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.open()

    def _on_folder_chosen(self, path: str) -> None:
        self.path.setText(path)
        self._on_path(path)
