"""Window state between two starts, in the user's settings (organisation pgFooting)."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings

from ui.charts.data.registry import CHARTS, DEFAULT_CHARTS
from ui.window.pages.runs_page import RunsState

ORGANISATION = "pgFooting"


def open_settings() -> QSettings:
    """Return the settings of this user."""
    return QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, ORGANISATION, "window")


class WindowSettings:
    """Typed access; invalid values count as missing.

    Attributes:
        qt: the settings themselves, for pages with their own values.
    """

    def __init__(self, settings: QSettings) -> None:
        self.qt = settings

    @property
    def geometry(self) -> QByteArray:
        """Place and size of the window, as Qt stores them."""
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self.qt.setValue("window/geometry", value)

    @property
    def open_folder(self) -> str:
        """Folder of the last opened run files."""
        return str(self.qt.value("open/folder", ""))

    @open_folder.setter
    def open_folder(self, value: str) -> None:
        self.qt.setValue("open/folder", value)

    @property
    def recent(self) -> tuple[str, ...]:
        """Run files and folders that were opened last, the newest first."""
        return self._texts("open/recent")

    @recent.setter
    def recent(self, value: tuple[str, ...]) -> None:
        self.qt.setValue("open/recent", list(value))

    @property
    def had_runs(self) -> bool:
        """Whether the library contained runs when it was last shown."""
        return self._flag("library/had_runs", default=False)

    @had_runs.setter
    def had_runs(self, value: bool) -> None:
        self.qt.setValue("library/had_runs", value)

    @property
    def runs(self) -> RunsState:
        """The page of saved runs."""
        known = tuple(name for name in self._texts("runs/charts") if name in CHARTS)
        return RunsState(
            self._texts("runs/chosen"),
            known or DEFAULT_CHARTS,
            self._bytes("runs/sizes"),
            self._flag("runs/library", default=True),
            self._flag("runs/facts", default=True),
        )

    @runs.setter
    def runs(self, state: RunsState) -> None:
        self.qt.setValue("runs/chosen", list(state.chosen))
        self.qt.setValue("runs/charts", list(state.charts))
        self.qt.setValue("runs/sizes", state.sizes)
        self.qt.setValue("runs/library", state.library)
        self.qt.setValue("runs/facts", state.facts)

    def _bytes(self, key: str) -> QByteArray:
        value = self.qt.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def _texts(self, key: str) -> tuple[str, ...]:
        value = self.qt.value(key)
        if isinstance(value, str):  # a list of one comes back as its only text
            return (value,)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self.qt.value(key, default)
        return value if isinstance(value, bool) else str(value).lower() == "true"
