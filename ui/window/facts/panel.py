"""The panel on the right: differences between the charted runs, and details of the one in focus.

Text is inserted as plain text through a cursor: contents of run files are never parsed as markup. The module
imports comparisons, so it is only loaded when there are runs to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import QAction, QColor, QTextDocument, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QTextBrowser, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.analysis.cannot_show import describe_limitations
from app.analysis.facts import RunFacts, command_line
from app.analysis.labels import DISK_MARKS, at_least
from app.comparison.comparison import compare_runs
from app.comparison.differences import PropertyDifference, Variant, describe_sameness, what_differs
from app.comparison.label_shortening import short_names
from app.comparison.overall.fastest import under
from app.domain.run import RunState
from app.domain.text import number_text, titled, tr
from app.runfile.figures import FIGURES
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.summary import is_lower_bound
from ui.icons import SMALL_ICON
from ui.theme import Theme
from ui.widgets.layouts import fill
from ui.widgets.plain_writer import DocumentColours, PlainWriter, written_at_once
from ui.widgets.texts import format_figure, mark_words, mnemonic_label, moment, one_line, state_words


class _Nothing(PlainWriter):
    """Explains why there are no facts."""

    def write(self, problem: str) -> None:
        if problem:
            self._warn(one_line(problem))
        else:
            self._line(tr("The facts of ticked runs are shown here."), colour=self._ink.quiet)


class FactsPanel(QWidget):
    """Shows facts of runs; folding is remembered while the window exists."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._runs: tuple[tuple[RunFacts, int], ...] = ()
        self._focus = ""
        self._problem = ""
        self._buttons: list[tuple[QToolButton, bool]] = []
        self._unfolded: set[Section] = set()
        self.text = QTextBrowser(self)
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("Facts of the runs in the charts"))
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text.document().setUndoRedoEnabled(False)
        self.text.anchorClicked.connect(self._fold)
        title = mnemonic_label(tr("&Facts"), self)
        title.setBuddy(self.text)
        self._head = QHBoxLayout()
        self._head.addWidget(title, 1)
        fill(QVBoxLayout(self), self._head, (self.text, 1))
        theme.changed.connect(self._write)
        self._write()

    def add_button(self, action: QAction, *, of_several: bool = False) -> None:
        """Add a command above the facts, for a single run or for several: there is room for one."""
        button = QToolButton(self)
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIconSize(QSize(SMALL_ICON, SMALL_ICON))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._head.addWidget(button)
        self._buttons.append((button, of_several))
        self._offer()

    def _offer(self) -> None:
        for button, of_several in self._buttons:
            button.setVisible(of_several == (len(self._runs) > 1))

    def show_runs(self, runs: Sequence[tuple[RunFacts, int]], problem: str = "") -> None:
        """Show the facts of these runs, each with the number of its colour; of none, why."""
        self._runs, self._problem = tuple(runs), problem
        self._offer()
        self._write()

    def set_focus_run(self, path: str) -> None:
        """Show all facts of this run; of another one if it is not shown."""
        if path != self._focus:
            self._focus = path
            self._write()

    def _fold(self, link: QUrl) -> None:

        self._unfolded ^= folded_by(link.toString())
        self._write()

    def _write(self) -> None:
        with written_at_once(self.text) as document:
            self._write_texts(document, DocumentColours.of(self._theme))

    def _write_texts(self, document: QTextDocument, ink: DocumentColours) -> None:
        if not self._runs:
            _Nothing(document, ink).write(self._problem)
            return

        runs = [ShownRun(facts, self._theme.series_colour(number)) for facts, number in self._runs]
        paths = [facts.path for facts, _ in self._runs]
        writer = FactsWriter(document, ink, self._unfolded)
        writer.write(runs, paths.index(self._focus) if self._focus in paths else 0)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._write()


SCHEME: Final = "section:"
"""Scheme of the links that fold and unfold a section."""
SWATCH: Final = "■"


class Section(StrEnum):
    """Sections that can be folded."""

    PROPERTIES = "properties"
    COMMANDS = "commands"
    ENVIRONMENT = "environment"
    MISSING = "missing"


def folded_by(link: str) -> set[Section]:
    """Return the section that a link folds or unfolds; empty for any other link."""
    return {Section(link.removeprefix(SCHEME))} if link.startswith(SCHEME) else set()


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run in the charts: its facts and the colour of its line."""

    facts: RunFacts
    colour: QColor


class FactsWriter(PlainWriter):
    """Writes one document. Used once."""

    def __init__(self, document: QTextDocument, ink: DocumentColours, unfolded: Iterable[Section]) -> None:
        super().__init__(document, ink)
        self._unfolded = frozenset(unfolded)

    def write(self, runs: Sequence[ShownRun], focus: int) -> None:
        """Write the facts of at least one run; `focus` is the index of the one with details."""
        self._write_differences(runs)
        self._write_verdict(runs)
        self._write_run(runs[focus])

    # Several runs

    def _write_verdict(self, runs: Sequence[ShownRun]) -> None:
        comparison = compare_runs([run.facts for run in runs], shorten=True)
        if len(comparison.groups) < 2 or not comparison.verdicts:
            return
        self._heading(tr("Verdict"))
        for part in comparison.parts:
            for verdict in part.verdicts:
                self._line(one_line(under(part.condition, verdict)))

    def _write_differences(self, runs: Sequence[ShownRun]) -> None:
        if len(runs) < 2:
            return
        self._heading(tr("Differences"))
        found = what_differs([run.facts for run in runs])
        if not found.differences:
            self._line(describe_sameness(found), colour=self._ink.quiet)
        for difference in found.differences:
            self._write_difference(runs, difference)

    def _write_difference(self, runs: Sequence[ShownRun], difference: PropertyDifference) -> None:
        name = f"{difference.topic}: {one_line(difference.name)}"
        self._line(name, colour=self._ink.quiet)
        for variant in difference.variants:
            self._begin(indent=True)
            # Repeats share the colour of their configuration.
            for colour in {runs[index].colour.rgb(): runs[index].colour for index in variant.runs}.values():
                self._put(SWATCH, colour=colour)
            value, whose = one_line(variant.value), _whose(runs, variant)
            self._put(f" {value}")
            if whose != value:
                self._put(f"  {whose}", colour=self._ink.quiet, small=True)

    # One run

    def _write_run(self, run: ShownRun) -> None:
        facts = run.facts
        self._begin(space=True)
        self._put(SWATCH + " ", colour=run.colour)
        self._put(one_line(facts.name), bold=True)
        parts = (one_line(facts.campaign), state_words(facts.state), moment(facts.started_epoch_s))
        self._line(" · ".join(part for part in parts if part), colour=self._ink.quiet)
        if facts.tags:
            self._line(" ".join(f"#{one_line(tag)}" for tag in facts.tags))
        for line in facts.note.splitlines():
            self._line(one_line(line))
        if facts.error:
            self._warn(one_line(facts.error))
        if facts.state == RunState.INCOMPLETE:
            self._warn(tr("The runner ended before the run did. Every complete second is shown."))
        for kind, reason in facts.marks:
            self._begin()
            colour = self._ink.warning if kind in {UNSAFE, NOT_DURABLE, *DISK_MARKS} else self._ink.text
            self._put(mark_words(kind), colour=colour, bold=True)
            self._put(f": {one_line(reason)}" if reason else "")
        if facts.shape is not None:
            for sentence in filter(None, (facts.bottleneck.sentence, describe_limitations([facts.unshown]))):
                self._line(one_line(sentence))
        self._write_figures(facts)
        self._write_folded(
            Section.PROPERTIES, titled(tr("configuration")), len(facts.properties), self._properties, facts
        )
        self._write_folded(
            Section.COMMANDS, titled(tr("commands")), len(facts.commands), self._commands, facts
        )
        self._write_folded(
            Section.ENVIRONMENT, tr("Environment"), len(facts.environment), self._environment, facts
        )
        self._write_folded(Section.MISSING, tr("Not measured"), len(facts.unavailable), self._missing, facts)
        self._line(one_line(facts.path), colour=self._ink.quiet, small=True)

    def _write_figures(self, facts: RunFacts) -> None:
        known = [(item, value) for item in FIGURES if (value := facts.summary.get(item.name)) is not None]
        if not known:
            return
        self._heading(tr("Figures"))
        table = self._table(len(known), 2)
        for number, (figure, value) in enumerate(known):
            table.cellAt(number, 0).firstCursorPosition().insertText(
                figure.label.partition(" (1 ")[0], self._format(colour=self._ink.quiet)
            )
            is_bound = is_lower_bound(facts.summary, figure.name)
            text = at_least(format_figure(figure, value), is_bound=is_bound)
            self._put_figure(table, number, 1, text)
        self._rule(table)
        self._leave()

    def _write_folded(
        self,
        section: Section,
        title: str,
        count: int,
        write: Callable[[RunFacts], None],
        facts: RunFacts,
    ) -> None:
        if not count:
            return
        opened = section in self._unfolded
        self._begin(space=True)
        sign = "▾" if opened else "▸"
        self._put(f"{sign} {title} ({count})", link=SCHEME + section.value, bold=True)
        if opened:
            write(facts)

    def _properties(self, facts: RunFacts) -> None:
        self._pairs(
            [(f"{each.topic}: {one_line(each.name)}", one_line(each.value)) for each in facts.properties]
        )

    def _commands(self, facts: RunFacts) -> None:
        for command in facts.commands:
            self._begin(indent=True)
            seconds = f"{number_text(command.duration_ms / 1000, '.2f')} s  "
            seconds = "" if command.exit_code is None else seconds
            self._put(f"{seconds}{one_line(command.account)}$ ", colour=self._ink.quiet)
            self._put(one_line(command_line(command)), mono=True)
            if command.exit_code:
                failed = "  " + tr("exit status {status}").format(status=command.exit_code)
                self._put(failed, colour=self._ink.warning)

    def _environment(self, facts: RunFacts) -> None:
        self._pairs([(one_line(name), one_line(value)) for name, value in facts.environment])

    def _missing(self, facts: RunFacts) -> None:
        self._pairs([(one_line(source), one_line(reason)) for source, reason in facts.unavailable])


def _whose(runs: Sequence[ShownRun], variant: Variant) -> str:
    """Return the owners of a value: configurations if all their runs have it, else runs."""
    having = {runs[index].facts.configuration for index in variant.runs}
    others = {run.facts.configuration for number, run in enumerate(runs) if number not in variant.runs}
    if having & others or not all(having):
        names = _short([run.facts.name for run in runs])
        return ", ".join(names[runs[index].facts.name] for index in variant.runs)
    names = _short([run.facts.configuration for run in runs])
    return ", ".join(dict.fromkeys(names[runs[index].facts.configuration] for index in variant.runs))


def _short(names: Sequence[str]) -> dict[str, str]:
    """Return names without their common words."""
    unique = list(dict.fromkeys(names))
    return dict(zip(unique, map(one_line, short_names(unique)), strict=True))
