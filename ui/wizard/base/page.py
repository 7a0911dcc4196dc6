"""The interface of a page to the shell: it fills fields of the draft and shows its problems."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.domain.errors import Problem
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step, put
from ui.theme import LARGE, Theme
from ui.widgets.fields import Field, plain
from ui.widgets.layouts import fill
from ui.widgets.texts import ErrorText
from ui.wizard.base.controls import Form


class Page(QWidget):
    """One page.

    Attributes:
        step: of the wizard.
        title: its question.
        draft: being filled.
        footer: always visible below the page; None for none.

    Signals:
        changed: a field of the draft was changed.
    """

    step: Step
    title: str

    changed = Signal()

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__()
        self.draft = draft
        self.theme = theme
        self.fields: dict[str, Field] = {}
        self.footer: QWidget | None = None
        self.general = ErrorText(theme)
        self.layout_ = fill(
            QVBoxLayout(self), self.general, spacing=LARGE * 2 // 3, margins=(0, 0, LARGE // 2, 0)
        )
        self._loading = False
        self._forms: list[Form] = []

    def bind(self, form: Form) -> Form:
        """Let a form show and change the texts of the draft, and return it."""
        self._forms.append(form)
        self.fields |= form.fields
        form.edited.connect(self.put)
        return form

    def put(self, key: str, text: str) -> None:
        """Set a text of the draft."""
        put(self.draft.parts.values, key, text)
        self.report_change()

    def load(self) -> None:
        """Show the draft, without reporting changes."""
        self._loading = True
        try:
            self.fill()
        finally:
            self._loading = False
        self.refresh()

    def fill(self) -> None:
        """Copy the draft's texts into the controls."""
        for form in self._forms:
            form.show_texts(self.draft.parts.values)

    def refresh(self) -> None:
        """Show current answers and problems; called after every answer and change."""
        self.show_problems([each for each in self.draft.problems_for(self.step) if not each.pending])

    def first_control(self) -> QWidget:
        """Return the control with the initial focus."""
        raise NotImplementedError

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show each problem at its field; those without one at the top, but the first one beside Next."""
        rest = list(problems)
        for key, field in self.fields.items():
            mine = [each for each in rest if belongs(each.path, key)]
            field.show_problems(mine)
            rest = [each for each in rest if each not in mine]
        first = next(iter(self.draft.blockers(self.step)), None)
        self.general.show_problems([self.named(each) for each in rest if each != first])

    def named(self, problem: Problem) -> Problem:
        """Return a problem with the name of what it is about, if the page shows several."""
        return problem

    def label_of(self, field: str) -> str:
        """Return the label of the control for a field of the draft; empty if there is none."""
        mine = [control for key, control in self.fields.items() if belongs(field, key)]
        return plain(mine[0].label.text()) if mine else ""

    def report_change(self) -> None:
        """Report that the user changed a field of the draft."""
        if not self._loading:
            self.changed.emit()

    def make_compact(self, compact: bool) -> None:  # noqa: FBT001 - a setter
        """Show more of what is edited, and less about it: the window is low."""

    @property
    def is_loading(self) -> bool:
        """Whether controls change because the page is being filled."""
        return self._loading


def belongs(field: str, key: str) -> bool:
    """Whether a problem's field is this one or a part of it, such as ``postgresql.settings.work_mem``."""
    return field == key or field.startswith((f"{key}.", f"{key}["))
