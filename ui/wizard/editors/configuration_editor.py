"""The form for one configuration of the list: name, location, connection, layout, settings, changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.problem import Problem
from app.domain.text import tr, trn
from app.draft.disks.alternatives import made_by, short_name
from app.draft.disks.filesystems import choose_filesystem, choose_preset, circumstances, set_option
from app.draft.disks.options import changed_words, options_page
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import preset_of, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.fields import CHANGEABLE, FIELDS, SETTINGS
from app.draft.fields.state import ConfigurationDraft, Place
from app.draft.fields.storage_state import DisksDraft, MadeDraft, level_of
from ui.theme import SMALL, TINY, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import (
    HELP,
    Field,
    combo_box,
    describe_button,
    line_edit,
    push_button,
    set_text,
    text_box,
)
from ui.widgets.texts import ErrorText, Text, show_tip
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
        self.wal = QCheckBox(tr("WAL on the disks that were chosen for &it"))
        describe_button(self.wal, "use")
        combos = (
            Field(theme, tr("File&system:"), self.filesystem, "configuration.place"),
            Field(theme, tr("RAID &level:"), self.level, "target.disks.level"),
            Field(theme, tr("Pr&eset:"), self.preset, "preset"),
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(Columns(combos, 24))
        for widget in (self.wal, self.options.bar, self.options, self.unsafe):
            layout.addWidget(widget)
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
        made = made_by(self._draft.parts, configuration)
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
        parts, facts = self._draft.parts, self._draft.storage
        server = server_settings_of(parts)
        around = circumstances(disks.data, made, facts, server=server, zfs_log=len(disks.zfs_log))
        page = options_page(made, around)
        self.options.show_options(spec_of(made), page)
        words = tr("Chosen against the defaults: {options}").format(options=changed_words(page))
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


CONNECTION: Final = "target.server.connection"
ROOM: Final = "target.server.room"
SSH: Final = "target.server.ssh"


class ServerFields(QWidget):
    """Fields for connection, size limit, and ssh name of a server that already runs.

    Signals:
        edited: key of a campaign file, and the typed text.

    Attributes:
        connection: line for the connection string.
        room: line for a size.
        ssh: line for the ssh name of its machine.
        fields: with their labels, by key of a campaign file.
    """

    edited = Signal(str, str)

    def __init__(self, theme: Theme, connection: str, room: str, ssh: str) -> None:
        """Create the fields with these labels, with the page's mnemonics."""
        super().__init__()
        self.connection = line_edit("host=db.example user=bench")
        self.room = line_edit(tr("nobody knows"))
        self.ssh = line_edit(tr("not asked"))
        self.fields = {
            CONNECTION: Field(theme, connection, self.connection, CONNECTION),
            ROOM: Field(theme, room, self.room, ROOM),
            SSH: Field(theme, ssh, self.ssh, SSH),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        for field in self.fields.values():
            layout.addWidget(field)
        self._edits = {CONNECTION: self.connection, ROOM: self.room, SSH: self.ssh}
        for key, edit in self._edits.items():
            edit.textEdited.connect(partial(self.edited.emit, key))

    def show_texts(self, texts: Mapping[str, str]) -> None:
        """Show texts by key of a campaign file; a field with an unchanged text keeps its cursor."""
        for key, edit in self._edits.items():
            set_text(edit, texts.get(key, ""))


_PLACES: Final = {
    Place.FOLDER: tr("The folder of the first page"),
    Place.MEMORY: tr("Memory, as on the first page"),
    Place.DISKS: tr("The spare disks"),
    Place.SERVER: tr("The existing server of the first page"),
    Place.OTHER_FOLDER: tr("Another folder"),
    Place.OTHER_MEMORY: tr("Memory, at most"),
    Place.OTHER_SERVER: tr("Another existing server"),
}
_ONE_LINE: Final = {
    Place.OTHER_FOLDER: ("target.folder.path", "/srv/bench"),
    Place.OTHER_MEMORY: ("target.memory.size", "4 GiB"),
}
"""Separate places given by one line: its key of campaign files, and an example."""
_FIRST_CHANGE: Final = "workload.clients"


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
            made = made_by(draft.parts, configuration)
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
        self.place_text = line_edit()
        self.place_text.setAccessibleName(tr("Folder or size"))
        self.place_text.setProperty(HELP, "configuration.place")
        self.server = ServerFields(theme, tr("Connection:"), tr("Room for it:"), tr("Its machine, by ssh:"))
        self.settings = text_box(theme, "synchronous_commit = off", 3)
        self.changes = _ChangesEditor()
        self.made = MadeEditor(draft, theme)
        self._name = Field(theme, tr("Na&me:"), self.name, "configuration.name")
        self._place = Field(
            theme, tr("&Data in:"), self.place, "configuration.place", beside=(self.place_text,)
        )
        self._settings = Field(theme, tr("Se&ttings of this one:"), self.settings, "configuration.settings")
        self._error = ErrorText(theme)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(Columns((self._name, self._place), 34))
        layout.addWidget(self.server)
        layout.addWidget(self.made)
        layout.addWidget(self._settings)
        layout.addWidget(self.changes)
        layout.addWidget(self._error)
        self.name.textEdited.connect(self._on_name)
        self.place.currentIndexChanged.connect(self._on_place)
        self.place_text.textEdited.connect(lambda text: self._on_text(self._one_line()[0], text))
        self.server.edited.connect(self._on_text)
        self.settings.textChanged.connect(self._on_settings)
        self.made.edited.connect(self.edited)
        self.changes.edited.connect(self.edited)

    def show_configuration(self, configuration: ConfigurationDraft) -> None:
        """Show a configuration; for a place of the first page only its name can be edited."""
        self._loading = True
        self._configuration = configuration
        set_text(self.name, configuration.name)
        self.place.setCurrentIndex(self.place.findData(configuration.place))
        self.server.show_texts(configuration.texts)
        set_text(self.settings, configuration.texts.get(SETTINGS, ""))
        self.changes.show_changes(configuration.texts)
        for widget in (self._place, self._settings, self.changes):
            widget.setVisible(not configuration.from_where)
        self._loading = False
        self._show_place_text()
        self._show_made()

    def show_problems(self, problems: Sequence[Problem], path: str) -> None:
        """Show the problems of this configuration at their fields."""
        rest = list(problems)
        keys = {ROOM: ROOM, SSH: SSH, CONNECTION: "target.server"}  # a missing one is reported there
        on_server = [(self.server.fields[key], f"{path}.{of}") for key, of in keys.items()]
        for field, key in (
            *(on_server if not self.server.isHidden() else ()),
            (self._name, f"{path}.name"),
            (self._place, f"{path}.target"),
            (self._settings, f"{path}.postgresql.settings"),
        ):
            mine = [each for each in rest if belongs(each.path, key)]
            field.show_problems(mine)
            rest = [each for each in rest if each not in mine]
        self._error.show_problems(rest)

    def _show_place_text(self) -> None:
        key, example = self._one_line()
        self.place_text.setVisible(bool(key))
        self.place_text.setPlaceholderText(example)
        set_text(self.place_text, self._configuration.texts.get(key, "") if self._configuration else "")
        self.server.setVisible(self.place.currentData() == Place.OTHER_SERVER)

    def _one_line(self) -> tuple[str, str]:
        """Return key and example of the line beside the place; empty if it has none."""
        return _ONE_LINE.get(self.place.currentData(), ("", ""))

    def _show_made(self) -> None:
        each = self._configuration
        on_disks = each is not None and each.place is Place.DISKS and not each.from_where
        self.made.setVisible(on_disks)
        if each is not None and on_disks:
            self.made.show_configuration(each)

    def _on_name(self, text: str) -> None:
        if self._configuration is not None:
            self._configuration.name = text
            self.edited.emit()

    def _on_place(self) -> None:
        if self._configuration is not None and not self._loading:
            self._configuration.place = Place(self.place.currentData())
            self._show_place_text()
            self._show_made()
            self.edited.emit()

    def _on_text(self, key: str, text: str) -> None:
        if self._configuration is not None and not self._loading:
            self._configuration.texts[key] = text
            self.edited.emit()

    def _on_settings(self) -> None:
        self._on_text(SETTINGS, self.settings.toPlainText())


class _ChangesEditor(QWidget):
    """Rows of key and value: clients, 16.

    Attributes:
        rows: in the order of the changes.

    Signals:
        edited: something was changed.
    """

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, str] = {}
        self.rows: list[QWidget] = []
        self.add = push_button(tr("C&hange something else"), "changes")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(TINY)
        bottom = QHBoxLayout()
        bottom.addWidget(self.add)
        bottom.addStretch(1)
        self._layout.addLayout(bottom)
        self.add.clicked.connect(self._add)

    @property
    def _keys(self) -> list[str]:
        return [key for key in self._texts if key in CHANGEABLE]

    def show_changes(self, texts: dict[str, str]) -> None:
        """Show the changes among the texts of a configuration, and edit them in place."""
        self._texts = texts
        for row in self.rows:
            self._layout.removeWidget(row)
            row.deleteLater()
        self.rows = []
        for number, changed in enumerate(self._keys):
            row = self._row(changed, number + 1)
            self._layout.insertWidget(number, row)
            self.rows.append(row)
        self.add.setEnabled(len(self._keys) < len(CHANGEABLE))

    def _row(self, changed: str, number: int) -> QWidget:
        row = QWidget()
        key = combo_box()
        for each in CHANGEABLE:
            if each == changed or each not in self._texts:
                key.addItem(FIELDS[each].shown_name, each)
        key.setCurrentIndex(key.findData(changed))
        text = line_edit()
        text.setText(self._texts[changed])
        show_tip(text, FIELDS[changed].kind.allowed)
        remove = push_button("✕", "changes")
        remove.setFixedWidth(remove.sizeHint().height() + SMALL)
        names = {
            key: tr("What change {number} changes"),
            text: tr("Value of change {number}"),
            remove: tr("Remove change {number}"),
        }
        layout = QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        for widget, name in names.items():
            widget.setAccessibleName(name.format(number=number))
            widget.setProperty(HELP, "changes")
            layout.addWidget(widget, {key: 2, text: 3}.get(widget, 0))
        row.setFocusProxy(key)
        key.currentIndexChanged.connect(lambda: self._on_key(changed, str(key.currentData())))
        text.textEdited.connect(partial(self._on_text, changed))
        remove.clicked.connect(partial(self._remove, changed))
        return row

    def _add(self) -> None:
        wanted = (_FIRST_CHANGE, *CHANGEABLE)
        self._texts[next(key for key in wanted if key not in self._texts)] = ""
        self.show_changes(self._texts)
        self.rows[-1].setFocus()
        self.edited.emit()

    def _on_key(self, before: str, key: str) -> None:
        place = self._keys.index(before)
        renamed = {key if each == before else each: text for each, text in self._texts.items()}
        self._texts.clear()
        self._texts.update(renamed)
        self.show_changes(self._texts)  # the other rows offer what is left
        self.rows[place].setFocus()
        self.edited.emit()

    def _on_text(self, changed: str, text: str) -> None:
        self._texts[changed] = text
        self.edited.emit()

    def _remove(self, changed: str) -> None:
        del self._texts[changed]
        self.show_changes(self._texts)
        self.add.setFocus()
        self.edited.emit()
