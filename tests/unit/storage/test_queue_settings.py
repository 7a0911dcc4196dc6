"""Scheduler and read-ahead of disks: journaled, set, read back, and put back where that is ours to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.domain.errors import RefusedError, StorageError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, Scheduler, StoragePlan
from app.domain.text import KIB, MIB
from app.storage.checks import queue_settings
from app.storage.checks.readback import ReadBackError
from app.storage.execution import Execution, Hooks, StepResult
from app.storage.layout.commands import build_steps
from app.storage.layout.conditions import table_place
from app.storage.layout.steps import (
    CheckScheduler,
    ClaimDisks,
    Command,
    Mark,
    QueueRecord,
    QueueSetting,
    ReadBackQueue,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Settle,
    Step,
    check_queue_facts,
    describe,
    mark_fact,
    parse_record,
    queue_fact,
    undo_of,
)
from app.storage.system import state
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks

NODE = "/dev/sda"
PLACE = NAMES.table(disk(1).key())
SCHEDULER = queue_fact(QueueSetting.SCHEDULER, PLACE)
READ_AHEAD = queue_fact(QueueSetting.READ_AHEAD, PLACE)
GROUP = Group(disks(1), Level.SINGLE, "ext4", scheduler=Scheduler.BFQ, read_ahead_bytes=512 * KIB)


class Kernel:
    """Settings of devices as files, written as the kernel takes them; and what a journal is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk: DiskIdentity | OSError = disk(1)
        self.other_boot = False
        self.recorded: list[str] = []
        self.steps: list[StepResult] = []
        self.facts: dict[str, str] = {}
        self.written: list[str] = []
        self.page_kib = 4
        self.takes = True
        for name in ("sda", "sdb", "md"):
            self.show(name, "[none] mq-deadline kyber bfq", "128")

    def show(self, name: str, schedulers: str, read_ahead: str) -> None:
        place = self.folder / name / "queue"
        place.mkdir(parents=True, exist_ok=True)
        (place / "scheduler").write_text(f"{schedulers} \n")
        (place / "read_ahead_kb").write_text(f"{read_ahead}\n")

    def sysfs_folder(self, node: str) -> Path:
        return self.folder / ("md" if node.startswith("/dev/md/") else Path(node).name)

    def write(self, path: Path, value: str) -> None:
        self.written.append(f"{path.parents[1].name} {path.name} = {value}")
        self.recorded.append(self.written[-1])
        if not self.takes:
            return
        if path.name == "scheduler":
            words = [word.strip("[]") for word in path.read_text().split()]
            if value not in words:
                raise OSError(22, "Invalid argument")
            path.write_text(" ".join(f"[{word}]" if word == value else word for word in words) + "\n")
        else:
            path.write_text(f"{int(value) // self.page_kib * self.page_kib}\n")

    def read(self, name: str = "sda") -> tuple[str, str]:
        found = tuple(
            queue_settings.read_choice(self.folder / name / "queue" / each)[0]
            for each in ("scheduler", "read_ahead_kb")
        )
        return found[0], found[1]

    def execution(self) -> Execution:
        return Execution({NODE: disk(1), "/dev/sdb": disk(2)}, self.hooks(), dict(self.facts))

    def hooks(self) -> Hooks:
        return Hooks(
            identify=self._identify,
            refusals=lambda _: {},
            journal=lambda step, _: self.recorded.append(f"begun {type(step).__name__}"),
            facts=self._know,
            done=self.steps.append,
            other_boot=self.other_boot,
        )

    def _know(self, facts: Mapping[str, str]) -> None:
        self.facts.update(facts)
        self.recorded += [f"{name}: {value}" for name, value in facts.items()]

    def _identify(self, node: str) -> DiskIdentity:
        if node == "/dev/sdb":
            return disk(2)
        if isinstance(self.disk, OSError):
            raise self.disk
        return self.disk


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    found = Kernel(tmp_path)
    monkeypatch.setattr(state, "sysfs_folder", found.sysfs_folder)
    monkeypatch.setattr(state, "SYSFS", tmp_path)
    monkeypatch.setattr(queue_settings, "write_setting", found.write)
    return found


def steps_of(group: Group, *kinds: type) -> tuple[Step, ...]:
    plan = StoragePlan(group)
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    return tuple(each for each in steps if isinstance(each, kinds))


def set_steps(group: Group = GROUP) -> tuple[Step, ...]:
    return steps_of(group, SetQueue, SetReadAhead, ReadBackQueue)


def made(kernel: Kernel, group: Group = GROUP) -> tuple[Step, ...]:
    """Set what a group says; return what undoes it."""
    steps = set_steps(group)
    kernel.execution().make(steps)
    return undo_of(steps)


def test_setting_journaled_before_and_put_back(kernel: Kernel) -> None:
    undo = made(kernel)
    assert kernel.read() == ("bfq", "512")
    assert kernel.recorded == [
        "begun SetQueue", f"{SCHEDULER}: none bfq 1", "sda scheduler = bfq",
        "begun SetQueue", f"{READ_AHEAD}: 128 512 1", "sda read_ahead_kb = 512",
    ]  # fmt: skip
    kernel.recorded.clear()
    kernel.execution().unmake(undo)
    assert kernel.read() == ("none", "128")
    assert kernel.recorded == [
        "sda read_ahead_kb = 128", f"{READ_AHEAD}: ", "sda scheduler = none", f"{SCHEDULER}: ",
    ]  # fmt: skip
    assert {each.skipped for each in kernel.steps} == {""}
    kernel.written.clear()
    kernel.execution().unmake(undo)
    assert kernel.written == [], "once is enough"


def test_setting_already_in_effect(kernel: Kernel) -> None:
    kernel.show("sda", "none mq-deadline kyber [bfq]", "512")
    undo = made(kernel)
    assert (kernel.recorded, kernel.facts) == ([], {})
    kernel.show("sda", "[none] mq-deadline kyber bfq", "64")
    kernel.execution().unmake(undo)
    assert kernel.written == []


@pytest.mark.parametrize("setting", QueueSetting)
def test_setting_changed_by_others_left_and_reported(kernel: Kernel, setting: QueueSetting) -> None:
    undo = made(kernel)
    kernel.written.clear()
    kernel.steps.clear()
    if setting is QueueSetting.SCHEDULER:
        kernel.show("sda", "none mq-deadline [kyber] bfq", "512")
    else:
        kernel.show("sda", "none mq-deadline kyber [bfq]", "2048")
    kernel.execution().unmake(undo)
    found = {QueueSetting.SCHEDULER: "kyber", QueueSetting.READ_AHEAD: "2048"}[setting]
    assert found in kernel.read()
    assert len(kernel.written) == 1, "the other one is put back"
    (output,) = (each.output for each in kernel.steps if each.output)
    assert f"{NODE}: {setting.value} is now {found}, because it was changed" in output
    assert set(kernel.facts.values()) == {""}, "it is told once, and nobody's any more"


def test_setting_put_back_by_others(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.show("sda", "[none] mq-deadline kyber bfq", "128")
    kernel.written.clear()
    kernel.execution().unmake(undo)
    assert kernel.written == []
    assert set(kernel.facts.values()) == {""}


def test_settings_after_reboot_not_put_back(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.written.clear()
    kernel.other_boot = True  # and by chance it is what the session had set
    kernel.execution().unmake(undo)
    assert kernel.written == []
    assert set(kernel.facts.values()) == {""}


@pytest.mark.parametrize(
    "now",
    [
        replace(disk(1), diskseq=77),
        replace(disk(1), serial="OTHER"),
        replace(disk(1), serial="OTHER", diskseq=77),
        replace(disk(1), wwn=None),
    ],
    ids=str,
)
def test_other_or_reattached_disk_not_touched(kernel: Kernel, now: DiskIdentity) -> None:
    undo = made(kernel)
    kernel.written.clear()
    kernel.disk = now
    kernel.execution().unmake(undo)
    assert kernel.written == []


def test_appearance_from_journal_after_restart(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.written.clear()
    again = replace(disk(1), diskseq=77)
    kernel.disk = again
    Execution({NODE: again}, kernel.hooks(), dict(kernel.facts)).unmake(undo)
    assert kernel.written == [], "the helper takes the disk as it finds it; the journal knows the old one"


def test_absent_disk_is_not_forgotten(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.written.clear()
    kernel.disk = OSError(19, "No such device")
    kernel.execution().unmake(undo)
    assert kernel.written == []
    assert set(kernel.facts.values()) != {""}
    kernel.disk = disk(1)  # it did not tell for a moment only
    kernel.execution().unmake(undo)
    assert kernel.read() == ("none", "128")


def test_helper_died_before_the_write(kernel: Kernel) -> None:
    (step,) = steps_of(replace(GROUP, read_ahead_bytes=None), SetQueue)
    kernel.facts[SCHEDULER] = "none bfq 1"
    kernel.execution().unmake(undo_of((step,)))
    assert (kernel.written, kernel.facts) == ([], {SCHEDULER: ""})


def test_unknown_scheduler_refused_with_the_known(kernel: Kernel) -> None:
    kernel.show("sda", "[none] mq-deadline", "128")
    for kind in (CheckScheduler, SetQueue):
        (step, *_) = steps_of(GROUP, kind)
        with pytest.raises(
            RefusedError, match="no I/O scheduler bfq for /dev/sda; it offers none, mq-deadline"
        ) as err:
            kernel.execution().make((step,))
        assert "modprobe" in err.value.hint
    assert (kernel.written, kernel.facts) == ([], {})


@pytest.mark.parametrize("text", ["", "none mq-deadline bfq", "[none] [bfq]", "[no\ne] bfq", "[../x] bfq"])
def test_unrestorable_setting_is_not_changed(kernel: Kernel, text: str) -> None:
    kernel.show("sda", text, "many")
    for step in steps_of(GROUP, SetQueue):
        with pytest.raises(RefusedError):
            kernel.execution().make((step,))
    assert (kernel.written, kernel.facts) == ([], {})


def test_other_disk_than_the_chosen_not_set(kernel: Kernel) -> None:
    kernel.disk = replace(disk(1), diskseq=9)
    for step in steps_of(GROUP, SetQueue):
        with pytest.raises(RefusedError, match="not the disk that was selected"):
            kernel.execution().make((step,))
    assert (kernel.written, kernel.facts) == ([], {})


def test_setting_read_back_and_undone_if_different(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.page_kib = 64
    group = replace(GROUP, read_ahead_bytes=100 * KIB)
    with pytest.raises(ReadBackError, match="requested 100, found 64"):
        made(kernel, group)
    assert kernel.read() == ("none", "128")
    kernel.written.clear()
    monkeypatch.setattr("resource.getpagesize", lambda: 64 * KIB)
    with pytest.raises(
        RefusedError, match="whole pages of 64 KiB, so a read-ahead of 100 KiB is not possible"
    ):
        made(kernel, replace(group, scheduler=None))
    assert kernel.written == []
    kernel.takes = False
    with pytest.raises(ReadBackError, match="requested bfq, found none"):
        made(kernel)


def test_failed_restore_is_an_error_in_journal(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.takes = False
    with pytest.raises(StorageError, match="could not be restored to 128 and stays 512"):
        kernel.execution().unmake(undo)
    assert set(kernel.facts.values()) == {"none bfq 1", "128 512 1"}


def test_released_disk_is_not_put_back(kernel: Kernel) -> None:
    undo = made(kernel)
    kernel.takes = False
    with pytest.raises(StorageError):
        kernel.execution().unmake(undo)
    kernel.facts[mark_fact(table_place(PLACE))] = Mark.WIPED.value
    with pytest.raises(StorageError):
        kernel.execution().unmake(undo)
    kernel.facts[mark_fact(table_place(PLACE))] = Mark.RELEASED.value
    kernel.takes = True
    kernel.written.clear()
    kernel.execution().unmake(undo)  # the next session has set the same, which is its own
    assert (kernel.written, kernel.read()) == ([], ("bfq", "512"))
    assert (kernel.facts[SCHEDULER], kernel.facts[READ_AHEAD]) == ("", "")


def test_setting_changed_while_making(kernel: Kernel) -> None:
    steps = set_steps()
    execution = kernel.execution()
    execution.make(steps)
    kernel.show("sda", "none [mq-deadline] kyber bfq", "1024")
    with pytest.raises(ReadBackError) as error:
        kernel.execution().make(steps[-1:])
    assert [(each.option, each.asked, each.found) for each in error.value.differences] == [
        ("/dev/sda scheduler", "bfq", "mq-deadline"),
        ("/dev/sda read_ahead_kb", "512", "1024"),
    ]


def test_read_ahead_of_array_and_btrfs(kernel: Kernel) -> None:
    pair = replace(GROUP, disks=disks(2), level=Level.MIRROR)
    made(kernel, pair)
    assert [kernel.read(name)[1] for name in ("sda", "sdb", "md")] == ["512", "512", "512"]
    assert kernel.read("md")[0] == "none", "an array has no scheduler of its own"
    kernel.show("md", "none", "4096")
    with pytest.raises(ReadBackError, match=r"/dev/md/\S+ read_ahead_kb: requested 512, found 4096"):
        kernel.execution().make(set_steps(pair)[-1:])
    btrfs = replace(pair, filesystem="btrfs")
    (step,) = steps_of(btrfs, SetReadAhead)
    assert isinstance(step, SetReadAhead)
    assert (step.array, bool(step.filesystem_uuid)) == ("", True)
    own = kernel.folder / "fs/btrfs" / step.filesystem_uuid / "bdi/read_ahead_kb"
    own.parent.mkdir(parents=True)
    own.write_text("4096\n")
    kernel.execution().make(set_steps(btrfs))
    assert own.read_text() == "512\n"
    own.write_text("4096\n")
    with pytest.raises(ReadBackError, match="btrfs .* read_ahead_kb: requested 512, found 4096"):
        kernel.execution().make(set_steps(btrfs)[-1:])


@pytest.mark.parametrize("filesystem", ["ext4", "btrfs", "zfs"])
def test_checked_before_first_write_set_after_last(filesystem: str) -> None:
    group = replace(GROUP, disks=disks(2), level=Level.MIRROR, filesystem=filesystem)
    if filesystem == "zfs":
        group = replace(group, read_ahead_bytes=None)
    log = (disk(3),) if filesystem == "zfs" else ()
    plan = StoragePlan(group, zfs_log=log)
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    kinds = [type(each) for each in steps]
    assert kinds.index(ClaimDisks) < kinds.index(CheckScheduler) < kinds.index(Command)
    last = len(kinds) - 1 - kinds[::-1].index(Command)
    at = [number for number, kind in enumerate(kinds) if kind is SetQueue]
    assert last < at[0] - 1
    assert kinds[at[0] - 1] is Settle, "udevd applies the machine's rules to what changed"
    assert kinds[-1] is ReadBackQueue
    assert [type(each) for each in undo_of(steps)][: len(at)] == [RestoreQueue] * len(at), "before all else"
    assert {each.disk for each in steps if isinstance(each, SetQueue)} == {
        each.node for each in devices(plan).values()
    }, "log devices too"


def test_groups_with_different_settings() -> None:
    wal = Group((disk(3),), Level.SINGLE, "xfs", read_ahead_bytes=0)
    plan = StoragePlan(replace(GROUP, read_ahead_bytes=None), wal)
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    found = [(each.disk, each.setting.value, each.value) for each in steps if isinstance(each, SetQueue)]
    assert found == [("/dev/sda", "scheduler", "bfq"), ("/dev/sdc", "read_ahead_kb", "0")]
    nothing = StoragePlan(replace(GROUP, scheduler=None, read_ahead_bytes=None))
    kinds = {type(each) for each in build_steps(nothing, devices(nothing), NAMES, FOLDER)}
    assert kinds.isdisjoint({CheckScheduler, SetQueue, SetReadAhead, ReadBackQueue})


@pytest.mark.parametrize("setting", QueueSetting)
def test_record_round_trip(setting: QueueSetting) -> None:
    before, chosen = ("none", "mq-deadline") if setting is QueueSetting.SCHEDULER else ("128", "0")
    record = QueueRecord(before, chosen, 12)
    assert parse_record(setting, record.text()) == record
    assert parse_record(setting, "") is None
    check_queue_facts({queue_fact(setting, "table"): record.text(), "guid of x": "4711"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("queue scheduler of x", "none"),
        ("queue scheduler of x", "none bfq"),
        ("queue scheduler of x", "none bfq -1"),
        ("queue scheduler of x", "none bfq 1 1"),
        ("queue scheduler of x", "none\n bfq 1"),
        ("queue scheduler of x", "../../x bfq 1"),
        ("queue scheduler of x", "0 1 1"),
        ("queue read_ahead_kb of x", "none bfq 1"),
        ("queue read_ahead_kb of x", "128 -1 1"),
        ("queue read_ahead_kb of x", "128 99999999999 1"),
        ("queue read_ahead_kb of x", f"128 256 {'9' * 30}"),
        ("queue nr_requests of x", "128 256 1"),
        ("queue scheduler", "none bfq 1"),
        ("queue scheduler of ", "none bfq 1"),
        ("queue ", ""),
    ],
)
def test_a_torn_record_is_not_understood(name: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        check_queue_facts({name: text})


@pytest.mark.parametrize(
    ("text", "chosen", "offered"),
    [
        ("[none] mq-deadline kyber bfq \n", "none", ("none", "mq-deadline", "kyber", "bfq")),
        ("none mq-deadline [bfq]\n", "bfq", ("none", "mq-deadline", "bfq")),
        ("none\n", "none", ("none",)),
        ("128\n", "128", ("128",)),
        ("", "", ()),
        ("none bfq", "", ("none", "bfq")),
        ("[none] [bfq]", "", ("none", "bfq")),
        ("[] bfq", "", ("", "bfq")),
    ],
)
def test_what_stands_in_brackets_is_chosen(
    tmp_path: Path, text: str, chosen: str, offered: tuple[str, ...]
) -> None:
    path = tmp_path / "scheduler"
    path.write_text(text)
    assert queue_settings.read_choice(path) == (chosen, offered)


def test_missing_setting_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        queue_settings.write_setting(tmp_path / "read_ahead_kb", "128")
    assert list(tmp_path.iterdir()) == []


def test_the_steps_are_told_with_their_disk() -> None:
    plan = StoragePlan(replace(GROUP, read_ahead_bytes=MIB))
    lines = [describe(each) for each in build_steps(plan, devices(plan), NAMES, FOLDER)]
    assert "# /dev/sda: the I/O scheduler becomes bfq" in lines
    assert "# /dev/sda: the read-ahead becomes 1024 KiB" in lines
