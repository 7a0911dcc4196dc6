"""The compare page: views of the runs at the left, findings at the right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QTextDocument, QTextOption
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QPushButton,
    QSplitter,
    QTabWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.facts import kept_run_facts
from app.analysis.labels import one_line
from app.analysis.stability import WITHIN_RUN_NOTE
from app.comparison.comparison import RunComparison
from app.comparison.differences import PropertyDifference, describe_sameness, what_differs
from app.comparison.matrix import standing_columns
from app.comparison.offered_load import AGAIN_SHARE
from app.comparison.overall.phases import EXPLANATION as PHASES_EXPLANATION
from app.comparison.overall.phases import ComparedPhase
from app.comparison.warnings import comparison_notes
from app.domain.campaign.configuration import Campaign
from app.domain.errors import FootingError
from app.domain.text import number_text, tr
from app.library.scan import ListedRun
from app.library.spreads import read_spreads
from app.runfile.series import kept_run_data
from ui.background import BackgroundOp
from ui.charts.stack.stack import prefetch
from ui.compare.content import Choices, Content, LoadedRun, compare_content
from ui.compare.parts import Choice, FilterRow, View, name_some
from ui.compare.views import FIRST_CHARTS, VIEWS, OverTimeView, ViewHolder
from ui.theme import SMALL, Theme
from ui.widgets.plain_writer import DocumentColours, PlainWriter, written_at_once
from ui.widgets.texts import show_tip

# The text next to the charts: warnings, differences, verdicts, every single run.


_SWATCHES: Final = "■●▲◆▼□○△◇▽"
_LONGEST: Final = 300
_MOST_SWATCHES: Final = 8


class ComparisonWriter(PlainWriter):
    """Write one document in plain text. Used once."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document, DocumentColours.of(theme))
        self._theme = theme

    def write(self, content: Content, problems: Sequence[str]) -> None:
        """Write the whole text about these runs."""
        for problem in problems:
            self._warn(problem)
        if content.why_empty:
            self._line(content.why_empty, colour=self._ink.quiet)
            return
        self._write_warnings(content)
        self._write_differences(content)
        self._write_ranking(content)
        self._write_verdicts(content)
        self._write_phases(content)
        self._write_runs(content)

    def _write_warnings(self, content: Content) -> None:
        if content.answer.weakened_by:
            self._heading(tr("Before you compare"))
        for warning in content.answer.weakened_by:
            self._warn(warning)
        for note in () if content.comparison is None else comparison_notes(content.comparison):
            self._line(note)

    def _write_differences(self, content: Content) -> None:
        self._heading(tr("Differences"))
        found = what_differs([run.facts for run in content.runs if run.facts is not None])
        if not found.differences:
            self._line(describe_sameness(found), colour=self._ink.quiet)
        for difference in found.differences:
            self._write_difference(content, difference)

    def _write_difference(self, content: Content, difference: PropertyDifference) -> None:
        name = f"{difference.topic}: {one_line(difference.name)}"
        self._line(name, colour=self._ink.quiet)
        for variant in difference.variants:
            self._begin(indent=True)
            numbers = dict.fromkeys(content.colours[place] for place in variant.runs)
            for number in list(numbers)[:_MOST_SWATCHES]:
                self._put_swatch(number)
            text = one_line(variant.value)
            self._put(f" {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
            if (whose := _whose(content, variant.runs)) != text:
                self._put(f"  {whose}", colour=self._ink.quiet, small=True)

    def _write_verdicts(self, content: Content) -> None:
        self._heading(tr("Verdict"))
        for sentence in (*content.answer.sentences, *content.answer.verdicts, *content.answer.limits):
            self._line(sentence)

    def _write_ranking(self, content: Content) -> None:
        if content.matrix is None:
            return
        self._heading(tr("Ranking"))
        _, *columns = standing_columns(content.matrix)
        for place, standing in enumerate(content.matrix.columns):
            self._begin()
            self._put_swatch(place, " ")
            self._put(standing.level)
            cells = [(column.heading, column.cell(standing)) for column in columns]
            self._begin(indent=True)
            self._put("; ".join(f"{name} {cell}" for name, cell in cells if cell), colour=self._ink.quiet)

    def _write_phases(self, content: Content) -> None:
        if not content.phases:
            return
        self._heading(tr("Each phase separately"))
        self._line(PHASES_EXPLANATION, colour=self._ink.quiet, small=True)
        for phase in content.phases:
            self._write_phase(phase)

    def _write_phase(self, phase: ComparedPhase) -> None:
        self._begin()
        self._put(phase.label, bold=True)
        self._put(f"  {phase.transactions}", colour=self._ink.quiet, small=True)
        for verdict in phase.verdicts:
            self._line(verdict)

    def _write_runs(self, content: Content) -> None:
        if content.comparison is None:
            return
        self._heading(tr("Each run separately"))
        self._line(WITHIN_RUN_NOTE, colour=self._ink.quiet, small=True)
        for run in content.described:
            self._begin()
            self._put_swatch(content.colours[run.index], " ")
            self._put(run.name, bold=content.runs[run.index].path == content.focus)
            self._begin(indent=True)
            self._put(" ".join(run.sentences) or tr("No per-second data."), colour=self._ink.quiet)
        if more := len(content.runs) - len(content.described):
            sentence = tr("{count} more; use filters to choose the runs described here.")
            self._line(sentence.format(count=more), colour=self._ink.quiet)

    def _put_swatch(self, number: int, after: str = "") -> None:
        """Write a sign in the colour of a configuration, of another shape from the ninth on."""
        sign = _SWATCHES[self._theme.series_mark(number) % len(_SWATCHES)]
        self._put(sign + after, colour=self._theme.series_colour(number))


def _whose(content: Content, places: Sequence[int]) -> str:
    """Return names of configurations if all their runs are included, else of runs."""
    if content.comparison is None:
        return ""
    having, names = set(places), []
    for group in content.comparison.groups:
        found = [content.names[run.index] for run in group.runs if run.index in having]
        names += [group.name] if len(found) == len(group.runs) else found
    return name_some(names)


_MORE_CUTS_S: Final = (60, 300, 900)


class ComparePage(QWidget):
    """Compares runs.

    Attributes:
        content: the shown one.
        filters: which runs are compared.
        tabs: the views.
        text: warnings, differences, verdicts.
        baseline: configuration to compare with.
        effect: smallest difference of interest, in percent.
        cut: seconds excluded from the start of every run.
        go_back: returns to the library.
        library: folder with repeats that show the variation of runs; None for none.

    Signals:
        settled: the comparison is read, and the data of charts if they are shown.
        notified: a sentence for the user.
        again_asked: a `Campaign` that repeats the runs at one rate, to be started.
    """

    settled = Signal()
    notified = Signal(str)
    again_asked = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.content = Content(())
        self._all = Content(())
        self._problems: tuple[str, ...] = ()
        self._op: BackgroundOp[Any] | None = None
        self._again_op: BackgroundOp[Campaign] | None = None
        self._chosen_by_hand = False
        self.go_back: Callable[[], object] = lambda: None  # without a library to return to
        self.library: Path | None = None
        self.tabs = QTabWidget(documentMode=True)
        self.tabs.setUsesScrollButtons(True)
        for spec in VIEWS:
            self.tabs.addTab(ViewHolder(spec, theme, self._connect_view), spec.title)
        self.tabs.currentChanged.connect(lambda _place: self._show_current())
        self.tabs.tabBarClicked.connect(lambda _place: self._choose_by_hand())
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self.filters = FilterRow()
        self.filters.changed.connect(self._compare)
        shown = QWidget()
        rows = QVBoxLayout(shown)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.filters)
        rows.addWidget(self.tabs, 1)
        self._splitter.addWidget(shown)
        self._splitter.addWidget(self._make_side())
        self._splitter.setStretchFactor(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._splitter)
        self.setFocusProxy(self.tabs)
        self._rest_timer = QTimer(self, singleShot=True, interval=0)
        self._rest_timer.timeout.connect(self._read_series)
        theme.changed.connect(self._write)

    def _make_side(self) -> QWidget:
        side = QWidget()
        back = QPushButton(tr("← &Runs"))
        back.clicked.connect(lambda _checked: self.go_back())
        self.baseline, self.cut = Choice(tr("Compare &with")), Choice(tr("Leave &out"))
        more = ((str(s), f"{number_text(s / 60, 'g')} min") for s in _MORE_CUTS_S)
        self.cut.offer([("0", tr("nothing")), ("30", "30 s"), *more])
        self.cut.setToolTip(tr("Excludes the start of every run: warm-up that was not measured separately."))
        self.effect = QDoubleSpinBox(
            minimum=0.1, maximum=50, value=2, decimals=1, singleStep=0.5, suffix=" %"
        )
        self.effect.setKeyboardTracking(False)
        form = QFormLayout()
        form.addRow(tr("Compare &with"), self.baseline)
        form.addRow(tr("Smallest &difference of interest"), self.effect)
        form.addRow(tr("Leave &out"), self.cut)
        self.baseline.chosen.connect(self._compare)
        self.cut.chosen.connect(self._compare)
        self.effect.valueChanged.connect(lambda _value: self._compare())
        percent = round(100 * AGAIN_SHARE)
        self.again = QPushButton(tr("Run a&gain at {percent} % …").format(percent=percent))
        tip = tr(
            "Repeats these runs at one fixed rate, {percent} % of the slowest. Latencies are then "
            "comparable and include queueing time."
        )
        show_tip(self.again, tip.format(percent=percent))
        self.again.setEnabled(False)
        self.again.clicked.connect(lambda _checked: self._ask_again())
        form.addRow(self.again)
        self.text = QTextBrowser()
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("Differences and caveats"))
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.document().setUndoRedoEnabled(False)
        layout = QVBoxLayout(side)
        layout.setContentsMargins(SMALL, SMALL, SMALL, 0)
        layout.addWidget(back)
        layout.addLayout(form)
        layout.addWidget(self.text, 1)
        em = self.fontMetrics().averageCharWidth()
        side.setMinimumWidth(em * 32)
        self._splitter.setSizes([em * 130, em * 52])
        return side

    def _connect_view(self, view: View) -> None:
        view.focus_asked.connect(self.set_focus_run)
        view.runs_asked.connect(self._show_cell)

    # Content

    def show_runs(self, runs: Sequence[ListedRun], colours: Mapping[str, int], focus: str = "") -> None:
        """Show these runs with the numbers of their colours, by path; earlier content is dropped.

        Series are read when charts over time are shown.
        """
        self._cancel()
        unique = {run.entry.path: run for run in runs}
        loaded = [
            LoadedRun(path, colours.get(path, number), one_line(run.entry.name or "") or Path(path).name)
            for number, (path, run) in enumerate(unique.items())
        ]
        self._problems, self._all = (), Content(())
        self.filters.offer(self._all)
        if not self._chosen_by_hand:
            self.choose_view("result")  # the charts were on the page before
        self._set_content(Content((), focus=focus))
        self._read(loaded, focus)

    def _read(self, loaded: Sequence[LoadedRun], focus: str) -> None:
        """Read the facts of runs, compare and show them."""
        choices, library = self._choices(), self.library

        def compare() -> tuple[list[LoadedRun], Content]:
            found = load_facts(loaded)
            good = tuple(run for run in found if not run.problem)
            return found, compare_content(Content(good, focus=focus), choices, read_spreads(library))

        def take(found: tuple[list[LoadedRun], Content]) -> None:
            self._drop_unreadable(found[0])
            self._all = found[1]
            ranked = () if self._all.comparison is None else self._all.comparison.ranked
            names = sorted((row.group.runs[0].index, row.group.name) for row in ranked)
            self.baseline.offer([(name, name) for _, name in names])
            self.filters.offer(self._all)
            self._show_compared(self._all)

        self._op = BackgroundOp(compare, take, self._fail).start()

    def _drop_unreadable(self, runs: Iterable[LoadedRun]) -> None:
        problems = (run.problem for run in runs if run.problem)
        self._problems = tuple(dict.fromkeys((*self._problems, *problems)))

    def _read_series(self) -> None:
        """Read the data of charts over time."""
        content, whole = self.content, self._all
        charts, shown = self._charts(), len(set(content.colours))

        def take(found: list[LoadedRun]) -> None:
            drawn = {run.path: run for run in found}
            self._drop_unreadable(found)
            runs = tuple(drawn.get(run.path, run) for run in whole.runs)
            if any(run.problem for run in found):  # comparison and charts have the same runs
                self._read([replace(run, facts=None) for run in runs if not run.problem], content.focus)
                return
            self._all = replace(self._all, runs=runs)
            self._set_content(replace(self.content, runs=tuple(found)))
            self.settled.emit()

        self._op = BackgroundOp(lambda: with_series(content.runs, charts, shown), take, self._fail).start()

    def _charts(self) -> Sequence[str]:
        view = self._holder("over-time").view
        return view.stack.chart_ids if isinstance(view, OverTimeView) else FIRST_CHARTS

    def _show_compared(self, content: Content) -> None:
        self._set_content(content.with_focus(self.content.focus))
        if not self._rest_timer.isActive():
            self.settled.emit()

    def _compare(self) -> None:
        """Compare the runs that the filters keep with the current settings."""
        if self._all.comparison is None:
            return
        runs = tuple(run for run in self._all.runs if self.filters.keeps(run.path))
        content = Content(runs, focus=self.content.focus, filters=self.filters.words)
        choices, library = self._choices(), self.library
        self._cancel()
        self._op = BackgroundOp(
            lambda: compare_content(content, choices, read_spreads(library)), self._show_compared, self._fail
        ).start()

    def _show_cell(self, words: str, paths: tuple[str, ...]) -> None:
        """Show the runs of a cell over time."""
        self._choose_by_hand()
        self.choose_view("over-time")
        self.filters.choose_runs(words, paths)

    def _ask_again(self) -> None:
        """Create the campaign that repeats the runs at one rate; its files are read in the background."""
        comparison = self.content.comparison
        if comparison is not None:
            self._cancel_again()
            self._again_op = BackgroundOp(
                lambda: _campaign_again(comparison), self.again_asked.emit, self._fail
            ).start()

    def _cancel_again(self) -> None:
        if self._again_op is not None:
            self._again_op.cancel()

    def _choices(self) -> Choices:
        return Choices(self.effect.value() / 100, float(self.cut.choice), self.baseline.choice)

    def _set_content(self, content: Content) -> None:
        self.content = content
        self.again.setEnabled(content.comparison is not None)
        for place in range(self.tabs.count()):
            holder = self._holder_at(place)
            holder.set_stale()
            if content.comparison is not None:
                self.tabs.setTabVisible(place, holder.spec.has(content))
        self._show_current()
        self._write()

    def set_focus_run(self, path: str) -> None:
        """Focus a run in every view."""
        if path != self.content.focus:
            self._set_content(self.content.with_focus(path))

    def _fail(self, error: FootingError) -> None:
        self.notified.emit(one_line(f"{error.message} {error.hint}"))

    # Views

    def choose_view(self, name: str) -> None:
        """Show a view by its name."""
        self.tabs.setCurrentIndex([spec.id for spec in VIEWS].index(name))

    @property
    def view(self) -> View | None:
        """The shown view; None before it was first needed."""
        return self._holder_at(self.tabs.currentIndex()).view

    def _choose_by_hand(self) -> None:
        self._chosen_by_hand = True

    def _holder(self, name: str) -> ViewHolder:
        return self._holder_at([spec.id for spec in VIEWS].index(name))

    def _holder_at(self, place: int) -> ViewHolder:
        holder = self.tabs.widget(place)
        if not isinstance(holder, ViewHolder):
            raise TypeError(holder)
        return holder

    def _show_current(self) -> None:
        holder = self._holder_at(self.tabs.currentIndex())
        if holder.spec.has_charts and self.content.runs and not self.content.has_series:
            self._rest_timer.start()  # after painting
        holder.show_content(self.content)

    def _write(self) -> None:
        with written_at_once(self.text) as document:
            ComparisonWriter(document, self._theme).write(self.content, self._problems)

    # End

    def _cancel(self) -> None:
        self._rest_timer.stop()
        self._cancel_again()  # for runs or a cut no longer shown
        if self._op is not None:
            self._op.cancel()

    def stop(self) -> None:
        """Cancel pending work."""
        self._cancel()
        for place in range(self.tabs.count()):
            if (view := self._holder_at(place).view) is not None:
                view.stop()

    @override
    def deleteLater(self) -> None:
        self.stop()
        super().deleteLater()


def _campaign_again(comparison: RunComparison) -> Campaign:
    """Return the campaign at one rate.

    Raises:
        FootingError: it cannot be repeated, or names foreign programs.
    """
    from app.comparison.again_at_rate import campaign_again  # noqa: PLC0415 - with all of campaign files
    from app.draft.servers import refuse_programs  # noqa: PLC0415 - with psycopg

    file = campaign_again(comparison)
    refuse_programs(file)
    return file.campaign


# --- Reading runs in the background. Unreadable ones get a problem instead of an exception.


def with_series(runs: Iterable[LoadedRun], charts: Sequence[str], shown: int) -> list[LoadedRun]:
    """Read the series for these charts, for `shown` configurations."""
    return [_drawn(run, charts, shown) for run in runs]


def _drawn(run: LoadedRun, charts: Sequence[str], shown: int) -> LoadedRun:
    try:
        data = kept_run_data(Path(run.path))
        prefetch(data, charts, shown)
    except FootingError as error:
        return replace(run, problem=one_line(f"{run.name}: {error.message}"))
    return replace(run, data=data)


def load_facts(runs: Sequence[LoadedRun]) -> list[LoadedRun]:
    """Read the facts of runs."""
    return [_with_facts(run) for run in runs]


def _with_facts(run: LoadedRun) -> LoadedRun:
    try:
        facts = run.facts or kept_run_facts(Path(run.path))
    except FootingError as error:
        return replace(run, problem=one_line(f"{run.name}: {error.message}"))
    return replace(run, facts=facts)
