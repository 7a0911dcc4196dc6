"""Runs tests in guests while pytest on the host reports them as its own."""

from __future__ import annotations

import functools
import queue
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.machine.batches import Inside, Part, guest_for, guests_at_once, parts, run_part
from tests.machine.rig import Guest, GuestError, built_guest
from tests.machine.rig_qemu import kvm_works


@dataclass(slots=True)
class Results:
    """What became of the tests that ran in guests."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    combinations: int = 0
    items: dict[str, pytest.Item] = field(default_factory=dict)
    guests: list[str] = field(default_factory=list)


class Conductor:
    """Runs parts in guests, several at once, and reports from this thread alone."""

    def __init__(self, session: pytest.Session, results: Results) -> None:
        """Build the guest where it is missing.

        Raises:
            GuestError: that is impossible.
        """
        self._session = session
        self._hook = session.config.hook
        self._results = results
        self._image = built_guest()
        kvm_works(self._image)  # tried once, before there are threads
        self._waiting: queue.SimpleQueue[Part] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[Part, dict[str, Any] | str | None]] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._running: set[Guest] = set()
        self._workers: list[threading.Thread] = []
        self._room = guests_at_once()
        self._left = 0

    def begin(self, wanted: dict[Inside, list[str]], seconds: dict[str, float], *, spared: int = 0) -> None:
        """Begin to run tests (node ids by what their guest must be like); nothing is reported yet.

        Args:
            wanted: the tests.
            seconds: what they took earlier.
            spared: how many of the guests there is room for may not run before `finish`; one always does.
        """
        for part in parts(wanted, seconds, self._room):
            self._waiting.put(part)
            self._left += 1
        self._add_workers(max(1, self._room - spared))

    def finish(self) -> None:
        """Run and report the rest, with as many guests as this machine has room for."""
        self._add_workers(self._room - len(self._workers))
        try:
            while self._left:
                part, event = self._events.get()
                if isinstance(event, dict):
                    self._report(event)
                else:
                    self._left -= 1
                    self._report_missing(part, event)
                if self._session.shouldfail or self._session.shouldstop:
                    break
        finally:
            self.stop()

    def stop(self) -> None:
        """End what still runs."""
        self._stopped.set()
        for guest in tuple(self._running):
            guest.abandon()
        for worker in self._workers:
            worker.join()

    def _add_workers(self, count: int) -> None:
        for _ in range(count):
            self._workers.append(threading.Thread(target=self._work, daemon=True))
            self._workers[-1].start()

    def _work(self) -> None:
        while True:
            try:
                part = self._waiting.get_nowait()
            except queue.Empty:
                return
            if self._stopped.is_set():
                self._events.put((part, None))
                continue
            self._events.put((part, self._run(part)))

    def _run(self, part: Part) -> str:
        """Run a part in a guest of its own and return what it printed, or why it ended early."""
        started = time.monotonic()
        guest = guest_for(part, self._image)
        self._running.add(guest)
        try:
            return run_part(part, guest, functools.partial(self._receive, part))
        except GuestError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - a thread's error would be lost, its tests be missing
            return f"{type(error).__name__}: {error}"
        finally:
            self._running.discard(guest)
            self._results.guests.append(
                f"{time.monotonic() - started:6.0f} s ({guest.processor_s:.0f} s of a processor), "
                f"{len(part.tests)} tests: {' '.join(part.inside.disks)}"
            )

    def _receive(self, part: Part, data: dict[str, Any]) -> None:
        self._events.put((part, data))

    def _report(self, data: dict[str, Any]) -> None:
        if "started_test" in data:
            item = self._results.items[data["started_test"]]
            self._hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            return
        report = self._hook.pytest_report_from_serializable(config=self._session.config, data=data)
        if isinstance(report.longrepr, list):  # JSON has no tuples; pytest demands one
            report.longrepr = tuple(report.longrepr)
        self._results.seconds[report.nodeid] += report.duration
        if report.when == "call":
            self._results.combinations += sum(
                int(value) for name, value in report.user_properties if name == "matrix"
            )
        if report.failed:
            self._results.failed.add(report.nodeid)
        if report.skipped:
            self._results.skipped.add(report.nodeid)
        self._hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            self._results.finished.add(report.nodeid)
            self._hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def _report_missing(self, part: Part, printed: str | None) -> None:
        """What a guest did not run has failed, unless the session stops anyway."""
        if self._stopped.is_set():
            return
        for nodeid in part.tests:
            if nodeid not in self._results.finished:
                item = self._results.items[nodeid]
                self._results.failed.add(nodeid)
                report = pytest.TestReport(
                    nodeid, item.location, {}, "failed", f"not finished in the guest:\n{printed}", "call"
                )
                self._hook.pytest_runtest_logreport(report=report)
                self._hook.pytest_runtest_logfinish(nodeid=nodeid, location=item.location)
