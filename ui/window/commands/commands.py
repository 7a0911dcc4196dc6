"""All commands of the window with their keys; menus, tool bar and help read this registry."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolBar, QToolButton, QWidget, QWidgetAction

from app.domain.text import titled, tr
from ui.icons import SMALL_ICON, set_icon
from ui.theme import Theme
from ui.widgets.fields import plain
from ui.widgets.tab_order import set_reading_tab_order


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the window.

    Attributes:
        id: stable name.
        text: of menu and button, with its mnemonic.
        keys: shortcut, as `QKeySequence` reads it; empty for none.
        help: description, a sentence; by default its text.
        checkable: whether it toggles something.
        in_tool_bar: whether it is in the tool bar.
        icon: name of its icon in resources/icons/lucide; commands that toggle have a tick instead.
    """

    id: str
    text: str
    keys: str
    help: str = ""
    checkable: bool = False
    in_tool_bar: bool = False
    icon: str = ""

    @property
    def description(self) -> str:
        """What it does."""
        return self.help or plain(self.text).removesuffix(" …")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a page handles itself; listed in the help."""

    keys: str
    help: str


COMMANDS: Final = (
    Command(
        "new",
        tr("&New benchmark"),
        "Ctrl+N",
        in_tool_bar=True,
        icon="plus",
    ),
    Command("runs", tr("&Runs"), "Ctrl+1", in_tool_bar=True, icon="chart-line"),
    Command(
        "open",
        tr("&Open runs …"),
        "Ctrl+O",
        in_tool_bar=True,
        icon="folder-open",
    ),
    Command(
        "compare",
        tr("Compar&e"),
        "Ctrl+M",
        in_tool_bar=True,
        icon="scale",
    ),
    Command(
        "report",
        tr("Re&port …"),
        "Ctrl+P",
        in_tool_bar=True,
        icon="file-text",
    ),
    Command(
        "charts",
        tr("&Charts …"),
        "Ctrl+K",
        in_tool_bar=True,
        icon="sliders-horizontal",
    ),
    Command(
        "replay",
        tr("&Replay"),
        "Ctrl+R",
        tr("Plays the selected run as if it were live, with speed, pause, jumps and talk mode."),
        icon="play",
    ),
    Command(
        "race",
        tr("R&ace"),
        "Ctrl+Shift+R",
        tr("Plays two to six shown runs side by side in full screen, and shows the leader and stalls."),
        in_tool_bar=True,
        icon="flag",
    ),
    Command(
        "import",
        tr("&Import …"),
        "Ctrl+I",
        icon="download",
    ),
    Command("live", tr("&Live campaign"), "Ctrl+2", icon="activity"),
    Command("start", tr("&Start page"), "Ctrl+3", icon="house"),
    Command("search", tr("Fin&d runs"), "Ctrl+F", icon="search"),
    Command(
        "edit",
        tr("Name, ta&gs, note …"),
        "F2",
        icon="pencil",
    ),
    Command("library", tr("&Library"), "F9", checkable=True),
    Command("facts", tr("&Facts"), "F10", checkable=True),
    Command("panel", tr("Ne&xt panel"), "F6"),
    Command(
        "campaign",
        tr("&Whole campaign"),
        "Ctrl+A",
        tr("Shows all runs of the selected campaign."),
        icon="list-checks",
    ),
    Command(
        "clear",
        tr("&Empty the charts"),
        "Ctrl+Backspace",
        icon="eraser",
    ),
    Command(
        "undo",
        tr("&Undo"),
        "Ctrl+Z",
        tr("Restores the runs last moved to the trash, or undoes the last change to the ticked runs."),
    ),
    Command(
        "refresh",
        tr("Re&fresh"),
        "F5",
        icon="refresh-cw",
    ),
    Command("example", tr("Look at an &example"), "", icon="lightbulb"),
    Command(
        "preferences",
        tr("Pre&ferences …"),
        "Ctrl+,",
        icon="settings",
    ),
    Command(
        "manual",
        tr("Man&ual"),
        "Shift+F1",
        icon="file-text",
    ),
    Command(
        "help",
        tr("&Help and machine"),
        "F1",
        icon="circle-question-mark",
    ),
    Command(
        "close", tr("&Close"), "Ctrl+W", tr("Closes this window; a running campaign continues."), icon="x"
    ),
)

KEYS: Final = (
    Key("Up, Down", tr("In the library: moves the focus and draws the run in focus thick.")),
    Key("Space", tr("In the library: adds the run or campaign to the charts or removes it.")),
    Key("Return", tr("In the library: shows the run or campaign alone, like a double click.")),
    Key("Delete", tr("In the library: moves the run or campaign to the trash (can be undone).")),
    Key("Menu, Shift+F10", tr("Opens the menu of a run or of a chart.")),
    Key("Alt+letter", tr("Presses the control with this letter underlined.")),
)


def find_command(name: str) -> Command:
    """Return a command by its id."""
    return next(command for command in COMMANDS if command.id == name)


def make_actions(window: QWidget, deeds: Mapping[str, Callable[[], None]]) -> dict[str, QAction]:
    """Return an action for each command id with its function; keys work in the whole window."""
    set_reading_tab_order(window)
    return {name: _make_action(window, find_command(name), do) for name, do in deeds.items()}


def _make_action(window: QWidget, command: Command, do: Callable[[], None]) -> QAction:
    action = QAction(command.text, window)
    action.setCheckable(command.checkable)
    action.setToolTip(command.description)
    if command.keys:
        action.setShortcut(QKeySequence(command.keys))
        native = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{command.description} ({native})")
    action.triggered.connect(lambda _checked: do())
    window.addAction(action)
    return action


# The tool bar: the most used commands, and a menu with all of them.


_ABOVE_THE_FACTS = frozenset({"replay", "race"})
_BREAKS_AFTER = frozenset({"import", "race", "start", "edit", "panel", "clear", "example"})


class ToolBar(QToolBar):
    """Buttons with icon and word, at most six.

    Attributes:
        menu_button: opens the menu of all commands.
        menu: of all commands.
    """

    def __init__(self, actions: Mapping[str, QAction], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(titled(tr("commands")), parent)
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
        self.menu_button.setAccessibleName(plain(tr("&Menu")))
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
