"""The quiet panel: explains the control under the cursor, else the one with the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QFrame, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import HELP
from ui.widgets.texts import Heading, Text
from ui.wizard.base.help_texts import help_for


class HelpPanel(QFrame):
    """Watches the controls below a widget."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.title = Heading(theme, "")
        self.text = Text(theme)
        self.source = Text(theme, role="muted")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.setSpacing(SMALL)
        for widget in (self.title, self.text, self.source):
            layout.addWidget(widget)
        layout.addStretch(1)
        self._key = ""

    def watch(self, top: QWidget) -> None:
        """Explain every control below `top` that has an explanation."""
        for widget in (top, *top.findChildren(QWidget)):
            widget.removeEventFilter(self)
            widget.installEventFilter(self)

    def explain(self, widget: QWidget | None) -> None:
        """Explain a control, or the nearest around it that has an explanation."""
        while widget is not None:
            key = widget.property(HELP)
            if key:
                self._show(str(key), widget.accessibleName())
                return
            widget = widget.parentWidget()

    def _show(self, key: str, name: str) -> None:
        told = help_for(key)
        self._key = key
        self.title.setText(name)
        self.text.setText(told.text)
        self.source.setText(tr("Source: {source}").format(source=told.source) if told.source else "")
        self.source.setVisible(bool(told.source))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWidget):
            if event.type() in {QEvent.Type.Enter, QEvent.Type.FocusIn}:
                self.explain(watched)
            elif event.type() is QEvent.Type.Leave:
                focused = QApplication.focusWidget()
                if focused is not None and focused.window() is self.window():
                    self.explain(focused)
        return super().eventFilter(watched, event)
