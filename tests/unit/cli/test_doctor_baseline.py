"""What the doctor says of fio, without which the I/O baseline has no reads and writes."""

from __future__ import annotations

import pytest

from app.doctor import checks
from app.domain.errors import ProgramError


def test_fio_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ask_program", lambda argv: f"{argv[0]}-3.33\n")
    check = checks.baseline_check()
    assert (check.topic, check.works) == ("fio", True)
    assert check.message.startswith("fio-3.33 benchmarks")


def test_missing_fio_install_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_argv: object) -> str:
        raise ProgramError("fio is not installed")

    monkeypatch.setattr(checks, "ask_program", refuse)
    check = checks.baseline_check()
    assert check.works is False
    assert "reads and writes of the raw storage are not measured" in check.message
    assert "package fio" in check.hint
