"""The client of the helper on a real bus: every way in which it can go wrong is told as what it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.dbus import helper_client
from app.dbus.helper_client import INTERFACE_NUMBER, HelperClient, HelperSignal
from app.dbus.helper_errors import (
    DiskRefusedError,
    ExpiredError,
    HelperBusyError,
    HelperLostError,
    HelperStartsError,
    NoHelperError,
    NotAuthorisedError,
    UnavailableError,
)
from app.domain.disk import DiskRefusal, InspectionReport, UnreleasedItem
from app.domain.disk_answers import ReadProgress
from app.domain.errors import CancelledError, ExitStatus, FootingError, RefusedError, StorageError
from app.domain.filesystems import filesystem
from app.domain.options.raid import Level
from app.domain.step_progress import Operation, StepProgress
from app.domain.storage_plan.plan import ReleaseOutcome, Role
from app.hosts import disk_session
from app.hosts.disk_session import DiskSession, ExecutedStep, MountedFolders
from app.hosts.helper import HelperHost
from app.process.account import current_account
from tests.fix_bus import Serving, next_line, private_bus
from tests.unit.storage.plans import plan_of

pytestmark = pytest.mark.bus

PLANS = (
    plan_of(filesystem("ext4"), Level.SINGLE, {}),
    plan_of(filesystem("xfs"), Level.MIRROR, {"agcount": 8}),
)
Helping = Callable[..., Serving]


@pytest.fixture
def helping(bus: Serving, serve: Callable[..., Serving]) -> Helping:
    def start(*arguments: str) -> Serving:
        process = serve("tests.bus.helper_stand_in", *arguments)
        assert next_line(process) == "ready"
        return process

    return start


class Heard:
    """What a session tells."""

    def __init__(self) -> None:
        self.steps: list[ExecutedStep] = []
        self.places: list[StepProgress] = []

    def executed(self, step: ExecutedStep) -> None:
        self.steps.append(step)

    def working(self, where: StepProgress) -> None:
        self.places.append(where)


@pytest.fixture
def opened() -> Iterator[Callable[[], DiskSession]]:
    clients: list[HelperClient] = []

    def start() -> DiskSession:
        client = HelperClient.open()
        clients.append(client)
        description = client.describe(PLANS)
        session = client.execute(description, 1000)
        texts = dict(zip(PLANS, description.texts, strict=True))
        return DiskSession(client, session, texts, client.version.test_devices)

    yield start
    for client in clients:
        client.close()


def test_storage_made_unmade_and_released(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("works")
    disks, heard = opened(), Heard()
    assert list(disks.texts.values()) == [("mkfs 0",), ("mkfs 1",)]
    assert disks.make(PLANS[1], heard) == MountedFolders("/s", {Role.WAL: "/w", Role.TABLES: "/t"}, "/p")
    first, second = heard.steps
    assert (first.text, first.exit_code, first.seconds, first.output) == (
        "mkfs.ext4 '/dev/a b'",
        0,
        1.5,
        "done",
    )
    assert second.exit_code is None
    assert first.started_s < time.monotonic() - 1
    assert heard.places == [StepProgress(Operation.COMMAND, 1, 2, "mkfs")]
    remains = disks.unmake(heard)
    assert (remains.error, remains.left) == (
        None,
        (UnreleasedItem("/dev/sdb", "S1", "xfs is there", "look at it"),),
    )
    assert disks.unmake(heard).left == (), "there is nothing any more"
    assert disks.release().error is None


def test_maintenance_by_name_reports_commands(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("works")
    disks, heard, looks = opened(), Heard(), []
    disks.make(PLANS[0], Heard())
    ended = disks.session.maintain("fstrim", lambda: looks.append(1))
    disks.check(heard)
    assert (ended.how, ended.is_done, ended.message, ended.seconds) == ("done", True, "", 1.5)
    ((text, code),) = ((each.text, each.exit_code) for each in heard.steps)
    assert (text, code) == ("fstrim /s", 0)
    assert heard.places == [StepProgress(Operation.MAINTAIN, 1, 1, "fstrim", 0.5)]
    disks.session.end_maintenance()
    with pytest.raises(KeyError):
        disks.session.maintain("no such thing")


def test_unstoppable_maintenance_not_awaited(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("hangs")
    disks = opened()
    disks.make(PLANS[0], Heard())
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731 - of three kinds
    host = HelperHost(current_account(), disks, PLANS[0], nothing, nothing, nothing)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(host.maintain, "btrfs-scrub")
        with pytest.raises(FootingError):
            host.end_maintenance()
        assert isinstance(waiting.exception(60), HelperLostError)


DISK = PLANS[0].data.disks[0]


def test_disk_verdict_includes_search_coverage(helping: Helping) -> None:
    helping("keeps")
    with closing(HelperClient.open()) as client:
        results = client.inspect([DISK])[DISK.device_number]
    assert results.is_spare is False
    assert results.refusals == (DiskRefusal("D18", "It was not given back.", "xfs is there", "Look at it."),)
    assert results.looked == InspectionReport(16 << 20, 1280, 65536, 2 << 30)


def test_search_progress_over_all_disks(helping: Helping) -> None:
    helping("works")
    disks = [replace(DISK, device_number=f"8:{minor}") for minor in (16, 32)]
    shares: list[float] = []
    with closing(HelperClient.open()) as client:
        client._events.put(HelperSignal("Looking", (1, 2), 0.0, "8:48"))  # of another question
        results = client.inspect(disks, progress=shares.append)
    assert sorted(results) == ["8:16", "8:32"]
    assert shares == [0, 0.125, 0.5, 0.5, 0.625, 1]


def test_full_read_ends_with_verdict(helping: Helping) -> None:
    process = helping("works")
    seen: list[ReadProgress] = []
    with closing(HelperClient.open()) as client:
        client._events.put(HelperSignal("Expiring", ("of another session",), 0.0))
        found = client.read(DISK, seen.append)
    late_s = time.monotonic() + 60
    while not client.connection.is_closed():  # GLib's own thread notes it, when it reads the end
        assert time.monotonic() < late_s
        time.sleep(0.01)
    assert next_line(process) == "Version False"
    assert next_line(process) == "Read True", "a person may be asked"
    assert found.is_spare
    assert found.looked is not None
    assert found.looked.read_s == 1.8e9
    assert {progress.whole for progress in seen} <= {1000}


def test_full_read_cancelled(helping: Helping) -> None:
    helping("waits")
    seen: list[ReadProgress] = []

    def stop() -> None:
        if len(seen) == 3:
            raise CancelledError("enough")

    with closing(HelperClient.open()) as client, pytest.raises(CancelledError):
        client.read(DISK, seen.append, stop)
    assert [progress.done for progress in seen] == [0, 500, 1000]


def test_only_execute_may_ask_a_person(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    process = helping("works")
    disks = opened()
    disks.make(PLANS[0], Heard())
    assert [next_line(process) for _ in range(4)] == [
        "Version False", "Describe False", "Execute True", "Make False",
    ]  # fmt: skip


def test_make_failure_in_helper_words(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("fails")
    disks = opened()
    with pytest.raises(StorageError, match="The program mkfs is not in /sbin") as caught:
        disks.make(PLANS[0], Heard())
    assert caught.value.hint == "buy another disk"


def test_helper_death_reported_and_not_restarted(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("dies")
    disks = opened()
    assert disks.obstacle(PLANS[0]) == ""
    with pytest.raises(HelperLostError):
        disks.make(PLANS[0], Heard())
    assert isinstance(disks.release().error, HelperLostError)
    assert "helper stopped" in disks.obstacle(PLANS[0])


def test_vanished_helper_lost_not_missing(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    """What it had made nobody knows, so it is not said either that nothing was touched."""
    process = helping("works")
    disks = opened()
    disks.make(PLANS[0], Heard())
    process.kill()
    process.wait()
    with pytest.raises(HelperLostError) as caught:
        disks.session.health()
    text = f"{caught.value.message} {caught.value.hint}"
    assert "The helper no longer answers" in text
    assert "not installed" not in text
    assert "othing was touched" not in text
    with pytest.raises(HelperLostError):
        disks.check()
    assert disks.is_lost


@pytest.mark.parametrize("keeps", [False, True])
def test_restarted_helper_queried_for_disks(
    helping: Helping,
    opened: Callable[[], DiskSession],
    monkeypatch: pytest.MonkeyPatch,
    keeps: bool,  # noqa: FBT001 - a parameter
) -> None:
    monkeypatch.setattr(disk_session, "_SETTLE_S", 0.0)
    process = helping("works")
    disks = opened()
    process.kill()
    process.wait()
    assert isinstance(disks.release().error, HelperLostError)
    assert [each.startswith("The helper could not be restarted.") for each in disks.recover().sentences] == [
        True
    ]
    helping("keeps" if keeps else "works")
    remains = disks.recover()
    assert remains.error is None
    assert len(remains.left) == (len(disks.disks) if keeps else 0)
    if keeps:
        assert "It was not given back. xfs is there. Look at it." in remains.sentences[0]
    assert disks.release() == remains, "that is how it ended"


def test_campaign_keeps_session(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    process = helping("expires")
    disks = opened()
    disks.make(PLANS[0], Heard())
    assert [next_line(process) for _ in range(5)][3:] == ["Make False", "Renew False"]
    disks.session.limit(0)  # its answer comes after the signals before it
    disks.check()
    assert [next_line(process) for _ in range(2)] == ["Limit False", "Renew False"]


def test_expired_session_gives_advice(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("ends")
    disks = opened()
    disks.make(PLANS[0], Heard())
    disks.session.limit(0)  # its answer comes after the signals before it
    with pytest.raises(ExpiredError, match="twelve hours") as caught:
        disks.check()
    assert "--resume" in caught.value.hint


def test_rate_limited_call_retried(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    process = helping("hurries", "1")
    disks = opened()
    looks: list[float] = []
    disks.session.drop_caches(lambda: looks.append(time.monotonic()))
    assert [next_line(process) for _ in range(5)][3:] == ["DropCaches False"] * 2
    assert looks, "the caller looks at other things meanwhile"


def test_machine_limits_have_reasons(helping: Helping, opened: Callable[[], DiskSession]) -> None:
    helping("works")
    with pytest.raises(UnavailableError, match="cgroup v2 is not mounted") as caught:
        opened().session.adopt("server", 1)
    assert caught.value.reason == "no-cgroup2"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("denied", "do not let you"),
        ("challenge", "no way to ask"),
        ("dismissed", "was cancelled"),
        ("failed", "password was wrong"),
        ("timed-out", "in time"),
        ("unavailable", "no answer from polkit"),
        ("something new", "something new"),
    ],
)
def test_polkit_answers_reported(
    helping: Helping, opened: Callable[[], DiskSession], verdict: str, words: str
) -> None:
    helping("refuses", f"NotAuthorized:{verdict}")
    with pytest.raises(NotAuthorisedError, match=words) as caught:
        opened()
    assert caught.value.verdict == verdict
    assert caught.value.exit_status == ExitStatus.REFUSED
    assert "Nothing was touched" in caught.value.message
    assert ("polkit.addRule" in caught.value.hint) == (verdict == "challenge")


@pytest.mark.parametrize(
    ("answer", "words", "status"),
    [
        ("Busy:", "another campaign", 3),
        ("Busy:overtaken", "another campaign was authorised first. Nothing was touched", 3),
        ("Busy:asked", "is open on this machine. Nothing was touched", 3),
        ("NotAuthorized:no-account", "with an account on this machine. Nothing was touched", 3),
        ("DiskRefused:8:16 D08 has a filesystem\n8:32 D05 mounted", "8:32 D05 mounted", 3),
        ("BadPlan:plans[0].data.level", "plans\\[0\\].data.level\nNothing was touched", 2),
        ("BadUser:", "other than root", 3),
        ("Unknown:", "session has ended", 1),
        ("TooMany:", "another campaign", 3),
        ("TooSoon:7", "again in 7 s", 1),
        ("TooSoon:-7", "again in 1 s", 1),
        ("TooSoon:99999", "again in 60 s", 1),
        ("Failed:", "The helper failed", 1),
        ("Newer:", "The helper failed", 1),
    ],
)
def test_refusals_have_sentence_and_status(
    helping: Helping, opened: Callable[[], DiskSession], answer: str, words: str, status: int
) -> None:
    helping("refuses", answer)
    with pytest.raises(FootingError, match=words) as caught:
        opened()
    assert caught.value.exit_status == status


@pytest.mark.parametrize(("behaviour", "version"), [("older-version", -1), ("newer-version", 1)])
def test_helper_version_mismatch_refused(helping: Helping, behaviour: str, version: int) -> None:
    helping(behaviour)
    text = f"version {INTERFACE_NUMBER + version}; this program needs {INTERFACE_NUMBER}"
    with pytest.raises(NoHelperError, match=text) as caught:
        HelperClient.open()
    assert "packaging/helper install" in caught.value.hint


def test_missing_helper_named_for_installation(bus: Serving) -> None:
    with pytest.raises(NoHelperError, match="not installed") as caught:
        HelperClient.open()
    assert "packaging/helper install" in caught.value.hint


_SLOW_TO_START = """
if [ ! -e "$1" ]; then
  # As under systemd, it goes on starting when the bus has given up.
  export DBUS_SYSTEM_BUS_ADDRESS=$DBUS_STARTER_ADDRESS
  setsid sh -c 'sleep 2; exec "$0" -m tests.bus.helper_stand_in works' "$2" &
fi
echo started >>"$1"
sleep 60
"""


def test_slow_helper_start_awaited(tmp_path: Path) -> None:
    """It has the name only after the bus has answered its first caller that it did not come."""
    program, starts = tmp_path / "slow", tmp_path / "starts"
    program.write_text(_SLOW_TO_START)
    run = f"/bin/sh {program} {starts} {sys.executable}"
    (tmp_path / "helper.service").write_text(f"[D-BUS Service]\nName=org.pgfooting.Helper1\nExec={run}\n")
    more = f'<servicedir>{tmp_path}</servicedir><limit name="service_start_timeout">500</limit>'
    with private_bus(tmp_path, more):
        client = HelperClient.open()
        assert client.version.program == "0.0"
        client.close()
    assert len(starts.read_text().splitlines()) > 1


def test_absent_helper_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_client, "START_S", 0.0)
    service = "[D-BUS Service]\nName=org.pgfooting.Helper1\nExec=/bin/sleep 60\n"
    (tmp_path / "helper.service").write_text(service)
    more = f'<servicedir>{tmp_path}</servicedir><limit name="service_start_timeout">200</limit>'
    with private_bus(tmp_path, more), pytest.raises(HelperStartsError, match="Nothing was touched") as caught:
        HelperClient.open()
    assert "journalctl" in caught.value.hint


def test_machine_without_system_bus(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    with pytest.raises(NoHelperError, match="cannot be reached"):
        HelperClient.open()


def test_waiting_for_a_person_can_be_ended(helping: Helping) -> None:
    helping("waits")
    client = HelperClient.open()

    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.execute(client.describe(PLANS), 1000, leave)
    client.close()


DISK = PLANS[0].data.disks[0]


def test_a_kept_disk_is_shown_and_released(helping: Helping) -> None:
    helping("works")
    with closing(HelperClient.open()) as client:
        kept, digest = client.inspect_kept(DISK)
        assert (kept.will_wipe, kept.contents[0].label, kept.reason) == (True, "CUSTOMERS", "session 7")
        assert client.release_kept(DISK, digest) is ReleaseOutcome.WIPED


@pytest.mark.parametrize(
    ("behaviour", "text", "kind", "words"),
    [
        ("keeps", "", DiskRefusedError, "digest has changed since it was shown. Nothing was written"),
        ("refuses", "Unknown:not-kept", RefusedError, "nothing to release"),
        ("refuses", "Busy:session", HelperBusyError, "A running campaign"),
        ("refuses", "NotAuthorized:challenge", NotAuthorisedError, "password"),
        ("refuses", "DiskRefused:8:16 D15 not here", DiskRefusedError, "8:16 D15 not here"),
    ],
)
def test_a_release_is_refused_with_status_3(
    helping: Helping, behaviour: str, text: str, kind: type[FootingError], words: str
) -> None:
    helping(behaviour, text)
    with closing(HelperClient.open()) as client, pytest.raises(kind, match=words) as refused:
        client.release_kept(DISK, "digest")
    assert refused.value.exit_status is ExitStatus.REFUSED


def test_a_release_is_called_off(helping: Helping) -> None:
    helping("waits")

    def leave() -> None:
        raise CancelledError("no")

    with closing(HelperClient.open()) as client, pytest.raises(CancelledError):
        client.release_kept(DISK, "digest", leave)
