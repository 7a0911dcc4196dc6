"""The help panel: explains the control under the cursor, else the one with the focus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QFrame, QVBoxLayout, QWidget
from typing_extensions import override

from app.campaign_file.fields import PHASE_FIELDS
from app.domain.filesystems import filesystem
from app.domain.text import tr
from app.draft.disks.filesystems import shown_value
from app.draft.fields.state import FIELDS, PHASES
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import HELP
from ui.widgets.layouts import fill
from ui.widgets.texts import Heading, Text


@dataclass(frozen=True, slots=True)
class Help:
    """One explanation.

    Attributes:
        text: two or three sentences.
        source: of the explanation; empty for pgFooting's own methods.
    """

    text: str
    source: str = ""


_SEARCH: Final = tr(
    "Finds a row by its label or its name in mount, mkfs, zfs or postgresql.conf, such as nobarrier or "
    "recordsize."
)
_RECIPES: Final = tr(
    "Ready-made comparisons, listed by question. A recipe replaces your choices on every page, and you can "
    "then change them; anything this machine cannot measure is skipped."
)

HELP_TEXTS: Final = {
    "own": tr(
        "Your own pgbench scripts; each transaction picks one at random by weight. They can use pgbench's "
        "four tables, loaded at the size chosen below."
    ),
    "dimension": tr(
        "A dimension: each ticked value is measured in every combination with the other dimensions. The "
        "first value is the baseline."
    ),
    "dimension.search": _SEARCH,
    "dimension.sweep": tr(
        "Measures 1, 2, 4 and more clients, up to twice the CPUs of this machine. Shows the number of "
        "clients beyond which TPS no longer grows."
    ),
    "dimension.setting": tr(
        "Any postgresql.conf setting: choose or type its name, then its values, such as 4MB, 64MB."
    ),
    "dimension.cells": tr(
        "Lists every combination of the ticked values. Untick one to exclude it ([[exclude]] in the file)."
    ),
    "recipe.question": _RECIPES,
    "recipe.quick": tr(
        "Measures the same comparison for seconds, with little data. This only shows that the setup works."
    ),
    "recipe.use": _RECIPES,
    "folder": tr(
        "Measures the existing filesystem with its current options and disks. pgFooting creates its own "
        "folder there and removes it after each run."
    ),
    "memory": tr(
        "Keeps the data directory in memory (tmpfs), so commits wait for no disk. The difference from a "
        "folder is the cost of storage; the data is gone afterwards."
    ),
    "spare": tr(
        "The root helper creates arrays and filesystems, only on disks where it finds no existing data, "
        "and removes them afterwards. It asks for authorisation once and checks samples before writing."
    ),
    "server": tr(
        "Measures a server that already runs, here, on another machine, in a cloud or container. pgbench "
        "runs here, so network latency is included. Its disks may be unknown."
    ),
    "contact": tr(
        "Connects, identifies the server and watches other sessions for ten seconds; nothing is created or "
        "changed. Until you click, pgFooting sends nothing to it."
    ),
    "load": tr(
        "Type the server's host and port as shown above. Nothing is created there before you do. A server "
        "under other load is refused."
    ),
    "disks": tr(
        "Click or press Space to use a disk for data. Disks that cannot be used show the reason. pgFooting "
        "refuses disks on which it finds existing data."
    ),
    "use": tr(
        "PostgreSQL flushes WAL at each commit, and separate disks keep that I/O away from the data. A log "
        "device does the same for the intent log of a ZFS pool."
    ),
    "members": tr(
        "Disks become members in this order. In RAID 10 (md, ZFS), neighbours mirror each other, so put "
        "disks of different controllers next to each other."
    ),
    "inspect": tr(
        "Lets the root helper look for data across the disk, read-only, and report whether it is spare or "
        "why not. It checks again just before use."
    ),
    "read": tr(
        "Reads every byte without writing (minutes on an SSD, hours on a hard disk) and finds data that "
        "sampling can miss. Valid until a write, reconnect or restart."
    ),
    "release": tr(
        "Releases a disk that a campaign left behind, for example after a crash. If the helper cannot "
        "unmount it itself, you see the content and confirm before anything is wiped."
    ),
    "layout": tr(
        "Shows, from bottom to top, disks with one partition each, the array and the filesystem. A double "
        "line joins disks with the same content."
    ),
    "options.search": _SEARCH,
    "preset": tr(
        "A named set of options with its source. Your own options override it; others keep their defaults."
    ),
    "compare": tr(
        "Adds a copy on the same disks that differs only in this setting, so a significant difference has "
        "one cause. Runs are interleaved."
    ),
    "reference": tr(
        "Adds a server that stays unchanged as a reference. Other changes between two campaigns, such as a "
        "new kernel, affect it too. The comparison can correct for them."
    ),
    "erase": tr(
        "Find the serial number on the disk's label or with “pgfooting disks” and type its end. Nothing is "
        "erased before you do and before authorisation."
    ),
    "postgresql.existing": tr(
        "The pgbench from this installation drives the existing server and must be of the same or a newer "
        "major version. This does not change the server."
    ),
    "table": tr(
        "All server settings, each with its reason. You cannot change those that pgFooting needs (private "
        "socket, logging)."
    ),
    "list": tr(
        "Each configuration is measured the given number of times, in turn. Change one thing at a time, so "
        "that a difference has a single cause."
    ),
    "configuration.place": tr(
        "Where this configuration keeps its data: the folder or memory chosen on the first page, or another "
        "place. To compare two filesystems, choose a folder on the other one."
    ),
    "configuration.settings": tr(
        "Settings for this configuration only; they override the common ones. One per line, as in "
        "postgresql.conf."
    ),
    "commands": tr(
        "The commands of this configuration's first run, in order. Later runs use a different random seed "
        "and different folder names."
    ),
    "io_baseline": tr(
        "Before the first run on each storage, fio measures reads and writes and pg_test_fsync measures "
        "durable writes per second. Each run then shows how much of that PostgreSQL used."
    ),
    "wait": tr(
        "Two campaigns at once distort each other's results. If you do not wait, the runs are marked as "
        "measured beside another campaign."
    ),
    "review": tr(
        "The time estimate assumes that loading runs at about 100 MB/s. Closing the window does not end the "
        "campaign; Stop can keep measured data."
    ),
    "recipe": _RECIPES,
    "save": tr("Saves the campaign as a file for “pgfooting run FILE”, also on another machine."),
}
"""Explanations of what is no key of campaign files."""

_SOURCES: Final = {
    "own": tr("PostgreSQL manual, {part}").format(part="pgbench"),
    "memory": "tmpfs(5)",
    "use": tr("PostgreSQL manual, {part}").format(part="28.6") + "; zpoolconcepts(7)",
    "members": "md(4)",
    "io_baseline": "fio(1), pg_test_fsync(1)",
}


def _option_help(filesystem_id: str, option_id: str) -> Help:
    """Return the effect of an option on PostgreSQL, and the cost of its values."""
    option = filesystem(filesystem_id).option(option_id)
    costs = [
        f"{shown_value(option, value)}: {item.sentence}" for value, items in option.risks for item in items
    ]
    return Help("\n".join((option.effect, *dict.fromkeys(costs))), option.source)


def help_for(key: str) -> Help:
    """Return the explanation of a control; that of campaign files if it has none of its own."""
    kind, _, name = key.partition(":")
    if kind == "option":
        return _option_help(*name.split(":"))
    if kind == "filesystem":
        return Help(filesystem(name).good_for)
    if key in HELP_TEXTS:
        return Help(HELP_TEXTS[key], _SOURCES.get(key, ""))
    name = key.removeprefix(f"{PHASES}.")
    field = FIELDS.get(key) or next((each for each in PHASE_FIELDS if each.name == name), None)
    return Help(field.help or field.sentence, field.source) if field else Help("")


class HelpPanel(QFrame):
    """Show the explanation of controls below a widget."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.title = Heading(theme, "")
        self.text = Text(theme)
        self.source = Text(theme, role="muted")
        fill(QVBoxLayout(self), self.title, self.text, self.source, 1, spacing=SMALL, margins=MEDIUM)
        self._key = ""

    def watch(self, top: QWidget) -> None:
        """Explain every control below `top` that has an explanation."""
        for widget in (top, *top.findChildren(QWidget)):
            widget.removeEventFilter(self)
            widget.installEventFilter(self)

    def explain(self, widget: QWidget | None) -> None:
        """Explain a control, or the nearest parent that has an explanation."""
        while widget is not None:
            key = widget.property(HELP)
            if key:
                self._show(str(key), widget.accessibleName())
                return
            widget = widget.parentWidget()

    def _show(self, key: str, name: str) -> None:
        text = help_for(key)
        self._key = key
        self.title.setText(name)
        self.text.setText(text.text)
        self.source.setText(tr("Source: {source}").format(source=text.source) if text.source else "")
        self.source.setVisible(bool(text.source))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWidget):
            if event.type() in {QEvent.Type.Enter, QEvent.Type.FocusIn}:
                self.explain(watched)
            elif event.type() is QEvent.Type.Leave:
                focused = QApplication.focusWidget()
                if focused is not None and focused.window() is self.window():
                    self.explain(focused)
        return super().eventFilter(watched, event)
