"""Which tests a session runs: by tier, what another session skipped, what other processes have begun."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--skipped-in", type=Path, help="FOLDER: of the chosen tests only those that its JUnit files skipped"
    )
    parser.addoption(
        "--claims", type=Path, help="FOLDER: processes that name the same one run each module only once"
    )


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "slow: packaging/test runs the first and the last of its cases, --quick none; most are in SLOW",
        "long: only packaging/test --all, --machine and --only=TIER run it",
        "longest: takes a server long; only packaging/test --machine and --only=postgres run it",
    ):
        config.addinivalue_line("markers", marker)


TIER_OF_FIXTURE = {
    "start_guest": "machine",
    "system_namespace": "disks",
    "installation": "postgres",
    "bus": "bus",
    "qapp": "gui",
}
"""What all fixtures rest on that need a real server, bus, display or device, and the mark of its tier.

Of a test with several marks the first one counts, as in packaging/tiers.sh.
"""


SLOW = frozenset((Path(__file__).parent / "data/slow.txt").read_text(encoding="ascii").splitlines())
"""The tests that took a third of a second or more, all cases together: marked slow."""


@pytest.hookimpl(wrapper=True)  # before -m chooses, and after it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """A test is in the tier of its folder and of what it uses, whether or not its module says so.

    In another folder of tests its module names the mark: there packaging/tiers.sh looks for it.
    """
    tests = Path(__file__).parent
    folders = {tests / tier: tier for tier in TIER_OF_FIXTURE.values()}
    for item in items:
        for folder in folders.keys() & set(item.path.parents):
            item.add_marker(folders[folder])
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("slow")
        named = {mark.name for mark in item.iter_markers()}
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in TIER_OF_FIXTURE:
                item.add_marker(TIER_OF_FIXTURE[fixture])
        tier = next((tier for tier in folders.values() if item.get_closest_marker(tier)), None)
        if tier and tier not in named and tests in item.path.parents:
            text = f"{item.nodeid}: the tier of this test is {tier}; mark it so"
            raise pytest.UsageError(text)
    _mark_long(item for item in items if item.get_closest_marker("slow"))
    yield
    if folder := config.getoption("--skipped-in"):
        chosen = _skipped_in(folder)
        left = [item for item in items if item.nodeid not in chosen]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.nodeid in chosen]


def _mark_long(slow: Iterable[pytest.Item]) -> None:
    """Of the cases of a slow test mark those between the first and the last one."""
    for _, cases in itertools.groupby(slow, key=lambda item: item.nodeid.partition("[")[0]):
        for item in list(cases)[1:-1]:
            item.add_marker("long")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules without a skipped test: reading all of them takes longer than these tests."""
    folder = config.getoption("--skipped-in")
    if not folder or collection_path.suffix != ".py":
        return None
    modules = {config.rootpath / name.partition("::")[0] for name in _skipped_in(folder)}
    return collection_path not in modules or None


@cache
def _skipped_in(folder: Path) -> frozenset[str]:
    """Return the tests that the JUnit files of a folder say were skipped."""
    roots = (ET.parse(path).getroot() for path in folder.glob("*.xml"))  # noqa: S314 - our own pytest wrote it
    cases = (case for root in roots for case in root.iter("testcase") if case.find("skipped") is not None)
    return frozenset(f"{case.get('file')}::{case.get('name')}" for case in cases)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run modules that no other process with the same folder of claims has begun, as pytest runs all."""
    folder = session.config.getoption("--claims")
    if not folder or session.testsfailed or session.config.option.collectonly:
        return None
    modules = itertools.groupby(session.items, key=lambda item: item.nodeid.partition("::")[0])
    own = itertools.chain.from_iterable(items for module, items in modules if _claim(folder, module))
    item = next(own, None)
    while item:
        following = next(own, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


@cache
def _claim(folder: Path, module: str) -> bool:
    """Return whether no other process has claimed a module."""
    try:
        (folder / module.replace("/", "+")).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
