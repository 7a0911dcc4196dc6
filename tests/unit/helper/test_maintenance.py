"""Maintenance by root: only by name, in the journal while it lasts, and ended before unmaking."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity
from app.domain.maintenance import MAINTENANCE, DoneBy, maintenance
from app.domain.options.raid import Level
from app.domain.step_progress import StepProgress
from app.domain.storage_plan.plan import Group, StoragePlan
from app.helper.storage import provisioned as maintenance_module
from app.helper.storage.pending_plans import PlannedLayout
from app.helper.storage.provisioned import MaintenanceThread, commands_for, commands_left, root_maintenance
from app.storage.checks.disk_checks import ConditionResult
from app.storage.execution import Execution, Hooks, StepResult
from app.storage.layout.commands_maintenance import MaintenanceCommand, following, fraction_of
from app.storage.layout.conditions import FactIs, MountIs
from app.storage.layout.steps import Command, describe, undo_of
from app.storage.system import programs
from tests.unit.storage.plans import devices, disk, disks

LIMIT_S = 60.0
ID = uuid.UUID("6f1d5a52-0a0c-4c1c-9d57-9d6a2f0e8c11")


def layout_of(data: str, wal: str = "") -> PlannedLayout:
    second = Group((disk(3),), Level.SINGLE, wal) if wal else None
    plan = StoragePlan(Group(disks(2), Level.MIRROR, data), second)
    return PlannedLayout(ID, plan, devices(plan))


def commands(name: str, data: str, wal: str = "") -> tuple[MaintenanceCommand, ...]:
    layout = layout_of(data, wal)
    return commands_for(maintenance(name), layout, layout.steps())


@pytest.mark.parametrize(
    "name",
    [
        "",
        "fstrim /",
        "../fstrim",
        "rm",
        "FSTRIM",
        *(e.name for e in MAINTENANCE if e.done_by is not DoneBy.ROOT),
    ],
)
def test_unknown_maintenance_name_is_refused(name: str) -> None:
    with pytest.raises(MethodError) as refused:
        root_maintenance(name)
    assert refused.value.code == "Unknown"


@pytest.mark.parametrize("kind", [each for each in MAINTENANCE if each.done_by is DoneBy.ROOT], ids=str)
def test_maintenance_declared_as_in_the_registry(kind: Any) -> None:  # noqa: ANN401
    for filesystem in ("ext4", "xfs", "btrfs", "zfs", "f2fs", "ext3", "reiserfs"):
        found = commands(kind.name, filesystem)
        assert bool(found) == kind.is_on(filesystem), filesystem
        for each in found:
            words = [*each.argv, *each.end, *each.status]
            assert not any("{" in word for word in words)
            assert any(
                layout_of(filesystem).folder in word or "pgfooting-data-" in word for word in each.argv
            )
            assert each.limit_s == kind.limit_s
            assert bool(each.end) == kind.name.startswith(("btrfs-", "zpool-"))


def test_data_and_wal_where_supported() -> None:
    places = [each.mounted.folder.rpartition("/")[2] for each in commands("fstrim", "xfs", "ext4")]
    assert places == ["storage", "wal"]
    assert [each.mounted.folder.rpartition("/")[2] for each in commands("btrfs-scrub", "xfs", "btrfs")] == [
        "wal"
    ]
    (scrub,) = commands("btrfs-scrub", "btrfs")
    assert all(path.startswith("/var/lib/btrfs/scrub.") for path in scrub.leaves)
    (pool,) = commands("zpool-scrub", "zfs")
    assert pool.argv == ("zpool", "scrub", "-w", pool.mounted.sources[0])


def test_snapshot_name_is_unpredictable() -> None:
    names = {commands("snapshot", "btrfs")[0].argv[-1] for _ in range(5)}
    assert len(names) == 5
    assert all(len(name.rpartition("-")[2]) == 16 for name in names)


NAME = "pgfooting-snapshot-" + "0a" * 8
LISTED = f"""ID 256 gen 12 cgen 12 top level 5 otime 2026-01-01 00:00:00 path {NAME}
ID 257 gen 13 cgen 13 top level 5 otime 2026-01-01 00:00:00 path data/{NAME}
ID 258 gen 13 cgen 13 top level 5 otime 2026-01-01 00:00:00 path home
ID -1 gen 13 cgen 13 top level 5 otime 2026-01-01 00:00:00 path {NAME}
ID 259 gen 13 cgen 13 top level 5 otime 2026-01-01 00:00:00 path {NAME}/x
ID 5 /etc path {NAME}
"""


def test_snapshots_removed_by_filesystem_listing() -> None:
    (command,) = commands("remove-snapshots", "btrfs")
    place = command.mounted.folder
    delete = ("btrfs", "subvolume", "delete", "--subvolid")
    assert following(command, LISTED) == ((*delete, "256", place), (*delete, "257", place))
    assert command.then == ("btrfs", "subvolume", "sync", place)
    cut = LISTED.partition("/x")[0]
    assert following(command, cut) == following(command, LISTED), "where it was cut, another name stands"
    (command,) = commands("remove-snapshots", "zfs")
    pool = command.mounted.sources[0]
    printed = f"{pool}@{NAME}\n{pool}@mine\n{pool}@{NAME}x\n{pool}/a@{NAME}@b\n"
    assert following(command, printed) == (("zfs", "destroy", f"{pool}@{NAME}"),)


@pytest.mark.parametrize("filesystem", ["btrfs", "zfs", "ext4"])
def test_leftover_maintenance_ended_before_unmounting(filesystem: str) -> None:
    layout = layout_of(filesystem)
    undo = undo_of(layout.steps())
    lines = [describe(each) for each in undo]
    place = f"{layout.folder}/storage"
    unmount = lines.index(f"umount --internal-only {place}")
    ends = [
        each
        for each in undo[:unmount]
        if isinstance(each, Command) and ("cancel" in each.argv or "-s" in each.argv or "-c" in each.argv)
    ]
    assert len(ends) == {"ext4": 0}.get(filesystem, 2)
    for each in ends:
        assert [type(condition).__name__ for condition in each.when] == ["FactIs", "MountIs"]
        assert each.forgives, "nothing to be ended is no failure"


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("1 out of about 3 chunks balanced (2 considered),  67% left", 0.33),
        ("Bytes scrubbed:   1.00GiB  (45.60%)\nRate: 1GiB/s", 0.456),
        ("  scan: scrub in progress\n\t1G scanned, 0B repaired, 12.50% done, 00:00:10 to go", 0.125),
        ("No balance found on '/mnt'", None),
        ("", None),
        ("999% left", None),
    ],
)
def test_progress_from_program_output(text: str, fraction: float | None) -> None:
    found = fraction_of(text)
    assert found == (None if fraction is None else pytest.approx(fraction))


class Scene:
    """Stands for disks and owner: programs are scripts of the test, found in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounted = True
        self.facts: dict[str, str] = {}
        self.facts_seen: list[str] = []
        self.steps: list[StepResult] = []
        self.places: SimpleQueue[StepProgress] = SimpleQueue()
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.is_cancelled = threading.Event()
        hooks = Hooks(lambda _: disk(1), lambda _: {}, facts=self._know)
        self.execution = Execution(dict[str, DiskIdentity](), hooks)

    def _know(self, facts: Mapping[str, str]) -> None:
        self.facts.update(facts)
        self.facts_seen += [f"{name.rpartition('/')[2]}: {value}" for name, value in facts.items()]

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def start(self, name: str, filesystem: str = "btrfs", limit_s: float = LIMIT_S) -> MaintenanceThread:
        found = commands(name, filesystem)
        limited = [replace(each, limit_s=limit_s) for each in found]
        thread = MaintenanceThread(limited, self.execution, self, self.answers.put, self.is_cancelled.is_set)
        thread.start()
        return thread

    def result(self) -> tuple[str, str]:
        found = self.answers.get(timeout=LIMIT_S)
        if isinstance(found, MethodError):
            return found.code, found.text
        how, message, seconds = found
        assert seconds >= 0
        return how, message

    def executed(self, done: StepResult) -> None:
        self.steps.append(done)

    def progressed(self, progress: StepProgress) -> None:
        self.places.put(progress)

    def __getattr__(self, name: str) -> Callable[..., None]:
        raise AssertionError(name)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    found = Scene(tmp_path)
    monkeypatch.setattr(programs.find_program, "__defaults__", ((str(tmp_path),),))
    monkeypatch.setattr(
        "app.storage.execution.check",
        lambda condition, *_: ConditionResult(found.mounted and isinstance(condition, MountIs), ""),
    )
    return found


def test_maintenance_in_journal_while_it_lasts(scene: Scene) -> None:
    scene.script("btrfs", f'echo "$@" >>{scene.folder}/log; echo moved')
    scene.start("btrfs-balance")
    assert scene.result() == ("done", "")
    assert scene.facts_seen == ["storage: btrfs-balance", "storage: "]
    place = commands("btrfs-balance", "btrfs")[0].mounted.folder
    assert scene.log() == [f"balance start --full-balance {place}"], "nothing is to be ended"
    (step,) = scene.steps
    assert (step.exit_code, step.output) == (0, "moved\n")


def test_failure_message_and_kernel_told_to_end(scene: Scene) -> None:
    log = f'echo "$2" >>{scene.folder}/log'
    fails = 'start) echo "it is full" >&2; exit 3;; *) echo "Not in progress" >&2; exit 2;;'
    scene.script("btrfs", f"{log}; case $2 in {fails} esac")
    scene.start("btrfs-balance")
    assert scene.result() == ("failed", "it is full")
    assert scene.log() == ["start", "cancel"]
    assert scene.facts_seen[-1] == "storage: "


HANGS = """case $2 in
start) echo begun >>{log}; while [ ! -e {folder}/ended ]; do sleep 0.02; done; exit 1;;
cancel) echo cancel >>{log}; touch {folder}/ended;;
esac"""


def hang(scene: Scene) -> None:
    scene.script("btrfs", HANGS.format(log=f"{scene.folder}/log", folder=scene.folder))


def wait_begun(scene: Scene) -> None:
    while "begun" not in scene.log():
        threading.Event().wait(0.01)


@pytest.mark.parametrize("by", ["owner", "session"])
def test_cancelled_maintenance_ended_through_kernel(scene: Scene, by: str) -> None:
    hang(scene)
    thread = scene.start("btrfs-scrub")
    wait_begun(scene)
    assert scene.facts == {commands("btrfs-scrub", "btrfs")[0].fact: "btrfs-scrub"}
    if by == "owner":
        thread.call_off()
    else:
        scene.is_cancelled.set()
    assert scene.result() == ("ended", "")
    assert thread.end()
    assert scene.log()[:2] == ["begun", "cancel"]
    assert scene.facts_seen[-1] == "storage: "


def test_hanging_maintenance_ended_at_time_limit(scene: Scene) -> None:
    hang(scene)
    scene.start("btrfs-scrub", limit_s=0.3)
    how, said = scene.result()
    assert how == "failed"
    assert "it did not finish within" in said


def test_program_ended_by_kill_alone(scene: Scene) -> None:
    scene.script("fstrim", f"echo begun >>{scene.folder}/log; exec sleep 100")
    thread = scene.start("fstrim", "ext4")
    wait_begun(scene)
    assert thread.end()
    assert scene.result() == ("ended", "")


def test_unended_maintenance_stays_in_journal(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_module, "LETTING_GO_S", 0.1)
    scene.script(
        "btrfs",
        f"case $2 in start) echo begun >>{scene.folder}/log; exec sleep 100;; *) echo no >&2; exit 1;; esac",
    )
    thread = scene.start("btrfs-balance")
    wait_begun(scene)
    assert thread.end()
    assert scene.result()[0] == "ended"
    assert scene.facts_seen == ["storage: btrfs-balance"]


def test_abandoned_maintenance_writes_no_journal(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_module, "WAIT_S", 0.1)
    ended = scene.folder / "ended"
    scene.script(
        "btrfs",
        f"[ $2 = start ] || exit 0; echo begun >>{scene.folder}/log; "
        f"until [ -e {ended} ]; do sleep 0.02; done",
    )
    thread = scene.start("btrfs-balance")
    wait_begun(scene)
    assert not thread.end()
    ended.touch()  # as after a disk that did not answer
    assert scene.result()[0] == "done"
    assert scene.facts_seen == ["storage: btrfs-balance"], "whoever unmakes may have removed the entry since"
    assert thread.end()


def test_earlier_maintenance_ended_before_forgotten(scene: Scene) -> None:
    place = commands("fstrim", "btrfs")[0].fact
    layout = layout_of("btrfs")
    scene.execution.know({place: "btrfs-balance"})
    left = commands_left(scene.execution.facts, layout, layout.steps())
    assert [each.name for each in left] == ["btrfs-balance"]
    scene.script("fstrim", f"echo trimmed >>{scene.folder}/log")

    def again() -> tuple[str, str]:
        found, done = commands("fstrim", "btrfs"), scene.answers.put
        MaintenanceThread(found, scene.execution, scene, done, scene.is_cancelled.is_set, left).start()
        return scene.result()

    scene.script("btrfs", f"echo $2 >>{scene.folder}/log; echo no >&2; exit 1")
    assert again() == ("Busy", "maintained")
    assert (scene.log(), scene.facts) == (["cancel"], {place: "btrfs-balance"})
    scene.script("btrfs", f"echo $2 >>{scene.folder}/log")
    assert again() == ("done", "")
    assert (scene.log()[1:], scene.facts) == (["cancel", "trimmed"], {place: ""})


def test_scrub_notes_of_dead_helper_removed() -> None:
    (scrub,) = commands("btrfs-scrub", "btrfs")
    undo = undo_of(layout_of("btrfs").steps())
    removing = [each for each in undo if isinstance(each, Command) and each.argv[0] == "rm"]
    assert [(each.argv, each.when) for each in removing] == [
        (("rm", "--", *scrub.leaves), (FactIs(scrub.fact, scrub.name),))
    ]
    lines = [describe(each) for each in undo]
    assert lines.index(describe(removing[0])) > lines.index(f"umount --internal-only {scrub.mounted.folder}")
    others = [describe(each) for each in undo_of(layout_of("ext4", "xfs").steps())]
    assert not any(line.startswith("rm ") for line in others)


def test_another_mount_is_not_maintained(scene: Scene) -> None:
    scene.script("btrfs", f"echo begun >>{scene.folder}/log")
    scene.mounted = False
    scene.start("btrfs-scrub")
    assert scene.result() == ("Unavailable", "not-mounted")
    assert (scene.log(), scene.facts_seen) == ([], [])


def test_listed_snapshots_removed_until_a_failure(scene: Scene) -> None:
    listed = "\n".join(LISTED.splitlines()[:2])
    scene.script("btrfs", f'echo "$2 $4" >>{scene.folder}/log; [ $2 != list ] || echo "{listed}"')
    scene.start("remove-snapshots")
    assert scene.result() == ("done", "")
    place = commands("remove-snapshots", "btrfs")[0].mounted.folder
    assert scene.log() == [f"list {place}", "delete 256", "delete 257", f"list {place}", "sync "]
    assert len(scene.steps) == 5
    scene.script("btrfs", f'[ $2 != delete ] || exit 1; echo "{listed}"')
    scene.start("remove-snapshots")
    assert scene.result()[0] == "failed"


def test_snapshots_beyond_output_limit_are_removed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "OUTPUT_LIMIT_BYTES", 500)
    count = 10
    left = scene.folder / "left"
    left.write_text("".join(f"{number:04}\n" for number in range(count)))
    assert count * len(LISTED.splitlines()[0]) > programs.OUTPUT_LIMIT_BYTES
    words = "gen 12 cgen 12 top level 5 otime 2026-01-01 00:00:00 path pgfooting-snapshot-000000000000"
    scene.script("sed", f'exec /usr/bin/sed "$@" {left}')
    scene.script(
        "btrfs",
        f"""case $2 in
list) exec {scene.folder}/sed 's/.*/ID & {words}&/';;
delete) exec {scene.folder}/sed -i "/^$4$/d";;
esac""",
    )
    scene.start("remove-snapshots")
    assert scene.result() == ("done", "")
    assert left.read_text() == ""


def test_next_maintenance_from_end_callback(scene: Scene) -> None:
    scene.script("btrfs", "exit 0")
    under_way: SimpleQueue[bool] = SimpleQueue()
    (command,) = commands("btrfs-scrub", "btrfs")
    threads: list[MaintenanceThread] = []

    def on_end(_result: object) -> None:
        under_way.put(threads[0].is_under_way)

    threads.append(MaintenanceThread([command], scene.execution, scene, on_end, scene.is_cancelled.is_set))
    threads[0].start()
    assert under_way.get(timeout=LIMIT_S) is False
    assert threads[0].end()


def test_missing_program_is_reported(scene: Scene) -> None:
    scene.start("btrfs-scrub")
    how, said = scene.result()
    assert how == "failed"
    assert "btrfs" in said


def test_progress_while_it_lasts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_module, "STATUS_S", 0.05)
    hang(scene)
    text = (scene.folder / "btrfs").read_text().replace("esac", 'status) echo "(25.00%)";; esac')
    (scene.folder / "btrfs").write_text(text)
    thread = scene.start("btrfs-scrub")
    found = scene.places.get(timeout=LIMIT_S)
    assert (found.operation, found.fraction) == ("maintain", 0.25)
    assert thread.end()
