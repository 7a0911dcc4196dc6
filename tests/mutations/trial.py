"""The pytest plugin that tries changes: each in a process of its own, by the tests that execute its lines.

Everything is imported and collected once. A process that is forked from that one gets the code of the changed
functions, and the changed file lies in the scratch copy of the project while it lives, for what tests start.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

import coverage
import hypothesis
import pytest

from tests.mutations.changes import Change
from tests.mutations.files import changes_in_order
from tests.mutations.state import Outcome, State, Tests

SCRATCH_FOLDERS: Final = ("TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
                          "XDG_CACHE_HOME")  # fmt: skip
PATIENCE_S: Final = 20.0
PATIENCE: Final = 5.0
"""A test hangs that takes this many times as long as without a change, and ``PATIENCE_S`` more."""
LEARNING_S: Final = 900.0
"""For the tests of one file, with what they execute measured."""
_LOOK_S: Final = 0.2
_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutations-state", type=Path)
    parser.addoption("--mutations-until", type=float, help="time.monotonic() at which no further one begins")
    parser.addoption("--mutations-files", help="with commas between them")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "mutations", derandomize=True, deadline=None, suppress_health_check=slow, database=None
    )
    hypothesis.settings.load_profile("mutations")
    config.pluginmanager.register(_Failures(), "mutation-failures")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try changes instead of running the tests."""
    if session.testsfailed:
        raise session.Interrupted("not all tests can be collected")
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    files = session.config.option.mutations_files.split(",")
    state = State(session.config.option.mutations_state, Path.cwd(), session.config.args)
    _learn_all(session, state)
    tests = state.tests
    tried, finders = state.outcomes, state.finders()
    for change in changes_in_order(Path.cwd(), files):
        if change.name in tried:
            continue
        if time.monotonic() > session.config.option.mutations_until:
            break
        state.add(change, _tried(session, change, tests, finders.get(change.name, "")))
    return True


# --- in a process of its own


class _Failures:
    """Whether a test of this process failed."""

    failed = False

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed


def _forked(action: Callable[[], None], is_late: Callable[[], bool]) -> int | None:
    """Run something in a process of its own; return its exit code, None where it is late."""
    for name in SCRATCH_FOLDERS:
        for path in Path(os.environ[name]).iterdir():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in (1, 2):
                os.dup2(nowhere, number)
            action()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 70
        finally:
            os._exit(code)
    status = _waited(child, is_late)
    _end_children()
    return status


def _waited(child: int, is_late: Callable[[], bool]) -> int | None:
    looked_s = time.monotonic()
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - looked_s > _LOOK_S:
            if is_late():
                return None
            looked_s = time.monotonic()
        time.sleep(0.01)


def _end_children() -> None:
    """End what a test has left behind: all of it becomes a child of this process."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for word in children:
            with suppress(OSError):
                os.kill(int(word), signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # others may come yet: children of those that end now
                pass
        time.sleep(0.001)


def _run(session: pytest.Session, items: Sequence[pytest.Item], begin: Callable[[str], object]) -> str:
    """Run tests until one fails; return its name, or nothing."""
    failures = session.config.pluginmanager.get_plugin("mutation-failures")
    assert isinstance(failures, _Failures)
    for item, following in zip(items, [*items[1:], None], strict=True):
        begin(item.nodeid)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.failed:
            session._setupstate.teardown_exact(None)
            return item.nodeid
    return ""


# --- which tests execute what


def _learn_all(session: pytest.Session, state: State) -> None:
    """Run tests once unchanged, and remember which lines each executed; what fails is tried no more."""
    for path, items in _by_file(session.items):
        module = str(path.relative_to(Path.cwd()))
        if state.learned(module) is None:
            state.learn(module, _learned(session, items))


def _learned(session: pytest.Session, items: Sequence[pytest.Item]) -> Tests:
    folder = Path(os.environ["TMPDIR"]).parent / "learned"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    result_file = folder / "told"
    _forked(lambda: _learn(session, items, result_file), _after(LEARNING_S))
    good: dict[str, float] = {}
    with suppress(OSError):
        for line in Path(f"{result_file}.seconds").read_text().splitlines():
            seconds, _, name = line.partition(" ")
            good[name] = float(seconds)
    data = coverage.Coverage(data_file=str(folder / "all"), config_file=False)
    with suppress(coverage.exceptions.NoDataError), warnings.catch_warnings():
        warnings.simplefilter("ignore", coverage.exceptions.CoverageWarning)  # of a process that was killed
        data.combine([str(path) for path in folder.glob("*.coverage*")], keep=True)
    found = data.get_data()
    lines = {
        str(Path(file).relative_to(Path.cwd())): {
            line: [name for name in names if name in good]
            for line, names in found.contexts_by_lineno(file).items()
        }
        for file in found.measured_files()
    }
    return Tests(good, [item.nodeid for item in items if item.nodeid not in good], lines)


def _after(limit_s: float) -> Callable[[], bool]:
    """Return what tells whether so long has passed since now."""
    deadline_s = time.monotonic() + limit_s
    return lambda: time.monotonic() > deadline_s


def _by_file(items: Sequence[pytest.Item]) -> Iterator[tuple[Path, list[pytest.Item]]]:
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    yield from files.items()


def _learn(session: pytest.Session, items: Sequence[pytest.Item], result_file: Path) -> None:
    """Run tests with their lines measured, in what they start as well (sitecustomize of the scratch copy)."""
    measured = coverage.Coverage(
        data_file=f"{result_file}.coverage",
        config_file=False,
        include=[os.environ["MUTATIONS_SOURCE"]],
        data_suffix=True,
    )
    failures = session.config.pluginmanager.get_plugin("mutation-failures")
    assert isinstance(failures, _Failures)
    os.environ["MUTATIONS_DATA"] = f"{result_file}.coverage"
    measured.start()
    with Path(f"{result_file}.seconds").open("w") as seconds:
        for item, following in zip(items, [*items[1:], None], strict=True):
            os.environ["MUTATIONS_TEST"] = item.nodeid
            measured.switch_context(item.nodeid)
            failures.failed, began_s = False, time.monotonic()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if not failures.failed:
                seconds.write(f"{time.monotonic() - began_s:.3f} {item.nodeid}\n")
    measured.stop()
    measured.save()


# --- a change


def _tried(session: pytest.Session, change: Change, tests: Tests, finder: str) -> Outcome:
    """Try a change; ``finder`` is the test that found it before, if any, and comes first."""
    names = sorted(tests.of(change.file, change.lines), key=lambda name: name != finder)
    by_name = {item.nodeid: item for item in session.items}
    items = [by_name[name] for name in names]
    if not items:
        return Outcome("not executed", "")
    result_file = Path(os.environ["TMPDIR"]).parent / "failed"
    result_file.unlink(missing_ok=True)

    def trial() -> None:
        _put_in(change)

        def begin(nodeid: str) -> None:
            result_file.write_text(nodeid)

        name = _run(session, items, begin)
        result_file.write_text(name)
        sys.exit(1 if name else 0)

    def is_late() -> bool:
        limit_s = PATIENCE_S + PATIENCE * tests.seconds.get(result_file.read_text(), 0)
        return time.time() - result_file.stat().st_mtime > limit_s

    result_file.touch()
    with _on_disk(change):
        code = _forked(trial, is_late)
    test = result_file.read_text()
    if code == 0:
        return Outcome("survived", "")
    return Outcome("found" if code == 1 else "hangs" if code is None else "dies", test)


@contextmanager
def _on_disk(change: Change) -> Iterator[None]:
    path = Path(change.file)
    source = path.read_bytes()
    path.write_bytes(change.apply(source))
    try:
        yield
    finally:
        path.write_bytes(source)


def _put_in(change: Change) -> None:
    """Give every function of the changed file that is imported its code from the file as it is now."""
    path = Path(change.file).resolve()
    codes = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(compile(path.read_bytes(), str(path), "exec"))
    }
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        old = function.__code__
        if old.co_filename == str(path):
            new = codes[old.co_qualname, old.co_firstlineno]
            if new != old:
                function.__code__ = new


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
