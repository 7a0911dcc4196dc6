"""Inside of the guest: a pytest plugin that hands each report to the host as it comes.

A report is one line of JSON behind a unit separator (0x1f) on the job's output, between whatever else is
printed.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.machine.batches import MARK

# Taken before pytest captures what tests print.
_output = os.fdopen(os.dup(1), "w", encoding="ascii")


def _send(data: dict[str, Any] | None) -> None:
    _output.write(f"{MARK}{json.dumps(data)}\n")
    _output.flush()


class Sender:
    """The hooks that send."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _send({"started_test": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        _send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Sender(config))


def pytest_unconfigure() -> None:
    _output.close()
