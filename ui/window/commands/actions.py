"""The registry of commands as Qt's actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from ui.window.commands.commands import Command, find_command


def make_actions(window: QWidget, deeds: Mapping[str, Callable[[], None]]) -> dict[str, QAction]:
    """Return an action for each id of a command that does what belongs to it; its keys work in the window."""
    return {name: _make_action(window, find_command(name), do) for name, do in deeds.items()}


def _make_action(window: QWidget, command: Command, do: Callable[[], None]) -> QAction:
    action = QAction(command.text, window)
    action.setCheckable(command.checkable)
    action.setToolTip(command.help)
    if command.keys:
        action.setShortcut(QKeySequence(command.keys))
        native = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{command.help} ({native})")
    action.triggered.connect(lambda _checked: do())
    window.addAction(action)
    return action
