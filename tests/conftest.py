"""What every test session does: loads the fixtures of fix_*.py, tells of a crash of the previous session.

No test fails because the machine is busy: what Hypothesis generates may take as long as it takes.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins: list[str] = [f"tests.{path.stem}" for path in sorted(Path(__file__).parent.glob("fix_*.py"))]
# Some import others, and what is imported before pytest knows of it would be an error.
pytest.register_assert_rewrite(*pytest_plugins, "tests.machine.disk_keys")

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A test of a window needs no display: Qt would abort the whole session where it finds none.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Debian gives an ordinary user no folder of wipefs, sfdisk or mkfs, which tests start by name.
os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

_SENTINEL = Path(tempfile.gettempdir()) / f"pgfooting-tests-{os.getuid()}.running"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share", help="NUMBER/OF: of the chosen tests, by name, only one of so many equal shares"
    )
    parser.addoption(
        "--skipped-in", type=Path, help="REPORT: of the chosen tests only those that this JUnit file skipped"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: seconds of a processor; packaging/test --quick leaves it out")
    config.addinivalue_line(
        "markers", "long: takes a server long; packaging/test leaves it to --machine and --only=postgres"
    )


TIER_OF_FIXTURE = {
    "system_namespace": "disks",
    "start_guest": "machine",
    "installation": "postgres",
    "bus": "bus",
    "qapp": "gui",
}
"""What all fixtures rest on that need a real server, bus, display or device, and the mark of its tier."""


@pytest.hookimpl(wrapper=True)  # before -m chooses, and after it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """A test is in the tier of its folder and of what it uses, whether or not its module says so."""
    folders = {Path(__file__).parent / tier: tier for tier in TIER_OF_FIXTURE.values()}
    for item in items:
        for folder in folders.keys() & set(item.path.parents):
            item.add_marker(folders[folder])
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in TIER_OF_FIXTURE:
                item.add_marker(TIER_OF_FIXTURE[fixture])
    yield
    names = sorted(item.nodeid for item in items)
    if share := config.getoption("--share"):
        own, of = map(int, share.split("/"))
        names = names[own - 1 :: of]
    if report := config.getoption("--skipped-in"):
        skipped = _skipped_in(report)
        names = [name for name in names if name in skipped]
    kept = set(names)
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]


def _skipped_in(report: Path) -> set[str]:
    """Return the tests that a JUnit file says were skipped."""
    cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - our own pytest wrote it
    return {f"{case.get('file')}::{case.get('name')}" for case in cases if case.find("skipped") is not None}


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
