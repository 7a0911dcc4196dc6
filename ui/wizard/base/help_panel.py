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
from app.draft.fields.fields import FIELDS, PHASES
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


HELP_TEXTS: Final = {
    "own": tr(
        "Your own files for pgbench, one or several; each transaction draws one by weight. They find "
        "pgbench's four tables, loaded at the size chosen below."
    ),
    "dimension": tr(
        "A dimension: every value that is ticked is measured, in every combination with the ticks of the "
        "others. The first one is what the others are compared with."
    ),
    "dimension.search": tr(
        "Finds a row by what it is called here, or by its name in mount, mkfs, zfs or postgresql.conf, "
        "such as nobarrier or recordsize."
    ),
    "dimension.sweep": tr(
        "1 client, 2, 4 and so on, up to twice the CPUs of this machine: shows where more clients bring "
        "no more transactions."
    ),
    "dimension.setting": tr(
        "Any setting of postgresql.conf: choose or type its name, then its values, such as 4MB, 64MB."
    ),
    "dimension.cells": tr(
        "Every combination of what is ticked. One that is unticked is left out; the campaign file names "
        "it in an [[exclude]]."
    ),
    "recipe.question": tr(
        "Comparisons that ship with pgFooting, by the question they answer: those that others published "
        "and those of today. One fills every page; what this machine cannot measure is left out."
    ),
    "recipe.quick": tr(
        "The same comparison with little data and seconds of measuring: that it runs, and little else."
    ),
    "recipe.use": tr("Fills every page from the recipe; what the pages hold now is replaced."),
    "folder": tr(
        "A folder of the filesystem that is there: what you measure is that filesystem with its options "
        "on its disks. pgFooting makes a folder of its own in it and removes it after each run."
    ),
    "memory": tr(
        "The data directory in memory (tmpfs): commits cost no flush. The difference to the folder is "
        "what the storage costs; the data is gone after the run."
    ),
    "spare": tr(
        "A root helper makes arrays and filesystems on disks on which it finds no data of others, and "
        "hands them to you. It asks for authorisation once, looks at places all over each disk before "
        "it writes anything, and removes at the end what it made."
    ),
    "server": tr(
        "For a server on another machine or another system, a cloud volume, a container, a test twin of "
        "production. Make a role for it that may make databases and nothing else. pgbench runs here, so "
        "that the network is measured with it; its round trip is told. What SQL does not tell of that "
        "machine (disks, filesystem, caches) is said to be not known."
    ),
    "contact": tr(
        "Connects, asks what the server is, and watches for ten seconds what others do there; nothing is "
        "made or changed. Before this nothing was sent to it."
    ),
    "load": tr(
        "Host and port of the server, as shown above. Nothing is made there before this, and a server on "
        "which others work is refused."
    ),
    "disks": tr(
        "Every disk of this machine, as it is now. Click or press Space to use a disk for data. "
        "Disks that cannot be used show the reason. pgFooting never wipes data it did not write, "
        "and no option changes that."
    ),
    "use": tr(
        "PostgreSQL flushes its WAL at each commit: disks of its own keep that apart from the "
        "data. A log "
        "device does the same for the intent log of a ZFS pool."
    ),
    "members": tr(
        "The order in which disks become members. Neighbours mirror each other in a RAID 10 of "
        "md or ZFS: "
        "put disks of different controllers side by side."
    ),
    "inspect": tr(
        "Some questions only root can answer, such as what lies in the middle of a disk. The "
        "helper looks, "
        "read-only, and says spare or why not; it asks again at the moment of use in any case."
    ),
    "read": tr(
        "Root reads every byte of the disk under the cursor, at the lowest priority: some minutes on an "
        "SSD, hours on a disk that turns. Only that finds what is too small or too sparse for the places "
        "that are looked at otherwise. What it finds holds until somebody writes to the disk. It can be "
        "stopped at any time, and nothing is written."
    ),
    "release": tr(
        "pgFooting has something on this disk: a campaign works on it now, or ended without giving it "
        "back, as after a crash or a power cut. Root gives back what it can still unmount itself. "
        "Otherwise you see what is on the disk, and nothing is wiped before you have typed the end of "
        "its serial number and an administrator's password."
    ),
    "layout": tr(
        "From the bottom: disks with the one partition that each gets, the array on them, the filesystem "
        "on that. Two strokes join disks that hold the same."
    ),
    "options.search": tr(
        "By the word on the page, or by the one that mount, mkfs, zpool and zfs know: nobarrier, "
        "nodatacow, recordsize, ashift. What another filesystem has is said. Ctrl+F comes here, Enter "
        "goes to what was found."
    ),
    "preset": tr(
        "A named set of options with its source. Everything that it does not name stays as tools "
        "and kernel "
        "have it; your own options count over it."
    ),
    "compare": tr(
        "Adds a copy that uses the same disks but differs in this one setting, so that any "
        "difference has a single cause. Runs are interleaved."
    ),
    "reference": tr(
        "Adds a server that stays as it is. What else changed between two campaigns, a kernel, a machine "
        "that others use, is told by it and taken out of their difference."
    ),
    "making": tr(
        "The commands that will make this, from the same builders that execute them. The review "
        "shows all of "
        "them, in the helper's own words."
    ),
    "erase": tr(
        "Look at the label of the disk, or at “pgfooting disks”, and type the end of its serial number. "
        "Nothing is erased before this, and before the authorisation."
    ),
    "trust": tr(
        "Server settings that are not known to be harmless, \\shell in scripts, scripts that want a "
        "superuser, and a PostgreSQL that others than root put there. Other SQL runs without the rights "
        "to start programs. Your tick is for exactly this text: a change asks again."
    ),
    "postgresql.existing": tr(
        "pgbench of these programs loads the server that already runs. It has to be of its major version "
        "or a later one; the server itself stays as it is."
    ),
    "table": tr(
        "Everything that goes into the configuration of the server, with its reason. What pgFooting "
        "itself needs cannot be changed: the private socket, and the log that becomes events of the run."
    ),
    "list": tr(
        "Every line is measured as often as the repeats say, in turn. Change one thing at a time: only "
        "then the difference has one reason."
    ),
    "configuration.name": tr(
        "The name of its line in every chart and table. Names must differ, because they tell runs apart."
    ),
    "configuration.place": tr(
        "The folder or memory of the first page, or a place of its own: a folder on another filesystem "
        "is how two filesystems are compared."
    ),
    "configuration.settings": tr(
        "Settings of this configuration alone, over those of all. One a line, as in postgresql.conf."
    ),
    "changes": tr(
        "Other values in which this configuration differs from the pages before, such as the clients."
    ),
    "commands": tr(
        "The commands of the first run of this configuration, in order. Later runs use a different "
        "random seed and different folder names."
    ),
    "io_baseline": tr(
        "Before the first run on each storage, on files that are removed again: reads and writes of "
        "8 KiB and 1 MiB with fio, and how often a second a write becomes durable with pg_test_fsync. "
        "Every run then says how much of that PostgreSQL used. On for spare disks."
    ),
    "wait": tr(
        "Two campaigns at once bend each other's figures. Without waiting, the runs are marked as "
        "measured beside another campaign."
    ),
    "review": tr(
        "The time estimate assumes that loading runs at about 100 MB/s. Closing the window later "
        "does not end the campaign, and Stop keeps what was measured."
    ),
    "recipe": tr(
        "A recipe is a campaign that ships with pgFooting. It fills all pages; you may change everything."
    ),
    "save": tr(
        "Writes the campaign as a file that “pgfooting run FILE” executes, on this or another machine."
    ),
}
"""Explanations of what is no key of campaign files."""

_SOURCES: Final = {
    "own": tr("PostgreSQL manual, pgbench: Custom Scripts"),
    "memory": "tmpfs(5)",
    "use": tr("PostgreSQL manual, WAL internals; zpoolconcepts(7)"),
    "members": "md(4)",
    "io_baseline": "fio(1), pg_test_fsync(1)",
}


def _option_help(filesystem_id: str, option_id: str) -> Help:
    """Return the effect of an option on PostgreSQL, and the cost of its values."""
    option = filesystem(filesystem_id).option(option_id)
    costs = [
        tr("{value}: {cost}").format(value=shown_value(option, value), cost=item.sentence)
        for value, items in option.risks
        for item in items
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
