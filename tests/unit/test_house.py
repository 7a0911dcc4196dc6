"""The house stays as it was cleared up: small folders, one name for one class, circles nowhere."""

from __future__ import annotations

from tests.house import DECLARATIONS, MOST_MODULES, folders, repeated_class_names


def test_no_folder_holds_more_modules_than_one_can_look_over() -> None:
    too_many = {
        folder: count
        for folder, count in folders().items()
        if count > MOST_MODULES and folder not in DECLARATIONS
    }
    assert too_many == {}


def test_a_class_name_is_used_once_in_app() -> None:
    assert repeated_class_names() == {}
