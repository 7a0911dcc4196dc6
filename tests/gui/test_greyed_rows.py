"""Rows of a list to choose from are greyed without a wrapper of an item that C++ owns."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

import ui
from ui.widgets.fields import combo_box, set_row_enabled


@pytest.mark.usefixtures("qapp")
def test_greyed_row_unselectable_until_enabled() -> None:
    box = combo_box()
    box.addItems(["ext4", "xfs"])
    flags = box.model().index(1, 0).flags()
    assert flags & Qt.ItemFlag.ItemIsEnabled
    set_row_enabled(box, 1, enabled=False)
    assert not box.model().index(1, 0).flags() & Qt.ItemFlag.ItemIsEnabled
    assert box.model().index(0, 0).flags() == flags, "the other row stays as it is"
    set_row_enabled(box, 1, enabled=True)
    assert box.model().index(1, 0).flags() == flags


def test_modules_keep_no_cpp_owned_item() -> None:
    source = {path: path.read_text(encoding="utf-8") for path in Path(ui.__path__[0]).rglob("*.py")}
    wrapped = re.compile(r"QStandardItemModel|model\(\)\.item\(|list\.addItems?\(")
    assert [path.name for path, text in source.items() if wrapped.search(text)] == []
