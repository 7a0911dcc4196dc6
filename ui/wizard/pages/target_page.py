"""First page: location of PostgreSQL's data."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.campaign_file.recipes.head import Recipe
from app.domain.errors import FootingError
from app.domain.text import format_size, tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import ON_FIRST_PAGE, Place, Step, serving_account
from app.draft.recipe_choice import RecipeChoice, draft_of_recipe, recipe_choice
from app.hosts.folders.targets import CheckedTarget
from ui.background import BackgroundOp
from ui.theme import SMALL, TINY, Theme
from ui.widgets.fields import Choice, Field, combo_box, describe_button, push_button
from ui.widgets.layouts import fill
from ui.widgets.texts import Text
from ui.wizard.base.controls import Form
from ui.wizard.base.page import Page

# Recipes by their question: the first offer of the wizard.


class RecipeChooser(QWidget):
    """A list of questions, the quick variant, and a button that fills the pages.

    Attributes:
        questions: the recipes by their questions; the first entry is a comparison of one's own.
        quick: for the quick variant.
        use: fills the pages.
        remarks: description of the recipe, obstacle, skipped configurations.
        steps: preparations of a server; the page places them below the server.

    Signals:
        loaded: a `CampaignDraft` with the fields of a recipe.
        failed: a sentence why it could not be used.
    """

    loaded = Signal(object)
    failed = Signal(str)

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__()
        self._draft = draft
        self._recipes: tuple[Recipe, ...] = ()
        self._left_out: tuple[str, ...] = ()
        self.questions = combo_box()
        self.quick = QCheckBox(tr("Quic&k variant"))
        describe_button(self.quick, "recipe.quick")
        self.use = push_button(tr("&Use it"), "recipe.use")
        beside = (self.quick, self.use)
        field = Field(theme, tr("&Question:"), self.questions, "recipe.question", beside=beside)
        self.remarks = Text(theme, role="muted")
        self.steps = Text(theme, role="muted")
        fill(QVBoxLayout(self), field, self.remarks, spacing=TINY, margins=(0, 0, 0, SMALL))
        self.questions.activated.connect(self._on_chosen)
        self.quick.toggled.connect(self.refresh)
        self.use.clicked.connect(self._on_use)
        self.refresh()

    @property
    def choice(self) -> RecipeChoice | None:
        """The chosen recipe; None for a comparison of one's own."""
        place = self.questions.currentIndex() - 1
        if not 0 <= place < len(self._recipes):
            return None
        return recipe_choice(self._draft, self._recipes[place], quick=self.quick.isChecked())

    def refresh(self) -> None:
        """Show the choice, with the currently ticked disks."""
        environment = self._draft.environment
        recipes = environment.recipes if environment is not None else ()
        if recipes != self._recipes or not self.questions.count():
            self._recipes = recipes
            self.questions.clear()
            self.questions.addItem(tr("My own comparison"))
            asked = [recipe.head.question for recipe in recipes]
            for recipe, question in zip(recipes, asked, strict=True):
                more = f" {recipe.summary}" if asked.count(question) > 1 else ""
                self.questions.addItem(f"{question}{more}")
        choice = self.choice
        self.quick.setEnabled(choice is not None and choice.recipe.head.quick is not None)
        self.use.setEnabled(choice is not None and not choice.obstacle)
        sentences = [choice.description, choice.obstacle] if choice is not None else []
        text = " ".join(filter(None, (*sentences, *self._left_out)))
        self.remarks.setText(text)
        self.remarks.setVisible(bool(text))
        steps = choice.steps if choice is not None else ()
        numbered = [f"{at}. {step}" for at, step in enumerate(steps, 1)]
        self.steps.setText("\n".join([tr("The server's owner must do this first:"), *numbered]))
        self.steps.setVisible(bool(steps))
        self.use.setAccessibleDescription(choice.obstacle if choice is not None else "")

    def _on_chosen(self) -> None:
        self._left_out = ()
        self.refresh()

    def _on_use(self) -> None:
        choice, environment = self.choice, self._draft.environment
        if choice is None or environment is None:
            return
        try:
            account = serving_account(environment)
        except FootingError as error:
            self._on_failed(error)
            return
        BackgroundOp(partial(draft_of_recipe, choice, account), self._on_loaded, self._on_failed).start()

    def _on_loaded(self, made: tuple[CampaignDraft, tuple[str, ...]]) -> None:
        draft, self._left_out = made
        self.loaded.emit(draft)
        self.refresh()

    def _on_failed(self, error: FootingError) -> None:
        self.failed.emit(f"{error.message} {error.hint}".strip())


_PATH: Final = "target.folder.path"
_PLACES: Final = {
    Place.FOLDER: (
        tr("A &folder on this machine"),
        tr("Uses the existing filesystem and disks, formats nothing and needs no root."),
        "folder",
    ),
    Place.MEMORY: (
        tr("&Memory"),
        tr("An upper bound for any storage. Shows how much throughput storage costs."),
        "memory",
    ),
    Place.DISKS: (
        tr("&Spare disks, formatted by pgFooting"),
        tr("Erases the disks, formats them for each run and releases them afterwards. Needs authorisation."),
        "spare",
    ),
    Place.SERVER: (
        tr("An &existing PostgreSQL server, local or remote"),
        tr(
            "pgFooting creates, loads, measures and drops one database and changes no other data. You "
            "review what it finds on the server and type its name to confirm."
        ),
        "server",
    ),
}
"""Label, meaning and explanation of each place."""


class WherePage(Page):
    """Check boxes for the folder, memory, spare disks and a server that already runs, with their fields."""

    step = Step.WHERE
    title = tr("Where do you want PostgreSQL's data?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.choose = push_button(tr("C&hoose …"), _PATH)
        self.bind(Form(theme, ON_FIRST_PAGE, beside={_PATH: (self.choose,)}))
        self.boxes: dict[Place, QCheckBox] = {}
        self._choices: dict[Place, Choice] = {}
        for place, (label, meaning, key) in _PLACES.items():
            self.boxes[place] = box = QCheckBox(label)
            self._choices[place] = Choice(theme, box, meaning, key, self._fields_of(place))
            box.toggled.connect(partial(self._tick, place))
        self.recipes = RecipeChooser(draft, theme)
        hint = Text(theme, tr("Tick two or more to compare them."), role="muted")
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
            return tr("pgFooting checks it on the last page.") if ticked else ""
        environment = self.draft.environment
        if environment is None:
            return tr("Checking this machine …")
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
