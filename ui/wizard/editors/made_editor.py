"""What one configuration makes of the disks: the same fields as on the page about filesystems."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QVBoxLayout, QWidget

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.text import tr
from app.draft.disks.alternatives import made_by
from app.draft.disks.filesystems import choose_filesystem, choose_preset, circumstances, say
from app.draft.disks.options import changed_words, options_page
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import preset_of, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.state import ConfigurationDraft
from app.draft.fields.storage_state import DisksDraft, MadeDraft, level_of
from ui.theme import SMALL, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import Field, combo_box, describe_button
from ui.widgets.texts import Text
from ui.wizard.editors.options_form import OptionsForm


class MadeEditor(QWidget):
    """Edits a configuration of the draft in place; what the pages about disks say is left alone.

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
        self.options.said.connect(self._on_said)
        self.options.clear.clicked.connect(self._on_clear)
        self.wal.toggled.connect(self._on_wal)

    def show_configuration(self, configuration: ConfigurationDraft) -> None:
        """Show and edit this one."""
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
        """Show the options as the page about filesystems does, with what they cost."""
        parts, facts = self._draft.parts, self._draft.storage
        server = server_settings_of(parts)
        around = circumstances(disks.data, made, facts, server=server, zfs_log=len(disks.zfs_log))
        page = options_page(made, around)
        self.options.show_options(spec_of(made), page)
        words = tr("Chosen against the defaults: {options}").format(options=changed_words(page))
        risks = dict.fromkeys(risk for _, _, risk in page.unsafe)
        sentence = tr("⚠ UNSAFE: {risk}")
        told = [sentence.format(risk=risk) for risk in risks]
        self.unsafe.setText("\n".join((words, *told) if told else ()))
        self.unsafe.setVisible(bool(told))

    def _own(self) -> MadeDraft | None:
        """Return what the configuration makes, as its own from now on."""
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

    def _on_said(self, option_id: str, text: str) -> None:
        made = self._own()
        if made is not None and self._configuration is not None:
            say(made, spec_of(made).option(option_id), text)
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
