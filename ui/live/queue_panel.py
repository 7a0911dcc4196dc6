"""The campaigns that wait for their turn, below what is measured: taken out, put in another order, opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.domain.text import number_text, tr, trn
from app.draft.planning import roughly
from app.live.queue import CampaignQueue, QueuedCampaign
from ui.theme import SMALL, TINY, Theme
from ui.widgets.elided import ElidedLabel
from ui.widgets.formatting import one_line
from ui.widgets.texts import Text, plain_label, show_tip

_ROWS: Final = 3
"""That are seen without scrolling: the charts need the room."""
RULES: Final = tr(
    "When one fails or cannot begin, the next one begins all the same; when you stop one, the others wait. "
    "On spare disks an administrator authenticates once for each campaign, when its turn comes. Closing the "
    "window keeps the list: it is offered at the next start, and nothing of it begins by itself then."
)
"""What the list does, as the tests hold it."""


def length_words(each: QueuedCampaign) -> str:
    """Return how many runs a campaign has and how long they take."""
    if not each.runs:
        return tr("what is missing of it")
    runs = trn("{count} run", "{count} runs", each.runs).format(count=number_text(each.runs, ","))
    if each.about_s is None:
        return runs
    return tr("{runs}, about {time}").format(runs=runs, time=roughly(each.about_s))


class QueuePanel(QFrame):
    """Hidden where nothing waits.

    Attributes:
        words: what holds the list, or what it does.
        names: of the campaigns, in order.
        buttons: of each campaign by what they do: ``open``, ``earlier``, ``later``, ``remove``.

    Signals:
        removed: key of a campaign that shall not be measured.
        moved: key of a campaign, and by how many places it shall begin later.
        open_wanted: key of a campaign that was kept, which a person wants to look at and start.
        go_on_wanted: the next one shall begin although the one before was stopped.
    """

    removed = Signal(str)
    moved = Signal(str, int)
    open_wanted = Signal(str)
    go_on_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.title = plain_label(tr("Then, one after the other"), self)
        self.words = Text(theme, role="muted", parent=self)
        self.go_on = QPushButton(tr("Begin the &next one"), self)
        self.go_on.clicked.connect(self._ask_to_go_on)
        self.names: list[str] = []
        self.buttons: dict[str, dict[str, QPushButton]] = {}
        self._area = QScrollArea(self)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        head = QHBoxLayout()
        head.setSpacing(SMALL)
        head.addWidget(self.title)
        head.addWidget(self.words, 1)
        head.addWidget(self.go_on)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SMALL, TINY, SMALL, TINY)
        layout.setSpacing(TINY)
        layout.addLayout(head)
        layout.addWidget(self._area)
        self._dress(theme)
        theme.changed.connect(lambda: self._dress(theme))
        self.hide()

    def _dress(self, theme: Theme) -> None:
        self.title.setFont(theme.font(bold=True))

    def _ask_to_go_on(self) -> None:
        self.go_on_wanted.emit()

    def show_queue(self, queue: CampaignQueue) -> None:
        """Show what waits, and why."""
        self.setVisible(bool(queue.waiting))
        self.words.setText(queue.held or RULES)
        self.words.set_role("warning" if queue.held else "muted")
        self.go_on.setVisible(bool(queue.held))
        self.names, self.buttons = [], {}
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(TINY)
        grid.setHorizontalSpacing(SMALL)
        grid.setColumnStretch(1, 1)
        last = len(queue.waiting) - 1
        height = 0
        for number, each in enumerate(queue.waiting):
            offered = each.key not in queue.confirmed
            name = ElidedLabel(rows)
            name.show_line(one_line(each.name))
            self.names.append(each.name)
            state = tr("waits for you") if offered else tr("held") if queue.held else tr("waits")
            texts = (plain_label(length_words(each), rows), plain_label(state, rows))
            grid.addWidget(plain_label(str(number + 1), rows), number, 0)
            grid.addWidget(name, number, 1)
            for column, label in enumerate(texts, start=2):
                grid.addWidget(label, number, column)
            buttons = self._make_buttons(rows, each, offered=offered)
            buttons["earlier"].setEnabled(number > 0)
            buttons["later"].setEnabled(number < last)
            for column, button in enumerate(buttons.values(), start=4):
                grid.addWidget(button, number, column)
            self.buttons[each.key] = buttons
            height = max(height, buttons["remove"].sizeHint().height())
        self._area.setWidget(rows)
        self._area.setFixedHeight(min(_ROWS, last + 1) * (height + TINY) + TINY)

    def _make_buttons(
        self, parent: QWidget, each: QueuedCampaign, *, offered: bool
    ) -> dict[str, QPushButton]:
        name, key = one_line(each.name), each.key
        deeds: dict[str, tuple[str, str, Callable[[], None]]] = {
            "open": (
                tr("Look and start …"),
                tr("Opens the questions with the answers of “{name}”"),
                lambda: self.open_wanted.emit(key),
            ),
            "earlier": ("↑", tr("“{name}” begins earlier"), lambda: self.moved.emit(key, -1)),
            "later": ("↓", tr("“{name}” begins later"), lambda: self.moved.emit(key, 1)),
            "remove": ("✕", tr("“{name}” is not measured"), lambda: self.removed.emit(key)),
        }
        made: dict[str, QPushButton] = {}
        for which, (text, sentence, deed) in deeds.items():
            button = QPushButton(text, parent)
            button.setAccessibleName(sentence.format(name=name))
            show_tip(button, sentence.format(name=name))
            button.clicked.connect(lambda _checked=False, deed=deed: deed())
            if len(text) == 1:
                button.setFixedWidth(button.sizeHint().height() + SMALL)
            made[which] = button
        made["open"].setVisible(offered)
        return made
