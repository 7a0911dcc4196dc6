"""Spare disks in the main window of an ordinary user: mouse, keys, bus, polkit with an agent, loop disks.

What goes wrong with helper and disks is told in the window as what it is, and the window can mend it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.domain.text import GIB, MIB
from tests.disks.layout_proof import output
from tests.disks.terminal_agent import PASSWORD, TerminalAgent, set_password
from tests.disks.test_campaign import nothing_left, serial_of
from tests.disks.test_campaign_user import AS_NOBODY, PROJECT, PYTHON, mine, rule
from tests.fix_campaign import CampaignBench
from tests.fix_helper import ByBus, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]
__all__ = ["mine", "rule"]

PICTURES = os.environ.get("PGFOOTING_TEST_PICTURES", "")
MAY_LOOK = """polkit.addRule(function(action, subject) {
    if (action.id == "org.pgfooting.helper.inspect") { return polkit.Result.YES; }
});
"""
"""As of a person in front of the machine: the policy lets an active session look without a password."""


class Window:
    """The window, a process of the user."""

    def __init__(self, bench: CampaignBench) -> None:
        self._folder = bench.folder
        words = ["-m", "tests.disks.window_here", str(bench.library), str(bench.folder / "settings.ini")]
        self._errors = bench.folder / "window.txt"
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*AS_NOBODY, str(PYTHON / "bin/python"), *words],
                env={**bench.environment, "HOME": str(bench.folder), "PYTHONPATH": str(PROJECT)},
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert self._answer() == "ready"

    def _answer(self) -> Any:  # noqa: ANN401 - as JSON has it
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self._errors.read_text()
        return json.loads(line)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a step of the hand in the window's process."""

        def step(*arguments: object) -> Any:  # noqa: ANN401
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps([name, *arguments]).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._answer()
            assert "error" not in answer, f"{answer}\n{self._errors.read_text()}"
            return answer["value"]

        return step

    def keep_picture(self, name: str) -> None:
        """Keep a picture where somebody wants to look at it."""
        if PICTURES:
            self.picture(str(self._folder / f"{name}.png"))
            for made in self._folder.glob(f"{name}-*.png"):
                Path(PICTURES, made.name).write_bytes(made.read_bytes())

    def choose(self, *disks: str, repeats: int = 1, seconds: int = 20) -> None:
        """Go from New benchmark to the review, with these disks ticked."""
        self.new_benchmark()
        self.short_runs(repeats, seconds)
        self.choose_disks()
        self.go_to("disks")
        for disk in disks:
            self.tick(disk)
        self.go_to("review")

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            if self.process.stdout is not None:
                self.process.stdout.close()


@pytest.fixture
def window(mine: CampaignBench, rule: Callable[[str], None]) -> Iterator[Window]:
    set_password()
    rule(MAY_LOOK)
    opened = Window(mine)
    yield opened
    opened.close()


@contextmanager
def agent_of(pid: int) -> Iterator[TerminalAgent]:
    """An agent in front of a runner that was stopped when it was started, and goes on now."""
    agent = TerminalAgent(pid)
    os.kill(pid, signal.SIGCONT)
    try:
        yield agent
    finally:
        agent.close()


def as_user(bench: CampaignBench, *words: str) -> str:
    """Return what the command prints for the user."""
    done = subprocess.run(
        [*AS_NOBODY, str(PYTHON / "bin/python"), "-m", "app", *words],
        env={**bench.environment, "HOME": str(bench.folder)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout + done.stderr


def test_dismissed_password_keeps_serial(
    by_bus: ByBus, window: Window, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(GIB, partscan=True)
    window.choose(disk, seconds=3)
    window.confirm()
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        assert "erased" in window.wait_for_notice(
            "Waiting for an administrator to authorise erasing the disks"
        )
        window.keep_picture("asked")
        assert serial_of(disk) in agent.shown
        agent.type("wrong")
        found = window.wait_for_notice("Nothing was touched")
    assert "password was wrong" in found
    assert nothing_left(disk)
    window.new_benchmark()
    window.go_to("review")
    tail = serial_of(disk)[-4:]
    assert window.serials() == [tail], "nothing was erased with it"
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_seconds(1)
    window.new_benchmark()
    window.go_to("review")
    assert window.serials() == [""]
    window.cancel()
    ended = window.wait_for_end()
    assert ended["disks"] == f"Released, not zeroed: {disk} ({serial_of(disk)})."
    assert ended["banner"] == ""
    window.keep_picture("done")
    assert nothing_left(disk)


def test_dead_helper_reported_lost_and_recovered(
    by_bus: ByBus, window: Window, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(GIB, partscan=True)
    window.choose(disk, repeats=2)
    window.confirm()
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_seconds(2)
        by_bus.kill()
        ended = window.wait_for_end()
        window.keep_picture("lost")
        assert "The helper no longer answers" in ended["banner"]
        assert "not installed" not in ended["banner"]
        assert "othing was touched" not in ended["banner"]
        assert "helper lost" in ended["marks"]
        assert ended["disks"] == f"Released, not zeroed: {disk} ({serial_of(disk)})."
        assert nothing_left(disk)
        assert "helper lost" in window.runs()
        window.keep_picture("lost-library")


def test_leftover_of_lost_helper_released(
    by_bus: ByBus, window: Window, make_loop: Callable[..., str]
) -> None:
    """First nobody can start the helper again; when it can be, one press gives the disk back."""
    disk = make_loop(GIB, partscan=True)
    window.choose(disk)
    window.confirm()
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_seconds(2)
        with by_bus.broken():
            by_bus.kill()
            ended = window.wait_for_end()
    window.keep_picture("left")
    assert "The helper could not be restarted." in ended["banner"]
    assert f"{disk} (serial number {serial_of(disk)}) could not be released." in ended["banner"]
    assert "disks not released" in ended["marks"]
    assert ended["disks"] == ""
    assert "disks not released" in window.runs()
    window.new_benchmark()
    window.go_to("disks")
    seen = window.look_at(disk)
    assert seen["answer"] == "not spare"
    assert "left behind by it" in seen["reason"]
    assert seen["release"]
    window.keep_picture("left-page")
    window.release()
    window.wait_for_disk(disk, ["spare", "looks spare"])
    window.keep_picture("released-page")
    assert nothing_left(disk)
    window.cancel()


def test_foreign_format_stays_red_until_given_up(
    by_bus: ByBus, mine: CampaignBench, window: Window, make_loop: Callable[..., str]
) -> None:
    """Between the death of the helper and its next start."""
    disk = make_loop(GIB, partscan=True)
    foreign = (
        "for i in $(seq 100); do umount /run/pgfooting/*/storage && break; sleep 0.1; done 2>/dev/null\n"
        f"mkfs.xfs -q -f -L PRECIOUS {disk}p1"
    )
    window.choose(disk)
    window.confirm()
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_seconds(2)
        with by_bus.after(foreign):
            by_bus.kill()
            ended = window.wait_for_end()
    window.keep_picture("kept")
    assert f"{disk} (serial number {serial_of(disk)}) could not be released." in ended["banner"]
    assert ended["disks"] == ""
    assert "disks not released" in ended["marks"]
    (path,) = mine.run_files()
    for found in (ended["banner"], window.runs(), as_user(mine, "show", str(path)), as_user(mine, "disks")):
        assert "xfs" in found, found
        assert "PRECIOUS" in found, found
    window.keep_picture("kept-library")
    window.new_benchmark()
    window.go_to("disks")
    seen = window.look_at(disk)
    assert seen["release"]
    assert seen["answer"] == "not spare", "whatever is known before root is asked"
    window.release()
    window.wait_for_row(disk, "PRECIOUS")
    assert "PRECIOUS" in window.kept()
    window.close_kept()
    seen = window.disk(disk)
    assert seen["answer"] == "not spare"
    window.keep_picture("kept-page")
    assert not seen["may_go_on"], "it was chosen for the campaign before"
    for _ in range(2):  # the first takes it away, and nothing chooses it again
        window.click(*window.places()[disk][:2])
        assert window.ticked() == []
    assert output("blkid", "-p", "-o", "value", "-s", "LABEL", f"{disk}p1").strip() == "PRECIOUS"
    for command in seen["why"].partition("for good: ")[2].splitlines()[0].split(" && "):
        subprocess.run(command.split(), check=True, capture_output=True)
    window.wait_for_row(disk, "looks spare")
    assert journaled() != [], "nobody has asked root yet"
    window.ask_root()
    window.wait_for_disk(disk, ["spare", "looks spare"])
    assert nothing_left(disk)
    window.keep_picture("given-up-page")
    window.cancel()


def test_changed_disk_red_until_restored(
    by_bus: ByBus, window: Window, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(GIB, partscan=True)
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    named = f"{disk} (serial number {serial_of(disk)})"

    def resize(size_bytes: int) -> None:
        os.truncate(backing, size_bytes)
        subprocess.run(["losetup", "--set-capacity", disk], check=True)

    window.choose(disk, repeats=2)
    window.confirm()
    with agent_of(window.start()) as agent:
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_seconds(2)
        resize(GIB + 64 * MIB)
        ended = window.wait_for_end()
    window.keep_picture("changed")
    first = ended["banner"].splitlines()[0]
    assert first.startswith(f"This run failed. {named}: ")
    assert "its size changed from 1 GiB" in first or "capacity change" in first
    reason = f"{disk} is not the disk that was selected (size_bytes differ)"
    assert f"{named} could not be released. {reason}" in ended["banner"]
    assert "another campaign" not in ended["banner"]
    assert {"disk failed", "disks not released"} <= set(ended["marks"].replace("⚠ ", "").split(" · "))
    assert ended["disks"] == ""
    assert journaled() != []
    window.new_benchmark()
    window.go_to("disks")
    assert window.look_at(disk)["release"]
    window.release()
    window.wait_for_row(disk, reason)
    assert "size" in window.kept()
    window.close_kept()
    assert window.disk(disk)["answer"] == "not spare"
    window.keep_picture("changed-page")
    resize(GIB)
    window.look_at(disk)
    window.release()
    with agent_of(window.process.pid) as agent:
        window.release_kept(serial_of(disk)[-4:])
        agent.wait_for_prompt()
        agent.type(PASSWORD)
        window.wait_for_disk(disk, ["spare", "looks spare"])
    assert nothing_left(disk)
    window.cancel()


def test_hotplug_moves_nothing_under_mouse(
    by_bus: ByBus, window: Window, make_loop: Callable[..., str]
) -> None:
    others = [make_loop(GIB) for _ in range(2)]
    disk = make_loop(GIB)
    gone = serial_of(others[0])
    window.new_benchmark()
    window.short_runs(1, 5)
    window.choose_disks()
    window.go_to("disks")
    for each in (*others, disk):
        window.wait_for_row(each, "looks spare")
    before = window.places()
    window.hold(*before[disk][:2])
    new = make_loop(GIB)
    window.wait_for_row(new, "looks spare")
    subprocess.run(["losetup", "--detach", others[0]], check=True)
    window.wait_for_row(gone, "is missing")
    window.let_go(*before[disk][:2])
    assert window.ticked() == [disk]
    after = window.places()
    here = {name: place for name, place in before.items() if name != others[0] and name in after}
    assert {name: after[name] for name in here} == here
    assert {disk, others[1]} <= set(here)
    assert len(here) > 10
    window.keep_picture("gone-page")
    window.go_to("filesystem")
    window.scroll_to_barriers()
    before = window.places()
    window.untick_barriers()
    newest = make_loop(GIB)
    window.wait_until_listed(newest)
    after = window.places()
    assert after == before
    window.keep_picture("filesystem")
    window.cancel()
