"""The workload page of the wizard: phases and the design, driven like a person does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.campaign_file.fields import PHASE_FIELDS, WORKLOAD_FIELDS
from app.campaign_file.phases import MOST_PHASES
from app.campaign_file.reader import load_campaign
from app.campaign_file.recipes.head import RECIPES
from app.draft.builder import build
from app.draft.draft import CampaignDraft
from app.draft.fields.state import PhaseDraft, ScriptDraft
from app.draft.from_campaign import first_parts
from tests.gui.test_wizard import control as of_key
from ui.theme import Scheme, Theme
from ui.wizard.base.controls import Ticks
from ui.wizard.base.help_panel import help_for
from ui.wizard.pages.workload_page import PhasesEditor, WorkloadPage


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[WorkloadPage]:
    made = WorkloadPage(CampaignDraft(first_parts()), Theme(Scheme.LIGHT))
    qtbot.addWidget(made)
    made.resize(900, 1400)
    made.load()
    made.show()
    qtbot.waitExposed(made)
    made.changed.connect(made.refresh)  # as the wizard does
    yield made
    made.close()


def control(page: WorkloadPage, name: str) -> QWidget:
    return page.phases.fields[name].control


def write(page: WorkloadPage, name: str, text: str) -> None:
    edit = cast("QLineEdit", control(page, name))
    edit.setFocus()
    edit.selectAll()
    QTest.keyClicks(edit, text)


def cells(editor: PhasesEditor) -> list[list[str]]:
    table = editor.table
    model, places = table.model(), range(table.columnCount())
    return [[str(model.index(row, place).data()) for place in places] for row in range(table.rowCount())]


def names(page: WorkloadPage) -> list[str]:
    return [each.texts["name"] for each in page.draft.parts.phases]


def test_phases_are_added_changed_moved_and_removed(page: WorkloadPage) -> None:
    editor, parts = page.phases, page.draft.parts
    assert editor.table.isHidden()
    assert "one phase" in editor.words.text()
    for name in ("reads", "TPC-B", "reads again"):
        editor.add.click()
        write(page, "name", name)
    assert names(page) == ["reads", "TPC-B", "reads again"]
    editor.table.selectRow(1)
    write(page, "times", "3")
    write(page, "rate", "70 % of reads")
    script = cast("QComboBox", control(page, "script"))
    script.setCurrentIndex(script.findData("simple-update"))
    cast("QCheckBox", control(page, "counts")).setChecked(False)
    ticks = cast("Ticks", control(page, "maintenance"))
    ticks.ticks["vacuum"].setChecked(True)
    ticks.ticks["checkpoint"].setChecked(True)
    texts = {"times": "3", "rate": "70 % of reads", "counts": "false", "maintenance": "vacuum, checkpoint"}
    assert parts.phases[1] == PhaseDraft({"name": "TPC-B", **texts}, [ScriptDraft("simple-update")])
    row = ["TPC-B", "3", "simple-update", "4", "30s", "70 % of reads", "vacuum, checkpoint", "no"]
    assert cells(editor)[1] == row
    assert build(parts, {}).problems == ()
    editor.up.click()
    assert names(page) == ["TPC-B", "reads", "reads again"]
    assert not editor.up.isEnabled()
    editor.down.click()
    editor.down.click()
    assert names(page) == ["reads", "reads again", "TPC-B"]
    assert not editor.down.isEnabled()
    for left in (2, 1, 0):
        editor.remove.click()
        assert len(parts.phases) == left
    assert editor.table.isHidden()


def test_phase_inherits_common_workload(page: WorkloadPage) -> None:
    page.phases.add.click()
    assert cells(page.phases)[0][3] == "4"
    edit = of_key(page, "workload.clients")
    edit.selectAll()
    QTest.keyClicks(edit, "16")
    assert cells(page.phases)[0][3] == "16"


def test_lists_of_phase_begin_with_left_out(page: WorkloadPage) -> None:
    page.phases.add.click()
    boxes = [each.control for each in page.phases.fields.values() if isinstance(each.control, QComboBox)]
    assert [box.currentText() for box in boxes] == ["as above", "as above", "nothing"]


def test_phase_errors_at_field_or_named(
    page: WorkloadPage,
) -> None:
    editor = page.phases
    editor.add.click()
    write(page, "times", "often")
    assert "whole number" in editor.fields["times"].error.text()
    assert editor.error.isHidden()
    editor.add.click()
    assert editor.fields["times"].error.isHidden()
    assert editor.error.text().startswith("Phase 1 “phase 1”: Repetitions: Found “often”")
    assert page.general.isHidden() or "often" not in page.general.text()


def test_phase_count_limit(page: WorkloadPage) -> None:
    for _ in range(MOST_PHASES):
        page.phases.add.click()
    assert not page.phases.add.isEnabled()
    assert len(set(names(page))) == MOST_PHASES


def test_recipe_phases_shown_and_kept(qtbot: QtBot) -> None:
    campaign = load_campaign(RECIPES / "lentfer-2009.toml")
    draft = CampaignDraft.of(campaign)
    before = [PhaseDraft(dict(each.texts), list(each.scripts)) for each in draft.parts.phases]
    page = WorkloadPage(draft, Theme(Scheme.DARK))
    qtbot.addWidget(page)
    found: list[bool] = []
    page.changed.connect(lambda: found.append(True))
    page.load()
    for row in range(len(before)):
        page.phases.table.selectRow(row)
    assert (draft.parts.phases, found) == (before, [])  # looking changes nothing
    assert [row[:3] for row in cells(page.phases)][2] == ["TPC-B", "3", "tpcb-like"]
    assert "no" in cells(page.phases)[0]
    page.close()


def test_scripts_without_entry_kept(page: WorkloadPage) -> None:
    mixed = [ScriptDraft("tpcb-like", weight="3"), ScriptDraft("", "/srv/a, b.sql")]
    page.draft.parts.phases = [PhaseDraft({"name": "a"}, mixed), PhaseDraft({"name": "b"})]
    page.load()
    box = cast("QComboBox", control(page, "script"))
    assert box.currentText() == "tpcb-like @3, a, b.sql @1"
    page.phases.table.selectRow(1)
    assert box.currentText() == "as above"
    page.phases.table.selectRow(0)
    assert page.draft.parts.phases[0].scripts == mixed
    box.setCurrentIndex(box.findData("select-only"))
    assert page.draft.parts.phases[0].scripts == [ScriptDraft("select-only")]


def test_phase_keys_have_field_and_explanation(page: WorkloadPage) -> None:
    assert set(page.phases.fields) == {field.name for field in PHASE_FIELDS}
    for name, field in page.phases.fields.items():
        assert field.control.accessibleName()
        assert help_for(f"workload.phase.{name}").text


def test_workload_keys_have_field_and_explanation(page: WorkloadPage) -> None:
    apart = {"script", "scale", "transactions", "phase"}
    for name in {field.name for field in WORKLOAD_FIELDS} - apart:
        assert page.fields[f"workload.{name}"].control.accessibleName()
        assert help_for(f"workload.{name}").text


def test_sequential_design_explained_with_margin(page: WorkloadPage) -> None:
    parts = page.draft.parts
    assert "publish" in page.fields["design"].note.text()
    assert page.fields["precision"].isHidden()
    of_key(page, "design").setFocus()
    QTest.keyClick(of_key(page, "design"), Qt.Key.Key_Down)
    QApplication.processEvents()
    assert parts.values["design"] == "sequential"
    assert "less time" in page.fields["design"].note.text()
    assert of_key(page, "repeats").placeholderText() == "10"
    edit = of_key(page, "precision")
    assert edit.isVisible()
    QTest.keyClicks(edit, "3")
    assert parts.values["precision"] == "3"
    QTest.keyClick(of_key(page, "design"), Qt.Key.Key_Up)
    assert "can only be used with design =" in page.fields["precision"].error.text()
    assert edit.isVisible()  # so that it can be taken away
    edit.clear()
    edit.textEdited.emit("")
    assert page.fields["precision"].isHidden()
    assert build(parts, {}).problems == ()
