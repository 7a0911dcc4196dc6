"""Disks that a crashed session left: shown and released by the real helper, or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from app.domain.messages.message import message_from_wire
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import KeptDisk, kept_from_wire
from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from app.domain.text import GIB, MIB
from tests.bus.client import RemoteError
from tests.disks.helper_owner import NOBODY, SPARE, HelperConnection, Owner, client, plan_of
from tests.disks.layout_proof import digest
from tests.disks.terminal_agent import PASSWORD, TerminalAgent, set_password
from tests.fix_helper import LIMIT_S, PROJECT, Running, error_of, journaled, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", "--clear-groups")
Crashed = Callable[..., str]


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def crash(*disks: str, filesystem: str = "ext4", level: Level = Level.SINGLE) -> None:
    """Leave a session's filesystem on disks, as a crash of the machine's helper does."""
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(*disks, filesystem=filesystem, level=level))
        owner.make()
        running.kill()
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        if (folder := line.split()[4]).startswith("/run/pgfooting/"):
            run("umount", folder)


@pytest.fixture
def crashed(installed_helper: None, make_loop: Callable[..., str]) -> Iterator[Crashed]:
    """A function that gives a disk with what a crashed session left; the next helper runs."""

    def make(filesystem: str = "ext4") -> str:
        disk = make_loop(1 * GIB, partscan=True)
        crash(disk, filesystem=filesystem)
        Running()
        return disk

    yield make
    _end()


@pytest.fixture
def crashed_mirror(installed_helper: None, make_loop: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Two disks with a mirror that a crashed session left; the next helper runs."""
    one, other = make_loop(1 * GIB, partscan=True), make_loop(1 * GIB, partscan=True)
    crash(one, other, filesystem="btrfs", level=Level.MIRROR)
    Running()
    yield one, other
    _end()


def _end() -> None:
    if Running.last is not None and Running.last.process.poll() is None:
        Running.last.end()
    for path in journaled():
        path.unlink()


def file_of(disk: str) -> str:
    return Path("/sys/class/block", Path(disk).name, "loop/backing_file").read_text().strip()


def shown(connection: HelperConnection, disk: str) -> tuple[KeptDisk, str]:
    wire, shown_digest = connection.call(
        "InspectKept", f"({IDENTITY})", identity_to_wire(SPARE.identify(disk))
    )
    return kept_from_wire(wire), shown_digest


def release(connection: HelperConnection, disk: str, shown_digest: str) -> tuple[str, str, str]:
    wire = identity_to_wire(SPARE.identify(disk))
    outcome, *texts = connection.call("ReleaseKept", f"({IDENTITY}s)", wire, shown_digest)
    message, hint = map(message_from_wire, texts)
    return outcome, message, hint


def answer_of(connection: HelperConnection, disk: str) -> tuple[str, set[str]]:
    wire = identity_to_wire(SPARE.identify(disk))
    ((answer,),) = connection.call("Inspect", f"(a{IDENTITY})", [wire])
    return answer[1], {rule for rule, *_ in answer[2]}


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_kept_disk_is_released_and_spare(crashed: Crashed, filesystem: str) -> None:
    disk = crashed(filesystem)
    with client() as connection:
        assert answer_of(connection, disk)[1] >= {"D18"}
        kept, shown_digest = shown(connection, disk)
        assert (kept.will_wipe, kept.is_table_ours, kept.obstacles) == (True, True, ())
        assert kept.began_s > 1.7e9
        (content,) = [each for each in kept.contents if each.node == f"{disk}p1"]
        assert (content.type, content.label) == (filesystem, "")
        assert 0 < content.used_bytes < content.size_bytes
        assert release(connection, disk, shown_digest) == ("wiped", "", "")
        assert journaled() == []
        wait_until(lambda: answer_of(connection, disk) == ("spare", set()))  # udevd looks again
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        assert owner.release()[2] == ""


def use(disk: str) -> None:
    """Fill the filesystem that a session left, and give it a label."""
    folder = Path("/run/used")
    folder.mkdir(exist_ok=True)
    run("mount", f"{disk}p1", str(folder))
    (folder / "customers.db").write_bytes(b"x" * 20 * MIB)
    run("umount", str(folder))
    run("tune2fs", "-L", "CUSTOMERS", f"{disk}p1")


def test_foreign_data_shown_before_release(crashed: Crashed) -> None:
    disk = crashed()
    with client() as connection:
        _, before = shown(connection, disk)
        use(disk)
        outcome, message, hint = release(connection, disk, before)
        assert (outcome, "has changed since it was shown" in message, bool(hint)) == ("kept", True, True)
        kept, shown_digest = shown(connection, disk)
        (content,) = [each for each in kept.contents if each.label]
        assert (content.label, content.mounted_at) == ("CUSTOMERS", "/run/used")
        assert content.used_bytes > 20 * MIB
        assert release(connection, disk, shown_digest)[0] == "wiped"


def test_changed_table_dropped_unwritten(crashed: Crashed) -> None:
    disk = crashed()
    with Path(disk).open("r+b", buffering=0) as file:
        file.seek(420)
        file.write(b"\1")  # of the boot code, by one byte
    before = digest(disk)
    with client() as connection:
        kept, shown_digest = shown(connection, disk)
        assert (kept.will_wipe, kept.is_table_ours) == (False, False)
        assert release(connection, disk, shown_digest) == ("dropped", "", "")
        assert (digest(disk), journaled()) == (before, [])
        answer, rules = answer_of(connection, disk)
        assert (answer, "D08" in rules, "D18" in rules) == ("not spare", True, False)


def test_a_foreign_filesystem_in_ours_is_dropped(crashed: Crashed) -> None:
    disk = crashed()
    run("mkfs.xfs", "-f", "-L", "PRECIOUS", f"{disk}p1")
    before = digest(disk)
    with client() as connection:
        kept, shown_digest = shown(connection, disk)
        assert (kept.will_wipe, kept.is_table_ours) == (False, True)
        assert "PRECIOUS" in {each.label for each in kept.contents}
        assert release(connection, disk, shown_digest)[0] == "dropped"
        assert (digest(disk), answer_of(connection, disk)[0]) == (before, "not spare")


def test_a_mounted_disk_is_not_released(crashed: Crashed) -> None:
    disk = crashed()
    folder = Path("/run/elsewhere")
    folder.mkdir(exist_ok=True)
    with client() as connection:
        run("mount", "-o", "ro", f"{disk}p1", str(folder))
        try:
            kept, shown_digest = shown(connection, disk)
            assert any("/run/elsewhere" in each.evidence for each in kept.obstacles)
            outcome, message, _ = release(connection, disk, shown_digest)
            assert (outcome, "/run/elsewhere" in message) == ("kept", True)
        finally:
            run("umount", str(folder))
        assert release(connection, disk, shown(connection, disk)[1])[0] == "wiped"


def test_an_open_disk_is_not_released(crashed: Crashed) -> None:
    disk = crashed()
    with client() as connection, Path(f"{disk}p1").open("r+b", buffering=0):
        shown_digest = shown(connection, disk)[1]
        assert release(connection, disk, shown_digest)[0] == "kept"
        assert len(journaled()) == 1


def test_absent_or_other_disk_refused(crashed: Crashed) -> None:
    disk = crashed()
    identity = SPARE.identify(disk)
    with client() as connection:
        shown_digest = shown(connection, disk)[1]
        for other in (replace(identity, device_number="7:999"), replace(identity, diskseq=1)):
            wire = identity_to_wire(other)
            call = connection.begin("ReleaseKept", f"({IDENTITY}s)", wire, shown_digest)
            assert error_of(call)[0] == "DiskRefused"
        assert len(journaled()) == 1


def test_unkept_disk_refused(crashed: Crashed, make_loop: Callable[..., str]) -> None:
    other = make_loop(1 * GIB)
    crashed()
    with client() as connection:
        assert error_of(lambda: shown(connection, other)) == ("Unknown", "not-kept")
        assert error_of(lambda: release(connection, other, "")) == ("Unknown", "not-kept")


def test_disk_of_live_session_refused(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(1 * GIB, partscan=True)
    with client() as connection, client() as other:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        assert error_of(lambda: shown(other, disk)) == ("Busy", "session")
        assert error_of(lambda: release(other, disk, "")) == ("Busy", "session")
        assert owner.release()[2] == ""


def test_two_disks_one_after_the_other(crashed_mirror: tuple[str, str]) -> None:
    one, other = crashed_mirror
    with client() as connection:
        shown_digest = shown(connection, one)[1]
        before = digest(other)
        assert release(connection, one, shown_digest)[0] == "wiped"
        assert (digest(other), len(journaled())) == (before, 1)
        kept, shown_digest = shown(connection, other)
        assert (kept.will_wipe, kept.is_table_ours) == (True, True)
        assert release(connection, other, shown_digest)[0] == "wiped"
        assert journaled() == []
        for disk in (one, other):
            wait_until(lambda disk=disk: answer_of(connection, disk) == ("spare", set()))  # type: ignore[misc]


def test_one_of_two_disks_is_gone(crashed_mirror: tuple[str, str]) -> None:
    one, other = crashed_mirror
    file = file_of(other)
    run("losetup", "--detach", other)
    with client() as connection:
        assert release(connection, one, shown(connection, one)[1])[0] == "wiped"
        assert len(journaled()) == 1
        run("losetup", "--partscan", other, file)
        kept, shown_digest = shown(connection, other)
        assert kept.will_wipe
        assert "D18" in answer_of(connection, other)[1]
        assert release(connection, other, shown_digest)[0] == "wiped"
        assert journaled() == []


def test_one_of_two_disks_is_changed(crashed_mirror: tuple[str, str]) -> None:
    one, other = crashed_mirror
    with client() as connection:
        shown_digest = shown(connection, other)[1]
        with Path(other).open("r+b", buffering=0) as file:
            file.seek(420)
            file.write(b"\1")
        before = digest(other)
        assert release(connection, other, shown_digest)[0] == "kept", "it was shown otherwise"
        assert release(connection, one, shown(connection, one)[1])[0] == "wiped"
        assert release(connection, other, shown(connection, other)[1])[0] == "dropped"
        assert (digest(other), journaled()) == (before, [])


def test_two_persons_release_one_disk_each(crashed_mirror: tuple[str, str]) -> None:
    answers: list[str] = []

    def ask(disk: str, shown_digest: str) -> None:
        with client() as connection:
            answers.append(release(connection, disk, shown_digest)[0])

    with client() as connection:
        both = [Thread(target=ask, args=(disk, shown(connection, disk)[1])) for disk in crashed_mirror]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert (answers, journaled()) == (["wiped", "wiped"], [])


ASKING = """
import json, sys
from app.domain.disk import DiskIdentity
from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from tests.disks.helper_owner import client
wire, digest = identity_to_wire(DiskIdentity(*json.loads(sys.argv[1]))), sys.argv[2]
with client() as connection:
    input()
    try:
        is_person = len(sys.argv) > 3
        print(connection.call("ReleaseKept", f"({IDENTITY}s)", wire, digest, interactive=is_person)[0])
    except Exception as err:
        print(err)
"""


def asking(disk: str, shown_digest: str, *interactive: str) -> subprocess.Popen[str]:
    """A user of this machine who is no administrator, and asks once a line is written to its input."""
    identity = json.dumps(astuple(SPARE.identify(disk)))
    return subprocess.Popen(
        [*AS_NOBODY, sys.executable, "-c", ASKING, identity, shown_digest, *interactive],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT,
    )  # fmt: skip


def test_who_is_not_authorised_releases_nothing(crashed: Crashed) -> None:
    disk = crashed()
    before = digest(disk)
    with client() as connection:
        shown_digest = shown(connection, disk)[1]
    said, _ = asking(disk, shown_digest).communicate("go\n", timeout=LIMIT_S)
    assert "NotAuthorized" in said
    assert (digest(disk), len(journaled())) == (before, 1)


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_the_dialog_names_the_disk(crashed: Crashed, password: str) -> None:
    disk = crashed()
    set_password()
    with client() as connection:
        shown_digest = shown(connection, disk)[1]
    user = asking(disk, shown_digest, "interactive")
    agent = TerminalAgent(user.pid)
    assert user.stdin is not None
    user.stdin.write("go\n")
    user.stdin.flush()
    agent.wait_for_prompt()
    assert "release" in agent.shown
    assert SPARE.identify(disk).serial in agent.shown
    assert len(journaled()) == 1
    agent.type(password)
    said, _ = user.communicate(timeout=LIMIT_S)
    agent.close()
    assert said.strip() == "wiped" if password == PASSWORD else "NotAuthorized" in said
    assert len(journaled()) == (0 if password == PASSWORD else 1)


@pytest.mark.parametrize(("count", "ours"), [(1, True), (2, False), (3, True)])
def test_killed_while_it_releases(crashed: Crashed, count: int, *, ours: bool) -> None:
    """However far a release came, the disk is offered again; half of a table is nobody's."""
    disk = crashed()
    assert Running.last is not None
    Running.last.end()
    Running(environment={"TEST_KILLED_AFTER_ZEROING": str(count)})
    with client() as connection:
        shown_digest = shown(connection, disk)[1]
        with pytest.raises(RemoteError):
            release(connection, disk, shown_digest)
    Running()
    with client() as connection:
        kept, shown_digest = shown(connection, disk)
        assert kept.will_wipe is ours
        assert release(connection, disk, shown_digest)[0] == ("wiped" if ours else "dropped")
        assert journaled() == []


def test_of_two_at_once_one_releases(crashed: Crashed) -> None:
    disk = crashed()
    answers: list[Any] = []
    with client() as connection:
        shown_digest = shown(connection, disk)[1]

    def ask() -> None:
        with client() as connection:
            try:
                answers.append(release(connection, disk, shown_digest)[0])
            except RemoteError as err:
                answers.append(err.text)

    both = [Thread(target=ask) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(answers) in (["not-kept", "wiped"], ["kept", "wiped"])


def test_journal_of_previous_version_offered(crashed: Crashed) -> None:
    disk = crashed()
    assert Running.last is not None
    Running.last.end()
    (path,) = journaled()
    entry = json.loads(path.read_text())
    entry["schema"] = 2
    facts = {name: text for name, text in entry["facts"].items() if name.startswith("mark of")}
    path.write_text(json.dumps({**entry, "facts": facts}))
    before = digest(disk)
    Running()
    with client() as connection:
        assert "D18" in answer_of(connection, disk)[1]
        kept, shown_digest = shown(connection, disk)
        assert (kept.will_wipe, kept.began_s) == (False, 0)
        assert release(connection, disk, shown_digest)[0] == "dropped"
        assert (digest(disk), journaled()) == (before, [])
