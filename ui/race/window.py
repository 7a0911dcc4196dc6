"""The race on the full screen: leader board, growing lines, and a last slide with the verdict.

The last slide has the answer as a sentence, bars with intervals, and reservations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.analysis.labels import one_line, with_warning
from app.comparison.label_shortening import cut_words
from app.comparison.overall.answer import find_answer
from app.domain.text import format_duration, number_text, tr
from app.live.race import Lane, RacingRun, Standing, steady_position
from app.live.snapshot import ReplayClock
from ui.charts.data.curves import width_words
from ui.charts.data.lines import BandKind
from ui.charts.data.registry import CHARTS
from ui.charts.figures.bars import FigureView
from ui.charts.painting.sheet_painting import CENTRE, LEFT, RIGHT
from ui.charts.stack.stack import ChartStack
from ui.compare.content import Content
from ui.compare.figures import TPS, make_figure
from ui.live.presentation_window import KEYS, FullScreenWindow, Keys
from ui.live.words import NOTHING, format_rate, signed_clock
from ui.race.content import RaceContent
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Scheme, Theme, painting
from ui.widgets.layouts import fill
from ui.widgets.texts import ElidedLabel, announce, is_listened_to, plain_label, tint, wrapped_label

# A board with moving rows: rank, name, a bar, a large number. Painted, legible from a distance.


_NAME: Final = 0.38
_NOTE: Final = 0.26
_NUMBER: Final = 0.62
_ALARM: Final = 0.56
"""Heights of type, as shares of a row."""
_NAMES_SHARE: Final = 0.30
_HEAD_SHARE: Final = 0.42
_WIDEST_NUMBER: Final = "888,888"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """The content of a row.

    Attributes:
        key: identity.
        rank: before the name; may be empty.
        name: of the run or configuration, without its warning.
        ending: the warning, never shortened.
        colour_index: number of its configuration's colour.
        value: length of the bar; None for none.
        marked: position of a mark in the bar; None for none.
        number: large.
        beneath: small, below the number.
        note: small, below the name.
        alarm: large text at the end of the bar; may be empty.
        is_over: whether it is muted, because nothing more comes.
    """

    key: str
    rank: str
    name: str
    ending: str
    colour_index: int
    value: float | None
    number: str
    marked: float | None = None
    beneath: str = ""
    note: str = ""
    alarm: str = ""
    is_over: bool = False

    @property
    def words(self) -> str:
        """The row as a sentence, for screen readers."""
        parts = (f"{self.rank} {self.name}{self.ending}".strip(), self.number, self.beneath)
        return ", ".join(filter(None, (*parts, self.alarm, self.note)))


class LeaderBoard(QWidget):
    """Rows under a heading with two texts.

    Attributes:
        rows: top first, in their final order.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: tuple[BoardRow, ...] = ()
        self._heading = ("", "")
        self._top = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Leaderboard"))
        theme.changed.connect(self.update)

    def accessible_text(self) -> str:
        """Return the sort order and all rows, top first."""
        heading = ". ".join(filter(None, self._heading))
        return f"{heading}. {'; '.join(row.words for row in self.rows)}."

    def set_heading(self, left: str, right: str) -> None:
        """Set the texts for the sort order and for the meaning of the numbers."""
        if (left, right) != self._heading:
            self._heading = (left, right)
            self.update()

    def set_top(self, value: float) -> None:
        """Set the value of a bar of full length."""
        self._top = value if value > 0 else 1.0
        self.update()

    def show_rows(self, rows: Sequence[BoardRow]) -> None:
        """Show rows."""
        if tuple(rows) != self.rows:
            self.rows = tuple(rows)
            self.update()

    @property
    def row_height(self) -> float:
        """Height of a row in pixels."""
        return self.height() / (max(2, len(self.rows)) + _HEAD_SHARE)

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 60 * max(2, len(self.rows)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.fillRect(event.rect(), self._theme.background)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            height = self.row_height
            self._paint_heading(painter, height * _HEAD_SHARE)
            for place, row in enumerate(self.rows):
                self._paint_row(painter, row, QRectF(0, height * (_HEAD_SHARE + place), self.width(), height))

    def _font(self, pixels: float, *, bold: bool = False) -> QFont:
        font = self._theme.number_font(bold=bold)
        font.setPixelSize(max(8, round(pixels)))
        return font

    def _paint_heading(self, painter: QPainter, height: float) -> None:
        painter.setFont(self._font(min(height * 0.62, self.row_height * _NOTE)))
        painter.setPen(self._theme.muted)
        area = QRectF(0, 0, self.width(), height)
        left, right = self._heading
        metrics = QFontMetricsF(painter.font())
        room = self.width() - metrics.horizontalAdvance(right) - MEDIUM
        painter.drawText(area, LEFT, metrics.elidedText(left, Qt.TextElideMode.ElideRight, room))
        painter.drawText(area, RIGHT, right)

    def _number_width(self, height: float) -> float:
        font = self._font(height * _NUMBER, bold=True)
        return max(
            QFontMetricsF(font).horizontalAdvance(
                max((_WIDEST_NUMBER, *(r.number for r in self.rows)), key=len)
            ),
            0.0,
        )

    def _paint_row(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        colour = theme.series_colour(row.colour_index)
        if row.is_over:
            colour = theme.pale(colour, 0.6)
        painter.fillRect(area, theme.background)
        names_left = height * 0.62 if any(each.rank for each in self.rows) else 0.0
        names = QRectF(names_left, area.top(), area.width() * _NAMES_SHARE, height)
        self._paint_name(painter, row, names)
        painter.setFont(self._font(height * _NUMBER * 0.8, bold=True))
        painter.setPen(theme.muted if row.is_over else theme.text)
        painter.drawText(QRectF(0, area.top(), names_left, height), LEFT, row.rank)
        number = self._number_width(height)
        bar = QRectF(names.right() + SMALL, area.top(), 0, height)
        bar.setRight(area.width() - number - 2 * MEDIUM)
        if row.value is not None and bar.width() > 0:
            bar.adjust(0, height * 0.17, 0, -height * 0.17)
            self._paint_bar(painter, row, bar, colour)
            self._paint_alarm(painter, row, bar)
        right = QRectF(area.width() - number - MEDIUM, area.top(), number + MEDIUM, height)
        self._paint_number(painter, row, right)

    def _paint_name(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        font = self._font(height * _NAME, bold=True)
        painter.setFont(font)
        painter.setPen(theme.text)
        second = row.note
        upper = QRectF(
            area.left(), area.top() + height * 0.08, area.width(), height * (0.48 if second else 0.84)
        )
        painter.drawText(upper, LEFT, self._fitting(row, font, area.width()))
        if not second:
            return
        lower = QRectF(area.left(), area.top() + height * 0.56, area.width(), height * 0.36)
        small = self._font(height * _NOTE)
        painter.setFont(small)
        painter.setPen(theme.muted)
        shown = QFontMetricsF(small).elidedText(second, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(lower, LEFT, shown)

    def _paint_alarm(self, painter: QPainter, row: BoardRow, bar: QRectF) -> None:
        """Write the alarm at the end of the bar, in the colour of a warning."""
        if not row.alarm:
            return
        font = self._font(row_type := bar.height() * _ALARM, bold=True)
        metrics = QFontMetricsF(font)
        width = min(bar.width(), metrics.horizontalAdvance(row.alarm) + 2 * row_type)
        pill = QRectF(bar.right() - width, bar.top(), width, bar.height())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.warning)
        painter.drawRoundedRect(pill, TINY, TINY)
        painter.setFont(font)
        painter.setPen(self._theme.background)
        shown = metrics.elidedText(row.alarm, Qt.TextElideMode.ElideRight, width - row_type)
        painter.drawText(pill, CENTRE, shown)

    @staticmethod
    def _fitting(row: BoardRow, font: QFont, room: float) -> str:
        width_of, ending = QFontMetricsF(font).horizontalAdvance, row.ending
        return cut_words(row.name, lambda text: width_of(text + ending) <= room) + ending

    def _paint_bar(self, painter: QPainter, row: BoardRow, area: QRectF, colour: QColor) -> None:
        theme = self._theme
        painter.fillRect(area, theme.pale(theme.grid, 0.5))
        share = min(1.0, max(0.0, (row.value or 0.0) / self._top))
        painter.fillRect(QRectF(area.left(), area.top(), area.width() * share, area.height()), colour)
        weight = max(2.0, area.height() / 14)
        if row.marked is not None:
            x = area.left() + area.width() * min(1.0, row.marked / self._top)
            painter.setPen(QPen(theme.background, 3 * weight))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(QPen(theme.text, weight))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_number(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        painter.setFont(self._font(height * _NUMBER, bold=True))
        painter.setPen(theme.warning if row.alarm else theme.muted if row.is_over else theme.text)
        share = 0.66 if row.beneath else 1.0
        painter.drawText(QRectF(area.left(), area.top(), area.width(), height * share), RIGHT, row.number)
        if row.beneath:
            painter.setFont(self._font(height * _NOTE))
            painter.setPen(theme.muted)
            below = QRectF(area.left(), area.top() + height * 0.62, area.width(), height * 0.34)
            painter.drawText(below, RIGHT, row.beneath)


HOMEPAGE: Final = "https://pgfooting.example/"
_SENTENCE: Final = 1.5
_MOST_WEAKENING: Final = 3
"""Most reservations that are readable on a wall; the others are on the compare page."""


class LargeTheme(Theme):
    """The colours of another theme with larger type, for figures on a wall."""

    def __init__(self, base: Theme) -> None:
        super().__init__(base.scheme, base, high_contrast=False)
        self._base = base
        self._larger = 1.0
        base.changed.connect(lambda: self.set_scheme(base.scheme))

    def set_larger(self, larger: float) -> None:
        """Set the type size relative to the program's."""
        if larger != self._larger:
            self._larger = larger
            self.changed.emit()

    @override
    def font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        return super().font(scale * self._larger, bold=bold)


class VerdictSlide(QWidget):
    """The verdict on the runs, for an audience.

    Attributes:
        sentence: the answer.
        figure: bars of TPS, the fastest first.
        weakened_by: reservations.
        address: of the program, for those who ask.
    """

    def __init__(self, theme: Theme, content: Content, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._large = LargeTheme(theme)
        self.sentence, self.weakened_by = wrapped_label(parent=self), wrapped_label(parent=self)
        self.address = plain_label(HOMEPAGE.removeprefix("https://").rstrip("/"), self)
        self.address.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.figure = FigureView(self._large, self)
        self.figure.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        fill(
            QVBoxLayout(self),
            self.sentence,
            (self.figure, 1),
            self.weakened_by,
            self.address,
            spacing=LARGE,
            margins=(0, LARGE, 0, 0),
        )
        self._show(content)
        theme.changed.connect(self._apply_theme)

    def _show(self, content: Content) -> None:
        if content.comparison is None:
            self.sentence.setText(tr("The run files are gone, so there is no verdict."))
            self.figure.hide()
            return
        answer = find_answer(content.comparison)
        self.sentence.setText(one_line(answer.sentence))
        self.figure.show_figure(make_figure(content, TPS))
        self.weakened_by.setText("\n".join(map(one_line, answer.weakened_by[:_MOST_WEAKENING])))

    def set_type(self, pixels: float) -> None:
        """Set the type height."""
        self._large.set_larger(pixels / max(1, self._theme_pixels()))
        for label, share in ((self.sentence, _SENTENCE), (self.weakened_by, 0.85), (self.address, 1.2)):
            font = self._theme.number_font(bold=label is not self.weakened_by)
            font.setPixelSize(max(10, round(pixels * share)))
            label.setFont(font)
        self._apply_theme()

    def _theme_pixels(self) -> float:
        return self._theme.font().pointSizeF() * self.logicalDpiY() / 72

    def _apply_theme(self) -> None:
        tint(self.weakened_by, self._theme.warning)


FRAME_MS: Final = 33
"""Milliseconds between two frames: thirty per second are enough for a growing line."""

_TITLE_SHARE: Final = 0.036
_SMALL_SHARE: Final = 0.026
_FEWEST_PIXELS: Final = 15.0
_BOARD_SHARE: Final = 0.1
"""Height of a row of the board, as a share of the window, unless all rows exceed `_MOST_OF_BOARD`."""
_MOST_OF_BOARD: Final = 0.58

_SAID_EVERY_S: Final = 10.0
"""Seconds between two announcements: leaders may change every second."""

HINT: Final = (
    tr(
        "→ ← chart and verdict   V verdict   Space pause   + − speed   S next stall   "  # noqa: RUF001
        "C next checkpoint   Shift+S, Shift+C previous"
    )
    + f"   {KEYS}"
)


class RaceWindow(FullScreenWindow):
    """Two to six runs on one clock.

    Keys: Right, Left, PageDown, PageUp chart, after the last one the verdict; V verdict; Space pause; + and -
    speed; S stall, C checkpoint, with Shift the previous one; B start; and those of every such window.

    Attributes:
        clock: position of the race.
        content: the shown one.
        board: the ranking.
        charts: one chart at a time, with lines up to the moment.
        verdict: the last slide.
    """

    def __init__(
        self,
        scheme: Scheme,
        content: RaceContent,
        *,
        speed: float = 1.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(scheme, tr("pgFooting: race"), HINT)
        self.content = content
        self.clock = ReplayClock(0.0, content.race.end_s, speed=speed, clock_s=clock_s)
        self._clock_s = clock_s
        self._chart = 0
        self._announced: tuple[str, bool] | None = None
        self._said_s = clock_s() - _SAID_EVERY_S
        self.title, self.time = ElidedLabel(self), plain_label(parent=self)
        self.setting, self.remark = ElidedLabel(self), ElidedLabel(self)
        self.board = LeaderBoard(self.theme, self)
        self.board.set_top(content.race.top)
        self.charts = self._make_charts()
        self.verdict = VerdictSlide(self.theme, content.content, self)
        self._race_page = QWidget(self)
        self.slides = QStackedWidget(self)
        self._lay_out()
        self.listen(self._make_keys())
        self._show_chart()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self.advance)
        self.closed.connect(self._timer.stop)  # else it would continue, and be announced, until deleted
        self._timer.start()
        self.advance()

    def _make_charts(self) -> ChartStack:
        """Return a stack with the main curve of every run, over its measured phase."""
        charts = ChartStack(self.theme, self)
        charts.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        charts.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # it would read what comes
        for spec in CHARTS.values():
            for curve in spec.curves:
                charts.shown.choose_curve(spec.id, curve.id, visible=curve.main)
        charts.set_around(BandKind.NOTHING)
        charts.set_runs(self.content.traces)
        charts.show_times(0.0, self.content.race.end_s)
        return charts

    def _lay_out(self) -> None:
        top = fill(QHBoxLayout(), (self.title, 1), self.time, spacing=LARGE)
        fill(QVBoxLayout(self._race_page), self.board, (self.charts, 1), spacing=MEDIUM, margins=0)
        self.slides.addWidget(self._race_page)
        self.slides.addWidget(self.verdict)
        fill(
            QVBoxLayout(self),
            top,
            self.setting,
            (self.slides, 1),
            self.remark,
            self.hint,
            spacing=MEDIUM,
            margins=(LARGE, MEDIUM),
        )
        race = self.content.race
        self.title.show_line(tr("{count} runs side by side").format(count=len(race.runs)))
        self.setting.show_line(self.content.setting)
        self.setting.setVisible(bool(self.content.setting))
        words = " ".join(filter(None, (race.note, *race.left_out)))
        self.remark.show_line(words)
        self.remark.setVisible(bool(words))

    def _make_keys(self) -> Keys:
        key, race = Qt.Key, self.content.race
        return {
            key.Key_Right: lambda _: self.next_slide(1),
            key.Key_PageDown: lambda _: self.next_slide(1),
            key.Key_Left: lambda _: self.next_slide(-1),
            key.Key_PageUp: lambda _: self.next_slide(-1),
            key.Key_V: lambda _: self.show_verdict(shown=not self.shows_verdict),
            key.Key_Space: lambda _: self._steer(self.clock.toggle),
            key.Key_Plus: lambda _: self._steer(lambda: self.clock.step_speed(1)),
            key.Key_Equal: lambda _: self._steer(lambda: self.clock.step_speed(1)),
            key.Key_Minus: lambda _: self._steer(lambda: self.clock.step_speed(-1)),
            key.Key_S: lambda shift: self._go(race.stalls_s, backwards=shift),
            key.Key_C: lambda shift: self._go(race.checkpoints_s, backwards=shift),
            key.Key_B: lambda _: self._steer(lambda: self.clock.jump(0.0)),
        }

    @override
    def apply_style(self) -> None:
        super().apply_style()
        height = self.height()
        small = max(_FEWEST_PIXELS, height * _SMALL_SHARE)
        self.title.setFont(self.sized(self.points_of(max(_FEWEST_PIXELS, height * _TITLE_SHARE)), bold=True))
        self.time.setFont(self.sized(self.points_of(max(_FEWEST_PIXELS, height * _TITLE_SHARE)), bold=True))
        for label in (self.setting, self.remark, self.hint):
            label.setFont(self.sized(self.points_of(max(12.0, small * 0.75))))
        rows = max(2, len(self.content.race.runs))
        self.board.setFixedHeight(round(height * min(_MOST_OF_BOARD, _BOARD_SHARE * (rows + 0.5))))
        self.charts.set_thick(thick=True, scale=self.points_of(small) / self.theme.font().pointSizeF())
        self.verdict.set_type(small)

    # Content

    def advance(self) -> None:
        """Show the moment of the clock."""
        now_s = self._clock_s()
        position_s = self.clock.position_s
        reported_s = self._shown_s(position_s)
        standings = self.content.race.standings(reported_s, self.clock.speed)
        is_ranked = self.content.race.is_ranked
        self.board.set_heading(*_headings(standings[0].width_s, is_ranked=is_ranked))
        self.board.show_rows([board_row(each, quiet=not self.clock.at_end) for each in standings])
        self.charts.show_until(position_s)
        self._show_time(position_s)
        if standings[0].mean is not None:
            self._announce(standings[0].run.run_id, at_end=self.clock.at_end, now_s=now_s)

    def _announce(self, leader: str, *, at_end: bool, now_s: float) -> None:
        """Announce the board if another run leads, and at the end."""
        stage = leader, at_end
        if (
            stage != self._announced
            and (at_end or now_s >= self._said_s + _SAID_EVERY_S)
            and is_listened_to()
        ):
            self._announced, self._said_s = stage, now_s
            announce(self.board, self.board.accessible_text())

    def _shown_s(self, position_s: float) -> float:
        """Return the moment of the shown figures: the exact one while paused or at the end."""
        if self.clock.paused or self.clock.at_end:
            return position_s
        return steady_position(position_s, self.clock.speed)

    def _show_time(self, position_s: float) -> None:
        speed = f"{number_text(self.clock.speed, 'g')} ×"  # noqa: RUF001 - a multiplication sign
        parts = [f"{signed_clock(position_s)} / {signed_clock(self.clock.end_s)}", speed]
        if self.clock.at_end:
            parts.append(tr("ended"))
        elif self.clock.paused:
            parts.append(tr("paused"))
        words = "   ".join(parts)
        if words != self.time.text():
            self.time.setText(words)

    def _show_chart(self) -> None:
        self.charts.set_charts(self.content.charts[self._chart : self._chart + 1])
        self.charts.show_until(self.clock.position_s)

    @property
    def shows_verdict(self) -> bool:
        """Whether the last slide is shown."""
        return self.slides.currentWidget() is self.verdict

    def show_verdict(self, *, shown: bool = True) -> None:
        """Show the last slide, or the race."""
        if shown and not self.shows_verdict:
            announce(self.verdict, self.verdict.sentence.text())
        self.slides.setCurrentWidget(self.verdict if shown else self._race_page)

    # Controls

    def next_slide(self, step: int) -> None:
        """Show the next chart, or the previous one; the verdict follows the last one."""
        count = len(self.content.charts) + 1
        place = count - 1 if self.shows_verdict else self._chart
        place = (place + step) % count
        self.show_verdict(shown=place == count - 1)
        if place < count - 1 and place != self._chart:
            self._chart = place
            self._show_chart()

    def _steer(self, do: Callable[[], None]) -> None:
        do()
        self.advance()

    def _go(self, moments_s: tuple[float, ...], *, backwards: bool) -> None:
        if self.clock.jump_to_next(moments_s, backwards=backwards):
            self.advance()


def _headings(width_s: float, *, is_ranked: bool = True) -> tuple[str, str]:
    number = tr("TPS, mean of the last {width}; mark, mean so far").format(width=width_words(width_s))
    order = tr("Order: mean TPS since the start") if is_ranked else tr("Order: as selected")
    return order, number


def rounded(tps: float | None) -> str:
    """Return TPS with three significant digits: a fourth one would only flicker."""
    if tps is None:
        return NOTHING
    return format_rate(float(f"{tps:.3g}"))


def board_row(standing: Standing, *, quiet: bool = True) -> BoardRow:
    """Return the board row of a run at a moment.

    Args:
        standing: of the run.
        quiet: mute a run that has ended, because others continue.
    """
    run = standing.run
    name, ending = name_and_ending(run)
    ended = standing.lane is Lane.ENDED
    number = standing.mean if ended else standing.newest
    note, alarm = "", ""
    if standing.stalled_s > 0:
        note = tr("stalled {time} so far").format(time=format_duration(standing.stalled_s))
    if ended:
        total = tr("stalled {time} in all").format(time=format_duration(standing.stalled_s))
        note = " \N{MIDDLE DOT} ".join(filter(None, (tr("ended"), total if standing.stalled_s > 0 else "")))
    elif standing.lane is Lane.STALLED:
        alarm = tr("STALLED {seconds:.0f} s of {width:.0f}").format(
            seconds=max(1.0, standing.newly_stalled_s), width=standing.width_s
        )
    return BoardRow(
        key=run.run_id,
        rank=NOTHING if standing.rank is None else str(standing.rank),
        name=name,
        ending=ending,
        colour_index=run.colour_index,
        value=number,
        number=rounded(number),
        marked=standing.mean,
        beneath=tr("run mean") if ended else tr("so far {tps}").format(tps=rounded(standing.mean)),
        note=note,
        alarm=alarm,
        is_over=ended and quiet,
    )


def name_and_ending(run: RacingRun) -> tuple[str, str]:
    """Return the name of a run without its warning, and the warning as its suffix."""
    ending = with_warning("", run.warning)
    return run.name.removesuffix(ending), ending
