"""The house stays as it was cleared up: small folders, one name for one class, circles nowhere."""

from __future__ import annotations

import pytest

from tests.house import (
    DECLARATIONS,
    MOST_MODULES,
    ROOT_EXECUTES,
    closure,
    folders,
    packages_of,
    repeated_class_names,
    report,
)


def test_no_folder_holds_more_modules_than_one_can_look_over() -> None:
    too_many = {
        folder: count
        for folder, count in folders().items()
        if count > MOST_MODULES and folder not in DECLARATIONS
    }
    assert too_many == {}


def test_a_class_name_is_used_once_in_app() -> None:
    assert repeated_class_names() == {}


def test_root_executes_these_packages_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(packages_of(closure("app.helper.__main__"))) == list(ROOT_EXECUTES)
    with capsys.disabled():
        print(f"\n{report()}")  # noqa: T201 - whoever reviews what root executes looks at how much it is
