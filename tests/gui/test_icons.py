from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QIcon, QImage, QPalette
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app import TOP
from ui.icons import ICONS, SMALL_ICON, icon_pixmap, make_icon, set_icon
from ui.style import qt_palette
from ui.theme import Scheme, Theme
from ui.widgets.fields import ChoiceButton
from ui.window.commands.commands import COMMANDS, ToolBar

NAMES = sorted(path.stem for path in ICONS.glob("*.svg"))


def strokes(icon: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal, side: int = SMALL_ICON) -> set[str]:
    """Return the colours of an icon's opaque pixels."""
    picture = icon.pixmap(QSize(side, side), 2.0, mode).toImage()
    seen = (picture.pixelColor(x, y) for x in range(picture.width()) for y in range(picture.height()))
    return {colour.name() for colour in seen if colour.alpha() == 255}


@pytest.mark.parametrize("name", NAMES)
def test_icons_painted_in_requested_colour(name: str) -> None:
    theme = Theme(Scheme.DARK)
    picture = icon_pixmap(name, theme.text, 24, 2.0)
    assert (picture.width(), picture.devicePixelRatio()) == (48, 2.0), "sharp at two pixels a pixel"
    assert theme.text.name() in strokes(make_icon(name, theme, 24), side=24)


def test_disabled_icon_is_paler() -> None:
    icon = make_icon("plus", Theme(Scheme.LIGHT))
    assert strokes(icon) != strokes(icon, QIcon.Mode.Disabled)


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_selected_row_icon_has_text_colour(scheme: Scheme) -> None:
    theme = Theme(scheme)
    icon = make_icon("usb", theme, selected="background")
    words = qt_palette(theme.palette).color(QPalette.ColorRole.HighlightedText).name()
    assert words in strokes(icon, QIcon.Mode.Selected)
    assert words not in strokes(icon)


@pytest.mark.parametrize("kind", [QAction, QPushButton, QToolButton])
def test_icons_follow_the_colours_and_their_owner(
    qtbot: QtBot, kind: type[QAction] | type[QPushButton] | type[QToolButton]
) -> None:
    theme = Theme(Scheme.LIGHT)
    target = kind()
    set_icon(target, "plus", theme)
    set_icon(target, "check", theme, colour="good")
    assert theme.colour("good").name() in strokes(target.icon())
    theme.set_scheme(Scheme.DARK)
    assert theme.colour("good").name() in strokes(target.icon())
    set_icon(target, "", theme)
    assert target.icon().isNull()
    target.deleteLater()
    qtbot.wait(1)
    theme.set_scheme(Scheme.LIGHT)


def test_card_icon_accent_or_pale(qtbot: QtBot) -> None:
    theme = Theme(Scheme.LIGHT)
    card = ChoiceButton("&New", "Asks a few questions.", theme, icon="plus")
    qtbot.addWidget(card)
    assert theme.colour("accent").name() in strokes(QIcon(card.picture.pixmap()), side=24)
    card.refuse("No PostgreSQL here.")
    assert theme.colour("muted").name() in strokes(QIcon(card.picture.pixmap()), side=24)


def test_tool_bar_icons_with_words(qtbot: QtBot) -> None:
    actions = {command.id: QAction(command.text) for command in COMMANDS}
    bar = ToolBar(actions, Theme(Scheme.LIGHT))
    qtbot.addWidget(bar)
    assert not actions["replay"].icon().isNull(), "it has a button above the facts"
    bar.menu_button.menu().aboutToShow.emit()
    for command in COMMANDS:
        assert actions[command.id].icon().isNull() == (not command.icon), command.id
        assert not (command.icon and command.checkable), "a tick stands there"
    for button in bar.findChildren(QToolButton):
        if button.objectName() != "qt_toolbar_ext_button":
            assert not button.icon().isNull()
            assert button.text()


def test_only_used_icons_exist() -> None:
    source = "\n".join(path.read_text() for path in (TOP / "ui").rglob("*.py"))
    words = set(re.findall(r'"([a-z][a-z0-9-]*)"', source))
    assert [name for name in NAMES if name not in words] == [], "shown nowhere: take them out"
    assert {command.icon for command in COMMANDS if command.icon} <= set(NAMES)


def test_the_licence_travels_with_the_icons() -> None:
    rest = {path.name for path in ICONS.iterdir() if path.suffix != ".svg"}
    assert rest == {"LICENSE", "README.md"}
    licence = (ICONS / "LICENSE").read_text()
    assert licence.startswith("ISC License")
    assert "The MIT License" in licence
    project = tomllib.loads(Path(TOP / "pyproject.toml").read_text())["project"]
    assert "resources/icons/lucide/LICENSE" in project["license-files"]


def test_an_icon_loads_nothing_from_elsewhere() -> None:
    for name in NAMES:
        drawing = (ICONS / f"{name}.svg").read_text()
        assert "href" not in drawing
        assert drawing.count("http") == 1, "the namespace"
        assert QImage.fromData(drawing.encode()).isNull() is False
