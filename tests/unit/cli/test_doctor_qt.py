"""What the doctor says of window and reports where a wheel came without Qt, or a system without a screen."""

from __future__ import annotations

import importlib.util

import pytest

from app.doctor import checks
from app.process import qt_libraries
from app.storage.layout.disk_target import read_support


def _lack(monkeypatch: pytest.MonkeyPatch, *, packages: set[str], libraries: set[str]) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in packages else real(name))
    monkeypatch.setattr(qt_libraries, "missing_library", lambda name: name if name in libraries else "")


def _printed(check: checks.Check) -> tuple[str, bool | None, str]:
    return check.topic, check.works, check.message


def test_all_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    _lack(monkeypatch, packages=set(), libraries=set())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert [(check.topic, check.works, check.hint) for check in checks.qt_checks()] == [
        ("window", True, ""),
        ("reports", True, ""),
    ]


def test_missing_python_package_per_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    _lack(monkeypatch, packages={"PySide6", "pyqtgraph", "pypdf"}, libraries={"libEGL.so.1"})
    window, reports = checks.qt_checks()
    assert _printed(window) == (
        "window",
        False,
        "Needed for the window and not installed: PySide6, pyqtgraph.",
    )
    assert _printed(reports) == (
        "reports",
        False,
        "Needed for reports and pictures and not installed: PySide6, pypdf.",
    )
    assert "`packaging/run` installs what pgFooting needs" in window.hint


def test_missing_libraries_are_named_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _lack(monkeypatch, packages=set(), libraries={"libEGL.so.1", "libGL.so.1"})
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    for check in checks.qt_checks():
        assert check.works is False
        assert "not installed: libEGL.so.1, libGL.so.1" in check.message


def test_window_and_reports_status() -> None:
    assert {"window", "reports"} <= {check.topic for check in checks.examine_machine(read_support())}
