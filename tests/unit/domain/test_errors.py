from __future__ import annotations

import re
from pathlib import Path

from app import VERSION
from app.domain import errors
from app.domain.errors import ExitStatus, FootingError, InternalError, did_you_mean


def error_classes() -> list[type[FootingError]]:
    return [
        item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, FootingError)
    ]


def test_error_codes_unique() -> None:
    codes = [item.code for item in error_classes()]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"[a-z][a-z-]*", code) for code in codes)


def test_errors_in_module_docstring() -> None:
    drawn = errors.__doc__ or ""
    assert all(f" {item.__name__}" in drawn for item in error_classes())


def test_exit_statuses_are_those_promised() -> None:
    assert {item.exit_status for item in error_classes()} <= set(ExitStatus)
    assert [int(status) for status in ExitStatus] == [0, 1, 2, 3, 10, 11, 130]


def test_text_is_message_and_hint() -> None:
    assert str(FootingError("It broke.", hint="Mend it.")) == "It broke.\nMend it."
    assert str(FootingError("It broke.")) == "It broke."


def test_internal_error_names_exception() -> None:
    assert "KeyError" in InternalError.of(KeyError("x")).message


def test_did_you_mean_nearest_or_nothing() -> None:
    assert did_you_mean("clinets", ["clients", "scale"]) == "Did you mean “clients”?"
    assert did_you_mean("xyz", ["clients", "scale"]) == ""


def test_changelog_and_project_version() -> None:
    top = Path(__file__).resolve().parents[3]
    assert f'version = "{VERSION}"' in (top / "pyproject.toml").read_text()
    changelog = (top / "CHANGELOG.md").read_text()
    assert f"## [{VERSION}]" in changelog or "## [Unreleased]" in changelog
