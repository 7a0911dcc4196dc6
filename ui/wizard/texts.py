"""Wrapped texts of the pages: explanations, errors, headings; and the line between parts of the window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget
from typing_extensions import override

from app.runs.draft_parts import Problem
from ui.theme import TINY, Theme


class Wrapped(QLabel):
    """A label whose lines wrap, and which gets the room for it."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @override
    def minimumSizeHint(self) -> QSize:
        # Qt's own guesses a width and keeps two lines for one; the layouts ask heightForWidth.
        return QSize(0, self.fontMetrics().height())

    @override
    def heightForWidth(self, width: int) -> int:
        # Painting wraps a little earlier than measuring.
        return super().heightForWidth(max(1, width - TINY))


class Text(Wrapped):
    """A wrapped text; foreign words are never read as markup."""

    def __init__(
        self, theme: Theme, text: str = "", *, role: str = "text", parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self._role = role
        theme.changed.connect(self._apply_colour)
        self._apply_colour()

    def set_role(self, role: str) -> None:
        """Change the colour: a name of the theme's palette."""
        if role != self._role:
            self._role = role
            self._apply_colour()

    def _apply_colour(self) -> None:
        palette = self.palette()
        for group in (palette.ColorGroup.Active, palette.ColorGroup.Inactive, palette.ColorGroup.Disabled):
            palette.setColor(group, self.foregroundRole(), self._theme.colour(self._role))
        self.setPalette(palette)


class ErrorText(Text):
    """Why a field is not right; takes no room while it is."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, role="warning", parent=parent)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show what is wrong; what is only not known yet is told beside the button."""
        lines = [f"{problem.message}\n{problem.hint}".strip() for problem in problems if not problem.pending]
        self.setText("\n".join(dict.fromkeys(lines)))
        self.setVisible(bool(lines))


class Heading(Text):
    """The title of a part of a page."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, text, parent=parent)
        font = QFont(self.font())
        font.setBold(True)
        self.setFont(font)


class Rule(QFrame):
    """A thin line between parts of the window."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFixedHeight(1)
        self.setAutoFillBackground(True)
        theme.changed.connect(self._apply_colour)
        self._apply_colour()

    def _apply_colour(self) -> None:
        palette = self.palette()
        palette.setColor(self.backgroundRole(), self._theme.colour("frame"))
        self.setPalette(palette)
