"""Choose disks, their order and RAID level: every disk of the machine, live, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.campaign_file.disks import WholeDisk
from app.domain.disk import SpareAnswer
from app.domain.errors import Problem
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import RELATION_ROLES, Role
from app.domain.text import format_size, tr
from app.draft.disks.layout import SEPARATE, DrawnDisk, DrawnGroup, LevelChoice, level_choices
from app.draft.disks.problems import group_warnings
from app.draft.disks.table import assign, chosen_words, disk_rows, forget_confirmations, move, reasons
from app.draft.disks.target import PREFIX, PREFIXES
from app.draft.draft import CampaignDraft
from app.draft.fields.state import FIELDS, GroupDraft, Step, level_of
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme, mix, painting
from ui.widgets.fields import HELP, Field, Section, combo_box, push_button, set_row_enabled
from ui.widgets.layouts import Columns, fill
from ui.widgets.texts import ReservedLines, ScrollingTexts, Text, below_rule, breakable, show_tip, tooltip
from ui.wizard.base.controls import Alternatives, Entry, Form
from ui.wizard.base.page import Page
from ui.wizard.editors.disk_table import DiskTable

# The drawing of a layout: disks with their partitions, the array above, the filesystem on top.


_BOX_EMS: Final = 24
_GROUP_EMS: Final = 46
"""Width for the facts of a group with one disk."""
_BAR: Final = 6
_LINES: Final = 3
_ROUND: Final = 4.0
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class LayoutDrawing(QWidget):
    """Groups in one row if there is room, else one below the other; read from bottom to top."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._groups: tuple[DrawnGroup, ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(tr("Layout"))
        self.setProperty(HELP, "layout")
        theme.changed.connect(self.update)

    def show_groups(self, groups: Sequence[DrawnGroup]) -> None:
        """Draw groups."""
        self._groups = tuple(groups)
        words = " ".join(group.words for group in groups) or tr("No disk is selected.")
        show_tip(self, words)  # names may look like markup
        self.updateGeometry()
        self.update()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return round(self._arrange(width)[1])

    @override
    def sizeHint(self) -> QSize:
        width = 3 * _BOX_EMS * self.fontMetrics().averageCharWidth()
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(_BOX_EMS * self.fontMetrics().averageCharWidth() + 2 * MEDIUM, 0)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for group, area in zip(self._groups, self._arrange(self.width())[0], strict=True):
                self._paint_group(painter, group, area)

    # --- positions

    @property
    def _box_width(self) -> float:
        return float(_BOX_EMS * self.fontMetrics().averageCharWidth())

    @property
    def _line(self) -> float:
        return float(self.fontMetrics().lineSpacing())

    @property
    def _disk_height(self) -> float:
        return _LINES * self._line + self.fontMetrics().lineSpacing() + _BAR + 2 * SMALL

    def _arrange(self, width: int) -> tuple[list[QRectF], float]:
        """Return the rectangle of each group, and the total height."""
        areas: list[QRectF] = []
        left, top, row_height = 0.0, 0.0, 0.0
        for group in self._groups:
            wanted = min(float(width), self._group_width(len(group.disks)))
            if left and left + wanted > width:
                left, top, row_height = 0.0, top + row_height + MEDIUM, 0.0
            height = self._group_height(group, wanted)
            areas.append(QRectF(left, top, wanted, height))
            left += wanted + LARGE
            row_height = max(row_height, height)
        return areas, top + row_height

    def _group_width(self, disks: int) -> float:
        least = _GROUP_EMS * self.fontMetrics().averageCharWidth()
        return max(least, disks * (self._box_width + SMALL) - SMALL) + 2 * MEDIUM

    def _columns(self, group: DrawnGroup, width: float) -> int:
        room = int((width - 2 * MEDIUM + SMALL) // (self._box_width + SMALL))
        columns = max(1, min(room, len(group.disks)))
        if group.pairs and columns > 1:
            columns -= columns % 2  # pairs stay together
        return columns

    def _group_height(self, group: DrawnGroup, width: float) -> float:
        rows = -(-len(group.disks) // self._columns(group, width))
        layers = 1 + bool(group.array)
        return (
            self._line * (2 + bool(group.partitions))
            + TINY
            + layers * (self._line + 2 * TINY + TINY)
            + rows * (self._disk_height + SMALL)
            + 2 * SMALL
        )

    # --- painting

    def _paint_group(self, painter: QPainter, group: DrawnGroup, area: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("frame"), 1))
        painter.setBrush(self._theme.colour("box"))
        painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), _ROUND, _ROUND)
        inner = area.adjusted(MEDIUM, SMALL, -MEDIUM, -SMALL)
        heading = QRectF(inner.left(), inner.top(), inner.width(), self._line)
        self._put(painter, heading, group.title, self._theme.colour("text"), bold=True)
        top = self._write(painter, inner, heading.bottom(), group.facts, "muted")
        if group.partitions:
            top = self._write(painter, inner, top, group.partitions, "muted")
        top += TINY
        for number, text in enumerate(filter(None, (group.filesystem, group.array))):
            box = QRectF(inner.left(), top, inner.width(), self._line + 2 * TINY)
            self._paint_layer(painter, box, text, 0.30 - 0.15 * number)
            top = box.bottom() + TINY
        self._paint_disks(painter, group, QRectF(inner.left(), top, inner.width(), inner.bottom() - top))

    def _paint_disks(self, painter: QPainter, group: DrawnGroup, area: QRectF) -> None:
        columns = self._columns(group, area.width() + 2 * MEDIUM)
        width = (area.width() - (columns - 1) * SMALL) / columns
        for number, disk in enumerate(group.disks):
            row, column = divmod(number, columns)
            left = area.left() + column * (width + SMALL)
            top = area.top() + row * (self._disk_height + SMALL)
            self._paint_disk(painter, disk, QRectF(left, top, width, self._disk_height))
            if group.pairs and number % 2 and columns > 1:
                self._paint_pair(painter, left, top + self._disk_height / 2)

    def _paint_pair(self, painter: QPainter, left: float, middle: float) -> None:
        """Paint two strokes between mirrored disks."""
        painter.setPen(QPen(self._theme.colour("accent"), 2))
        for shift in (-3, 3):
            painter.drawLine(round(left - SMALL), round(middle + shift), round(left), round(middle + shift))

    def _paint_layer(self, painter: QPainter, box: QRectF, text: str, share: float) -> None:
        ground = mix(self._theme.colour("accent"), self._theme.colour("background"), share)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, _ROUND, _ROUND)
        self._put(painter, box.adjusted(SMALL, 0, -SMALL, 0), text, self._theme.colour("text"), bold=False)

    def _paint_disk(self, painter: QPainter, disk: DrawnDisk, box: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("frame" if disk.there else "warning"), 1))
        painter.setBrush(self._theme.colour("background"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), _ROUND, _ROUND)
        inner = box.adjusted(SMALL, TINY, -SMALL, -TINY)
        top = self._write(painter, inner, inner.top(), disk.title, "accent")
        top = self._write(painter, inner, top, disk.name, "text" if disk.there else "warning")
        top = self._write(painter, inner, top, disk.detail, "muted")
        if not disk.partition:
            return
        bar = QRectF(inner.left(), top + TINY, inner.width(), _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("grid"))
        painter.drawRect(bar)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawRect(QRectF(bar.left(), bar.top(), max(3.0, bar.width() * disk.share), bar.height()))
        text = tr("partition: {size}").format(size=disk.partition)
        self._write(painter, inner, bar.bottom(), text, "muted")

    def _write(self, painter: QPainter, area: QRectF, top: float, text: str, role: str) -> float:
        """Paint a line of an area, shortened if too long; return the top of the next line."""
        line = QRectF(area.left(), top, area.width(), self._line)
        self._put(painter, line, text, self._theme.colour(role), bold=role == "accent")
        return line.bottom()

    def _put(self, painter: QPainter, area: QRectF, text: str, colour: QColor, *, bold: bool) -> None:
        font = QFont(self.font())
        font.setBold(bold)
        painter.setFont(font)
        painter.setPen(colour)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, round(area.width()))
        painter.drawText(area, _LEFT, shown)


_USES: Final = (
    (None, tr("not used")),
    (Role.DATA, tr("data")),
    (Role.WAL, SEPARATE.format(what="WAL")),
    (Role.TABLES, SEPARATE.format(what=tr("tables"))),
    (Role.INDEXES, SEPARATE.format(what=tr("indexes"))),
    (Role.ZFS_LOG, tr("log device of a ZFS pool")),
)
_NONE_SPARE: Final = tr(
    "None of these disks can be used; each row shows the reason and the remedy. pgFooting refuses disks on "
    "which it finds data."
)
_ASK: Final = tr("As&k root")
_ASKING: Final = tr("Asking root …")
_LOOKING: Final = tr("Root reads … {percent} %")
_RELEASE: Final = tr("Release d&isk …")
_READ: Final = tr("Read ever&y byte")
_STOP_READING: Final = tr("Stop read&ing")
_NOTE_LINES: Final = 5
"""Lines about the disk under the cursor: enough for most disks, and the rest scrolls."""
_DATA: Final = f"{PREFIX}data"
_LEVEL: Final = f"{PREFIX}level"
_PARTITION: Final = f"{PREFIX}partition_size"
_SIZES: Final = (
    Entry(tr("what the data needs"), _PARTITION, ""),
    Entry(tr("the whole disk"), _PARTITION, WholeDisk.WHOLE),
    Entry(tr("another size"), _PARTITION),
)
_LEVEL_LABELS: Final = {
    Role.DATA: tr("Data RAID &level:"),
    Role.WAL: tr("&WAL RAID level:"),
    Role.TABLES: tr("RAID level for the {what}:").format(what=tr("tables")),
    Role.INDEXES: tr("RAID level for the {what}:").format(what=tr("indexes")),
}
_PARTITION_LABELS: Final = {
    Role.DATA: FIELDS[_PARTITION].label,
    Role.WAL: tr("Partition on each W&AL disk:"),
    Role.TABLES: tr("Partition on each disk for the {what}:").format(what=tr("tables")),
    Role.INDEXES: tr("Partition on each disk for the {what}:").format(what=tr("indexes")),
}
_MEMORY: Final = f"{PREFIX}memory_limit"


class DisksPage(Page):
    """Table, obstacles of the disk under the cursor, levels, partitions, drawing.

    Signals:
        root_wanted: root's answer about disks that look spare is wanted.
        release_wanted: key of a disk with leftovers of pgFooting, to be released by root.
        read_wanted: key of a disk to be read completely by root; empty to stop reading.
    """

    step = Step.DISKS
    title = tr("Which disks, and which RAID level?")

    root_wanted = Signal()
    release_wanted = Signal(str)
    read_wanted = Signal(str)

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.table = DiskTable(theme)
        self.nothing = Text(theme, role="muted")
        self.why = Text(theme)
        self.why.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.use = combo_box()
        for role, label in _USES:
            self.use.addItem(label, role)
        self.earlier = push_button(tr("&Earlier"), "members")
        self.later = push_button(tr("La&ter"), "members")
        self.ask = push_button(_ASK, "inspect")
        self.release = push_button(_RELEASE, "release")
        self.read = push_button(_READ, "read")
        self._reading = ("", "")
        for button in (self.ask, self.release):
            _keep_its_room(button, (_ASK, _ASKING, _LOOKING.format(percent=100), _RELEASE))
        _keep_its_room(self.read, (_READ, _STOP_READING))
        self.summary = Text(theme)
        self.warnings = Text(theme, role="warning")
        groups = draft.parts.disks.groups
        self.levels = {role: combo_box() for role in groups}
        name = tr("Partition size")
        self.partitions = {role: Alternatives(_SIZES, name, _PARTITION) for role in groups}
        self.level, self.wal_level = self.levels[Role.DATA], self.levels[Role.WAL]
        self.partition = self.partitions[Role.DATA]
        limit = Form(theme, (_MEMORY,), lines=1)
        limit.edited.connect(self._on_memory)
        self._limit = limit
        self.drawing = LayoutDrawing(theme)
        self._use = Field(theme, tr("&Use this disk for:"), self.use, "use")
        self.fields = {
            **{
                f"{PREFIXES[role]}level": Field(theme, _LEVEL_LABELS[role], box, _LEVEL, lines=3)
                for role, box in self.levels.items()
            },
            **{
                f"{PREFIXES[role]}partition_size": Field(
                    theme, _PARTITION_LABELS[role], each.kind, _PARTITION, beside=(each.amount,), lines=1
                )
                for role, each in self.partitions.items()
            },
            **limit.fields,
        }
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        buttons = QWidget()
        row = fill(QHBoxLayout(buttons), (self._use, 1), spacing=SMALL, margins=0)
        pressed = fill(QHBoxLayout(), self.earlier, self.later, self.read)
        row.addLayout(fill(QVBoxLayout(), 1, pressed))
        self._summary = ReservedLines(2, self.summary)
        root = fill(QHBoxLayout(), 1, self.ask, self.release, spacing=SMALL)
        for widget in (self.table, self.nothing, buttons, self._summary):
            self.layout_.addWidget(widget)
        self.layout_.addLayout(root)
        self._buttons = buttons
        usual = (Role.DATA, Role.WAL)
        levels = Columns([self._level_field(role) for role in usual], 44)
        sizes = Columns([*map(self._partition_field, usual), self.fields[_MEMORY]], 34)
        self._chosen = (
            Section(self.theme, tr("RAID level"), [levels]),
            Section(self.theme, tr("Size"), [sizes]),
        )
        self._spaces = {
            role: Columns([self._level_field(role), self._partition_field(role)], 44)
            for role in RELATION_ROLES
        }
        for widget in (*self._chosen, *self._spaces.values(), self.drawing):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        # Texts about a disk or a tick have a fixed place: they must not move the next check box.
        self.layout_.removeWidget(self.general)
        texts = ScrollingTexts(_NOTE_LINES, self.general, self.warnings, self.why)
        self.footer = below_rule(self.theme, texts)

    def _level_field(self, role: Role) -> Field:
        return self.fields[f"{PREFIXES[role]}level"]

    def _partition_field(self, role: Role) -> Field:
        return self.fields[f"{PREFIXES[role]}partition_size"]

    def _connect(self) -> None:
        self.table.ticked.connect(self._on_ticked)
        self.table.chosen.connect(lambda _: self._show_disk())
        self.use.currentIndexChanged.connect(self._on_use)
        self.earlier.clicked.connect(partial(self._move, -1))
        self.later.clicked.connect(partial(self._move, 1))
        self.ask.clicked.connect(self.root_wanted)
        self.release.clicked.connect(lambda: self.release_wanted.emit(self.table.key))
        self.read.clicked.connect(self._on_read)
        for role, box in self.levels.items():
            box.currentIndexChanged.connect(partial(self._on_level, role))
        for role, editor in self.partitions.items():
            editor.edited.connect(partial(self._on_partition, role))

    @override
    def first_control(self) -> QWidget:
        return self.table

    @override
    def fill(self) -> None:
        disks = self.draft.parts.disks
        for role, group in disks.groups.items():
            self.partitions[role].show_texts({_PARTITION: group.texts.get("partition_size", "")})
        self.table.forget_order()
        self._limit.show_texts({_MEMORY: disks.memory_limit})

    @override
    def refresh(self) -> None:
        before, self._loading = self._loading, True
        try:
            self._show_all()
        finally:
            self._loading = before
        super().refresh()

    def _show_all(self) -> None:
        disks, facts = self.draft.parts.disks, self.draft.storage
        self.table.show_rows(disk_rows(disks, facts))
        rows = self.table.disks.rows  # disks that disappear while the page is open keep their rows
        known = facts.listing is not None
        self.table.setVisible(bool(rows))
        self.nothing.setVisible(not rows)
        self.nothing.setText(_words_for_nothing(known=known))
        none = bool(rows) and all(row.obstacle for row in rows)
        self.summary.setText(_NONE_SPARE if none else chosen_words(disks, facts) if rows else "")
        self._summary.arrange()
        warnings = [f"⚠ {each}" for role in disks.groups for each in group_warnings(disks, facts, role)]
        self.warnings.setText("\n".join(dict.fromkeys(warnings)))
        self.warnings.setVisible(bool(warnings))
        for section in self._chosen:
            section.setEnabled(bool(disks.chosen))
        for role, group in disks.groups.items():
            self._show_levels(role, group)
        for shown in (self._level_field(Role.WAL), self._partition_field(Role.WAL)):
            shown.setEnabled(bool(disks.wal.disks))
        for role, fields in self._spaces.items():
            fields.setVisible(bool(disks.groups[role].disks))
        self.drawing.setVisible(bool(disks.chosen))
        self.drawing.show_groups(self.draft.drawing())
        self._show_partitions()
        self._show_disk()

    def _show_levels(self, role: Role, group: GroupDraft) -> None:
        box = self.levels[role]
        choices = level_choices(group, group.made, self.draft.storage)
        if box.count() != len(choices):
            box.clear()
            for choice in choices:
                box.addItem(choice.label, choice.level)
        for number, choice in enumerate(choices):
            box.setItemText(number, choice.label)
            tip = tooltip(f"{choice.obstacle} {choice.words}".strip())
            box.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
            set_row_enabled(box, number, enabled=not choice.obstacle)
        level = level_of(group.made, len(group.disks))
        box.setCurrentIndex(box.findData(level))
        note = _note(next(each for each in choices if each.level is level)) if group.disks else ""
        self._level_field(role).set_note(note)

    def _show_partitions(self) -> None:
        sizes = self.draft.partition_bytes()
        for role, editor in self.partitions.items():
            label, size = _SIZES[0].label, sizes.get(role)
            if size and editor.kind.currentIndex() == 0:
                label = tr("what the data needs: {size}").format(size=format_size(size))
            editor.kind.setItemText(0, label)

    def _show_disk(self) -> None:
        """Show the facts about the disk under the cursor, and the actions for it."""
        row = self.table.row
        before, self._loading = self._loading, True
        self.why.setVisible(row is not None)
        self._buttons.setVisible(row is not None)
        if row is not None:
            is_read = row.key == self._reading[0]
            name, _, details = reasons(row).partition("\n")
            self.why.setText("\n".join(filter(None, (breakable(name), details, self._reading[1] * is_read))))
            usable = not row.obstacle or row.role is not None
            self.use.setEnabled(usable)
            self.use.setCurrentIndex([role for role, _ in _USES].index(row.role))
            self.earlier.setEnabled(row.number > 1)
            count = sum(each.role is row.role for each in self.table.disks.rows)
            self.later.setEnabled(0 < row.number < count)
        looks = any(disk.answer is SpareAnswer.LOOKS_SPARE for disk in self.draft.storage.disks)
        self.ask.setVisible(looks)
        self.release.setVisible(row is not None and row.is_left_over)
        self.read.setText(_STOP_READING if self._reading[0] else _READ)
        self.read.setEnabled(bool(self._reading[0]) or (row is not None and row.can_be_read))
        self._loading = before

    def show_asking(self, asking: bool) -> None:  # noqa: FBT001 - a signal's argument
        """Show whether root's answer is pending: the helper may have to start first."""
        if asking and (self.ask.hasFocus() or self.release.hasFocus()):
            self.table.setFocus()  # else the next control, the level, would get the following keys
        for button, words in ((self.ask, _ASK), (self.release, _RELEASE)):
            button.setEnabled(not asking)
            button.setText(_ASKING if asking else words)

    def show_progress(self, share: float) -> None:
        """Show the share of disks that root has checked; rotating disks take a while."""
        for button in (self.ask, self.release):
            if not button.isEnabled():
                button.setText(_LOOKING.format(percent=int(100 * share)))

    def show_reading(self, key: str, words: str) -> None:
        """Show the progress of reading a disk; an empty key if none is read."""
        self._reading = (key, words)
        self._show_disk()

    @override
    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show problems; that no disk is chosen yet is obvious, and shown at the Next button only."""
        super().show_problems(problems if self.draft.parts.disks.chosen else ())

    # --- user actions

    def _on_ticked(self, key: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._assign(key, Role.DATA if ticked else None)

    def _on_read(self) -> None:
        self.read_wanted.emit("" if self._reading[0] else self.table.key)

    def _on_use(self) -> None:
        row = self.table.row
        if not self.is_loading and row is not None:
            self._assign(row.key, _USES[self.use.currentIndex()][0])

    def _assign(self, key: str, role: Role | None) -> None:
        assign(self.draft.parts.disks, key, role)
        forget_confirmations(self.draft.parts.disks)
        self.report_change()

    def _move(self, by: int) -> None:
        if move(self.draft.parts.disks, self.table.key, by):
            self.report_change()

    def _on_level(self, role: Role, _row: int) -> None:
        if not self.is_loading:
            self.draft.parts.disks.groups[role].made.level = Level(self.levels[role].currentData())
            self.report_change()

    def _on_partition(self, role: Role, _key: str, text: str) -> None:
        self.draft.parts.disks.groups[role].texts["partition_size"] = text
        self.report_change()

    def _on_memory(self, _key: str, text: str) -> None:
        self.draft.parts.disks.memory_limit = text
        self.report_change()


def _keep_its_room(button: QPushButton, texts: Sequence[str]) -> None:
    """Give a button a fixed width that fits all its texts, and keep its place while hidden."""
    shown, widest = button.text(), 0
    for text in texts:
        button.setText(text)
        widest = max(widest, button.sizeHint().width())
    button.setText(shown)
    button.setFixedWidth(widest)
    policy = button.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    button.setSizePolicy(policy)


def _note(choice: LevelChoice) -> str:
    return f"{choice.obstacle or choice.facts} {choice.words}".strip()


def _words_for_nothing(*, known: bool) -> str:
    if not known:
        return tr("Checking this machine …")
    return tr(
        "pgFooting found no disk that it could format. Plug one in (it appears within a second), or go back "
        "and measure a folder."
    )
