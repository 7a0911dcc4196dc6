"""Recipes by their question: the first offer of the wizard."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from app.campaign_file.recipes.head import Recipe
from app.domain.errors import FootingError
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.environment import serving_account
from app.draft.recipe_choice import RecipeChoice, draft_of_recipe, recipe_choice
from ui.background import BackgroundOp
from ui.theme import SMALL, TINY, Theme
from ui.widgets.fields import Field, combo_box, describe_button, push_button
from ui.widgets.layouts import fill
from ui.widgets.texts import Text


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
        numbered = [tr("{number}. {step}").format(number=at, step=step) for at, step in enumerate(steps, 1)]
        self.steps.setText("\n".join([tr("What its owner prepares there for this recipe:"), *numbered]))
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
