"""Phases side by side on the compare page and in the report: a chart each, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, QSize, QSizeF
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from app.analysis.facts import read_run_facts
from app.report.options import ReportOptions
from tests.fix_phases import PhasedRun, PhaseShape, ext4_and_xfs, write_phased_campaign
from ui.charts.figures.bars import PanelFigure
from ui.compare.content import Choices, Content, LoadedRun, compare_content
from ui.compare.views import OWN, PhasesView, make_phases
from ui.report.save import SaveRequest, save
from ui.theme import Scheme, Theme


def content_of(folder: Path, runs: Sequence[PhasedRun]) -> Content:
    paths = write_phased_campaign(folder, runs)
    loaded = tuple(
        LoadedRun(str(path), number, path.stem, None, read_run_facts(path))
        for number, path in enumerate(paths)
    )
    return compare_content(Content(loaded), Choices())


def with_a_rate() -> list[PhasedRun]:
    phases = (PhaseShape("free", 1000.0), PhaseShape("rated", 300.0, rate_tps=300.0))
    return [PhasedRun(name, repeat, phases) for name in ("ext4", "xfs") for repeat in range(3)]


def many(configurations: int, phases: int) -> list[PhasedRun]:
    shapes = tuple(PhaseShape(f"phase {number}", 1000.0 + number) for number in range(phases))
    ending = "with options that make a name long, noatime, discard"
    names = [f"filesystem number {number} {ending}" for number in range(configurations)]
    return [PhasedRun(name, repeat, shapes) for name in names for repeat in range(2)]


def made(content: Content, name: str = OWN) -> PanelFigure:
    figure = make_phases(content, name)
    assert figure is not None
    return figure


def test_phase_figures_have_intervals_and_runs(tmp_path: Path) -> None:
    figure = made(content_of(tmp_path, ext4_and_xfs()))
    assert [panel.heading for panel in figure.panels] == [
        "reads (1 of 2): select-only",
        "reads (2 of 2): select-only",
        "writes: tpcb-like",
    ]
    writes = list(figure.panels[2].bars.values())
    assert [bar.label for bar in writes] == ["ext4", "xfs"]
    for bar in writes:
        assert bar.value is not None
        assert bar.interval is not None
        assert bar.interval[0] < bar.value < bar.interval[1]
        assert len(bar.points) == 3
    assert writes[1].value == pytest.approx(1.2 * (writes[0].value or 0.0), rel=1e-3)
    assert "fill" not in figure.csv()  # it does not count
    assert figure.csv().count("\n") == 7
    assert "writes: tpcb-like,xfs," in figure.csv()


def test_phases_at_rate_compare_99th_percentile(tmp_path: Path) -> None:
    content = content_of(tmp_path, with_a_rate())
    free, rated = (panel.columns[0] for panel in made(content).panels)
    assert free == "Transactions per second, higher is better"
    assert rated.endswith("ms, lower is better")
    assert {panel.columns[0] for panel in made(content, "tps").panels} == {free}


def test_no_figure_without_phases(tmp_path: Path) -> None:
    plain = content_of(tmp_path, ext4_and_xfs())
    assert make_phases(Content(plain.runs, plain.comparison)) is None


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
@pytest.mark.parametrize(("configurations", "phases", "width"), [(2, 2, 600), (12, 8, 1280), (1, 20, 1920)])
def test_many_phases_keep_row_height(
    qtbot: QtBot, tmp_path: Path, scheme: Scheme, configurations: int, phases: int, width: int
) -> None:
    theme = Theme(scheme)
    figure = made(content_of(tmp_path, many(configurations, phases)))
    height = figure.least_height(theme, width)
    size = QSizeF(width, height)
    places = [area for _, area, _ in figure._grown(theme, size)]
    assert len(places) == phases
    for number, place in enumerate(places):
        assert place.right() <= width + 1
        assert place.bottom() <= height + 1
        assert not any(place.intersects(other) for other in places[number + 1 :])
    assert len(figure.panels[0].rows) == configurations
    image = QImage(QSize(width, round(height)), QImage.Format.Format_RGB32)
    image.fill(theme.background)
    before = image.copy()
    painter = QPainter(image)
    figure.paint(painter, size, theme)
    middle = places[-1].bottomRight() - QPointF(places[-1].width() / 3, 5)
    figure.paint_pointer(painter, size, theme, middle)
    painter.end()
    assert image != before
    assert figure.text_at(size, theme, middle).startswith(figure.panels[-1].heading)
    assert figure.text_at(size, theme, QPointF(-5, -5)) == ""
    view = PhasesView(theme)
    qtbot.addWidget(view)


def test_report_of_many_long_phases(tmp_path: Path) -> None:
    shapes = tuple(PhaseShape("x" * 78 + str(number), 1000.0) for number in range(9))
    runs = [PhasedRun(f"{name} " + "y" * 60, n, shapes) for name in ("a", "b", "c") for n in range(2)]
    paths = write_phased_campaign(tmp_path, runs)
    target = tmp_path / "report.pdf"
    save(
        SaveRequest(tuple(paths), target, "a4", ReportOptions(), replace=True),
        left_out=lambda _sentence: None,
    )
    assert target.stat().st_size > 10_000
