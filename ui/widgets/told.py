"""What painted widgets say to those who do not see them: worked out when a screen reader asks."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget
from typing_extensions import override


@runtime_checkable
class TellsData(Protocol):
    """A widget whose data are painted."""

    def told_data(self) -> str:
        """Return all that is shown now, in sentences."""


class _Told(QAccessibleWidget):
    """Describes a widget by its data."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget, QAccessible.Role.Chart)

    @override
    def text(self, t: QAccessible.Text) -> str:
        if t is QAccessible.Text.Description and self.isValid():
            widget = self.object()
            if isinstance(widget, TellsData):
                return widget.told_data()
        return super().text(t)


def _interface_of(_class_name: str, asked: QObject) -> QAccessibleInterface | None:
    """Return the interface of a widget that tells its data; None for what Qt knows how to describe."""
    return _Told(asked) if isinstance(asked, QWidget) and hasattr(type(asked), "told_data") else None


@lru_cache(maxsize=1)
def tell_data_to_screen_readers() -> None:
    """Let every `TellsData` of this process be described by its data; once is enough."""
    QAccessible.installFactory(_interface_of)


def is_listened_to() -> bool:
    """Return whether a screen reader, or something like it, asks this program."""
    return QAccessible.isActive()


def announce(widget: QWidget, sentence: str) -> None:
    """Let a screen reader say a sentence after what it says now; nothing where none listens."""
    if sentence and is_listened_to():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, sentence))


def tell_changed(widget: QWidget) -> None:
    """Let a screen reader know that the data of a widget are others; nothing where none listens."""
    if is_listened_to():
        QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))
