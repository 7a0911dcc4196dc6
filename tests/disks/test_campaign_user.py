"""Campaigns on spare disks of an ordinary user: nobody to ask, a rule of the administrator, a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.text import GIB
from app.runfile.reader import RunFile
from tests.disks.helper_owner import NOBODY, SPARE
from tests.disks.test_campaign import campaign, content, disks_table, erase, nothing_left
from tests.fix_campaign import TOP, CampaignBench
from tests.fix_helper import Running, restart_polkit

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

PASSWORD = "correct horse"  # noqa: S105 - of a namespace that ends with the tests
RULES = Path("/etc/polkit-1/rules.d/50-pgfooting.rules")
LIMIT_S = 240
PROJECT, PYTHON = Path("/mnt/project"), Path("/mnt/python")  # of the namespace
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@pytest.fixture
def mine(campaign_bench: CampaignBench, monkeypatch: pytest.MonkeyPatch) -> Iterator[CampaignBench]:
    """The bench, its folder the user's; project, Python and the disks' files where the user reaches them."""
    os.chown(campaign_bench.folder, NOBODY, NOBODY)
    monkeypatch.setenv("PGFOOTING_DEVICE_TESTS", str(campaign_bench.folder))
    for place, source in ((PROJECT, TOP), (PYTHON, Path(sys.prefix))):
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
    yield campaign_bench
    for place in (PROJECT, PYTHON):
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def rule() -> Iterator[Callable[[str], None]]:
    """A function that writes a rule of the administrator."""

    def write(text: str) -> None:
        RULES.write_text(text)
        restart_polkit()

    yield write
    RULES.unlink(missing_ok=True)
    restart_polkit()


def command(bench: CampaignBench, text: str, *arguments: str) -> list[str]:
    words = ["run", bench.write(text), "--output", str(bench.library), *arguments]
    return [*AS_NOBODY, str(PYTHON / "bin/python"), "-m", "app", *words]


def run(bench: CampaignBench, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a campaign as the user, without a terminal."""
    return subprocess.run(
        command(bench, text, *arguments),
        env={**bench.environment, "HOME": str(bench.folder)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


class Terminal:
    """A campaign of the user on a terminal of the test's."""

    def __init__(self, bench: CampaignBench, text: str, *arguments: str) -> None:
        self._terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command(bench, text, *arguments),
            env={**bench.environment, "HOME": str(bench.folder), "TERM": "xterm", "COLUMNS": "80"},
            cwd=PROJECT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one thread
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Wait until something new is shown; what was shown until then is not looked at again."""
        deadline_s = time.monotonic() + LIMIT_S
        start = len(self.shown)
        while text not in self.shown[start:]:
            assert time.monotonic() < deadline_s, self.shown
            self._read()

    def type(self, line: str) -> None:
        os.write(self._terminal, f"{line}\n".encode())

    def type_password(self, password: str = PASSWORD) -> None:
        """Type it when nothing is echoed any more: what comes before that, the agent throws away."""
        deadline_s = time.monotonic() + LIMIT_S
        while termios.tcgetattr(self._terminal)[3] & termios.ECHO:
            assert time.monotonic() < deadline_s, self.shown
            time.sleep(0.02)
        self.type(password)

    def end(self, *, password: str = PASSWORD) -> int:
        """Answer every further question for the password; return the exit status."""
        answered = self.shown.count("Password:")
        while self._read():
            if self.shown.count("Password:") > answered:
                answered += 1
                self.type_password(password)
        return self.process.wait(LIMIT_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], LIMIT_S)
        assert ready, self.shown
        try:
            new = os.read(self._terminal, 65536)
        except OSError:  # everybody has closed the other side
            return False
        self.shown += new.decode(errors="replace")
        return bool(new)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._terminal)


@pytest.fixture
def terminal(mine: CampaignBench) -> Iterator[Callable[..., Terminal]]:
    subprocess.run(["chpasswd"], input=f"root:{PASSWORD}\n", text=True, check=True)
    opened: list[Terminal] = []

    def start(text: str, *arguments: str) -> Terminal:
        opened.append(Terminal(mine, text, *arguments))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_missing_agent_suggests_rule(
    helper: Running, mine: CampaignBench, make_loop: Callable[..., str], rule: Callable[[str], None]
) -> None:
    disk = make_loop(GIB, partscan=True)
    before = content(disk)
    text = campaign(("one", disks_table(disk)))
    ended = run(mine, text, *erase(disk))
    assert ended.returncode == 3, ended.stderr
    assert "no way to ask" in ended.stderr
    assert "Nothing was touched" in ended.stderr
    assert content(disk) == before
    lines = [line.removeprefix("  ") for line in ended.stderr.splitlines()]
    rule("\n".join(lines[lines.index("polkit.addRule(function(action, subject) {") :]))
    ended = run(mine, text, *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = mine.run_files()
    with RunFile(path) as done:
        assert done.values["state"] == "done"
        assert {command.account for command in done.commands()} == {"nobody", "root"}
    assert path.stat().st_uid == NOBODY
    assert nothing_left(disk)


def test_denying_rule_reported(
    helper: Running, mine: CampaignBench, make_loop: Callable[..., str], rule: Callable[[str], None]
) -> None:
    disk = make_loop(GIB, partscan=True)
    rule("polkit.addRule(function(action, subject) { return polkit.Result.NO; });")
    ended = run(mine, campaign(("one", disks_table(disk))), *erase(disk))
    assert ended.returncode == 3
    assert "do not let you erase disks" in ended.stderr
    assert mine.run_files() == []
    assert nothing_left(disk)


def test_serial_and_password_on_terminal(
    helper: Running, mine: CampaignBench, make_loop: Callable[..., str], terminal: Callable[..., Terminal]
) -> None:
    disk = make_loop(GIB, partscan=True)
    screen = terminal(campaign(("one", disks_table(disk))))
    screen.wait_for("Type the last 4 characters")
    screen.type("zzzz")
    screen.wait_for("Type the last 4 characters")
    assert "Password:" not in screen.shown
    screen.type(SPARE.identify(disk).tail())
    assert screen.end() == 0, screen.shown
    assert screen.shown.count("Password:") == 1, "also for who has no session of logind"
    assert "erase" in screen.shown
    assert SPARE.identify(disk).serial in screen.shown
    assert len(mine.run_files()) == 1
    assert nothing_left(disk)


def test_wrong_password_touches_nothing(
    helper: Running, mine: CampaignBench, make_loop: Callable[..., str], terminal: Callable[..., Terminal]
) -> None:
    disk = make_loop(GIB, partscan=True)
    before = content(disk)
    screen = terminal(campaign(("one", disks_table(disk))), *erase(disk))
    assert screen.end(password="wrong") == 3, screen.shown  # noqa: S106 - a wrong one
    assert "password was wrong" in " ".join(screen.shown.split())
    assert content(disk) == before
    assert mine.run_files() == []
    assert nothing_left(disk)
