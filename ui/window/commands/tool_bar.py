"""The tool bar: the most used commands, and a menu with all of them."""

from __future__ import annotations

from collections.abc import Container, Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolBar, QToolButton, QWidget, QWidgetAction

from app.domain.text import tr
from ui.icons import SMALL_ICON, set_icon
from ui.theme import Theme
from ui.window.commands.commands import COMMANDS

_ABOVE_THE_FACTS = frozenset({"replay", "race"})
_BREAKS_AFTER = frozenset({"import", "race", "start", "edit", "panel", "clear", "example"})


class ToolBar(QToolBar):
    """Buttons with icon and word, at most six.

    Attributes:
        menu_button: opens the menu of all commands.
        menu: of all commands.
    """

    def __init__(self, actions: Mapping[str, QAction], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(tr("Commands"), parent)
        self.setObjectName("commands")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        _show_icons(actions, theme, only_in_sight=True)
        self.setIconSize(QSize(SMALL_ICON, SMALL_ICON))
        self._buttons = {
            command.id: self._add_button(actions[command.id], command.text)
            for command in COMMANDS
            if command.in_tool_bar
        }
        space = QWidget(self)
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        self.menu_button = QToolButton(self)
        self.menu_button.setText(tr("&Menu"))
        self.menu_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        set_icon(self.menu_button, "menu", theme)
        self.menu_button.setAccessibleName(tr("Menu"))
        self.menu_button.setToolTip(tr("All commands"))
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = _make_menu(self.menu_button, actions)
        self.menu.aboutToShow.connect(lambda: _show_icons(actions, theme))
        self.menu_button.setMenu(self.menu)
        self.addWidget(self.menu_button)

    def _add_button(self, action: QAction, text: str) -> QAction:
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setText(text)
        button.setToolButtonStyle(self.toolButtonStyle())
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        shown = QWidgetAction(self)  # addWidget's own, which Qt makes, was once taken for deleted by Python
        shown.setDefaultWidget(button)
        self.addAction(shown)
        return shown

    def show_commands(self, wanted: Container[str]) -> None:
        """Show the buttons of these commands next to the menu."""
        for name, action in self._buttons.items():
            action.setVisible(name in wanted)


def _show_icons(actions: Mapping[str, QAction], theme: Theme, *, only_in_sight: bool = False) -> None:
    """Set the commands' icons; the menu's only when it is first opened, so that the window appears sooner."""
    for command in COMMANDS:
        in_sight = command.in_tool_bar or command.id in _ABOVE_THE_FACTS
        if command.icon and command.id in actions and (in_sight or not only_in_sight):
            set_icon(actions[command.id], command.icon, theme)


def _make_menu(parent: QWidget, actions: Mapping[str, QAction]) -> QMenu:
    menu = QMenu(parent)
    for command in COMMANDS:
        menu.addAction(actions[command.id])
        if command.id in _BREAKS_AFTER:
            menu.addSeparator()
    return menu
