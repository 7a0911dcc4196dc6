from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.domain.metrics import METRICS
from ui.charts.data.registry import CHARTS, PERCENTILE, expanded
from ui.charts.painting.painting import mark_parts, paint_mark
from ui.style import FlatStyle, qt_palette
from ui.theme import PALETTES, SERIES, STRONGER, STYLES, Palette, Scheme, Theme, mix
from ui.window.library.delegate import CHOSEN_SHARE, SMALL_SHARE

# Viénot, Brettel, Mollon 1999, in linear RGB: what protanopes and deuteranopes see.
SEEN = {
    "all": np.eye(3),
    "protanopia": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "deuteranopia": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
}


def linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    scaled = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-6))
    return np.array([116 * scaled[1] - 16, 500 * (scaled[0] - scaled[1]), 200 * (scaled[1] - scaled[2])])


STRONG = frozenset(STRONGER.values())
LEAST_OF_WORDS = {scheme: 7.0 if scheme in STRONG else 4.5 for scheme in Scheme}
"""WCAG 2.2, 1.4.6 and 1.4.3."""
LEAST_OF_LINES = {scheme: 4.5 if scheme in STRONG else 3.0 for scheme in Scheme}


@pytest.mark.parametrize("scheme", Scheme)
def test_every_line_stands_out_from_its_ground(scheme: Scheme) -> None:
    palette = PALETTES[scheme]
    assert len(palette.series) == SERIES
    for colour in palette.series:
        assert contrast(colour, palette.background) >= LEAST_OF_LINES[scheme], colour


def blended(one: str, other: str, share: float) -> str:
    return mix(QColor(one), QColor(other), share).name()


def inks_on_grounds(palette: Palette) -> Iterator[tuple[str, str, str]]:
    """Yield (what, colour of words, ground below them): every pair of which widgets are painted."""
    words = ("text", "muted", "warning", "good", "accent")
    for ground in ("background", "window", "box", "warm_up"):
        for ink in words:
            yield f"{ink} on {ground}", getattr(palette, ink), getattr(palette, ground)
    for state in ("stall", "warm_up"):
        yield f"text on {state}", palette.text, getattr(palette, state)
    for ink in ("accent", "warning"):  # chosen rows and links; the pill of an alarm
        yield f"words on {ink}", palette.background, getattr(palette, ink)
    tint = blended(palette.warning, palette.background, 0.1)
    yield "a warning on its tint", palette.warning, tint
    yield "text on the tint of a warning", palette.text, tint
    small = blended(palette.text, palette.background, SMALL_SHARE)
    for share in (0.0, 0.1, CHOSEN_SHARE):
        row = blended(palette.accent, palette.background, share)
        yield f"text on a row {share}", palette.text, row
        yield f"small words on a row {share}", small, row
        yield f"a warning on a row {share}", palette.warning, row
    if palette is not PALETTES[Scheme.PRINT]:  # nothing like it is printed
        yield "text of a cell", palette.text, blended(palette.accent, palette.background, 0.55)


@pytest.mark.parametrize("scheme", Scheme)
def test_every_word_can_be_read(scheme: Scheme) -> None:
    found = {what: round(contrast(ink, on), 2) for what, ink, on in inks_on_grounds(PALETTES[scheme])}
    assert {what: ratio for what, ratio in found.items() if ratio < LEAST_OF_WORDS[scheme]} == {}
    assert len(found) > 30


@pytest.mark.parametrize("scheme", sorted(STRONG))
def test_high_contrast_edges_and_marks(scheme: Scheme) -> None:
    palette = PALETTES[scheme]
    for colour in (palette.frame, palette.checkpoint):
        assert contrast(colour, palette.background) >= 4.5


class _Hints(QObject):
    """The desktop's word on contrast, which is no test's to change."""

    contrastPreferenceChanged = Signal(object)  # noqa: N815 - Qt's name

    def __init__(self) -> None:
        super().__init__()
        self.wanted = Qt.ContrastPreference.NoPreference

    def contrastPreference(self) -> Qt.ContrastPreference:  # noqa: N802 - Qt's name
        return self.wanted


class _StyleHints(QObject):
    colorSchemeChanged = Signal(Qt.ColorScheme)  # noqa: N815 - Qt's name

    def colorScheme(self) -> Qt.ColorScheme:  # noqa: N802 - Qt's name
        return Qt.ColorScheme.Light


class _NewStyleHints(_StyleHints):
    """Those of Qt 6.10."""

    def __init__(self) -> None:
        super().__init__()
        self.contrast = _Hints()

    def accessibility(self) -> _Hints:
        return self.contrast


def shown(theme: Theme) -> str:
    return theme.scheme.value


@pytest.mark.skipif(not hasattr(Qt, "ContrastPreference"), reason="this Qt knows no contrast of the desktop")
def test_theme_follows_contrast_until_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    hints = _NewStyleHints()
    monkeypatch.setattr(QGuiApplication, "styleHints", lambda: hints)
    theme = Theme()
    assert shown(theme) == "light"
    hints.contrast.wanted = Qt.ContrastPreference.HighContrast
    hints.contrast.contrastPreferenceChanged.emit(hints.contrast.wanted)
    assert shown(theme) == "contrast-light"
    theme.set_scheme(Scheme.DARK)
    assert shown(theme) == "contrast-dark"
    theme.set_high_contrast(False)
    assert shown(theme) == "dark"
    theme.set_high_contrast(None)
    theme.set_scheme(Scheme.PRINT)
    assert shown(theme) == "print", "paper and projector have a contrast of their own"


def test_contrast_preference_on_old_qt(monkeypatch: pytest.MonkeyPatch) -> None:
    hints = _StyleHints()
    monkeypatch.setattr(QGuiApplication, "styleHints", lambda: hints)
    theme = Theme()
    assert shown(theme) == "light"
    theme.set_high_contrast(True)
    assert shown(theme) == "contrast-light"


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("scheme", Scheme)
def test_lines_distinct_for_colour_blind(scheme: Scheme, eyes: str) -> None:
    seen = [lab(np.clip(SEEN[eyes] @ linear(colour), 0, 1)) for colour in PALETTES[scheme].series]
    for one, other in combinations(range(SERIES), 2):
        distance = float(np.linalg.norm(seen[one] - seen[other]))
        assert distance > (28 if eyes == "all" else 17) - 0.5, (
            PALETTES[scheme].series[one],
            PALETTES[scheme].series[other],
            distance,
        )


def test_colour_and_mark_pairs_unique() -> None:
    theme = Theme(Scheme.LIGHT)
    assert theme.series_colour(8) == theme.series_colour(0)
    marks = [theme.series_mark(number) for number in range(400)]
    assert marks[:8] == [0] * 8, "the first eight need none"
    looks = [
        (theme.series_colour(number).rgb(), mark and mark_parts(mark)) for number, mark in enumerate(marks)
    ]
    assert len(set(looks)) == len(looks)


def test_marks_look_different() -> None:
    painted = set()
    for mark in range(12):
        image = QImage(40, 20, QImage.Format.Format_RGB32)
        image.fill(QColor("#ffffff"))
        painter = QPainter(image)
        paint_mark(painter, QPointF(20, 10), mark, QColor("#0063b2"), 1.0)
        painter.end()
        painted.add(bytes(image.constBits()))
    assert len(painted) == 12


def test_pale_colours_are_opaque_and_lie_between() -> None:
    assert mix(QColor("#000000"), QColor("#ffffff"), 0.25).name() == "#bfbfbf"
    pale = Theme(Scheme.DARK).pale(QColor("#4da6e0"))
    assert pale.alpha() == 255


def test_theme_follows_system_until_chosen(qapp: QApplication) -> None:
    theme = Theme()
    system = qapp.styleHints().colorSchemeChanged
    seen: list[Scheme] = []
    theme.changed.connect(lambda: seen.append(theme.scheme))
    system.emit(Qt.ColorScheme.Dark)
    theme.set_scheme(Scheme.PRINT)
    system.emit(Qt.ColorScheme.Light)
    theme.set_scheme(None)
    assert seen == [Scheme.DARK, Scheme.PRINT, Scheme.LIGHT]


def test_widgets_get_the_colours_of_the_charts() -> None:
    for palette in PALETTES.values():
        made = qt_palette(palette)
        assert made.base().color().name() == palette.background
        assert made.text().color().name() == palette.text


@pytest.mark.parametrize("kind", [QLineEdit, QComboBox, QCheckBox, QRadioButton, QPushButton])
@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK, *sorted(STRONG)])
def test_edges_of_controls_can_be_seen(qtbot: QtBot, scheme: Scheme, kind: type[QWidget]) -> None:
    """WCAG 2.2, 1.4.11: 3:1 against what is around; a light button has its word instead."""
    around = QWidget()
    qtbot.addWidget(around)
    style = FlatStyle("Fusion")
    style.setParent(around)
    around.setPalette(qt_palette(PALETTES[scheme]))
    control = kind(around)
    control.setStyle(style)
    control.setGeometry(10, 10, 120, control.sizeHint().height())
    around.resize(140, 60)
    around.show()
    picture = around.grab().toImage()
    middle = control.geometry().center().y()
    window = PALETTES[scheme].window
    row = [picture.pixelColor(x, middle).name() for x in range(8, 30)]
    least = 3.0 if scheme is not Scheme.LIGHT or kind is not QPushButton else 1.3
    assert max(contrast(colour, window) for colour in row) >= least, row


def test_every_curve_reads_a_metric_that_exists() -> None:
    for chart_id, chart in CHARTS.items():
        assert chart.id == chart_id
        assert chart.unit
        assert any(curve.main for curve in chart.curves)
        assert len({curve.id for curve in chart.curves}) == len(chart.curves)
        for curve in chart.curves:
            units = {METRICS[metric].unit for metric, _ in curve.parts}
            assert len(units) == 1
            assert all(metric in METRICS or metric.startswith(PERCENTILE) for metric, _ in curve.parts)


def test_curves_of_chart_look_different() -> None:
    disks = [
        (metric, disk)
        for metric in ("device.reads", "device.flush_await")
        for disk in ("sda", "sdb", "sdc", "sdd")
    ]
    for chart in (expanded(chart, disks) for chart in CHARTS.values()):
        looks = [(STYLES[curve.style], curve.shade) for curve in chart.curves]
        assert len(set(looks)) == len(looks), chart.id
