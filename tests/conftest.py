"""Rules for every test: unexpected log warnings fail, a crash of the previous session is told."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins: list[str] = [f"tests.{path.stem}" for path in sorted(Path(__file__).parent.glob("fix_*.py"))]

_SENTINEL = Path(tempfile.gettempdir()) / f"pgfooting-tests-{os.getuid()}.running"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "expects_log: the test causes log warnings on purpose")


def pytest_sessionstart(session: pytest.Session) -> None:
    if _SENTINEL.exists():
        session.config.stash[_crash_key] = _SENTINEL.read_text()
    _SENTINEL.write_text(f"pid {os.getpid()}")


def pytest_sessionfinish() -> None:
    _SENTINEL.unlink(missing_ok=True)


_crash_key = pytest.StashKey[str]()


def pytest_report_header(config: pytest.Config) -> str | None:
    crashed = config.stash.get(_crash_key, None)
    return f"the previous test session did not end ({crashed}): did it crash?" if crashed else None


@pytest.fixture(autouse=True)
def _no_unexpected_log_records(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("expects_log"):
        return
    records = [
        record
        for phase in ("setup", "call")
        for record in caplog.get_records(phase)
        if record.levelno >= logging.WARNING
    ]
    assert not records, [record.getMessage() for record in records]
