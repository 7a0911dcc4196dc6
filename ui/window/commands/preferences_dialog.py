"""“Preferences …” (Ctrl+,): the user's preferences, for window and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.domain.campaign.configuration import DEFAULT_REPEATS, DEFAULT_REPEATS_OF_SEVERAL
from app.domain.errors import FootingError, UsageError
from app.domain.text import OWN_NAMES, languages, tr
from app.library.entries import standard_library, why_not_writable
from app.preferences import (
    BY_COUNTRY,
    MOST_REPEATS,
    SYSTEM,
    Preferences,
    preferences_path,
    read_preferences,
    write_preferences,
)
from ui.theme import LARGE, MEDIUM, Scheme, Theme
from ui.widgets.fields import plain
from ui.widgets.layouts import fill, screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ElidedComboBox, ErrorText, Text


def preferred_scheme(preferences: Preferences) -> Scheme | None:
    """Return the preferred colours; None for the desktop's."""
    return {"light": Scheme.LIGHT, "dark": Scheme.DARK}.get(preferences.theme)


def prefers_contrast(preferences: Preferences) -> bool | None:
    """Return whether high contrast is preferred; None for the desktop's setting."""
    return {"normal": False, "high": True}.get(preferences.contrast)


class PreferencesDialog(QDialog):
    """All preferences on one page; nothing is written before OK.

    Attributes:
        theme, contrast, language, paper, repeats, library, notify, when_done: a field for each
            preference.
        problem: why nothing was written.

    Signals:
        notified: a sentence about changes that take effect after a restart.
    """

    notified = Signal(str)

    def __init__(self, theme: Theme, library: Path, parent: QWidget | None = None) -> None:
        """Create the dialog.

        Args:
            theme: changed at OK.
            library: of the window.
            parent: the window.
        """
        super().__init__(parent)
        set_reading_tab_order(self)
        self._theme = theme
        self._shown_library = library
        self._before, refusal = read_preferences()
        self.setWindowTitle(plain(tr("Pre&ferences …")).removesuffix(" …"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        as_desktop = tr("Follow desktop")
        self.theme = _box({SYSTEM: as_desktop, "light": tr("Light"), "dark": tr("Dark")}, self._before.theme)
        contrasts = {SYSTEM: as_desktop, "normal": tr("Normal"), "high": tr("High")}
        self.contrast = _box(contrasts, self._before.contrast)
        names = {each: OWN_NAMES.get(each, each) for each in languages()}
        self.language = _box({SYSTEM: as_desktop, **names}, self._before.language)
        papers = {BY_COUNTRY: tr("As in the desktop's country"), "a4": "A4", "letter": "Letter"}
        self.paper = _box(papers, self._before.paper)
        self.repeats = QSpinBox()
        self.repeats.setRange(0, MOST_REPEATS)
        self.repeats.setSpecialValueText(_usual_repeats())
        self.repeats.setValue(self._before.repeats)
        self.library = QLineEdit(self._before.library)
        self.library.setPlaceholderText(_standard())
        self.choose = QPushButton(tr("C&hoose …"))
        self.notify = QCheckBox(tr("Notify me when a campaign &ends"))
        self.notify.setChecked(self._before.notify)
        self.when_done = QLineEdit(self._before.when_done)
        self.when_done.setPlaceholderText(tr("None, or for example: systemctl suspend"))
        self.problem = ErrorText(theme)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self._lay_out(refusal)
        self.choose.clicked.connect(self._choose_folder)
        self.buttons.accepted.connect(self.accept_all)
        self.buttons.rejected.connect(self.reject)

    def _lay_out(self, refusal: str) -> None:
        muted = "muted"
        folder = fill(QHBoxLayout(), (self.library, 1), self.choose)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(tr("&Theme"), self.theme)
        form.addRow(tr("Co&ntrast"), self.contrast)
        form.addRow(tr("&Language"), self.language)
        form.addRow(
            "", Text(self._theme, tr("Language and library take effect after a restart."), role=muted)
        )
        form.addRow(tr("Report pa&per"), self.paper)
        form.addRow(tr("&Repeats in a new benchmark"), self.repeats)
        form.addRow(tr("Li&brary"), folder)
        self._name(form, folder)
        moves = tr("Existing runs are not moved.")
        form.addRow("", Text(self._theme, moves, role=muted))
        form.addRow("", self.notify)
        form.addRow(tr("Command &when done"), self.when_done)
        runs = tr(
            "Runs as you, without a shell: after each campaign started in the window, and once after all "
            "campaigns of one “pgfooting run”."
        )
        form.addRow("", Text(self._theme, runs, role=muted))
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setSpacing(MEDIUM)
        if refusal:
            layout.addWidget(Text(self._theme, refusal, role="warning"))
        layout.addLayout(form)
        layout.addWidget(Text(self._theme, str(preferences_path()), role=muted))
        layout.addStretch(1)
        area = QScrollArea(widgetResizable=True)  # with large type they are higher than a screen
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inner)
        outer = fill(QVBoxLayout(self), (area, 1), self.problem, self.buttons, spacing=MEDIUM)
        width = self.fontMetrics().averageCharWidth() * 110
        margins = outer.contentsMargins()
        beside = margins.left() + margins.right() + area.verticalScrollBar().sizeHint().width()
        needed = QSize(max(inner.sizeHint().width() + beside, width), inner.sizeHint().height() + 4 * LARGE)
        self.resize(needed.boundedTo(screen_room(self)))

    def _name(self, form: QFormLayout, folder: QHBoxLayout) -> None:
        """Set the buddy of the library's label to its field instead of the row."""
        label = form.labelForField(folder)
        if label is not None:
            label.setBuddy(self.library)  # type: ignore[attr-defined] # QFormLayout makes a QLabel
        self.library.setAccessibleName(plain(tr("&Library")))

    @property
    def chosen(self) -> Preferences:
        """The values of the fields."""
        return replace(
            self._before,
            theme=str(self.theme.currentData()),
            contrast=str(self.contrast.currentData()),
            language=str(self.language.currentData()),
            paper=str(self.paper.currentData()),
            repeats=self.repeats.value(),
            library=self.library.text().strip(),
            notify=self.notify.isChecked(),
            when_done=self.when_done.text().strip(),
        )

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self, plain(tr("&Library")), self.library.text() or str(self._shown_library))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.library.setText)
        dialog.open()

    def accept_all(self) -> None:
        """Write the preferences and close; on an error show it and write nothing."""
        chosen = self.chosen
        try:
            _check_library(chosen.library)
            aside = write_preferences(chosen)
        except FootingError as error:
            self.problem.setText(f"{error.message} {error.hint}".strip())
            self.problem.show()
            return
        self._theme.set_scheme(preferred_scheme(chosen))
        self._theme.set_high_contrast(prefers_contrast(chosen))
        self._notify(chosen, aside)
        self.accept()

    def _notify(self, chosen: Preferences, aside: Path | None) -> None:
        sentences = []
        if aside is not None:
            sentences.append(
                tr("The preferences that could not be read are kept in {path}.").format(path=aside)
            )
        if (chosen.language, chosen.library) != (self._before.language, self._before.library):
            sentences.append(tr("Language and library take effect after a restart."))
        if sentences:
            self.notified.emit(" ".join(sentences))


def _box(choices: Mapping[str, str], chosen: str) -> ElidedComboBox:
    box = ElidedComboBox()
    for value, text in choices.items():
        box.addItem(text, value)
    if chosen not in choices:  # a language whose catalogue is not here is no mistake
        box.addItem(chosen, chosen)
    box.setCurrentIndex(box.findData(chosen))
    return box


def _standard() -> str:
    try:
        return str(standard_library())
    except FootingError:  # without a home one has to be chosen
        return ""


def _usual_repeats() -> str:
    sentence = tr("Default: {few} ({several} for three or more configurations)")
    return sentence.format(few=DEFAULT_REPEATS, several=DEFAULT_REPEATS_OF_SEVERAL)


def _check_library(folder: str) -> None:
    """Check that a library can be used.

    Raises:
        UsageError: it is no absolute path, or not writable.
    """
    if not folder:
        return
    if not folder.startswith("/"):
        raise UsageError(tr("The library must be a full path, starting with “/”."))
    if reason := why_not_writable(Path(folder)):
        raise UsageError(reason, hint=tr("Choose another folder."))
