"""The form for one configuration of the list: name, location, connection, layout, settings, changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QVBoxLayout, QWidget

from app.domain.errors import Problem
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.text import tr, trn
from app.draft.disks.filesystems import (
    changed_words,
    choose_filesystem,
    choose_preset,
    circumstances,
    options_page,
    set_option,
)
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import preset_of, short_name, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.state import (
    CHANGEABLE,
    FIELDS,
    ON_FIRST_PAGE,
    OWN_SCRIPTS,
    SETTINGS,
    ConfigurationDraft,
    DisksDraft,
    MadeDraft,
    Place,
    level_of,
    put,
)
from ui.theme import SMALL, Theme
from ui.widgets.fields import (
    HELP,
    Field,
    combo_box,
    describe_button,
    line_edit,
    push_button,
    set_text,
)
from ui.widgets.layouts import Columns, fill
from ui.widgets.texts import ErrorText, Text, show_tip
from ui.wizard.base.controls import Form
from ui.wizard.base.page import belongs
from ui.wizard.editors.options_form import OptionsForm


class MadeEditor(QWidget):
    """Edit a configuration's filesystem in place, with the fields of the filesystem page.

    Signals:
        edited: something was changed.
    """

    edited = Signal()

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__()
        self._draft = draft
        self._configuration: ConfigurationDraft | None = None
        self._loading = False
        self.filesystem, self.level, self.preset = combo_box(), combo_box(), combo_box()
        for spec in FILESYSTEMS:
            if spec.levels:
                self.filesystem.addItem(spec.label, spec.id)
        for level in Level:
            self.level.addItem(level.label, level)
        self.options = OptionsForm(theme, brief=True)
        self.unsafe = Text(theme, role="warning")
        self.wal = QCheckBox(tr("Put WAL on &its own disks"))
        describe_button(self.wal, "use")
        combos = (
            Field(theme, tr("File&system:"), self.filesystem, "configuration.place"),
            Field(theme, tr("RAID &level:"), self.level, "target.disks.level"),
            Field(theme, tr("Pr&eset:"), self.preset, "preset"),
        )
        fill(
            QVBoxLayout(self),
            Columns(combos, 24),
            self.wal,
            self.options.bar,
            self.options,
            self.unsafe,
            spacing=SMALL,
            margins=0,
        )
        for box in (self.filesystem, self.level, self.preset):
            box.currentIndexChanged.connect(self._on_chosen)
        self.options.listen_for_find(self)
        self.options.entered.connect(self._on_value_entered)
        self.options.clear.clicked.connect(self._on_clear)
        self.wal.toggled.connect(self._on_wal)

    def show_configuration(self, configuration: ConfigurationDraft) -> None:
        """Show and edit a configuration."""
        self._loading = True
        self._configuration = configuration
        made = self._draft.parts.made_of(configuration)
        _choose(self.filesystem, made.filesystem)
        disks = self._draft.parts.disks_of(configuration)
        _choose(self.level, level_of(made, len(disks.data.disks)))
        self.preset.clear()
        for preset in spec_of(made).presets:
            self.preset.addItem(preset.label, preset.id)
        _choose(self.preset, preset_of(made))
        self.wal.setVisible(bool(disks.wal.disks))
        self.wal.setChecked(configuration.wal_apart)
        self._show_options(made, disks)
        self._loading = False

    def _show_options(self, made: MadeDraft, disks: DisksDraft) -> None:
        """Show the options as on the filesystem page, with their costs."""
        server = server_settings_of(self._draft.parts)
        page = options_page(made, circumstances(disks, self._draft.storage, server, made=made))
        self.options.show_options(spec_of(made), page)
        words = tr("Changed from the defaults: {options}").format(options=changed_words(page))
        risks = dict.fromkeys(risk for _, _, risk in page.unsafe)
        sentence = tr("⚠ UNSAFE: {risk}")
        sentences = [sentence.format(risk=risk) for risk in risks]
        self.unsafe.setText("\n".join((words, *sentences) if sentences else ()))
        self.unsafe.setVisible(bool(sentences))

    def _own(self) -> MadeDraft | None:
        """Return the configuration's layout, made independent of the pages."""
        each = self._configuration
        if each is None or self._loading:
            return None
        if each.made is None:
            each.made = self._draft.parts.disks_of(each).data.made.copy()
        return each.made

    def _on_chosen(self) -> None:
        made = self._own()
        if made is None or self._configuration is None:
            return
        before = made.filesystem
        choose_filesystem(made, str(self.filesystem.currentData()))
        made.level = Level(self.level.currentData())
        if made.filesystem == before and self.preset.currentData() not in {None, preset_of(made)}:
            choose_preset(made, str(self.preset.currentData()))
        self.show_configuration(self._configuration)
        self.edited.emit()

    def _on_value_entered(self, option_id: str, text: str) -> None:
        made = self._own()
        if made is not None and self._configuration is not None:
            set_option(made, spec_of(made).option(option_id), text)
            self.show_configuration(self._configuration)
            self.edited.emit()

    def _on_clear(self) -> None:
        made = self._own()
        if made is not None and self._configuration is not None:
            made.typed.clear()
            self.show_configuration(self._configuration)
            self.edited.emit()

    def _on_wal(self, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if self._configuration is not None and not self._loading:
            self._configuration.wal_apart = ticked
            self.edited.emit()


def _choose(box: QComboBox, value: object) -> None:
    box.setCurrentIndex(max(0, box.findData(value)))


_PLACES: Final = {
    Place.FOLDER: tr("The folder chosen on the first page"),
    Place.MEMORY: tr("Memory, as chosen on the first page"),
    Place.DISKS: tr("The spare disks"),
    Place.SERVER: tr("The existing server chosen on the first page"),
    Place.OTHER_FOLDER: tr("Another folder"),
    Place.OTHER_MEMORY: tr("Memory, at most"),
    Place.OTHER_SERVER: tr("Another existing server"),
}


def place_label(draft: CampaignDraft, configuration: ConfigurationDraft) -> str:
    """Return the location of a configuration's data, in one line."""
    environment, text_of = draft.environment, partial(draft.parts.target_text, configuration)
    match configuration.place:
        case Place.FOLDER | Place.OTHER_FOLDER:
            on_page = configuration.place is Place.FOLDER
            default = environment.folder_path if environment and on_page else ""
            return text_of("path").strip() or default or tr("default folder")
        case Place.MEMORY:
            return tr("memory")
        case Place.DISKS:
            made = draft.parts.made_of(configuration)
            count = len(draft.parts.disks_of(configuration).data.disks)
            sentence = trn("{count} disk: {made}", "{count} disks: {made}", count)
            return sentence.format(count=count, made=short_name(made, count))
        case Place.SERVER | Place.OTHER_SERVER:
            return text_of("connection").strip() or tr("a server")
        case Place.OTHER_MEMORY:
            return tr("memory, at most {size}").format(size=text_of("size"))


class ConfigurationEditor(QWidget):
    """Edit a configuration of the draft in place.

    Signals:
        edited: something was changed.
    """

    edited = Signal()

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__()
        self._configuration: ConfigurationDraft | None = None
        self._loading = False
        self.name = line_edit()
        self.place = combo_box()
        for place, label in _PLACES.items():
            self.place.addItem(label, place)
        self._draft = draft
        removes = {key: push_button("✕") for key in CHANGEABLE}
        for key, button in removes.items():
            button.setFixedWidth(button.sizeHint().height() + SMALL)
            button.setAccessibleName(tr("Remove change to {name}").format(name=FIELDS[key].shown_name))
            button.clicked.connect(partial(self._remove_change, key))
        self.form = Form(
            theme,
            (*ON_FIRST_PAGE, SETTINGS, *CHANGEABLE),
            beside={key: (button,) for key, button in removes.items()},
            has_mnemonics=False,
        )
        for key in CHANGEABLE:
            show_tip(self.form.fields[key].control, FIELDS[key].kind.allowed)
        self._settings = self.form.fields[SETTINGS]
        self._settings.label.setText(tr("Its se&ttings:"))
        self._settings.control.setProperty(HELP, "configuration.settings")
        self.change = combo_box()
        self._change = Field(theme, tr("C&hange something else:"), self.change, "")
        self.made = MadeEditor(draft, theme)
        self._name = Field(theme, tr("Na&me:"), self.name, "configuration.name")
        self._place = Field(theme, tr("&Data in:"), self.place, "configuration.place")
        self._error = ErrorText(theme)
        layout = fill(QVBoxLayout(self), Columns((self._name, self._place), 34), spacing=SMALL, margins=0)
        places = [self.form.fields[key] for key in ON_FIRST_PAGE]
        changes = Columns([self.form.fields[key] for key in CHANGEABLE], 34)
        for widget in (*places, self.made, self._settings, changes, self._change, self._error):
            layout.addWidget(widget)
        self.name.textEdited.connect(self._on_name)
        self.place.currentIndexChanged.connect(self._on_place)
        self.form.edited.connect(self._on_text)
        self.made.edited.connect(self.edited)
        self.change.activated.connect(self._add_change)

    def show_configuration(self, configuration: ConfigurationDraft) -> None:
        """Show a configuration; for a place of the first page only its name can be edited."""
        self._loading = True
        self._configuration = configuration
        set_text(self.name, configuration.name)
        self.place.setCurrentIndex(self.place.findData(configuration.place))
        self.form.show_texts(configuration.texts)
        self._show_changes(configuration)
        for widget in (self._place, self._settings, self._change):
            widget.setVisible(not configuration.from_where)
        self._loading = False
        self._show_place()

    def show_problems(self, problems: Sequence[Problem], path: str) -> None:
        """Show the problems of this configuration at their fields."""
        shown = {field: f"{path}.{key}" for key, field in self.form.fields.items() if not field.isHidden()}
        shown[self._name] = f"{path}.name"
        first = next((self.form.fields[key] for key in ON_FIRST_PAGE if self.form.fields[key] in shown), None)
        shown.pop(first or self._place, None)  # after the others: it takes what is of no key
        shown[first or self._place] = f"{path}.target"
        shown.setdefault(self._place, f"{path}.target")
        rest = list(problems)
        for field, about in shown.items():
            mine = [each for each in rest if belongs(each.path, about)]
            field.show_problems(mine)
            rest = [each for each in rest if each not in mine]
        self._error.show_problems(rest)

    def _show_place(self) -> None:
        """Show the fields of a separate place, or the filesystem on spare disks."""
        each = self._configuration
        kind = each.place.kind if each is not None and each.place.is_separate else "none"
        for key in ON_FIRST_PAGE:
            self.form.fields[key].setVisible(key.startswith(f"target.{kind}."))
        on_disks = each is not None and each.place is Place.DISKS and not each.from_where
        self.made.setVisible(on_disks)
        if each is not None and on_disks:
            self.made.show_configuration(each)

    def _show_changes(self, configuration: ConfigurationDraft) -> None:
        """Show the keys in which it differs from the pages, and offer the others."""
        self.change.clear()
        self.change.addItem(tr("choose …"), "")
        for key in CHANGEABLE:
            self.form.fields[key].setVisible(key in configuration.texts)
            if key not in configuration.texts:
                self.change.addItem(FIELDS[key].shown_name, key)

    def _add_change(self) -> None:
        key, each = str(self.change.currentData()), self._configuration
        if each is not None and key:
            text = self._draft.parts.values.get(key, FIELDS[key].placeholder)
            put(each.texts, key, "" if text == OWN_SCRIPTS else text)
            self.show_configuration(each)
            control = self.form.fields[key].control
            control.setFocus()
            if isinstance(control, QLineEdit):
                control.selectAll()
            self.edited.emit()

    def _remove_change(self, key: str) -> None:
        if self._configuration is not None:
            del self._configuration.texts[key]
            self.show_configuration(self._configuration)
            self.change.setFocus()
            self.edited.emit()

    def _on_name(self, text: str) -> None:
        if self._configuration is not None:
            self._configuration.name = text
            self.edited.emit()

    def _on_place(self) -> None:
        if self._configuration is not None and not self._loading:
            self._configuration.place = Place(self.place.currentData())
            self._show_place()
            self.edited.emit()

    def _on_text(self, key: str, text: str) -> None:
        if self._configuration is not None:
            self._configuration.texts[key] = text
            self.edited.emit()
