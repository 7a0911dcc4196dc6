"""Runs tests marked `inside` in guests, their reports as if they had run here (tests/machine/__init__.py)."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.disks.covered import recorded_covered
from tests.machine.batches import Inside, group_by_guest, smallest_cover
from tests.machine.conductor import Conductor, Results
from tests.machine.coverage_table import Row, table
from tests.machine.rig import CHECKOUT, Guest, built_guest

IN_GUEST = os.environ.get("PGFOOTING_GUEST") == "yes"
_FORM = os.environ.get("PGFOOTING_MACHINE_TESTS")
SHORT = _FORM == "short"
_SHORT_COVERS = ("filesystem ", "level ", "preset ")
# A guest's start alone takes minutes on a busy machine.
_LIMIT_S = 1200
_SECONDS_KEY = "machine/seconds"
_results_key = pytest.StashKey[Results]()


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "inside(*disks, group): the test runs in a guest with these disks",
        "covers(*words): what the test stands for in the machine tier's table and in its short form",
        "short: also in the short form of the machine tier",
        "campaigns: only in its form for campaigns",
        "matrix: only in its form for the matrix of tests.disks.matrix",
    ):
        config.addinivalue_line("markers", marker)


def _inside(item: pytest.Item) -> Inside | None:
    marker = item.get_closest_marker("inside")
    return None if marker is None else Inside(tuple(marker.args), **marker.kwargs)


def _covered(item: pytest.Item) -> tuple[str, ...]:
    return tuple(word for marker in item.iter_markers("covers") for word in marker.args)


def _estimated_seconds(items: list[pytest.Item]) -> dict[str, float]:
    """Return what tests that tell how many disks they use, and parts of the matrix, take, more or less."""
    disks = {item.nodeid: [word for word in _covered(item) if word.startswith("disks ")] for item in items}
    known = {test: 15.0 + 10.0 * int(words[0].split()[1]) for test, words in disks.items() if words}
    return known | {item.nodeid: 600.0 for item in items if item.get_closest_marker("matrix")}


def _choose_short(items: list[pytest.Item]) -> list[pytest.Item]:
    proved = recorded_covered()
    words = {
        item.nodeid: [
            word for word in _covered(item) if word.startswith(_SHORT_COVERS) and word not in proved
        ]
        for item in items
    }
    covers = {test: covered for test, covered in words.items() if covered}
    chosen = smallest_cover(covers, _estimated_seconds(items))  # the same choice on every machine
    return [item for item in items if item.nodeid in chosen or item.get_closest_marker("short")]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Machine tests have more time; each form of the tier leaves some out."""
    machine = [item for item in items if item.get_closest_marker("machine") is not None]
    for item in machine:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_LIMIT_S))
    if IN_GUEST or not machine:
        return
    if SHORT:
        chosen = set(_choose_short(machine))
    else:
        forms = {
            name: {item for item in machine if item.get_closest_marker(name) is not None}
            for name in ("campaigns", "matrix")
        }
        chosen = forms[_FORM] if _FORM in forms else set(machine).difference(*forms.values())
    left_out = [item for item in machine if item not in chosen]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _cache(config: pytest.Config) -> pytest.Cache | None:
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    return cache


def _known_seconds(config: pytest.Config) -> dict[str, float]:
    cache = _cache(config)
    return {} if cache is None else dict(cache.get(_SECONDS_KEY, {}))


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Runs what belongs into guests beside pytest's own loop, which gets the rest, and reports it afterwards.

    Tests that boot their own guests do so one after the other: they keep one processor busy, as a guest does.
    """
    wanted = [(item, inside) for item in session.items if (inside := _inside(item)) is not None]
    if IN_GUEST or session.config.option.collectonly or session.testsfailed or not wanted:
        return (yield)
    session.config.stash[_results_key] = results = Results(items={item.nodeid: item for item, _ in wanted})
    session.items[:] = [item for item in session.items if item.nodeid not in results.items]
    tests = group_by_guest((item.nodeid, inside) for item, inside in wanted)
    seconds = {**_estimated_seconds([item for item, _ in wanted]), **_known_seconds(session.config)}
    conductor = Conductor(session, results)
    conductor.begin(tests, seconds, spared=1 if session.items else 0)
    try:
        ended = yield
        conductor.finish()
    finally:
        conductor.stop()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return ended


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints and keeps the table of what was covered, and remembers how long each test took."""
    results = config.stash.get(_results_key, None)
    if results is None:
        return
    for line in results.guests:
        terminalreporter.write_line(f"guest {line}")
    if results.combinations:
        terminalreporter.write_line(f"{results.combinations} combinations of the matrix ran in guests")
    cache = _cache(config)
    if cache is not None:
        passed = {test: value for test, value in results.seconds.items() if test not in results.failed}
        cache.set(_SECONDS_KEY, {**_known_seconds(config), **passed})
    rows = [
        Row(words, results.seconds[nodeid], _outcome(nodeid, results))
        for nodeid, item in results.items.items()
        if nodeid in results.finished and (words := _covered(item))
    ]
    if rows:
        text = table(rows)
        terminalreporter.write_line(text)
        if cache is not None:
            file = Path(cache.mkdir("machine")) / "table.txt"
            file.write_text(f"{text}\n")
            terminalreporter.write_line(f"This table is kept in {file}")


def _outcome(nodeid: str, results: Results) -> str:
    if nodeid in results.failed:
        return "FAILED"
    return "skipped" if nodeid in results.skipped else "passed"


@pytest.fixture
def start_guest() -> Iterator[Callable[..., Guest]]:
    """A function that boots a guest with the given disks and returns it; gone when the test ends."""
    started: list[Guest] = []

    def start(*disks: str, checkout: Path | None = CHECKOUT) -> Guest:
        guest = Guest(disks, folder=built_guest(), checkout=checkout)
        guest.__enter__()
        started.append(guest)
        return guest

    yield start
    for guest in started:
        guest.__exit__(None, None, None)
