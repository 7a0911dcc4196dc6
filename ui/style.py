"""The look of Qt's widgets: a QPalette of the theme, and the flat style."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from ui.flat_style import FlatStyle
from ui.theme import Palette, Theme


def qt_palette(palette: Palette) -> QPalette:
    """Return the palette as a QPalette."""
    roles = {
        QPalette.ColorRole.Window: palette.window,
        QPalette.ColorRole.WindowText: palette.text,
        QPalette.ColorRole.Base: palette.background,
        QPalette.ColorRole.AlternateBase: palette.warm_up,
        QPalette.ColorRole.ToolTipBase: palette.box,
        QPalette.ColorRole.ToolTipText: palette.text,
        QPalette.ColorRole.Text: palette.text,
        QPalette.ColorRole.Button: palette.window,
        QPalette.ColorRole.ButtonText: palette.text,
        QPalette.ColorRole.BrightText: palette.warning,
        QPalette.ColorRole.Link: palette.accent,
        QPalette.ColorRole.Highlight: palette.accent,
        QPalette.ColorRole.HighlightedText: palette.background,
        QPalette.ColorRole.PlaceholderText: palette.muted,
    }
    made = QPalette(QColor(palette.window))
    for role, colour in roles.items():
        made.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(palette.muted))
    return made


def apply_theme(app: QApplication, theme: Theme) -> None:
    """Apply the theme's colours to all widgets of the program, now and on every change."""

    def apply() -> None:
        app.setPalette(qt_palette(theme.palette))

    app.setStyle(FlatStyle("Fusion"))
    apply()
    theme.changed.connect(apply)
