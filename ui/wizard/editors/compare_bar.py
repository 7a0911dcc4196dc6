"""Comparisons on the filesystem page: other filesystems as check boxes, options as a menu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QMenu, QVBoxLayout, QWidget

from app.domain.text import tr
from app.draft.matrix.variants import OPTION, VariantGroup, VariantOffer
from ui.widgets.columns import Flow
from ui.widgets.elided import ElidedLabel
from ui.widgets.fields import describe_button, push_button
from ui.widgets.formatting import tooltip
from ui.widgets.layouts import fill
from ui.widgets.texts import plain_label, show_tip


class CompareBar(QWidget):
    """Check boxes for other filesystems, and a menu of other comparisons on the same disks.

    Attributes:
        ticks: by the label of the filesystem.
        menu: of the button.
        result: summary of the comparison.

    Signals:
        wanted: a `VariantOffer`, and whether to measure it.
    """

    wanted = Signal(object, bool)

    def __init__(self) -> None:
        super().__init__()
        self.ticks: dict[str, QCheckBox] = {}
        self._variants: dict[str, VariantOffer] = {}
        self._groups: tuple[VariantGroup, ...] = ()
        self._loading = False
        self._label = plain_label(tr("Compare with:"))
        self.button = push_button(tr("With other options"), "compare")
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.button.setMenu(self.menu)
        self.result = ElidedLabel()
        self._flow = Flow()
        fill(QVBoxLayout(self), self._flow, self.result, spacing=0, margins=0)
        self.menu.aboutToShow.connect(self.fill_menu)

    def show_variants(
        self, filesystems: Sequence[VariantOffer], groups: Sequence[VariantGroup], result: str
    ) -> None:
        """Show the available comparisons and the chosen ones; disabled if there are none."""
        self._loading = True
        if filesystems:
            self._variants = {each.label: each for each in filesystems}
        self._groups = tuple(groups)
        if set(self.ticks) != set(self._variants):
            self.ticks = {name: self.ticks.get(name) or self._make_tick(name) for name in self._variants}
            self._flow.show_widgets([self._label, *self.ticks.values(), self.button])
        for name, tick in self.ticks.items():
            each = self._variants[name]
            tick.setChecked(each.ticked)
            tick.setEnabled(bool(filesystems) and (each.ticked or not each.obstacle))
            show_tip(tick, each.obstacle, each.about)
        self.button.setEnabled(bool(groups))
        self.result.show_line(result)
        self._loading = False

    def _make_tick(self, name: str) -> QCheckBox:
        tick = QCheckBox(name)
        describe_button(tick, "compare")
        tick.setAccessibleName(tr("Compare with {name}").format(name=name))
        tick.toggled.connect(partial(self._on_toggled, name))
        return tick

    def _on_toggled(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self._loading:
            self.wanted.emit(self._variants[name], ticked)

    def fill_menu(self) -> None:
        """Fill the menu: a single value directly, several values in a submenu."""
        self.menu.clear()
        was_option = True
        for group in self._groups:
            is_option = all(each.key.startswith(OPTION) for each in group.variants)
            if was_option and not is_option:
                self.menu.addSeparator()
            was_option = is_option
            if len(group.variants) == 1:
                self._add(self.menu, group.variants[0], f"{group.variants[0].label}  ({group.label})")
                continue
            menu = self.menu.addMenu(group.label.replace("&", "&&"))
            menu.setToolTipsVisible(True)
            for variant in group.variants:
                self._add(menu, variant, variant.label)

    def _add(self, menu: QMenu, variant: VariantOffer, label: str) -> None:
        action = QAction(label.replace("&", "&&"), menu)
        action.setCheckable(True)
        action.setChecked(variant.ticked)
        action.setEnabled(variant.ticked or not variant.obstacle)
        action.setToolTip(tooltip(*filter(None, (variant.obstacle, variant.about))))
        action.toggled.connect(partial(self.wanted.emit, variant))
        menu.addAction(action)
