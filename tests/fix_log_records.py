"""An unexpected log warning fails the test that caused it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "expects_log: the test causes log warnings on purpose")


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
