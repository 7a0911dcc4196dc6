"""What the shell knows of a page: it fills fields of the draft, shows its problems, has a first control."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.domain.problem import Problem
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step
from ui.theme import LARGE, Theme
from ui.widgets.fields import Field, plain
from ui.widgets.texts import ErrorText


class Page(QWidget):
    """One page.

    Attributes:
        step: which one.
        title: its question.
        draft: whose fields it fills.
        footer: stays in sight below the page, however long that is; None for nothing.

    Signals:
        changed: a field of the draft is another now.
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
        self.layout_ = QVBoxLayout(self)
        self.layout_.setContentsMargins(0, 0, LARGE // 2, 0)
        self.layout_.setSpacing(LARGE * 2 // 3)
        self.layout_.addWidget(self.general)
        self._loading = False

    def load(self) -> None:
        """Show what the draft says; fills without telling that anything changed."""
        self._loading = True
        try:
            self.fill()
        finally:
            self._loading = False
        self.refresh()

    def fill(self) -> None:
        """Put the draft's texts into the controls."""

    def refresh(self) -> None:
        """Show what is known and what is wrong now; called whenever an answer came or a field changed."""
        self.show_problems([each for each in self.draft.problems_for(self.step) if not each.pending])

    def first_control(self) -> QWidget:
        """Return the control that has the focus when the page opens."""
        raise NotImplementedError

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show each problem beside its field; those of no field above all."""
        rest = list(problems)
        for key, field in self.fields.items():
            mine = [each for each in rest if belongs(each.path, key)]
            field.show_problems(mine)
            rest = [each for each in rest if each not in mine]
        self.general.show_problems(rest)

    def label_of(self, field: str) -> str:
        """Return the label of the control that a field of the draft belongs to; empty where none does."""
        mine = [control for key, control in self.fields.items() if belongs(field, key)]
        return plain(mine[0].label.text()) if mine else ""

    def tell(self) -> None:
        """Tell that a field of the draft was changed by a person."""
        if not self._loading:
            self.changed.emit()

    @property
    def is_loading(self) -> bool:
        """Whether controls change because the page is filled."""
        return self._loading


def belongs(field: str, key: str) -> bool:
    """Whether a problem's field is this one or a part of it, such as ``postgresql.settings.work_mem``."""
    return field == key or field.startswith((f"{key}.", f"{key}["))
